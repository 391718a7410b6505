"""How likely a string is needed next: by who used it, how often, and how lately.

An agent types again what it typed before, what it has just read or changed, and what is spread over several
places; what stood once in a long output it hardly ever types. The entries of source text say whose words they
are.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from snapshot.facts.patterns import Fact, Kind
from snapshot.source.marks import SCOPE
from snapshot.source.source import Source

__all__ = ["Uses", "as_facts", "names_in"]

# Names as code has them: flags, dotted names, words with an underscore, a hump or a hyphen; long numbers.
_NAME = re.compile(
    r"(?<![\w./\\-])"
    r"(?:--[a-z][a-z0-9-]{2,40}|[A-Za-z_][A-Za-z0-9_]{0,60}(?:[.-][A-Za-z0-9_]{1,60}){0,6}|\d{4,20})(?![\w/])"
)
_TELLING = re.compile(
    r"--|[A-Za-z0-9]_[A-Za-z0-9]|[A-Za-z0-9_]{2}\.[A-Za-z_]{2}|[a-z0-9][A-Z]|[A-Z]{2}[a-z]|^\d+$"
)
_SHORTEST, _LONGEST = 5, 80

# What an occurrence in each kind of entry is worth.
_WORTH = {"call": 3.0, "user": 2.5, "assistant": 2.0, "error": 1.5, "system": 1.0, "thinking": 1.0}
_IN_RESULT = 1.0
# Characters of a result from which on a string in it is one of many.
_LONG = 2_000
# What is said at the start of the text is worth this share of what is said at its end; in between it falls by
# halves: each quarter of the text by one.
_OLDEST = 0.1
_HALF = 0.25


def names_in(text: str) -> Iterator[tuple[str, int]]:
    """Names as code has them, and numbers of four digits and more, each with its offset."""
    for match in _NAME.finditer(text):
        name = match[0].rstrip(".-")
        if _SHORTEST <= len(name) <= _LONGEST and (_TELLING.search(name) or (len(name) > 5 and "-" in name)):
            yield name, match.start()


@dataclass(frozen=True, slots=True)
class _Entry:
    start: int
    kind: str
    size: int


class Uses:
    """The entries of a source text, and what occurrences in them are worth.

    Args:
        source: the text.
    """

    def __init__(self, source: Source) -> None:
        text = source.text
        starts = [mark for mark in source.marks if text[mark] == SCOPE]
        ends = [*starts[1:], len(text)] if starts else []
        self._entries = [
            _Entry(start, _kind(text, start), stop - start) for start, stop in zip(starts, ends, strict=True)
        ] or [_Entry(0, "result", len(text))]
        self._starts = [entry.start for entry in self._entries]
        self._length = max(1, len(text))

    def score(self, fact: Fact) -> float:
        """How likely the string is needed next; only the order counts."""
        entries = {max(0, bisect_right(self._starts, at) - 1) for at in fact.offsets}
        return sum(map(self._worth, entries))

    def is_typed(self, fact: Fact) -> bool:
        """Whether the agent or the user has typed it."""
        at_calls = ("call", "user", "assistant")
        return any(
            self._entries[max(0, bisect_right(self._starts, at) - 1)].kind in at_calls for at in fact.offsets
        )

    def _worth(self, number: int) -> float:
        entry = self._entries[number]
        worth = _WORTH.get(entry.kind, _IN_RESULT)
        if entry.kind not in _WORTH:
            worth /= max(1.0, entry.size / _LONG) ** 0.5
        age = 1 - (entry.start + entry.size) / self._length
        return worth * max(_OLDEST, 0.5 ** (age / _HALF))


def _kind(text: str, start: int) -> str:
    word = re.match(r"[a-z]+", text[start + 1 : start + 20])
    return word[0] if word else ""


def as_facts(names: Iterator[tuple[str, int]], known: Sequence[Fact]) -> list[Fact]:
    """The names as facts, without those that are known."""
    texts = {fact.text for fact in known}
    places: dict[str, list[int]] = {}
    for name, at in names:
        if name not in texts:
            places.setdefault(name, []).append(at)
    kind: Kind = "name"
    return [Fact(name, kind, tuple(at)) for name, at in places.items()]
