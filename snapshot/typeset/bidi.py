"""Right to left: runs of Hebrew and Arabic, turned about in their row.

Text is set in the order in which it is read, so that rows and pages fill as all text does. Then, in each row
by itself, what lies from the first to the last right-to-left letter of a stretch without other letters or
marks is put in the opposite order: cluster by cluster, numbers as they were, brackets mirrored. A turned run
ends with letters where it ended with letters, so turning it again gives back the row: that is how pages are
read. (All of Unicode's bidirectional algorithm cannot be undone: it shows different texts alike.)
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from snapshot.source import marks
from snapshot.typeset.offset_map import concat_ranges

__all__ = ["classes_of", "to_visual", "turn_with", "turned", "visual_index"]

_N = TypeVar("_N", bound=np.integer)

# Classes of cells. Of a glyph over several cells, or in brackets, all but the first are `_PART`.
_OTHER, _NEUTRAL, _DIGIT, _SEPARATOR, _UNIT, _RIGHT, _OPEN, _CLOSE, _PART = range(9)
_RIGHT_TO_LEFT = ((0x590, 0x8FF), (0xFB1D, 0xFDFF), (0xFE70, 0xFEFE), (0x10800, 0x10FFF), (0x1E800, 0x1EFFF))
_DIGITS = ((0x30, 0x39), (0x660, 0x669), (0x6F0, 0x6F9))
_SEPARATORS = ".,:/-٫٬"
_UNITS = "$%#+¢£¤¥°±‰€₪٪"
_MIRRORED = ("()", "[]", "{}", "<>", "«»", "‹›")
# Signs without a direction, of which page text's own marks are none.
_NEUTRALS = (
    (0x20, 0x2F),
    (0x3A, 0x40),
    (0x5B, 0x60),
    (0x7B, 0x7E),
    (0xA0, 0xBF),
    (0x2010, 0x206F),
    (0x20A0, 0x2BFF),
)
_OWN = np.array([ord(mark) for mark in marks.PAGE_MARKS], np.int64)


class _Glyphs(Protocol):
    """What turning has to know of a font."""

    @property
    def directions(self) -> NDArray[np.uint8] | None:
        """The class of each glyph, from `classes_of`; None where no glyph goes right to left."""
        ...

    @property
    def glyphs(self) -> NDArray[np.int32]: ...

    @property
    def cells(self) -> NDArray[np.uint8]: ...


def classes_of(codes: NDArray[np.int32]) -> NDArray[np.uint8] | None:
    """The class of each glyph, of which code points are given (of units that of their first character).

    -1 is for what is not the first cell of a glyph. None where nothing goes right to left.
    """
    right = _within(codes, _RIGHT_TO_LEFT)
    if not right.any():
        return None
    classes = np.full(codes.size, _OTHER, np.uint8)
    classes[_within(codes, _NEUTRALS)] = _NEUTRAL
    classes[right] = _RIGHT
    # Arabic signs that join no words: commas, question marks, what has no strong direction.
    for at in np.flatnonzero(right).tolist():
        if unicodedata.category(chr(codes[at]))[0] not in "LMN":
            classes[at] = _NEUTRAL
    classes[_within(codes, _DIGITS)] = _DIGIT
    classes[np.isin(codes, [ord(sign) for sign in _SEPARATORS])] = _SEPARATOR
    classes[np.isin(codes, [ord(sign) for sign in _UNITS])] = _UNIT
    classes[np.isin(codes, _OWN)] = _OTHER
    classes[codes == ord(marks.OPEN)] = _OPEN
    classes[codes == ord(marks.CLOSE)] = _CLOSE
    classes[codes < 0] = _PART
    return classes


def _within(codes: NDArray[np.int32], ranges: tuple[tuple[int, int], ...]) -> NDArray[np.bool_]:
    within = np.zeros(codes.size, np.bool_)
    for low, high in ranges:
        within |= (codes >= low) & (codes <= high)
    return within


def to_visual(cells: NDArray[_N], glyphs: _Glyphs) -> NDArray[_N]:
    """The rows with their right-to-left runs turned about: from reading order to what is seen, and back.

    Args:
        cells: glyph numbers, shape (rows, columns).
        glyphs: the font.
    """
    rows, classes = _to_turn(cells, glyphs)
    if not rows.size:
        return cells
    order, may_mirror = _way[0](classes)
    cells = cells.copy()
    seen = np.take_along_axis(cells[rows], order, axis=1)
    mirror = np.arange(glyphs.directions.size if glyphs.directions is not None else 0)
    for pair in _MIRRORED:
        if all(glyphs.cells[ord(sign)] == 1 for sign in pair):
            one, other = (glyphs.glyphs[ord(sign)] for sign in pair)
            mirror[one], mirror[other] = other, one
    seen[may_mirror] = mirror[seen[may_mirror]]
    cells[rows] = seen
    return cells


def visual_index(cells: NDArray[np.integer], glyphs: _Glyphs) -> NDArray[np.int64]:
    """The column that each cell of `to_visual(cells, glyphs)` stood in."""
    columns = np.broadcast_to(np.arange(cells.shape[1]), cells.shape)
    rows, classes = _to_turn(cells, glyphs)
    if rows.size:
        columns = columns.copy()
        columns[rows] = _way[0](classes)[0]
    return columns


def _to_turn(cells: NDArray[np.integer], glyphs: _Glyphs) -> tuple[NDArray[np.intp], NDArray[np.uint8]]:
    """The rows with letters that go right to left, and the classes of their cells."""
    if glyphs.directions is None:
        return np.zeros(0, np.intp), np.zeros((0, cells.shape[1]), np.uint8)
    classes = glyphs.directions[cells]
    rows = np.flatnonzero((classes == _RIGHT).any(axis=1))
    return rows, classes[rows]


def turned(classes: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The column that each cell of turned rows stood in, and which of them are signs that may be mirrored.

    All rows are worked on at once: a row is a stretch of one long line, with a stop before it.

    Args:
        classes: of the cells, shape (rows, columns); each row has a letter that goes right to left.
    """
    rows, columns = classes.shape
    line = np.full((rows, columns + 1), _OTHER, np.uint8)
    line[:, 1:] = classes
    kinds = line.ravel()
    follows, grouped = _items(kinds, columns + 1)
    firsts, ends = _runs(kinds, follows)
    if not firsts.size:
        return np.tile(np.arange(columns), (rows, 1)), np.zeros(classes.shape, np.bool_)
    lengths = ends - firsts
    inside = concat_ranges(firsts, lengths)
    run = np.repeat(np.arange(firsts.size), lengths)
    heads = inside[~follows[inside]]
    run_of = run[~follows[inside]]
    in_number = _in_numbers(kinds[heads], run_of)
    # What is moved as one: glyphs, what stands in brackets, and numbers.
    goes_on = np.zeros(heads.size, np.bool_)
    goes_on[1:] = in_number[1:] & in_number[:-1] & (run_of[1:] == run_of[:-1])
    starts, run_of = heads[~goes_on], run_of[~goes_on]
    stops = np.append(starts[1:], 0)
    last = np.append(run_of[1:] != run_of[:-1], True)
    stops[last] = ends[run_of[last]]
    moved = firsts[run_of] + ends[run_of] - stops
    order = np.arange(kinds.size)
    sizes = stops - starts
    order[concat_ranges(moved, sizes)] = inside
    may_mirror = np.zeros(kinds.size, np.bool_)
    may_mirror[inside] = (kinds[inside] == _NEUTRAL) | (kinds[inside] == _SEPARATOR)
    may_mirror &= ~follows & ~grouped & ~np.append(follows[1:], False)
    order = order.reshape(rows, columns + 1)
    seen = may_mirror[order[:, 1:]]
    return order[:, 1:] - order[:, :1] - 1, seen


