"""Grids: page text set into rows of cells, one page after the other.

A page is filled from its first cell to its last, so a full page depends on nothing that comes behind it:
text that grows at its end leaves the full pages as they were.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from snapshot.source import Source
from snapshot.typeset.fold import Folded, fold
from snapshot.typeset.pagetext import Coverage, encode
from snapshot.typeset.placing import place

__all__ = ["Glyphs", "Grid", "pads_before", "set_pages"]

# Characters of folded text that are encoded at a time: bounds memory, and keeps the arrays in the cache.
_STRETCH = 1 << 18


class Glyphs(Coverage, Protocol):
    """What setting has to know of a font: which glyph prints which code point."""

    @property
    def glyphs(self) -> NDArray[np.int32]:
        """Glyph number of each code point; of a wide one its left half, the right half is the next."""
        ...

    @property
    def blank(self) -> int:
        """Glyph number of a blank."""
        ...

    @property
    def pad(self) -> int:
        """Glyph number of the filling at a row's end."""
        ...

    @property
    def end(self) -> int:
        """Glyph number of the mark behind the last character."""
        ...


@dataclass(frozen=True, slots=True)
class Grid:
    """One page as glyph numbers.

    Attributes:
        cells: int32, shape (rows, columns). The last page has only the rows it needs.
        start: offset in the source text of the first character on the page.
        stop: offset of the first character that is not; the spans of all pages partition the source.
    """

    cells: NDArray[np.int32]
    start: int
    stop: int


def set_pages(
    source: Source, glyphs: Glyphs, columns: int, rows: int, *, compiled: bool = False
) -> Iterator[Grid]:
    """Set `source` into pages of `rows` × `columns` cells. A source without characters has no page.

    `compiled` takes numba's kernel for the one sequential loop; the grids are the same.
    """
    if not source.text:
        return
    folded = fold(source.text)
    capacity = rows * columns
    waiting: list[NDArray[np.int32]] = []
    origins: list[NDArray[np.int64]] = []
    held = 0  # cells in `waiting`
    full: NDArray[np.int32] | None = None  # a page that waits for its end: the next one's start
    start = 0
    for cells, origin in _cells(folded, source, glyphs, columns, compiled):
        waiting.append(cells)
        origins.append(origin)
        held += cells.size
        if held < capacity:
            continue
        cells, origin = np.concatenate(waiting), np.concatenate(origins)  # noqa: PLW2901
        for at in range(0, held - capacity + 1, capacity):
            # A page of which the first cell is the source's first character starts where the source does.
            page_start = folded.source_offset(int(origin[at])) if full is not None else 0
            if full is not None:
                yield Grid(full.reshape(rows, columns), start, page_start)
            full, start = cells[at : at + capacity], page_start
        rest = held // capacity * capacity
        waiting, origins, held = [cells[rest:]], [origin[rest:]], held - rest
    if held or full is None:
        page_start = folded.source_offset(int(np.concatenate(origins)[0])) if full is not None else 0
        if full is not None:
            yield Grid(full.reshape(rows, columns), start, page_start)
        needed = held // columns + 1  # one cell more: the end mark
        last = np.full(needed * columns, glyphs.blank, np.int32)
        if waiting:
            last[:held] = np.concatenate(waiting)
        last[held] = glyphs.end
        full, start, rows = last, page_start, needed
    yield Grid(full.reshape(rows, columns), start, len(source.text))


def _cells(
    folded: Folded, source: Source, glyphs: Glyphs, columns: int, compiled: bool
) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int64]]]:
    """Glyph numbers cell after cell, filling included, and the folded offset that each comes from."""
    genuine = folded.folded_offsets(np.array(source.marks, np.int64)) if source.marks else None
    column = 0
    for begin, end in _stretches(folded.text):
        marks = None
        if genuine is not None:
            low, high = np.searchsorted(genuine, (begin, end))
            marks = genuine[low:high] - begin
        page_text = encode(folded.text[begin:end], glyphs, genuine=marks, widest=columns)
        cells = glyphs.glyphs[page_text.codes]
        origins, starts = page_text.origins, page_text.starts
        widths = glyphs.cells[page_text.codes]
        wide = np.flatnonzero(widths == 2)
        if wide.size:
            cells = np.repeat(cells, widths)
            origins = np.repeat(origins, widths)
            right = wide + np.arange(1, wide.size + 1)
            cells[right] += 1
            starts = np.repeat(starts, widths)
            starts[right] = False
        units = np.flatnonzero(starts)
        sizes = np.diff(np.append(units, cells.size))
        several = sizes > 1
        if several.any():
            pads = pads_before(units[several], sizes[several], column, columns, compiled=compiled)
            where = np.repeat(units[several], pads)
            cells = np.insert(cells, where, glyphs.pad)
            origins = np.insert(origins, where, origins[where])
        column = (column + cells.size) % columns
        yield cells.astype(np.int32, copy=False), origins + np.int64(begin)


def pads_before(
    at: NDArray[np.int64], widths: NDArray[np.int64], column: int, columns: int, *, compiled: bool
) -> NDArray[np.int64]:
    """Cells of filling before each unit of more than one cell; see `place`."""
    if compiled:
        from snapshot.typeset.kernels import place_units

        pads = np.zeros(at.size, np.int64)
        place_units(at, widths, column, columns, pads)
        return pads
    filled: list[int] = [0] * at.size
    place(at.tolist(), widths.tolist(), column, columns, filled)
    return np.array(filled, np.int64)


def _stretches(text: str) -> Iterator[tuple[int, int]]:
    """Spans of about `_STRETCH` characters that can be encoded apart.

    They end behind a newline, or else between two ASCII characters with ink, where no run of blanks and
    no grapheme cluster can be torn.
    """
    begin = 0
    while len(text) - begin > _STRETCH:
        end = text.rfind("\n", begin + _STRETCH // 2, begin + _STRETCH) + 1
        if not end:
            end = begin + _STRETCH
            while end < len(text) and not ("!" <= text[end - 1] <= "~" and "!" <= text[end] <= "~"):
                end += 1
        yield begin, end
        begin = end
    if begin < len(text):
        yield begin, len(text)
