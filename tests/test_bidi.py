"""Right-to-left runs: turned about in their row, and back."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshot.typeset import bidi
from snapshot.typeset.bidi import classes_of, to_visual

# A font in which each glyph prints itself, so that rows can be written down.
ALPHABET = "אבגדהabc 0123.,-()[]!↵⟦⟧سل،١%$"
CODES = np.array([*map(ord, ALPHABET), -1], np.int32)
PART = len(ALPHABET)


@dataclass
class Font:
    directions: np.ndarray | None
    cells: np.ndarray
    glyphs: np.ndarray


def font() -> Font:
    cells, glyphs = np.zeros(0x10000, np.uint8), np.zeros(0x10000, np.int32)
    for number, char in enumerate(ALPHABET):
        cells[ord(char)], glyphs[ord(char)] = 1, number
    return Font(directions=classes_of(CODES), cells=cells, glyphs=glyphs)


def row(text: str) -> np.ndarray:
    """Glyph numbers of a row; a tilde is a further part of the glyph before it."""
    return np.array([[PART if char == "~" else ALPHABET.index(char) for char in text]], np.int32)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("abc", "abc"),
        ("אבג", "גבא"),
        ("abc אבג abc", "abc גבא abc"),
        ("אבג דה.", "הד גבא."),
        ("אב 12.3 גד", "דג 12.3 בא"),
        ("אב 1-2, 3 גד", "דג 3 ,1-2 בא"),
        ("אב ١٠ג".replace("٠", "1"), "ג١1 בא"),
        ("אב (גד) ה", "ה (דג) בא"),
        ("12 אב 12", "12 בא 12"),
        ("אב 12% ג", "ג 12% בא"),
        ("אב $1.2%, ג", "ג ,$1.2% בא"),
        ("אב % ג", "ג % בא"),
        ("אב⟦abc⟧גד", "דג⟦abc⟧בא"),
        ("אב↵גד", "בא↵דג"),
        ("אבaגד", "באaדג"),
        ("א~ב~~ג", "גב~~א~"),
        ("سل، س", "س ،لس"),
        ("⟦אב", "⟦בא"),
    ],
)
def test_rows(text, seen):
    assert to_visual(row(text), font()).tolist() == row(seen).tolist()
    assert to_visual(row(seen), font()).tolist() == row(text).tolist()


@given(st.lists(st.integers(0, PART), min_size=1, max_size=60))
def test_turning_twice_is_not_turning(cells):
    rows = np.array([cells, cells[::-1]], np.int32)
    once = to_visual(rows, font())
    assert (to_visual(once, font()) == rows).all()
    assert (np.sort(once.ravel() % PART) >= 0).all()


# Rows of letters, of signs between them, and of anything.
ROWS = st.one_of(
    st.lists(st.sampled_from([*range(6), PART, 9, 10, 14, 20, 21, 23]), min_size=1, max_size=60),
    st.lists(st.integers(0, PART), min_size=1, max_size=60),
)


@given(ROWS)
def test_a_row_by_cells_is_that_by_items(cells):
    given_rows = np.array([cells], np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bidi, "_by_cells", lambda *_: pytest.fail("not by items"))
        patch.setattr(bidi, "_RARE", re.compile(""))
        wanted = to_visual(given_rows, font()), bidi.visual_index(given_rows, font())
    assert (to_visual(given_rows, font()) == wanted[0]).all()
    assert (bidi.visual_index(given_rows, font()) == wanted[1]).all()


def test_most_rows_go_by_cells(monkeypatch):
    monkeypatch.setattr(bidi, "_by_items", lambda *_: pytest.fail("by items"))
    for text in ("אב (גד) 12.3 ה", "abc א~ב⟦abc⟧גד abc", "⟦אב", "سل، س"):
        to_visual(row(text), font())


def test_fonts_without_such_letters_are_left_alone():
    rows = row("abc (1)")
    assert classes_of(np.array([65, 66, -1], np.int32)) is None
    plain = Font(directions=None, cells=font().cells, glyphs=font().glyphs)
    assert to_visual(rows, plain) is rows
    assert to_visual(rows, font()) is rows


def test_marks_of_page_text_end_a_run():
    classes = classes_of(np.array([ord(char) for char in "א↵⇥❶⁋‣✂"], np.int32))
    assert classes is not None
    assert set(classes[1:].tolist()) == {bidi._OTHER}
