"""How likely a string is needed next: by who used it, how often, and how lately.

An agent types again what it typed before, what it has just read or changed, what it defined, and what is
spread over several places; what stood once in a long output it hardly ever types. The entries of source text
say whose words they are.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from snapshot.source.marks import SCOPE

__all__ = ["Uses"]

# What an occurrence in each kind of entry is worth.
_WORTH = {"call": 3.0, "user": 2.5, "assistant": 2.0, "error": 1.5, "system": 1.0, "thinking": 1.0}
_IN_RESULT = 1.0
# Characters of a result from which on a string in it is one of many.
_LONG = 2_000
# What is said at the start of the text is worth this share of what is said at its end; in between it falls by
# halves: each quarter of the text by one.
_OLDEST = 0.1
_HALF = 0.25
# What a name is worth more that is defined in the text, and one that a call of the agent's defines.
_SEEN_DEFINED, _DEFINED = 1.5, 2.0
_DEFINITION = re.compile(
    r"(?<!\w)(?:def|class|function|func|fn|const|let|var|type|interface|struct|enum|trait|module"
    r"|CREATE TABLE|#define)[ \t]{1,8}\*?([A-Za-z_$][\w$]{1,80}+)"
    r"|^[ \t+]*+((?:self\.|this\.)?[A-Za-z_]\w{0,80}+)[ \t]*+=(?![=>])",
    re.MULTILINE,
)


class Uses:
    """The entries of a source text that grows at its end, and what occurrences in them are worth."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._kinds: list[str] = []
        self._length = self._first = 0
        self._worth: list[float] = []
        # Of each name that is defined, where it is last: by whomsoever, and by a call.
        self._seen: dict[str, int] = {}
        self._called: dict[str, int] = {}

    def feed(self, text: str, start: int, stop: int, marks: Sequence[int]) -> None:
        """Take in a span of the text that begins with an entry, or all of a text that has none."""
        starts = [mark for mark in marks if start <= mark < stop and text[mark] == SCOPE]
        self._starts += starts
        self._kinds += (_kind(text, at) for at in starts)
        for match in _DEFINITION.finditer(text, start, stop):
            name = match[1] or match[2]
            at = match.start()
            self._seen[name] = at
            # A single text with no entries is nobody's call.
            number = bisect_right(self._starts, at) - 1
            if self._starts and self._kinds[max(0, number)] == "call":
                self._called[name] = at
        self._length = stop

    def weigh(self, first: int) -> None:
        """Find what entries are worth now, from an offset on; what stands before is forgotten."""
        if first > self._first:
            self._first = first
            gone = bisect_left(self._starts, first)
            del self._starts[:gone], self._kinds[:gone]
            for names in (self._seen, self._called):
                for name in [name for name, at in names.items() if at < first]:
                    del names[name]
        length = max(1, self._length)
        starts, kinds = (self._starts, self._kinds) if self._starts else ([0], ["result"])
        entries = zip(kinds, starts, [*starts[1:], self._length], strict=True)
        self._worth = [_worth(kind, stop - start, stop, length) for kind, start, stop in entries]

    def once(self, offsets: NDArray[np.int64], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Indices of the places that count, entry by entry: in each a string counts once.

        Args:
            offsets: places.
            numbers: of the string that stands there.
        """
        entries = self._entries(offsets)
        return np.unique(entries * (numbers.max(initial=0) + 1) + numbers, return_index=True)[1]

    def scores(
        self, offsets: NDArray[np.int64], numbers: NDArray[np.int64], known: Mapping[str, int]
    ) -> NDArray[np.float64]:
        """How likely each string is needed next; only the order counts.

        Args:
            offsets: places that count, ascending: sums of their worth are the same to the last digit.
            numbers: of the string that stands there.
            known: all strings with their numbers, from 0 on.
        """
        worth = np.array(self._worth)[self._entries(offsets)]
        used = np.bincount(numbers, worth, minlength=len(known)).astype(np.float64)
        return used * self._defined(known)

    def _entries(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.maximum(np.searchsorted(np.array(self._starts, np.int64), offsets, "right") - 1, 0)

    def _defined(self, numbers: Mapping[str, int]) -> NDArray[np.float64]:
        """What each string is worth more for being defined in the text."""
        found = np.ones(len(numbers))
        for names, factor in ((self._seen, _SEEN_DEFINED), (self._called, _DEFINED)):
            found[[numbers[name] for name in names if name in numbers]] = factor
        return found


def _worth(kind: str, size: int, stop: int, length: int) -> float:
    """What one occurrence in an entry that ends at `stop` in a text of `length` characters is worth."""
    worth = _WORTH.get(kind, _IN_RESULT)
    if kind not in _WORTH:
        worth /= max(1.0, size / _LONG) ** 0.5
    age = 1 - stop / length
    return worth * max(_OLDEST, 0.5 ** (age / _HALF))


def _kind(text: str, start: int) -> str:
    word = re.match(r"[a-z]+", text[start + 1 : start + 20])
    return word[0] if word else ""
