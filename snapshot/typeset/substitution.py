"""Source text in which what is printed as one thing is one code: units, and emoji that have names."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from snapshot.source import marks
from snapshot.source.codepoints import distinct
from snapshot.typeset.emoji import name_of, starts_emoji
from snapshot.typeset.offset_map import OffsetMap, Offsets, concat_ranges
from snapshot.typeset.shaped import Segmentation

if TYPE_CHECKING:
    from snapshot.typeset.coverage import Coverage

__all__ = ["Names", "Substituted", "substitute"]


class Names(NamedTuple):
    """The names of the emoji of a text: the different ones, and which of them each emoji has."""

    different: tuple[str, ...]
    which: NDArray[np.int64]


class Substituted(NamedTuple):
    """A text in which units and emoji are one code each, an emoji that of an opening bracket.

    Attributes:
        codes: its codes.
        is_continuation: which of them continue a cluster.
        offset_map: how it was made.
        emoji: offsets of the emoji.
        names: their names.
    """

    codes: NDArray[np.uint32]
    is_continuation: NDArray[np.bool_]
    offset_map: OffsetMap
    emoji: Offsets
    names: Names


class _Found(NamedTuple):
    """What becomes one code: first offset, length, the code, and which of the names it has (-1: none)."""

    starts: Offsets
    lengths: Offsets
    codes: NDArray[np.uint32]
    names: NDArray[np.int64]


def substitute(
    source: NDArray[np.uint32],
    special: Offsets,
    segmentation: Segmentation,
    *,
    coverage: Coverage,
    widest: int,
) -> Substituted | None:
    """The text with its units and emoji as one code each; None where it has none.

    Args:
        source: code points of folded source text.
        special: offsets of those that are not ASCII.
        segmentation: its grapheme clusters.
        coverage: what the font draws.
        widest: cells that the name of an emoji may take with its brackets.
    """
    is_continuation = segmentation.is_continuation
    lone = special[coverage.cells[source[special]] == 0]
    if is_continuation is None and not lone.size and not coverage.units:
        return None
    if is_continuation is None:
        is_continuation = np.zeros(source.size, np.bool_)
    names: dict[str, int] = {}
    found = _clusters(segmentation, names, coverage, widest)
    lone = lone[starts_emoji(source[lone])]
    lone = lone[~(is_continuation[lone] | np.append(is_continuation, False)[lone + 1])]
    if lone.size:
        found = _with_lone(found, source, lone, names, widest)
    starts, lengths, numbers, which = found
    if not starts.size:
        return None
    codes = source.copy()
    codes[starts] = numbers
    kept = np.ones(source.size, np.bool_)
    kept[concat_ranges(starts + 1, lengths - 1)] = False
    offset_map = OffsetMap(starts, lengths, 1)
    is_emoji = which >= 0
    return Substituted(
        codes[kept],
        is_continuation[kept],
        offset_map,
        offset_map.forward(starts[is_emoji]),
        Names(tuple(names), which[is_emoji]),
    )


def _named(emoji: str, names: dict[str, int], widest: int) -> int:
    """The number in `names`, which grows, of the name of an emoji; -1 where it has none, or one too wide."""
    name = name_of(emoji)
    return names.setdefault(name, len(names)) if name and len(name) + 2 <= widest else -1


def _clusters(segmentation: Segmentation, names: dict[str, int], coverage: Coverage, widest: int) -> _Found:
    """The clusters that become one code. What they become is asked once for each different one."""
    clusters, numbers = segmentation.clusters, segmentation.numbers
    codes = np.zeros(len(segmentation.units), np.uint32)
    which = np.full(codes.size, -1, np.int64)
    for number in segmentation.different().tolist():
        unit = segmentation.units[number]
        which[number] = _named(unit.text, names, widest)
        codes[number] = ord(marks.OPEN) if which[number] >= 0 else coverage.units.get(unit, 0)
    found = codes[numbers]
    is_one = found > 0
    return _Found(clusters.starts[is_one], clusters.lengths[is_one], found[is_one], which[numbers[is_one]])


def _with_lone(
    found: _Found, source: NDArray[np.uint32], lone: Offsets, names: dict[str, int], widest: int
) -> _Found:
    """What was found, with the emoji of one character at `lone`, in the order of the text."""
    different = distinct(source[lone])
    which = np.array([_named(chr(code), names, widest) for code in different.tolist()], np.int64)
    which = which[np.searchsorted(different, source[lone])]
    lone, which = lone[which >= 0], which[which >= 0]
    at = np.searchsorted(found.starts, lone)
    return _Found(
        np.insert(found.starts, at, lone),
        np.insert(found.lengths, at, 1),
        np.insert(found.codes, at, ord(marks.OPEN)),
        np.insert(found.names, at, which),
    )
