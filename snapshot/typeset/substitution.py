"""Source text in which what is printed as one thing is one code: units, and emoji that have names."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from snapshot.source import marks
from snapshot.typeset.emoji import name_of, starts_emoji
from snapshot.typeset.offset_map import OffsetMap, Offsets, concat_ranges
from snapshot.typeset.shaped import Segmentation, numbered

if TYPE_CHECKING:
    from snapshot.typeset.coverage import Coverage

__all__ = ["Substituted", "substitute"]


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
    names: tuple[str, ...]


def substitute(
    text: str,
    source: NDArray[np.uint32],
    special: Offsets,
    segmentation: Segmentation,
    *,
    coverage: Coverage,
    widest: int,
) -> Substituted | None:
    """The text with its units and emoji as one code each; None where it has none.

    Args:
        text: folded source text.
        source: its code points.
        special: offsets of those that are not ASCII.
        segmentation: its grapheme clusters.
        coverage: what the font draws.
        widest: cells that the name of an emoji may take with its brackets.
    """
    is_continuation, clusters = segmentation
    lone = special[coverage.cells[source[special]] == 0]
    if is_continuation is None and not lone.size and not coverage.units:
        return None
    if is_continuation is None:
        is_continuation = np.zeros(source.size, np.bool_)
    lone = lone[~(is_continuation | np.append(is_continuation[1:], False))[lone]]
    lone = lone[starts_emoji(source[lone])]
    names = {
        start: name
        for start, end in (
            *zip(lone.tolist(), (lone + 1).tolist(), strict=True),
            *zip(clusters.starts.tolist(), (clusters.starts + clusters.lengths).tolist(), strict=True),
        )
        if (name := name_of(text[start:end])) and len(name) + 2 <= widest
    }
    emoji = np.array(sorted(names), np.int64)
    numbers = numbered(text, clusters, coverage.units)
    numbers[np.isin(clusters.starts, emoji)] = ord(marks.OPEN)
    is_one = numbers > 0
    lone = lone[np.isin(lone, emoji)]
    starts = np.concatenate((clusters.starts[is_one], lone))
    if not starts.size:
        return None
    order = np.argsort(starts)
    starts = starts[order]
    lengths = np.append(clusters.lengths[is_one], np.ones(lone.size, np.int64))[order]
    codes = source.copy()
    codes[starts] = np.append(numbers[is_one], np.full(lone.size, ord(marks.OPEN), np.uint32))[order]
    kept = np.ones(source.size, np.bool_)
    kept[concat_ranges(starts + 1, lengths - 1)] = False
    offset_map = OffsetMap(starts, lengths, 1)
    return Substituted(
        codes[kept],
        is_continuation[kept],
        offset_map,
        offset_map.forward(emoji),
        tuple(names[at] for at in emoji.tolist()),
    )
