"""Grapheme clusters wider than a row are set character by character: a page may begin within one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from snapshot.pages.render import Typesetter
from snapshot.source.source import Source
from tests.conftest import read_back, small

FAMILY = "👩\u200d👩\u200d👧\u200d👦"
CLUSTERS = (
    FAMILY, "a" + "\u0301" * 9, "e\u0301", "\u200d\u200d", "\u0301", "क्षि" * 2,
    "🏴\U000e0067\U000e0062\U000e007f",
    "👍🏽", "🇩🇪", "ع" * 4, "日本", "😀", "x", " ", "\n",
)  # fmt: skip
texts = st.lists(st.sampled_from(CLUSTERS), min_size=1, max_size=14).map("".join)
layouts = st.builds(small, st.integers(14, 40), st.integers(1, 2), st.just("claude-high"))


@given(texts, layouts, st.booleans())
def test_from_every_page_on_pages_are_those_of_the_whole(text, layout, compiled):
    source, setter = Source(text), Typesetter(layout)
    whole = list(setter.pages(source, compiled=compiled))
    for number, page in enumerate(whole):
        part = list(setter.pages(source, start=page.start, compiled=compiled))
        assert [(one.png, one.start, one.stop) for one in part] == [
            (one.png, one.start, one.stop) for one in whole[number:]
        ]


def test_pages_begin_within_a_cluster():
    """What the property above is about does happen."""
    layout = small(20, 1, "claude-high")
    source = Source(FAMILY * 2)
    pages = list(Typesetter(layout).pages(source))
    starts = [page.start for page in pages]
    assert not {*starts} <= {0, len(FAMILY)}
    assert "".join(page.text for page in read_back(Typesetter(layout), source, pages)) == source.text
