"""Reading a page back by exact template matching: the proof that a page says what its source says.

From the PNG and the layout alone: the image is opened with Pillow, cut into cells by the layout's grid, and
each cell looked up among the atlas's glyphs. Nothing here shares code with the writer of the pixels, and
nothing is guessed: a cell that equals no glyph to the last pixel is an error.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from snapshot.errors import PageError
from snapshot.pages.layout import Layout
from snapshot.parts.media import PNG_SIGNATURE
from snapshot.raster.atlas import Atlas
from snapshot.source.marks import DIGITS, NEWLINE
from snapshot.typeset.bidi import to_visual, visual_index
from snapshot.typeset.columns import slots_of
from snapshot.typeset.pagetext import decode
from snapshot.typeset.shaped import FIRST_UNIT, expand

__all__ = ["MOST_CHARS", "PageCells", "PageReader", "ReadPage", "read_page"]

MOST_CHARS = 1 << 24
"""Characters that a page may unpack to, unless the source text beside it is longer."""

_RUN = re.compile(f"[{DIGITS}]+")
_VALUES = str.maketrans(DIGITS, "0123456789")


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


def read_page(cells: PageCells, *, most: int = MOST_CHARS) -> ReadPage:
    """What the cells of a page say.

    Raises:
        PageError: they say what no text has, or unpack to more than `most` characters.
    """
    _refuse_too_long(cells.page_text, most)
    try:
        text, marks = decode(cells.page_text)
    except (ValueError, OverflowError) as error:
        raise PageError(f"the page names a character that there is not ({error})") from error
    return ReadPage(cells.page_text, text, marks, cells.ended)


def _refuse_too_long(page_text: str, most: int) -> None:
    """Raise PageError where runs of blanks make more than `most` characters of a page text."""
    size = len(page_text)
    for match in _RUN.finditer(page_text):
        digits = match[0].translate(_VALUES).lstrip("0") or "0"
        size += int(digits[:20]) if len(digits) <= 20 else most  # of thousands of digits no number is made
        if size > most:
            raise PageError(f"the page says that it is of more than {most:,} characters: it is not unpacked")


class PageReader:
    """Reads pages of one layout, set with the glyphs of `atlas`."""

    def __init__(self, layout: Layout, atlas: Atlas) -> None:
        self._layout = layout
        self._atlas = atlas
        codes = atlas.codes
        first = np.flatnonzero(codes >= 0)
        sizes = np.diff(first, append=codes.size)
        ink = atlas.ink.reshape(codes.size, -1)
        self._narrow = _Templates(ink[first[sizes == 1]], first[sizes == 1])
        # No wide glyph begins with another, so that a row of their parts is read from the left.
        wide = zip(first[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True)
        self._wide = {ink[glyph : glyph + size].tobytes(): glyph for glyph, size in wide}
        self._sizes = sorted({*sizes.tolist()} - {1})
        self._units = {number: unit for unit, number in atlas.units.items()}

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
        numbers, places = self._in_reading_order(glyphs)
        ends = np.flatnonzero(numbers == self._atlas.end)
        if ends.size:
            numbers, places = numbers[: ends[0]], places[: ends[0]]
        codes = self._atlas.codes[numbers]
        said = (numbers != self._atlas.pad) & (codes >= 0)
        if self._atlas.air is not None:
            said &= numbers != self._atlas.air
        codes, places = codes[said].astype(np.uint32), places[said]
        if (codes >= FIRST_UNIT).any():
            places = places.repeat(
                [len(self._units[code].text) if code >= FIRST_UNIT else 1 for code in codes.tolist()]
            )
        page_text = expand(codes, self._units).astype("<u4").tobytes().decode("utf-32-le")
        return PageCells(grey, glyphs, places, page_text, ends.size > 0)

    def _in_reading_order(self, glyphs: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The glyphs as they are read, and the cell of each; -1 for the end of a line that is not printed."""
        atlas, count = self._atlas, self._layout.columns_of_text
        slots = slots_of(glyphs, count)
        cells = slots_of(np.arange(glyphs.size).reshape(glyphs.shape), count)
        cells = np.take_along_axis(cells, visual_index(slots, atlas), axis=1)
        if not self._layout.text_columns:
            return to_visual(slots, atlas).reshape(-1), cells.reshape(-1)
        found: list[NDArray[np.int64]] = []
        places: list[NDArray[np.int64]] = []
        for slot, its_cells in zip(to_visual(slots, atlas), cells, strict=True):
            # Filling at the end of a slot: the line goes on. Blanks there: it ends before them.
            if slot[-1] == atlas.pad:
                found.append(slot)
                places.append(its_cells)
            else:
                used = np.flatnonzero(slot != atlas.blank)
                stop = used[-1] + 1 if used.size else 0
                found.append(np.append(slot[:stop], atlas.glyphs[ord(NEWLINE)]))
                places.append(np.append(its_cells[:stop], -1))
        return np.concatenate(found), np.concatenate(places)

    def _grey(self, png: bytes) -> NDArray[np.uint8]:
        """The image as grey values."""
        from PIL import Image, UnidentifiedImageError

        width, height = _size_of(png)
        if width != self._layout.width:
            wanted = f"pages of {self._layout.name} are {self._layout.width}"
            raise PageError(f"the image is {width} pixels wide, {wanted}")
        if height > self._layout.height:
            wanted = f"pages of {self._layout.name} are {self._layout.height} at most"
            raise PageError(f"the image is {height} pixels high, {wanted}")
        try:
            with Image.open(BytesIO(png), formats=["PNG"]) as image:
                grey = np.asarray(image.convert("L"))
        except (
            UnidentifiedImageError,
            OSError,
            SyntaxError,
            ValueError,
            Image.DecompressionBombError,
        ) as error:
            raise PageError(f"not a PNG image that can be opened: {error}") from error
        if grey.shape != (height, width):
            raise PageError("not a PNG image that can be opened: it has two sizes")
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
        self._read_wide(cells, glyphs, columns)
        wrong = np.flatnonzero(glyphs < 0)
        if wrong.size:
            row, column = divmod(int(wrong[0]), columns)
            name = self._atlas.face.name
            raise PageError(f"row {row + 1}, column {column + 1}: no glyph of {name} has these pixels")
        return glyphs.reshape(rows, columns)

    def _read_wide(self, cells: NDArray[np.uint8], glyphs: NDArray[np.int64], columns: int) -> None:
        """Number the cells that are no narrow glyphs, and so parts of wide ones, which are whole in a row."""
        end = 0
        for at in np.flatnonzero(glyphs < 0).tolist():
            if at < end:
                continue
            for size in self._sizes:
                glyph = self._wide.get(cells[at : at + size].tobytes())
                if glyph is not None and at % columns + size <= columns:
                    end = at + size
                    glyphs[at:end] = range(glyph, glyph + size)
                    break


def _size_of(png: bytes) -> tuple[int, int]:
    """Width and height of a PNG by its header, before anything is decoded.

    Raises:
        PageError: it has no such header.
    """
    if png[:8] != PNG_SIGNATURE or png[12:16] != b"IHDR" or len(png) < 24:
        raise PageError("not a PNG image that can be opened: it does not start as one")
    width, height = struct.unpack(">II", png[16:24])
    if not width or not height:
        raise PageError("not a PNG image that can be opened: it has no pixels")
    return width, height


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
