"""The project's own faces: their file format, their characters, and how far apart these stand."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshot._resources import locate
from snapshot.errors import FontError
from snapshot.pages.render import Typesetter
from snapshot.raster.atlas import Atlas, atlas_for
from snapshot.raster.box_drawing import box_glyph
from snapshot.raster.face import cell_of, load_face
from snapshot.raster.glyph_text import read_glyph_text
from snapshot.source import marks
from snapshot.source.source import Source
from snapshot.typeset.missing_glyphs import missing_glyphs
from tests.conftest import read_back, small

FACES = sorted(path.stem for path in locate("fonts").glob("drawn-*.toml"))
ASCII = [chr(code) for code in range(33, 127)]
CONFUSABLE = "O0DQ8B 1lI|!i 5S 2Z 6G 9gq {([ }]) ,. ;: `' ce uv VU vy ft"

# Ink, in full pixels, by which any two ASCII characters differ at least, and confusable ones.
APART = {
    "drawn-6x11": (2.3, 3.5),
    "drawn-7x13": (2.6, 4.6),
    "drawn-8x13": (3.3, 5.6),
    "drawn-9x16": (3.3, 7.3),
    "drawn-11x16": (5.3, 9.0),
}


@cache
def own(face: str, levels: int = 4) -> Atlas:
    return atlas_for(replace(load_face(face), levels=levels))


@cache
def printed(face: str) -> list[str]:
    """Characters that a face prints, and line ends."""
    return ["\n", *map(chr, np.flatnonzero(own(face).cells).tolist())]


def ink(atlas: Atlas, text: str) -> np.ndarray:
    """Ink of a line of text, from 0 to 1."""
    cells = [atlas.ink[atlas.glyphs[ord(char)]] for char in text]
    return np.concatenate(cells, axis=1) / (atlas.face.levels - 1)


def distance(face: str, one: str, other: str) -> float:
    atlas = own(face)
    return float(np.abs(ink(atlas, one) - ink(atlas, other)).sum())


@pytest.mark.parametrize("face", FACES)
def test_the_files_draw_what_pages_need(face):
    glyphs = read_glyph_text(locate("fonts") / f"{face}.txt")
    columns, rows = cell_of(face)
    assert {glyph.shape for glyph in glyphs.values()} == {(rows, columns)}
    every = "".join(ASCII) + marks.PAGE_MARKS + marks.PAD + marks.END
    alphabets = (range(0xC0, 0x17F), range(0x391, 0x3CA), range(0x410, 0x450), range(0x2500, 0x25A0))
    letters = [chr(code) for codes in alphabets for code in codes if unicodedata.name(chr(code), "")]
    signs = "←↑→↓↔⇒≠≤≥≈−×÷±°·•…–—‘’“”«»€£§√∞∑∫∈■□●○▲▼▶◀◆✓✗❯⎿⠋⣷"
    lacking = [char for char in every + "".join(letters) + signs if ord(char) not in glyphs]
    assert set(lacking) <= set("ĲĳĿŀŉΐΰ"), lacking  # rare ones, left to the stand-in


@pytest.mark.parametrize("face", FACES)
def test_each_drawn_glyph_is_on_pages_as_it_was_drawn(face):
    """No two characters of a file share a drawing, or one of them would be printed otherwise."""
    atlas = atlas_for(replace(load_face(face), marks=1))
    now = own(face)
    for code, glyph in read_glyph_text(locate("fonts") / f"{face}.txt").items():
        if chr(code) in marks.PAD + marks.END:
            continue
        # Three are drawn by a rule since marks have air; what others there are is the same.
        if chr(code) not in marks.NEWLINE + marks.TAB + "→":
            assert (now.ink[now.glyphs[code]] == atlas.ink[atlas.glyphs[code]]).all(), chr(code)
        assert atlas.cells[code] == 1, chr(code)
        printed = atlas.ink[atlas.glyphs[code]]
        # A letter that looks like one of another alphabet has a dot in its lowest row.
        rows = slice(None, -1) if chr(code).isalpha() else slice(None)
        assert (printed[rows] == glyph[rows]).all(), chr(code)


@pytest.mark.parametrize("face", FACES)
def test_characters_stand_apart(face):
    """The gate for whoever redraws a glyph: characters differ, and those that readers confuse more so."""
    least, confusable = APART[face]
    near = {one + other: distance(face, one, other) for one, other in combinations(ASCII, 2)}
    assert min(near.values()) >= least, sorted(near, key=lambda pair: near[pair])[:4]
    groups = [combinations(sorted(group), 2) for group in CONFUSABLE.split()]
    pairs = {one + other: near[one + other] for group in groups for one, other in group}
    dots = {pair: pairs.pop(pair) for pair in (",.", ":;")}
    assert min(pairs.values()) >= confusable, sorted(pairs, key=lambda pair: pairs[pair])[:4]
    assert min(dots.values()) >= least
    # Letters that together look like one: the gap between them tells.
    for two, one in (("rn", "m"), ("cl", "d"), ("vv", "w"), ("VV", "W")):
        padded = ink(own(face), two), ink(own(face), one)
        width = padded[1].shape[1]
        shifts = [padded[0][:, at : at + width] for at in range(width + 1)]
        assert min(np.abs(shift - padded[1]).sum() for shift in shifts) >= least + confusable, two


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("levels", [2, 4])
def test_ascii_and_marks_are_their_own_at_any_depth(face, levels):
    atlas = own(face, levels)
    chars = "".join(ASCII) + marks.PAGE_MARKS
    assert all(atlas.cells[ord(char)] == 1 + (char == marks.NEWLINE) for char in chars)
    drawings = {atlas.ink[atlas.glyphs[ord(char)]].tobytes() for char in chars}
    assert len(drawings) == len(chars)


def reads_back(face: str, levels: int, columns: int, rows: int, text: str) -> bool:
    """Whether a text's pages in a face, at a number of ink levels, say the text."""
    width, height = cell_of(face)
    layout = replace(
        small(columns, rows), face=face, cell=(width, height), width=columns * width, height=rows * height
    )
    setter, source = Typesetter(layout), Source(text)
    setter.face = replace(setter.face, levels=levels)
    pages = list(setter.pages(source))
    return "".join(page.text for page in read_back(setter, source, pages)) == text


