"""Pages that keep lines: real lines in several narrow columns, for code and logs.

A page of `count` columns has `count` times as many slots as rows, filled from the top of the first column
to the bottom of the last. A line takes a slot; where it ends, the rest of the slot is blank. A line that is
longer than a slot goes on in the next, and the hatched filling at the end of a slot says so: so a slot's last
cell alone tells whether its line goes on. Blanks keep their places, but for those before the end of a line,
which are printed as a number. A stroke stands between columns.

Lines are set one by one and slots filled in order, so full pages do not change when the text grows by lines.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from snapshot.source import marks
from snapshot.source.codepoints import code_points, from_code_points
from snapshot.source.source import Source
from snapshot.typeset.bidi import to_visual
from snapshot.typeset.columns import column_width, in_columns
from snapshot.typeset.coverage import Glyphs
from snapshot.typeset.grid import Grid, with_parts
from snapshot.typeset.pagetext import encode
from snapshot.typeset.prepared import PreparedText, prepared
from snapshot.typeset.shaped import ShapedCluster, divided

__all__ = ["set_lines"]

_NUMBER = str.maketrans("0123456789", marks.DIGITS)
_GROUP = re.compile(rf"{marks.OPEN}[^{marks.CLOSE}]*{marks.CLOSE}|.", re.DOTALL)


class _Printed(NamedTuple):
    """What may not be torn, as it is printed: its codes, and the cells that they take."""

    codes: tuple[int, ...]
    cells: int


_END = _Printed((ord(marks.END),), 1)


class _Setter:
    """Sets lines into slots of `width` cells.

    Args:
        glyphs: the font.
        width: cells of a slot.
        mark_offsets: folded offsets of the source's own marks.
    """

    def __init__(self, glyphs: Glyphs, width: int, mark_offsets: frozenset[int]) -> None:
        self._glyphs = glyphs
        self._width = width
        self._mark_offsets = mark_offsets
        self._printed: dict[str | ShapedCluster, tuple[_Printed, ...]] = {}

    def line(self, text: str, first: int, *, ends: bool) -> Iterator[tuple[NDArray[np.int32], int]]:
        """The slots of a line that begins at the folded offset `first`, and the offset that each begins at.

        `ends`: the text ends with it, and not with a newline; the end mark stands behind it.
        """
        if text.isascii() and "\t" not in text and len(text) <= self._width and text[-1:] != " " and not ends:
            yield self._slot(code_points(text), goes_on=False), first
            return
        units, offsets = self._units(text, first)
        if ends:
            units.append(_END)
            offsets.append(first + len(text))
        sizes = [unit.cells for unit in units]
        at, rest = 0, sum(sizes)
        while rest > self._width:
            # One unit at the least; a cell stays for the mark that the line goes on.
            stop, used = at + 1, sizes[at]
            while used + sizes[stop] < self._width:
                used += sizes[stop]
                stop += 1
            yield self._slot(_codes(units[at:stop]), goes_on=True), offsets[at]
            at, rest = stop, rest - used
        yield self._slot(_codes(units[at:]), goes_on=False), offsets[at] if at < len(offsets) else first

    def _units(self, text: str, first: int) -> tuple[list[_Printed], list[int]]:
        """What may not be torn: clusters as they are printed, and the blanks at the end of a line."""
        body = text.rstrip(" ")
        units: list[_Printed] = []
        offsets: list[int] = []
        at = first
        for cluster in body if body.isascii() else divided(body):
            text_of = cluster if isinstance(cluster, str) else cluster.text
            is_marked = not self._mark_offsets.isdisjoint(range(at, at + len(text_of)))
            printed = self._with_marks(text_of, at) if is_marked else self._page_text(cluster)
            units += printed
            offsets += [at] * len(printed)
            at += len(text_of)
        if len(text) > len(body):
            units.append(self._one(str(len(text) - len(body)).translate(_NUMBER)))
            offsets.append(at)
        return units, offsets

    def _with_marks(self, cluster: str, first: int) -> tuple[_Printed, ...]:
        """A cluster at the folded offset `first` with a mark of the source's: it, and what clings to it."""
        units: list[_Printed] = []
        held = ""
        for at, char in enumerate(cluster, first):
            if at not in self._mark_offsets:
                held += char
                continue
            units += self._page_text(held) if held else ()
            units.append(self._one(char))
            held = ""
        return (*units, *(self._page_text(held) if held else ()))

    def _page_text(self, cluster: str | ShapedCluster) -> tuple[_Printed, ...]:
        """A cluster as it is printed: one unit, or several where it is too wide for a slot."""
        found = self._printed.get(cluster)
        if found is None:
            number = None if isinstance(cluster, str) else self._glyphs.units.get(cluster)
            if number is not None:
                found = (_Printed((number,), int(self._glyphs.cells[number])),)
            else:
                text = cluster if isinstance(cluster, str) else cluster.text
                codes = encode(text, self._glyphs, widest=self._width - 1).codes
                whole = _Printed(tuple(codes.tolist()), int(self._glyphs.cells[codes].sum()))
                if whole.cells < self._width:
                    found = (whole,)
                else:
                    found = tuple(self._one(match[0]) for match in _GROUP.finditer(from_code_points(codes)))
            self._printed[cluster] = found
        return found

    def _one(self, text: str) -> _Printed:
        codes = code_points(text)
        return _Printed(tuple(codes.tolist()), int(self._glyphs.cells[codes].sum()))

    def _slot(self, codes: NDArray[np.uint32], *, goes_on: bool) -> NDArray[np.int32]:
        cells = self._glyphs.glyphs[codes]
        cells[codes == ord(marks.END)] = self._glyphs.end
        widths = self._glyphs.cells[codes]
        wide = np.flatnonzero(widths > 1)
        if wide.size:
            cells = with_parts(cells, wide, widths[wide])[0]
        slot = np.full(self._width, self._glyphs.pad if goes_on else self._glyphs.blank, np.int32)
        slot[: cells.size] = cells
        return slot


