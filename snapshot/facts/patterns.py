"""Exact strings in a text, by their form: hashes, UUIDs, URLs, paths, versions, numbers, identifiers, …

A text has few different words, so it is split at blanks and each word is looked at once. Every pattern
starts behind a character that cannot belong to it and takes what it takes for good, so the time is linear
however long a word is. What one kind took, the kinds after it leave alone. A string is listed whole or not
at all: not one that goes on where its pattern ends, that was cut (`3f78685…`), or longer than `LONGEST`.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import TypeAlias

from snapshot.facts.forms import (
    CHUNK,
    CUT,
    LONG_NUMBER,
    LONGEST,
    NAME,
    PART,
    PATTERNS,
    PROMISING,
    RUN,
    TELLING,
    WORD,
    Kind,
    identifier,
)

__all__ = ["Fact", "Finder", "Kind", "find", "look", "parts_of", "strings_in"]


_SHORTEST_NAME, _LONGEST_NAME = 5, 80


@dataclass(frozen=True, slots=True)
class Fact:
    """An exact string.

    Attributes:
        text: the string.
        kind: what it is by its form. An "identifier" mixes letters and digits or has no vowels, a "name"
            (`drain_events`, `fooBar`, `self.pool`) consists of words; "named" is what a caller asked for.
        offsets: where it stands in the text, ascending.
    """

    text: str
    kind: Kind
    offsets: tuple[int, ...]


def find(text: str, *, names: bool = False) -> tuple[Fact, ...]:
    """The exact strings of `text`, each once, in order of their first place; in linear time.

    Prose is none, nor are words with a hyphen, small numbers, names with a capital, or base64.

    Args:
        text: any text.
        names: whether to take more that only code has, whole: `--flags`, dotted names, `CamelCase`, numbers
            without a separator.
    """
    finder = Finder(names=names)
    finder.feed(text)
    return finder.facts()


class Finder:
    """The exact strings of a text that is looked at piece by piece, as `find` finds them in the whole.

    Pieces may end only behind a newline, and where no mark of something cut goes on in the next.

    Args:
        names: as for `find`.
    """

    def __init__(self, *, names: bool = False) -> None:
        self._names = names
        self._length = self._start = 0
        self._found: dict[str, _Places] = {}
        # What a word is that only its own form tells, by rank.
        self._kinds: defaultdict[int, dict[str, Kind]] = defaultdict(dict)

    def feed(self, text: str) -> None:
        """Look at the piece of text that follows."""
        matches = list(CHUNK.finditer(text))
        chunks = [match[0] for match in matches]
        told = _words.strings_of(chunks)
        offsets: defaultdict[str, list[int]] = defaultdict(list)
        for match, chunk in zip(matches, chunks, strict=True):
            if chunk in told:
                offsets[chunk].append(match.start())
        cuts = _cuts(text)
        begins = [start for start, _ in cuts]
        behind = self._length
        new: defaultdict[str, dict[int, int]] = defaultdict(dict)
        for chunk, starts in offsets.items():
            for inside, found, kind, rank in told[chunk]:
                if rank >= len(PATTERNS):
                    if rank > len(PATTERNS) and not self._names:
                        continue
                    self._kinds[rank][found] = kind
                length, places = len(found), new[found]
                for start in starts:
                    if not (cuts and _touches(start + inside, start + inside + length, cuts, begins)):
                        # A name may be found twice in one place, by what it ends with and as a whole.
                        places.setdefault(behind + start + inside, rank)
        for found, places in new.items():
            if places:
                known = self._found.get(found)
                if known is None:
                    known = self._found[found] = _Places()
                known.add(places)
        self._length += len(text)

    def skip(self, offset: int) -> None:
        """Begin at an offset: what stands before is not looked at."""
        self._length = self._start = offset

    def facts(self) -> tuple[Fact, ...]:
        """All that was found, each once, in order of its first place."""
        return tuple(sorted(self.some(), key=lambda fact: (fact.offsets[0], fact.text)))

    def some(self, start: int = 0) -> list[Fact]:
        """What was found from an offset on, in no certain order; what stands before is forgotten."""
        if start > self._start:
            self._start = start
            self._found = {text: places for text, places in self._found.items() if places.forget(start)}
        return [places.fact(text, self._kind) for text, places in self._found.items()]

    def _kind(self, rank: int, text: str) -> Kind:
        return PATTERNS[rank][0] if rank < len(PATTERNS) else self._kinds[rank][text]


class _Places:
    """Where a string stands, ascending, and the rank of the pattern that found it in each place."""

    __slots__ = ("_fact", "_offsets", "_ranks")

    # Most strings stand in few places: a tuple and bytes are smaller than what grows, and the fact has the
    # same tuple.
    def __init__(self) -> None:
        self._offsets: tuple[int, ...] = ()
        self._ranks = b""
        self._fact: Fact | None = None

    def add(self, places: dict[int, int]) -> None:
        offsets = sorted(places)
        self._offsets += tuple(offsets)
        self._ranks += bytes(map(places.__getitem__, offsets))
        self._fact = None

    def forget(self, start: int) -> bool:
        """Forget what stands before an offset; whether anything is left."""
        if self._offsets[0] < start:
            gone = bisect_left(self._offsets, start)
            self._offsets, self._ranks = self._offsets[gone:], self._ranks[gone:]
            self._fact = None
        return bool(self._offsets)

    def fact(self, text: str, kind: Callable[[int, str], Kind]) -> Fact:
        if self._fact is None:
            self._fact = Fact(text, kind(min(self._ranks), text), self._offsets)
        return self._fact


_String: TypeAlias = tuple[int, str, Kind, int]
"""An exact string in a word: its offset there, itself, its kind, and the rank of that."""


class _Words:
    """The exact strings of the words that were looked at lately; words without any are known as well.

    A text has few different words, and another one much the same, so each is looked at once. No pattern
    reaches over the newline that parts two words, so what is in one depends on nothing beside it.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[_String, ...]] = {}

    def strings_of(self, words: Collection[str]) -> dict[str, tuple[_String, ...]]:
        """The words that have exact strings, in no certain order, each with these, the lowest rank first."""
        known = self._known
        different = set(words)
        new = [word for word in different if word not in known]
        made: dict[str, tuple[_String, ...]] = dict.fromkeys(new, ())
        promising = [word for word in new if PROMISING.search(word)]
        for word, strings in _in_words(promising):
            made[word] = strings
        found = {word: strings for word in different if (strings := made.get(word) or known.get(word))}
        if len(known) + len(made) > _WORDS_KNOWN:
            self._known = known = {}
        known.update((word, strings) for word, strings in made.items() if len(word) <= LONGEST)
        return found


