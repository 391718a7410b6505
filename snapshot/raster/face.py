"""Faces: what a font is made from, as `fonts/*.toml` or a font file of the user's says it, and its glyphs.

A face file names a font package (or `path`), the axes of a variable font, the pixel size, the hinting and,
for a main face, the cell, the baseline, the number of grey levels, the file of drawn glyphs and the faces
that help out. FreeType does the rasterizing; this module only puts its bitmaps into cells.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snapshot.errors import FontError
from snapshot.resources import locate

__all__ = ["Face", "OpenFace", "cell_of", "load_face", "user_face"]

_HINTINGS = ("light", "normal", "none", "mono")
_KEYS = {
    "title", "package", "file", "path", "licence", "extra", "axes", "pixel_size", "hinting", "cell",
    "baseline", "levels", "drawn", "fallback", "scripts",
}  # fmt: skip

# Pixels per em by which a glyph too large for its cell may be set smaller than the rest.
_MOST_SMALLER = 3


@dataclass(frozen=True, slots=True)
class Face:
    """A font at one size, fitted to one cell.

    Attributes:
        name: name of the face file, or the file name of a user's font.
        path: the font file.
        axes: design coordinates of a variable font.
        pixel_size: horizontal and vertical pixels per em; 0, 0: a bitmap font's own strike.
        hinting: "light", "normal", "none" or "mono" (which also turns grey off).
        cell: width and height of the cell in pixels.
        baseline: pixel rows above the baseline.
        levels: ink levels, 2, 4 or 16, paper included.
        drawn: file of drawn glyphs, which win over the outlines.
        fallback: faces asked in turn for what this one lacks, on the same cell.
        missing: script and extra of each fallback that is not installed: ("CJK", "cjk").
    """

    name: str
    path: Path
    axes: tuple[float, ...]
    pixel_size: tuple[int, int]
    hinting: str
    cell: tuple[int, int]
    baseline: int
    levels: int = 4
    drawn: Path | None = None
    fallback: tuple[Face, ...] = ()
    missing: tuple[tuple[str, str], ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 over the font files and all that decides the pixels made from them."""
        sha = hashlib.sha256()
        for part in (self.axes, self.pixel_size, self.hinting, self.cell, self.baseline, self.levels):
            sha.update(repr(part).encode())
        for path in (self.path, self.drawn):
            sha.update(path.read_bytes() if path else b"-")
        for face in self.fallback:
            sha.update(face.digest.encode())
        return sha.hexdigest()


def load_face(name: str) -> Face:
    """The face that `fonts/NAME.toml` describes, with those of its fallbacks that are installed.

    A name may be a path without `.toml` too: the files that such a face names are beside it.

    Raises:
        FontError: no such face file, an error in it, or its font is not installed.
    """
    table = _read(name)
    try:
        cell, baseline, levels = tuple(table["cell"]), table["baseline"], table["levels"]
        face = _fitted(name, table, cell=cell, levels=levels)
    except (KeyError, TypeError, ValueError) as error:
        raise FontError(f"fonts/{name}.toml: {error!r} is missing or of the wrong type") from error
    folder = (locate("fonts") / name).parent
    drawn = folder / table["drawn"] if "drawn" in table else None
    fallback, missing = [], []
    for helper in table.get("fallback", ()):
        other = helper if folder == locate("fonts") else str(folder / helper)
        described = _read(other)
        if _font_file(other, described) is not None:
            fallback.append(_fitted(other, described, cell=cell, levels=levels))
        else:
            missing += [(script, described["extra"]) for script in described["scripts"]]
    return replace(face, baseline=baseline, drawn=drawn, fallback=tuple(fallback), missing=tuple(missing))


def cell_of(name: str) -> tuple[int, int]:
    """Width and height in pixels of the cell of the face `fonts/NAME.toml`; opens no font."""
    width, height = _read(name)["cell"]
    return width, height


def user_face(path: str | Path, like: Face) -> Face:
    """The font file `path` at the largest size that fits the cell of `like`, which helps out behind it.

    Raises:
        FontError: the file is no font that FreeType opens, or no size of it fits.
    """
    path = Path(path)
    face = Face(
        name=path.name,
        path=path,
        axes=(),
        pixel_size=(0, 0),
        hinting="light",
        cell=like.cell,
        baseline=like.baseline,
        levels=like.levels,
        drawn=like.drawn,
        fallback=(replace(like, drawn=None, fallback=(), missing=()), *like.fallback),
        missing=like.missing,
    )
    size, baseline = OpenFace(face).fit()
    return replace(face, pixel_size=size, baseline=baseline)


def _read(name: str) -> dict[str, Any]:
    folder = locate("fonts")
    try:
        table = tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8"))
    except FileNotFoundError:
        known = ", ".join(sorted(path.stem for path in folder.glob("*.toml")))
        raise FontError(f"no face {name}: fonts/ has {known}") from None
    except tomllib.TOMLDecodeError as error:
        raise FontError(f"fonts/{name}.toml: {error}") from error
    if unknown := table.keys() - _KEYS:
        raise FontError(
            f"fonts/{name}.toml: unknown key {min(unknown)}; known are {', '.join(sorted(_KEYS))}"
        )
    return table


def _font_file(name: str, table: dict[str, Any]) -> Path | None:
    """The font file, or None where the package that brings it is not installed."""
    if "path" in table:
        path = Path(table["path"])
        return path if path.exists() else None
    spec = importlib.util.find_spec(table["package"])
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(spec.submodule_search_locations[0]) / table["file"]
    if not path.exists():
        raise FontError(f"fonts/{name}.toml: package {table['package']} has no {table['file']}")
    return path


def _fitted(name: str, table: dict[str, Any], *, cell: tuple[int, int], levels: int) -> Face:
    path = _font_file(name, table)
    if path is None:
        raise FontError(f"fonts/{name}.toml: its font is not installed: reinstall snapshot-pages")
    if table["hinting"] not in _HINTINGS:
        raise FontError(f"fonts/{name}.toml: hinting is {table['hinting']!r}, allowed are {_HINTINGS}")
    across, down = table["pixel_size"]
    axes = tuple(float(value) for value in table.get("axes", ()))
    return Face(name, path, axes, (across, down), table["hinting"], cell, table["baseline"], levels)


class OpenFace:
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
        targets = {
            "light": constants.FT_LOAD_TARGET_LIGHT,
            "normal": constants.FT_LOAD_TARGET_NORMAL,
            "none": constants.FT_LOAD_TARGET_NORMAL | constants.FT_LOAD_NO_HINTING,
            "mono": constants.FT_LOAD_TARGET_MONO,
        }
        self._flags = constants.FT_LOAD_RENDER | targets[face.hinting]
        self._mono_mode = constants.FT_PIXEL_MODE_MONO

    @cached_property
    def characters(self) -> dict[int, int]:
        """Glyph index of each code point of the font, in order of code points."""
        return {code: index for code, index in self._font.get_chars() if index}

    def has(self, code: int) -> bool:
        """Whether the font has a glyph of the code point."""
        return bool(self._font.get_char_index(code))

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