def _items(kinds: NDArray[np.uint8], width: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which cells are moved with the one before them, and which begin what stands in marks' brackets.

    It writes into `kinds`, the classes of rows of `width` cells each, with the stop before a row: brackets
    that stand alone and parts of what is not moved are other cells, what is in brackets is neutral.
    """
    opening, closing = np.flatnonzero(kinds == _OPEN), np.flatnonzero(kinds == _CLOSE)
    part = kinds == _PART
    grouped = np.zeros(kinds.size, np.bool_)
    kinds[opening] = kinds[closing] = _OTHER
    # A part stands behind others of its glyph, and the first of these says what it is.
    head = np.maximum.accumulate(np.where(part, 0, np.arange(kinds.size)))
    follows = part & (kinds[head] != _OTHER)
    kinds[part] = np.where(follows[part], _NEUTRAL, _OTHER)
    if opening.size and closing.size:
        first, rest = _bracketed(opening, closing, kinds.size, width)
        kinds[first], grouped[first], follows[first] = _NEUTRAL, True, False
        kinds[rest], follows[rest] = _NEUTRAL, True
    return follows, grouped


def _bracketed(
    opening: NDArray[np.intp], closing: NDArray[np.intp], size: int, width: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where what stands in brackets begins, and where its rest is: from an opening to the next closing one.

    Args:
        opening, closing: offsets of the brackets.
        size: cells of all rows.
        width: cells of a row, with the stop before it.
    """
    before = np.maximum(closing // width * width, np.append(-1, closing[:-1]))
    at = np.searchsorted(opening, before, side="right")
    first = np.append(opening, size)[at]
    pairs = first < closing
    first, closing = first[pairs], closing[pairs]
    return first, concat_ranges(first + 1, closing - first)


def _runs(kinds: NDArray[np.uint8], follows: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Half-open spans from the first to the last letter of each stretch without other cells."""
    letters = np.flatnonzero(kinds == _RIGHT)
    stretch = np.cumsum(kinds == _OTHER)[letters]
    begins = np.append(True, stretch[1:] != stretch[:-1])[: letters.size]
    heads = np.append(np.flatnonzero(~follows), kinds.size)
    last = letters[np.append(begins[1:], True)[: letters.size]]
    return letters[begins], heads[np.searchsorted(heads, last, side="right")]


def _in_numbers(kinds: NDArray[np.uint8], run: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which items are of numbers: digits with signs of units beside them, parted by single separators.

    Args:
        kinds: the classes of items.
        run: the number of the run that each stands in, ascending.
    """
    signs = (kinds == _DIGIT) | (kinds == _UNIT)
    same = run[1:] == run[:-1]
    begins = signs.copy()
    begins[1:] &= ~(signs[:-1] & same)
    first = np.flatnonzero(begins)
    if not first.size:
        return signs
    has_digit = np.add.reduceat(kinds == _DIGIT, first, dtype=np.int64) > 0
    # Behind its last sign a block goes on to the next one's first, and there are no digits between.
    signs &= has_digit[np.cumsum(begins) - 1]
    within = np.zeros(signs.size, np.bool_)
    within[1:-1] = (kinds[1:-1] == _SEPARATOR) & signs[:-2] & signs[2:] & same[:-1] & same[1:]
    return signs | within


_Turns = Callable[[NDArray[np.uint8]], tuple[NDArray[np.int64], NDArray[np.bool_]]]
_way: list[_Turns] = [turned]


def turn_with(way: _Turns) -> None:
    """Turn rows by another function than `turned`, which gives the same: the compiled one."""
    _way[0] = way
