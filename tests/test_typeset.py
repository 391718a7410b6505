"""Page text and grids: vectors, and the arrays against a slow reading of the same rules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import iter_graphemes

from snapshot.layout import layout_for
from snapshot.pages import Setting
from snapshot.source import Source
from snapshot.typeset import grid as grid_module
from snapshot.typeset import marks
from snapshot.typeset.clusters import continuations
from snapshot.typeset.fold import fold
from snapshot.typeset.grid import pads_before, set_pages
from snapshot.typeset.pagetext import code_points, decode, encode
from snapshot.typeset.uncovered import uncovered
from tests.test_promises import texts


@pytest.fixture(scope="module")
def atlas():
    return Setting(layout_for("claude-opus-4-8")).atlas(Source("abc"))


@pytest.mark.parametrize(
    ("source", "printed"),
    [
        ("", ""),
        ("one\ntwo", "one↵two"),
        ("if x:\n    y\n", "if x:↵❹y↵"),
        (" x", " x"),
        ("  x", "❷x"),
        ("\n x\n  y", "↵ x↵❷y"),
        ("a   b", "a   b"),
        ("a    b", "a❹b"),
        ("12\t        return", "12⇥❽return"),
        (" " * 120 + "x", "❶❷⓿x"),
        ("tail   \n", "tail   ↵"),
        ("tail    \n", "tail❹↵"),
        ("🚀", "⟦1F680⟧"),
        ("👍🏽!", "⟦1F44D.1F3FD⟧!"),
        ("🚀🚀", "⟦1F680⟧⟦1F680⟧"),
        ("1️⃣", "1⟦FE0F.20E3⟧"),
        ("↵", "⟦21B5⟧"),
        ("⟦1F680⟧", "⟦27E6⟧1F680⟦27E7⟧"),
        ("❶x", "⟦2776⟧x"),
        ("\ue000", "⟦E000⟧"),
        ("\ud83d.", "⟦D83D⟧."),
        ("z\u0301\u0302", "z⟦301.302⟧"),
        ("a" + "\u0301" * 9, "a⟦301.301.301.301.301.301.301.301⟧⟦301⟧"),
        ("é—→ü", "é—→ü"),
    ],
)
def test_page_text(atlas, source, printed):
    assert encode(source, atlas).text == printed
    assert decode(printed) == (source, ())


@given(texts)
def test_page_text_decodes(text):
    folded = fold(text).text
    setting = Setting(layout_for("claude-opus-4-8"))
    page_text = encode(folded, setting.atlas(Source(text)))
    assert decode(page_text.text) == (folded, ())
    assert np.isin(np.diff(page_text.origins), (0, 1)).all() or "  " in folded
    assert page_text.starts[:1].all()


def test_genuine_marks_are_told_from_forged_ones(atlas):
    text = "⁋user\n⁋user‣x‣"
    genuine = np.array([0, 11], np.int64)
    printed = encode(text, atlas, genuine=genuine).text
    assert printed == "⁋user↵⟦204B⟧user‣x⟦2023⟧"
    assert decode(printed) == (text, (0, 11))


@given(st.text(max_size=60))
def test_continuations_are_those_of_the_library(text):
    found = continuations(text, code_points(text))
    wanted = [position > 0 for cluster in iter_graphemes(text) for position in range(len(cluster))]
    # Below U+0300 only CR LF joins, which no folded text has.
    wanted = [joins and not (text[at] == "\n" and text[at - 1] == "\r") for at, joins in enumerate(wanted)]
    assert (found.tolist() if found is not None else [False] * len(text)) == wanted


@given(texts, st.integers(1, 400))
def test_stretches_change_nothing(text, size):
    """Text is encoded in stretches of some size; where they end shows nowhere."""
    setting = Setting(layout_for("claude-opus-4-8"))
    source = Source(text * 3)
    atlas = setting.atlas(source)
    whole = [grid.cells.tolist() for grid in set_pages(source, atlas, 30, 5)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grid_module, "_STRETCH", size)
        assert [grid.cells.tolist() for grid in set_pages(source, atlas, 30, 5)] == whole


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(2, 90)), max_size=60),
    st.integers(0, 19),
    st.integers(20, 80),
)
def test_placing_kernel_equals_its_twin(units, column, columns):
    gaps = np.array([gap for gap, _ in units], np.int64)
    widths = np.array([width for _, width in units], np.int64)
    at = np.cumsum(gaps) + np.cumsum(widths) - widths
    slow = pads_before(at, widths, column, columns, compiled=False)
    assert pads_before(at, widths, column, columns, compiled=True).tolist() == slow.tolist()
    # What it is for: with the filling, no unit that fits a row goes over its end.
    start = at + np.cumsum(slow) + column
    fits = widths <= columns
    assert ((start % columns + widths <= columns) | ~fits).all()
    assert (slow < columns).all()


def test_uncovered_is_counted_by_kind(atlas):
    text = "ab漢字かな\u200b🚀\u0301é\n\t"
    assert uncovered(text, atlas) == {
        "CJK": 2,
        "HIRAGANA": 2,
        "combining marks": 1,
        "invisible": 1,
        "symbols": 1,
    }


def test_the_guide_names_every_mark():
    assert all(
        mark in marks.GUIDE
        for mark in marks.NEWLINE + marks.TAB + marks.OPEN + marks.CLOSE + marks.SOURCE_MARKS
    )
