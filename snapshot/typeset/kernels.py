"""Numba kernels of typesetting, and only kernels; importing this module imports numba."""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["set_plain"]


@njit(nogil=True, cache=True)
def set_plain(codes, kinds, glyphs, mark_offsets, signs, column, columns, cells, starts):  # pragma: no cover
    """Set a stretch of plain text into rows, as `encode` and `pads_before` do together; its cells, or -1.

    `codes` is uint32, the code points of the source text; -1 where one of them is of kind 0, and nothing is
    done then that counts. `kinds` is uint8 and `glyphs` int32 by code point, `kinds` as in
    `snapshot.typeset.fast_path`. `mark_offsets` is int64, the offsets of marks that are no content,
    ascending, with one behind the last that is never reached. `signs` is int32, the glyphs of what is printed
    in place of characters, in the order of `snapshot.typeset.fast_path`; then that of the air behind a run's
    number, or -1, and the cells of a newline's mark. The first cell stands in `column` of `columns`.

    Writes glyph numbers into `cells` (int32, fifteen times the codes and a row at least), and into `starts`
    (int64, by row that begins here) the offset of the character at the row's first cell.
    """
    newline, tab, opening, closing, pad = signs[0], signs[1], signs[2], signs[3], signs[4]
    digits, hexes, air, newline_width = signs[5:15], signs[15:31], signs[31], signs[32]
    beside = np.int64(air >= 0)
    size = codes.size
    at, row, offset = np.uint64(0), np.uint64(0), np.uint64(0)  # unsigned: no index counts from the end
    mark = 0
    before = np.uint32(10)
    while offset < size:
        code = codes[offset]
        kind = kinds[code]
        here = offset
        offset += np.uint64(1)
        value = np.int64(code)
        width = 1  # cells of what is printed
        if kind == 0:
            return -1
        if kind == 2:
            while offset < size and codes[offset] == 32:
                offset += np.uint64(1)
            value = np.int64(offset - here)
            if value >= 4 or (value >= 2 and (before == 10 or before == 9)):
                width = _digits(value, 10) + beside
            else:  # this blank by itself, and then those behind it
                offset = here + np.uint64(1)
                kind = 1
        elif kind == 3:
            width = 2
        elif kind == 5 and np.int64(here) == mark_offsets[mark]:
            kind = 1
            mark += 1
        elif kind > 3:
            width = 2 + _digits(value, 16)
        elif code == 10:
            width = newline_width
        before = code
        if column == columns:
            column = 0
        if column + width > columns >= width:
            while column < columns:
                cells[at] = pad
                at += np.uint64(1)
                column += 1
            column = 0
        for place in range(width):
            if column == columns:
                column = 0
            if column == 0:
                starts[row] = here
                row += np.uint64(1)
            left = width - 1 - place
            if kind == 1:
                glyph = newline + place if code == 10 else tab if code == 9 else glyphs[code]
            elif kind == 2:
                glyph = digits[value // 10 ** (left - beside) % 10] if left >= beside else air
            elif kind == 3:
                glyph = glyphs[code] + place
            elif place == 0:
                glyph = opening
            else:
                glyph = hexes[value >> 4 * (left - 1) & 15] if left else closing
            cells[at] = glyph
            at += np.uint64(1)
            column += 1
    return np.int64(at)


@njit(nogil=True, cache=True, inline="always")
def _digits(value, base):  # pragma: no cover
    """Digits of a positive value."""
    count = 0
    while value:
        value //= base
        count += 1
    return count
