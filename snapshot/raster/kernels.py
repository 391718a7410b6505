"""Numba kernels, and only kernels: plain loops over arrays that the caller made.

Importing this module imports numba; callers do so when the job is large enough to pay for it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["pack_rows"]


@njit(nogil=True, cache=True)
def pack_rows(cells, strips, bits, words, out):  # pragma: no cover - compiled
    """Write the scanlines of a grid of glyphs, packed with the leftmost pixel in the highest bits.

    `cells` is uint32 (rows, columns): unsigned, since numba asks of each signed index whether it counts
    from the end. `strips` is uint64 (cell height, glyphs), each one pixel row of a glyph in its lowest
    `bits` bits, 64 at the most. `out` is uint8 (rows, cell height, 1 + bytes of a scanline): each scanline
    gets its pixels behind the filter byte, and ones behind the last of them. `words` is uint64, room for a
    scanline and one more: lines are put together there, because behind its filter byte none is aligned.
    """
    rows, columns = cells.shape
    length = out.shape[2] - 1
    data = words.view(np.uint8)
    ones = np.uint64(0xFFFFFFFFFFFFFFFF)
    for row in range(rows):
        for y in range(strips.shape[0]):
            at = 0
            held = 0  # bits of `word` that are taken, from the highest
            word = np.uint64(0)
            for column in range(columns):
                strip = strips[y, cells[row, column]]
                spare = 64 - held - bits
                if spare > 0:
                    word |= strip << np.uint64(spare)
                    held += bits
                    continue
                words[at] = _reversed(word | strip >> np.uint64(-spare))
                at += 1
                held = -spare
                word = strip << np.uint64(64 - held) if held else np.uint64(0)
            words[at] = _reversed(word | ones >> np.uint64(held))
            for rest in range(at + 1, words.size):
                words[rest] = ones
            for place in range(length):
                out[row, y, 1 + place] = data[place]


@njit(nogil=True, cache=True, inline="always")
def _reversed(word):  # pragma: no cover - compiled
    """The word with its bytes in the opposite order: the highest first in memory, which counts upwards."""
    low, middle = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0000FFFF0000FFFF)
    word = (word >> np.uint64(8) & low) | (word & low) << np.uint64(8)
    word = (word >> np.uint64(16) & middle) | (word & middle) << np.uint64(16)
    return word >> np.uint64(32) | word << np.uint64(32)
