"""Glyphs on a cell, as the measures of legibility take them, whichever font they are of.

Pages are made of an `Atlas`; to be compared with them, a font of any other tool needs only printable ASCII on
some cell. A `GlyphSet` is that: pixels and the characters they stand for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from snapshot.errors import FontError
from snapshot.legibility.resized import ASCII
from snapshot.source.marks import AIR, END, PAD, PAGE_MARKS

if TYPE_CHECKING:
    from snapshot.raster.atlas import Atlas

__all__ = ["GlyphSet", "atlas_glyphs", "drawn_glyphs", "font_glyphs"]


@dataclass(frozen=True, slots=True, eq=False)
class GlyphSet:
    """Characters and their pixels on one cell.

    Attributes:
        name: what a report calls it.
        chars: the characters; the first is the blank.
        ink: uint8, shape (characters, height, width), 0 is paper and 255 full ink.
        marks: the drawings of the face's own marks, each as wide as its cells; none for others' fonts.
    """

    name: str
    chars: str
    ink: NDArray[np.uint8]
    marks: Mapping[str, NDArray[np.uint8]] = field(default_factory=dict)

    @property
    def cell(self) -> tuple[int, int]:
        """Width and height of the cell in pixels."""
        return self.ink.shape[2], self.ink.shape[1]

    @property
    def area(self) -> int:
        """Pixels of a cell."""
        return self.ink.shape[1] * self.ink.shape[2]

    def page(self, rows: Sequence[str], columns: int | None = None) -> NDArray[np.uint8]:
        """The rows as a page of grey values, dark on white; a character that is not in the set is blank.

        Args:
            rows: text, a string for each row.
            columns: cells in a row; by default those of the longest.
        """
        columns = columns or max(map(len, rows), default=1)
        place = {char: at for at, char in enumerate(self.chars)}
        cells = np.zeros((len(rows), columns), np.intp)
        for row, text in enumerate(rows):
            found = [place.get(char, 0) for char in text[:columns]]
            cells[row, : len(found)] = found
        width, height = self.cell
        return 255 - self.ink[cells].swapaxes(1, 2).reshape(len(rows) * height, columns * width)


def atlas_glyphs(atlas: Atlas, name: str | None = None, chars: str = ASCII) -> GlyphSet:
    """The narrow characters `chars` of an atlas, and its marks."""
    found = [char for char in chars if atlas.cells[ord(char)] == 1]
    ink = atlas.ink[[int(atlas.glyphs[ord(char)]) for char in found]]
    step = np.uint8(255 // (atlas.face.levels - 1))
    first = {char: (int(atlas.glyphs[ord(char)]), int(atlas.cells[ord(char)])) for char in PAGE_MARKS}
    first |= {PAD: (atlas.pad, 1), END: (atlas.end, 1)} | ({} if atlas.air is None else {AIR: (atlas.air, 1)})
    marks = {
        char: np.concatenate(atlas.ink[at : at + cells] * step, axis=1) for char, (at, cells) in first.items()
    }
    return GlyphSet(name or atlas.face.name, "".join(found), ink * step, marks)


def drawn_glyphs(path: Path, cell: tuple[int, int] | None = None, name: str | None = None) -> GlyphSet:
    """The ASCII of a file of drawn glyphs, in the middle of `cell` where one is given.

    Raises:
        FontError: a printable character is not drawn, or does not fit the cell.
    """
    from snapshot.raster.glyph_text import read_glyph_text

    try:
        grids = read_glyph_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise FontError(f"{path}: cannot be read ({error}); name a file of drawn glyphs") from error
    lacking = "".join(char for char in ASCII[1:] if ord(char) not in grids)
    if lacking:
        raise FontError(f"{path}: {len(lacking)} characters of ASCII are not drawn: {lacking}")
    rows, columns = grids[ord("A")].shape
    width, height = cell or (columns, rows)
    if rows > height or columns > width:
        raise FontError(f"{path}: glyphs of {columns}x{rows} do not fit a cell of {width}x{height}")
    ink = np.zeros((len(ASCII), height, width), np.uint8)
    y, x = (height - rows) // 2, (width - columns) // 2
    for at, char in enumerate(ASCII[1:], 1):
        ink[at, y : y + rows, x : x + columns] = grids[ord(char)] * np.uint8(85)
    return GlyphSet(name or path.stem, ASCII, ink)


def font_glyphs(
    path: Path,
    cell: tuple[int, int],
    *,
    axes: tuple[float, ...] = (),
    levels: int = 4,
    stretch: bool = False,
    name: str | None = None,
) -> GlyphSet:
    """The ASCII of a font file on `cell`: an outline as large as fits, a bitmap font in the middle.

    Args:
        path: any font that FreeType opens; of several strikes the largest that fits.
        cell: width and height in pixels.
        axes: design coordinates of a variable font.
        levels: ink levels; 2 hints outlines for one bit.
        stretch: scale width and height of an outline each for itself, so that it fills the cell.
        name: what a report calls it.

    Raises:
        FontError: no font, or no size of it fits the cell.
    """
    from snapshot.raster.face import Face
    from snapshot.raster.freetype_face import FreeTypeFace

    hinting = "mono" if levels == 2 else "light"
    face = Face(path.name, path, axes, (0, 0), hinting, cell, 0, levels)
    sizes, baseline = FreeTypeFace(face).fit(stretch=stretch)
    opened = FreeTypeFace(Face(path.name, path, axes, sizes, hinting, cell, baseline, levels))
    ink = np.zeros((len(ASCII), cell[1], cell[0]), np.uint8)
    for at, char in enumerate(ASCII[1:], 1):
        index = opened.characters.get(ord(char))
        glyph = None if index is None else opened.glyph(index)
        if glyph is None or glyph.shape != ink.shape[1:]:
            raise FontError(f"{path}: {char!r} does not fit a cell of {cell[0]}x{cell[1]}")
        ink[at] = glyph * np.uint8(255 // (levels - 1))
    return GlyphSet(name or path.name, ASCII, ink)