@pytest.mark.parametrize("face", FACES)
@settings(max_examples=12)
@given(levels=st.sampled_from([2, 4, 16]), data=st.data(), columns=st.integers(3, 40))
def test_pages_of_drawn_faces_read_back(face, levels, data, columns):
    text = data.draw(st.text(st.sampled_from(printed(face)), max_size=200))
    assert reads_back(face, levels, columns, 4, text + "x")


def characters(last: int) -> list[str]:
    """The characters below a code point that are no controls, surrogates, private or unassigned."""
    return [
        chr(code)
        for code in range(32, last)
        if unicodedata.category(chr(code)) not in {"Cc", "Cs", "Co", "Cn"}
    ]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("face", [*FACES, "fira-7x14", "fira-8x16", "fira-8x18", "fira-9x16"])
@pytest.mark.parametrize("levels", [2, 4, 16])
def test_what_helpers_draw_has_the_ink_levels_of_the_face(face, levels):
    """What one level can tell apart another can not: then a helper is asked, in the page's levels.

    Every character that the face prints at some depth but not at this one, and every tenth beyond it.
    """
    opened = load_face(face)
    own_here = atlas_for(replace(opened, levels=levels)).cells
    anywhere = own_here > 0
    for other in (2, 4, 16):
        anywhere |= atlas_for(replace(opened, levels=other)).cells > 0
    chars = [chr(code) for code in np.flatnonzero(anywhere & (own_here == 0)).tolist()]
    chars += [char for char in characters(0x3100) if not own_here[ord(char)]][::10]
    needed = missing_glyphs("x".join(chars), atlas_for(replace(opened, levels=levels)))
    atlas = atlas_for(replace(opened, levels=levels), needed)
    assert atlas.ink.max() == levels - 1
    assert reads_back(face, levels, 80, 40, "x".join(chars) + "\n")


@pytest.mark.slow
@pytest.mark.parametrize("face", [*FACES, "fira-7x14", "fira-8x16", "fira-8x18", "fira-9x16"])
@pytest.mark.parametrize("levels", [2, 4, 16])
def test_every_character_reads_back(face, levels):
    """All characters to the start of East Asia, alone and side by side."""
    for between in ("x", ""):
        assert reads_back(face, levels, 80, 60, between.join(characters(0x3100)) + "\n")


