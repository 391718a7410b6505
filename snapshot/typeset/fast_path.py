"""Plain text set by a compiled kernel, many times quicker than array by array.

Plain is what needs no look at its neighbours but for runs of blanks: no control characters, no grapheme
clusters of several characters, no letters that join, no emoji that have names. The general way
(`snapshot.typeset.grid`) sets the rest, and the two give the same cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapshot.source import marks
from snapshot.source.codepoints import code_points
from snapshot.typeset.clusters import may_join
from snapshot.typeset.coverage import Glyphs
from snapshot.typeset.emoji import starts_emoji
from snapshot.typeset.prepared import PreparedText
from snapshot.typeset.shaped import may_be_unit

__all__ = ["PlainSetter"]

_CODES = 0x110000
_C1 = slice(0x80, 0xA0)  # controls, which are folded
# Kinds of code points, for the kernel. Marks are content, which is escaped, or the source's own.
_COMPLEX, _SINGLE, _BLANK, _WIDE, _UNCOVERED, _MARK = range(6)
_SIGNS = marks.NEWLINE + marks.TAB + marks.OPEN + marks.CLOSE + marks.PAD + marks.DIGITS + "0123456789ABCDEF"
_MOST = 15  # cells that a character may take: eight, and filling of seven before them


@dataclass(frozen=True, slots=True)
class _Plain:
    """A stretch of plain text as cells, which the next stretch overwrites."""

    begin: int
    cells: NDArray[np.int32]
    column: int
    columns: int
    starts: NDArray[np.int64]

    def origin(self, cell: int) -> int:
        """Offset in the source text of the character at a cell that begins a row."""
        return self.begin + int(self.starts[(cell + self.column) // self.columns - (self.column > 0)])


class PlainSetter:
    """Sets the plain stretches of one source text.

    Args:
        text: the source text.
        glyphs: the font.
        columns: cells in a row.
    """

    def __init__(self, text: PreparedText, glyphs: Glyphs, columns: int) -> None:
        self._text, self._marks_at, self._glyphs, self._columns = (
            text.source.text,
            text.marks,
            glyphs,
            columns,
        )
        self._kinds = _kinds(text.foreign, glyphs)
        signs = glyphs.glyphs[[ord(sign) for sign in _SIGNS]]
        signs[_SIGNS.index(marks.PAD)] = glyphs.pad
        air = -1 if glyphs.air is None else glyphs.air
        self._signs = np.append(signs, np.array([air, glyphs.cells[ord(marks.NEWLINE)]], np.int32))
        self._cells = np.empty(0, np.int32)

    def set(self, begin: int, end: int, column: int) -> _Plain | None:
        """The stretch from `begin` to `end`, its first cell in `column`; None if it is not plain."""
        from snapshot.typeset.kernels import set_plain

        low, high = np.searchsorted(self._marks_at, (begin, end))
        mark_offsets = np.append(self._marks_at[low:high] - begin, end)
        most = _MOST * (end - begin) + self._columns
        if self._cells.size < most:
            self._cells = np.empty(most, np.int32)
        starts = np.empty(most // self._columns + 2, np.int64)
        codes = code_points(self._text[begin:end])
        used = set_plain(
            codes,
            self._kinds,
            self._glyphs.glyphs,
            mark_offsets,
            self._signs,
            column,
            self._columns,
            self._cells,
            starts,
        )
        return None if used < 0 else _Plain(begin, self._cells[:used], column, self._columns, starts)


def _kinds(foreign: NDArray[np.uint32], glyphs: Glyphs) -> NDArray[np.uint8]:
    """The kind of each code point, given those outside ASCII that occur."""
    kinds = np.zeros(_CODES, np.uint8)
    kinds[ord("!") : ord("~") + 1] = _SINGLE
    kinds[[ord("\n"), ord("\t")]] = _SINGLE
    kinds[ord(" ")] = _BLANK
    cells = glyphs.cells[foreign]
    kinds[foreign] = np.array([_UNCOVERED, _SINGLE, _WIDE, _COMPLEX], np.uint8)[np.minimum(cells, 3)]
    kinds[[ord(mark) for mark in marks.PAGE_MARKS]] = _MARK
    kinds[foreign[may_join(foreign) | may_be_unit(foreign) | (cells == 0) & starts_emoji(foreign)]] = _COMPLEX
    kinds[_C1] = _COMPLEX
    return kinds
