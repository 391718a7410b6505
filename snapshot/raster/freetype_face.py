"""Faces opened in FreeType, which does the rasterizing; this module only puts its bitmaps into cells."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snapshot.errors import FontError
from snapshot.raster.face import Face

__all__ = ["FreeTypeFace", "load_flags"]

# Pixels per em by which a glyph too large for its cell may be set smaller than the rest.
_MOST_SMALLER = 3


def load_flags(freetype: Any, hinting: str) -> int:
    """FreeType's flags for glyphs that are rendered with a hinting of face files."""
    targets = {
        "light": freetype.FT_LOAD_TARGET_LIGHT,
        "normal": freetype.FT_LOAD_TARGET_NORMAL,
        "none": freetype.FT_LOAD_TARGET_NORMAL | freetype.FT_LOAD_NO_HINTING,
        "mono": freetype.FT_LOAD_TARGET_MONO,
    }
    return freetype.FT_LOAD_RENDER | targets[hinting]


class FreeTypeFace:
    """A face opened in FreeType, which gives its glyphs as ink levels in cells."""

    def __init__(self, face: Face) -> None:
        import freetype

        self._face = face
        try:
            self._font = freetype.Face(str(face.path))
        except (freetype.FT_Exception, OSError) as error:
            raise FontError(f"{face.path}: not a font that can be opened ({error})") from error
        if face.axes:
            self._font.set_var_design_coords(face.axes)
        if self._font.is_scalable:
            if all(face.pixel_size):
                self._font.set_pixel_sizes(*face.pixel_size)
        else:
            self._font.select_size(self._strike())
        constants: Any = freetype  # they are made at import, where no type checker sees them
        self._flags = load_flags(constants, face.hinting)
        self._mono_mode = constants.FT_PIXEL_MODE_MONO

    @cached_property
    def characters(self) -> dict[int, int]:
        """Glyph index of each code point of the font, in order of code points."""
        return {code: index for code, index in self._font.get_chars() if index}

    def index(self, code: int) -> int:
        """Glyph index of a code point, 0 where the font has none."""
        return self._font.get_char_index(code)

    def _strike(self) -> int:
        """Number of the largest strike of a bitmap font that fits the cell."""
        width, height = self._face.cell
        sizes = self._font.available_sizes
        fitting = [i for i, size in enumerate(sizes) if size.height <= height and size.width <= width]
        if not fitting:
            raise FontError(f"{self._face.path}: no strike of it fits a cell of {width}x{height} pixels")
        return max(fitting, key=lambda i: (sizes[i].height, sizes[i].width))

    def _bitmap(self, index: int) -> tuple[NDArray[np.uint8], int, int, float]:
        """Coverage 0 to 255 of a glyph, its left and top bearing in pixels, and its advance."""
        self._font.load_glyph(index, self._flags)
        slot = self._font.glyph
        bitmap = slot.bitmap._FT_Bitmap  # the ctypes struct: the wrapper copies pixel by pixel
        rows, width, pitch = bitmap.rows, bitmap.width, abs(bitmap.pitch)
        if not rows or not width:
            pixels = np.zeros((0, 0), np.uint8)
        else:
            raw = np.frombuffer(ctypes.string_at(bitmap.buffer, rows * pitch), np.uint8).reshape(rows, pitch)
            if bitmap.pixel_mode == self._mono_mode:
                raw = np.unpackbits(raw, axis=1) * np.uint8(255)
            pixels = raw[:, :width]
        advance = slot.linearHoriAdvance / 65536 if self._font.is_scalable else slot.advance.x / 64
        return pixels, slot.bitmap_left, slot.bitmap_top, advance

    def glyph(self, index: int, *, clip: bool = False) -> NDArray[np.uint8] | None:
        """Ink levels of a glyph in one cell or two, shape (cell height, width or 2 · width).

        A glyph that stands out of its cell is moved by a pixel or two, or made smaller by up to three; one
        that stands out all the same is None.

        Args:
            index: FreeType's glyph index.
            clip: cut off what stands out, as glyphs are meant to that join their neighbours.
        """
        cell = self._in_cell(*self._bitmap(index), clip=clip)
        if cell is not None or not all(self._face.pixel_size):
            return cell
        across, down = self._face.pixel_size
        for smaller in range(1, _MOST_SMALLER + 1):
            self._font.set_pixel_sizes(across - smaller, down - smaller)
            cell = self._in_cell(*self._bitmap(index), clip=clip)
            if cell is not None:
                break
        self._font.set_pixel_sizes(across, down)
        return cell

    def _in_cell(
        self, coverage: NDArray[np.uint8], left: int, top: int, advance: float, *, clip: bool
    ) -> NDArray[np.uint8] | None:
        width, height = self._face.cell
        top_level = self._face.levels - 1
        ink = ((coverage.astype(np.uint16) * top_level + 127) // 255).astype(np.uint8)
        if advance > 2.3 * width:
            return None
        span = width * (2 if advance > 1.3 * width else 1)
        # Narrower glyphs stand in the middle of their cell.
        x = left + round((span - advance) / 2)
        y = self._face.baseline - top
        if not clip:
            inked_rows, inked_columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
            if not inked_rows.size:
                return np.zeros((height, span), np.uint8)
            ink = ink[inked_rows[0] : inked_rows[-1] + 1, inked_columns[0] : inked_columns[-1] + 1]
            x, y = x + int(inked_columns[0]), y + int(inked_rows[0])
            moved_x = min(max(x, 0), span - ink.shape[1])
            moved_y = min(max(y, 0), height - ink.shape[0])
            if moved_x < 0 or moved_y < 0 or abs(moved_x - x) > 1 or abs(moved_y - y) > 2:
                return None
            x, y = moved_x, moved_y
        cell = np.zeros((height, span), np.uint8)
        x0, y0 = max(x, 0), max(y, 0)
        x1, y1 = min(x + ink.shape[1], span), min(y + ink.shape[0], height)
        if x1 > x0 and y1 > y0:
            cell[y0:y1, x0:x1] = ink[y0 - y : y1 - y, x0 - x : x1 - x]
        return cell

    def fit(self, *, stretch: bool = False) -> tuple[tuple[int, int], int]:
        """Largest pixel size, and the baseline for it, at which printable ASCII fits the cell.

        Args:
            stretch: make an outline as wide as the cell and as high, each for itself.
        """
        width, height = self._face.cell
        ascii_glyphs = [index for code, index in self.characters.items() if 33 <= code <= 126]
        if not ascii_glyphs:
            raise FontError(f"{self._face.path}: has no Latin letters, so it cannot be the main face")
        if not self._font.is_scalable:
            above, below = self._extent(ascii_glyphs)
            return (0, 0), above + max(0, height - above - below) // 2
        letter = self.characters.get(ord("M"), ascii_glyphs[0])
        across = next(
            (size for size in range(4 * height, 3, -1) if self._wide(letter, size) <= width + 0.25), 0
        )
        for size in range(4 * height if stretch else across, 3, -1):
            self._font.set_pixel_sizes(across if stretch else size, size)
            above, below = self._extent(ascii_glyphs)
            if above + below <= height:
                return (across if stretch else size, size), above + (height - above - below) // 2
        raise FontError(f"{self._face.path}: fits no cell of {width}x{height} pixels at any size")

    def _wide(self, index: int, size: int) -> float:
        """Advance of a glyph in pixels at that many pixels per em."""
        self._font.set_pixel_sizes(size, size)
        return self._bitmap(index)[3]

    def _extent(self, glyphs: Iterable[int]) -> tuple[int, int]:
        """Pixel rows of ink above and below the baseline."""
        above = below = 0
        for index in glyphs:
            pixels, _, top, _ = self._bitmap(index)
            above, below = max(above, top), max(below, pixels.shape[0] - top)
        return above, below
