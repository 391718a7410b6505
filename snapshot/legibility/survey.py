"""What the nearest-glyph reader makes of the pages of a folder, added up page by page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from snapshot.legibility.kinds import KINDS, KindScore, scored
from snapshot.legibility.resized import ASCII, Nearest, read_as_sent, read_resized, resampled
from snapshot.pages.readback import PageCells
from snapshot.raster.atlas import Atlas
from snapshot.source.marks import AIR, NEWLINE

__all__ = ["STRESS", "SeenPage", "Survey", "WorstCell"]

STRESS = 0.3
"""Share of the size seen at which confused pairs are looked for: at half of it this reader misses nothing."""
_WORST = 12
_AROUND = 2  # cells shown on either side of a worst one


@dataclass(frozen=True, slots=True, eq=False)
class SeenPage:
    """A page, its glyphs, and its picture as the model sees it, in grey values."""

    cells: PageCells
    atlas: Atlas
    picture: NDArray[np.uint8]

    def box(self, row: int, column: int, stop: int | None = None) -> tuple[slice, slice]:
        """Where a cell, or the cells up to `stop`, stand on the picture."""
        width, height = self.atlas.face.cell
        x = self.picture.shape[1] / self.cells.grey.shape[1] * width
        y = self.picture.shape[0] / self.cells.grey.shape[0] * height
        right = column + 1 if stop is None else stop
        return slice(round(row * y), round((row + 1) * y)), slice(round(column * x), round(right * x))


@dataclass(frozen=True, slots=True, eq=False)
class WorstCell:
    """A cell that is misread, or whose glyph has the nearest rival.

    Attributes:
        page, row, column: where it is, from 1.
        char: what stands there.
        rival: what it is read as, or would be next.
        misread: whether it is read as that.
        margin: grey levels (root mean square) by which the rival is farther.
        picture: the cell with its neighbours as the model sees them, grey values.
    """

    page: int
    row: int
    column: int
    char: str
    rival: str
    misread: bool
    margin: float
    picture: NDArray[np.uint8]


@dataclass(slots=True)
class Survey:
    """The sums.

    Attributes:
        atlas: the glyphs of all pages.
        kept: which pages, counted from 0, to keep the pictures of.
        kinds: what is read, by kind of text.
        confused: what is taken for what at `STRESS` on the pages read so, and how often.
        lost: exact strings that are misread.
        worst: the worst cells, the worst first, one for each character.
        pictures: of the pages that were to be kept.
    """

    atlas: Atlas
    kept: frozenset[int] = frozenset()
    kinds: dict[str, KindScore] = field(default_factory=lambda: {k: KindScore(k, 0, 0, 0, 0) for k in KINDS})
    confused: Counter[tuple[str, str]] = field(default_factory=Counter)
    lost: set[str] = field(default_factory=set)
    worst: list[WorstCell] = field(default_factory=list)
    pictures: list[SeenPage] = field(default_factory=list)

    def add(self, page: int, cells: PageCells, size: tuple[int, int], *, stressed: bool = True) -> None:
        """Read a page, counted from 0, in the width and height it is seen, and, if `stressed`, much smaller.

        What is seen as it is sent is not resized to find that out. On an image that is smaller than a cell
        there is nothing to read.
        """
        if not cells.glyphs.size:
            return
        atlas = self.atlas
        # What stands on the page, and all of ASCII: rivals that are on no page do not mislead.
        names = np.union1d(cells.glyphs, atlas.glyphs[[ord(char) for char in ASCII]])
        # Halves of wide glyphs may be alike, which is no confusion: one stands for all.
        pixels = atlas.ink[names].reshape(len(names), -1)
        _, first, alike = np.unique(pixels, axis=0, return_index=True, return_inverse=True)
        standing = alike.reshape(-1)[np.searchsorted(names, cells.glyphs)]
        names = names[first]
        truth = names[standing]
        ink = atlas.ink[names] * np.uint8(255 // (atlas.face.levels - 1))
        rows, columns = cells.glyphs.shape
        if size == (cells.grey.shape[1], cells.grey.shape[0]):
            near = read_as_sent(standing, ink)
        else:
            near = read_resized(cells.grey, size, ink, (rows, columns))
        right = names[near.first] == truth
        text = cells.page_text.replace(NEWLINE, "\n")
        found, lost = scored(text, np.append(right.reshape(-1), True)[cells.places])
        for score in found:
            self.kinds[score.kind] += score
        self.lost |= lost
        if stressed:
            small = max(1, round(size[0] * STRESS)), max(1, round(size[1] * STRESS))
            far = read_resized(cells.grey, small, ink, (rows, columns))
            mistaken = (names[far.first] != truth) & ~np.isin(truth, self._empty)
            mistaken &= atlas.codes[truth] >= 0  # of a wide glyph only the first part is named
            pairs = self._chars(truth[mistaken]), self._chars(names[far.first][mistaken])
            self.confused.update((a, b) for a, b in zip(*pairs, strict=True) if a != b)
        seen = SeenPage(cells, atlas, resampled(cells.grey, size))
        if page in self.kept:
            self.pictures.append(seen)
        self.worst = _worst([*self.worst, *self._candidates(page, seen, truth, names, near)])

    def _chars(self, glyphs: NDArray[np.int64]) -> list[str]:
        return [said.replace(AIR, " ") or "▯" for said in self.atlas.prints(glyphs)]

    @property
    def _empty(self) -> tuple[int, ...]:
        """Glyphs that say nothing."""
        atlas = self.atlas
        return atlas.blank, atlas.pad, *([] if atlas.air is None else [atlas.air])

    def _candidates(
        self,
        page: int,
        seen: SeenPage,
        glyphs: NDArray[np.int64],
        names: NDArray[np.int64],
        near: Nearest,
    ) -> Iterator[WorstCell]:
        """The worst cell of each of the worst characters of a page."""
        atlas = self.atlas
        right = names[near.first] == glyphs
        inked = np.flatnonzero(~np.isin(glyphs, (*self._empty, atlas.end)))
        order = inked[np.lexsort((near.margin.reshape(-1)[inked], right.reshape(-1)[inked]))]
        _, first = np.unique(glyphs.reshape(-1)[order], return_index=True)
        for at in order[np.sort(first)[:_WORST]].tolist():
            row, column = divmod(at, glyphs.shape[1])
            fine = bool(right[row, column])
            rival = names[(near.second if fine else near.first)[row, column]]
            char, other = self._chars(np.array([glyphs[row, column], rival]))
            box = seen.box(row, max(0, column - _AROUND), min(glyphs.shape[1], column + 1 + _AROUND))
            margin = float(near.margin[row, column])
            picture = seen.picture[box].copy()
            yield WorstCell(page + 1, row + 1, column + 1, char, other, not fine, margin, picture)


def _worst(found: Sequence[WorstCell]) -> list[WorstCell]:
    """The worst of some cells, one for each character."""
    ordered = sorted(
        found, key=lambda cell: (not cell.misread, cell.margin, cell.page, cell.row, cell.column)
    )
    kept: dict[str, WorstCell] = {}
    for cell in ordered:
        kept.setdefault(cell.char, cell)
    return list(kept.values())[:_WORST]
