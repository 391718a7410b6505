"""The pages in the layout files are the solver's: exact, no longer than what was read, the cheapest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.page_size import (
    FEWEST_CELLS,
    MOST_DEARER,
    Answer,
    Bounds,
    bounds_of,
    explain,
    line_columns,
    page_for,
    solve,
)
from benchmarks.solve import answer_for, compare
from snapshot.models.billing import Grid
from snapshot.models.catalog import profiles
from snapshot.models.gateways import gateways
from snapshot.models.ids import profile_for
from snapshot.models.trials import as_wide, widest_read
from snapshot.pages.layout import layout_for, layout_names
from tests.own_layouts import own

__all__ = ["own"]  # a fixture: pytest finds it here


@pytest.mark.slow
def test_no_shape_of_another_tool_is_better():
    rows = compare()
    assert sum(row.peer is not None for row in rows) > 20
    for row in rows:
        # Rows as long as those that were read may cost a little; nothing else does.
        least = row.peer_per_token / (1 + MOST_DEARER * (widest_read(row.reader.trials) is not None))
        assert float(row.answer.per_token) >= least, (row.reader.name, row.layout, row.peer)


def test_the_solver_says_which_bound_holds_the_page():
    reader = profile_for("claude-opus-4-8")
    assert reader.billing is not None
    (side, whole) = explain(reader.billing, (9, 16), bounds_of(reader.limits))
    assert side.startswith("no side over 2000 px (else ")
    assert whole.startswith("whole cells")
    reader = profile_for("gpt-5.6-sol")
    assert reader.billing is not None
    assert "the rule's own caps" in explain(reader.billing, (8, 16), bounds_of(reader.limits))[0]
    assert explain(reader.billing, (300, 16), bounds_of(reader.limits)) == ("no page fits",)


@given(
    st.integers(150, 420),
    st.integers(100, 420),
    st.sampled_from(["claude-high", "gpt-patch", "gemini-3", "nova-1"]),
    st.sampled_from([0, 22, 30, 45]),
    st.integers(1, 3),
)
def test_the_solver_is_exact(width, height, name, read, count):
    """Against every size there is, in a small world: no page is better than the answer."""
    reader = next(reader for reader in profiles() if reader.name == name)
    rule = reader.billing
    assert rule is not None
    small = Grid(40, rule.unit) if isinstance(rule, Grid) else rule
    answer = solve(small, (4, 5), Bounds(side=360), read, (1, 2, 3))
    width, height = min(width, 360), min(height, 360)
    if small.preprocess(width, height) != (width, height) or not small.steady(width, height):
        return
    other = Answer(width, height, width // 4, height // 5, small.tokens(width, height), count)
    allowed = not read or 20 / 21 * min(read, 84) <= other.row_width <= 21 / 20 * read
    if other.row_width < 20 or other.cells < FEWEST_CELLS or not allowed:
        return
    assert answer is not None
    assert not other.beats(answer)


def rule_of(name: str):
    reader = next(reader for reader in profiles() if reader.name == name)
    assert reader.billing is not None
    return reader.billing, bounds_of(reader.limits, reader.bounds)


@pytest.mark.parametrize("name", ["claude-high", "gpt-patch", "gemini-3", "qwen", "grok", "kimi", "nova-1"])
@pytest.mark.parametrize("read", [40, 60, 84, 100, 172, 400])
def test_rows_as_long_as_those_that_were_read_if_they_are_hardly_dearer(name, read):
    rule, bounds = rule_of(name)
    best, found = solve(rule, (8, 18), bounds), page_for(rule, (8, 18), bounds, read)
    assert best is not None
    assert found is not None
    assert found.per_token * (1 + MOST_DEARER) >= best.per_token
    if found != best:
        assert as_wide(found.row_width, read)
        assert as_wide(min(read, 84), found.row_width)
        assert not as_wide(best.columns, read), "rows that are short enough stay"
    elif not as_wide(best.columns, read):
        near = solve(rule, (8, 18), bounds, read, (1, 2, 3, 4, 5, 6))
        assert near is None or near.per_token * (1 + MOST_DEARER) < best.per_token


def test_columns_are_taken_where_narrower_pages_are_dearer():
    rule, bounds = rule_of("gemini-3")  # every page costs the same: a narrow one would be mostly waste
    found = page_for(rule, (8, 18), bounds, 84)
    assert found is not None
    assert found.count == 2
    rule, bounds = rule_of("gpt-patch")  # billed by area
    found = page_for(rule, (8, 18), bounds, 84)
    assert found is not None
    assert found.count == 1
    several = page_for(rule, (8, 18), bounds, 84, columns=True)
    assert several is not None
    assert several.count == 2
    assert several.cells > 2 * found.cells


@pytest.mark.parametrize("model", ["claude-opus-4-8", "gpt-5.6-sol", "qwen3.8-max", "grok-4.7", "kimi-k3"])
@pytest.mark.parametrize("gateway", [None, *(item.name for item in gateways() if item.name != "direct")])
def test_a_route_that_takes_few_images_gets_fuller_ones(model, gateway):
    """Columns where the images that a request may have hold less than half of the window, and only there."""
    layout = layout_for(model, gateway=gateway)
    own = layout_for(name=layout.reader.name)
    most = layout.reader.limits.get("images_per_request", 10**6)
    few = 2 * most * own.tokens < layout.reader.window and "columns" in layout.reader.layouts
    assert layout.name == (f"{own.name}/columns" if few else own.name)
    assert layout.capacity >= own.capacity
    if few:
        assert layout.flow_columns > 1
        dense = layout_for(name=f"{layout.name}-dense")
        assert dense.capacity > layout.capacity
        assert dense.capacity / dense.tokens > layout.capacity / layout.tokens


@pytest.mark.parametrize(("images", "name"), [(78, "house"), (77, "house/columns"), (1, "house/columns")])
def test_few_images_are_those_that_hold_less_than_half_of_the_window(own, images, name):
    """Pages of 1,296 tokens in a window of 200,000."""
    own(f"""
