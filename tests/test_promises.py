"""The promises of rendering, as properties: conserved, readable back, unresized, deterministic, stable."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import snapshot
from snapshot.pages.layout import layout_for, layout_names
from snapshot.pages.render import Page, Typesetter
from snapshot.source import marks
from snapshot.source.source import Source, source_of
from snapshot.typeset.grid import set_pages
from snapshot.typeset.prepared import PreparedText
from tests.conftest import LAYOUTS, REAL, read_back, small

# Any text, with what breaks text more often than chance would have it.
TROUBLE = [
    " ", "  ", "     ", "\n", "\r\n", "\r", "\t", "\0", "\x7f", "\x85", "\x9b31m", "\x1b[0m", "\x1b]0;t\x07",
    "\x1b]8;;", "\b", "a\ba", "_\bx", "\b\b\b", "10%\r20%\r", "\x1b[K", "\x1b[1G", "\x1b[3", "step 1", "step 2", "\x1bP+q\x1b\\", "\ud83d", "\udc00", "e\u0301", "\u0301", "\u200d", "\ufe0f", "\u200b", "\u202e",
    "👩‍👩‍👧‍👦", "🇵🇹", "👍🏽", "1️⃣", "漢", "。", "「", "ﾊﾟ", "한", "नमस्ते", "สำ", "А", "Α",
    "سلام", "لا", "ل", "ا", "ب\u064e", "می\u200cخو", "١٢٣", "שלום", "בְּ", "(א", "ב)", " 12.5 ", "א", "क्ष", "한글", "か\u3099",
    "\u1112\u1161\u11ab", "x\u0304", "⚠\ufe0f", "🏴\U000e0067\U000e0062\U000e007f", "🇵", "❤️‍🔥", "⚠", "\ue000", "\ue001", "\ufffd",
    *marks.PAGE_MARKS, "⟦1F680⟧", "❶❷", "word", "0O", "l1I|",
]  # fmt: skip
texts = st.lists(st.one_of(st.sampled_from(TROUBLE), st.text(st.characters(), max_size=8)), max_size=120).map(
    "".join
)
layouts = st.builds(small, st.integers(20, 200), st.integers(1, 12), st.sampled_from(LAYOUTS))


def spans_partition(pages: list[Page], source: Source) -> None:
    assert [page.start for page in pages[:1]] == [0][: len(pages)]
    assert all(one.stop == other.start for one, other in pairwise(pages))
    assert (pages[-1].stop if pages else 0) == len(source.text)


def says_its_source(setting: Typesetter, source: Source, pages: list[Page]) -> None:
    """Each page decodes, from its pixels, to its span of the source but for the folds."""
    spans_partition(pages, source)
    read = read_back(setting, source, pages)
    text = PreparedText(source)
    for page, said in zip(pages, read, strict=True):
        assert said.text == text.folded(page.start, page.stop)
    # A page ends with the end mark or is full; only the last one can have the mark.
    assert not any(said.ended for said in read[:-1])


@given(texts, layouts)
def test_pages_conserve_and_read_back(text, layout):
    source = Source(text)
    setting = Typesetter(layout)
    says_its_source(setting, source, list(setting.pages(source)))


@given(texts, st.integers(20, 120))
def test_units_are_not_torn(text, columns):
    """No wide glyph and no grapheme cluster that fits a row goes over the end of a row."""
    source = Source(text)
    setting = Typesetter(small(columns, 5))
    atlas = setting.atlas(source)
    for grid in set_pages(source, atlas, columns, 5):
        lefts = np.isin(grid.cells, np.flatnonzero(atlas.codes < 0) - 1)
        assert not lefts[:, -1].any()
        opened = 0
        for cell in atlas.codes[grid.cells[:, :]].tolist():
            opened = cell.count(ord(marks.OPEN)) - cell.count(ord(marks.CLOSE))
            assert opened == 0


@given(texts)
def test_rendering_what_was_read_changes_nothing(text):
    """Escaping is stable, and only source text is ever needed: never pixels, never page text."""
    setting = Typesetter(small(60, 6))
    source = Source(text)
    pages = list(setting.pages(source))
    again = Source("".join(said.text for said in read_back(setting, source, pages)))
    repeated = [page.png for page in setting.pages(again)]
    # What folds away altogether leaves one page with nothing but the end mark.
    assert repeated == [page.png for page in pages] or (not repeated and not again.text)


@given(texts, texts, layouts)
def test_growing_text_keeps_full_pages(before, more, layout):
    """The middle grows by whole entries, and an entry ends with a newline."""
    setting = Typesetter(layout)
    old = list(setting.pages(Source(before + "\n")))
    new = list(setting.pages(Source(before + "\n" + more)))
    for one, other in zip(old[:-1], new, strict=False):
        assert (one.png, one.start, one.stop) == (other.png, other.start, other.stop)
    assert len(new) >= len(old)


@given(texts.filter(bool), st.sampled_from(LAYOUTS))
def test_bytes_do_not_depend_on_threads(text, name):
    source = Source(text * 40)
    setting = Typesetter(small(40, 4, name))
    single = [page.png for page in setting.pages(source, threads=1)]
    assert single == [page.png for page in setting.pages(source, threads=3)]
    assert single == [page.png for page in Typesetter(small(40, 4, name)).pages(source)]


@pytest.mark.parametrize("name", list(layout_names()))
def test_no_page_of_a_layout_is_resized(name):
    """Full or not, nor would a rounding of the provider's do it; and none is dearer than a full page."""
    layout = layout_for(name=name)
    for rows in range(1, layout.rows + 1):
        height = layout.page_height(rows)
        assert layout.billing.preprocess(layout.width, height) == (layout.width, height)
        assert layout.billing.steady(layout.width, height), rows
        assert layout.billing.tokens(layout.width, height) <= layout.tokens
        assert rows * layout.cell[1] <= height <= layout.height
        aspect = layout.reader.limits.get("max_aspect", layout.width)
        assert layout.width <= aspect * height


