"""Glyphs of what a face lacks: from the first of its helpers that has them, each drawn once it is needed."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from snapshot.raster.face import Face, OpenFace, can_shape
from snapshot.typeset.units import Unit

if TYPE_CHECKING:
    from snapshot.raster.shaping import Shaper

__all__ = ["glyph_of", "has_shape"]

# Not characters with a shape of their own: controls, surrogates, private use, and what combines.
_SHAPELESS = {"Cc", "Cf", "Cs", "Co", "Mn", "Mc", "Me", "Zl", "Zp", "Zs"}
_JOINERS = "\u200c\u200d"
# Radicals and strokes that fonts draw as the letters they are like, without a decomposition that says so.
_LIKE_LETTERS = (range(0x2E80, 0x2F00), range(0x31C0, 0x31F0))


def has_shape(char: str) -> bool:
    """Whether a character has a shape of its own."""
    return unicodedata.category(char) not in _SHAPELESS


# Marks without ink: what has one is not shown by its glyph.
_INVISIBLE = (0x34F, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0000, 0xE1000))


def has_shape(char: str) -> bool:
    """Whether a character has a shape of its own."""
    return unicodedata.category(char) not in _SHAPELESS


def glyph_of(face: Face, unit: Unit) -> tuple[Face | None, NDArray[np.uint8] | None]:
    """The glyph of a unit or character that a face lacks, and which of its helpers it is from.

    The helper is None for a cluster that the face's own font has. The glyph is None where no font has all of it,
    or where it does not fit its cells.
    """
    text = unit.text
    if len(text) == 1:
        faces = face.fallback if has_shape(text) else ()
    elif not can_shape() or not _is_visible(text):
        faces = ()
    else:
        faces = (face, *face.fallback)
    for candidate in faces:
        if all(_opened(_alone(candidate)).index(ord(char)) for char in text if char not in _JOINERS):
            return candidate if candidate is not face else None, _drawn(_alone(candidate), unit)
    return None, None


def _is_visible(cluster: str) -> bool:
    """Whether all characters of a cluster show, if only in how letters join."""
    if any(ord(char) in _INVISIBLE for char in cluster):
        return False
    hidden = [char for char in cluster if unicodedata.category(char)[0] in "CZ"]
    return not hidden or (_is_letter_of_joining_script(cluster[0]) and {*hidden} <= {*_JOINERS})


def _is_letter_of_joining_script(char: str) -> bool:
    return ord(char) >= 0x600 and unicodedata.category(char)[0] == "L"


@lru_cache(maxsize=1 << 15)
def _drawn(face: Face, unit: Unit) -> NDArray[np.uint8] | None:
    """The glyph of a unit in one face, which has all its characters."""
    if face.shaped or len(unit.text) > 1:
        return _shaper(face).glyph(unit.text, unit.form)
    opened = _opened(face)
    return None if _repeats(opened, unit.text) else opened.glyph(opened.index(ord(unit.text)))


def _repeats(opened: OpenFace, char: str) -> bool:
    """Whether the font draws the character as another one that is more common."""
    index = opened.index(ord(char))
    other = unicodedata.normalize("NFKC", char)
    if len(other) == 1 and other != char:
        return opened.index(ord(other)) == index
    if not any(ord(char) in like for like in _LIKE_LETTERS):
        return False
    return any(also == index and code != ord(char) for code, also in opened.characters.items())


def _alone(face: Face) -> Face:
    return replace(face, behind=None, fallback=(), missing=())


@lru_cache(maxsize=64)
def _opened(face: Face) -> OpenFace:
    return OpenFace(face)


@lru_cache(maxsize=64)
def _shaper(face: Face) -> Shaper:
    from snapshot.raster.shaping import Shaper

    return Shaper(face)
