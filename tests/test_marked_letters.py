"""Letters with combining marks: a mark stands on its letter, whichever font has both."""

from __future__ import annotations

import unicodedata

import pytest

from snapshot.pages.layout import layout_for
from snapshot.pages.render import Typesetter
from snapshot.raster.face import load_face
from snapshot.raster.fallback import glyph_of
from snapshot.source.source import Source
from snapshot.typeset.shaped import ShapedCluster
from tests.conftest import read_back

pytest.importorskip("uharfbuzz", reason="nothing is shaped without it")
pytest.importorskip("manimgx_fonts", reason="the extra `world` is not installed")

LETTERS = "aeonxŋẹṣ"
# Above, below and through a letter: Unicode's classes 230, 220 and 1. Others stand at its side.
MARKS = [chr(code) for code in range(0x300, 0x370) if unicodedata.combining(chr(code)) in (1, 220, 230)]
FACES = sorted(
    {layout_for(name=name).face for name in ("claude-high", "claude-standard", "claude-high/dense")}
)


@pytest.mark.parametrize("name", FACES)
def test_a_mark_takes_no_cell_of_its_own(name):
    """A font that does not know where a mark goes sets it beside the letter: another one is asked then."""
    face = load_face(name)
    drawn = 0
    for letter in LETTERS:
        for mark in MARKS:
            _, glyph = glyph_of(face, ShapedCluster(letter + mark))
            if glyph is not None:
                drawn += 1
                assert glyph.shape == (face.cell[1], face.cell[0]), f"{letter} U+{ord(mark):04X}"
    assert drawn > len(LETTERS) * 30


@pytest.mark.parametrize("mark", ["\u0335", "\u0336", "\u0337", "\u0338"])
def test_what_is_struck_out_is_struck_through(mark):
    """The stroke has ink between the sides of the letter, where the letter has none."""
    face = load_face(layout_for(name="claude-high").face)
    (_, plain), (_, struck) = (glyph_of(face, ShapedCluster(text)) for text in ("o\u0332", "o" + mark))
    assert struck is not None
    assert plain is not None
    inside = struck[9:12, 3:5]  # of the ring, in cells of 8 by 18
    assert inside.any()
    assert not plain[9:12, 3:5].any()


@pytest.mark.parametrize("word", ["Yorùbá: ẹ̀kọ́ ọ̀rọ̀", "ŋ̊ ɔ̃ː", "s̶t̶r̶u̶c̶k̶ o̶u̶t̶", "Tiếng Việt nặng"])
def test_letters_of_languages_are_drawn_and_read_back(word):
    setting, source = Typesetter(layout_for(name="claude-high")), Source(word)
    assert setting.code_points(source) == {}
    pages = list(setting.pages(source))
    assert "".join(page.text for page in read_back(setting, source, pages)) == word
