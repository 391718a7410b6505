"""Glyphs that a rule draws better than a hand: box drawing, block elements, Braille.

Every glyph of these Unicode blocks says in its name what it looks like ("BOX DRAWINGS DOWN HEAVY AND LEFT UP
LIGHT"), so the name is what is drawn: crisp on the pixels of any cell, and from edge to edge, so that
neighbours join.
"""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["box_glyph"]

_FULL = 3
_SIDES = {
    "UP": ("up",), "DOWN": ("down",), "LEFT": ("left",), "RIGHT": ("right",),
    "VERTICAL": ("up", "down"), "HORIZONTAL": ("left", "right"),
}  # fmt: skip
_WEIGHTS = {"SINGLE": "LIGHT", "LIGHT": "LIGHT", "HEAVY": "HEAVY", "DOUBLE": "DOUBLE"}
_DASHES = {"DOUBLE": 2, "TRIPLE": 3, "QUADRUPLE": 4}
_OPPOSITE = {"up": "down", "down": "up", "left": "right", "right": "left"}
# Eighths of the cell from the bottom up (U+2581..2588) and from the left (U+2589..258F); halves of its edge.
_EIGHTHS = {0x2580 + n: ("down", n) for n in range(1, 9)} | {0x2590 - n: ("left", n) for n in range(1, 8)}
_EIGHTHS |= {0x2580: ("up", 4), 0x2590: ("right", 4), 0x2594: ("up", 1), 0x2595: ("right", 1)}
# Quarters that U+2596.. fill: upper left 1, upper right 2, lower left 4, lower right 8.
_QUADRANTS = dict(zip(range(0x2596, 0x25A0), (4, 8, 1, 13, 9, 7, 11, 2, 6, 14), strict=True))
# Dots of a Braille cell, bit by bit, as (row, column).
_BRAILLE = ((0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1), (3, 0), (3, 1))

Grid = NDArray[np.uint8]


def box_glyph(code: int, shape: tuple[int, int]) -> Grid | None:
    """The glyph of a code point as ink levels 0 to 3 of `shape` (rows, columns); None: no rule draws it."""
    if 0x2500 <= code < 0x2580:
        return _box(unicodedata.name(chr(code)).removeprefix("BOX DRAWINGS "), shape)
    if 0x2580 <= code < 0x25A0:
        return _block(code, shape)
    if 0x2800 < code < 0x2900:
        return _braille(code - 0x2800, shape)
    return None