def test_what_is_drawn_faint_is_there_in_one_bit():
    """The filling is light grey all over: at two levels it is ink, not paper."""
    for face in ("fira-7x14", "fira-8x14", "fira-8x16", "fira-8x17", "fira-8x18", "fira-9x16", *FACES):
        atlas = own(face, 2)
        assert atlas.ink[atlas.pad].any()
        assert len({atlas.pad, atlas.end, atlas.blank}) == 3


# --- the format


def drawn(tmp_path: Path, text: str) -> dict[int, np.ndarray]:
    path = tmp_path / "drawn.txt"
    path.write_text(text, encoding="utf-8")
    return read_glyph_text(path)


def test_letters_are_composed_alike_or_ruled(tmp_path: Path):
    glyphs = drawn(
        tmp_path,
        "; a comment\n= o\n...\n#.#\n.#.\n\n= O the letter\n##.\n#.#\n#.#\n= U+0301 acute\n+..\n...\n...\n"
        "- O 1\n& οΟ oO\n% U+2588..U+2588 full block\n= = equals\n...\n###\n...\n",
    )
    as_text = {chr(code): ["".join(map(str, row)) for row in glyph] for code, glyph in glyphs.items()}
    assert as_text["ó"] == ["200", "303", "030"]
    assert as_text["Ó"] == ["200", "330", "303"]
    assert as_text["ο"] == as_text["o"]
    assert as_text["ό"] == as_text["ó"]
    assert as_text["█"] == ["333"] * 3
    assert as_text["="] == ["000", "333", "000"]
    assert "\u0301" not in as_text


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("& ab A", "not a comment"),
        ("& a b", "not drawn"),
        ("- A three", "not a comment"),
        ("- A 0 2", "rows 0 to 1"),
        ("% U+2500", "not a comment"),
        ("= U+XYZ name", "not a comment"),
        ("= ", "not a comment"),
        ("= AB", "not a comment"),
        ("? what", "not a comment"),
    ],
)
def test_lines_that_mean_nothing_are_named(tmp_path: Path, line, why):
    with pytest.raises(FontError, match=rf"drawn\.txt, line 4: .*{why}"):
        drawn(tmp_path, f"= A\n.#\n#.\n{line}\n")


@given(st.integers(5, 14), st.integers(7, 20))
def test_lines_of_boxes_join(columns, rows):
    """What a box drawing has at an edge, each neighbour that reaches there has at the same pixels."""
    shape = rows, columns
    for weight, flat, upright, cross in (
        ("light", "─", "│", "┼"),
        ("heavy", "━", "┃", "╋"),
        ("double", "═", "║", "╬"),
    ):
        across, down = box_glyph(ord(flat), shape), box_glyph(ord(upright), shape)
        assert across is not None, weight
        assert down is not None, weight
        for code in range(0x2500, 0x2580):
            name = unicodedata.name(chr(code))
            if weight.upper() not in name or "DASH" in name or "DIAGONAL" in name:
                continue
            if any(other in name for other in {"LIGHT", "HEAVY", "DOUBLE", "SINGLE"} - {weight.upper()}):
                continue
            grid = box_glyph(code, shape)
            assert grid is not None
            edges = (
                (grid[:, 0], across[:, 0]),
                (grid[:, -1], across[:, -1]),
                (grid[0], down[0]),
                (grid[-1], down[-1]),
            )
            for edge, line in edges:
                assert not edge.any() or (edge == line).all(), name
        crossed = box_glyph(ord(cross), shape)
        assert crossed is not None
        assert np.count_nonzero(crossed) >= np.count_nonzero(across)


def test_rules_draw_each_its_own():
    for shape in ((11, 6), (13, 7), (13, 8), (16, 9), (16, 11)):
        codes = (*range(0x2500, 0x25A0), *range(0x2801, 0x2900))
        grids = {code: box_glyph(code, shape) for code in codes}
        assert len({grid.tobytes() for grid in grids.values() if grid is not None}) == len(codes)
        block = box_glyph(0x2588, shape)
        assert block is not None
        assert (block == 3).all()
    assert box_glyph(ord("A"), (16, 8)) is None
