"""The glyph atlas: every glyph of a face and its helpers, at one cell, as one array of pixels.

Two rules make pages readable back. A glyph without ink is no glyph (but for the blank), so nothing prints
as nothing. And no two characters share a glyph: what would look like an earlier character is left to its
code point, but for letters with case, which get a grey dot in the lowest row. (A reader tells the letters of
an alphabet by their company, and a page of Russian in code points would be no use.)
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from snapshot.errors import FontError
from snapshot.raster.drawn import read_drawn
from snapshot.raster.face import Face, OpenFace
from snapshot.typeset import marks
from snapshot.typeset.pagetext import census

__all__ = ["Atlas", "atlas_for", "helpers_for"]

_CODES = 0x110000
# Characters that join their neighbours are drawn to the edge of the cell and beyond.
_JOINING = range(0x2500, 0x25A0)
_CODE_PAGES = ("ascii", "cp1252", "mac_roman", "cp437")
# Not characters with a shape of their own: controls, surrogates, private use, and what combines.
_SHAPELESS = {"Cc", "Cf", "Cs", "Co", "Mn", "Mc", "Me", "Zl", "Zp"}


@dataclass(frozen=True, slots=True, eq=False)
class Atlas:
    """All glyphs of a face.

    Attributes:
        face: what it was made from.
        ink: uint8, shape (glyphs, cell height, cell width), levels 0 (paper) to `face.levels` - 1.
        codes: int32, code point that each glyph prints; -1 for the right half of a wide one.
        cells: uint8 by code point: 0 without a glyph, else 1 or 2 cells.
        glyphs: int32 by code point: number of its glyph, or of its left half.
        blank, pad, end: glyph numbers of the blank, the filling and the end mark.
    """

    face: Face
    ink: NDArray[np.uint8]
    codes: NDArray[np.int32]
    cells: NDArray[np.uint8]
    glyphs: NDArray[np.int32]
    blank: int
    pad: int
    end: int


class _Builder:
    """Collects glyphs in order of priority and keeps them apart."""

    def __init__(self, face: Face) -> None:
        self.face = face
        self.ink: list[NDArray[np.uint8]] = []
        self.codes: list[int] = []
        self.cells = np.zeros(_CODES, np.uint8)
        self.glyphs = np.zeros(_CODES, np.int32)
        self._narrow: set[bytes] = set()
        self._halves: set[bytes] = set()
        self._wide: set[bytes] = set()

    def add(self, code: int, glyph: NDArray[np.uint8]) -> bool:
        """Take in the glyph of a code point; False if it has no ink or looks like an earlier one."""
        if not glyph.any() and code != ord(" "):
            return False
        width = self.face.cell[0]
        halves = [glyph[:, x : x + width] for x in range(0, glyph.shape[1], width)]
        if len(halves) == 1:
            key = glyph.tobytes()
            if key in self._narrow or key in self._halves:
                return False
            self._narrow.add(key)
        else:
            # A bracket's empty half is no blank: each half is told from every narrow glyph.
            halves = [_dotted(half, self._narrow) for half in halves]
            key = b"".join(half.tobytes() for half in halves)
            if key in self._wide:
                return False
            self._wide.add(key)
            self._halves.update(half.tobytes() for half in halves)
        self.cells[code] = len(halves)
        self.glyphs[code] = len(self.ink)
        self.ink += halves
        self.codes += [code, -1][: len(halves)]
        return True

    def add_twin(self, code: int, glyph: NDArray[np.uint8]) -> None:
        """Take in a letter of an alphabet that looks like an earlier one, with a dot to tell them by."""
        if unicodedata.category(chr(code)) in ("Lu", "Ll"):
            self.add(code, _dotted(glyph, self._narrow | self._halves))

    def add_face(self, face: Face) -> None:
        """Take in what an opened face has and earlier ones lack."""
        opened = _opened(face)
        characters = opened.characters
        for code in sorted(characters, key=_priority):
            if self.cells[code] or not _has_shape(code):
                continue
            glyph = opened.glyph(characters[code], clip=code in _JOINING)
            if glyph is not None and not self.add(code, glyph) and glyph.any():
                self.add_twin(code, glyph)

    def build(self) -> Atlas:
        pad, end = (int(self.glyphs[ord(mark)]) for mark in (marks.PAD, marks.END))
        # Only the grid may print these two; a source that has them prints their code points.
        self.cells[[ord(marks.PAD), ord(marks.END)]] = 0
        codes = np.array(self.codes, np.int32)
        return Atlas(
            self.face, np.stack(self.ink), codes, self.cells, self.glyphs, int(self.glyphs[32]), pad, end
        )


def _dotted(glyph: NDArray[np.uint8], taken: set[bytes]) -> NDArray[np.uint8]:
    """The glyph, with a grey dot in its lowest row if it would be one of those that are taken."""
    candidate = glyph
    for column in range(glyph.shape[1]):
        if candidate.tobytes() not in taken:
            break
        candidate = glyph.copy()
        candidate[-1, column] = max(1, candidate[-1, column])
    return candidate


def _has_shape(code: int) -> bool:
    return unicodedata.category(chr(code)) not in _SHAPELESS


def _priority(code: int) -> tuple[bool, bool, bool, int]:
    """Order in which characters get their glyphs: of two that look alike the first keeps it.

    What old 8-bit code pages had comes first, compatibility characters last, and wide ones before the rest.
    """
    char = chr(code)
    common = any(char.encode(page, "ignore") for page in _CODE_PAGES)
    wide = unicodedata.east_asian_width(char) == "W"
    return not common, bool(unicodedata.decomposition(char)), not wide, code


def _drawn(face: Face) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """Drawn glyphs, centred in the face's cell, at its number of levels."""
    if face.drawn is None:
        return
    width, height = face.cell
    for code, grid in read_drawn(face.drawn).items():
        rows, columns = grid.shape
        if rows > height or columns > width:
            raise FontError(f"{face.drawn.name}: glyphs of {columns}x{rows} do not fit {face.name}")
        cell = np.zeros((height, width), np.uint8)
        y, x = (height - rows) // 2, (width - columns) // 2
        cell[y : y + rows, x : x + columns] = (grid.astype(np.uint16) * (face.levels - 1) + 1) // 3
        yield code, cell


