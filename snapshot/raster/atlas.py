"""The glyph atlas: the glyphs of a face, and those that a text needs of its helpers, as one array of pixels.

Two rules make pages readable back. A glyph without ink is no glyph (but for the blank), so nothing prints
as nothing. And no two characters share a glyph: what would look like an earlier character is left to its
code point, but for letters of alphabets, and for another spelling of the same letter (decomposed, or with an
invisible joiner), which get a grey dot in the lowest row. (A reader tells the letters of an alphabet by their
company, and a page of Russian in code points would be no use.)

The face's own glyphs are always there. Those of its helpers follow in the order in which the text first needs
them: so what a page looks like depends on nothing that comes behind it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from snapshot.errors import FontError
from snapshot.raster.atlas_file import keep_glyphs, kept_glyphs
from snapshot.raster.face import Face
from snapshot.raster.mark_drawing import with_marks
from snapshot.source import marks
from snapshot.typeset.bidi import classes_of
from snapshot.typeset.shaped import FIRST_UNIT, ShapedCluster, has_shape

__all__ = ["Atlas", "atlas_for"]

_CODES = FIRST_UNIT
# Characters that join their neighbours are drawn to the edge of the cell and beyond.
_JOINING = range(0x2500, 0x25A0)
_MARKS = frozenset(map(ord, marks.PAGE_MARKS + marks.PAD + marks.END + marks.AIR))
_WITHOUT_CASE = range(0x590, 0x2E80)  # Hebrew to the last script before those of East Asia
_CODE_PAGES = ("ascii", "cp1252", "mac_roman", "cp437")


@dataclass(frozen=True, slots=True, eq=False)
class Atlas:
    """All glyphs of a face, and those that a text needs of its helpers.

    Attributes:
        face: what it was made from; its `fallback` are the helpers that gave glyphs.
        ink: uint8, shape (glyphs, cell height, cell width), levels 0 (paper) to `face.levels` - 1.
        codes: int32, code point or number of the unit that each glyph prints; -1 for all but the first part
            of one that takes several cells.
        cells: uint8 by code point and number of a unit: 0 without a glyph, else the cells it takes.
        glyphs: int32 by code point and number of a unit: number of its glyph, or of its first part.
        blank, pad, end: glyph numbers of the blank, the filling and the end mark.
        air: glyph number of the air behind a run's number; None where marks are drawn without it.
        extra: characters and units that helpers gave glyphs for, in the order of their glyphs.
        units: those of them that are more than a character, and their numbers.
        directions: class of each glyph for `bidi`; None where none goes right to left.
    """

    face: Face
    ink: NDArray[np.uint8]
    codes: NDArray[np.int32]
    cells: NDArray[np.uint8]
    glyphs: NDArray[np.int32]
    blank: int
    pad: int
    end: int
    air: int | None = None
    extra: tuple[ShapedCluster, ...] = ()
    units: Mapping[ShapedCluster, int] = field(default_factory=dict)
    directions: NDArray[np.uint8] | None = None

    def prints(self, glyphs: NDArray[np.integer]) -> list[str]:
        """What each glyph prints: a character, the characters of a unit, nothing for further parts."""
        units = {number: unit.text for unit, number in self.units.items()}
        return [
            "" if code < 0 else units[code] if code >= _CODES else chr(code)
            for code in self.codes[glyphs].tolist()
        ]


class _Builder:
    """Collects glyphs in order of priority and keeps them apart."""

    def __init__(self, face: Face) -> None:
        self.face = face
        self.ink: list[NDArray[np.uint8]] = []
        self.codes: list[int] = []
        self.cells = np.zeros(_CODES, np.uint8)
        self.glyphs = np.zeros(_CODES, np.int32)
        self.extra: list[ShapedCluster] = []
        self.units: dict[ShapedCluster, int] = {}
        self._narrow: set[bytes] = set()
        self._parts: set[bytes] = set()
        self._wide: set[bytes] = set()
        # What wide glyphs begin with: none is the beginning of another, so that they can be told one by one.
        self._beginnings: set[bytes] = set()

    def extended(self, most: int) -> _Builder:
        """A copy, with room for so many units."""
        copy = _Builder(self.face)
        copy.ink, copy.codes = self.ink.copy(), self.codes.copy()
        copy.cells = np.append(self.cells, np.zeros(most, np.uint8))
        copy.glyphs = np.append(self.glyphs, np.zeros(most, np.int32))
        copy._narrow, copy._parts = self._narrow.copy(), self._parts.copy()
        copy._wide, copy._beginnings = self._wide.copy(), self._beginnings.copy()
        return copy

    @classmethod
    def of(cls, atlas: Atlas) -> _Builder:
        """As it was when it had built the atlas of a face's own glyphs."""
        builder = cls(atlas.face)
        builder.ink, builder.codes = list(atlas.ink), atlas.codes.tolist()
        builder.cells, builder.glyphs = atlas.cells, atlas.glyphs
        first = np.flatnonzero(atlas.codes >= 0)
        sizes = np.diff(first, append=atlas.codes.size)
        for at, size in zip(first.tolist(), sizes.tolist(), strict=True):
            keys = [part.tobytes() for part in atlas.ink[at : at + size]]
            if size == 1:
                builder._narrow.add(keys[0])
            else:
                builder._take_wide(keys)
        return builder

    def _take_wide(self, keys: list[bytes]) -> bool:
        """Take in a glyph of several parts; False where it, or what it begins with, is another's."""
        beginnings = [b"".join(keys[:size]) for size in range(1, len(keys) + 1)]
        if beginnings[-1] in self._beginnings or not self._wide.isdisjoint(beginnings):
            return False
        self._wide.add(beginnings[-1])
        self._beginnings.update(beginnings)
        self._parts.update(keys)
        return True

    def add(self, code: int, glyph: NDArray[np.uint8]) -> bool:
        """Take in the glyph of a code point or unit; False if it has no ink or looks like an earlier one."""
        if not glyph.any() and code != ord(" "):
            return False
        if int(glyph.max()) >= self.face.levels:
            raise ValueError(f"U+{code:04X}: ink level {glyph.max()} in a face of {self.face.levels} levels")
        width = self.face.cell[0]
        parts = [glyph[:, x : x + width] for x in range(0, glyph.shape[1], width)]
        if len(parts) == 1:
            if self._is_narrow(glyph.tobytes()):
                return False
            self._narrow.add(glyph.tobytes())
        else:
            # A bracket's empty half is no blank: each part is told from every narrow glyph.
            parts = [_dotted(part, self._narrow.__contains__) for part in parts]
            if not self._take_wide([part.tobytes() for part in parts]):
                return False
        self.cells[code] = len(parts)
        self.glyphs[code] = len(self.ink)
        self.ink += parts
        self.codes += [code, *[-1] * (len(parts) - 1)]
        return True

    def _is_narrow(self, key: bytes) -> bool:
        return key in self._narrow or key in self._parts

    def _marked(self, glyph: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The glyph with a grey dot in the lowest row of its first part."""
        width = self.face.cell[0]
        return np.concatenate((_marked(glyph[:, :width], self._is_narrow), glyph[:, width:]), axis=1)

    def add_unit(self, unit: ShapedCluster, glyph: NDArray[np.uint8]) -> bool:
        """Take in the glyph of a unit, or of a character that a helper draws."""
        code = ord(unit.text) if unit == (unit.text[0], 0) else FIRST_UNIT + len(self.units)
        if _is_respelled(unit.text):
            glyph = self._marked(glyph)
        if not self.add(code, glyph):
            if len(unit.text) == 1:
                self.add_twin(code, glyph, unit.text)
            if not self.cells[code]:
                return False
        self.extra.append(unit)
        if code >= FIRST_UNIT:
            self.units[unit] = code
        return True

    def composed(self, unit: ShapedCluster) -> NDArray[np.uint8] | None:
        """The glyph of the one character that a decomposed cluster is, if there already is one."""
        code = ord(char) if len(char := unicodedata.normalize("NFC", unit.text)) == 1 else 0
        if unit.form or not self.cells[code]:
            return None
        first = int(self.glyphs[code])
        return np.concatenate(self.ink[first : first + int(self.cells[code])], axis=1)

    def add_twin(self, code: int, glyph: NDArray[np.uint8], char: str) -> None:
        """Take in a letter of an alphabet that looks like an earlier one, with a dot to tell them by."""
        if glyph.any() and (_is_of_alphabet(char)):
            self.add(code, self._marked(glyph))

    def add_face(self, face: Face) -> None:
        """Take in what an opened face has and earlier ones lack."""
        from snapshot.raster.freetype_face import FreeTypeFace

        opened = FreeTypeFace(face)
        characters = opened.characters
        for code in sorted(characters, key=_priority):
            if self.cells[code] or not has_shape(chr(code)):
                continue
            glyph = opened.glyph(characters[code], clip=code in _JOINING)
            if glyph is not None and not self.add(code, glyph):
                self.add_twin(code, glyph, chr(code))

    def build(self, helpers: tuple[Face, ...] = ()) -> Atlas:
        return self.built(np.stack(self.ink), np.array(self.codes, np.int32), helpers)

    def built(
        self, ink: NDArray[np.uint8], codes: NDArray[np.int32], helpers: tuple[Face, ...] = ()
    ) -> Atlas:
        """The atlas, where ink and code points of all glyphs are these."""
        pad, end = (int(self.glyphs[ord(mark)]) for mark in (marks.PAD, marks.END))
        air = int(self.glyphs[ord(marks.AIR)]) if self.face.marks > 1 else None
        # Only the grid may print these; a source that has them prints their code points.
        self.cells[[ord(marks.PAD), ord(marks.END), *([] if air is None else [ord(marks.AIR)])]] = 0
        first = codes.copy()
        for unit, number in self.units.items():
            first[self.glyphs[number]] = ord(unit.text[0])
        return Atlas(
            replace(self.face, fallback=helpers, missing=()),
            ink,
            codes,
            self.cells,
            self.glyphs,
            int(self.glyphs[32]),
            pad,
            end,
            air,
            tuple(self.extra),
            self.units,
            classes_of(first),
        )


def _dotted(glyph: NDArray[np.uint8], taken: Callable[[bytes], bool]) -> NDArray[np.uint8]:
    """The glyph, with a grey dot in its lowest row if it would be one of those that are taken."""
    return _marked(glyph, taken) if taken(glyph.tobytes()) else glyph


def _marked(glyph: NDArray[np.uint8], taken: Callable[[bytes], bool]) -> NDArray[np.uint8]:
    """The glyph with a grey dot in its lowest row, where it makes a glyph that is not taken."""
    candidate = glyph
    for column in range(glyph.shape[1]):
        if glyph[-1, column]:
            continue
        candidate = glyph.copy()
        candidate[-1, column] = 1
        if not taken(candidate.tobytes()):
            break
    return candidate


def _is_of_alphabet(char: str) -> bool:
    """Whether it is a letter with case, or of a script of letters or syllables that has none."""
    category = unicodedata.category(char)
    return category in ("Lu", "Ll") or (category == "Lo" and ord(char) in _WITHOUT_CASE)


def _is_respelled(text: str) -> bool:
    """Whether a cluster may look like a shorter one: it is decomposed, or has an invisible joiner."""
    return len(text) > 1 and (
        unicodedata.normalize("NFC", text) != text or bool({"\u200c", "\u200d"} & {*text})
    )


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
    from snapshot.raster.glyph_text import read_glyph_text

    width, height = face.cell
    for code, grid in read_glyph_text(face.drawn).items():
        rows, columns = grid.shape
        if rows > height or columns > width:
            raise FontError(f"{face.drawn.name}: glyphs of {columns}x{rows} do not fit {face.name}")
        cell = np.zeros((height, width), np.uint8)
        y, x = (height - rows) // 2, (width - columns) // 2
        inked = (grid.astype(np.uint16) * (face.levels - 1) + 1) // 3
        if not inked.any():
            inked = (grid == grid.max()) & (
                grid > 0
            )  # faint all over: in one bit that is ink, or it would be gone
        cell[y : y + rows, x : x + columns] = inked
        yield code, cell


def _add_drawn(builder: _Builder, drawn: Mapping[int, NDArray[np.uint8]]) -> None:
    for code, glyph in drawn.items():
        if not builder.cells[code] and not builder.add(code, glyph):
            builder.add_twin(code, glyph, chr(code))


@lru_cache(maxsize=8)
def _base(face: Face) -> Atlas:
    """The face's own glyphs: those drawn, its own, and those of the face behind it; kept from run to run."""
    found = kept_glyphs(face)
    atlas = _drawn_anew(face) if found is None else _with_glyphs(face, *found)
    needed = [chr(code) for code in range(32, 127)] + list(marks.PAGE_MARKS)
    lacking = [char for char in needed if not atlas.cells[ord(char)]]
    if lacking or not (atlas.pad and atlas.end and atlas.air != 0):
        signs = " ".join(lacking) or "the filling, the air or the end mark"
        raise FontError(f"{face.name}: no glyph of its own for {signs}")
    if found is None:
        keep_glyphs(face, atlas.ink, atlas.codes)
    return atlas


def _drawn_anew(face: Face) -> Atlas:
    width, height = face.cell
    builder = _Builder(face)
    builder.add(ord(" "), np.zeros((height, width), np.uint8))
    drawn = dict(_drawn(face))
    if face.marks > 1:
        drawn = with_marks(drawn, face.cell, face.levels)
    # Before a user's font only the marks are ours; what else is drawn stands in for what it lacks.
    own = _MARKS if face.behind is not None else drawn
    _add_drawn(builder, {code: glyph for code, glyph in drawn.items() if code in own})
    builder.add_face(face)
    _add_drawn(builder, {code: glyph for code, glyph in drawn.items() if code not in own})
    if face.behind is not None:
        builder.add_face(replace(face.behind, cell=face.cell, levels=face.levels))
    return builder.build()


def _with_glyphs(face: Face, ink: NDArray[np.uint8], codes: NDArray[np.int32]) -> Atlas:
    """The atlas of a face whose own glyphs are these."""
    builder = _Builder(face)
    first = np.flatnonzero(codes >= 0)
    builder.cells[codes[first]] = np.diff(first, append=codes.size)
    builder.glyphs[codes[first]] = first
    return builder.built(ink, codes)


@lru_cache(maxsize=8)
def _base_builder(face: Face) -> _Builder:
    return _Builder.of(_base(face))


@lru_cache(maxsize=8)
def atlas_for(face: Face, needed: tuple[ShapedCluster, ...] = ()) -> Atlas:
    """The atlas of `face`, with the glyphs that its helpers have of what is needed.

    Args:
        face: the face and its helpers.
        needed: units and characters without a glyph of the face, in the order in which a text has them.
    """
    alone = replace(face, fallback=(), missing=())
    if not needed:
        return _base(alone)
    from snapshot.raster.fallback import glyph_of

    builder = _base_builder(alone).extended(len(needed))
    helped = set()
    for unit in needed:
        helper, glyph = None, builder.composed(unit)
        if glyph is None:
            helper, glyph = glyph_of(face, unit)
        if glyph is not None and builder.add_unit(unit, glyph) and helper is not None:
            helped.add(helper)
    return builder.build(tuple(helper for helper in face.fallback if helper in helped))
