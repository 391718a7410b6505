"""Profiles of compression, and the ways to one page: the same pixels by any, the same bytes by each."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from PIL import Image

import snapshot
from snapshot._cache import ENVIRONMENT
from snapshot._resources import locate
from snapshot.errors import SnapshotError
from snapshot.pages import numba_support as compiled_module
from snapshot.pages.layout import layout_for
from snapshot.pages.numba_support import can_compile
from snapshot.pages.render import Typesetter, _Shared
from snapshot.raster.compress import PROFILES, compressor_for
from snapshot.source.marks import DRAWING
from snapshot.source.source import Source
from tests.conftest import LAYOUTS, examples, needs_numba, read_back, small
from tests.test_promises import texts
from tests.test_raster import decode_png

TEXT = "def read(path):\n    return [row.strip() for row in open(path)]\n\nZażółć → 漢字 🚀\n" * 900


@given(texts, st.sampled_from(LAYOUTS), st.sampled_from(PROFILES))
@hypothesis_settings(max_examples=examples(25))
def test_every_way_to_a_page_gives_the_same_pixels(text, name, profile):
    """NumPy and kernel, any number of threads, any profile: pixels are one, and bytes are one a profile."""
    source = Source(text * 30)
    setting = Typesetter(small(40, 4, name))
    plain = list(setting.pages(source, threads=1, compiled=False))
    pages = [page.png for page in setting.pages(source, threads=1, compress=profile, compiled=False)]
    for threads in (1, 2, 3):
        for compiled in (False, True):
            made = setting.pages(source, threads=threads, compress=profile, compiled=compiled)
            assert [page.png for page in made] == pages
    for page, other in zip(plain, pages, strict=True):
        slow, depth = decode_png(page.png)
        pixels, other_depth = decode_png(other)
        assert depth == other_depth
        assert np.array_equal(slow, pixels)
        with Image.open(BytesIO(other)) as image:
            image.load()
            assert image.size == (page.width, page.height)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", LAYOUTS)
def test_pages_of_every_layout_and_profile_read_back(name, profile):
    """The last page is not full, and in the file as any other."""
    setting, source = Typesetter(layout_for(name=name)), Source(TEXT)
    pages = list(setting.pages(source, compress=profile))
    assert "".join(page.text for page in read_back(setting, source, pages)) == TEXT
    assert [page.png for page in setting.pages(source, compress=profile, threads=1, compiled=True)] == [
        page.png for page in pages
    ]


def test_profiles_are_as_large_as_their_names_say():
    sizes = {
        profile: sum(len(page.png) for page in snapshot.render(TEXT, layout="claude-high", compress=profile))
        for profile in PROFILES
    }
    assert sizes["small"] < sizes["default"] < sizes["fast"]


def test_an_unknown_profile_is_one_line():
    with pytest.raises(SnapshotError, match=r"unknown compression 'best'; known are default, fast, small"):
        snapshot.render("text", layout="claude-high", compress="best")


@pytest.mark.parametrize("profile", PROFILES)
def test_the_standard_library_stands_in_for_what_is_not_installed(monkeypatch, profile):
    want = list(snapshot.render(TEXT, layout="claude-high", compress=profile))
    compressor_for.cache_clear()
    monkeypatch.setitem(sys.modules, "deflate", None)
    monkeypatch.setitem(sys.modules, "isal.isal_zlib", None)
    try:
        assert compressor_for(profile).library.startswith("zlib ")
        for page, other in zip(
            want, snapshot.render(TEXT, layout="claude-high", compress=profile), strict=True
        ):
            assert np.array_equal(decode_png(page.png)[0], decode_png(other.png)[0])
    finally:
        compressor_for.cache_clear()


@pytest.mark.parametrize("profile", PROFILES)
def test_streams_and_checksums_are_those_of_zlib(profile):
    compressor = compressor_for(profile)
    data = np.random.default_rng(3).integers(0, 5, 100_000, dtype=np.uint8)
    assert zlib.decompress(compressor.zlib_stream(data.data, compressor.level)) == data.tobytes()
    assert compressor.crc32(b"IDAT", 0) == zlib.crc32(b"IDAT")
    assert compressor.crc32(data.data, 17) == zlib.crc32(data.data, 17)


# --- numba, where it cannot be had

_RENDER = """
import snapshot
from snapshot.pages.layout import layout_for
from snapshot.pages.render import Typesetter
from snapshot.pages.numba_support import can_compile
from snapshot.source.source import Source