@lru_cache(maxsize=8)
def _build(face: Face) -> Atlas:
    width, height = face.cell
    builder = _Builder(face)
    builder.add(ord(" "), np.zeros((height, width), np.uint8))
    for code, glyph in _drawn(face):
        if not builder.add(code, glyph):
            builder.add_twin(code, glyph)
    builder.add_face(face)
    for helper in face.fallback:
        builder.add_face(helper)
    atlas = builder.build()
    needed = [chr(code) for code in range(32, 127)] + list(marks.PAGE_MARKS)
    lacking = [char for char in needed if not atlas.cells[ord(char)]]
    if lacking or not (atlas.pad and atlas.end):
        raise FontError(
            f"{face.name}: no glyph of its own for {' '.join(lacking) or 'the filling or the end mark'}"
        )
    return atlas


def atlas_for(face: Face, helpers: int | None = None) -> Atlas:
    """The atlas of `face` with its first `helpers` fallback faces, or with all of them.

    Helpers only add glyphs, so pages that need none are the same with and without.
    """
    return _build(replace(face, fallback=face.fallback[:helpers], missing=()))


def helpers_for(face: Face, text: str) -> int:
    """How many of the fallback faces a text needs, counted in their order.

    All before the last that is needed count: which of two look-alikes keeps its glyph is settled in order.
    """
    if not face.fallback:
        return 0
    foreign, _ = census(text)
    lacking = foreign[atlas_for(face, 0).cells[foreign] == 0].tolist()
    wanted = [code for code in lacking if _has_shape(code)]
    return max((i + 1 for i, helper in enumerate(face.fallback) if _has(helper, wanted)), default=0)


@lru_cache(maxsize=8)
def _opened(face: Face) -> OpenFace:
    return OpenFace(face)


def _has(face: Face, codes: list[int]) -> bool:
    """Whether the face has a glyph of any of the code points."""
    return any(_opened(face).has(code) for code in codes)
