"""Rows as long as a page allows, as long as those that were read, and columns: what Tesseract makes of each.

    python -m benchmarks.columns           # print the table
    python -m benchmarks.columns --write   # … and put it into docs/legibility.md

For each reader whose page is narrower for the trials that say how long the rows were that it read
(`snapshot.models.trials.widest_read`): the best page of any width, the reader's own, and its layout
`columns`, if it has one, with the same fresh text. Tesseract reads the first page whole, marks and all, once
as one block of text and once finding blocks and columns itself, as a reader has to that is told nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

import numpy as np

from benchmarks.fresh import fresh_transcript, without_marks
from benchmarks.page_size import bounds_of, solve
from snapshot.legibility.ocr import tesseract
from snapshot.legibility.score import Reading, compared
from snapshot.models.catalog import profiles
from snapshot.models.trials import widest_read
from snapshot.pages.layout import Layout, layout_for
from snapshot.pages.render import Typesetter
from snapshot.source.source import Source
from snapshot.typeset.columns import slots_of

__all__ = ["Row", "rows", "table"]

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "legibility.md"
_PLACE = "<!-- columns -->\n", "<!-- /columns -->"
_SEED = 51
_MODES = (6, 3)


@dataclass(frozen=True)
class Row:
    """A page of a reader: cells per token, what it costs and how many there are beside the best of any width,
    and what was read of it by mode."""

    layout: Layout
    per_token: float
    cost: float
    images: float
    readings: tuple[Reading, ...]


def layouts() -> Iterator[tuple[Layout, ...]]:
    """By reader: the best page of any width, the default, and columns."""
    for reader in profiles():
        if widest_read(reader.trials) is None:
            continue
        own = layout_for(name=reader.name)
        best = solve(own.billing, own.cell, bounds_of(reader.limits, reader.bounds))
        assert best is not None
        wide = replace(own, name=f"{reader.name}, any width", width=best.width, height=best.height)
        columns = [layout_for(name=f"{reader.name}/columns")] if "columns" in reader.layouts else []
        if (own.width, own.height) != (wide.width, wide.height):
            yield wide, own, *columns


def rows(*, read: bool = True) -> Iterator[Row]:
    """The rows of the table; without `read` only what pages cost."""
    for wide, *others in layouts():
        best = wide.capacity / wide.tokens
        for layout in (wide, *others):
            per_token = layout.capacity / layout.tokens
            readings = tuple(_read(layout)) if read else ()
            yield Row(layout, per_token, best / per_token - 1, wide.capacity / layout.capacity, readings)


def _read(layout: Layout) -> Iterator[Reading]:
    from PIL import Image

    setting = Typesetter(layout)
    source = Source(fresh_transcript(_SEED, 2 * layout.capacity))
    atlas = setting.atlas(source)
    grid = next(iter(setting.grids(source, atlas)))
    page = next(iter(setting.pages(source)))
    grey = np.asarray(Image.open(BytesIO(page.png)).convert("L"))
    slots = slots_of(grid.cells, layout.columns_of_text)
    truth = "\n".join(without_marks("".join(atlas.prints(slot))) for slot in slots)
    for mode in _MODES:
        yield compared([truth], [tesseract(grey, layout.rows, segmentation=mode)])


def table(found: list[Row]) -> str:
    """The table in Markdown."""
    lines = [
        "| page | pixels | rows of | characters a token | cost | images | as one block | finding columns |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in found:
        layout = row.layout
        several = f"{layout.columns_of_text} × " if layout.columns_of_text > 1 else ""
        said = (f"{reading.error_rate:.3f}, {reading.recall:.2f}" for reading in row.readings)
        name = f"`{layout.name}`" if "," not in layout.name else layout.name
        lines.append(
            f"| {name} | {layout.width}×{layout.height} | {several}{layout.row_width} | {row.per_token:.2f} "
            f"| {100 * row.cost:+.1f} % | {row.images:.1f} times | {' | '.join(said)} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    found = list(rows())
    print(table(found), end="")
    if "--write" in sys.argv[1:]:
        text = DOCUMENT.read_text(encoding="utf-8")
        start, stop = text.index(_PLACE[0]) + len(_PLACE[0]), text.index(_PLACE[1])
        DOCUMENT.write_text(text[:start] + table(found) + text[stop:], encoding="utf-8")


if __name__ == "__main__":
    main()
