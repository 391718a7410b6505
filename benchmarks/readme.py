"""What README.md and the documentation show, made anew: tables, the picture of a page, the figure.

    python -m benchmarks.readme            # print the tables
    python -m benchmarks.readme --write    # put all of it into its place

The tests compare tables and page with what this version renders.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import snapshot
from benchmarks.capacity import capacity_table
from benchmarks.cost import kept
from snapshot.models.catalog import profiles
from snapshot.models.tokens import text_tokens
from snapshot.pages.layout import layout_for
from snapshot.source.source import source_of

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "tests" / "data" / "example.claude-stream.jsonl"
README = ROOT / "README.md"
DOCS = ROOT / "docs"
PICTURE = DOCS / "page.png"
FIGURE = DOCS / "before-after.png"
# Readers that README shows, the first six with their dense layouts; `snapshot layouts` lists all.
SHOWN = (
    "claude-high", "claude-fable", "claude-standard", "gpt-patch", "gemini-3", "gemini-3.6", "gpt-tile-5",
    "gpt-tile-4", "gemini-2", "grok", "kimi", "glm-5v", "qwen", "mistral", "muse-spark", "llama-4",
    "deepseek-flash", "nova-2-lite",
)  # fmt: skip
# Models that README shows by class of text.
SHORT = ("claude-fable-5-1", "claude-opus-4-8", "claude-haiku-4-5", "gpt-5.6-sol", "gemini-3.8-flash")
BY_CLASS = ("claude-opus-4-8", "claude-haiku-4-5", "gpt-5.6-sol", "gemini-3.8-flash", "qwen3.8-max")
_PLACE = r"(?<=<!-- %s -->\n).*?(?=<!-- /%s -->)"


def table() -> str:
    """The Markdown table of layouts; the last two columns are measured on the example, repeated."""
    text = source_of(snapshot.load(EXAMPLE)).text
    text *= 120_000 // len(text) + 1
    rows = [
        "| layout | page | cell | characters a page | tokens a page | characters per token | as text |",
        "|---|---|---|---|---|---|---|",
    ]
    for reader in (reader for name in SHOWN for reader in profiles() if reader.name == name):
        for name in reader.layouts if reader.name in SHOWN[:6] else ("default",):
            layout = layout_for(name=f"{reader.name}/{name}")
            pages = [page for page in snapshot.render(text, layout=layout) if page.stop < len(text)]
            chars = sum(page.chars for page in pages)
            tokens = sum(page.tokens for page in pages)
            rows.append(
                f"| `{layout.name}` | {layout.width}×{layout.height} | {layout.cell[0]}×{layout.cell[1]} "
                f"| {chars // len(pages):,} | {layout.tokens:,} | {chars / tokens:.1f} "
                f"| {len(text) / text_tokens(text, reader):.1f} |"
            )
    return "\n".join(rows) + "\n"


def cost_table() -> str:
    """The Markdown table of costs, from the kept results of `benchmarks.cost`."""
    found = kept()
    head = (
        "model", "characters per page token", "per text token", "saved",
        "USD per million characters: text → pages", "cached: text → pages",
        "pages cheaper from", "repaid after",
    )  # fmt: skip
    rows = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    totals = [cost for cost in found["costs"] if cost["class"] == "all"]
    for cost in sorted(totals, key=_gain, reverse=True):
        estimated = "~" if cost["text_tokens_by"] == "ratio" else ""
        unread = "" if cost["reading_measured"] else " ?"
        gain = 1 - 1 / _gain(cost)
        turns = cost["turns_to_repay_cached_text"]
        rows.append(
            f"| `{cost['model']}`{unread} | {cost['chars_per_page_token']:.1f} "
            f"| {estimated}{cost['chars_per_text_token']:.1f} | {f'{gain:.0%}' if gain > 0 else 'never'} "
            f"| {_usd(cost, '')} | {_usd(cost, '_cached')} "
            f"| {format(cost['break_even_chars'], ',') if cost['break_even_chars'] else 'never'} "
            f"| {_requests(turns)} |"
        )
    return "\n".join(rows) + "\n"


def class_table() -> str:
    """The Markdown table of characters per token by class of text, pages over text, of a few models."""
    found = kept()
    classes = ("prose", "code", "JSON", "logs", "CJK")
    rows = [f"| model | {' | '.join(classes)} |", "|---" * (len(classes) + 1) + "|"]
    for model in BY_CLASS:
        by_class = {cost["class"]: cost for cost in found["costs"] if cost["model"] == model}
        cells = [
            f"{by_class[name]['chars_per_page_token']:.1f} / {by_class[name]['chars_per_text_token']:.1f}"
            for name in classes
        ]
        rows.append(f"| `{model}` | {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def _requests(turns: int | None) -> str:
    return "-" if turns is None else f"{turns} request{'s' * (turns > 1)}"


def _gain(cost: dict[str, Any]) -> float:
    return cost["chars_per_page_token"] / cost["chars_per_text_token"]


def _usd(cost: dict[str, Any], suffix: str) -> str:
    text, pages = (cost[f"usd_per_million_{kind}{suffix}"] for kind in ("text", "pages"))
    return "-" if text is None else f"{float(text):.2g} → {float(pages):.2g}"


def picture() -> bytes:
    """The first page of the example."""
    page = next(snapshot.render(snapshot.load(EXAMPLE), layout="claude-standard"))
    return page.png


def short_table() -> str:
    """The Markdown table of README: a few models, tokens for a thousand characters."""
    rows = ["| model | tokens per 1,000 characters, as text | as pages | saved |", "|---|--:|--:|--:|"]
    totals = {cost["model"]: cost for cost in kept()["costs"] if cost["class"] == "all"}
    for model in SHORT:
        cost = totals[model]
        text, pages = (1000 / cost[f"chars_per_{kind}_token"] for kind in ("text", "page"))
        rows.append(f"| `{model}` | {text:.0f} | {pages:.0f} | {1 - pages / text:.0%} |")
    return "\n".join(rows) + "\n"


# Each table: the page it stands in, and what makes it.
TABLES = {
    "short": (README, short_table),
    "layouts": (DOCS / "layouts.md", table),
    "capacity": (DOCS / "layouts.md", capacity_table),
    "costs": (DOCS / "cost.md", cost_table),
    "classes": (DOCS / "cost.md", class_table),
}


def table_in(page: Path, name: str) -> str:
    """A table as its page has it."""
    found = re.search(_PLACE % (name, name), page.read_text(encoding="utf-8"), re.DOTALL)
    assert found, f"{page.name} has no place for {name}"
    return found[0]


def main() -> None:
    if "--write" in sys.argv[1:]:
        from benchmarks.figure import figure

        for name, (page, make) in TABLES.items():
            new = make()
            text = page.read_text(encoding="utf-8")
            text = re.sub(_PLACE % (name, name), lambda _, new=new: new, text, flags=re.DOTALL)
            page.write_text(text, encoding="utf-8")
        PICTURE.write_bytes(picture())
        FIGURE.write_bytes(figure())
    else:
        print("\n".join(make() for _, make in TABLES.values()), end="")


if __name__ == "__main__":
    main()
