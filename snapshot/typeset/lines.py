"""Pages that keep lines: real lines in several narrow columns, for code and logs.

A page of `count` columns has `count` times as many slots as rows, filled from the top of the first column
to the bottom of the last. A line takes a slot; where it ends, the rest of the slot is blank. A line that is
longer than a slot goes on in the next, and the hatched filling at the end of a slot says so: so a slot's last
cell alone tells whether its line goes on. Blanks keep their places, but for those before the end of a line,
which are printed as a number. A stroke stands between columns.

Lines are set one by one and slots filled in order, so full pages do not change when the text grows by lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from snapshot.source import Source
from snapshot.typeset.columns import GUTTER, column_width
from snapshot.typeset.fold import fold
from snapshot.typeset.grid import Glyphs, Grid, glyph_cells
from snapshot.typeset.marks import NEWLINE

__all__ = ["set_lines", "slots_of"]

_STROKE = ord("│")


def slots_of(cells: NDArray[np.integer], count: int) -> NDArray[np.integer]:
    """The slots of a page in reading order, shape (count · rows, cells of a slot).

    Args:
        cells: the page, shape (rows, columns).
        count: columns of text on it.
    """
    width = column_width(cells.shape[1], count)
    lefts = range(0, count * (width + GUTTER), width + GUTTER)
    return np.concatenate([cells[:, left : left + width] for left in lefts])


@dataclass(slots=True)
class _Rows:
    """Slots that wait for their page, and the folded offset of the first character of each."""

    width: int
    blank: int
    pad: int
    slots: list[NDArray[np.int32]] = field(default_factory=list)
    origins: list[int] = field(default_factory=list)

    def add(self, cells: NDArray[np.int32], origin: int, filling: int) -> None:
        slot = np.full(self.width, filling, np.int32)
        slot[: cells.size] = cells
        self.slots.append(slot)
        self.origins.append(origin)

    def add_line(
        self, cells: NDArray[np.int32], origins: NDArray[np.int64], starts: NDArray[np.bool_], first: int
    ) -> None:
        """Set one line; `first` is the offset of its first character, which may be its newline."""
        at = 0
        while cells.size - at > self.width:
            end = at + self.width - 1
            # Back to where a unit starts; one that is as wide as a slot is torn after all.
            heads = np.flatnonzero(starts[at + 1 : end + 1])
            if heads.size:
                end = at + 1 + int(heads[-1])
            self.add(cells[at:end], int(origins[at]), self.pad)
            at = end
        self.add(cells[at:], int(origins[at]) if at < cells.size else first, self.blank)


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
    genuine = folded.folded_offsets(np.array(source.marks, np.int64)) if source.marks else None
    width = column_width(columns, count)
    newline = int(glyphs.glyphs[ord(NEWLINE)])
    held = _Rows(width, glyphs.blank, glyphs.pad)
    per_page = rows * count
    waiting: tuple[list[NDArray[np.int32]], int] | None = None  # a full page, until it is known where it ends
    cells, origins = np.zeros(0, np.int32), np.zeros(0, np.int64)
    starts = np.zeros(0, np.bool_)
    start = 0

    def full_pages() -> Iterator[Grid]:
        nonlocal waiting, start
        while len(held.slots) >= per_page:
            begin = 0 if waiting is None else folded.source_offset(held.origins[0])
            if waiting is not None:
                yield Grid(_page(waiting[0], glyphs, columns, rows, count), waiting[1], begin)
            waiting = held.slots[:per_page], begin
            del held.slots[:per_page], held.origins[:per_page]

    for begin, more, more_origins, more_starts in glyph_cells(folded, genuine, glyphs, width - 1, lines=True):
        cells = np.concatenate((cells, more.astype(np.int32, copy=False)))
        origins = np.concatenate((origins, more_origins + np.int64(begin)))
        starts = np.concatenate((starts, more_starts))
        at = 0
        for end in np.flatnonzero(cells == newline).tolist():
            held.add_line(cells[at:end], origins[at:end], starts[at:end], int(origins[end]))
            at = end + 1
        cells, origins, starts = cells[at:], origins[at:], starts[at:]
        yield from full_pages()
    # The end mark is set as if it were the text's last character.
    cells = np.append(cells, np.int32(glyphs.end))
    origins = np.append(origins, np.int64(len(folded.text)))
    held.add_line(cells, origins, np.append(starts, np.True_), len(folded.text))
    before = len(held.slots) - 1
    if before % per_page == 0 and int(held.slots[-1][0]) == glyphs.end and (before or waiting is not None):
        # A page for the mark alone is none.
        held.slots.pop()
        held.origins.pop()
    yield from full_pages()
    if held.slots:
        begin = 0 if waiting is None else folded.source_offset(held.origins[0])
        if waiting is not None:
            yield Grid(_page(waiting[0], glyphs, columns, rows, count), waiting[1], begin)
        used = min(rows, fit(-(-len(held.slots) // count)))
        yield Grid(_page(held.slots, glyphs, columns, used, count), begin, len(source.text))
    elif waiting is not None:
        yield Grid(_page(waiting[0], glyphs, columns, rows, count), waiting[1], len(source.text))


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
