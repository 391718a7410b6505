"""Marks that do not glue: how they are drawn, where their air stands, and pages made before they were."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.marks import SEEDS, counted, numbered_text
from snapshot import render
from snapshot.legibility import sample
from snapshot.legibility.ocr import has_ocr
from snapshot.legibility.survey import SeenPage
from snapshot.legibility.verify import verify
from snapshot.pages import folder as pages_folder
from snapshot.pages.layout import layout_for, layout_shape
from snapshot.pages.manifest import Manifest, load_manifest
from snapshot.pages.readback import PageReader
from snapshot.pages.render import Typesetter
from snapshot.raster.atlas import Atlas, atlas_for
from snapshot.raster.face import load_face, shipped_faces
from snapshot.raster.mark_drawing import with_marks
from snapshot.source import marks
from snapshot.source.source import Source
from snapshot.typeset.fold import fold
from snapshot.typeset.pagetext import decode, encode
from tests.conftest import read_back, small
from tests.test_cli import run

FACES = sorted(name for name in shipped_faces() if name.startswith(("fira", "drawn")))
SIGNS = marks.PAGE_MARKS + marks.AIR + marks.PAD + marks.END
# What marks stand beside: numbers of lines, code, each other.
numbered = st.lists(
    st.one_of(
        st.builds(
            "{:>6}\t{}".format, st.integers(1, 99_999), st.text(st.sampled_from("ab1 \t→"), max_size=9)
        ),
        st.builds("{}\t{}".format, st.integers(1, 99_999), st.text(st.sampled_from("ab1 \t→"), max_size=9)),
        st.text(st.sampled_from("x7 \t\n↵❶⟦\ue002漢"), max_size=12),
        st.builds(lambda count: " " * count, st.integers(0, 1200)),
    ),
    max_size=30,
).map("\n".join)


def drawing(atlas: Atlas, char: str) -> np.ndarray:
    """The glyph of a character or mark, over all its cells."""
    first = {marks.PAD: atlas.pad, marks.END: atlas.end, marks.AIR: atlas.air}.get(
        char, int(atlas.glyphs[ord(char)])
    )
    assert first is not None
    return np.concatenate(atlas.ink[first : first + max(1, int(atlas.cells[ord(char)]))], axis=1)


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("levels", [2, 4, 16])
def test_no_mark_shares_a_glyph_and_none_is_nothing(face, levels):
    atlas = atlas_for(replace(load_face(face), levels=levels))
    chars = "".join(map(chr, range(33, 127))) + SIGNS + "→"
    drawings = {drawing(atlas, char).tobytes() for char in chars}
    assert len(drawings) == len(chars)
    assert all(drawing(atlas, char).any() for char in chars)


@pytest.mark.parametrize("face", FACES)
def test_marks_have_paper_beside_their_ink(face):
    """A line's end has two cells with ink in their middle, and air no ink that could be seen."""
    atlas = atlas_for(load_face(face))
    width = atlas.face.cell[0]
    inked = np.flatnonzero(drawing(atlas, marks.NEWLINE).any(axis=0))
    assert atlas.cells[ord(marks.NEWLINE)] == 2
    assert inked[0] >= width // 4
    assert 2 * width - 1 - inked[-1] >= width // 4
    assert drawing(atlas, marks.AIR).sum() == 1
    assert drawing(atlas, marks.TAB).max() == 1
    assert drawing(atlas, marks.TAB).any(axis=1).sum() == 1


