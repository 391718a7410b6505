"""The glyphs a text needs beyond the glyphs that are always there."""

from __future__ import annotations

import unicodedata
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from snapshot.source import marks
from snapshot.source.codepoints import code_points
from snapshot.source.source import Source
from snapshot.typeset.clusters import may_join
from snapshot.typeset.coverage import Coverage
from snapshot.typeset.emoji import name_of
from snapshot.typeset.pagetext import uncovered_codes
from snapshot.typeset.prepared import PreparedText
from snapshot.typeset.shaped import FIRST_UNIT, Segmentation, ShapedCluster, has_shape, may_be_unit

__all__ = ["missing_glyphs", "uncovered"]

# Longer clusters are no letters of any language, and would be drawn for nothing.
_LONGEST = 10
# Clusters that get glyphs; a text with more different ones prints the later ones as code points.
_MOST_CLUSTERS = 1 << 13
_NO_LETTERS = frozenset(marks.PAGE_MARKS + marks.PAD + marks.END + marks.AIR + " \t\n")


def missing_glyphs(text: str | PreparedText, coverage: Coverage) -> tuple[ShapedCluster, ...]:
    """The units and characters of a text that the font does not cover, in order of their first occurrence.

    So what a text needs begins with what the start of it needs. Emoji, which have names, are not among it.

    Args:
        text: source text.
        coverage: what is always there.
    """
    ready = PreparedText(Source(text)) if isinstance(text, str) else text
    foreign = ready.foreign
    lacking = foreign[coverage.cells[foreign] == 0]
    shaped = any(has_shape(chr(code)) for code in lacking.tolist())
    if not shaped and not (may_join(foreign) | may_be_unit(foreign)).any():
        return ()
    needed: dict[ShapedCluster, None] = {}
    clusters = 0
    known = np.zeros(FIRST_UNIT, np.bool_)
    for begin, end in ready.bounds:
        if ready.source.text[begin:end].isascii():
            continue
        stretch = ready.stretch(begin, end)
        for unit in _in_stretch(stretch.text, stretch.segmentation, coverage, known):
            if unit not in needed and (len(unit.text) == 1 or clusters < _MOST_CLUSTERS):
                clusters += len(unit.text) > 1
                needed[unit] = None
    return tuple(needed)


def _in_stretch(
    text: str, segmentation: Segmentation, coverage: Coverage, known: NDArray[np.bool_]
) -> list[ShapedCluster]:
    """What a stretch needs, in the order in which it has it, but for the characters that are known by now.

    `known` says by code point which were met; those that the stretch has are written into it.
    """
    codes = code_points(text)
    special = np.flatnonzero(codes > 127)
    # Those inside clusters too: should a cluster not be drawn, its parts are printed one by one, and whether
    # they have glyphs may not depend on what comes later.
    lacking = special[coverage.cells[codes[special]] == 0]
    if segmentation.is_continuation is None and not lacking.size:
        return []
    lacking = lacking[~known[codes[lacking]]]
    different, first = np.unique(codes[lacking], return_index=True)
    known[different] = True
    places: dict[ShapedCluster, int] = {}
    for unit, start in segmentation.first().items():
        if _may_be_drawn(unit.text):
            places[unit] = start
    for code, place in zip(different.tolist(), lacking[first].tolist(), strict=True):
        if name_of(chr(code)) is None:
            places[ShapedCluster(chr(code))] = place
    return sorted(places, key=places.__getitem__)


def _may_be_drawn(cluster: str) -> bool:
    return len(cluster) <= _LONGEST and not _NO_LETTERS.intersection(cluster) and name_of(cluster) is None


def uncovered(text: str | PreparedText, coverage: Coverage) -> dict[str, int]:
    """Characters of a text, folded or prepared, that are printed as code points, counted by kind, most first.

    Kinds are scripts (the first word of a letter's Unicode name: "CJK", "HIRAGANA", "ARABIC", …),
    "combining marks", "invisible" (format characters, special spaces, lone surrogates) and "symbols".
    """
    kinds: Counter[str] = Counter()
    ready = PreparedText(Source(text)) if isinstance(text, str) else text
    for begin, end in ready.bounds:
        if ready.source.text[begin:end].isascii():
            continue
        stretch = ready.stretch(begin, end)
        lacking = uncovered_codes(stretch.text, coverage, stretch.segmentation)
        codes, counts = np.unique(lacking, return_counts=True)
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
