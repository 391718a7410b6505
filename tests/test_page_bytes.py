"""Bytes of a page: which scanlines are differences, what that saves, and that pixels are those they were."""

from __future__ import annotations

import zlib
from dataclasses import replace
from functools import cache
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image

import snapshot
from snapshot.pages.layout import layout_for
from snapshot.pages.readback import PageReader
from snapshot.pages.render import Typesetter
from snapshot.raster import blit
from snapshot.raster.compress import compressor_for
from snapshot.raster.face import load_face
from snapshot.raster.line_filters import NONE, UP, filters_of, subtract_above
from snapshot.raster.png import encode_png
from snapshot.source.source import Source, source_of
from tests.conftest import LAYOUTS
from tests.test_raster import FACES, decode_png

EXAMPLE = Path(__file__).resolve().parent / "data" / "example.claude-stream.jsonl"


@cache
def example() -> Source:
    """A recorded run's text, as long as some pages."""
    text = source_of(snapshot.load(EXAMPLE)).text
    return Source((text * (100_000 // len(text) + 1))[:100_000])


def size(setting: Typesetter, source: Source) -> float:
    """Bytes of the pages per 1,000 characters."""
    return sum(len(page.png) for page in setting.pages(source, threads=1)) / len(source.text) * 1000


@given(
    arrays.arrays(np.uint8, st.tuples(st.integers(1, 3), st.integers(1, 20), st.integers(1, 9))),
    st.integers(-2, 25),
)
def test_what_is_subtracted_is_added_again(data, baseline):
    """As a decoder does it (PNG specification, section 9), row by row from above."""
    face = replace(load_face("fira-8x16"), cell=(8, data.shape[1]), baseline=baseline)
    filters = filters_of(face)
    assert len(filters) == data.shape[1]
    assert filters[0] == NONE, "what is above the first row is another row of text"
    assert {*filters.tolist()} <= {NONE, UP}
    filtered = data.copy()
    subtract_above(filtered, filters)
    assert np.array_equal(filtered[:, filters == NONE], data[:, filters == NONE])
    for y in range(1, len(filters)):
        if filters[y] == UP:
            filtered[:, y] += filtered[:, y - 1]
    assert np.array_equal(filtered, data)


@pytest.mark.parametrize("name", FACES)
def test_rows_above_the_line_of_letters_are_differences(name):
    """From the second row on; what hangs below the line is written as it is."""
    face = load_face(name)
    filters = filters_of(face)
    assert (filters[1 : face.baseline] == UP).all()
    assert (filters[face.baseline :] == NONE).all()
    assert face.cell[1] // 2 < face.baseline < face.cell[1]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", LAYOUTS)
def test_filters_are_no_matter_of_the_pixels(name):
    """Filter bytes stand row for row; pages without filters, as they were made up to 0.2, are read alike."""
    setting, source = Typesetter(layout_for(name=name)), Source(example().text[:30_000])
    atlas = setting.atlas(source)
    reader = PageReader(setting.layout, atlas)
    for page in setting.pages(source, threads=1):
        pixels, depth = decode_png(page.png)
        with Image.open(BytesIO(page.png)) as image:
            grey = np.asarray(image.convert("L"))
        assert np.array_equal(grey, pixels * (255 // ((1 << depth) - 1)))
        at, length = page.png.index(b"IDAT") + 4, page.width * depth
        rows = np.frombuffer(zlib.decompress(page.png[at:-16]), np.uint8).reshape(page.height, -1)
        used = page.height // setting.layout.cell[1] * setting.layout.cell[1]
        pattern = rows[:used, 0].reshape(-1, setting.layout.cell[1])
        written = np.flatnonzero(pattern.any(axis=1))  # below the last row of text a page has paper, as it is
        assert (pattern[written] == filters_of(setting.face)).all()
        assert written[0] == 0
        bits = (pixels[:, :, np.newaxis] >> np.arange(depth)[::-1] & 1).reshape(page.height, length)
        packed = np.packbits(bits, axis=1)
        plain = encode_png(np.ascontiguousarray(np.pad(packed, ((0, 0), (1, 0)))), page.width, depth)
        assert reader.read(plain) == reader.read(page.png)


@pytest.mark.parametrize(
    ("layout", "most"),
    [
        ("claude-high", 6180), ("gemini-3", 6060), ("gemini-3.6", 4580), ("claude-fable", 6140),
        ("claude-standard", 6200), ("gpt-patch", 6330), ("qwen", 6280), ("grok", 6540),
    ],
)  # fmt: skip
def test_pages_of_a_run_take_no_more_bytes_than_they_did(layout, most, monkeypatch):
    """Bytes per 1,000 characters, half a per cent more than there were; and what differences alone save."""
    if not compressor_for("default").library.startswith("libdeflate"):
        pytest.skip("another library is at work")
    setting = Typesetter(layout_for(name=layout))
    taken = size(setting, example())
    assert taken < most
    monkeypatch.setattr(blit, "filters_of", lambda face: np.zeros(face.cell[1], np.uint8))
    assert taken < 0.99 * size(setting, example())


def test_small_pages_are_searched_for_longer(monkeypatch):
    """What a page loses by being compressed by itself, it is given back in part."""
    if not compressor_for("default").library.startswith("libdeflate"):
        pytest.skip("another library is at work")
    setting = Typesetter(layout_for(name="grok"))
    taken = size(setting, example())
    shallow = compressor_for("default", whole_bytes=True)
    assert shallow.level < setting.compressor("default").level
    monkeypatch.setattr(setting, "compressor", lambda _: shallow)
    assert taken < 0.96 * size(setting, example())
