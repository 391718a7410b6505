"""Columns of text on a page: their width, the gutter between them, and the way from slots to a page and back.

A slot is a row of one column. Slots are read from the top of the first column to its bottom, then the next
column: a page of `count` columns has `count` times as many slots as rows.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from snapshot.typeset.coverage import Glyphs

__all__ = ["GUTTER", "column_width", "in_columns", "slots_of"]

GUTTER = 3
"""Cells between two columns of text: a blank, a stroke, a blank."""

_STROKE = ord("│")
_N = TypeVar("_N", bound=np.integer)


def column_width(columns: int, count: int) -> int:
    """Cells of a slot, on a page of `columns` cells across in `count` columns of text."""
    return (columns - GUTTER * (count - 1)) // count


def slots_of(cells: NDArray[_N], count: int) -> NDArray[_N]:
    """The slots of a page in reading order, shape (count · rows, cells of a slot).

    Args:
        cells: the page, shape (rows, columns).
        count: columns of text on it.
    """
    if count == 1:
        return cells
    width = column_width(cells.shape[1], count)
    lefts = range(0, count * (width + GUTTER), width + GUTTER)
    return np.concatenate([cells[:, left : left + width] for left in lefts])


def in_columns(
    slots: NDArray[np.int32], glyphs: Glyphs, columns: int, rows: int, count: int
) -> NDArray[np.int32]:
    """The page of slots in reading order, shape (rows, columns); what has no slot is blank.

    Args:
        slots: glyph numbers, shape (up to count · rows, cells of a slot).
        glyphs: the font.
        columns: cells across the page.
        rows: rows of the page.
        count: columns of text on it.
    """
    if count == 1 and len(slots) == rows:
        return slots
    width = column_width(columns, count)
    page = np.full((rows, columns), glyphs.blank, np.int32)
    stroke = int(glyphs.glyphs[_STROKE]) if glyphs.cells[_STROKE] == 1 else glyphs.blank
    for number in range(count):
        left = number * (width + GUTTER)
        own = slots[number * rows : (number + 1) * rows]
        page[: len(own), left : left + width] = own
        if number:
            page[:, left - 2] = stroke
    return page
