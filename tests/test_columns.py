"""Flowing text in columns: the same text, cut into columns that are read one after the other."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import columns
from snapshot.compaction.archive import Archive
from snapshot.compaction.assemble import archive_messages
from snapshot.compaction.compact import compact
from snapshot.legibility.verify import verify
from snapshot.messages import Text
from snapshot.pages.layout import Layout, layout_for
from snapshot.pages.manifest import Manifest
from snapshot.pages.render import PageSpan, Typesetter
from snapshot.source.source import Source
from snapshot.transcripts import load
from snapshot.typeset.columns import GUTTER, column_width, in_columns, slots_of
from snapshot.typeset.fold import fold
from snapshot.typeset.prepared import PreparedText
from tests.conftest import read_back, small
from tests.test_cli import run
from tests.test_docs import talk

WORDS = st.text(st.sampled_from("ab 1{};漢\t\n é🚀❶↵⟦\u05d0\u05d1e\u0301"), max_size=600)
GEOMETRY = st.tuples(st.integers(2, 4), st.integers(20, 33), st.integers(1, 6))


def columned(count: int, width: int, rows: int, name: str = "claude-standard") -> Layout:
    """A small layout of so many columns of so many cells, and some cells that are left over."""
    return replace(small(count * width + GUTTER * (count - 1) + count // 2, rows, name), flow_columns=count)


@given(WORDS, GEOMETRY, st.booleans())
def test_columns_read_back(text, geometry, compiled):
    count, width, rows = geometry
    setting = Typesetter(columned(count, width, rows))
    source = Source(text)
    pages = list(setting.pages(source, compiled=compiled, threads=1))
    said = read_back(setting, source, pages)
    ready = PreparedText(source)
    for page, one in zip(pages, said, strict=True):
        assert one.text == ready.folded(page.start, page.stop)
    assert "".join(one.text for one in said) == fold(text).text
    assert not any(one.ended for one in said[:-1])


@given(WORDS, GEOMETRY)
def test_a_column_is_a_narrow_page_cut_up(text, geometry):
    """Full pages hold what a page of one column of as many rows holds, whoever sets them."""
    count, width, rows = geometry
    layout = columned(count, width, rows)
    setting, source = Typesetter(layout), Source(text)
    long = replace(layout, width=width * layout.cell[0], height=rows * count * layout.cell[1], flow_columns=1)
    atlas = setting.atlas(source)
    grids = list(setting.grids(source, atlas))
    tall = list(Typesetter(long).grids(source, atlas))
    assert [(grid.start, grid.stop) for grid in grids] == [(grid.start, grid.stop) for grid in tall]
    for grid, other in zip(grids, tall, strict=True):
        slots = slots_of(grid.cells, count)
        assert (slots[: len(other.cells)] == other.cells).all()
        assert (slots[len(other.cells) :] == atlas.blank).all()
    for grid, other in zip(grids, setting.grids(source, atlas, compiled=True), strict=True):
        assert (grid.cells == other.cells).all()


@given(WORDS, WORDS, GEOMETRY)
def test_growing_text_keeps_full_pages_in_columns(before, more, geometry):
    setting = Typesetter(columned(*geometry))
    old = list(setting.pages(Source(before + "\n")))
    new = list(setting.pages(Source(before + "\n" + more)))
    for one, other in zip(old[:-1], new, strict=False):
        assert (one.png, one.start, one.stop) == (other.png, other.start, other.stop)


@given(WORDS, GEOMETRY)
def test_what_is_measured_in_columns_is_what_is_drawn(text, geometry):
    layout, source = columned(*geometry), Source(text * 9)
    # What is known of a page of the same size in one column says nothing of it.
    across = Typesetter(replace(layout, flow_columns=1))
    setting = Typesetter(layout)
    assert across.measure(source) == tuple(
        PageSpan(page.start, page.stop, page.tokens) for page in across.pages(source)
    )
    pages = [(page.start, page.stop, page.tokens) for page in setting.pages(source)]
    assert [(span.start, span.stop, span.tokens) for span in setting.measure(source)] == pages


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("compiled", [False, True])
def test_bytes_do_not_depend_on_who_draws(threads, compiled):
    setting = Typesetter(replace(layout_for(name="gpt-patch"), width=1440, height=400, flow_columns=2))
    source = Source("def f(x):\n    return x  # 漢字 é\n" * 3000)
    first = [page.sha256 for page in setting.pages(source, threads=1, compiled=False)]
    assert [page.sha256 for page in setting.pages(source, threads=threads, compiled=compiled)] == first


@pytest.mark.parametrize("name", ["claude-high", "gpt-patch", "qwen", "grok"])
def test_the_last_page_is_lower_and_its_columns_even(name):
    full = replace(layout_for(name=name), flow_columns=2, text_columns=0)
    setting = Typesetter(full)
    source = Source("word " * (full.capacity // 25))
    (page,) = setting.pages(source)
    grid = next(setting.grids(source, setting.atlas(source)))
    assert page.height < full.height
    assert grid.cells.shape[0] == page.height // full.cell[1]
    (said,) = read_back(setting, source, [page])
    assert said.text == source.text
    assert said.ended


@given(st.integers(1, 5), st.integers(20, 40), st.integers(1, 9), st.integers(0, 4))
def test_slots_are_put_where_they_are_read(count, width, rows, spare):
    setting = Typesetter(layout_for(name="claude-standard"))
    atlas = setting.atlas(Source("x"))
    columns = count * width + GUTTER * (count - 1) + min(spare, count - 1)
    assert column_width(columns, count) == width
    slots = np.arange(count * rows * width, dtype=np.int32).reshape(-1, width)
    page = in_columns(slots, atlas, columns, rows, count)
    assert page.shape == (rows, columns)
    assert (slots_of(page, count) == slots).all()
    stroke = atlas.glyphs[ord("│")]
    assert (page == stroke).sum() >= rows * (count - 1)
    assert (page[:, [number * (width + GUTTER) - 2 for number in range(1, count)]] == stroke).all()


def test_a_folder_of_columns_is_proved_and_read(tmp_path):
    (tmp_path / "a.txt").write_text("def f(x):\n    return x  # 42\n" * 2000, encoding="utf-8")
    run(
        "render",
        tmp_path / "a.txt",
        "--layout",
        "gpt-patch/columns",
        "-m",
        "gpt-5.6-sol",
        "-o",
        tmp_path / "p",
    )
    manifest = json.loads((tmp_path / "p" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["layout"]["flow_columns"] == 2
    assert "part a page into columns" in manifest["guide"]
    verdict = verify(tmp_path / "p")
    assert verdict.passed
    assert run("read", tmp_path / "p").stdout == (tmp_path / "a.txt").read_text(encoding="utf-8")
    # Pages set before there were such columns say nothing of them.
    del manifest["layout"]["flow_columns"]
    assert Manifest.from_json(json.dumps(manifest).encode()).layout.flow_columns == 1


def test_a_request_in_columns_says_how_to_read_them():
    done = compact(talk(60), model="gpt-5.6-sol", window=150_000, layout="gpt-patch/columns")
    assert done.archive is not None
    assert done.archive.pages
    assert set(done.archive.tiers) == {"gpt-patch/columns"}
    assert done.archive.ways == ("columns",) * len(done.archive.pages)
    lead = next(part.text for part in archive_messages(done.archive)[0].parts if isinstance(part, Text))
    assert "part a page into columns" in lead
    again = Archive.from_json(done.archive.to_json())
    assert again == done.archive
    assert not again.stale
    sent = load(json.dumps(done.request("openai-chat")).encode())
    assert again.restore(sent).messages == load(json.dumps({"messages": talk(60)}).encode()).messages
    # In rows nothing is said of it, and the archive's file is as it was.
    plain = compact(talk(60), model="gpt-5.6-sol", window=150_000)
    assert plain.archive is not None
    assert "ways" not in json.loads(plain.archive.to_json())


def test_kept_lines_are_explained_in_a_request_too():
    done = compact(talk(60), model="gpt-5.6-sol", window=150_000, layout="gpt-patch/lines")
    assert done.archive is not None
    said = "\n".join(
        part.text
        for message in archive_messages(done.archive)
        for part in message.parts
        if isinstance(part, Text)
    )
    assert ("A row of a column is a line" in said) == ("lines" in done.archive.ways)
    assert "lines" in done.archive.ways


def test_the_table_of_rows_has_the_costs_of_these_layouts():
    """What was read of them is kept; what can go stale without that is compared."""
    text = columns.DOCUMENT.read_text(encoding="utf-8")
    kept = text.partition("<!-- columns -->\n")[2].partition("<!-- /columns -->")[0].splitlines()[2:]
    now = columns.table(list(columns.rows(read=False))).splitlines()[2:]
    assert [line.split("|")[1:7] for line in kept] == [line.split("|")[1:7] for line in now]
    assert all(
        re.fullmatch(r"( 0\.\d{3}, \d\.\d\d \|){2}", "|".join(line.split("|")[7:9]) + "|") for line in kept
    )
