"""Characters per second, a stage each, beside the ten lines of Pillow that one would write instead.

    python -m pytest benchmarks

The text is the repository's example transcript, repeated; compare the rows of one run, not runs. What a
stage costs at every depth and cell, beside its floor, is in `python -m benchmarks.speed`.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PIL import Image, ImageDraw, ImageFont

import snapshot
from snapshot.pages.layout import layout_for
from snapshot.pages.readback import PageReader
from snapshot.pages.render import Typesetter
from snapshot.raster.face import load_face
from snapshot.source.source import Source, source_of
from snapshot.typeset.fold import fold
from snapshot.typeset.grid import set_pages
from snapshot.typeset.pagetext import encode

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

EXAMPLE = Path(__file__).parents[1] / "tests" / "data" / "example.claude-stream.jsonl"
SIZES = (200_000, 2_000_000)
MODEL = "claude-opus-4-8"


def text_of(size: int) -> str:
    text = source_of(snapshot.load(EXAMPLE)).text
    return (text * (size // len(text) + 1))[:size]


@pytest.fixture(params=SIZES, ids=lambda size: f"{size}-chars")
def text(request: pytest.FixtureRequest) -> str:
    return text_of(request.param)


@pytest.fixture
def setting() -> Typesetter:
    return Typesetter(layout_for(MODEL))


def rate(benchmark: BenchmarkFixture, characters: int) -> None:
    """Add the rate to the stored result."""
    assert benchmark.stats is not None
    benchmark.extra_info["million chars per second"] = round(characters / benchmark.stats["min"] / 1e6, 2)


@pytest.mark.benchmark(group="page text")
def test_page_text(benchmark, text, setting):
    atlas = setting.atlas(Source(text))
    benchmark(lambda: encode(fold(text).text, atlas))
    rate(benchmark, len(text))


@pytest.mark.benchmark(group="page text")
def test_page_text_of_mixed_scripts(benchmark, setting):
    text = "Zażółć gęślą jaźń — Съешь же ещё этих 🚀 cafe\u0301\n    12 → x\n" * 4000
    atlas = setting.atlas(Source(text))
    benchmark(lambda: encode(fold(text).text, atlas))
    rate(benchmark, len(text))


@pytest.mark.benchmark(group="grid")
def test_grid(benchmark, text, setting):
    source, layout = Source(text), setting.layout
    atlas = setting.atlas(source)
    benchmark(lambda: list(set_pages(source, atlas, layout.columns, layout.rows)))
    rate(benchmark, len(text))


@pytest.mark.benchmark(group="whole")
@pytest.mark.parametrize("threads", [1, 2])
def test_whole(benchmark, text, setting, threads):
    source = Source(text)
    benchmark(lambda: sum(1 for _ in setting.pages(source, threads=threads)))
    rate(benchmark, len(text))


@pytest.mark.benchmark(group="whole")
def test_pillow(benchmark):
    """What one would write: every line drawn with ImageDraw, wrapped at the same number of columns."""
    layout, face = layout_for(MODEL), load_face("fira-9x16")
    text = text_of(200_000)
    font = ImageFont.truetype(str(face.path), 14)

    def draw() -> int:
        rows = [
            line[at : at + layout.columns]
            for line in text.split("\n")
            for at in range(0, len(line) or 1, layout.columns)
        ]
        pages = 0
        for at in range(0, len(rows), layout.rows):
            page = Image.new("L", (layout.width, layout.height), 255)
            pen = ImageDraw.Draw(page)
            for y, row in enumerate(rows[at : at + layout.rows]):
                pen.text((0, y * 16), row, font=font, fill=0)
            page.save(BytesIO(), "PNG")
            pages += 1
        return pages

    benchmark.pedantic(draw, rounds=3)
    rate(benchmark, len(text))


@pytest.mark.benchmark(group="read back, one page")
def test_read_back(benchmark, setting):
    source = Source(text_of(setting.layout.capacity))
    (page, *_) = setting.pages(source)
    reader = PageReader(setting.layout, setting.atlas(source))
    benchmark(reader.read, page.png)
    rate(benchmark, page.chars)


@pytest.mark.benchmark(group="load")
def test_load(benchmark):
    data = EXAMPLE.read_bytes()
    benchmark(lambda: source_of(snapshot.load(data)))
    rate(benchmark, len(data))
