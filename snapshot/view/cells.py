"""Which cells of a page show which text: worked out from what was read back from its pixels.

Text is counted in units of UTF-16 here, as a browser counts it. Cells are counted row by row, from 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapshot.pages.readback import PageCells
from snapshot.raster.atlas import Atlas
from snapshot.typeset.pagetext import printed_tokens

__all__ = ["CellRun", "cell_runs"]

_BEYOND_BMP = 0xFFFF


@dataclass(frozen=True, slots=True)
class CellRun:
    """Neighbouring cells and the text that they show.

    Where there are as many units as cells, each cell stands for one. Otherwise all of the cells show all of
    the text, as the brackets and letters of an emoji's name do.

    Attributes:
        cell: the first cell.
        cells: how many.
        start: offset of the text on the page, in units.
        units: its length.
    """

    cell: int
    cells: int
    start: int
    units: int


def cell_runs(page: PageCells, atlas: Atlas) -> tuple[CellRun, ...]:
    """The cells of a page with the text that they show, in the order of the text.

    Args:
        page: as it was read.
        atlas: the glyphs it was read with.

    Raises:
        PageError: the page names an emoji that there is not.
    """
    codes = np.frombuffer(page.page_text.encode("utf-32-le", "surrogatepass"), np.uint32)
    size = codes.size
    if not size:
        return ()
    # For each character of the page text: where its text starts, how long that is, whether it is plain.
    units = (codes > _BEYOND_BMP).astype(np.int64) + 1
    whole = np.arange(size)  # the character at which its token starts
    is_plain = units == 1
    for start, stop, text, _ in printed_tokens(page.page_text):
        units[start:stop] = 0
        units[start] = len(text.encode("utf-16-le", "surrogatepass")) // 2
        whole[start:stop] = start
        is_plain[start:stop] = stop - start == 1 and units[start] == 1
    starts = (np.cumsum(units) - units)[whole]
    lengths = units[whole]
    widths = _widths(page.glyphs, atlas)
    shown = page.places >= 0
    places, whole, is_plain = page.places[shown], whole[shown], is_plain[shown]
    starts, lengths = starts[shown], lengths[shown]
    if not places.size:
        return ()
    # Letters of one cluster stand in one cell: their text is one.
    first = np.flatnonzero(np.append(True, places[1:] != places[:-1]))
    is_cluster = np.diff(np.append(first, places.size)) > 1
    lengths = np.where(is_cluster, np.add.reduceat(lengths, first), lengths[first])
    places, whole, starts = places[first], whole[first], starts[first]
    cells = widths[places]
    is_plain = is_plain[first] & ~is_cluster & (cells == 1)
    step = np.diff(places)
    follows = is_plain[:-1] & is_plain[1:] & (step == 1) & (np.diff(starts) == 1)
    in_token = (whole[1:] == whole[:-1]) & (step == cells[:-1])
    opens = np.flatnonzero(np.append(True, ~(follows | in_token)))
    totals = np.add.reduceat(cells, opens)
    units = np.where(is_plain[opens], totals, lengths[opens])
    return tuple(
        map(CellRun, places[opens].tolist(), totals.tolist(), starts[opens].tolist(), units.tolist())
    )


def _widths(glyphs: NDArray[np.int64], atlas: Atlas) -> NDArray[np.int64]:
    """For each cell how many cells its glyph takes from there on: 1, and more for the first of a wide one."""
    is_part = atlas.codes[glyphs.reshape(-1)] < 0
    is_part &= (glyphs.reshape(-1) != atlas.pad) & (glyphs.reshape(-1) != atlas.end)
    at = np.flatnonzero(~is_part)
    widths = np.ones(is_part.size, np.int64)
    widths[at] = np.diff(np.append(at, is_part.size))
    return widths
