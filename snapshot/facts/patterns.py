"""Exact strings in a text, by their form: hashes, UUIDs, URLs, paths, versions, numbers, identifiers, …

A text has few different words, so it is split at blanks and each word is looked at once. Every pattern
starts behind a character that cannot belong to it and takes what it takes for good, so the time is linear
however long a word is. What one kind took, the kinds after it leave alone. A string is listed whole or not
at all: not one that goes on where its pattern ends, that was cut (`3f78685…`), or longer than `LONGEST`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, compress
from typing import TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

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

__all__ = ["KINDS", "Fact", "Finder", "Kind", "Places", "find", "look", "parts_of", "strings_in"]


KINDS: tuple[Kind, ...] = get_args(Kind)
_KIND_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}
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
        # Different strings, each with its number.
        self.texts: list[str] = []
        self.numbers: dict[str, int] = {}
        self.places = _NO_PLACES

    def feed(self, text: str) -> Places:
        """Look at the piece of text that follows; what is found in it."""
        matches = list(CHUNK.finditer(text))
        words = [match[0] for match in matches]
        told = _words.strings_of(words)
        mine = [word in told for word in words]
        starts = np.array([match.start() for match in compress(matches, mine)], np.int64)
        rows = {word: row for row, word in enumerate(told)}
        at = np.array([rows[word] for word in compress(words, mine)], np.int64)
        first, strings = self._numbered(told.values())
        counts = np.diff(first)[at]
        # Each occurrence of a word stands for one of each of its strings.
        which: NDArray[np.int64] = np.arange(int(counts.sum())) + np.repeat(
            first[at] - np.cumsum(counts) + counts, counts
        )
        inside, numbers, forms, sizes = (column[which] for column in strings)
        offsets = np.repeat(starts, counts) + inside
        kept = np.argsort(offsets, kind="stable")
        if cuts := _cuts(text):
            kept = kept[~_touching(offsets[kept], offsets[kept] + sizes[kept], np.array(cuts, np.int64))]
        new = Places(offsets[kept] + self._length, numbers[kept], forms[kept])
        self.places = self.places.joined(new)
        self._length += len(text)
        return new

    def _numbered(self, told: Iterable[Sequence[_String]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the strings of each word begin, and of each its offset in the word, number, form and size."""
        first, found = [0], list[tuple[int, int, int, int]]()
        for strings in told:
            # A name may be found twice in one place, by what it ends with and as a whole.
            known: dict[tuple[int, str], int] = {}
            for inside, text, kind, rank in strings:
                if self._names or rank <= len(PATTERNS):
                    known.setdefault((inside, text), rank * len(KINDS) + _KIND_NUMBERS[kind])
            for (inside, text), form in known.items():
                number = self.numbers.get(text)
                if number is None:
                    number = self.numbers[text] = len(self.texts)
                    self.texts.append(text)
                found.append((inside, number, form, len(text)))
            first.append(len(found))
        return np.array(first, np.int64), np.array(found, np.int64).reshape(-1, 4).T

    def skip(self, offset: int) -> None:
        """Begin at an offset: what stands before is not looked at."""
        self._length = self._start = offset

    def forget(self, start: int) -> None:
        """Forget what stands before an offset. Strings have other numbers where `texts` is another list."""
        if start <= self._start:
            return
        self._start = start
        self.places = self.places.behind(start)
        left = np.bincount(self.places.numbers, minlength=len(self.texts)) > 0
        if 2 * int(left.sum()) < len(self.texts):
            numbers = np.cumsum(left) - 1
            self.places = replace(self.places, numbers=numbers[self.places.numbers])
            self.texts = [self.texts[number] for number in np.flatnonzero(left).tolist()]
            self.numbers = {text: number for number, text in enumerate(self.texts)}

    def kinds(self) -> NDArray[np.int64]:
        """The place in `KINDS` of each string's kind: that of the first pattern that found it anywhere."""
        lowest = np.full(len(self.texts), len(KINDS) * (len(PATTERNS) + len(_JUDGES)))
        np.minimum.at(lowest, self.places.numbers, self.places.forms)
        return lowest % len(KINDS)

    def facts(self) -> tuple[Fact, ...]:
        """All that was found, each once, in order of its first place."""
        kinds = self.kinds()
        offsets: defaultdict[int, list[int]] = defaultdict(list)
        for number, offset in zip(self.places.numbers.tolist(), self.places.offsets.tolist(), strict=True):
            offsets[number].append(offset)
        found = (Fact(self.texts[at], KINDS[int(kinds[at])], tuple(places)) for at, places in offsets.items())
        return tuple(sorted(found, key=lambda fact: (fact.offsets[0], fact.text)))


@dataclass(frozen=True, slots=True)
class Places:
    """Where strings stand in a text, ascending: arrays of one length.

    Attributes:
        offsets: of each place.
        numbers: of the string that stands there.
        forms: the rank of the pattern that found it, times the number of kinds, and the kind.
    """

    offsets: NDArray[np.int64]
    numbers: NDArray[np.int64]
    forms: NDArray[np.int64]

    def joined(self, other: Places) -> Places:
        """These and those of a piece that follows."""
        pairs = zip(self._arrays(), other._arrays(), strict=True)
        return Places(*map(np.concatenate, pairs))

    def behind(self, start: int) -> Places:
        """Those from an offset on."""
        at = np.searchsorted(self.offsets, start)
        return Places(*(array[at:].copy() for array in self._arrays()))

    def _arrays(self) -> tuple[NDArray[np.int64], ...]:
        return self.offsets, self.numbers, self.forms


_NO_PLACES = Places(*(np.zeros(0, np.int64) for _ in range(3)))


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


def _touching(
    starts: NDArray[np.int64], stops: NDArray[np.int64], cuts: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Which spans meet one of the cuts, which are ascending rows of start and stop."""
    before = np.searchsorted(cuts[:, 0], stops, "right") - 1
    return (before >= 0) & (cuts[before, 1] >= starts)


_LOOK = str.maketrans("OolI|SBZb", "001115826")
_PAIRS = re.compile("rn|vv|cl")


@lru_cache(maxsize=_WORDS_KNOWN)
def look(text: str) -> str:
    """What look-alikes have in common: 0 O o, 1 l I |, 5 S, 8 B, 2 Z, 6 b, rn m, vv w, cl d."""
    return _PAIRS.sub(lambda pair: {"rn": "m", "vv": "w", "cl": "d"}[pair[0]], text).translate(_LOOK)
