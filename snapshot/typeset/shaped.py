"""Units: what has one glyph though it is not one character in its one shape.

A unit is a grapheme cluster (a letter with its marks, a syllable of Devanagari) or an Arabic letter in the
form that it takes beside its neighbours. Fonts draw units, so an atlas says which it has. In page text as
code points a unit is one number above all of Unicode's; in page text as a string it is its characters.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from snapshot.source.codepoints import code_points, distinct
from snapshot.typeset.arabic import Clusters, in_forms
from snapshot.typeset.cluster_table import ClusterTable, ShapedCluster, cluster_table
from snapshot.typeset.clusters import continuations
from snapshot.typeset.offset_map import OffsetMap, Offsets, concat_ranges, insert_runs

__all__ = [
    "FIRST_UNIT",
    "Segmentation",
    "ShapedCluster",
    "clusters_of",
    "divided",
    "expand",
    "has_shape",
    "may_be_unit",
    "segment",
    "segment_with",
]

FIRST_UNIT = 0x110000
"""Number of the first unit of an atlas in page text; the next ones follow."""

# Not characters with a shape of their own: controls, surrogates, private use, and what combines.
_SHAPELESS = {"Cc", "Cf", "Cs", "Co", "Mn", "Mc", "Me", "Zl", "Zp", "Zs"}
_ARABIC = range(0x600, 0x780)
_NONE = np.zeros(0, np.int64)
_NO_NUMBERS = np.zeros(0, np.int32)
_NO_CLUSTERS = Clusters(_NONE, _NONE, _NONE)


class Segmentation(NamedTuple):
    """Where the grapheme clusters of a text are.

    Attributes:
        is_continuation: which characters continue a cluster; None where none does.
        clusters: the clusters that may be units.
        numbers: int32, the number of each of them in `units`.
        units: different clusters, those of other texts among them.
    """

    is_continuation: NDArray[np.bool_] | None
    clusters: Clusters
    numbers: NDArray[np.int32]
    units: Sequence[ShapedCluster]

    def different(self) -> NDArray[np.intp]:
        """The numbers of the clusters that the text has, ascending."""
        has = np.zeros(len(self.units), np.bool_)
        has[self.numbers] = True
        return np.flatnonzero(has)

    def first(self) -> dict[ShapedCluster, int]:
        """The different clusters of the text, and the offset at which each stands first."""
        starts = np.zeros(len(self.units), np.int64)
        starts[self.numbers[::-1]] = self.clusters.starts[::-1]  # the last that is written stays
        different = self.different()
        return {
            self.units[number]: start
            for number, start in zip(different.tolist(), starts[different].tolist(), strict=True)
        }

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
            continuation,
            Clusters(starts[low:high] - first, lengths[low:high], forms[low:high]),
            self.numbers[low:high],
            self.units,
        )


def segment(text: str, codes: NDArray[np.uint32], special: Offsets) -> Segmentation:
    """The grapheme clusters of a text.

    Args:
        text: the text.
        codes: its code points.
        special: offsets of those that are not ASCII.
    """
    table = cluster_table()
    if _compiled and special.size:
        found = _compiled[0](codes, table)
        unseen = np.flatnonzero(found.numbers < 0)
        if unseen.size:
            clusters = Clusters(*(part[unseen] for part in found.clusters))
            found.numbers[unseen] = table.numbered(text, codes, clusters)
        return found
    is_continuation = continuations(codes, special) if special.size else None
    clusters = clusters_of(codes, special, is_continuation)
    if not clusters.starts.size:
        return Segmentation(is_continuation, clusters, _NO_NUMBERS, ())
    return Segmentation(is_continuation, clusters, table.numbered(text, codes, clusters), table.units)


_Segments = Callable[[NDArray[np.uint32], ClusterTable], Segmentation]
_compiled: list[_Segments] = []


def segment_with(kernel: _Segments) -> None:
    """Segment by a compiled function, which gives -1 as the number of clusters that were never seen."""
    _compiled[:] = [kernel]


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


def divided(text: str) -> Iterator[str | ShapedCluster]:
    """The clusters of a text in their order: those that may be units, and single characters."""
    codes = code_points(text)
    found = segment(text, codes, np.flatnonzero(codes > 127))
    end = 0
    for number, start in zip(found.numbers.tolist(), found.clusters.starts.tolist(), strict=True):
        yield from text[end:start]
        yield found.units[number]
        end = start + len(found.units[number].text)
    yield from text[end:]


def expand(codes: NDArray[np.uint32], units: Mapping[int, ShapedCluster]) -> NDArray[np.uint32]:
    """Page text, given as code points and numbers of units, with each unit as its characters."""
    at = np.flatnonzero(codes >= FIRST_UNIT)
    if not at.size:
        return codes
    different = distinct(codes[at])
    texts = [units[number].text for number in different.tolist()]
    which = np.searchsorted(different, codes[at])
    every = np.array([len(text) for text in texts], np.int64)
    sizes = every[which]
    out = insert_runs(codes, at, sizes - 1)
    first = OffsetMap(at, 1, sizes).forward(at)
    out[concat_ranges(first, sizes)] = code_points("".join(texts))[
        concat_ranges((every.cumsum() - every)[which], sizes)
    ]
    return out
