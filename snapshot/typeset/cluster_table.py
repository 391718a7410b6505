"""Clusters by number: what is asked of a cluster is asked once for each different one.

A text has few different clusters, and has them again and again. So each gets a number when it is first seen,
and is found again by its code points in an array of slots, all clusters of a stretch at once; only those that
were never seen go through Python. Keys are the code points themselves (up to six of 21 bits, and the form),
so that no two clusters share one. Longer clusters are rare, and are looked up one by one.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from snapshot.typeset.arabic import Clusters

__all__ = ["LONGEST_KEY", "ClusterTable", "ShapedCluster", "Slots", "cluster_table"]

LONGEST_KEY = 6
"""Code points of the longest clusters that have a key."""

_BITS = 21  # of a code point
_HALF = LONGEST_KEY // 2  # code points in a number of 64 bits
# Odd numbers near 2^64 over the golden ratio and over pi: they spread neighbours over the slots.
_SPREAD = np.uint64(0x9E3779B97F4A7C15), np.uint64(0x517CC1B727220A95)
# A cluster stands in one of so many slots from its own on; a table in which one has no room there grows.
_PROBES = 8
_FEWEST = 12  # bits of the number of a slot
_FIRST_TAKEN = 256  # clusters that are looked at one by one where none is known
# Different clusters from which on a new table is begun, so that a text of any size takes bounded memory.
_MOST = 1 << 14


class ShapedCluster(NamedTuple):
    """A grapheme cluster, and the form it takes (see `arabic`)."""

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


class Slots(NamedTuple):
    """A hash table as arrays, which nothing changes: a later one takes its place.

    Attributes:
        low, high: uint64, the key of the cluster in each slot; 0 in an empty one.
        numbers: int32, its number.
        shift: bits by which a hash is shifted to give the number of a slot.
    """

    low: NDArray[np.uint64]
    high: NDArray[np.uint64]
    numbers: NDArray[np.int32]
    shift: int

    def find(self, low: NDArray[np.uint64], high: NDArray[np.uint64]) -> NDArray[np.int32]:
        """The number of each key; -1 for those without a slot, and for keys of 0."""
        slots = self.first(low, high)
        numbers = self.numbers[slots]
        same = (self.low[slots] == low) & (self.high[slots] == high)
        found = np.where(same, numbers, np.int32(-1))
        # What is not in its row of slots before an empty one is nowhere.
        rest = np.flatnonzero(~same & (numbers >= 0))
        for _ in range(_PROBES - 1):
            if not rest.size:
                break
            slots[rest] = (slots[rest] + 1) & (self.low.size - 1)
            at = slots[rest]
            same = (self.low[at] == low[rest]) & (self.high[at] == high[rest])
            found[rest[same]] = self.numbers[at[same]]
            rest = rest[~same & (self.numbers[at] >= 0)]
        return found

    def first(self, low: NDArray[np.uint64], high: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The slot in which each key is looked for first."""
        mixed = low * _SPREAD[0] ^ high * _SPREAD[1]
        return ((mixed ^ mixed >> np.uint64(29)) * _SPREAD[0] >> np.uint64(self.shift)).astype(np.int64)


def _slots(bits: int) -> Slots:
    return Slots(
        np.zeros(1 << bits, np.uint64),
        np.zeros(1 << bits, np.uint64),
        np.full(1 << bits, -1, np.int32),
        64 - bits,
    )


