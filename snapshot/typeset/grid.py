"""Grids: page text set into rows of cells, one page after the other.

A page is filled from its first cell to its last, so a full page depends on nothing that comes behind it:
text that grows at its end leaves the full pages as they were.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from snapshot.source.source import Source
from snapshot.typeset.bidi import to_visual
from snapshot.typeset.coverage import Glyphs
from snapshot.typeset.fast_path import PlainSetter
from snapshot.typeset.fold import Folded, fold, may_fold
from snapshot.typeset.offset_map import OffsetMap, Offsets, concat_ranges, insert_runs
from snapshot.typeset.pagetext import PageText, encode

__all__ = ["Grid", "pads_before", "set_pages", "stretches", "with_parts"]

# Characters that are set at a time: bounds memory, and keeps the arrays in the processor's cache.
_STRETCH = 1 << 16
# Fewer for the kernel: a call of it costs little, and a stretch that is not plain is set in the slower way.
_STRETCH_COMPILED = 1 << 15
_LAST_ASCII = 127


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

    `compiled` sets plain text by a numba kernel; the cells are the same.
    """
    if not source.text:
        return
    capacity = rows * columns
    page = np.empty(capacity, np.int32)
    held = start = 0
    for stretch in _stretches_set(source, glyphs, columns, compiled):
        at = 0
        while at < stretch.cells.size:
            if held == capacity:
                # A full page waits for its end, which is the next one's start.
                stop = stretch.origin(at)
                yield Grid(to_visual(page.reshape(rows, columns), glyphs), start, stop)
                page, held, start = np.empty(capacity, np.int32), 0, stop
            taken = min(capacity - held, stretch.cells.size - at)
            page[held : held + taken] = stretch.cells[at : at + taken]
            held += taken
            at += taken
    if held < capacity:
        page[held] = glyphs.end
        rows = held // columns + 1
        page[held + 1 : rows * columns] = glyphs.blank
    yield Grid(to_visual(page[: rows * columns].reshape(rows, columns), glyphs), start, len(source.text))


class _Set(Protocol):
    """A stretch of source text as cells: glyph numbers, filling included."""

    @property
    def cells(self) -> NDArray[np.int32]: ...

    def origin(self, cell: int, /) -> int:
        """Offset in the source text of the character that a cell shows, or that its filling is put before."""
        ...


@dataclass(frozen=True, slots=True)
class _Stretch:
    """A stretch of source text from `begin` on, as cells: glyph numbers, filling included."""

    begin: int
    cells: NDArray[np.int32]
    folded: Folded
    page_text: PageText
    splices: tuple[OffsetMap, ...]

    def origin(self, cell: int) -> int:
        """Offset in the source text of the character that a cell shows, or that its filling is put before."""
        for splice in reversed(self.splices):
            cell = splice.origin(cell)
        return self.begin + self.folded.source_offset(self.page_text.origin(cell))


def _stretches_set(source: Source, glyphs: Glyphs, columns: int, compiled: bool) -> Iterator[_Set]:
    """The stretches of a source, one after the other, set into rows of cells."""
    marks = np.array(source.marks, np.int64)
    plain = PlainSetter(source.text, marks, glyphs, columns) if compiled else None
    column = 0
    for begin, end in stretches(source.text, _STRETCH_COMPILED if compiled else None):
        stretch = plain.set(begin, end, column) if plain else None
        if stretch:
            column = (column + stretch.cells.size) % columns
            yield stretch
            continue
        folded = fold(source.text[begin:end])
        low, high = np.searchsorted(marks, (begin, end))
        genuine = folded.folded_offsets(marks[low:high] - begin)
        page_text = encode(folded.text, glyphs, genuine=genuine, widest=columns)
        cells = glyphs.glyphs[page_text.codes]
        joined = page_text.joined
        splices = []
        beyond = np.flatnonzero(page_text.codes > _LAST_ASCII)
        wide = beyond[glyphs.cells[page_text.codes[beyond]] > 1]
        if wide.size:
            cells, parts, rest = with_parts(cells, wide, glyphs.cells[page_text.codes[wide]])
            joined = np.concatenate((parts.forward(joined), rest))
            splices.append(parts)
        if joined.size:
            units, sizes = _units(joined, cells.size)
            where, pads = pads_before(units, sizes, column, columns)
            if where.size:
                cells = insert_runs(cells, where, pads, glyphs.pad)
                splices.append(OffsetMap(where, 0, pads))
        column = (column + cells.size) % columns
        yield _Stretch(begin, cells, folded, page_text, tuple(splices))


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
    splice = OffsetMap(wide + 1, 0, more)
    cells = insert_runs(cells, wide + 1, more)
    first = splice.forward(wide)
    rest = concat_ranges(first + 1, more)
    first = np.repeat(first, more)
    cells[rest] = cells[first] + (rest - first)
    return cells, splice, rest


def _units(joined: Offsets, size: int) -> tuple[Offsets, Offsets]:
    """Where units of several of the `size` cells start, and their cells, from the cells that are joined."""
    inside = np.zeros(size + 1, np.bool_)
    inside[joined] = True
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    return edges[::2], edges[1::2] - edges[::2] + 1


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


def stretches(text: str, size: int | None = None) -> Iterator[tuple[int, int]]:
    """Spans of about `size` characters that can be folded and encoded apart.

    They end behind a newline, which no fold goes over, or else between two ASCII characters with ink, where
    no run of blanks and no grapheme cluster can be torn; but not where a control sequence may be open.
    """
    size = size or _STRETCH
    begin = 0
    while len(text) - begin > size:
        end = text.rfind("\n", begin + size // 2, begin + size) + 1
        if not end:
            end = begin + size
            while end < len(text) and not _parts(text[end - 1 : end + 1]):
                end += 1
            if may_fold(text[begin:end]):
                end = text.find("\n", end - 1) + 1 or len(text)
        yield begin, end
        begin = end
    if begin < len(text):
        yield begin, len(text)


def _parts(pair: str) -> bool:
    """Whether the text may be cut between these two characters, if no control sequence is open."""
    return pair[0] == "\n" or ("!" <= pair[0] <= "~" and "!" <= pair[1] <= "~")
