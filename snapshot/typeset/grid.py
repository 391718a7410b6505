"""Grids: page text set into rows of cells, one page after the other.

A page is filled from its first cell to its last, so a full page depends on nothing that comes behind it:
text that grows at its end leaves the full pages as they were.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from snapshot.source import marks
from snapshot.source.source import Source
from snapshot.typeset.bidi import to_visual
from snapshot.typeset.columns import column_width, in_columns
from snapshot.typeset.coverage import Glyphs
from snapshot.typeset.fast_path import PlainSetter
from snapshot.typeset.offset_map import OffsetMap, Offsets, concat_ranges, insert_runs
from snapshot.typeset.pagetext import PageText, encode
from snapshot.typeset.prepared import PreparedStretch, PreparedText, prepared

__all__ = ["Grid", "pads_before", "set_pages", "with_parts"]

_LAST_ASCII = 127
# By code point; the last one stands for all above.
_IS_RUN = np.zeros(max(map(ord, marks.DIGITS)) + 2, np.bool_)
_IS_RUN[[ord(digit) for digit in marks.DIGITS]] = True


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
    source: Source | PreparedText,
    glyphs: Glyphs,
    columns: int,
    rows: int,
    count: int = 1,
    *,
    start: int = 0,
    stop: int | None = None,
    compiled: bool = False,
    fit: Callable[[int], int] = lambda rows: rows,
) -> Iterator[Grid]:
    """Set a source, or a half-open span of it, into pages of `rows` × `columns` cells.

    In columns, a page is one of as many rows of a column's width as all its columns have, cut up.

    Args:
        source: what to set. Without characters it has no page.
        glyphs: the font.
        columns: cells across a page.
        rows: rows of a full page.
        count: columns of text on a page.
        start, stop: the span of source text; all of it by default. From a page's start on, the pages are
            those of the whole.
        compiled: set plain text by a numba kernel; the cells are the same.
        fit: of a page in columns, the rows that a last page has that needs so many: as many as fit the
            height it will be given, since a reader takes every row of the image for one that was set.
    """
    text = prepared(source)
    last = len(text.source.text) if stop is None else stop
    if start >= last:
        return
    width = column_width(columns, count)
    capacity = rows * count * width
    page = np.empty(capacity, np.int32)
    held = 0
    for stretch in _stretches_set(text, glyphs, width, start, last, compiled=compiled):
        at = 0
        while at < stretch.cells.size:
            if held == capacity:
                # A full page waits for its end, which is the next one's start.
                stop = stretch.origin(at)
                slots = to_visual(page.reshape(-1, width), glyphs)
                yield Grid(in_columns(slots, glyphs, columns, rows, count), start, stop)
                page, held, start = np.empty(capacity, np.int32), 0, stop
            taken = min(capacity - held, stretch.cells.size - at)
            page[held : held + taken] = stretch.cells[at : at + taken]
            held += taken
            at += taken
    if held < capacity:
        page[held] = glyphs.end
        page[held + 1 :] = glyphs.blank
        used = held // width + 1
        page = page[: used * width]
        rows = used if count == 1 else min(rows, fit(-(-used // count)))
    slots = to_visual(page.reshape(-1, width), glyphs)
    yield Grid(in_columns(slots, glyphs, columns, rows, count), start, last)


class _Set(Protocol):
    """A stretch of source text as cells: glyph numbers, filling included."""

    @property
    def cells(self) -> NDArray[np.int32]: ...

    def origin(self, cell: int, /) -> int:
        """Offset in the source text of the character that a cell shows, or that its filling is put before."""
        ...


@dataclass(frozen=True, slots=True)
class _Stretch:
    """A stretch of source text as cells: glyph numbers, filling included."""

    cells: NDArray[np.int32]
    source: PreparedStretch
    page_text: PageText
    offset_maps: tuple[OffsetMap, ...]

    def origin(self, cell: int) -> int:
        """Offset in the source text of the character that a cell shows, or that its filling is put before."""
        for offset_map in reversed(self.offset_maps):
            cell = offset_map.origin(cell)
        return self.source.source_offset(self.page_text.origin(cell))


def _stretches_set(
    text: PreparedText, glyphs: Glyphs, columns: int, start: int, stop: int, *, compiled: bool
) -> Iterator[_Set]:
    """The stretches of a span of a source, one after the other, set into rows of cells."""
    plain = PlainSetter(text, glyphs, columns) if compiled else None
    column = 0
    for begin, end in text.spans(start, stop):
        # The kernel takes the start of a stretch for that of a line, which the start of a span may not be.
        if plain and (begin, end) in text.whole and (set_plainly := plain.set(begin, end, column)):
            column = (column + set_plainly.cells.size) % columns
            yield set_plainly
            continue
        stretch = _set(text.stretch(begin, end), text.marks, glyphs, column, columns)
        column = (column + stretch.cells.size) % columns
        yield stretch


def _set(
    source: PreparedStretch, marks: NDArray[np.int64], glyphs: Glyphs, column: int, columns: int
) -> _Stretch:
    """One stretch set into rows of `columns` cells, its first cell in `column`."""
    page_text = encode(
        source.text,
        glyphs,
        mark_offsets=source.mark_offsets(marks),
        widest=columns,
        segmentation=source.segmentation,
        starts_line=source.starts_line,
    )
    cells = glyphs.glyphs.take(page_text.codes)
    joined = page_text.joined
    offset_maps: list[OffsetMap] = []
    beyond = np.flatnonzero(page_text.codes > _LAST_ASCII)
    sizes = glyphs.cells[page_text.codes[beyond]]
    aired = beyond[:0]
    if glyphs.air is not None:
        behind = _ends_run(page_text.codes, beyond)
        sizes = sizes + behind
        aired = beyond[behind]
    wide = sizes > 1
    if wide.any():
        cells, parts, rest = with_parts(cells, beyond[wide], sizes[wide])
        joined = np.concatenate((parts.forward(joined), rest))
        offset_maps.append(parts)
        if glyphs.air is not None and aired.size:
            cells[parts.forward(aired) + 1] = glyphs.air
    if joined.size:
        units, sizes = _units(joined)
        where, pads = pads_before(units, sizes, column, columns)
        if where.size:
            cells = insert_runs(cells, where, pads, glyphs.pad)
            offset_maps.append(OffsetMap(where, 0, pads))
    return _Stretch(cells, source, page_text, tuple(offset_maps))


def _ends_run(codes: NDArray[np.uint32], at: Offsets) -> NDArray[np.bool_]:
    """Which of the codes at `at` (ascending, those outside ASCII) are the last digit of a run of blanks."""
    is_run = _IS_RUN[np.minimum(codes[at], _IS_RUN.size - 1)]
    ends = is_run.copy()
    ends[:-1] &= ~(is_run[1:] & (np.diff(at) == 1))
    return ends


def with_parts(
    cells: NDArray[np.int32], wide: Offsets, sizes: NDArray[np.uint8]
) -> tuple[NDArray[np.int32], OffsetMap, Offsets]:
    """The cells with all parts of the glyphs at `wide`, how it was done, and where the further parts are.

    Args:
        cells: glyph numbers, one for each code.
        wide: offsets of glyphs of several cells.
        sizes: cells of each of them.
    """
    more = sizes.astype(np.int64) - 1
    offset_map = OffsetMap(wide + 1, 0, more)
    cells = insert_runs(cells, wide + 1, more)
    first = wide + more.cumsum() - more
    rest = concat_ranges(first + 1, more)
    first = np.repeat(first, more)
    cells[rest] = cells[first] + (rest - first)
    return cells, offset_map, rest


def _units(joined: Offsets) -> tuple[Offsets, Offsets]:
    """Where units of several cells start, and their cells, from the cells that are joined, in any order."""
    joined = np.sort(joined, kind="stable")
    first = np.flatnonzero(np.diff(joined, prepend=-2) > 1)
    last = np.append(first[1:], joined.size) - 1
    return joined[first] - 1, joined[last] - joined[first] + 2


def pads_before(units: Offsets, sizes: Offsets, column: int, columns: int) -> tuple[Offsets, Offsets]:
    """The units that go to the next row because they do not fit on theirs, and how many cells are filled.

    Args:
        units: cells before each unit of more than one cell, were there no filling.
        sizes: cells of each; a unit wider than a row is never filled for.
        column: column that the first cell of the stretch stands in.
        columns: cells in a row.
    """
    starts, widths = units.tolist(), sizes.tolist()
    where: list[int] = []
    pads: list[int] = []
    shift, unit = column, 0
    # From one end of a row with a unit near it to the next: seldom more steps than rows.
    while unit < len(starts):
        edge = ((starts[unit] + shift) // columns + 1) * columns
        unit = bisect_left(starts, edge - shift, unit) - 1
        left = edge - shift - starts[unit]
        if left < widths[unit] <= columns:
            where.append(starts[unit])
            pads.append(left)
            shift += left
        else:
            unit += 1
    return np.array(where, np.int64), np.array(pads, np.int64)