def _in_words(words: Sequence[str]) -> Iterator[tuple[str, tuple[_String, ...]]]:
    """Each word that has exact strings, with these."""
    starts = list(accumulate((len(word) + 1 for word in words), initial=0))
    found: defaultdict[int, list[_String]] = defaultdict(list)
    for at, text, kind, rank in _strings("\n".join(words)):
        number = bisect_right(starts, at) - 1
        found[number].append((at - starts[number], text, kind, rank))
    for number, strings in found.items():
        yield words[number], tuple(strings)


def _strings(text: str) -> Iterator[_String]:
    """Each exact string of a text without repetitions, with its offset, its kind, and the rank of that."""
    taken = bytearray(len(text))
    for rank, (kind, pattern, trimmed) in enumerate(PATTERNS):
        for match in pattern.finditer(text):
            whole = match[0]
            if len(whole) > 4 * LONGEST:
                taken[match.start() : match.end()] = b"\1" * len(whole)
            elif (found := trimmed(whole)) and taken.find(1, match.start(), match.end()) < 0:
                start = match.start() + whole.index(found)
                taken[start : start + len(found)] = b"\1" * len(found)
                if len(found) <= LONGEST:
                    yield start, found, kind, rank
    for rank, (pattern, judge) in enumerate(_JUDGES, len(PATTERNS)):
        for match in pattern.finditer(text):
            known = judge(match[0])
            if known and taken.find(1, match.start(), match.end()) < 0:
                yield match.start(), *known, rank


# Words, and exact strings, of which it is kept what they are: bounds memory.
_WORDS_KNOWN = 1 << 16


def _code_name(found: str) -> tuple[str, Kind] | None:
    name = found.rstrip("-")
    if name[0].isdigit():
        return (name, "number" if len(name) < LONG_NUMBER else "identifier")
    if not _SHORTEST_NAME <= len(name) <= _LONGEST_NAME:
        return None
    telling = TELLING.search(name) or (len(name) > _SHORTEST_NAME and "-" in name)
    return (name, "name") if telling else None


_JUDGES = (WORD, identifier), (NAME, _code_name)
_words = _Words()


@lru_cache(maxsize=1 << 11)
def strings_in(text: str) -> frozenset[str]:
    """The exact strings of a text, and what stands whole in them."""
    if CUT.search(text):
        whole = {fact.text for fact in find(text, names=True)}
    else:  # where nothing was cut, those of the words are all there are
        told = _words.strings_of(CHUNK.findall(text))
        whole = {found for strings in told.values() for _, found, _, _ in strings}
    return frozenset(whole.union(*map(parts_of, whole)))


@lru_cache(maxsize=_WORDS_KNOWN)
def parts_of(text: str) -> frozenset[str]:
    """What stands whole in an exact string: `pool`, `self.pool` and `pool.size` in `self.pool.size`.

    Runs of up to `RUN` words, not the string itself, which makes them linear in its length.
    """
    spans = [match.span() for match in PART.finditer(text)]
    if len(spans) < 2:
        start, stop = spans[0] if spans else (0, 0)
        return frozenset((text[start:stop],) if stop - start not in (0, len(text)) else ())
    found: set[str] = set()
    for number, (start, _) in enumerate(spans):
        found.update(text[start:stop] for _, stop in spans[number : number + RUN])
        # A path may begin with its separator.
        if start and text[start - 1] in "/~":
            found.update(text[start - 1 : stop] for _, stop in spans[number : number + RUN])
    found.discard(text)
    return frozenset(found)


def _cuts(text: str) -> list[tuple[int, int]]:
    """The half-open spans of marks of something cut, ascending."""
    found: list[tuple[int, int]] = []
    for match in CUT.finditer(text):
        start, stop = match.span()
        in_words = text[start] not in "…."
        found.append((start - (in_words and text[start - 1 : start] == "\n"), stop))
    return found


def _touches(start: int, stop: int, cuts: Sequence[tuple[int, int]], begins: Sequence[int]) -> bool:
    """Whether a span meets one of the cuts, which begin there."""
    number = bisect_right(begins, stop) - 1
    return number >= 0 and cuts[number][1] >= start


_LOOK = str.maketrans("OolI|SBZb", "001115826")
_PAIRS = re.compile("rn|vv|cl")


@lru_cache(maxsize=_WORDS_KNOWN)
def look(text: str) -> str:
    """What look-alikes have in common: 0 O o, 1 l I |, 5 S, 8 B, 2 Z, 6 b, rn m, vv w, cl d."""
    return _PAIRS.sub(lambda pair: {"rn": "m", "vv": "w", "cl": "d"}[pair[0]], text).translate(_LOOK)
