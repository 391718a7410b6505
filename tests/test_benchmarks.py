"""The benchmark's own parts: settings of any depth and width, floors, and the comparison of two results."""

from __future__ import annotations

import pytest

from benchmarks import growth
from benchmarks.compare import table
from benchmarks.measure import Row, Variant, machine
from benchmarks.speed import failures, line
from snapshot.source.source import Source
from tests.test_raster import decode_png


@pytest.mark.parametrize("width", [8, 9, 11])
@pytest.mark.parametrize("depth", [1, 2, 4])
def test_variants_have_the_depth_and_width_they_say(depth, width):
    setting = Variant(depth, width)
    (page,) = setting.pages(Source("def read(path):\n    return None\n"))
    pixels, found = decode_png(page.png)
    assert found == depth
    assert setting.layout.cell == (width, 16)
    assert pixels.shape == (page.height, page.width)


def test_floors_name_the_row_that_is_below():
    good = Row("whole", "1 bit, 9×16, default, 1 thread", 1000, 0.1, 0.1, 0.9, "compressor alone")
    bad = Row("whole", "2 bit, 9×16, default, 1 thread", 1000, 0.1, 0.1, 0.1, "compressor alone")
    assert failures([good]) == []
    (found,) = failures([good, bad])
    assert found.startswith("whole 2 bit, 9×16, default, 1 thread: 0.10 (compressor alone)")
    assert "0.90  compressor alone" in line(good)


def test_two_results_are_compared_row_by_row():
    old = Row("typeset", "real", 1000, 0.2, 0.2)
    new = Row("typeset", "real", 1000, 0.1, 0.1)
    only = Row("typeset", "other", 1000, 0.1, 0.1)
    facts = machine()
    lines = table(
        {"machine": facts, "rows": [old.stored()]}, {"machine": facts, "rows": [new.stored(), only.stored()]}
    )
    assert len(lines) == 2
    assert "2.00×" in lines[1]


@pytest.mark.parametrize("case", growth.CASES, ids=lambda case: case.name)
def test_what_is_to_grow_by_its_size_is_work(case):
    """Each input is of the size that is asked for, and something comes of it."""
    small, large = case.make(40), case.make(400)
    if isinstance(small, bytes | str) and isinstance(large, bytes | str):
        assert len(large) > 5 * len(small)
    assert case.work(small)
    assert case.work(large)


def test_growth_is_told_where_it_can_be_measured(monkeypatch, capsys):
    assert growth.growths([0.3, 3.0, 75.0]) == [1.0, 2.5]
    assert growth.growths([0.001, 0.3, 2.7]) == pytest.approx([0.0, 0.9])
    monkeypatch.setattr(growth, "_measured", lambda _, size: (size / 1000) ** 2)
    assert growth.main(["--short", "--only", "profile_for"]) == 0
    assert growth.main(["--short", "--check", "--only", "profile_for"]) == 1
    said = capsys.readouterr()
    assert "grows 10.00" in said.out
    assert said.err == "not linear: characters in a model's name: profile_for\n"