def _box(name: str, shape: tuple[int, int]) -> Grid:
    grid = np.zeros(shape, np.uint8)
    if "DIAGONAL" in name:
        both = "CROSS" in name
        return _diagonals(shape, rising=both or "RIGHT TO" in name, falling=both or "LEFT TO" in name)
    dashes, words = 0, name.split()
    if "DASH" in words:
        at = words.index("DASH")
        dashes = _DASHES[words[at - 1]]
        name = " ".join(words[: at - 1] + words[at + 1 :])
    arms: dict[str, str] = {}
    weight = "LIGHT"
    for part in name.replace(" ARC", "").split(" AND "):
        words = part.split()
        weight = next((_WEIGHTS[word] for word in words if word in _WEIGHTS), weight)
        arms |= {side: weight for word in words for side in _SIDES.get(word, ())}
    _draw_arms(grid, arms)
    rows, columns = shape
    if " ARC" in name:
        middle = _band(rows, "LIGHT", columns), _band(columns, "LIGHT", columns)
        grid[middle] = 1
    lengthwise = grid if "left" in arms else grid.T
    length = lengthwise.shape[1]
    for dash in range(dashes):
        stop = round((dash + 1) * length / dashes)
        lengthwise[:, stop - max(1, length // 6) : stop] = 0
    return grid


def _band(length: int, weight: str, columns: int) -> slice:
    """Where a stroke stands across a side of `length`: heavy and double are wider by a pixel each way.

    The stroke's width follows the cell's columns in both directions.
    """
    width = max(1, round(columns / 7))
    start, more = (length - width) // 2, int(weight != "LIGHT")
    return slice(start - more, start + width + more)


def _draw_arms(grid: Grid, arms: dict[str, str]) -> None:
    """Draw arms from the middle to the edges, each to the far side of what it crosses there.

    Double arms are heavy ones with a channel cut out, in which single ones end, or which they cross.
    """
    columns = grid.shape[1]
    for weights in (("HEAVY", "DOUBLE"), ("CHANNEL",), ("LIGHT",)):
        for side, weight in arms.items():
            flat = side in ("left", "right")
            lane = grid if flat else grid.T
            across, length = lane.shape
            crossing = [arms[s] for s in arms if (s in ("left", "right")) != flat]
            middle = _band(length, "LIGHT", columns)
            wide = next((one for one in crossing if one != "LIGHT"), "LIGHT")
            if weights == ("CHANNEL",) and weight == "DOUBLE":
                through = "DOUBLE" in crossing or arms.get(_OPPOSITE[side]) == "DOUBLE"
                near = middle if through else slice(middle.stop, middle.start)
                band, level = _band(across, "LIGHT", columns), 0
            elif weight in weights:
                near, level = _band(length, wide, columns), _FULL
                if weight == "LIGHT" and crossing == ["DOUBLE"] * 2 and _OPPOSITE[side] not in arms:
                    near = slice(near.stop - 1, near.start + 1)
                band = _band(across, weight, columns)
            else:
                continue
            along = slice(0, near.stop) if side in ("left", "up") else slice(near.start, length)
            lane[band, along] = level


def _diagonals(shape: tuple[int, int], *, rising: bool, falling: bool) -> Grid:
    rows, columns = shape
    fine = 8
    y, x = (np.mgrid[0 : rows * fine, 0 : columns * fine] + 0.5) / fine
    reach = max(1, round(columns / 7)) / 2 * np.hypot(rows, columns)
    inked = np.zeros(y.shape, bool)
    if falling:
        inked |= np.abs(y * columns - x * rows) <= reach
    if rising:
        inked |= np.abs(y * columns - (columns - x) * rows) <= reach
    return _levels(inked.reshape(rows, fine, columns, fine).mean(axis=(1, 3)))


def _block(code: int, shape: tuple[int, int]) -> Grid:
    rows, columns = shape
    if 0x2591 <= code <= 0x2593:
        # Shades are hatched, so that none is a grey of its own at any number of levels.
        y, x = np.mgrid[0:rows, 0:columns]
        light, dark = (y + 2 * x) % 4 == 0, (y + x) % 2 == 0
        return ((light, dark, ~light)[code - 0x2591] * _FULL).astype(np.uint8)
    if code in _EIGHTHS:
        side, eighths = _EIGHTHS[code]
        length = rows if side in ("up", "down") else columns
        part = np.clip(eighths / 8 * length - np.arange(length), 0, 1)
        part = _levels(part if side in ("up", "left") else part[::-1])
        return np.tile(part[:, None], columns) if side in ("up", "down") else np.tile(part, (rows, 1))
    filled = [bool(_QUADRANTS[code] & bit) for bit in (1, 2, 4, 8)]
    top = np.repeat(filled[:2], (columns // 2, columns - columns // 2))
    bottom = np.repeat(filled[2:], (columns // 2, columns - columns // 2))
    halves = np.repeat([top, bottom], (rows // 2, rows - rows // 2), axis=0)
    return (halves * _FULL).astype(np.uint8)


def _braille(dots: int, shape: tuple[int, int]) -> Grid:
    rows, columns = shape
    pitch, size = rows / 4, max(1, columns // 4)
    grid = np.zeros(shape, np.uint8)
    for bit, (row, column) in enumerate(_BRAILLE):
        if dots >> bit & 1:
            y, x = round((row + 0.5) * pitch - size / 2), round((column + 0.5) * columns / 2 - size / 2)
            grid[y : y + max(2, size), x : x + size] = _FULL
    return grid


def _levels(coverage: NDArray[np.floating[Any]]) -> Grid:
    return np.floor(coverage * _FULL + 0.5).astype(np.uint8)
