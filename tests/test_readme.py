"""README.md says what this version does."""

from __future__ import annotations

import re
from io import BytesIO

import numpy as np
from PIL import Image

from benchmarks import readme

TEXT = readme.README.read_text(encoding="utf-8")


def test_the_table_is_what_this_version_measures():
    assert readme.table_in(TEXT) == readme.table(), "run: python -m benchmarks.readme --write"


def test_the_picture_is_a_page_of_this_version():
    with Image.open(readme.PICTURE) as old, Image.open(BytesIO(readme.picture())) as new:
        assert (np.asarray(old.convert("L")) == np.asarray(new.convert("L"))).all(), (
            "run: python -m benchmarks.readme --write"
        )


def test_files_that_it_names_are_there():
    for name in re.findall(r"\]\(([^):]+)\)", TEXT) + re.findall(r"(tests/data/[\w.-]+)", TEXT):
        assert (readme.ROOT / name).exists(), name