@pytest.mark.parametrize("cell", [(3, 5), (4, 7), (5, 8), (6, 11), (11, 16), (20, 30)])
@pytest.mark.parametrize("levels", [2, 4, 16])
def test_marks_are_drawn_in_any_cell(cell, levels):
    taken = np.zeros((cell[1], cell[0]), np.uint8)
    taken[-1, 0] = max(1, (levels - 1) // 3)
    drawn = {ord(marks.NEWLINE): np.ones((cell[1], cell[0]), np.uint8), ord("."): taken}
    found = with_marks(drawn, cell, levels)
    assert found[ord(marks.AIR)].sum() == taken.sum()
    assert (found[ord(marks.AIR)] != taken).any(), "what is another's glyph is not air"
    assert all(glyph.shape[0] == cell[1] and glyph.max() < levels for glyph in found.values())
    assert with_marks({}, cell, levels) == {}


@given(numbered, st.integers(8, 60), st.integers(1, 5), st.sampled_from([1, 2]))
def test_both_ways_of_setting_agree_and_pages_say_their_text(text, columns, rows, drawn):
    setting = Typesetter(small(columns, rows))
    setting.face = replace(setting.face, marks=drawn)
    source = Source(text + "x")
    atlas = setting.atlas(source)
    plain, compiled = (list(setting.grids(source, atlas, compiled=way)) for way in (False, True))
    assert [(grid.start, grid.stop) for grid in plain] == [(grid.start, grid.stop) for grid in compiled]
    assert all((a.cells == b.cells).all() for a, b in zip(plain, compiled, strict=True))
    pages = list(setting.pages(source))
    said = read_back(setting, source, pages)
    page_text = "".join(page.page_text for page in said)
    assert decode(page_text)[0] == fold(source.text).text
    # Air and width change no page text.
    assert page_text == encode(fold(source.text).text, atlas, widest=columns).text


@given(numbered, st.integers(6, 60))
def test_air_stands_behind_each_run_in_its_row_and_nowhere_else(text, columns):
    setting = Typesetter(small(columns, 4))
    source = Source(text + "x")
    atlas = setting.atlas(source)
    digits = {int(atlas.glyphs[ord(digit)]) for digit in marks.DIGITS}
    ends = {int(atlas.glyphs[ord(marks.NEWLINE)])}
    for grid in setting.grids(source, atlas):
        for row in grid.cells.tolist():
            for here, following in pairwise([*row, None]):
                if here in digits:
                    assert following in digits or following == atlas.air
                elif following == atlas.air:
                    pytest.fail("air without a run")
                if here in ends:
                    assert following == here + 1, "a line's end is whole in its row"


def test_lines_have_no_air():
    setting = Typesetter(small(70, 4, "gemini-3/lines"))
    source = Source("def f():\n    return 1   \n\tx\n")
    atlas = setting.atlas(source)
    assert all(atlas.air not in grid.cells for grid in setting.grids(source, atlas))


# --- pages that were made before


def former_folder(tmp_path: Path, text: str) -> Path:
    """A folder of pages as versions up to 0.2 wrote it: marks of one cell, and nothing said of them."""
    folder = tmp_path / "pages"
    setting = Typesetter(layout_for("claude-opus-4-8"))
    setting.face = replace(setting.face, marks=1)
    pages_folder.write(folder, Source(text), setting, model="claude-opus-4-8")
    manifest = json.loads((folder / "manifest.json").read_bytes())
    assert manifest["layout"].pop("marks") == 1
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


def test_a_folder_of_former_marks_still_reads(tmp_path: Path):
    text = "".join(f"{number:>6}\tdef read(path):\n        return 3f1347de\n" for number in range(400))
    folder = former_folder(tmp_path, text)
    manifest = load_manifest(folder)
    assert manifest.layout.marks == 1
    assert pages_folder.check(folder, manifest) == []
    assert verify(folder).passed
    assert run("read", folder, "--check").returncode == 0
    opened = pages_folder.open_folder(folder, manifest)
    assert opened.atlas.air is None
    assert "".join(opened.read(entry).text for entry in manifest.pages) == text
    # By the marks of now they are not read.
    now = PageReader(opened.layout, atlas_for(replace(opened.atlas.face, marks=marks.DRAWING)))
    with pytest.raises(Exception, match="no glyph"):
        now.read((folder / manifest.pages[0].file).read_bytes())


def test_a_manifest_says_how_marks_are_drawn(tmp_path: Path):
    (tmp_path / "a.txt").write_text("1\tx\n", encoding="utf-8")
    run("render", tmp_path / "a.txt", "-m", "claude-opus-4-8", "-o", tmp_path / "pages")
    data = (tmp_path / "pages" / "manifest.json").read_bytes()
    assert json.loads(data)["layout"]["marks"] == marks.DRAWING
    for wrong in (0, marks.DRAWING + 1, "1", None):
        value = json.loads(data)
        value["layout"]["marks"] = wrong
        with pytest.raises(Exception, match=r"layout\.marks"):
            Manifest.from_json(json.dumps(value).encode())


def test_an_archive_knows_that_its_pages_were_of_other_marks():
    shape = layout_shape("claude-high")
    assert shape.endswith(f" marks {marks.DRAWING}")
    assert "marks" not in layout_shape("claude-high/lines"), "lines have the same places as before"


def test_the_former_face_is_the_same_face():
    """Its digest is made of what it was made of, so that folders of it are opened."""
    face = load_face("fira-8x18")
    assert replace(face, marks=1).digest != face.digest
    other = replace(face, drawn=None)
    assert replace(other, marks=1).digest == other.digest, "helpers have no marks"


# --- what readers are shown


@pytest.mark.ocr
@pytest.mark.skipif(not has_ocr(), reason="needs snapshot-pages[ocr]")
def test_a_neural_reader_is_shown_the_marks(monkeypatch):
    """Rows as they are sent; only what is neither ASCII nor a mark is painted over."""
    text = "   112\tdef read():\n        return 7 漢 é\n" * 30
    source = Source(text)
    (page,) = render(source, layout="claude-high")
    setting = Typesetter(layout_for(name="claude-high"))
    atlas = setting.atlas(source)
    cells = PageReader(setting.layout, atlas).cells(page.png)
    shown: list[np.ndarray] = []

    class Reader:
        def read(self, strips):
            shown.extend(strips)
            return [""] * len(strips)

    monkeypatch.setattr(sample, "Recogniser", Reader)
    monkeypatch.setattr(sample, "FACTORS", (1.0,))
    found = sample.read_sample([SeenPage(cells, atlas, cells.grey)])
    assert found[1.0].chars > 100
    height, width = setting.layout.cell[1], setting.layout.cell[0]
    first = cells.grey[:height]
    columns = cells.glyphs.shape[1]
    accented = np.isin(cells.glyphs[0], [atlas.glyphs[ord(char)] for char in "漢é"])
    wide = np.flatnonzero(cells.glyphs[0] == atlas.glyphs[ord("漢")]) + 1
    painted = np.repeat(accented | np.isin(np.arange(columns), wide), width)
    assert painted.any()
    ends = np.cumsum([strip.shape[1] for strip in shown])
    row = np.concatenate(shown[: int(np.searchsorted(ends, columns * width)) + 1], axis=1)
    assert (row[:, painted] == 255).all()
    assert (row[:, ~painted] == first[:, : columns * width][:, ~painted]).all()


@pytest.mark.ocr
@pytest.mark.skipif(not has_ocr(), reason="needs snapshot-pages[ocr]")
def test_a_whole_page_is_read_where_tesseract_is(monkeypatch):
    source = Source("   112\tdef read():\n        return 7\n" * 30)
    (page,) = render(source, layout="claude-high")
    setting = Typesetter(layout_for(name="claude-high"))
    atlas = setting.atlas(source)
    cells = PageReader(setting.layout, atlas).cells(page.png)
    seen = SeenPage(cells, atlas, cells.grey)
    asked: list[tuple[int, int]] = []

    def read(picture, rows, *, segmentation):
        asked.append((rows, segmentation))
        assert (picture == cells.grey[: picture.shape[0]]).all()
        return "112 def read(): return 7 " * 30

    monkeypatch.setattr(sample, "tesseract", read)
    monkeypatch.setattr(sample, "has_tesseract", lambda: True)
    reading = sample.read_whole([seen])
    assert reading is not None
    assert asked == [(cells.glyphs.shape[0], 6)]
    assert reading.error_rate == 0
    assert sample.read_whole([seen], columns=2) == reading
    assert asked[1:] == [(cells.glyphs.shape[0], 3)]
    monkeypatch.setattr(sample, "has_tesseract", lambda: False)
    assert sample.read_whole([seen]) is None
    assert sample.read_whole([]) is None


# --- the bench


STOOD = "❹112⇥❹def read(x):↵❹113⇥❽return x↵114⇥↵2026-07 seventy↵"


@pytest.mark.ocr
@pytest.mark.skipif(not has_ocr(), reason="needs snapshot-pages[ocr]")
@pytest.mark.parametrize(
    ("read", "numbers", "ends", "names"),
    [
        ("[4] 112 def read(x): # [4] 113 [8] return x # 114 # 2026-07 seventy #", 3, 2, 4),
        ("[4]112.[4]def read(x):#[4]1 13[8]return x #114.#2026-07 seventy", 2, 2, 4),
        ("41129 def read(x): # 113 return x # 1149 # 2026-07 seventy", 1, 2, 4),
        ("[4] 112 def read(x):113 return x114 2026-07 sevenly", 3, 0, 3),
        ("", 0, 0, 0),
    ],
)
def test_what_was_read_is_counted_in_its_place(read, numbers, ends, names):
    counts = counted(STOOD, read)
    assert counts.numbers == (numbers, 3)
    assert counts.ends == (ends, 2)
    assert counts.names == (names, 4)


@pytest.mark.ocr
@pytest.mark.skipif(not has_ocr(), reason="needs snapshot-pages[ocr]")
def test_what_is_read_as_it_stands_is_all_read():
    text = numbered_text(SEEDS[0], 60)
    assert text == numbered_text(SEEDS[0], 60) != numbered_text(SEEDS[1], 60)
    page_text = encode(text, atlas_for(load_face("fira-8x18"))).text
    said = "".join(" " + char + " " if char in marks.PAGE_MARKS else char for char in page_text)
    assert set(counted(page_text, said).shares) == {1.0}
