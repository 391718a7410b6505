"""What README.md shows, made anew: the table of layouts and the picture of a page.

    python -m benchmarks.readme            # print the table
    python -m benchmarks.readme --write    # put the table into README.md, the page into tests/data/page.png

The tests compare both with what this version renders.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import snapshot
from snapshot.layout import layout_for, readers
from snapshot.source import source_of
from snapshot.tokens import text_tokens

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "tests" / "data" / "example.claude-stream.jsonl"
README = ROOT / "README.md"
PICTURE = ROOT / "tests" / "data" / "page.png"
# Readers that README shows, the first four with their dense layouts; `snapshot layouts` lists all.
SHOWN = (
    "claude-high", "claude-standard", "gpt-patch", "gemini-3", "gpt-tile-5", "gpt-tile-4", "gemini-2", "grok",
    "kimi", "glm-5v", "qwen", "mistral", "muse-spark", "llama-4", "deepseek-flash", "nova-2-lite",
)  # fmt: skip
_TABLE = re.compile(r"(?<=<!-- layouts -->\n).*?(?=<!-- /layouts -->)", re.DOTALL)


def table() -> str:
    """The Markdown table of layouts; the last two columns are measured on the example, repeated."""
    text = source_of(snapshot.load(EXAMPLE)).text
    text *= 120_000 // len(text) + 1
    rows = [
        "| layout | page | cell | characters a page | tokens a page | characters per token | as text |",
        "|---|---|---|---|---|---|---|",
    ]
    for reader in (reader for name in SHOWN for reader in readers() if reader.name == name):
        for name in reader.layouts if reader.name in SHOWN[:4] else ("default",):
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


def picture() -> bytes:
    """The first page of the example."""
    page = next(snapshot.render(snapshot.load(EXAMPLE), layout="claude-standard"))
    return page.png


def table_in(readme: str) -> str:
    """The table as README.md has it."""
    found = _TABLE.search(readme)
    assert found, "README.md has no place for the table"
    return found[0]


def main() -> None:
    if "--write" in sys.argv[1:]:
        readme = README.read_text(encoding="utf-8")
        README.write_text(_TABLE.sub(lambda _: table(), readme), encoding="utf-8")
        PICTURE.write_bytes(picture())
    else:
        print(table(), end="")


if __name__ == "__main__":
    main()
