"""Grapheme clusters: where they are, and the table in which they are found by their code points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import iter_graphemes, list_versions

from benchmarks.graphemes import classes, written
from snapshot.pages.render import Typesetter
from snapshot.source import marks
from snapshot.source.codepoints import code_points, from_code_points
from snapshot.source.source import Source
from snapshot.typeset import cluster_table as table_module
from snapshot.typeset import clusters as clusters_module
from snapshot.typeset.cluster_table import LONGEST_KEY, ClusterTable, ShapedCluster
from snapshot.typeset.clusters import CLASSES, continuations, grapheme_tables, may_join
from snapshot.typeset.prepared import PreparedText
from snapshot.typeset.shaped import FIRST_UNIT, clusters_of, expand
from tests.conftest import read_back, small

FILE = clusters_module.Path(clusters_module.__file__).parent / "graphemes.txt"
# A few characters of each class, and of no class; in a random text they meet in every order.
OF_EACH = [
    chr(code)
    for codes in (
        {0x61, 0x4E00, 0x3042, 0x0627, 0x0644},
        {0xAC00, 0xAC01, 0xD788, 0xD7A3},
        *classes().values(),
    )
    for ordered in [sorted(codes - {0x0, 0xD, 0x7F})]
    for code in {ordered[0], ordered[len(ordered) // 2], ordered[-1]}
]
MIXED = st.text(st.sampled_from(OF_EACH), max_size=40) | st.text(max_size=60)


def found_in(text: str) -> list[bool]:
    codes = code_points(text)
    found = continuations(codes, np.flatnonzero(codes > 127))
    return [False] * len(text) if found is None else found.tolist()


@given(MIXED)
def test_clusters_are_those_of_the_library(text):
    wanted = [position > 0 for cluster in iter_graphemes(text) for position in range(len(cluster))]
    # Below U+0300 only CR LF joins, which no folded text has.
    wanted = [joins and not (text[at] == "\n" and text[at - 1] == "\r") for at, joins in enumerate(wanted)]
    assert found_in(text) == wanted


@given(MIXED)
def test_what_cannot_join_is_never_in_a_cluster_of_its_own_kind(text):
    """A text without a character that may join has no cluster of several."""
    codes = code_points(text)
    if not may_join(codes).any():
        assert not any(found_in(text))


def test_the_file_is_what_the_tables_say():
    if f"Unicode {list_versions()[-1]}:" not in FILE.read_text(encoding="utf-8"):
        pytest.skip("wcwidth has the tables of another version")
    assert FILE.read_text(encoding="utf-8") == written()
    tables = grapheme_tables()
    for name, codes in classes().items():
        assert np.flatnonzero(tables.classes == CLASSES.index(name)).tolist() == sorted(codes)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("👩‍👩‍👧‍👦x", [7, 1]),
        ("🇵🇹🇯🇵🇺", [2, 2, 1]),
        ("1️⃣2", [3, 1]),
        ("क्ष्म्य", [7]),
        ("क़ख", [2, 1]),
        ("\u1112\u119e\u11ab글", [3, 1]),
        ("각\u11a8", [2]),
        ("가\u11a8\u1161", [2, 1]),
        ("\u06001", [2]),
        ("a\u200db", [2, 1]),
        ("\n\u0301", [1, 1]),
        ("🏴󠁧󠁢󠁳󠁣󠁴󠁿!", [7, 1]),
    ],
)
def test_known_clusters(text, wanted):
    starts = [at for at, joins in enumerate(found_in(text)) if not joins]
    assert np.diff([*starts, len(text)]).tolist() == wanted


WORDS = st.lists(
    st.sampled_from(["क्षि", "é", "बे", "َلا", "👩‍👩‍👧‍👦", "👍🏽", "e" + "\u0301" * 9, "سل", " ", "x"]),
    max_size=60,
)


@given(st.lists(WORDS | MIXED.map(list), min_size=1, max_size=4), st.sampled_from([1, 4, 12]))
def test_a_table_numbers_equal_clusters_alike(texts, bits):
    """However many slots there are at first, and whichever texts came before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_module, "_FIRST_TAKEN", 2)
        table = ClusterTable(slots=table_module._slots(bits))
        for text in map("".join, texts):
            codes = code_points(text)
            special = np.flatnonzero(codes > 127)
            clusters = clusters_of(codes, special, continuations(codes, special))
            numbers = table.numbered(text, codes, clusters).tolist()
            spans = zip(*(part.tolist() for part in clusters), strict=True)
            wanted = [ShapedCluster(text[start : start + length], form) for start, length, form in spans]
            assert [table.units[number] for number in numbers] == wanted
    assert len({*table.units}) == len(table.units)


