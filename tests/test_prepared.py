"""Work on a source is done once: its folds, clusters and page breaks serve every layout, span and report."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshot.pages import folder
from snapshot.pages import prepared as pages_prepared
from snapshot.pages.layout import layout_for
from snapshot.pages.render import Typesetter
from snapshot.source.source import Source, slice_of
from snapshot.typeset import prepared as prepared_module
from snapshot.typeset import shaped as shaped_module
from snapshot.typeset.prepared import PreparedText
from tests.conftest import read_back
from tests.test_promises import layouts, texts

DEVANAGARI = "विश्वविद्यालय में क्षत्रिय, नमस्ते।\n"


@pytest.fixture
def counted(monkeypatch) -> Counter[str]:
    """Characters that were folded and segmented, from here on."""
    counts: Counter[str] = Counter()
    for module, name in (
        (prepared_module, "fold"),
        (shaped_module, "continuations"),
        (prepared_module, "census"),
    ):
        whole = getattr(module, name)

        def count(text, *arguments, _whole=whole, _name=name, **named):
            counts[_name] += len(text)
            return _whole(text, *arguments, **named)

        monkeypatch.setattr(module, name, count)
    # Another test of this process may have loaded the kernels, which do the same.
    monkeypatch.setattr(shaped_module, "_compiled", [])
    pages_prepared._lately.clear()
    pages_prepared._alive.clear()
    return counts


@pytest.mark.parametrize("name", ["claude-standard", "claude-standard/lines"])
def test_rendering_a_folder_folds_and_segments_once(tmp_path: Path, counted, name):
    pytest.importorskip("manimgx_fonts", reason="the extra `world` is not installed")
    source = Source(DEVANAGARI * 400)
    folder.write(tmp_path / "pages", source, Typesetter(layout_for(name=name)))
    size = len(source.text)
    assert counted["fold"] == size
    # Lines are divided one by one, with the clusters of each line.
    assert counted["continuations"] <= (2 if name.endswith("lines") else 1) * size
    assert counted["census"] <= 2 * size


def test_measuring_at_many_boundaries_folds_once(counted):
    """Two layouts, several cuts, pages drawn at the end: as a compaction goes about it."""
    source = Source((DEVANAGARI + "plain text, and a \x1b[31mred\x1b[0m word\r\n") * 2000)
    size = len(source.text)
    for name in ("claude-standard", "claude-standard/dense"):
        setter = Typesetter(layout_for(name=name))
        for stop in (size, size * 3 // 4, size // 2, size * 7 // 8):
            pages = setter.measure(source, 0, source.text.rindex("\n", 0, stop) + 1)
        inner = setter.measure(source, pages[0].stop, pages[-1].start)
        list(setter.pages(source, start=inner[0].start, stop=inner[-1].stop))
    # An equal source is the same work; a Typesetter of its own too.
    Typesetter(layout_for(name="claude-standard")).measure(Source(source.text))
    assert counted["fold"] == size
    assert 0 < counted["continuations"] <= size


def test_page_breaks_serve_again(monkeypatch):
    """Another boundary behind the first sets the pages near it, and not those before."""
    source = Source("some words of a line\n" * 20_000)
    setter = Typesetter(layout_for(name="claude-standard"))
    every = setter.measure(source)
    grids = 0
    whole = Typesetter.grids

    def count(*arguments, **named):
        nonlocal grids
        for grid in whole(*arguments, **named):
            grids += 1
            yield grid

    monkeypatch.setattr(Typesetter, "grids", count)
    for page in every[:-1]:
        found = setter.measure(source, 0, page.stop)
        assert [(one.start, one.stop) for one in found] == [
            (one.start, one.stop) for one in every[: len(found)]
        ]
    assert grids <= 3 * len(every)


@given(texts, layouts, st.lists(st.integers(0, 1000), min_size=1, max_size=4))
def test_measured_pages_are_those_that_are_drawn(text, layout, stops):
    """Whatever was measured before, at whatever boundary."""
    source, setter = Source(text), Typesetter(layout)
    for stop in (min(stop, len(text)) for stop in stops):
        drawn = [(page.start, page.stop, page.tokens) for page in setter.pages(source, stop=stop)]
        assert [(page.start, page.stop, page.tokens) for page in setter.measure(source, 0, stop)] == drawn


@given(texts, layouts, st.booleans(), st.integers(20, 2000), st.data())
def test_a_span_from_a_page_on_has_the_pages_of_the_whole(text, layout, compiled, size, data):
    text = text * 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepared_module, "_STRETCH", size)
        source, setter = Source(text), Typesetter(layout)
        whole = list(setter.pages(source, compiled=compiled))
        if not whole:
            return
        first = data.draw(st.integers(0, len(whole) - 1))
        part = list(setter.pages(source, start=whole[first].start, compiled=compiled))
    assert [(page.png, page.start, page.stop) for page in part] == [
        (page.png, page.start, page.stop) for page in whole[first:]
    ]


@given(texts, layouts, st.integers(0, 500), st.integers(0, 500))
def test_the_pages_of_a_span_say_what_it_says(text, layout, one, other):
    start, stop = sorted((min(one, len(text)), min(other, len(text))))
    source, setter = Source(text), Typesetter(layout)
    pages = list(setter.pages(source, start=start, stop=stop))
    said = "".join(page.text for page in read_back(setter, source, pages))
    assert said == "".join(stretch.text for stretch in PreparedText(source).stretches(start, stop))
    assert [page.start for page in pages[:1]] == [start][: len(pages)]
    assert [page.stop for page in pages[-1:]] == [stop][: len(pages)]


def test_slices_and_spans_agree_at_entries():
    """A span between line ends is what the slice of it says."""
    source = Source("".join(f"line {number}\twith \x1b[1mthis\x1b[m and 漢字\r\n" for number in range(500)))
    setter = Typesetter(layout_for(name="claude-high"))
    ends = [at + 1 for at, char in enumerate(source.text) if char == "\n"]
    start, stop = ends[40], ends[400]
    span = [page.png for page in setter.pages(source, start=start, stop=stop)]
    assert span == [page.png for page in setter.pages(slice_of(source, start, stop))]


def test_few_sources_are_kept():
    pages_prepared._lately.clear()
    setter = Typesetter(layout_for(name="claude-high"))
    for number in range(20):
        setter.measure(Source(f"text {number}"))
    assert len(pages_prepared._lately) <= 4
    setter.measure(Source("x" * (1 << 23)))
    assert sum(len(one.text.source.text) for one in pages_prepared._lately) <= 1 << 22
