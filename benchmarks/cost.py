"""Cost per character across providers, measured on conversations and kept for the documentation.

    python -m benchmarks.cost SESSION…           # measure, print, and compare with what is kept
    python -m benchmarks.cost SESSION… --write   # keep it in benchmarks/results/, its picture in docs/

Install `snapshot-pages[tokenizers,cjk]` (Python 3.12 or later for Claude's vocabulary) to have text counted
and not estimated. `samples/cjk.txt` (public domain) stands for CJK, which the conversations have none of.
The tables of README and docs/cost.md are made of the kept file by `python -m benchmarks.readme --write`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import snapshot
from snapshot.commands.cost import described
from snapshot.costs.canvas import Canvas
from snapshot.costs.content_kinds import classes_of
from snapshot.costs.costs import costs_of, example_models
from snapshot.costs.plot import cost_plot

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "cost.json"
PICTURE = HERE.parent / "docs" / "cost.svg"
_CJK = (HERE / "samples" / "cjk.txt").read_text(encoding="utf-8")


def measure(sessions: list[str]) -> tuple[dict[str, Any], Canvas]:
    """What is kept: the costs of all classes in the sessions, and of CJK for itself; and their picture."""
    texts = classes_of(snapshot.load(session) for session in sessions)
    costs = [*costs_of(texts, example_models())]
    chars = sum(map(len, texts.values()))
    picture = cost_plot(costs, f"{len(sessions)} agent runs, {chars:,} characters, as text and as pages")
    costs += [cost for cost in costs_of({"CJK": _CJK * 40}, example_models()) if cost.text_class == "CJK"]
    found = {
        "schema": "snapshot-pages/cost/1",
        "sessions": [Path(session).name for session in sessions],
        "as_of": max(cost.layout.reader.as_of for cost in costs).isoformat(),
        "costs": [{**described(cost), "page": f"{cost.layout.width}×{cost.layout.height}"} for cost in costs],
    }
    return found, picture


def kept() -> dict[str, Any]:
    """The kept results."""
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def main() -> None:
    sessions = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    if not sessions:
        sys.exit("name the conversations to measure")
    found, picture = measure(sessions)
    if "--write" in sys.argv[1:]:
        RESULTS.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        PICTURE.write_text(picture.svg(), encoding="utf-8")
    former = {(cost["model"], cost["class"]): cost for cost in kept()["costs"]}
    for cost in found["costs"]:
        before = former.get((cost["model"], cost["class"]))
        changed = "" if before == cost else "  changed" if before else "  new"
        print(
            f"{cost['model']:<18}{cost['class']:<7}{cost['chars_per_page_token']:>8.2f} a page token"
            f"{cost['chars_per_text_token']:>8.2f} a text token ({cost['text_tokens_by']}){changed}"
        )


if __name__ == "__main__":
    main()
