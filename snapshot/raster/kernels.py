"""Numba kernels, and only kernels: plain loops over arrays that the caller made.

Importing this module imports numba; callers do so when the job is large enough to pay for it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["pack_rows"]


@njit(nogil=True, cache=True)
def pack_rows(cells, strips, bits, above, out):  # pragma: no cover - compiled
    """Write the scanlines of a grid of glyphs, packed with the leftmost pixel in the highest bits.

    `cells` is uint32 (rows, columns): unsigned, since numba asks of each signed index whether it counts
    from the end. `strips` is uint64 (glyphs, cell height), each one pixel row of a glyph in its lowest
    `bits` bits, 64 at the most. `above` is bool (cell height): rows that are written less the row above them,
    byte by byte; never the first. `out` is uint8 (rows, cell height, 1 + bytes of a scanline): each scanline
    gets its pixels behind the filter byte, and ones behind the last of them.

    The innermost loops go down a glyph, not along a line: all lines of a row shift alike, so that the
    compiler makes vectors of them.
    """
    rows, columns = cells.shape
    height, length = strips.shape[1], out.shape[2] - 1
    ones = np.uint64(0xFFFFFFFFFFFFFFFF)
    # Lines are put together here: behind its filter byte none is aligned.
    words = np.empty((height, length // 8 + 2), np.uint64)
    data = words.view(np.uint8)
    held = np.zeros(height, np.uint64)  # the word of each line that is not full yet
    for row in range(rows):
        at = 0
        taken = 0  # bits of `held` that are taken, from the highest
        held[:] = 0
        for column in range(columns):
            glyph = cells[row, column]
            spare = 64 - taken - bits
            if spare > 0:
                for y in range(height):
                    held[y] |= strips[glyph, y] << np.uint64(spare)
                taken += bits
                continue
            taken = -spare
            for y in range(height):
                words[y, at] = _reversed(held[y] | strips[glyph, y] >> np.uint64(taken))
                # Two shifts, since one by all 64 bits is undefined.
                held[y] = strips[glyph, y] << np.uint64(63 - taken) << np.uint64(1)
            at += 1
        for y in range(height):
            words[y, at] = _reversed(held[y] | ones >> np.uint64(taken))
            for rest in range(at + 1, words.shape[1]):
                words[y, rest] = ones
        for y in range(height):
            if above[y]:
                for place in range(length):
                    out[row, y, 1 + place] = data[y, place] - data[y - 1, place]
            else:
                for place in range(length):
                    out[row, y, 1 + place] = data[y, place]


@njit(nogil=True, cache=True, inline="always")
def _reversed(word):  # pragma: no cover - compiled
    """The word with its bytes in the opposite order: the highest first in memory, which counts upwards."""
    low, middle = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0000FFFF0000FFFF)
    word = (word >> np.uint64(8) & low) | (word & low) << np.uint64(8)
    word = (word >> np.uint64(16) & middle) | (word & middle) << np.uint64(16)
    return word >> np.uint64(32) | word << np.uint64(32)
