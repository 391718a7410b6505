"""Right to left: runs of Hebrew and Arabic, turned about in their row.

Text is set in the order in which it is read, so that rows and pages fill as all text does. Then, in each row
by itself, what lies from the first to the last right-to-left letter of a stretch without other letters or
marks is put in the opposite order: cluster by cluster, numbers as they were, brackets mirrored. A turned run
ends with letters where it ended with letters, so turning it again gives back the row: that is how pages are
read. (All of Unicode's bidirectional algorithm cannot be undone: it shows different texts alike.)
"""

from __future__ import annotations

import re
import unicodedata
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from snapshot.source import marks

__all__ = ["classes_of", "to_visual", "visual_index"]

_N = TypeVar("_N", bound=np.integer)

# Classes of cells. Of a glyph over several cells, or in brackets, all but the first are `_PART`.
_OTHER, _NEUTRAL, _DIGIT, _SEPARATOR, _UNIT, _RIGHT, _OPEN, _CLOSE, _PART = range(9)
# Numbers, as the initials of their classes: digits, with signs of units at either end, parted by separators.
_INITIALS = "ONDSURocp"
_NUMBER = re.compile(r"U*D[DU]*(?:SU*D[DU]*)*")
# What stands in marks' brackets, and is moved as one; what is turned of a stretch; a glyph over several
# cells, turned. Where one of these is a sign or a mark, its row is turned item by item.
_BRACKETED = re.compile(r"o[^c]*c")
_LETTERS = re.compile(r"R(?:[^O]*R)?p*")
_SEVERAL = re.compile(r"p+[Rn]")
_RARE = re.compile(r"[NDSUoc]p")
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
    mirror = {}
    turn = _to_turn(cells, glyphs)
    if turn:
        cells = cells.copy()
        for pair in _MIRRORED:
            if all(glyphs.cells[ord(sign)] == 1 for sign in pair):
                one, other = (int(glyphs.glyphs[ord(sign)]) for sign in pair)
                mirror |= {one: other, other: one}
    for row, classes in turn:
        cells[row] = _turned_row(cells[row].tolist(), classes, mirror)
    return cells


def visual_index(cells: NDArray[np.integer], glyphs: _Glyphs) -> NDArray[np.int64]:
    """The column that each cell of `turned(cells, glyphs)` stood in."""
    columns = np.broadcast_to(np.arange(cells.shape[1]), cells.shape)
    turn = _to_turn(cells, glyphs)
    if turn:
        columns = columns.copy()
    for row, classes in turn:
        columns[row] = _turned_row(columns[row].tolist(), classes, {})
    return columns


def _to_turn(cells: NDArray[np.integer], glyphs: _Glyphs) -> list[tuple[int, list[int]]]:
    """The rows with letters that go right to left, and the classes of their cells."""
    if glyphs.directions is None:
        return []
    classes = glyphs.directions[cells]
    rows = np.flatnonzero((classes == _RIGHT).any(axis=1))
    return [(row, classes[row].tolist()) for row in rows.tolist()]


# What is moved as one: its class and its cells.
_Item = tuple[int, list[int]]


def _turned_row(cells: list[int], classes: list[int], mirror: dict[int, int]) -> list[int]:
    kinds = "".join([_INITIALS[kind] for kind in classes])
    return _by_items(cells, classes, mirror) if _RARE.search(kinds) else _by_cells(cells, kinds, mirror)


def _by_items(cells: list[int], classes: list[int], mirror: dict[int, int]) -> list[int]:
    out: list[int] = []
    stretch: list[_Item] = []
    for item in (*_items(cells, classes), (_OTHER, [])):
        if item[0] != _OTHER:
            stretch.append(item)
            continue
        for _, moved in _turned_stretch(stretch, mirror):
            out += moved
        out += item[1]
        stretch = []
    return out


def _by_cells(cells: list[int], kinds: str, mirror: dict[int, int]) -> list[int]:
    """A row without what is rare: the same as by items, in a fifth of the time."""
    out = cells.copy()
    kinds = _BRACKETED.sub(lambda found: "n" + "p" * (len(found[0]) - 1), kinds)
    for found in _LETTERS.finditer(kinds.replace("o", "O").replace("c", "O")):
        first, last = found.span()
        run, said = cells[first:last][::-1], found[0][::-1]
        if not mirror.keys().isdisjoint(run):
            pairs = zip(run, said, strict=True)
            run = [mirror.get(cell, cell) if kind in "NS" else cell for cell, kind in pairs]
        for whole in (_NUMBER, _SEVERAL):
            for part in whole.finditer(said):
                begin, end = part.span()
                run[begin:end] = run[begin:end][::-1]
        out[first:last] = run
    return out


def _items(cells: list[int], classes: list[int]) -> list[_Item]:
    """The glyphs of a row, and as one what stands in marks' brackets."""
    items: list[_Item] = []
    at = 0
    while at < len(cells):
        kind, end = classes[at], at + 1
        if kind == _OPEN:
            close = classes.index(_CLOSE, at) if _CLOSE in classes[at:] else -1
            kind, end = (_OTHER, end) if close < 0 else (_NEUTRAL, close + 1)
        else:
            while end < len(cells) and classes[end] == _PART:
                end += 1
        items.append((_OTHER if kind in (_CLOSE, _PART) else kind, cells[at:end]))
        at = end
    return items


def _turned_stretch(items: list[_Item], mirror: dict[int, int]) -> list[_Item]:
    """A stretch without left-to-right letters, with what lies between its first and last letter turned."""
    letters = [at for at, item in enumerate(items) if item[0] == _RIGHT]
    if not letters:
        return items
    first, last = letters[0], letters[-1] + 1
    run: list[_Item] = []
    for item in reversed(items[first:last]):
        kind, cells = item
        mirrored = kind in (_NEUTRAL, _SEPARATOR) and len(cells) == 1 and cells[0] in mirror
        run.append((kind, [mirror[cells[0]]]) if mirrored else item)
    for number in _NUMBER.finditer("".join(_INITIALS[kind] for kind, _ in run)):
        run[slice(*number.span())] = run[slice(*number.span())][::-1]
    return items[:first] + run + items[last:]
