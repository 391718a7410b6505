"""What a text needs beyond the glyphs that are always there."""

from __future__ import annotations

import numpy as np

from snapshot.source import marks
from snapshot.source.codepoints import census, code_points
from snapshot.typeset.clusters import continuations, may_join
from snapshot.typeset.coverage import Coverage
from snapshot.typeset.emoji import name_of
from snapshot.typeset.fold import fold
from snapshot.typeset.grid import stretches
from snapshot.typeset.shaped import ShapedCluster, clusters_of, has_shape, may_be_unit, units_in

__all__ = ["missing_glyphs"]

# Longer clusters are no letters of any language, and would be drawn for nothing.
_LONGEST = 10
# Clusters that get glyphs; a text with more different ones prints the later ones as code points.
_MOST_CLUSTERS = 1 << 13
_NO_LETTERS = frozenset(marks.PAGE_MARKS + marks.PAD + marks.END + " \t\n")


def missing_glyphs(text: str, coverage: Coverage) -> tuple[ShapedCluster, ...]:
    """The units and characters of a text that the font does not cover, in order of their first occurrence.

    So what a text needs begins with what the start of it needs. Emoji, which have names, are not among it.

    Args:
        text: source text.
        coverage: what is always there.
    """
    foreign, _ = census(text)
    lacking = foreign[coverage.cells[foreign] == 0]
    shaped = any(has_shape(chr(code)) for code in lacking.tolist())
    if not shaped and not (may_join(foreign) | may_be_unit(foreign)).any():
        return ()
    found: dict[ShapedCluster, None] = {}
    clusters = 0
    for begin, end in stretches(text):
        if text[begin:end].isascii():
            continue
        for unit in _in_stretch(fold(text[begin:end]).text, coverage):
            if unit not in found and (len(unit.text) == 1 or clusters < _MOST_CLUSTERS):
                clusters += len(unit.text) > 1
                found[unit] = None
    return tuple(found)


def _in_stretch(text: str, coverage: Coverage) -> list[ShapedCluster]:
    codes = code_points(text)
    special = np.flatnonzero(codes > 127)
    clings = continuations(text, codes, special)
    # Those inside clusters too: should a cluster not be drawn, its parts are printed one by one, and whether
    # they have glyphs may not depend on what comes later.
    lacking = special[coverage.cells[codes[special]] == 0]
    if clings is None and not lacking.size:
        return []
    clusters = clusters_of(codes, special, clings)
    different, first = np.unique(codes[lacking], return_index=True)
    places: dict[ShapedCluster, int] = {}
    for unit, start in zip(units_in(text, clusters), clusters.starts.tolist(), strict=True):
        if unit not in places and _may_be_drawn(unit.text):
            places[unit] = start
    for code, place in zip(different.tolist(), lacking[first].tolist(), strict=True):
        if name_of(chr(code)) is None:
            places[ShapedCluster(chr(code))] = place
    return sorted(places, key=places.__getitem__)


def _may_be_drawn(cluster: str) -> bool:
    return len(cluster) <= _LONGEST and not _NO_LETTERS.intersection(cluster) and name_of(cluster) is None
