"""Atlas, scanlines and PNG files, each against a slow or independent twin."""

from __future__ import annotations

import struct
import zlib
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from snapshot._resources import locate
from snapshot.errors import FontError
from snapshot.pages.layout import layout_for
from snapshot.pages.render import Typesetter
from snapshot.raster.atlas import Atlas, atlas_for
from snapshot.raster.blit import Blitter, bit_depth
from snapshot.raster.face import load_face
from snapshot.raster.freetype_face import FreeTypeFace
from snapshot.raster.glyph_text import read_glyph_text
from snapshot.raster.png import encode_png
from snapshot.raster.user_font import user_face
from snapshot.source import marks
from snapshot.source.source import Source
from tests.conftest import LAYOUTS, needs_numba, read_back, small

FACES = sorted(path.stem for path in locate("fonts").glob("*.toml") if "noto" not in path.stem)


def decode_png(png: bytes) -> tuple[np.ndarray, int]:
    """A second decoder, from the specification alone: grey values and bit depth."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, data, header = 8, b"", b""
    kinds = []
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        body = png[at + 8 : at + 8 + length]
        (crc,) = struct.unpack(">I", png[at + 8 + length : at + 12 + length])
        assert crc == zlib.crc32(kind + body)
        kinds.append(kind)
        header = body if kind == b"IHDR" else header
        data += body if kind == b"IDAT" else b""
        at += 12 + length
    assert kinds[0] == b"IHDR"
    assert kinds[-1] == b"IEND"
    width, height, depth, colour, compression, filtering, interlace = struct.unpack(">IIBBBBB", header)
    assert (colour, compression, filtering, interlace) == (0, 0, 0, 0)
    rows = np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, -1).copy()
    assert {*rows[:, 0].tolist()} <= {0, 2}, "None and Up, and no other filter"
    for y in np.flatnonzero(rows[:, 0] == 2).tolist():
        rows[y, 1:] += rows[y - 1, 1:] if y else 0
    bits = np.unpackbits(rows[:, 1:], axis=1)[:, : width * depth].reshape(height, width, depth)
    return (bits << np.arange(depth - 1, -1, -1, dtype=np.uint8)).sum(axis=2).astype(np.uint8), depth


def slow_page(atlas: Atlas, cells: np.ndarray, width: int, height: int) -> np.ndarray:
    """The page pixel by pixel: 0 is full ink."""
    cell_width, cell_height = atlas.face.cell
    paper = atlas.face.levels - 1
    page = np.full((height, width), paper, np.uint8)
    for row in range(cells.shape[0]):
        for column in range(cells.shape[1]):
            for y in range(cell_height):
                for x in range(cell_width):
                    ink = atlas.ink[cells[row, column], y, x]
                    page[row * cell_height + y, column * cell_width + x] = paper - ink
    return page


def random_atlas(width: int, height: int, levels: int, seed: int) -> Atlas:
    """Noise for glyphs: every pixel counts."""
    face = replace(load_face("fira-8x16"), cell=(width, height), baseline=height - 1, levels=levels)
    ink = np.random.default_rng(seed).integers(0, levels, (7, height, width), dtype=np.uint8)
    empty = np.zeros(0, np.int32)
    return Atlas(face, ink, empty, empty.astype(np.uint8), empty, 0, 0, 0)


@needs_numba
@given(
    st.sampled_from([2, 4, 16]),
    st.tuples(st.integers(3, 18), st.integers(2, 5)),
    st.tuples(st.integers(1, 4), st.integers(1, 9)),
    st.tuples(st.integers(0, 20), st.integers(0, 9)),
)
def test_scanlines_equal_their_slow_twin(levels, cell, shape, margins):
    (width, height), (margin, below) = cell, margins
    atlas = random_atlas(width, height, levels, seed=width)
    cells = np.random.default_rng(1).integers(0, 7, shape, dtype=np.int32)
    page_width, page_height = shape[1] * width + margin, shape[0] * height + below
    slow = slow_page(atlas, cells, page_width, page_height)
    for compiled in (False, True):
        blitter = Blitter(atlas, page_width, compiled=compiled)
        scanlines = blitter.scanlines(cells, page_height)
        png = encode_png(scanlines, page_width, blitter.depth)
        pixels, depth = decode_png(png)
        assert depth == bit_depth(levels)
        assert (pixels == slow).all()
        filters = scanlines[: page_height - below, 0].reshape(-1, height)
        assert (filters[:, 1:-1] == 2).all(), "Up above the line that letters stand on"
        assert not filters[:, [0, -1]].any()
        with Image.open(BytesIO(png)) as image:
            image.load()
            assert image.size == (page_width, page_height)
            assert (np.asarray(image.convert("L")) == slow * (255 // (levels - 1))).all()


@needs_numba
@pytest.mark.parametrize("name", LAYOUTS)
def test_kernel_and_numpy_give_the_same_pages(name):
    layout = layout_for(name=name)
    setting = Typesetter(layout)
    atlas = setting.atlas(Source("a"))
    cells = np.random.default_rng(3).integers(
        0, len(atlas.ink), (layout.rows, layout.columns), dtype=np.int32
    )
    quick = Blitter(atlas, layout.width, compiled=True)
    plain = Blitter(atlas, layout.width, compiled=False)
    for rows in (1, layout.rows // 2, layout.rows):
        height = layout.page_height(rows)
        assert (quick.scanlines(cells[:rows], height) == plain.scanlines(cells[:rows], height)).all()


@pytest.mark.parametrize("face", FACES)
def test_no_two_characters_share_a_glyph(face):
    atlas = atlas_for(load_face(face))
    right = np.flatnonzero(atlas.codes < 0)
    narrow = np.setdiff1d(np.arange(len(atlas.ink)), np.concatenate((right, right - 1)))
    flat = atlas.ink.reshape(len(atlas.ink), -1)
    narrow_keys = {row.tobytes() for row in flat[narrow]}
    half_keys = {row.tobytes() for row in flat[np.concatenate((right, right - 1))]}
    wide_keys = {flat[at - 1].tobytes() + flat[at].tobytes() for at in right}
    assert len(narrow_keys) == narrow.size
    assert len(wide_keys) == right.size
    assert not narrow_keys & half_keys


@pytest.mark.parametrize("face", FACES)
def test_atlas_maps_are_consistent(face):
    atlas = atlas_for(load_face(face))
    covered = np.flatnonzero(atlas.cells)
    assert (atlas.codes[atlas.glyphs[covered]] == covered).all()
    assert {0, 9, 10, 0x200B, 0x301, 0xD83D, ord(marks.PAD), ord(marks.END)}.isdisjoint(covered.tolist())
    assert set(range(32, 127)) | {ord(mark) for mark in marks.PAGE_MARKS} <= set(covered.tolist())
    inked = atlas.ink.reshape(len(atlas.ink), -1).any(axis=1)
    assert np.flatnonzero(~inked).tolist() == [atlas.blank]
    for char in "éüßñçøłčąőĞșАбвЯёαβγΩ—–…“”‘’«»€£©°±×÷→←↑↓─│┌█░•✓✗":
        assert atlas.cells[ord(char)] == 1, char


@pytest.mark.parametrize("face", FACES)
def test_no_glyph_is_clipped(face):
    """Every letter has all the ink that FreeType gives it, at the face's size or a little smaller."""
    import freetype

    constants: Any = freetype
    loaded = load_face(face)
    atlas = atlas_for(loaded)
    font = freetype.Face(str(loaded.path))
    font.set_var_design_coords(loaded.axes)
    drawn = read_glyph_text(loaded.drawn) if loaded.drawn else {}

    def ink(code: int, smaller: int) -> int:
        font.set_pixel_sizes(*(size - smaller for size in loaded.pixel_size))
        font.load_char(chr(code), constants.FT_LOAD_RENDER | constants.FT_LOAD_TARGET_LIGHT)
        return int(((np.array(font.glyph.bitmap.buffer, np.uint16) * 3 + 127) // 255).sum())

    smaller = 0
    for code in range(33, 0x250):
        if atlas.cells[code] and code not in drawn:
            mine = int(atlas.ink[atlas.glyphs[code]].sum())
            # One level more where a dot tells the letter from its twin.
            fits = [step for step in range(4) if mine - ink(code, step) in (0, 1)]
            assert fits, chr(code)
            smaller += fits[0] > 0
    assert smaller < 12


def test_greek_and_cyrillic_twins_have_glyphs_of_their_own():
    atlas = atlas_for(load_face("fira-9x16"))
    for latin, other in zip("AaoecpxyĐ", "АаоесрхуÐ", strict=True):
        one, two = atlas.ink[atlas.glyphs[ord(latin)]], atlas.ink[atlas.glyphs[ord(other)]]
        assert 1 <= int((one != two).sum()) <= 2


# --- drawn glyphs


def test_drawn_glyphs_parse_and_are_marks_and_more():
    glyphs = read_glyph_text(locate("fonts") / "drawn-8x16.txt")
    assert {ord(mark) for mark in marks.PAGE_MARKS + marks.PAD + marks.END} <= glyphs.keys()
    assert {glyph.shape for glyph in glyphs.values()} == {(16, 8)}
    assert all(glyph.any() for glyph in glyphs.values())


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("= U+41 A\n.#\n#.\n\n= U+42 B\n.#\n", 5),
        ("= U+41 A\n.#\n#.\n= U+41 A\n##\n..\n", 4),
        ("= U+41 A\n.#\nx.\n", 3),
        ("..\n", 1),
        ("= U+41 A\n.#\n#\n", 1),
    ],
)
def test_damaged_drawings_are_named(tmp_path: Path, text, line):
    path = tmp_path / "drawn.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FontError, match=rf"drawn\.txt, line {line}: "):
        read_glyph_text(path)


