"""Marks drawn so that figures beside them stay figures of their own, by rules for any cell.

A mark that touches a line number, or is like a digit, is read as a digit more of it, by every engine that was
asked (`python -m benchmarks.marks`). So a line's end has two cells: a small hooked arrow in their middle, its
hook low, since a tall one makes it a 4. Behind the number of a run of blanks stands a cell of air; a tab is a
few faint dots. An arrow to the right, which some tools print behind a line number, is no mark, but is drawn
small and thin for the same reason.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from snapshot.source import marks

__all__ = ["with_marks"]

Grid = NDArray[np.uint8]

_ARROW = ord("→")
_LEAST = 5, 8  # width and height of a cell that there is room in
_LINE_END = (
    "..#....",
    "-##...#",
    "#######",
    "-##....",
    "..#....",
)


def with_marks(drawn: Mapping[int, Grid], cell: tuple[int, int], levels: int) -> dict[int, Grid]:
    """The drawings of a face, those of marks as pages have them.

    Args:
        drawn: ink levels by code point, each of one cell, marks among them; without marks nothing is added.
            In a cell that is too small for what is drawn here they stay as they are.
        cell: width and height of a cell in pixels.
        levels: ink levels of the face, paper included.
    """
    if ord(marks.NEWLINE) not in drawn:
        return dict(drawn)
    width, height = cell
    ink = np.array([level * (levels - 1) // 3 for level in range(4)], np.uint8)
    faint, strong = max(1, int(ink[1])), max(1, int(ink[2]))
    own: dict[int, Grid] = {}
    if width >= _LEAST[0] and height >= _LEAST[1]:
        middle, left = height // 2, width - 4
        newline = np.zeros((height, 2 * width), np.uint8)
        rows = [[".-+#".index(level) for level in row] for row in _LINE_END]
        newline[middle - 1 : middle + 4, left : left + 7] = ink[rows]
        tab, arrow = (np.zeros((height, width), np.uint8) for _ in range(2))
        tab[3 * height // 4, 1::3] = faint
        arrow[middle, 2:] = strong
        arrow[middle - 1 : middle + 2 : 2, width - 2] = strong
        own = {ord(marks.NEWLINE): newline, ord(marks.TAB): tab, _ARROW: arrow}
    own[ord(marks.AIR)] = _speck(cell, faint, {glyph.tobytes() for glyph in drawn.values()})
    return {**drawn, **own}


def _speck(cell: tuple[int, int], level: int, taken: set[bytes]) -> Grid:
    """A glyph of one faint pixel, as low and far to the left as no other glyph has it."""
    width, height = cell
    for row in range(height - 1, -1, -1):
        for column in range(width):
            glyph = np.zeros((height, width), np.uint8)
            glyph[row, column] = level
            if glyph.tobytes() not in taken:
                return glyph
    raise ValueError("every pixel is a glyph")