def test_clusters_that_were_seen_are_not_looked_at_one_by_one(monkeypatch):
    """Of a text of few different clusters, all but the first of each are found in the array."""
    text = "विश्वविद्यालय में क्षत्रिय नमस्ते " * 2000
    codes = code_points(text)
    special = np.flatnonzero(codes > 127)
    clusters = clusters_of(codes, special, continuations(codes, special))
    taken: list[int] = []
    whole = ClusterTable._taken_in

    def counted(self, *arguments):
        taken.append(arguments[-1].size)
        return whole(self, *arguments)

    monkeypatch.setattr(ClusterTable, "_taken_in", counted)
    table = ClusterTable()
    table.numbered(text, codes, clusters)
    assert sum(taken) <= 256
    table.numbered(text, codes, clusters)
    assert len(taken) == 1


def test_tables_are_bounded(monkeypatch):
    """A text of any size, of clusters that never come again, begins a new table now and then."""
    monkeypatch.setattr(table_module, "_MOST", 100)
    monkeypatch.setattr(table_module, "_latest", [ClusterTable()])
    for first in range(0, 3000, 50):
        PreparedText(Source("".join(f"{chr(0x4E00 + at)}\u0301" for at in range(first, first + 50)))).stretch(
            0, 100
        )
        assert len(table_module._latest[0].units) <= 150


def test_long_clusters_have_no_key_and_are_told_apart():
    texts = ["a" + "\u0301" * LONGEST_KEY, "a" + "\u0301" * (LONGEST_KEY + 1), "b" + "\u0301" * LONGEST_KEY]
    text = "".join(texts * 3)
    codes = code_points(text)
    special = np.flatnonzero(codes > 127)
    table = ClusterTable()
    clusters = clusters_of(codes, special, continuations(codes, special))
    assert [
        table.units[number].text for number in table.numbered(text, codes, clusters).tolist()
    ] == texts * 3


@given(
    st.lists(
        st.sampled_from(["⁋user\n", "\u0301", "\u200d", "\ufe0f", "\u0600", "§", "‣", "x", "वि", "🚀", " "]),
        max_size=30,
    )
)
def test_lines_keep_what_clings_to_a_mark_of_the_source(pieces):
    """Characters that join a mark, before or behind it, are on the page that keeps lines too."""
    text = "".join(pieces)
    own = tuple(at for at, char in enumerate(text) if char in marks.SOURCE_MARKS)
    source = Source(text, own)
    for name in ("gemini-3/lines", "claude-high"):
        setting = Typesetter(small(70, 4, name))
        pages = read_back(setting, source, list(setting.pages(source)))
        assert "".join(page.text for page in pages) == PreparedText(source).folded()
        begins = np.cumsum([0, *(len(page.text) for page in pages)]).tolist()
        told = [begin + at for begin, page in zip(begins, pages, strict=False) for at in page.marks]
        assert told == PreparedText(source).folded_marks()


@given(st.lists(st.integers(0, 6) | st.integers(0x61, 0x7A), max_size=80), st.booleans())
def test_units_in_page_text_become_their_characters(items, many):
    units = {FIRST_UNIT + n: ShapedCluster("क्षिé👩‍🚀x\u0301"[n : 2 * n + 1]) for n in range(7)}
    codes = [FIRST_UNIT + item if item < 7 else item for item in items * (9 if many else 1)]
    wanted = "".join(units[code].text if code in units else chr(code) for code in codes)
    assert from_code_points(expand(np.array(codes, np.uint32), units)) == wanted
