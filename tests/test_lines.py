"""Pages that keep lines: the shape of code is seen, and nothing is lost by it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshot.pages.layout import layout_for
from snapshot.pages.render import Typesetter
from snapshot.source import marks
from snapshot.source.source import Source
from snapshot.typeset.columns import column_width, slots_of
from snapshot.typeset.fold import fold
from snapshot.typeset.prepared import PreparedText
from tests.conftest import read_back, small

NAME = "gemini-3/lines"
lines = st.text(st.sampled_from("ab {};漢\t é🚀❶↵⟦"), max_size=70)


def shown(setting: Typesetter, text: str) -> list[list[str]]:
    """The slots of each page as they look, marks of the grid as ~ and #."""
    source = Source(text)
    atlas = setting.atlas(source)
    names = {ord(marks.PAD): "~", ord(marks.END): "#"}
    pages = []
    for grid in setting.grids(source, atlas):
        slots = slots_of(grid.cells, setting.layout.text_columns)
        pages.append(
            ["".join(names.get(code, chr(code)) for code in atlas.codes[slot].tolist()) for slot in slots]
        )
    return pages


def test_code_keeps_its_shape():
    setting = Typesetter(small(70, 4, NAME))
    assert column_width(70, 3) == 21
    (page,) = shown(setting, "def f(x):\n    if x:\n\n        return [1, 2, 3]\n    return    0  \n")
    said = [slot.rstrip() for slot in page]
    assert not any(said[9:])
    assert said[:9] == [
        "def f(x):",
        "    if x:",
        "",
        "        return [1, 2~",
        ", 3]",
        "    return    0❷",
        "#",
        "",
        "",
    ]


def test_a_long_line_goes_on_behind_the_mark():
    setting = Typesetter(small(70, 3, NAME))
    (page,) = shown(setting, "x" * 30 + "\ny\n")
    assert page[0] == "x" * 20 + "~"
    assert page[1] == "x" * 10 + " " * 11
    assert page[2].startswith("y ")


@pytest.mark.parametrize("length", [20, 21, 22, 40, 41, 42, 43])
@pytest.mark.parametrize("end", ["", "\n"])
def test_lines_that_just_fit(length, end):
    setting = Typesetter(small(70, 2, NAME))
    source = Source("x" * length + end)
    pages = list(setting.pages(source))
    assert "".join(said.text for said in read_back(setting, source, pages)) == source.text


@given(st.lists(lines, max_size=60), st.integers(20, 120), st.integers(1, 6), st.booleans())
def test_lines_read_back(found, columns, rows, ended):
    text = "\n".join(found) + "\n" * ended
    setting = Typesetter(small(columns, rows, NAME))
    source = Source(text)
    pages = list(setting.pages(source))
    said = read_back(setting, source, pages)
    ready = PreparedText(source)
    for page, one in zip(pages, said, strict=True):
        assert one.text == ready.folded(page.start, page.stop)
    assert "".join(one.text for one in said) == fold(text).text
    assert not any(one.ended for one in said[:-1])


@given(st.lists(lines, min_size=1, max_size=40), st.lists(lines, max_size=40), st.integers(1, 5))
def test_growing_text_keeps_full_pages_of_lines(before, more, rows):
    setting = Typesetter(small(70, rows, NAME))
    old = list(setting.pages(Source("\n".join(before) + "\n")))
    new = list(setting.pages(Source("\n".join([*before, *more]) + "\n")))
    for one, other in zip(old[:-1], new, strict=False):
        assert (one.png, one.start, one.stop) == (other.png, other.start, other.stop)


def test_a_stretch_that_is_one_line_is_joined():
    """Lines longer than what is encoded at a time."""
    setting = Typesetter(layout_for(name=NAME))
    source = Source("head\n" + "abcdefgh " * 60_000 + "\ntail")
    pages = list(setting.pages(source))
    assert "".join(said.text for said in read_back(setting, source, pages)) == source.text


def test_the_last_page_is_lower_and_balanced():
    setting = Typesetter(layout_for(name="claude-high/lines"))  # whose height is billed
    (page,) = setting.pages(Source("line\n" * 30))
    full = setting.layout.height
    assert page.height < full / 2
    grid = next(setting.grids(Source("line\n" * 30), setting.atlas(Source("line"))))
    assert grid.cells.shape[0] == page.height // setting.layout.cell[1]
    assert np.count_nonzero(grid.cells == grid.cells[0, 0]) >= 30
