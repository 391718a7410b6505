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
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from snapshot.source import Source
from snapshot.typeset import marks
from snapshot.typeset.columns import GUTTER, column_width
from snapshot.typeset.fold import fold
from snapshot.typeset.grid import Glyphs, Grid
from snapshot.typeset.pagetext import code_points, encode

__all__ = ["set_lines", "slots_of"]

_STROKE = ord("│")
_NUMBER = str.maketrans("0123456789", marks.DIGITS)
_GROUP = re.compile(rf"{marks.OPEN}[^{marks.CLOSE}]*{marks.CLOSE}|.", re.DOTALL)


def slots_of(cells: NDArray[np.integer], count: int) -> NDArray[np.integer]:
    """The slots of a page in reading order, shape (count · rows, cells of a slot).

    Args:
        cells: the page, shape (rows, columns).
        count: columns of text on it.
    """
    width = column_width(cells.shape[1], count)
    lefts = range(0, count * (width + GUTTER), width + GUTTER)
    return np.concatenate([cells[:, left : left + width] for left in lefts])


class _Setter:
    """Sets lines into slots of `width` cells.

    Args:
        glyphs: the font.
        width: cells of a slot.
        genuine: folded offsets of the source's own marks.
    """

    def __init__(self, glyphs: Glyphs, width: int, genuine: frozenset[int]) -> None:
        self._glyphs = glyphs
        self._width = width
        self._genuine = genuine
        self._printed: dict[str, tuple[str, ...]] = {}

    def line(self, text: str, first: int, *, ends: bool) -> Iterator[tuple[NDArray[np.int32], int]]:
        """The slots of a line that begins at the folded offset `first`, and the offset that each begins at.

        `ends`: the text ends with it, and not with a newline; the end mark stands behind it.
        """
        if text.isascii() and "\t" not in text and len(text) <= self._width and text[-1:] != " " and not ends:
            yield self._slot([text], goes_on=False), first
            return
        units, offsets = self._units(text, first)
        if ends:
            units.append(marks.END)
            offsets.append(first + len(text))
        sizes = [self._cells(unit) for unit in units]
        at, rest = 0, sum(sizes)
        while rest > self._width:
            # One unit at the least; a cell stays for the mark that the line goes on.
            stop, used = at + 1, sizes[at]
            while used + sizes[stop] < self._width:
                used += sizes[stop]
                stop += 1
            yield self._slot(units[at:stop], goes_on=True), offsets[at]
            at, rest = stop, rest - used
        yield self._slot(units[at:], goes_on=False), offsets[at] if at < len(offsets) else first

    def _units(self, text: str, first: int) -> tuple[list[str], list[int]]:
        """What may not be torn: clusters as they are printed, and the blanks at the end of a line."""
        body = text.rstrip(" ")
        if body.isascii():
            clusters: list[str] = list(body)
        else:
            from wcwidth import iter_graphemes

            clusters = list(iter_graphemes(body))
        units: list[str] = []
        offsets: list[int] = []
        at = first
        for cluster in clusters:
            printed = (cluster,) if at in self._genuine else self._page_text(cluster)
            units += printed
            offsets += [at] * len(printed)
            at += len(cluster)
        if len(text) > len(body):
            units.append(str(len(text) - len(body)).translate(_NUMBER))
            offsets.append(at)
        return units, offsets

    def _page_text(self, cluster: str) -> tuple[str, ...]:
        """A cluster as it is printed: one unit, or several where it is too wide for a slot."""
        found = self._printed.get(cluster)
        if found is None:
            text = encode(cluster, self._glyphs, widest=self._width - 1).text
            whole = self._cells(text) < self._width
            found = (text,) if whole else tuple(match[0] for match in _GROUP.finditer(text))
            self._printed[cluster] = found
        return found

    def _cells(self, text: str) -> int:
        if text.isascii() or text == marks.END:
            return len(text)
        return int(self._glyphs.cells[code_points(text)].sum())

    def _slot(self, units: list[str], *, goes_on: bool) -> NDArray[np.int32]:
        ended = units[-1:] == [marks.END]
        codes = code_points("".join(units[:-1] if ended else units))
        cells = self._glyphs.glyphs[codes]
        widths = self._glyphs.cells[codes]
        wide = np.flatnonzero(widths == 2)
        if wide.size:
            cells = np.repeat(cells, widths)
            cells[wide + np.arange(1, wide.size + 1)] += 1
        slot = np.full(self._width, self._glyphs.pad if goes_on else self._glyphs.blank, np.int32)
        slot[: cells.size] = cells
        if ended:
            slot[cells.size] = self._glyphs.end
        return slot


def set_lines(
    source: Source,
    glyphs: Glyphs,
    columns: int,
    rows: int,
    count: int,
    *,
    fit: Callable[[int], int] = lambda rows: rows,
) -> Iterator[Grid]:
    """Set `source` into pages of `rows` × `columns` cells with `count` columns of lines.

    Args:
        source: what to set. Without characters it has no page.
        glyphs: the font.
        columns: cells across a page.
        rows: rows of a full page.
        count: columns of lines.
        fit: rows that a last page has that needs so many: as many as fit the height it will be given, since
            a reader takes every row of the image for one that was set.
    """
    if not source.text:
        return
    folded = fold(source.text)
    genuine = folded.folded_offsets(np.array(source.marks, np.int64)).tolist() if source.marks else ()
    setter = _Setter(glyphs, column_width(columns, count), frozenset(genuine))
    slots: list[NDArray[np.int32]] = []
    start = 0
    for slot, origin in _slots(folded.text, setter):
        if len(slots) == rows * count:
            if int(slot[0]) == glyphs.end:
                break  # a page for the end mark alone is none
            stop = folded.source_offset(origin)
            yield Grid(_page(slots, glyphs, columns, rows, count), start, stop)
            slots, start = [], stop
        slots.append(slot)
    used = rows if len(slots) == rows * count else min(rows, fit(-(-len(slots) // count)))
    yield Grid(_page(slots, glyphs, columns, used, count), start, len(source.text))


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


def _page(
    slots: list[NDArray[np.int32]], glyphs: Glyphs, columns: int, rows: int, count: int
) -> NDArray[np.int32]:
    """The page of slots in reading order, shape (rows, columns)."""
    width = column_width(columns, count)
    page = np.full((rows, columns), glyphs.blank, np.int32)
    stroke = int(glyphs.glyphs[_STROKE]) if glyphs.cells[_STROKE] == 1 else glyphs.blank
    for number in range(count):
        left = number * (width + GUTTER)
        own = slots[number * rows : (number + 1) * rows]
        if own:
            page[: len(own), left : left + width] = own
        if number:
            page[:, left - 2] = stroke
    return page
