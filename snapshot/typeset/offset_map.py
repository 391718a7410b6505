"""Arrays in which some items become more or fewer, and where each item went.

Typesetting changes few characters and leaves long stretches alone. So what changes is kept as a short list
and not as one number for each character: that is where the speed of `pagetext` and `grid` comes from.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["OffsetMap", "Offsets", "concat_ranges", "insert_runs"]

Offsets = NDArray[np.int64]

# Slices from which one pass with a mask is quicker than putting them together one by one.
_MANY_SLICES = 64


class OffsetMap:
    """A list of places where items were replaced by another number of items.

    Args:
        at: offset before the replacement of the first item of each place, ascending, places apart.
        gone: how many items each place had; 0 where items were only put before `at`.
        made: how many it has now.
    """

    def __init__(self, at: Offsets, gone: Offsets | int, made: Offsets | int) -> None:
        growth = np.broadcast_to(np.subtract(made, gone), at.shape).cumsum()
        self._at = at
        self._growth = np.concatenate(([0], growth))
        # Where each place ends, before and after: from there to the next one offsets run in step.
        self._ends_before = at + gone
        self._ends = self._ends_before + growth

    def forward(self, offsets: Offsets) -> Offsets:
        """Where items that were not replaced, or were the first of a place, are now."""
        return offsets + self._growth[np.searchsorted(self._ends_before, offsets, side="right")]

    def origin(self, offset: int) -> int:
        """Offset before the replacement of what is at `offset` now; of made items that of their place."""
        place = int(np.searchsorted(self._ends, offset, side="right"))
        before = offset - int(self._growth[place])
        return min(before, int(self._at[place])) if place < self._at.size else before


def insert_runs(items: NDArray[Any], at: Offsets, extra: Offsets, filling: int = 0) -> NDArray[Any]:
    """`items` with `extra` copies of `filling` put before each of the offsets `at`, which ascend."""
    if at.size < _MANY_SLICES:
        pieces: list[NDArray[Any]] = []
        begin = 0
        for end, count in zip(at.tolist(), extra.tolist(), strict=True):
            pieces += (items[begin:end], np.full(count, filling, items.dtype))
            begin = end
        return np.concatenate((*pieces, items[begin:]))
    new = np.repeat(at, extra)
    new += np.arange(new.size)  # behind as many as were put in before
    old = np.ones(items.size + new.size, np.bool_)
    old[new] = False
    out = np.empty(old.size, items.dtype)
    out[old] = items
    out[new] = filling
    return out


def concat_ranges(starts: Offsets, lengths: Offsets) -> Offsets:
    """All offsets of the spans that start at `starts`, in order."""
    ends = lengths.cumsum()
    return np.repeat(starts - ends + lengths, lengths) + np.arange(ends[-1] if ends.size else 0)
