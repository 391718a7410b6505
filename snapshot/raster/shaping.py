"""Clusters of complex scripts as glyphs: shaped by HarfBuzz, rasterized by FreeType, fitted to whole cells.

HarfBuzz says which glyphs of the font a cluster takes and where they stand (conjuncts, vowel signs, forms of
Arabic letters); no other library knows how. A cluster gets as many cells as its advance comes closest to.
Where a script joins, the strokes that join reach the edges of the cells.
"""

from __future__ import annotations

import ctypes
import math
import unicodedata
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from snapshot.errors import FontError
from snapshot.raster.face import Face
from snapshot.raster.freetype_face import load_flags
from snapshot.typeset.arabic import AFTER, BEFORE

__all__ = ["MOST_CELLS", "Shaper"]

MOST_CELLS = 4
"""Cells that one cluster may take."""

_JOINER = "\u200d"
_OVERLAY = 1
# Pixels per em by which a cluster too tall for its cell may be set smaller than the rest, and pixels that it
# may be moved up or down for.
_MOST_SMALLER = 4
_MOST_MOVED = 2
# Letters are set narrower rather than over one more cell, down to this share of their width; where they
# join, they are also set wider, since what joins has no gaps.
_NARROWEST = 0.74
_WIDEST = 1.35


class _Placed(NamedTuple):
    """A glyph of the font, by its index, and where its origin stands, in 64ths of a pixel."""

    glyph: int
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class _Fitting:
    """How a cluster of some advance is set: cells, horizontal scale, pixels before its origin."""

    cells: int
    scale: float
    left: float


