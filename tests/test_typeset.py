"""Page text and grids: vectors, and the arrays against a slow reading of the same rules."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import iter_graphemes

from snapshot.pages.layout import layout_for
from snapshot.pages.render import Typesetter
from snapshot.source import marks
from snapshot.source.codepoints import distinct, from_code_points
from snapshot.source.source import Source
from snapshot.typeset import prepared as prepared_module
from snapshot.typeset.arabic import AFTER, BEFORE, joining_type
from snapshot.typeset.coverage import Coverage
from snapshot.typeset.emoji import name_of
from snapshot.typeset.fast_path import PlainSetter
from snapshot.typeset.fold import fold
from snapshot.typeset.grid import pads_before, set_pages
from snapshot.typeset.missing_glyphs import uncovered
from snapshot.typeset.offset_map import OffsetMap, insert_runs
from snapshot.typeset.pagetext import decode, encode
from snapshot.typeset.prepared import PreparedText
from snapshot.typeset.shaped import FIRST_UNIT, ShapedCluster
from tests.conftest import needs_numba
from tests.test_promises import texts


@given(st.lists(st.integers(-3, 300)))
def test_distinct_values(values):
    assert distinct(np.array(values, np.int64)).tolist() == sorted({*values})


@pytest.fixture(scope="module")
def atlas():
    return Typesetter(layout_for("claude-opus-4-8")).atlas(Source("abc"))


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
        ("🚀", "⟦rocket⟧"),
        ("👍🏽!", "⟦thumbsup 3⟧!"),
        ("🚀🚀", "⟦rocket⟧⟦rocket⟧"),
        ("👩‍💻", "⟦woman+laptop⟧"),
        ("⚠️", "⟦warning⟧"),
        ("🇵🇹", "⟦flag PT⟧"),
        ("🚀\u200d🚀\ufe0f", "⟦1F680.200D.1F680.FE0F⟧"),  # not a form that has a name
        ("1️⃣", "⟦keycap 1⟧"),
        ("1⃣", "1⟦20E3⟧"),
        ("⟦rocket⟧", "⟦27E6⟧rocket⟦27E7⟧"),
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
    setting = Typesetter(layout_for("claude-opus-4-8"))
    page_text = encode(folded, setting.atlas(Source(text)))
    assert decode(page_text.text) == (folded, ())


def slow_units(text: str) -> list[ShapedCluster]:
    """Clusters with their forms, one after the other."""
    clusters = list(iter_graphemes(text))
    types = [joining_type(cluster[0]) for cluster in clusters]
    units: list[ShapedCluster] = []
    for at, cluster in enumerate(clusters):
        before = at > 0 and types[at - 1] & AFTER and types[at] & BEFORE and clusters[at - 1][-1] != "\u200c"
        after = (
            at + 1 < len(clusters)
            and types[at + 1] & BEFORE
            and types[at] & AFTER
            and cluster[-1] != "\u200c"
        )
        form = (BEFORE if before else 0) | (AFTER if after else 0)
        if before and cluster[0] in "آأإا" and clusters[at - 1][0] == "ل":
            units[-1] = ShapedCluster(units[-1].text + cluster, units[-1].form & BEFORE)
        else:
            units.append(ShapedCluster(cluster, form))
    return units


STAND_IN = 0xF0000  # private characters that the twin has for units


def slow_encode(  # noqa: PLR0912
    folded: str, coverage: Coverage, mark_offsets: set[int]
) -> list[tuple[str, int]]:
    """Page text by a plain reading of the rules: each unit with the offset of its first character."""
    printed: list[tuple[str, int]] = []
    whole = {}  # units and emoji by their offset, and what they are printed as
    flat: list[tuple[str, int, bool]] = []
    for unit in slow_units(folded):
        offset, name = len(flat), name_of(unit.text)
        if unit in coverage.units:
            whole[offset] = unit.text, chr(coverage.units[unit] - FIRST_UNIT + STAND_IN)
        elif name and not (len(unit.text) == 1 and coverage.cells[ord(unit.text)]):
            whole[offset] = unit.text, f"{marks.OPEN}{name}{marks.CLOSE}"
        # A run of blanks may end in a cluster's first character.
        for cluster in iter_graphemes(unit.text):
            flat += [(char, offset + place, place > 0) for place, char in enumerate(cluster)]
            offset += len(cluster)
    at = 0
    listed = 0  # code points in the brackets that may go on
    while at < len(flat):
        char, offset, joins = flat[at]
        if at in whole:
            text, shown = whole[at]
            printed.append((shown, offset))
            at, listed = at + len(text), 0
            continue
        run = len(folded) - at - len(folded[at:].lstrip(" "))
        leading = at == 0 or folded[at - 1] in "\n\t"
        if run >= (2 if leading else 4):
            text = "".join(marks.DIGITS[int(digit)] for digit in str(run))
            at, listed = at + run, 0
        else:
            if char in "\n\t":
                text, listed = {"\n": marks.NEWLINE, "\t": marks.TAB}[char], 0
            elif coverage.cells[ord(char)] and (char not in marks.PAGE_MARKS or at in mark_offsets):
                text, listed = char, 0
            elif joins and 0 < listed < 8:
                before, first = printed.pop()
                printed.append((before[:-1], first))
                text, listed = f".{ord(char):X}{marks.CLOSE}", listed + 1
            else:
                text, listed = f"{marks.OPEN}{ord(char):X}{marks.CLOSE}", 1
            at += 1
        if joins:
            before, first = printed.pop()
            printed.append((before + text, first))
        else:
            printed.append((text, offset))
    return printed


@given(texts, st.data())
def test_page_text_equals_its_slow_twin(text, data):
    folded = fold(text).text
    places = [at for at, char in enumerate(folded) if char in marks.SOURCE_MARKS]
    mark_offsets = data.draw(st.sets(st.sampled_from(places)) if places else st.just(set()))
    coverage = Typesetter(layout_for("claude-opus-4-8")).atlas(Source(text))
    # So wide that no cluster is torn.
    found = encode(folded, coverage, mark_offsets=np.array(sorted(mark_offsets), np.int64), widest=10**6)
    slow = slow_encode(folded, coverage, mark_offsets)
    codes = np.where(found.codes < FIRST_UNIT, found.codes, found.codes - FIRST_UNIT + STAND_IN)
    assert from_code_points(codes) == "".join(printed for printed, _ in slow)
    starts = np.setdiff1d(np.arange(found.codes.size), found.joined).tolist()
    assert starts == [sum(len(printed) for printed, _ in slow[:at]) for at in range(len(slow))]
    assert [found.origin(start) for start in starts] == [offset for _, offset in slow]


def test_genuine_marks_are_told_from_forged_ones(atlas):
    text = "⁋user\n⁋user‣x‣"
    mark_offsets = np.array([0, 11], np.int64)
    printed = encode(text, atlas, mark_offsets=mark_offsets).text
    assert printed == "⁋user↵⟦204B⟧user‣x⟦2023⟧"
    assert decode(printed) == (text, (0, 11))


@given(texts, st.integers(1, 400))
def test_stretches_change_nothing(text, size):
    """Text is encoded in stretches of some size; where they end shows nowhere."""
    setting = Typesetter(layout_for("claude-opus-4-8"))
    source = Source(text * 3)
    atlas = setting.atlas(source)
    whole = [grid.cells.tolist() for grid in set_pages(source, atlas, 30, 5)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepared_module, "_STRETCH", size)
        assert [grid.cells.tolist() for grid in set_pages(source, atlas, 30, 5)] == whole


@needs_numba
@given(texts, st.integers(1, 400), st.integers(4, 60))
def test_the_kernel_sets_what_numpy_sets(text, size, columns):
    setting = Typesetter(layout_for("claude-opus-4-8"))
    text = text * 3
    own = tuple(at for at, char in enumerate(text) if char in marks.SOURCE_MARKS and at % 2)
    source = Source(text, own)
    atlas = setting.atlas(source)
    plain = list(set_pages(source, atlas, columns, 5))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepared_module, "_STRETCH", size)
        quick = list(set_pages(source, atlas, columns, 5, compiled=True))
    assert [(grid.start, grid.stop) for grid in quick] == [(grid.start, grid.stop) for grid in plain]
    assert [grid.cells.tolist() for grid in quick] == [grid.cells.tolist() for grid in plain]


@needs_numba
@pytest.mark.parametrize("columns", [15, 23, 196])
@pytest.mark.parametrize("char", ["\U0010fffd", "\U000f0000", "漢"])
def test_the_kernel_has_room_for_the_widest_characters(char, columns):
    """Each may be as wide as any, with filling before it in every row."""
    source = Source(char * 4000)
    atlas = Typesetter(layout_for("claude-opus-4-8")).atlas(source)
    plain, quick = (list(set_pages(source, atlas, columns, 40, compiled=way)) for way in (False, True))
    assert [grid.stop for grid in quick] == [grid.stop for grid in plain]
    assert all((one.cells == other.cells).all() for one, other in zip(quick, plain, strict=True))


@needs_numba
def test_the_kernel_is_at_work():
    """Plain text goes through it; clusters and controls do not."""
    atlas = Typesetter(layout_for("claude-opus-4-8")).atlas(Source("x"))
    for text, plain in (
        ("a  b\n\tc — é ⁋ ⸘ 漢字", True),
        ("🚀", False),
        ("\u0628\u0629", False),
        ("a\ufeffb\u200e", True),
        ("cafe\u0301", False),
        ("a\x1b[1mb", False),
        ("a\x9bb", False),
        ("👍🏽", False),
        ("\u0600a", False),
    ):
        setter = PlainSetter(PreparedText(Source(text)), atlas, 40)
        assert (setter.set(0, len(text), 0) is not None) == plain, text


def slow_pads(units: list[int], sizes: list[int], column: int, columns: int) -> dict[int, int]:
    """Filling before each unit that needs some, one unit after the other."""
    pads: dict[int, int] = {}
    for unit, size in zip(units, sizes, strict=True):
        left = columns - (unit + column) % columns
        if left < size <= columns:
            pads[unit] = left
            column += left
    return pads


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(2, 90)), max_size=60),
    st.integers(0, 19),
    st.integers(20, 80),
)
def test_placing_equals_its_slow_twin(units, column, columns):
    gaps = np.array([gap for gap, _ in units], np.int64)
    widths = np.array([width for _, width in units], np.int64)
    at = np.cumsum(gaps) + np.cumsum(widths) - widths
    where, pads = pads_before(at, widths, column, columns)
    found = dict(zip(where.tolist(), pads.tolist(), strict=True))
    assert found == slow_pads(at.tolist(), widths.tolist(), column, columns)
    # What it is for: with the filling, no unit that fits a row goes over its end.
    before = np.array([found.get(unit, 0) for unit in at.tolist()], np.int64)
    start = at + np.cumsum(before) + column
    fits = widths <= columns
    assert ((start % columns + widths <= columns) | ~fits).all()


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 4)), max_size=100),
    st.integers(0, 5),
)
def test_splices_equal_a_list_that_is_changed(places, rest):
    """Places of so many items before them, so many gone and so many made."""
    places = [(before, gone, made) for before, gone, made in places if gone or (before and made)]
    before: list[int] = []
    after: list[int] = []
    first: dict[int, int] = {}
    at = []
    for kept, gone, made in places:
        for _ in range(kept):
            first[len(before)] = len(after)
            after.append(len(before))
            before.append(len(before))
        at.append(len(before))
        after += [len(before)] * made
        if gone:
            first[len(before)] = len(after) - made
        before += range(len(before), len(before) + gone)
    for _ in range(rest):
        first[len(before)] = len(after)
        after.append(len(before))
        before.append(len(before))
    gone, made = (np.array([place[which] for place in places], np.int64) for which in (1, 2))
    offset_map = OffsetMap(np.array(at, np.int64), gone, made)
    assert [offset_map.origin(offset) for offset in range(len(after))] == after
    offsets = np.array(sorted(first), np.int64)
    assert offset_map.forward(offsets).tolist() == [first[offset] for offset in offsets.tolist()]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=150), st.integers(0, 5))
def test_widening_equals_a_list_that_grows(gaps, rest):
    at = np.cumsum([gap for gap, _ in gaps], dtype=np.int64)
    extra = np.array([count for _, count in gaps], np.int64)
    items = np.arange(1, (int(at[-1]) if at.size else 0) + rest + 1)
    slow: list[int] = []
    for item in range(items.size + 1):
        slow += [0] * int(extra[at == item].sum())
        slow += items[item : item + 1].tolist()
    assert insert_runs(items, at, extra).tolist() == slow


def test_uncovered_is_counted_by_kind(atlas):
    text = "ab漢字かな\u200b🚀\u0301é\n\t"
    assert uncovered(text, atlas) == {
        "CJK": 2,
        "HIRAGANA": 2,
        "combining marks": 1,
        "invisible": 1,
        "symbols": 1,
    }


@pytest.mark.parametrize("way", ["rows", "columns", "lines"])
def test_the_guide_names_every_mark(way):
    guide = marks.reading_guide(way=way, repeats=True)
    flowing = "" if way == "lines" else marks.NEWLINE
    assert all(mark in guide for mark in flowing + marks.OPEN + marks.CLOSE + marks.SOURCE_MARKS)
    assert "faint dots is a tab" in guide
    assert any(digit in guide for digit in marks.DIGITS)


@pytest.mark.parametrize("unit", ["⟦", "⟦a", "⟦⟦1F680", "⟧", "⟦rocket", "↵", "✂", "⇐"])
def test_decoding_is_linear(unit):
    """Brackets that nothing closes are text, however many."""
    begin = time.process_time()
    text, _ = decode(unit * 200_000)
    assert time.process_time() - begin < 3
    assert len(text) == 200_000 * len(unit)
