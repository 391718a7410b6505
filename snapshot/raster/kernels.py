"""Numba kernels, and only kernels: plain loops over arrays that the caller made.

Importing this module imports numba; callers do so when the job is large enough to pay for it.
"""

from __future__ import annotations

from numba import njit

__all__ = ["pack_rows"]


@njit(nogil=True, cache=True)
def pack_rows(cells, strips, bits, paper, out):  # pragma: no cover - compiled
    """Write the scanlines of a grid of glyphs, packed with the leftmost pixel in the highest bits.

    `cells` is int32 (rows, columns); `strips` is uint32 (glyphs, cell height), each one pixel row of a
    glyph in its lowest `bits` bits; `paper` fills what is right of the last column. `out` is uint8
    (rows · cell height, 1 + bytes of a scanline): each row gets filter byte 0 and its pixels.
    """
    rows, columns = cells.shape
    height = strips.shape[1]
    length = out.shape[1]
    for row in range(rows):
        for y in range(height):
            line = row * height + y
            out[line, 0] = 0
            at = 1
            held = 0  # bits in `pending` that are not written yet
            pending = 0
            for column in range(columns):
                pending = pending << bits | strips[cells[row, column], y]
                held += bits
                while held >= 8:
                    held -= 8
                    out[line, at] = pending >> held & 255
                    at += 1
                pending &= (1 << held) - 1
            if at < length and held:
                out[line, at] = (pending << (8 - held) | (paper & ((1 << (8 - held)) - 1))) & 255
                at += 1
            while at < length:
                out[line, at] = paper & 255
                at += 1
