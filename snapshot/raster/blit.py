"""Grids of glyph numbers → packed PNG scanlines.

Two ways that give the same bytes: NumPy, which is at work at once, and the numba kernel, several times
quicker once it is loaded. Both take a glyph's pixel row as one number and put numbers side by side into
64-bit words. But NumPy puts cells of 1, 2, 4 or 8 whole bytes (8 pixels at two bits are two) side by side as
they are, which is quicker, and cells of more than 64 bits are set pixel by pixel.

Some pixel rows are written as differences from those above (`snapshot.raster.line_filters`). In cells of
whole bytes a glyph's difference is the same wherever it stands, and is taken once for the glyph.
"""

from __future__ import annotations

from functools import cached_property
from math import gcd

import numpy as np
from numpy.typing import NDArray

from snapshot.raster.atlas import Atlas
from snapshot.raster.face import Face
from snapshot.raster.line_filters import NONE, UP, filters_of, subtract_above

__all__ = ["Blitter", "bit_depth", "in_whole_bytes", "scanline_bytes"]

_WORD = 64
# Pixel rows of a glyph that NumPy sets at a time: few calls, and what is between them stays in the cache.
_AT_ONCE = 4
# Rows of text that are set at a time where cells are whole bytes, for the same reason.
_ROWS_AT_ONCE = 16


def bit_depth(levels: int) -> int:
    """Bits per pixel for that many ink levels: 1, 2 or 4."""
    return {2: 1, 4: 2, 16: 4}[levels]


def in_whole_bytes(face: Face) -> bool:
    """Whether the pixel rows of a cell of the face are whole bytes of a scanline."""
    return face.cell[0] * bit_depth(face.levels) % 8 == 0


def scanline_bytes(width: int, face: Face) -> int:
    """Bytes of a scanline of that many pixels, its filter byte among them."""
    return 1 + (width * bit_depth(face.levels) + 7) // 8


