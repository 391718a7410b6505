"""What a text needs beyond the glyphs that are always there."""

from __future__ import annotations

import unicodedata
from collections import Counter

import numpy as np

from snapshot.source import marks
from snapshot.source.codepoints import census, code_points
from snapshot.typeset.clusters import continuations, may_join
from snapshot.typeset.coverage import Coverage
from snapshot.typeset.emoji import name_of
from snapshot.typeset.fold import fold
from snapshot.typeset.grid import stretches
from snapshot.typeset.pagetext import uncovered_codes
from snapshot.typeset.shaped import ShapedCluster, clusters_of, has_shape, may_be_unit, units_in

__all__ = ["missing_glyphs", "uncovered"]

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
    is_continuation = continuations(text, codes, special)
    # Those inside clusters too: should a cluster not be drawn, its parts are printed one by one, and whether
    # they have glyphs may not depend on what comes later.
    lacking = special[coverage.cells[codes[special]] == 0]
    if is_continuation is None and not lacking.size:
        return []
    clusters = clusters_of(codes, special, is_continuation)
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


def uncovered(folded: str, coverage: Coverage) -> dict[str, int]:
    """Characters of a folded text that are printed as code points, counted by kind, most first.

    Kinds are scripts (the first word of a letter's Unicode name: "CJK", "HIRAGANA", "ARABIC", …),
    "combining marks", "invisible" (format characters, special spaces, lone surrogates) and "symbols".
    """
    kinds: Counter[str] = Counter()
    for begin, end in stretches(folded):
        text = folded[begin:end]
        if text.isascii():
            continue
        codes, counts = np.unique(uncovered_codes(text, coverage), return_counts=True)
        for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
            if code not in (10, 9):
                kinds[_kind(chr(code))] += count
    return dict(sorted(kinds.items(), key=lambda item: (-item[1], item[0])))


def _kind(char: str) -> str:
    category = unicodedata.category(char)
    if category[0] == "L":
        return unicodedata.name(char, "LETTERS").split()[0]
    if category[0] == "M":
        script = unicodedata.name(char, "COMBINING").split()[0]
        return "combining marks" if script == "COMBINING" else script
    if category[0] in "CZ":
        return "invisible"
    return "symbols"
