"""The table of docs/replay.md, made anew: whole runs replayed under each policy, for four readers.

    python -m benchmarks.replay_table            # print it
    python -m benchmarks.replay_table --write    # put it into docs/replay.md

It wants the real runs beside the checkout. The test compares what is printed with what stands in the page.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import snapshot
from benchmarks.continuation import REAL, default_runs
from benchmarks.replay_sweep import window_of
from snapshot.replay import Recording, Replay, replay

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "replay.md"
MODELS = ("claude-opus-4-8", "claude-haiku-4-5", "gpt-5.6-sol", "gemini-3.8-flash")
POLICIES = ("drop", "summary", "ours")
# The part of a run's messages that the window has room for.
SHARE = 0.4
HEAD = (
    "| run | model | window | drop: USD, recall | summary: USD, recall | ours: USD, recall | compactions |\n"
    "|---|---|--:|--:|--:|--:|--:|\n"
)
_PLACE = re.compile(r"(?<=<!-- replay -->\n).*?(?=<!-- /replay -->)", re.DOTALL)


def rows(runs: Sequence[Path], models: Sequence[str]) -> Iterator[str]:
    """A row of the table for each run and model."""
    for run in runs:
        transcript = snapshot.load(run)
        for model in models:
            recording = Recording.of(transcript, model)
            window = window_of(recording, SHARE)
            played = [replay(recording, policy=policy, window=window) for policy in POLICIES]
            cells = [run.name.split(".")[0], f"`{model}`", f"{window:,}", *map(_cell, played)]
            yield f"| {' | '.join(cells)} | {', '.join(str(item.compactions) for item in played)} |\n"


def _cell(item: Replay) -> str:
    usd = "-" if item.usd is None else f"{item.usd:.2f}"
    recall = "-" if item.recall_after is None else f"{item.recall_after:.2f}"
    return f"{usd}, {recall}" + (f" (stops at {item.stopped + 1})" if item.stopped is not None else "")


def table() -> str:
    """The whole table, in Markdown."""
    return HEAD + "".join(rows(default_runs(), MODELS))


def kept() -> str:
    """The table as it stands in the page."""
    found = _PLACE.search(PAGE.read_text(encoding="utf-8"))
    assert found is not None, f"{PAGE.name} has no place for the table"
    return found[0]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table, or write it into the page."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    if not REAL.is_dir():
        print("replay_table: the real runs are not beside the checkout", file=sys.stderr)
        return 2
    made = table()
    if "--write" in arguments:
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(_PLACE.sub(lambda _: made, text), encoding="utf-8")
    else:
        print(made, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
