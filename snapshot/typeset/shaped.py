"""Units: what has one glyph though it is not one character in its one shape.

A unit is a grapheme cluster (a letter with its marks, a syllable of Devanagari) or an Arabic letter in the
form that it takes beside its neighbours. Fonts draw units, so an atlas says which it has. In page text as
code points a unit is one number above all of Unicode's; in page text as a string it is its characters.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from snapshot.typeset.arabic import Clusters, in_forms
from snapshot.typeset.clusters import continuations
from snapshot.typeset.offset_map import Offsets

__all__ = [
    "FIRST_UNIT",
    "ShapedCluster",
    "clusters_of",
    "divided",
    "has_shape",
    "may_be_unit",
    "numbered",
    "expand",
    "units_in",
]

FIRST_UNIT = 0x110000
"""Number of the first unit of an atlas in page text; the next ones follow."""

# Not characters with a shape of their own: controls, surrogates, private use, and what combines.
_SHAPELESS = {"Cc", "Cf", "Cs", "Co", "Mn", "Mc", "Me", "Zl", "Zp", "Zs"}
_ARABIC = range(0x600, 0x780)
_NONE = np.zeros(0, np.int64)
_NO_CLUSTERS = Clusters(_NONE, _NONE, _NONE)


class ShapedCluster(NamedTuple):
    """A grapheme cluster, and the form it takes (see `joining`)."""

    text: str
    form: int = 0

    def __str__(self) -> str:
        return f"{self.text}/{self.form}" if self.form else self.text

    @classmethod
    def parse(cls, text: str) -> ShapedCluster:
        """The unit whose `str` is `text`: no cluster has two characters of ASCII."""
        if len(text) > 2 and text[-2] == "/":
            return cls(text[:-2], int(text[-1]))
        return cls(text)


def has_shape(char: str) -> bool:
    """Whether a character has a shape of its own."""
    return unicodedata.category(char) not in _SHAPELESS


def may_be_unit(codes: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Which of the code points may be a unit by themselves: Arabic letters."""
    return codes - np.uint32(_ARABIC.start) < len(_ARABIC)


def clusters_of(codes: NDArray[np.uint32], special: Offsets, clings: NDArray[np.bool_] | None) -> Clusters:
    """The clusters of a text that may be units: of several characters, or Arabic letters in their form.

    Args:
        codes: the text.
        special: offsets of those that are not ASCII.
        clings: which characters continue a cluster, if any does.
    """
    arabic = special[may_be_unit(codes[special])]
    if clings is None and not arabic.size:
        return _NO_CLUSTERS
    if clings is None:
        starts, lengths = arabic, np.ones(arabic.size, np.int64)
    else:
        continued = np.flatnonzero(clings)
        first = np.flatnonzero(np.diff(continued, prepend=-2) != 1)
        heads = continued[first] - 1
        sizes = np.diff(first, append=continued.size) + 1
        arabic = arabic[~clings[arabic]]
        starts = np.union1d(heads, arabic)
        lengths = np.ones(starts.size, np.int64)
        lengths[np.searchsorted(starts, heads)] = sizes
    if arabic.size:
        starts, lengths, forms = in_forms(codes, starts, lengths)
    else:
        forms = np.zeros(starts.size, np.int64)
    several = (lengths > 1) | (forms > 0)
    return Clusters(starts[several], lengths[several], forms[several])


def units_in(text: str, clusters: Clusters) -> Iterator[ShapedCluster]:
    """The clusters of `text` as units."""
    for start, length, form in zip(*(part.tolist() for part in clusters), strict=True):
        yield ShapedCluster(text[start : start + length], form)


def divided(text: str) -> Iterator[str | ShapedCluster]:
    """The clusters of a text in their order: those that may be units, and single characters."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    special = np.flatnonzero(codes > 127)
    clings = continuations(text, codes, special)
    clusters = clusters_of(codes, special, clings)
    end = 0
    for unit, start in zip(units_in(text, clusters), clusters.starts.tolist(), strict=True):
        yield from text[end:start]
        yield unit
        end = start + len(unit.text)
    yield from text[end:]


def numbered(text: str, clusters: Clusters, units: Mapping[ShapedCluster, int]) -> NDArray[np.uint32]:
    """The number of each of the clusters of `text`, 0 for those that are not among `units`."""
    if not units:
        return np.zeros(clusters.starts.size, np.uint32)
    return np.array([units.get(unit, 0) for unit in units_in(text, clusters)], np.uint32)


def expand(codes: NDArray[np.uint32], units: Mapping[int, ShapedCluster]) -> NDArray[np.uint32]:
    """Page text, given as code points and numbers of units, with each unit as its characters."""
    at = np.flatnonzero(codes >= FIRST_UNIT)
    if not at.size:
        return codes
    pieces: list[NDArray[np.uint32]] = []
    end = 0
    for place in at.tolist():
        unit = units[int(codes[place])]
        pieces += (codes[end:place], np.array([ord(char) for char in unit.text], np.uint32))
        end = place + 1
    return np.concatenate((*pieces, codes[end:]))