class Shaper:
    """A face opened in HarfBuzz and FreeType, which gives clusters as ink levels in cells.

    Raises:
        FontError: the file is no font.
    """

    def __init__(self, face: Face) -> None:
        import freetype
        import uharfbuzz

        self._face = face
        # Both have what is made at import, where no type checker sees it.
        self._hb: Any = uharfbuzz
        self._freetype: Any = freetype
        try:
            self._font = freetype.Face(str(face.path))
            shaped = self._hb.Face(self._hb.Blob.from_file_path(str(face.path)))
        except (freetype.FT_Exception, OSError, self._hb.HarfBuzzError) as error:
            raise FontError(f"{face.path}: not a font that can be opened ({error})") from error
        self._shaped: Any = self._hb.Font(shaped)
        if face.axes:
            self._font.set_var_design_coords(face.axes)
            self._shaped.set_var_coords_design(list(face.axes))
        self._flags = load_flags(self._freetype, face.hinting)

    def glyph(self, text: str, form: int = 0) -> NDArray[np.uint8] | None:
        """Ink levels of a cluster, shape (cell height, cells · cell width).

        None where the font lacks a part of it, or where it is too tall or wide for its cells.

        Args:
            text: the cluster.
            form: whether its letters join what stands before and after it in the text (`BEFORE`, `AFTER`).
        """
        across, down = self._face.pixel_size
        for smaller in range(_MOST_SMALLER + 1):
            size = (across - smaller, down - smaller)
            placed, advance = self._place(text, form, size)
            if not placed:
                return None
            fitting = self._fitted(advance / 64, form)
            if fitting is None:
                continue
            canvas = self._drawn(placed, size, fitting)
            cell = None if canvas is None else self._in_cells(canvas, fitting, form, struck=_is_struck(text))
            if cell is not None:
                return cell
        return None

    def _place(self, text: str, form: int, size: tuple[int, int]) -> tuple[list[_Placed], int]:
        """The glyphs of a cluster, and its advance in 64ths of a pixel; none where the font cannot set it."""
        buffer = self._hb.Buffer()
        before = _JOINER if form & BEFORE else ""
        after = _JOINER if form & AFTER else ""
        buffer.add_str(before + text + after, len(before), len(text))
        buffer.guess_segment_properties()
        if len(text) == 1:
            # A vowel sign that is a cluster by itself: without a circle that says where its letter would be.
            buffer.flags |= self._hb.BufferFlags.DO_NOT_INSERT_DOTTED_CIRCLE
        self._shaped.scale = (size[0] * 64, size[1] * 64)
        self._hb.shape(self._shaped, buffer)
        placed, pen = [], 0
        for info, position in zip(buffer.glyph_infos, buffer.glyph_positions, strict=True):
            if not info.codepoint:
                return [], 0
            placed.append(_Placed(info.codepoint, pen + position.x_offset, position.y_offset))
            pen += position.x_advance
        marks_apart = len(text) > 1 and pen > buffer.glyph_positions[0].x_advance
        return ([], 0) if marks_apart and self._takes_no_room(text[1:]) else (placed, pen)

    def _takes_no_room(self, marks: str) -> bool:
        """Whether nothing stands beside a letter with these marks: else the font cannot put them on letters.

        Fonts for scripts that are shaped may draw a sign of its own for a mark, with room.
        """
        return not self._face.shaped and all(unicodedata.category(mark) in ("Mn", "Me") for mark in marks)

    def _fitted(self, advance: float, form: int) -> _Fitting | None:
        width = self._face.cell[0]
        if self._face.joins and not form:
            cells = max(1, round(advance / width))
            scale = cells * width / max(advance, 1)
            if scale < _NARROWEST:
                cells += 1
                scale = cells * width / advance
            scale = min(scale, _WIDEST)
        else:
            cells = max(1, -(-int(advance * _NARROWEST * 64) // (width * 64)))
            scale = min(1.0, cells * width / max(advance, 1))
        if cells > MOST_CELLS:
            return None
        return _Fitting(cells, scale, (cells * width - advance * scale) / 2)

    def _drawn(
        self, glyphs: list[_Placed], size: tuple[int, int], fitting: _Fitting
    ) -> NDArray[np.uint8] | None:
        """Coverage 0 to 255 of the glyphs over their cells, with a cell's margin on every side.

        None where one of them stands outside even of the margin: without it the cluster would say less.
        """
        width, height = self._face.cell
        canvas = np.zeros((3 * height, (fitting.cells + 2) * width), np.uint8)
        self._font.set_pixel_sizes(*size)
        matrix = self._freetype.Matrix(int(fitting.scale * 0x10000), 0, 0, 0x10000)
        for placed in glyphs:
            x = round(placed.x * fitting.scale + fitting.left * 64)
            self._font.set_transform(matrix, self._freetype.Vector(x, placed.y))
            self._font.load_glyph(placed.glyph, self._flags)
            slot = self._font.glyph
            bitmap: Any = slot.bitmap._FT_Bitmap  # the ctypes struct: the wrapper copies pixel by pixel
            rows, columns, pitch = bitmap.rows, bitmap.width, abs(bitmap.pitch)
            if not rows or not columns:
                continue
            raw = np.frombuffer(ctypes.string_at(bitmap.buffer, rows * pitch), np.uint8).reshape(rows, pitch)
            if bitmap.pixel_mode == self._freetype.FT_PIXEL_MODE_MONO:
                raw = np.unpackbits(raw, axis=1) * np.uint8(255)
            top, left = height + self._face.baseline - slot.bitmap_top, width + slot.bitmap_left
            if top + rows <= 0 or left + columns <= 0 or top >= canvas.shape[0] or left >= canvas.shape[1]:
                return None
            y0, x0 = max(top, 0), max(left, 0)
            part = canvas[y0 : top + rows, x0 : left + columns]
            ink = raw[y0 - top :, x0 - left : columns][: part.shape[0], : part.shape[1]]
            np.maximum(part, ink, out=part)
        return canvas

    def _in_cells(
        self, canvas: NDArray[np.uint8], fitting: _Fitting, form: int, *, struck: bool
    ) -> NDArray[np.uint8] | None:
        """What is on the canvas in its cells; None where it does not fit. Strokes through letters are cut."""
        width, height = self._face.cell
        top_level = self._face.levels - 1
        ink = ((canvas.astype(np.uint16) * top_level + 127) // 255).astype(np.uint8)
        rows = np.flatnonzero(ink.any(axis=1))
        if not rows.size:
            return None
        moved = min(max(rows[0], height), 2 * height - (rows[-1] + 1 - rows[0])) - rows[0]
        if moved + rows[0] < height or abs(moved) > _MOST_MOVED:
            return None
        ink = np.roll(ink, moved, axis=0)[height : 2 * height]
        end = width + fitting.cells * width
        columns = np.flatnonzero(ink.any(axis=0))
        if not form and not self._face.joins and not struck:
            extra_rows = min(max(columns[0], width), end - (columns[-1] + 1 - columns[0])) - columns[0]
            if extra_rows + columns[0] < width or abs(extra_rows) > width // 2:
                return None
            ink = np.roll(ink, extra_rows, axis=1)
        cell = ink[:, width:end].copy()
        # The strokes that join go on to the edges: right to left, so the letter before stands at the right.
        first, last = math.ceil(fitting.left), cell.shape[1] - math.ceil(fitting.left) - 1
        if form & AFTER:
            cell[:, :first] = cell[:, first : first + 1]
        if form & BEFORE:
            cell[:, last + 1 :] = cell[:, last : last + 1]
        return cell


def _is_struck(text: str) -> bool:
    """Whether a cluster is a letter with strokes through it: marks of Unicode's class of overlays."""
    return len(text) > 1 and all(unicodedata.combining(mark) == _OVERLAY for mark in text[1:])
