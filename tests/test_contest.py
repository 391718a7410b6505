"""The contest of faces: observer and recogniser put cells and shapes into the order of published trials."""

from __future__ import annotations

import pytest

from benchmarks.contest import STRESS, candidates, measure, named
from benchmarks.reading import COLUMNS, rows
from snapshot.errors import FontError
from snapshot.legibility.ocr import has_ocr
from snapshot.legibility.score import compared, exact_strings
from snapshot.resources import locate


def test_the_text_is_the_same_every_time_and_fits_its_columns():
    assert rows() == rows()
    assert rows() != rows(seed=12)
    assert max(map(len, rows())) <= COLUMNS
    assert all(row.isascii() for row in rows())