provider = "house"
as_of = 2026-12-01
sources = ["a test"]
[[readers]]
extends = "gpt-patch"
name = "house"
title = "House"
models = ["house-1"]
window = 200_000
limits = {{ images_per_request = {images} }}
lines = []
""")
    assert layout_for(name="house").tokens == 1296
    assert layout_for("house-1").name == name


def test_no_layout_has_rows_longer_than_what_was_read_where_that_is_known():
    known = 0
    for reader in profiles():
        longest = widest_read(reader.trials)
        for name in reader.layouts if longest else ():
            layout = layout_for(name=reader.name if name == "default" else f"{reader.name}/{name}")
            if longest and not layout.text_columns:
                assert as_wide(layout.row_width, longest.columns), layout.name
                known += 1
    assert known > 8


@pytest.mark.parametrize("name", list(layout_names()))
def test_the_last_page_is_the_cheapest_that_holds_it(name):
    layout = layout_for(name=name)
    aspect = layout.reader.limits.get("max_aspect", 10**6)
    for rows in {1, 2, layout.rows // 3, layout.rows // 2, layout.rows - 1} - {0}:
        chosen = layout.billing.tokens(layout.width, layout.page_height(rows))
        for height in range(max(rows * layout.cell[1], -(-layout.width // aspect)), layout.height + 1):
            if layout.billing.preprocess(layout.width, height) == (layout.width, height):
                unsteady = not layout.billing.steady(layout.width, height)
                assert unsteady or chosen <= layout.billing.tokens(layout.width, height)


@pytest.mark.slow
def test_layouts_are_what_the_solver_finds():
    """The pages in the files are its answers; `python -m benchmarks.solve --write` writes them."""
    for name in layout_names():
        layout = layout_for(name=name)
        answer = answer_for(layout.reader, name.partition("/")[2] or "default")
        assert (layout.width, layout.height) == (answer.width, answer.height), name
        if layout.text_columns:
            assert layout.text_columns == line_columns(layout.columns)
            continue
        assert layout.flow_columns == answer.count
        assert (layout.capacity, layout.tokens) == (answer.cells, answer.tokens)