@pytest.mark.parametrize("name", [name for name in LAYOUTS if not name.endswith("/lines")])
def test_last_page_is_no_higher_than_it_must_be(name):
    layout = layout_for(name=name)
    source = Source("x" * (layout.capacity + layout.columns * 40 + 7))
    *_, last = Typesetter(layout).pages(source)
    if layout.billing.flat:
        # 41 rows are used: the grid is of whole units, and of all unresized heights this is the cheapest.
        heights = range(41 * layout.cell[1], layout.height + 1)
        sizes = [(layout.width, height) for height in heights]
        cheapest = min(
            layout.billing.tokens(*size) for size in sizes if layout.billing.preprocess(*size) == size
        )
        assert last.tokens == cheapest <= layout.tokens
    else:
        assert last.height == max(
            41 * layout.cell[1], -(-layout.width // layout.reader.limits.get("max_aspect", 10**6))
        )


# Each layout once, and each file several times; the slow run has every pair.
@pytest.mark.sampled(len(REAL))
@pytest.mark.parametrize(
    ("name", "file"),
    [(name, REAL[(at + turn) % len(REAL)]) for at, name in enumerate(LAYOUTS) for turn in range(len(REAL))],
)
def test_real_transcripts_read_back(real: Path, file, name):
    source = source_of(snapshot.load(real / file))
    setting = Typesetter(layout_for(name=name))
    pages = list(setting.pages(source))
    says_its_source(setting, source, pages)
    said = "".join(page.text for page in read_back(setting, source, pages))
    assert said == PreparedText(source).folded()
    assert len(source.marks) > 50


@pytest.mark.parametrize("file", REAL)
def test_real_transcripts_keep_their_full_pages(real: Path, file):
    """Rendered after every tenth message, no full page ever changes."""
    transcript = snapshot.load(real / file)
    setting = Typesetter(layout_for("claude-opus-4-8"))
    former: list[bytes] = []
    for count in range(10, len(transcript.messages) + 10, 10):
        part = replace(transcript, messages=transcript.messages[:count])
        pages = [page.png for page in setting.pages(source_of(part))]
        assert pages[: len(former)] == former
        former = pages[:-1]


def test_nothing_is_no_page():
    assert list(snapshot.render("", model="claude-opus-4-8")) == []


def test_what_folds_away_has_a_page_all_the_same():
    (page,) = snapshot.render("\x1b[31m\x1b[0m", model="claude-opus-4-8")
    assert (page.start, page.stop) == (0, 9)


@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_end_mark_at_the_edge_of_a_page(extra):
    """A text that fills its page to the last cell has no room for the mark and needs none."""
    layout = small(30, 4)
    setting = Typesetter(layout)
    source = Source("a" * (layout.capacity + extra))
    pages = list(setting.pages(source))
    read = read_back(setting, source, pages)
    assert "".join(said.text for said in read) == source.text
    assert len(pages) == (2 if extra == 1 else 1)
    assert read[-1].ended == (extra != 0)
