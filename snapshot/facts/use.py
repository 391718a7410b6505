"""How likely a string is needed next: by who used it, how often, and how lately.

An agent types again what it typed before, what it has just read or changed, what it defined, and what is
spread over several places; what stood once in a long output it hardly ever types. The entries of source text
say whose words they are.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from snapshot.facts.patterns import Fact
from snapshot.source.marks import SCOPE
from snapshot.source.source import Source

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
        entries = [
            _Entry(start, _kind(text, start), stop - start) for start, stop in zip(starts, ends, strict=True)
        ] or [_Entry(0, "result", len(text))]
        self._starts = [entry.start for entry in entries]
        length = max(1, len(text))
        self._worth = [_worth(entry, length) for entry in entries]
        # A single text with no entries is nobody's call.
        self._defined: dict[str, float] = {}
        for match in _DEFINITION.finditer(text):
            name = match[1] or match[2]
            by_call = entries[self._entry_at(match.start())].kind == "call"
            worth = _DEFINED if by_call else _SEEN_DEFINED
            self._defined[name] = max(worth, self._defined.get(name, worth))

    def score(self, fact: Fact) -> float:
        """How likely the string is needed next; only the order counts."""
        offsets = fact.offsets
        if len(offsets) == 1:
            used = self._worth[self._entry_at(offsets[0])]
        else:
            used = sum(self._worth[number] for number in sorted({self._entry_at(at) for at in offsets}))
        return used * self._defined.get(fact.text, 1.0)

    def _entry_at(self, offset: int) -> int:
        return max(0, bisect_right(self._starts, offset) - 1)


def _worth(entry: _Entry, length: int) -> float:
    """What one occurrence in an entry of a text of `length` characters is worth."""
    worth = _WORTH.get(entry.kind, _IN_RESULT)
    if entry.kind not in _WORTH:
        worth /= max(1.0, entry.size / _LONG) ** 0.5
    age = 1 - (entry.start + entry.size) / length
    return worth * max(_OLDEST, 0.5 ** (age / _HALF))


def _kind(text: str, start: int) -> str:
    word = re.match(r"[a-z]+", text[start + 1 : start + 20])
    return word[0] if word else ""
