"""Units: what has one glyph though it is not one character in its one shape.

A unit is a grapheme cluster (a letter with its marks, a syllable of Devanagari) or an Arabic letter in the
form that it takes beside its neighbours. Fonts draw units, so an atlas says which it has. In page text as
code points a unit is one number above all of Unicode's; in page text as a string it is its characters.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterator, Mapping
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from snapshot.source.codepoints import code_points, distinct
from snapshot.typeset.arabic import Clusters, in_forms
from snapshot.typeset.clusters import continuations
from snapshot.typeset.offset_map import Offsets

__all__ = [
    "FIRST_UNIT",
    "Segmentation",
    "ShapedCluster",
    "clusters_of",
    "divided",
    "expand",
    "has_shape",
    "may_be_unit",
    "numbered",
    "segment",
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


class Segmentation(NamedTuple):
    """Where the grapheme clusters of a text are.

    Attributes:
        is_continuation: which characters continue a cluster; None where none does.
        clusters: the clusters that may be units.
    """

    is_continuation: NDArray[np.bool_] | None
    clusters: Clusters

    def cut(self, first: int, last: int) -> Segmentation | None:
        """That of the half-open span of the text; None where the span ends within a cluster.

        Letters keep the forms that their neighbours outside of the span give them. So do characters of a
        cluster that begins before it: they continue one, and are none by themselves.
        """
        starts, lengths, forms = self.clusters
        low, high = np.searchsorted(starts, (first, last))
        if high > low and starts[high - 1] + lengths[high - 1] > last:
            return None
        continuation = self.is_continuation
        if continuation is not None:
            if continuation[last : last + 1].any():
                return None
            continuation = continuation[first:last]
            continuation = continuation if continuation.any() else None
        return Segmentation(
            continuation, Clusters(starts[low:high] - first, lengths[low:high], forms[low:high])
        )


def segment(text: str, codes: NDArray[np.uint32], special: Offsets) -> Segmentation:
    """The grapheme clusters of a text.

    Args:
        text: the text.
        codes: its code points.
        special: offsets of those that are not ASCII.
    """
    is_continuation = continuations(text, codes, special) if special.size else None
    return Segmentation(is_continuation, clusters_of(codes, special, is_continuation))


def has_shape(char: str) -> bool:
    """Whether a character has a shape of its own."""
    return unicodedata.category(char) not in _SHAPELESS


def may_be_unit(codes: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Which of the code points may be a unit by themselves: Arabic letters."""
    return codes - np.uint32(_ARABIC.start) < len(_ARABIC)


def clusters_of(
    codes: NDArray[np.uint32], special: Offsets, is_continuation: NDArray[np.bool_] | None
) -> Clusters:
    """The clusters of a text that may be units: of several characters, or Arabic letters in their form.

    Args:
        codes: the text.
        special: offsets of those that are not ASCII.
        is_continuation: which characters continue a cluster, if any does.
    """
    arabic = special[may_be_unit(codes[special])]
    if is_continuation is None and not arabic.size:
        return _NO_CLUSTERS
    if is_continuation is None:
        starts, lengths = arabic, np.ones(arabic.size, np.int64)
    else:
        continued = np.flatnonzero(is_continuation)
        first = np.flatnonzero(np.diff(continued, prepend=-2) != 1)
        heads = continued[first] - 1
        sizes = np.diff(first, append=continued.size) + 1
        arabic = arabic[~is_continuation[arabic]]
        starts = distinct(np.concatenate((heads, arabic)))
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
    return itertools.starmap(ShapedCluster, _pairs(text, clusters))


def different_units(text: str, clusters: Clusters) -> dict[ShapedCluster, int]:
    """The different clusters of `text` as units, and where each stands first."""
    pairs = _pairs(text, clusters)
    first = dict(zip(reversed(pairs), reversed(clusters.starts.tolist()), strict=True))
    return {ShapedCluster(*pair): first[pair] for pair in dict.fromkeys(pairs)}


def _pairs(text: str, clusters: Clusters) -> list[tuple[str, int]]:
    """The clusters of `text` with their forms, which equal units; it takes less to make them."""
    starts, ends = clusters.starts.tolist(), (clusters.starts + clusters.lengths).tolist()
    pieces = [text[start:end] for start, end in zip(starts, ends, strict=True)]
    return list(zip(pieces, clusters.forms.tolist(), strict=True))


def divided(text: str) -> Iterator[str | ShapedCluster]:
    """The clusters of a text in their order: those that may be units, and single characters."""
    codes = code_points(text)
    clusters = segment(text, codes, np.flatnonzero(codes > 127)).clusters
    end = 0
    for cluster, start in zip(units_in(text, clusters), clusters.starts.tolist(), strict=True):
        yield from text[end:start]
        yield cluster
        end = start + len(cluster.text)
    yield from text[end:]


def numbered(text: str, clusters: Clusters, units: Mapping[ShapedCluster, int]) -> NDArray[np.uint32]:
    """The number of each of the clusters of `text`, 0 for those that are not among `units`."""
    if not units:
        return np.zeros(clusters.starts.size, np.uint32)
    numbers = cast("Mapping[tuple[str, int], int]", units)
    found = map(numbers.get, _pairs(text, clusters), itertools.repeat(0))
    return np.fromiter(found, np.uint32, clusters.starts.size)


def expand(codes: NDArray[np.uint32], units: Mapping[int, ShapedCluster]) -> NDArray[np.uint32]:
    """Page text, given as code points and numbers of units, with each unit as its characters."""
    at = np.flatnonzero(codes >= FIRST_UNIT)
    if not at.size:
        return codes
    pieces: list[NDArray[np.uint32]] = []
    end = 0
    for place in at.tolist():
        cluster = units[int(codes[place])]
        pieces += (codes[end:place], np.array([ord(char) for char in cluster.text], np.uint32))
        end = place + 1
    return np.concatenate((*pieces, codes[end:]))