@dataclass(slots=True)
class ClusterTable:
    """The different clusters that were seen, numbered from 0.

    Attributes:
        units: the clusters by their number; it only grows.
        slots: where they are found by key.
    """

    units: list[ShapedCluster] = field(default_factory=list)
    slots: Slots = field(default_factory=lambda: _slots(_FEWEST))
    _numbers: dict[tuple[str, int], int] = field(default_factory=dict)
    _keys: list[tuple[int, int]] = field(default_factory=list)  # by number; (0, 0) for those without one

    def numbered(self, text: str, codes: NDArray[np.uint32], clusters: Clusters) -> NDArray[np.int32]:
        """The number of each of the clusters of `text`, whose code points are `codes`."""
        low, high = keys_of(codes, clusters)
        found = self.slots.find(low, high)
        unseen = np.flatnonzero(found < 0)
        size = _FIRST_TAKEN
        while unseen.size:
            taken, unseen = unseen[:size], unseen[size:]
            found[taken] = self._taken_in(text, clusters, low, high, taken)
            # Most of the others are the same ones again.
            found[unseen] = self.slots.find(low[unseen], high[unseen])
            unseen = unseen[found[unseen] < 0]
            size *= 4
        return found

    def _taken_in(
        self,
        text: str,
        clusters: Clusters,
        low: NDArray[np.uint64],
        high: NDArray[np.uint64],
        unseen: NDArray[np.int64],
    ) -> list[int]:
        """The numbers of the clusters at the places `unseen`, which get one where they have none."""
        starts, ends = clusters.starts[unseen], (clusters.starts + clusters.lengths)[unseen]
        keys = zip(low[unseen].tolist(), high[unseen].tolist(), strict=True)
        spans = zip(starts.tolist(), ends.tolist(), clusters.forms[unseen].tolist(), strict=True)
        numbers: list[int] = []
        with _lock:
            before = len(self.units)
            for key, (start, end, form) in zip(keys, spans, strict=True):
                pair = text[start:end], form
                number = self._numbers.get(pair)
                if number is None:
                    number = self._numbers[pair] = len(self.units)
                    self.units.append(ShapedCluster(*pair))
                    self._keys.append(key)
                numbers.append(number)
            if len(self.units) > before:
                self.slots = self._with_room(before)
        return numbers

    def _with_room(self, before: int) -> Slots:
        """The slots with those of the clusters from the number `before` on."""
        old = self.slots
        bits = 64 - old.shift
        slots = Slots(old.low.copy(), old.high.copy(), old.numbers.copy(), old.shift)
        while not _placed(slots, self._keys, before):
            bits += 1
            slots, before = _slots(bits), 0
        return slots


def _placed(slots: Slots, keys: Sequence[tuple[int, int]], before: int) -> bool:
    """Put the keys from the number `before` on into slots; False where one has no room."""
    low, high = np.array(keys[before:], np.uint64).reshape(-1, 2).T
    mask = slots.low.size - 1
    first = slots.first(low, high).tolist()
    for number, (at, key) in enumerate(zip(first, keys[before:], strict=True), before):
        if key == (0, 0):
            continue
        places = [(at + probe) & mask for probe in range(_PROBES)]
        place = next((place for place in places if slots.numbers[place] < 0), None)
        if place is None:
            return False
        slots.low[place], slots.high[place], slots.numbers[place] = *key, number
    return True


def keys_of(codes: NDArray[np.uint32], clusters: Clusters) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The two halves of the key of each cluster; 0 for those that are too long to have one.

    No folded text has the character of number 0, so that a key also tells the length.
    """
    starts, lengths, forms = clusters
    form = forms.astype(np.uint64)
    halves = codes[starts] | (form & np.uint64(1)) << np.uint64(63), form >> np.uint64(1) << np.uint64(63)
    longer = np.flatnonzero(lengths > 1)
    for place in range(1, LONGEST_KEY):
        if place > 1:
            longer = longer[lengths[longer] > place]
        if not longer.size:
            break
        half, shift = divmod(place, _HALF)
        halves[half][longer] |= codes[starts[longer] + place].astype(np.uint64) << np.uint64(shift * _BITS)
    longer = longer[lengths[longer] > LONGEST_KEY]
    for half in halves:
        half[longer] = 0
    return halves


_lock = threading.Lock()
_latest = [ClusterTable()]


def cluster_table() -> ClusterTable:
    """The table in which clusters are looked up now: what has numbers of an earlier one keeps that."""
    if len(_latest[0].units) > _MOST:
        _latest[0] = ClusterTable()
    return _latest[0]
