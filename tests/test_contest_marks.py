"""The contest's page with marks is the page that is sent, and other tools' faces have the same marks."""

from __future__ import annotations

import io
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image

from benchmarks.faces import named
from benchmarks.fresh import FRESH_SEEDS, MARKS, SECOND, fresh_transcript, marked_rows, without_marks
from benchmarks.judges import with_marks
from benchmarks.lab_glyphs import font_glyphs
from benchmarks.reading import COLUMNS
from snapshot._resources import locate
from snapshot.models.catalog import profiles
from snapshot.pages.layout import layout_for
from snapshot.pages.render import Typesetter
from snapshot.raster.face import load_face
from snapshot.source import marks
from snapshot.source.source import Source

ROWS = 26
FACES = sorted({reader.layouts["default"].face for reader in profiles() if reader.layouts})
FIRA = load_face("fira-9x16")


@pytest.mark.parametrize("face", FACES)
def test_the_contest_judges_the_page_that_is_sent(face):
    """Pixel for pixel, marks of today among the letters."""
    glyphs = with_marks(named(str(locate("fonts") / f"{face}.toml")).load())
    width, height = glyphs.cell
    layout = layout_for(name="claude-standard")
    layout = replace(layout, face=face, cell=glyphs.cell, width=COLUMNS * width, height=ROWS * height)
    source = Source(fresh_transcript(FRESH_SEEDS[0], 3 * ROWS * COLUMNS))
    sent = next(iter(Typesetter(layout).pages(source, threads=1)))
    rows = marked_rows(FRESH_SEEDS[0], ROWS)
    assert {marks.NEWLINE, SECOND, marks.AIR, marks.TAB} <= {*"".join(rows)}
    assert (np.asarray(Image.open(io.BytesIO(sent.png)).convert("L")) == glyphs.page(rows, COLUMNS)).all()


@pytest.mark.parametrize("cell", [(5, 8), (7, 13), (8, 16), (9, 16), (8, 22), (11, 16), (3, 5)])
def test_a_font_without_marks_gets_those_of_today(cell):
    glyphs = font_glyphs(FIRA.path, cell, axes=FIRA.axes, stretch=True)
    found = with_marks(glyphs)
    ink = dict(zip(found.chars, found.ink, strict=True))
    assert len(ink) == len(found.chars), "no character twice"
    assert {*MARKS, SECOND} <= ink.keys()
    assert (found.ink[: len(glyphs.chars)] == glyphs.ink).all()
    assert all(ink[mark].any() for mark in MARKS)
    if cell[0] >= 5:
        newline = np.concatenate((ink[marks.NEWLINE], ink[SECOND]), axis=1)
        inked = np.flatnonzero(newline.any(axis=0))
        assert ink[SECOND].any(), "a line's end has two cells"
        assert (inked[0], 2 * cell[0] - 1 - inked[-1]) == (cell[0] - 4, cell[0] - 3)
        assert np.count_nonzero(ink[marks.AIR]) == 1


def test_what_stands_in_a_mark_is_no_letter():
    rows = marked_rows(FRESH_SEEDS[0])
    for row in rows:
        letters = without_marks(row)
        assert len(row) == len(letters) == COLUMNS
        assert letters.isascii()
        assert all(char in (" ", letter) for char, letter in zip(letters, row, strict=True))
    assert all(
        following == SECOND for row in rows for char, following in pairwise(row) if char == marks.NEWLINE
    )
