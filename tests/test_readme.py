"""README and documentation show what this version measures."""

from __future__ import annotations

import re
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from benchmarks import cost, figure, readme
from snapshot.costs.costs import example_models
from snapshot.pages.layout import layout_for


@pytest.mark.parametrize("name", readme.TABLES)
def test_tables_are_what_this_version_measures(name):
    page, make = readme.TABLES[name]
    assert readme.table_in(page, name) == make(), "run: python -m benchmarks.readme --write"


def test_kept_costs_are_of_these_layouts():
    """They are measured on conversations that are not in the repository: what can go stale is compared."""
    kept = cost.kept()["costs"]
    assert {item["model"] for item in kept} == set(example_models())
    for item in kept:
        layout = layout_for(item["model"])
        assert (item["layout"], item["page"]) == (layout.name, f"{layout.width}×{layout.height}")
        price = layout.reader.price
        assert price is not None
        usd = float(item["usd_per_million_pages"])
        assert usd == pytest.approx(float(price.input) / item["chars_per_page_token"], rel=5e-3)


def test_the_picture_is_a_page_of_this_version():
    with Image.open(readme.PICTURE) as old, Image.open(BytesIO(readme.picture())) as new:
        assert (np.asarray(old.convert("L")) == np.asarray(new.convert("L"))).all(), (
            "run: python -m benchmarks.readme --write"
        )


def test_the_figure_tells_the_numbers_of_this_version():
    """Its text is drawn; what can go stale are its numbers, which stand in a file's comment."""
    with Image.open(readme.FIGURE) as image:
        kept = image.info["Comment"]
    assert kept == figure.told(), "run: python -m benchmarks.readme --write"


def test_files_that_it_names_are_there():
    for name in re.findall(r"(tests/data/[\w.-]+)", readme.README.read_text(encoding="utf-8")):
        assert (readme.ROOT / name).exists(), name