def _codes(units: list[_Printed]) -> NDArray[np.uint32]:
    return np.array([code for unit in units for code in unit.codes], np.uint32)


def set_lines(
    source: Source | PreparedText,
    glyphs: Glyphs,
    columns: int,
    rows: int,
    count: int,
    *,
    start: int = 0,
    stop: int | None = None,
    fit: Callable[[int], int] = lambda rows: rows,
) -> Iterator[Grid]:
    """Set a source, or a half-open span of it, into pages of `rows` × `columns` cells with `count` columns.

    Args:
        source: what to set. Without characters it has no page.
        glyphs: the font.
        columns: cells across a page.
        rows: rows of a full page.
        count: columns of lines.
        start, stop: the span of source text; all of it by default.
        fit: rows that a last page has that needs so many: as many as fit the height it will be given, since
            a reader takes every row of the image for one that was set.
    """
    ready = prepared(source)
    last = len(ready.source.text) if stop is None else stop
    if start >= last:
        return
    stretches = list(ready.stretches(start, last))
    begins = np.cumsum([0, *(len(stretch.text) for stretch in stretches[:-1])]).tolist()
    marks_at = [
        begin + offset
        for begin, stretch in zip(begins, stretches, strict=True)
        for offset in stretch.mark_offsets(ready.marks).tolist()
    ]
    setter = _Setter(glyphs, column_width(columns, count), frozenset(marks_at))
    slots: list[NDArray[np.int32]] = []
    for slot, origin in _slots("".join(stretch.text for stretch in stretches), setter):
        if len(slots) == rows * count:
            if int(slot[0]) == glyphs.end:
                break  # a page for the end mark alone is none
            number = bisect_right(begins, origin) - 1
            end = stretches[number].source_offset(origin - begins[number])
            yield Grid(in_columns(_visual(slots, glyphs), glyphs, columns, rows, count), start, end)
            slots, start = [], end
        slots.append(slot)
    used = rows if len(slots) == rows * count else min(rows, fit(-(-len(slots) // count)))
    yield Grid(in_columns(_visual(slots, glyphs), glyphs, columns, used, count), start, last)


def _slots(text: str, setter: _Setter) -> Iterator[tuple[NDArray[np.int32], int]]:
    """All slots of a folded text, and the offset that each begins at."""
    at = 0
    while True:
        end = text.find("\n", at)
        if end < 0:
            yield from setter.line(text[at:], at, ends=True)
            return
        yield from setter.line(text[at:end], at, ends=False)
        at = end + 1


def _visual(slots: list[NDArray[np.int32]], glyphs: Glyphs) -> NDArray[np.int32]:
    return to_visual(np.stack(slots), glyphs)
