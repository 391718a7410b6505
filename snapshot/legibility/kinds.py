"""Kinds of text by how they are misread: prose and code are guessed from context, exact strings are not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapshot.costs.content_kinds import is_code_line

__all__ = ["KINDS", "KindScore", "scored"]

KINDS = ("prose", "code", "hashes", "paths", "numbers")
"""In `hashes` are UUIDs and identifiers of random characters, in `paths` hosts, URLs and mail addresses, in
`numbers` versions, times and IP addresses; `code` is also what logs and data consist of."""

_KIND_OF = {
    "hash": "hashes", "uuid": "hashes", "identifier": "hashes", "path": "paths", "url": "paths",
    "host": "paths", "mail": "paths", "number": "numbers", "version": "numbers", "time": "numbers",
    "ip": "numbers",
}  # fmt: skip
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class KindScore:
    """How much of one kind of text was read.

    Attributes:
        kind: one of `KINDS`.
        chars: characters with ink.
        right: how many of them were read rightly.
        strings: words, or exact strings.
        exact: how many of them have no wrong character.
    """

    kind: str
    chars: int
    right: int
    strings: int
    exact: int

    @property
    def recall(self) -> float:
        """Share of the strings that are exact."""
        return self.exact / max(1, self.strings)

    def __add__(self, other: KindScore) -> KindScore:
        return KindScore(
            self.kind,
            self.chars + other.chars,
            self.right + other.right,
            self.strings + other.strings,
            self.exact + other.exact,
        )


def scored(text: str, right: NDArray[np.bool_]) -> tuple[tuple[KindScore, ...], frozenset[str]]:
    """The score of each kind of text, in the order of `KINDS`, and the exact strings that are not exact.

    Args:
        text: what stood there, lines ended by newlines.
        right: for each of its characters whether it was read rightly.
    """
    sums = {kind: [0, 0, 0, 0] for kind in KINDS}
    wrong_before = np.concatenate(([0], np.cumsum(~right)))
    lost = set()
    for kind, start, stop in _spans(text):
        wrong = int(wrong_before[stop] - wrong_before[start])
        entry = sums[kind]
        entry[0] += stop - start
        entry[1] += stop - start - wrong
        entry[2] += 1
        entry[3] += not wrong
        if wrong and kind not in ("prose", "code"):
            lost.add(text[start:stop])
    return tuple(KindScore(kind, *sums[kind]) for kind in KINDS), frozenset(lost)


def _spans(text: str) -> Iterator[tuple[str, int, int]]:
    """Every exact string, and every word of what is between them, with its kind."""
    from snapshot.facts.patterns import find

    taken = bytearray(len(text))
    for fact in find(text):
        if kind := _KIND_OF.get(fact.kind):
            for at in fact.offsets:
                taken[at : at + len(fact.text)] = b"\1" * len(fact.text)
                yield kind, at, at + len(fact.text)
    start = 0
    for line in text.split("\n"):
        kind = "code" if is_code_line(line) else "prose"
        for word in _WORD.finditer(line):
            a, b = start + word.start(), start + word.end()
            while a < b:
                if taken[a]:
                    a += 1
                    continue
                end = taken.find(1, a, b)
                yield kind, a, end if end >= 0 else b
                a = end if end >= 0 else b
        start += len(line) + 1
