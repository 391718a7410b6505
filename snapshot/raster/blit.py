"""Grids of glyph numbers → packed PNG scanlines.

Two ways that give the same bytes: NumPy, which is at work at once, and the numba kernel, which takes about
a second to load in a new process and is several times quicker from then on where a cell is no whole number
of bytes wide. `Blitter` takes the first until the job is large.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from snapshot.raster.atlas import Atlas

__all__ = ["Blitter", "bit_depth"]


def bit_depth(levels: int) -> int:
    """Bits per pixel for that many ink levels: 1, 2 or 4."""
    return {2: 1, 4: 2, 16: 4}[levels]


class Blitter:
    """Writes the scanlines of pages of one atlas and page width.

    Args:
        atlas: the glyphs.
        width: width of the page in pixels; what is right of the last column is paper.
        compiled: use the numba kernel where NumPy would be slower.
    """

    def __init__(self, atlas: Atlas, width: int, *, compiled: bool = False) -> None:
        self._atlas = atlas
        self._width = width
        self._compiled = compiled
        self.depth = bit_depth(atlas.face.levels)
        self._cell_bits = atlas.face.cell[0] * self.depth

    @cached_property
    def _tones(self) -> NDArray[np.uint8]:
        """Glyphs as PNG grey values: 0 is full ink, the highest value is paper."""
        return np.uint8(self._atlas.face.levels - 1) - self._atlas.ink

    @cached_property
    def _packed(self) -> NDArray[np.uint8]:
        """Glyph rows as whole bytes, shape (glyphs, cell height, bytes)."""
        return _pack(self._tones, self.depth)

    @cached_property
    def _strips(self) -> NDArray[np.uint32]:
        """Glyph rows as numbers, leftmost pixel highest."""
        shifts = np.arange(self._atlas.face.cell[0] - 1, -1, -1, dtype=np.uint32) * np.uint32(self.depth)
        return (self._tones.astype(np.uint32) << shifts).sum(axis=2, dtype=np.uint32)

    def scanlines(self, cells: NDArray[np.int32], height: int) -> NDArray[np.uint8]:
        """The page's scanlines, each with filter byte 0: uint8, shape (height, 1 + bytes of a row).

        Args:
            cells: glyph numbers, shape (rows, columns).
            height: height of the page in pixels; what is below the last row is paper.
        """
        rows, columns = cells.shape
        cell_width, cell_height = self._atlas.face.cell
        used = rows * cell_height
        length = (self._width * self.depth + 7) // 8
        out = np.empty((height, 1 + length), np.uint8)
        out[:, 0] = 0
        out[used:, 1:] = 255
        text = out[:used]
        if self._cell_bits % 8 == 0:
            taken = columns * self._cell_bits // 8
            # (rows, columns, height, bytes) → (rows, height, columns, bytes): one copy, row after row.
            target = text[:, 1 : 1 + taken].reshape(rows, cell_height, columns, -1)
            target[...] = self._packed[cells].swapaxes(1, 2)
            text[:, 1 + taken :] = 255
        elif self._compiled and self._cell_bits <= 32:
            from snapshot.raster.kernels import pack_rows

            pack_rows(cells, self._strips, self._cell_bits, 255, text)
        else:
            tones = np.full((rows, cell_height, self._width), self._atlas.face.levels - 1, np.uint8)
            wide = self._tones[cells].swapaxes(1, 2).reshape(rows, cell_height, columns * cell_width)
            tones[:, :, : columns * cell_width] = wide
            text[:, 1:] = _pack(tones.reshape(used, self._width), self.depth)
        return out


def _pack(tones: NDArray[np.uint8], depth: int) -> NDArray[np.uint8]:
    """Pixels of the last axis packed into bytes, leftmost highest; the rest of the last byte is ones."""
    per_byte = 8 // depth
    rest = -tones.shape[-1] % per_byte
    if rest:
        filling = np.full((*tones.shape[:-1], rest), (1 << depth) - 1, np.uint8)
        tones = np.concatenate((tones, filling), axis=-1)
    if depth == 1:
        return np.packbits(tones, axis=-1)
    packed = np.zeros((*tones.shape[:-1], tones.shape[-1] // per_byte), np.uint8)
    for place in range(per_byte):
        packed |= tones[..., place::per_byte] << np.uint8(8 - depth * (place + 1))
    return packed
