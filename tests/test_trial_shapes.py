"""Arms of a trial with the page shapes of other tools: numbers of theirs, letters and marks of ours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from snapshot.errors import FontError, SnapshotError
from snapshot.models.catalog import profiles
from snapshot.pages.layout import layout_for
from snapshot.pages.readback import PageReader
from snapshot.pages.render import Typesetter
from snapshot.raster.atlas import atlas_for
from snapshot.raster.face import load_face
from snapshot.source import marks
from snapshot.source.source import Source
from snapshot.trial.arms import arm_of, arms_of, default_arms
from snapshot.trial.plan import Call, plan_of
from snapshot.trial.shapes import peer_shapes, shape_face, shape_name
from snapshot.trial.texts import trial_text
from snapshot.typeset.fold import fold
from snapshot.typeset.pagetext import decode
from tests.conftest import examples
from tests.test_cli import run as command

SHAPES = sorted({(reader.name, name) for reader in profiles() for name in peer_shapes(reader)})
PLAIN = "".join(map(chr, range(33, 127)))


def text_on(pages, reader: PageReader) -> str:
    return decode("".join(reader.cells(page.png).page_text for page in pages))[0]


@pytest.mark.parametrize(("reader", "name"), SHAPES)
def test_every_shape_of_others_is_an_arm_of_the_size_and_cell_that_the_layout_file_says(reader, name):
    layout = layout_for(name=reader)
    arm = arm_of(name, layout)
    peer = next(
        peer
        for peer in layout.reader.peers
        if peer.cell and shape_name((peer.width, peer.height), peer.cell, peer.box) == name
    )
    assert (arm.layout.width, arm.layout.height, arm.layout.cell) == (peer.width, peer.height, peer.cell)
    assert arm.columns == peer.width // arm.layout.cell[0]
    assert arm.resized == (layout.billing.preprocess(peer.width, peer.height) != (peer.width, peer.height))
    source = trial_text(3, 1, 4000).source
    pages = arm.pages(source)
    assert text_on(pages, PageReader(arm.layout, arm.typesetter().atlas(source))) == fold(source.text).text
    assert [page.tokens for page in pages] == [*arm.tokens(source)]
    assert {page.width for page in pages} == {peer.width}
    assert all(page.height == peer.height for page in pages[:-1])


cells = st.tuples(st.integers(5, 24), st.integers(8, 34))


@settings(deadline=None, max_examples=examples(12))
@given(cells.flatmap(lambda cell: st.tuples(
    st.just(cell), st.integers(5, cell[0]), st.integers(8, cell[1]))))  # fmt: skip
def test_a_letter_is_as_large_as_its_box_in_the_middle_of_its_cell(shape):
    cell, across, down = shape
    found = shape_face(cell, (across, down))
    try:
        alone, atlas = atlas_for(shape_face((across, down))), atlas_for(found)
    except FontError:
        assume(min(across, down) >= 12)  # in a low box two signs may be one
        raise
    assert found.cell == cell
    top, left = (cell[1] - down) // 2, (cell[0] - across) / 2
    for char in "MgAx8@":
        small, large = (glyphs.ink[int(glyphs.glyphs[ord(char)])] for glyphs in (alone, atlas))
        assert small.any()
        rows, columns = np.nonzero(large)
        # A hair of the outline may stand on another pixel, since the cell is of another width.
        assert abs(int(large.sum()) - int(small.sum())) <= 0.1 * small.sum() + 1
        assert rows.min() >= top - 1
        assert rows.max() < top + down + 1
        assert columns.min() >= left - 1.5
        assert columns.max() < left + across + 1.5


@settings(deadline=None, max_examples=examples(10))
@given(cells, st.text(st.sampled_from("aB1 \t\n↵❶→.|l"), min_size=1, max_size=200))
def test_pages_of_any_shape_read_back(cell, text):
    arm = arm_of(f"{cell[0] * 24}x{cell[1] * 6}@{cell[0]}x{cell[1]}", layout_for("claude-haiku-4-5"))
    source = Source(text + "x")
    reader = PageReader(arm.layout, arm.typesetter().atlas(source))
    assert text_on(arm.pages(source), reader) == fold(source.text).text


def test_marks_and_letters_of_the_smallest_cell_are_told_apart():
    atlas = atlas_for(shape_face((5, 8)))
    chars = PLAIN + marks.PAGE_MARKS
    glyphs = [atlas.ink[int(atlas.glyphs[ord(char)])].tobytes() for char in chars]
    assert len({*glyphs, atlas.ink[atlas.pad].tobytes(), atlas.ink[atlas.end].tobytes()}) == len(chars) + 2


def test_names_say_what_stands_where_or_are_refused():
    layout = layout_for("claude-haiku-4-5")
    arm = arm_of("600x480@11x16-8x13", layout)
    assert (arm.glyphs, arm.columns, arm.layout.rows) == ("Fira Code, 8x13 in 11x16", 54, 30)
    assert arm_of("600x480@9x16", layout).glyphs == "Fira Code, 9x16"
    own = arm_of(f"600x480@9x16={load_face('fira-9x16').path}", layout)
    assert own.glyphs == load_face("fira-9x16").path.stem
    assert own.layout.cell == (9, 16)
    for name in (
        "600x480@4x8", "600x480@5x7", "600x480@9x16-10x16", "600x480@9x16-9x17", "600x480@0x0", "0x0@9x16",
        "90x480@9x16", "600x16@9x16", "600x480@", "600x480@9x16-", "600x480@9x16=/no/such/font.ttf",
        "99999x480@9x16",
    ):  # fmt: skip
        with pytest.raises(SnapshotError):
            arm_of(name, layout)


def test_a_face_in_place_of_the_layouts_own_sets_the_same_text():
    layout = layout_for("claude-haiku-4-5")
    face = load_face("drawn-8x13")
    setting = Typesetter(replace(layout, cell=face.cell), face=face)
    source = Source("one\n   two\n")
    plain = Typesetter(replace(layout, face="drawn-8x13", cell=face.cell))
    assert [page.png for page in setting.pages(source)] == [page.png for page in plain.pages(source)]


# --- in a trial


def test_words_stand_for_several_arms():
    layout = layout_for("claude-haiku-4-5")
    usual = [arm.name for arm in default_arms(layout)]
    peers = [*peer_shapes(layout.reader)]
    assert peers == ["1568x728@9x16", "1568x1568@11x16-8x13"]
    assert [arm.name for arm in arms_of((), layout)] == usual
    assert [arm.name for arm in arms_of(("peers",), layout)] == peers
    both = arms_of(("default", "peers", "fira-9x16", "peers"), layout)
    assert [arm.name for arm in both] == [*usual, *peers]
    with pytest.raises(SnapshotError, match="no page of another tool is known"):
        arms_of(("peers",), layout_for("mistral-large-latest"))


def test_the_others_pages_take_nothing_from_the_text_of_ours():
    """The text is made for pages of the model's own size; others' pages have it on several."""
    layout = layout_for("claude-opus-4-8")
    alone = plan_of("m", layout, default_arms(layout), pages=1)
    both = plan_of("m", layout, arms_of(("default", "peers"), layout), pages=1)
    assert both.texts == alone.texts
    for letter, arm in both.arms.items():
        pages = arm.pages(both.text(1).source)
        assert sum(page.chars for page in pages) == len(both.text(1).source.text)
        assert sum(page.tokens for page in pages) == both.image_tokens(Call(letter, 1, "copy"))


def test_the_command_says_what_they_cost_before_anything_is_sent():
    done = command("trial", "claude-haiku-4-5", "--pages", "1", "--arm", "peers")
    lines = {line.split()[0]: line for line in done.stdout.splitlines() if "@" in line}
    assert [*lines] == ["1568x1568@11x16-8x13", "1568x728@9x16"] or [*lines] == [
        "1568x728@9x16", "1568x1568@11x16-8x13",
    ]  # fmt: skip
    assert "resized by the provider" in lines["1568x1568@11x16-8x13"]
    assert "resized" not in lines["1568x728@9x16"]
    assert "Nothing was sent" in done.stdout
    wrong = command("trial", "mistral-large-latest", "--pages", "1", "--arm", "peers", check=2)
    assert len(wrong.stderr.strip().splitlines()) == 1
