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


NUMBER = re.compile(r"U*D[DU]*(?:SU*D[DU]*)*")


def slow_order(classes: list[int]) -> list[tuple[int, bool]]:
    """The column of each cell of a turned row, and whether it is a sign that is mirrored, item by item."""
    items: list[tuple[int, list[int]]] = []
    at = 0
    while at < len(classes):
        kind, end = classes[at], at + 1
        if kind == bidi._OPEN:
            close = classes.index(bidi._CLOSE, at) if bidi._CLOSE in classes[at:] else -1
            kind, end = (bidi._OTHER, end) if close < 0 else (bidi._NEUTRAL, close + 1)
        else:
            while end < len(classes) and classes[end] == bidi._PART:
                end += 1
        items.append((bidi._OTHER if kind in (bidi._CLOSE, bidi._PART) else kind, list(range(at, end))))
        at = end
    out: list[tuple[int, bool]] = []
    stretch: list[tuple[int, list[int]]] = []
    for item in (*items, (bidi._OTHER, [])):
        if item[0] != bidi._OTHER:
            stretch.append(item)
            continue
        letters = [at for at, (kind, _) in enumerate(stretch) if kind == bidi._RIGHT]
        first, last = (letters[0], letters[-1] + 1) if letters else (0, 0)
        run = stretch[first:last][::-1]
        for number in NUMBER.finditer("".join("ONDSURocp"[kind] for kind, _ in run)):
            run[slice(*number.span())] = run[slice(*number.span())][::-1]
        for moved, turned in ((stretch[:first], False), (run, True), (stretch[last:], False)):
            for kind, cells in moved:
                sign = turned and kind in (bidi._NEUTRAL, bidi._SEPARATOR) and len(cells) == 1
                out += [(cell, sign) for cell in cells]
        out += [(cell, False) for cell in item[1]]
        stretch = []
    return out


# Rows of letters, of signs between them, and of anything.
ROWS = st.one_of(
    st.lists(st.sampled_from([*range(6), PART, 9, 10, 14, 20, 21, 23]), min_size=1, max_size=60),
    st.lists(st.integers(0, PART), min_size=1, max_size=60),
)


@given(st.lists(ROWS, min_size=1, max_size=4))
def test_rows_are_turned_as_one_by_one_and_item_by_item(rows):
    """All rows of a page at once are what a plain reading of the rules makes of each."""
    width = max(map(len, rows))
    cells = np.array([row + [6] * (width - len(row)) for row in rows], np.int32)
    classes = font().directions
    assert classes is not None
    wanted = [slow_order(classes[row].tolist()) for row in cells]
    assert bidi.visual_index(cells, font()).tolist() == [[at for at, _ in row] for row in wanted]
    mirror = {ALPHABET.index(one): ALPHABET.index(other) for one, other in ("()", ")(", "[]", "][")}
    seen = [
        [
            mirror.get(cell, cell) if mirrored else cell
            for cell, mirrored in zip(row[[at for at, _ in said]].tolist(), [m for _, m in said], strict=True)
        ]
        for row, said in zip(cells, wanted, strict=True)
    ]
    assert to_visual(cells, font()).tolist() == seen


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