print(can_compile())
setting = Typesetter(layout_for(name="claude-high"))
assert len(list(setting.pages(Source("some text"), compiled=True))) == 1
"""


def render_from_a_copy(folder: Path, *, users_cache: bool) -> str:
    """What a process prints that runs a copy of the package beside which nothing can be written.

    A file stands where the cache's folder would be: that stops root too, unlike a folder's mode.
    """
    for name in ("snapshot", "fonts", "layouts"):
        shutil.copytree(locate(name) if name != "snapshot" else Path(snapshot.__file__).parent, folder / name)
    shutil.rmtree(folder / "snapshot" / "raster" / "__pycache__", ignore_errors=True)
    (folder / "snapshot" / "raster" / "__pycache__").touch()
    cache = folder / "cache"
    cache.mkdir() if users_cache else cache.touch()
    own = {
        "PYTHONPATH": str(folder),
        "HOME": str(cache),
        "XDG_CACHE_HOME": str(cache),
        "LOCALAPPDATA": str(cache),
    }
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"} | own
    done = subprocess.run(
        [sys.executable, "-c", _RENDER], capture_output=True, text=True, env=environment, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_numpy_does_the_work_where_no_cache_can_be_written(tmp_path: Path):
    assert render_from_a_copy(tmp_path, users_cache=False) == "False"


@needs_numba
def test_numba_keeps_its_cache_in_the_users_folder(tmp_path: Path):
    """As for an installation that cannot be written to."""
    assert render_from_a_copy(tmp_path, users_cache=True) == "True"
    assert list((tmp_path / "cache").rglob("*.nbi"))


def test_numpy_does_the_work_without_numba(monkeypatch):
    can_compile.cache_clear()
    monkeypatch.setitem(sys.modules, "snapshot.raster.kernels", None)
    try:
        assert not compiled_module.can_compile()
        setting = Typesetter(layout_for(name="claude-high"))
        assert len(list(setting.pages(Source("some text"), compiled=True))) == 1
    finally:
        can_compile.cache_clear()


def test_rendering_a_small_text_loads_nothing_heavy(tmp_path):
    """The first run keeps what later ones then do without: the glyphs, and with them what draws glyphs."""
    heavy = ("numba", "PIL", "isal", "uharfbuzz", "numpy.ma")
    drawing = ("freetype", "snapshot.raster.glyph_text", "snapshot.raster.fallback", "tomllib", "wcwidth")
    file = tmp_path / "text.txt"
    file.write_text("text \ufeff\u00e9\u200b\n" * 20_000, encoding="utf-8")
    code = (
        "import sys\n"
        "from snapshot.__main__ import main\n"
        f"sys.argv = ['snapshot', 'render', {str(file)!r}, '-o', {str(tmp_path / 'pages')!r}]\n"
        "main()\n"
        f"print([name for name in {heavy} if name in sys.modules])\n"
        f"print([name for name in {drawing} if name in sys.modules])\n"
    )
    for kept in (False, True):
        environment = {**os.environ, ENVIRONMENT: str(tmp_path / "kept")}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
        )
        loaded, drew = done.stdout.splitlines()[-2:]
        assert loaded == "[]"
        assert (drew == "[]") == kept, drew


@given(st.integers(0, 60), st.integers(1, 5), st.integers(1, 4))
def test_threads_share_an_iterator_and_each_item_comes_once(count, most, threads):
    def slow() -> Iterator[int]:
        for item in range(count):
            if item % 7 == 3:
                time.sleep(0.0002)
            yield item

    shared = _Shared(slow(), most)
    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(lambda _: [*shared], range(threads)))
    assert sorted(item for part in parts for item in part) == list(range(count))
    assert all(part == sorted(part) for part in parts)


def pixels_of(face: str, cell: tuple[int, int], drawing: int = DRAWING) -> str:
    """A digest of the pixels of some pages in a face, by Pillow, with marks that are drawn in some way."""
    layout = replace(layout_for(name="claude-high"), face=face, cell=cell, width=1000, height=1000)
    text = (
        "def read(path):\n    return [row.strip() for row in open(path)]\n\nZażółć → “ñ” Ünïcödé ±²½ …\n"
        * 400
    )
    sha = sha256()
    setting = Typesetter(layout)
    setting.face = replace(setting.face, marks=drawing)
    for page in setting.pages(Source(text), threads=1):
        with Image.open(BytesIO(page.png)) as image:
            sha.update(repr(image.size).encode() + np.asarray(image.convert("L")).tobytes())
    return sha.hexdigest()[:16]


@pytest.mark.parametrize(
    ("face", "cell", "former", "digest"),
    [
        ("fira-8x16", (8, 16), "9c4545a8261ea48a", "0f820ad4be869b75"),
        ("drawn-8x13", (8, 13), "04e96c2c4517e5a5", "eb197eaa8e27e306"),
        ("drawn-9x16", (9, 16), "d5f713b1ce3961db", "f56c6d8823b910c0"),
        ("drawn-7x13", (7, 13), "71eaea03a9096b43", "fb4ce94c413903c1"),
        ("drawn-6x11", (6, 11), "978f524afbb9e060", "d27b79ba3a3e6fd4"),
        ("drawn-11x16", (11, 16), "756e2cacca8f4cbc", "13bd7d4ad5c5b657"),
    ],
)
def test_pixels_are_those_of_earlier_versions(face, cell, former, digest):
    """Only a change of the face or of the setting may change them: no other way to draw or compress.

    Pages of the marks of before are still made to the pixel, so that they are still read.
    """
    assert pixels_of(face, cell) == digest
    assert pixels_of(face, cell, 1) == former


def test_the_level_goes_by_the_page():
    """Whole bytes take a shallow search, but not on small pages; a last page is like the others."""
    seen = set()
    for name in LAYOUTS:
        setting = Typesetter(layout_for(name=name))
        levels, (width, height) = setting.face.levels, (setting.layout.width, setting.layout.height)
        depth = {2: 1, 4: 2, 16: 4}[levels]
        whole = setting.face.cell[0] * depth % 8 == 0
        small_page = height * (1 + -(-width * depth // 8)) < 327_680
        level = setting.compressor("default").level
        assert level == (3 if whole and not small_page else 6), name
        seen.add(level)
        assert setting.compressor("small").level == 10
    assert seen == {3, 6}
    scanlines = np.random.default_rng(0).integers(0, 3, (99, 400), dtype=np.uint8)
    for whole in (False, True):
        for size in (327_679, 327_680):
            compressor = compressor_for("default", whole_bytes=whole, page_bytes=size)
            data = compressor.zlib_stream(scanlines.data, compressor.level)
            assert zlib.decompress(data) == scanlines.tobytes()
            assert compressor.library == f"libdeflate {3 if whole and size == 327_680 else 6}"