class Blitter:
    """Writes the scanlines of pages of one atlas and page width.

    Args:
        atlas: the glyphs.
        width: width of the page in pixels; what is right of the last column is paper.
        compiled: use the numba kernel; the bytes are the same.
    """

    def __init__(self, atlas: Atlas, width: int, *, compiled: bool = False) -> None:
        self._atlas = atlas
        self._width = width
        self.depth = bit_depth(atlas.face.levels)
        self._cell_bits = atlas.face.cell[0] * self.depth
        self._compiled = compiled and self._cell_bits <= _WORD
        self.row_bytes = scanline_bytes(width, atlas.face) - 1
        self._filters = filters_of(atlas.face)  # of each pixel row of a cell

    @cached_property
    def _tones(self) -> NDArray[np.uint8]:
        """Glyphs as PNG grey values: 0 is full ink, the highest value is paper."""
        return np.uint8(self._atlas.face.levels - 1) - self._atlas.ink

    @cached_property
    def _strips(self) -> NDArray[np.uint64]:
        """Pixel rows of glyphs as numbers, leftmost pixel highest: shape (cell height, glyphs + 1).

        The glyph behind the last one is all paper.
        """
        width, height = self._atlas.face.cell
        strips = np.zeros((height, len(self._tones) + 1), np.uint64)
        for x in range(width):
            strips[:, :-1] = strips[:, :-1] << np.uint64(self.depth) | self._tones[:, :, x].T
        strips[:, -1] = (1 << self._cell_bits) - 1
        return strips

    @cached_property
    def _columns(self) -> NDArray[np.uint64]:
        """The same glyph by glyph."""
        return np.ascontiguousarray(self._strips.T)

    @cached_property
    def _cell_bytes(self) -> NDArray[np.unsignedinteger] | None:
        """Glyph by glyph the filtered bytes of each pixel row, as one item: shape (glyphs + 1, cell height).

        None where no number has just the size of a cell's pixel row.
        """
        size, odd = divmod(self._cell_bits, 8)
        if odd or size not in (1, 2, 4, 8):
            return None
        data = self._columns.astype(f">u{size}").view(np.uint8).reshape(*self._columns.shape, size)
        subtract_above(data, self._filters)
        return data.view(f"=u{size}")[..., 0]

    def scanlines(
        self, cells: NDArray[np.int32], height: int, *, into: NDArray[np.uint8] | None = None
    ) -> NDArray[np.uint8]:
        """The page's scanlines, each behind its filter byte: uint8, shape (height, 1 + `row_bytes`).

        Args:
            cells: glyph numbers, shape (rows, columns).
            height: height of the page in pixels; what is below the last row is paper.
            into: an array of at least that many rows to write into, which the next page may overwrite.
        """
        rows = cells.shape[0]
        used = rows * self._atlas.face.cell[1]
        if into is None or len(into) < height:
            into = np.empty((height, 1 + self.row_bytes), np.uint8)
        out = into[:height]
        out[used:, 0] = NONE
        out[used:, 1:] = 255
        text = out[:used].reshape(rows, -1, 1 + self.row_bytes)
        text[:, :, 0] = self._filters
        if self._compiled:
            from snapshot.raster.kernels import pack_rows

            pack_rows(cells.view(np.uint32), self._columns, self._cell_bits, self._filters == UP, text)
        elif self._cell_bytes is not None:
            self._put_bytes(cells, self._cell_bytes, text)
        else:
            (self._put_words if self._cell_bits <= _WORD else self._put_pixels)(cells, text)
            subtract_above(text[:, :, 1:], self._filters)
        return out

    def _put_bytes(
        self, cells: NDArray[np.int32], items: NDArray[np.unsignedinteger], text: NDArray[np.uint8]
    ) -> None:
        """Write rows of text, shape (rows, cell height, 1 + bytes), whose cells are whole bytes.

        A glyph's pixel rows are taken at once, since they stand together, and are then put line by line.
        Items of several bytes are not aligned behind a filter byte, which NumPy minds little.
        """
        used = cells.shape[1] * items.itemsize
        text[:, :, 1 + used :] = np.where(self._filters == UP, 0, 255)[:, np.newaxis]
        shape, strides = (*text.shape[:2], cells.shape[1]), (*text.strides[:2], items.itemsize)
        lines = np.ndarray(shape, items.dtype, text.data, 1, strides)
        for row in range(0, len(cells), _ROWS_AT_ONCE):
            taken = items.take(cells[row : row + _ROWS_AT_ONCE], axis=0)
            lines[row : row + _ROWS_AT_ONCE] = taken.swapaxes(1, 2)

    def _put_words(self, cells: NDArray[np.int32], text: NDArray[np.uint8]) -> None:
        """Write rows of text, shape (rows, cell height, 1 + bytes), a group of neighbouring cells at a time.

        A group is the fewest cells that fill whole bytes, or as many of those as go into a word.
        """
        bits = self._cell_bits
        fewest = 8 // gcd(bits, 8)
        group = fewest * max(1, _WORD // (fewest * bits))
        size = group * bits // 8
        rows, columns = cells.shape
        groups = -(-columns // group)
        padded = np.full((rows, groups * group), self._strips.shape[1] - 1, np.intp)
        padded[:, :columns] = cells
        members = [np.ascontiguousarray(padded[:, k::group]) for k in range(group)]
        used = min(groups * size, self.row_bytes)
        text[:, :, 1 + used :] = 255
        packed = np.empty((_AT_ONCE, rows, groups, size), np.uint8)
        for y in range(0, len(self._strips), _AT_ONCE):
            strips = self._strips[y : y + _AT_ONCE]
            parts = [strips.take(member, axis=1) for member in members]
            count = len(strips)
            for start in range(0, size, 8):
                word = np.zeros((count, rows, groups), np.uint64)
                for k, part in enumerate(parts):
                    # From the last bit of the cell to the last bit of the word.
                    shift = (8 * start + _WORD) - (k + 1) * bits
                    if 0 <= shift < _WORD:
                        word |= part << np.uint64(shift)
                    elif -bits < shift < 0:
                        word |= part >> np.uint64(-shift)
                data = word.astype(">u8").view(np.uint8).reshape(count, rows, groups, 8)
                packed[:count, :, :, start : start + 8] = data[..., : size - start]
            lines = packed[:count].reshape(count, rows, -1)[:, :, :used]
            text[:, y : y + count, 1 : 1 + used] = lines.swapaxes(0, 1)

    def _put_pixels(self, cells: NDArray[np.int32], text: NDArray[np.uint8]) -> None:
        """Write rows of text pixel by pixel, whatever the size of a cell."""
        rows, columns = cells.shape
        width, height = self._atlas.face.cell
        tones = np.full(
            (rows, height, self.row_bytes * 8 // self.depth), self._atlas.face.levels - 1, np.uint8
        )
        wide = self._tones[cells].swapaxes(1, 2)
        tones[:, :, : columns * width] = wide.reshape(rows, height, columns * width)
        per_byte = 8 // self.depth
        packed = text[:, :, 1:]
        packed[...] = 0
        for place in range(per_byte):
            packed |= tones[:, :, place::per_byte] << np.uint8(8 - self.depth * (place + 1))
