"""Rows and a page of what is sent for readers who know nothing of it: marks stand where they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from snapshot.legibility.ocr import FACTORS, Recogniser, has_tesseract, shrunk, tesseract
from snapshot.legibility.score import Reading, compared
from snapshot.legibility.survey import SeenPage
from snapshot.source import marks

__all__ = ["read_sample", "read_whole"]

_ROWS = 8
_LONGEST = 88
"""Cells of a strip at most: the recogniser was made for lines of text, and loses its way in longer ones."""
_NO_ASCII = re.compile(r"[^ -~]")
_MARKS = [ord(mark) for mark in marks.PAGE_MARKS + marks.PAD + marks.END + marks.AIR]


def read_sample(pages: Sequence[SeenPage]) -> dict[float, Reading]:
    """What the recogniser makes of eight rows from all over the pages, by shrink factor.

    Rows are cut at blanks. Marks stay: whatever is made of one counts as an error, unless it is a blank. What
    is neither a mark nor ASCII is painted over, since the recogniser is asked for ASCII alone.

    Raises:
        SnapshotError: the extra is not installed.
    """
    reader = Recogniser()
    rows = [(page, row) for page in pages for row in range(page.cells.glyphs.shape[0])]
    chosen = sorted({round(at * (len(rows) - 1) / (_ROWS - 1)) for at in range(_ROWS)}) if rows else []
    shown: dict[int, tuple[list[str], NDArray[np.uint8]]] = {}
    strips: list[tuple[str, NDArray[np.uint8]]] = []
    for at in chosen:
        page, row = rows[at]
        texts, picture = shown.setdefault(id(page), _shown(page))
        strips += _strips(page, row, texts[row], picture)
    truth = [text for text, _ in strips]
    return {
        factor: compared(truth, reader.read([shrunk(strip, factor) for _, strip in strips]))
        for factor in FACTORS
    }


def read_whole(pages: Sequence[SeenPage], *, columns: int = 1) -> Reading | None:
    """What Tesseract makes of the first page, whose rows it finds by itself; None where it is not installed.

    Marks and other characters are as for `read_sample`.

    Args:
        pages: the first is read.
        columns: columns of text on it, which Tesseract finds by itself where there are several.
    """
    if not pages or not has_tesseract():
        return None
    page = pages[0]
    texts, picture = _shown(page)
    height = page.box(len(texts) - 1, 0)[0].stop
    read = tesseract(picture[:height], len(texts), segmentation=6 if columns == 1 else 3)
    return compared([_NO_ASCII.sub(" ", page.cells.page_text)], [read])


def _shown(page: SeenPage) -> tuple[list[str], NDArray[np.uint8]]:
    """The text of each row of a page, a blank for all but ASCII, and its picture with ASCII and marks."""
    codes = page.atlas.codes[page.cells.glyphs]
    for column in range(1, codes.shape[1]):  # further parts of a glyph are what its first one is
        part = codes[:, column] < 0
        codes[part, column] = codes[part, column - 1]
    letters = (codes >= 32) & (codes < 127)
    picture = page.picture.copy()
    for row, column in np.argwhere(~letters & ~np.isin(codes, _MARKS)).tolist():
        picture[page.box(row, column)] = 255
    return ["".join(map(chr, row)) for row in np.where(letters, codes, 32).tolist()], picture


def _strips(
    page: SeenPage, row: int, text: str, picture: NDArray[np.uint8]
) -> Iterator[tuple[str, NDArray[np.uint8]]]:
    """Text and picture of the pieces of a row."""
    blank = page.cells.glyphs[row] == page.atlas.blank
    start = 0
    while start < len(text):
        stop = min(len(text), start + _LONGEST)
        blanks = np.flatnonzero(blank[start + 1 : stop])
        if stop < len(text) and blanks.size:
            stop = start + 1 + int(blanks[-1])
        if text[start:stop].strip():
            yield text[start:stop], picture[page.box(row, start, stop)]
        start = stop
