"""The contest's independent judges: readers that no face was drawn by, on fresh text, with marks and without.

* "tesseract": Tesseract with its fast weights, on whole pages: it finds the rows by itself.
* "neutral": `benchmarks.neutral`, cell by cell.

Rows are those of `benchmarks.fresh` at full size and shrunk; "marks" is a page as it is sent, at full size.
What is made of a mark counts as an error where it is no blank. Marks are drawn as pages have them
(`snapshot.raster.mark_drawing`), from those that are drawn for the largest cell that fits a face's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.fresh import FRESH_SEEDS, MARKS, SECOND, fresh_rows, marked_rows, without_marks
from benchmarks.lab_glyphs import GlyphSet
from benchmarks.neutral import NeutralReader
from benchmarks.reading import COLUMNS
from snapshot._resources import locate
from snapshot.legibility.ocr import has_tesseract, shrunk, tesseract
from snapshot.legibility.score import Reading, compared
from snapshot.raster.compress import compressor_for
from snapshot.raster.glyph_text import read_glyph_text
from snapshot.raster.line_filters import filters_for, subtract_above
from snapshot.raster.mark_drawing import with_marks as drawn_by_rule
from snapshot.raster.png import encode_png
from snapshot.source import marks

__all__ = ["FACTORS", "JUDGES", "Judged", "bytes_of", "judged", "with_marks"]

JUDGES = ("tesseract", "neutral")
FACTORS = (1.0, 0.6)
_DRAWN = (
    "drawn-11x16",
    "drawn-9x16",
    "drawn-8x18",
    "drawn-8x17",
    "drawn-8x16",
    "drawn-8x13",
    "drawn-7x13",
    "drawn-6x11",
)
_PAGE = 196, 110  # columns and rows of the page whose bytes are counted


@dataclass(frozen=True, slots=True)
class Judged:
    """What a judge read.

    Attributes:
        reader: one of `JUDGES`.
        text: "rows" or "marks".
        factor: to which the page was shrunk.
        reading: its score.
    """

    reader: str
    text: str
    factor: float
    reading: Reading

    def stored(self) -> dict[str, Any]:
        """The reading for a file."""
        return {
            "reader": self.reader,
            "text": self.text,
            "factor": self.factor,
            "error_rate": round(self.reading.error_rate, 4),
            "chars": self.reading.chars,
            "strings": self.reading.strings,
            "exact": self.reading.exact,
        }


def judged(glyphs: GlyphSet, *, factors: tuple[float, ...] = FACTORS) -> Iterator[Judged]:
    """What the judges that are there make of a face, which has its marks (`with_marks`).

    Args:
        glyphs: the face.
        factors: to which rows without marks are shrunk; none asks for the page with marks alone.
    """
    rows = tuple(row for seed in FRESH_SEEDS for row in fresh_rows(seed))
    plain = glyphs.page(rows, COLUMNS)
    for factor in factors:
        yield from _all(shrunk(plain, factor), rows, "rows", factor)
    marked = marked_rows(FRESH_SEEDS[0])
    yield from _all(glyphs.page(marked, COLUMNS), tuple(map(without_marks, marked)), "marks", 1.0, marked)


def _all(
    page: NDArray[np.uint8], truth: tuple[str, ...], text: str, factor: float, marked: tuple[str, ...] = ()
) -> Iterator[Judged]:
    if has_tesseract():
        read = tesseract(page, len(truth))
        yield Judged("tesseract", text, factor, compared(["\n".join(truth)], [read]))
    cells = NeutralReader().read(page, len(truth), COLUMNS)
    if marked:  # it reads cells, so no mark can stand in the place of a letter beside it
        cells = [_at_letters(row, stood) for row, stood in zip(cells, marked, strict=True)]
    yield Judged("neutral", text, factor, compared(truth, cells))


def _at_letters(read: str, stood: str) -> str:
    """What was read in the cells that hold no mark."""
    return "".join(
        " " if at < len(stood) and not stood[at].isascii() else char for at, char in enumerate(read)
    )


@cache
def _marks(name: str) -> dict[int, NDArray[np.uint8]]:
    """The marks of a file of drawn glyphs by code point, of one cell each, at four levels."""
    grids = read_glyph_text(locate("fonts") / f"{name}.txt")
    return {ord(mark): grids[ord(mark)] for mark in MARKS if ord(mark) in grids}


def with_marks(glyphs: GlyphSet) -> GlyphSet:
    """The set with its marks among its characters; a font that has none gets those of `_borrowed`.

    A line's end has two cells: `SECOND` is the character of the other one.
    """
    width, height = glyphs.cell
    drawn = glyphs.marks or _borrowed(glyphs)
    found: dict[str, NDArray[np.uint8]] = {SECOND: np.zeros((height, width), np.uint8)}
    for mark in MARKS:
        parts = np.split(drawn[mark], drawn[mark].shape[1] // width, axis=1)
        found |= dict(zip((mark, SECOND), parts, strict=False))
    ink = np.concatenate((glyphs.ink, np.stack([*found.values()])))
    return GlyphSet(glyphs.name, glyphs.chars + "".join(found), ink)


def _borrowed(glyphs: GlyphSet) -> dict[str, NDArray[np.uint8]]:
    """Marks as pages have them today, from those drawn for the largest cell that fits the set's own."""
    width, height = glyphs.cell
    one_cell: dict[int, NDArray[np.uint8]] = {}
    for name in _DRAWN:
        marks_of = _marks(name)
        rows, columns = next(iter(marks_of.values())).shape
        if rows <= height and columns <= width and ord(marks.NEWLINE) in marks_of:
            y, x = (height - rows) // 2, (width - columns) // 2
            edges = (y, height - rows - y), (x, width - columns - x)
            one_cell = {code: np.pad(grid, edges) for code, grid in marks_of.items()}
            break
    else:  # a cell that nothing is drawn for: a block stands for every mark that no rule draws
        block = np.zeros((height, width), np.uint8)
        block[1:-1, :-1] = 3
        one_cell = {ord(mark): block for mark in MARKS}
    letters = {ord(char): ink // np.uint8(85) for char, ink in zip(glyphs.chars, glyphs.ink, strict=True)}
    drawn = drawn_by_rule({**letters, **one_cell}, glyphs.cell, 4)
    return {mark: drawn[ord(mark)] * np.uint8(85) for mark in MARKS}


def bytes_of(glyphs: GlyphSet) -> int:
    """Bytes of a PNG for 1,000 cells of a transcript's page, at two bits a pixel, as pages are made today."""
    columns, rows = _PAGE
    width, height = glyphs.cell
    page = glyphs.page(marked_rows(FRESH_SEEDS[1], rows, columns), columns)
    levels = page // 64
    levels = np.pad(levels, ((0, 0), (0, -levels.shape[1] % 4)), constant_values=3)
    packed = (levels.reshape(len(levels), -1, 4) << np.array([6, 4, 2, 0], np.uint8)).sum(2).astype(np.uint8)
    filters = filters_for(height, _baseline(glyphs))
    subtract_above(packed.reshape(rows, height, -1), filters)
    scanlines = np.concatenate((np.tile(filters, rows)[:, np.newaxis], packed), axis=1)
    compressor = compressor_for("default", whole_bytes=2 * width % 8 == 0, page_bytes=scanlines.size)
    return round(1000 * len(encode_png(scanlines, page.shape[1], 2, compressor)) / (columns * rows))


def _baseline(glyphs: GlyphSet) -> int:
    """Pixel rows of a cell above the line that letters stand on."""
    return int(np.flatnonzero(glyphs.ink[glyphs.chars.index("H")].any(axis=1))[-1]) + 1