# --- fonts of the user's


def test_a_font_file_can_be_named():
    source_code = pytest.importorskip("PIL.ImageFont")
    assert source_code
    face = load_face("fira-9x16")
    other = user_face(face.path, face)
    assert other.cell == face.cell
    setting = Typesetter(small(60, 6, "claude-high"), font=face.path)
    source = Source("The quick brown fox, 0O1lI ↵ ⟦ → é\n    indented\n")
    pages = list(setting.pages(source))
    assert "".join(said.text for said in read_back(setting, source, pages)) == source.text


@pytest.mark.parametrize("name", ["fira-9x16", "drawn-9x16"])
def test_a_named_font_wins_over_all_but_the_marks(name):
    face = load_face(name)
    own, other = atlas_for(face), atlas_for(user_face(load_face("fira-8x16").path, face))
    plain = FreeTypeFace(user_face(load_face("fira-8x16").path, face))
    assert (other.ink[other.glyphs[ord("O")]] == plain.glyph(plain.index(ord("O")), clip=False)).all()
    assert (other.ink[other.glyphs[ord("↵")]] == own.ink[own.glyphs[ord("↵")]]).all()


@pytest.mark.parametrize("content", [b"", b"not a font", b"\x00\x01\x00\x00" + b"\xff" * 40])
def test_what_is_no_font_is_one_line(tmp_path: Path, content):
    path = tmp_path / "face.ttf"
    path.write_bytes(content)
    with pytest.raises(FontError, match=r"face\.ttf: not a font") as caught:
        Typesetter(layout_for("gpt-5.5"), font=path)
    assert "\n" not in str(caught.value)


def test_a_missing_font_is_one_line(tmp_path: Path):
    with pytest.raises(FontError, match=r"none\.ttf"):
        Typesetter(layout_for("gpt-5.5"), font=tmp_path / "none.ttf")
