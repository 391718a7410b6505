"""Rows of real pages for the neural reader: a few of them, at several shrink factors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from snapshot.legibility.ocr import FACTORS, Recogniser, shrunk
from snapshot.legibility.score import Reading, compared
from snapshot.legibility.survey import SeenPage

__all__ = ["read_sample"]

_ROWS = 8
_LONGEST = 88
"""Cells of a strip at most: the recogniser was made for lines of text, and loses its way in longer ones."""


def read_sample(pages: Sequence[SeenPage]) -> dict[float, Reading]:
    """What the recogniser makes of eight rows from all over the pages, by shrink factor.

    Rows are cut between words. Marks, and whatever is not ASCII, are painted over: the recogniser knows none
    of our marks, and would be blamed for them.

    Raises:
        SnapshotError: the extra is not installed.
    """
    reader = Recogniser()
    rows = [(page, row) for page in pages for row in range(page.cells.glyphs.shape[0])]
    chosen = sorted({round(at * (len(rows) - 1) / (_ROWS - 1)) for at in range(_ROWS)}) if rows else []
    strips = [strip for at in chosen for strip in _strips(*rows[at])]
    truth = [text for text, _ in strips]
    return {
        factor: compared(truth, reader.read([shrunk(strip, factor) for _, strip in strips]))
        for factor in FACTORS
    }


def _strips(page: SeenPage, row: int) -> Iterator[tuple[str, NDArray[np.uint8]]]:
    """Text and picture of the pieces of a row."""
    codes = page.atlas.codes[page.cells.glyphs[row]].tolist()
    text = "".join(chr(code) if 32 <= code < 127 else " " for code in codes)
    picture = page.picture.copy()
    for column, code in enumerate(codes):
        if not 32 <= code < 127:
            picture[page.box(row, column)] = 255
    start = 0
    while start < len(text):
        stop = min(len(text), start + _LONGEST)
        blank = text.rfind(" ", start + 1, stop)
        if stop < len(text) and blank > start:
            stop = blank
        if text[start:stop].strip():
            yield text[start:stop], picture[page.box(row, start, stop)]
        start = stop
