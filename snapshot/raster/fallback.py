"""Glyphs of what a face lacks: from the first of its helpers that has them, each drawn once it is needed."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from snapshot.raster.face import Face, can_shape
from snapshot.raster.freetype_face import FreeTypeFace
from snapshot.typeset.shaped import ShapedCluster, has_shape

if TYPE_CHECKING:
    from snapshot.raster.shaping import Shaper

__all__ = ["glyph_of"]

_JOINERS = "\u200c\u200d"
# Radicals and strokes that fonts draw as the letters they are like, without a decomposition that says so.
_LIKE_LETTERS = (range(0x2E80, 0x2F00), range(0x31C0, 0x31F0))
# Marks without ink: what has one is not shown by its glyph.
_INVISIBLE = (0x34F, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0000, 0xE1000))


def glyph_of(face: Face, unit: ShapedCluster) -> tuple[Face | None, NDArray[np.uint8] | None]:
    """The glyph of a unit or character that a face lacks, and which of its helpers it is from.

    The helper is None for a cluster that the face's own font draws. The glyph is None where no font that has
    all of it sets it in its cells.
    """
    composed = unicodedata.normalize("NFC", unit.text)
    if len(unit.text) > len(composed) == 1 and not unit.form:
        helper, glyph = glyph_of(face, ShapedCluster(composed))
        if glyph is not None:
            return helper, glyph
    for candidate in _asked(face, unit.text):
        # A helper's pixels stand among the face's: on its cell and in its levels, whatever its own file says.
        alone = replace(candidate, cell=face.cell, levels=face.levels, behind=None, fallback=(), missing=())
        if all(_opened(alone).index(ord(char)) for char in unit.text if char not in _JOINERS):
            glyph = _drawn(alone, unit)
            # A font may have a mark and not know where it goes on a letter: another one is asked then.
            if glyph is not None or len(unit.text) == 1:
                return None if candidate is face else candidate, glyph
    return None, None


def _asked(face: Face, text: str) -> tuple[Face, ...]:
    """The faces that may draw a character or cluster, in their order."""
    shaping = tuple(helper for helper in face.fallback if helper.shaped)
    if len(text) == 1:
        # A vowel sign is drawn as such where its script is known.
        return face.fallback if has_shape(text) else shaping if unicodedata.category(text) == "Mc" else ()
    if not can_shape() or not _is_visible(text):
        return ()
    # Stacks of marks take a font that was made for them.
    return (face, *face.fallback) if len(text) == 2 else shaping


def _is_visible(cluster: str) -> bool:
    """Whether all characters of a cluster show, if only in how letters join."""
    if any(ord(char) in _INVISIBLE for char in cluster):
        return False
    if any(one == other and unicodedata.category(one) == "Mn" for one, other in pairwise(cluster)):
        return False  # the font may put both in one place
    hidden = [char for char in cluster if unicodedata.category(char)[0] in "CZ"]
    return not hidden or (_is_letter_of_joining_script(cluster[0]) and {*hidden} <= {*_JOINERS})


def _is_letter_of_joining_script(char: str) -> bool:
    return ord(char) >= 0x600 and unicodedata.category(char)[0] == "L"


@lru_cache(maxsize=1 << 15)
def _drawn(face: Face, unit: ShapedCluster) -> NDArray[np.uint8] | None:
    """The glyph of a unit in one face, which has all its characters."""
    if face.shaped or len(unit.text) > 1:
        return _shaper(face).glyph(unit.text, unit.form)
    opened = _opened(face)
    return None if _repeats(opened, unit.text) else opened.glyph(opened.index(ord(unit.text)))


def _repeats(opened: FreeTypeFace, char: str) -> bool:
    """Whether the font draws the character as another one that is more common."""
    index = opened.index(ord(char))
    other = unicodedata.normalize("NFKC", char)
    if len(other) == 1 and other != char:
        return opened.index(ord(other)) == index
    if not any(ord(char) in like for like in _LIKE_LETTERS):
        return False
    return any(also == index and code != ord(char) for code, also in opened.characters.items())


@lru_cache(maxsize=64)
def _opened(face: Face) -> FreeTypeFace:
    return FreeTypeFace(face)


@lru_cache(maxsize=64)
def _shaper(face: Face) -> Shaper:
    from snapshot.raster.shaping import Shaper

    return Shaper(face)
