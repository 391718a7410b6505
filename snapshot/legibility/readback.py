"""Reading a page back by exact template matching: the proof that a page says what its source says.

From the PNG and the layout alone: the image is opened with Pillow, cut into cells by the layout's grid, and
each cell looked up among the atlas's glyphs. Nothing here shares code with the writer of the pixels, and
nothing is guessed: a cell that equals no glyph to the last pixel is an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from snapshot.errors import PageError
from snapshot.layout import Layout
from snapshot.raster.atlas import Atlas
from snapshot.typeset.lines import slots_of
from snapshot.typeset.marks import NEWLINE
from snapshot.typeset.pagetext import decode

__all__ = ["PageCells", "PageReader", "ReadPage", "read_page"]


@dataclass(frozen=True, slots=True)
class ReadPage:
    """What a page says.

    Attributes:
        page_text: the characters and marks in its cells, without filling.
        text: the folded source text that they print.
        marks: offsets in `text` of the source's own marks.
        ended: whether the end mark stands on the page.
    """

    page_text: str
    text: str
    marks: tuple[int, ...]
    ended: bool


@dataclass(frozen=True, slots=True, eq=False)
class PageCells:
    """What stands in a page's cells.

    Attributes:
        grey: the image, uint8, shape (height, width); 0 is ink.
        glyphs: the atlas's number of the glyph in each cell, shape (rows, columns).
        places: the cell that each character of the page text stands in, counted row by row; -1 for the end
            of a line that is not printed.
        page_text: the characters and marks, without filling.
        ended: whether the end mark stands on the page.
    """

    grey: NDArray[np.uint8]
    glyphs: NDArray[np.int64]
    places: NDArray[np.int64]
    page_text: str
    ended: bool


def read_page(cells: PageCells) -> ReadPage:
    """What the cells of a page say."""
    text, marks = decode(cells.page_text)
    return ReadPage(cells.page_text, text, marks, cells.ended)


class PageReader:
    """Reads pages of one layout, set with the glyphs of `atlas`."""

    def __init__(self, layout: Layout, atlas: Atlas) -> None:
        self._layout = layout
        self._atlas = atlas
        codes = atlas.codes
        right = np.flatnonzero(codes < 0)
        narrow = np.setdiff1d(np.arange(codes.size), np.concatenate((right, right - 1)))
        ink = atlas.ink.reshape(codes.size, -1)
        self._narrow = _Templates(ink[narrow], narrow)
        self._wide = _Templates(np.concatenate((ink[right - 1], ink[right]), axis=1), right - 1)

    def read(self, png: bytes) -> ReadPage:
        """Read one page.

        Raises:
            PageError: not an image of the layout's width and grey levels, or a cell that is no glyph; the
                message names the first by row and column, from 1.
        """
        return read_page(self.cells(png))

    def cells(self, png: bytes) -> PageCells:
        """Read one page, and tell which cell says what.

        Raises:
            PageError: as `read` does.
        """
        grey = self._grey(png)
        glyphs = self._glyphs(self._ink(grey))
        places = self._reading_order(glyphs)
        numbers = np.append(glyphs.reshape(-1), self._atlas.glyphs[ord(NEWLINE)])[places]
        ends = np.flatnonzero(numbers == self._atlas.end)
        if ends.size:
            numbers, places = numbers[: ends[0]], places[: ends[0]]
        codes = self._atlas.codes[numbers]
        said = (numbers != self._atlas.pad) & (codes >= 0)
        page_text = codes[said].astype("<u4").tobytes().decode("utf-32-le")
        return PageCells(grey, glyphs, places[said], page_text, ends.size > 0)

    def _reading_order(self, glyphs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Numbers of the cells in the order they are read; -1 is a line's end that is not printed."""
        cells = np.arange(glyphs.size).reshape(glyphs.shape)
        count = self._layout.text_columns
        if not count:
            return cells.reshape(-1)
        found = []
        for slot, places in zip(slots_of(glyphs, count), slots_of(cells, count), strict=True):
            # Filling at the end of a slot: the line goes on. Blanks there: it ends before them.
            if slot[-1] == self._atlas.pad:
                found.append(places)
            else:
                used = np.flatnonzero(slot != self._atlas.blank)
                found.append(np.append(places[: used[-1] + 1 if used.size else 0], -1))
        return np.concatenate(found)

    def _grey(self, png: bytes) -> NDArray[np.uint8]:
        """The image as grey values."""
        from PIL import Image, UnidentifiedImageError

        try:
            with Image.open(BytesIO(png), formats=["PNG"]) as image:
                grey = np.asarray(image.convert("L"))
        except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
            raise PageError(f"not a PNG image that can be opened: {error}") from error
        if grey.shape[1] != self._layout.width:
            wanted = f"pages of {self._layout.name} are {self._layout.width}"
            raise PageError(f"the image is {grey.shape[1]} pixels wide, {wanted}")
        return grey

    def _ink(self, grey: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Grey values as ink levels."""
        step = 255 // (self._atlas.face.levels - 1)
        if (grey % step).any():
            raise PageError(
                "the image has grey levels that no page has: it was resampled or is not one of ours"
            )
        return ((255 - grey) // step).astype(np.uint8)

    def _glyphs(self, ink: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Number of the glyph in each cell, shape (rows, columns)."""
        width, height = self._layout.cell
        columns = self._layout.columns
        rows = ink.shape[0] // height
        grid = ink[: rows * height, : columns * width].reshape(rows, height, columns, width)
        cells = np.ascontiguousarray(grid.swapaxes(1, 2)).reshape(rows * columns, height * width)
        glyphs = self._narrow.match(cells)
        # What is no narrow glyph is half of a wide one: halves come in pairs, and rows have whole pairs.
        halves = np.flatnonzero(glyphs < 0)
        if halves.size:
            lefts, rights = halves[: halves.size - halves.size % 2].reshape(-1, 2).T
            pairs = np.full(lefts.size, -1)
            side_by_side = (rights == lefts + 1) & (rights % columns > 0)
            matched = self._wide.match(np.concatenate((cells[lefts], cells[rights]), axis=1))
            pairs[side_by_side] = matched[side_by_side]
            glyphs[lefts], glyphs[rights] = pairs, np.where(pairs < 0, -1, pairs + 1)
            wrong = np.flatnonzero(glyphs < 0)
            if wrong.size:
                row, column = divmod(int(wrong[0]), columns)
                name = self._atlas.face.name
                raise PageError(f"row {row + 1}, column {column + 1}: no glyph of {name} has these pixels")
        return glyphs.reshape(rows, columns)


class _Templates:
    """Glyphs to be found by their pixels: by fingerprint first, then compared pixel by pixel.

    Args:
        ink: uint8, shape (templates, pixels), no two alike.
        names: the number that each is found as.
    """

    def __init__(self, ink: NDArray[np.uint8], names: NDArray[np.int64]) -> None:
        self._weights = np.random.default_rng(0).integers(1, 1 << 63, ink.shape[1], dtype=np.uint64)
        prints = self._fingerprints(ink)
        order = np.argsort(prints, kind="stable")
        self._ink, self._names, self._prints = ink[order], names[order], prints[order]

    def _fingerprints(self, ink: NDArray[np.uint8]) -> NDArray[np.uint64]:
        # A sum modulo 2^64; rows at a time, so that no array of 64-bit pixels is as large as all cells.
        prints = np.empty(len(ink), np.uint64)
        for at in range(0, len(ink), 1 << 14):
            prints[at : at + (1 << 14)] = ink[at : at + (1 << 14)].astype(np.uint64) @ self._weights
        return prints

    def match(self, cells: NDArray[np.uint8]) -> NDArray[np.int64]:
        """The name of the template that each cell equals, -1 where none does."""
        if not self._prints.size:
            return np.full(len(cells), -1)
        at = np.searchsorted(self._prints, self._fingerprints(cells)).clip(max=self._prints.size - 1)
        return np.where((self._ink[at] == cells).all(axis=1), self._names[at], -1)
