"""The lines of a source text that grows at its end: which are alike, and where three in a row stood before.

Lines are compared by their hashes, in arrays; whoever goes by what is found here compares the texts
themselves before anything is written. With `numbered`, three in a row are also those that stood before with
other line numbers, or with none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from snapshot.source.codepoints import distinct
from snapshot.source.line_numbers import numbered as with_numbers
from snapshot.source.line_numbers import prefix
from snapshot.source.marks import SCOPE
from snapshot.source.text import Source

__all__ = ["FEWEST", "KnownLines", "follows"]

FEWEST = 3
"""Lines of the shortest block. What two texts have in common by chance is seldom longer than two."""

# Characters, and lines, that are looked at in one go: bounds memory.
_AT_ONCE, _LINES = 1 << 20, 1 << 17
# Lines that a page may print as more than one, for their carriage returns, and lines that it prints otherwise
# at the end of an entry, for a control string that nothing ends.
_RETURNS = re.compile(r"\r(?!\r*\n)")
_OPEN = re.compile(r"\x1b[\]PX^_][^\x07\x1b]*\Z")
# What may be printed otherwise where it does not begin a line.
_CONTROL = re.compile(r"[^\t\n -~\xa0-\U0010ffff]")

_Numbers = NDArray[Any]


def _place(values: _Numbers, number: int, side: Literal["left", "right"] = "left") -> int:
    """Where a number stands among sorted ones; of another type than theirs, all of them would be copied."""
    return int(values.searchsorted(values.dtype.type(number), side))


class _Column:
    """Numbers, one for each line, that are added at the end."""

    def __init__(self, kind: type[np.int64 | np.int32] = np.int32) -> None:
        self._room: _Numbers = np.empty(0, kind)
        self.values: _Numbers = self._room

    def add(self, values: Any) -> None:
        size = len(self.values)
        more = size + len(values)
        if more > len(self._room):
            room: _Numbers = np.empty(max(more, min(2 * size, size + _LINES)), self._room.dtype)
            room[:size] = self.values
            self._room = room
        self._room[size:more] = values
        self.values = self._room[:more]


class _Places:
    """Where each key stands last: sorted arrays, each at least twice as long as the next."""

    def __init__(self) -> None:
        self._levels: list[tuple[_Numbers, _Numbers]] = []

    def add(self, keys: _Numbers, places: _Numbers) -> _Numbers:
        """Take in keys with their places, all behind those known; for each the place before it, or -1."""
        if not len(keys):
            return keys
        order = np.argsort(keys, kind="stable")
        ordered, at = keys[order], places[order]
        before = np.full(len(keys), -1, np.int64)
        again = np.flatnonzero(ordered[1:] == ordered[:-1])
        before[order[again + 1]] = at[again]
        for level_keys, level_places in reversed(self._levels):
            wanted = np.flatnonzero(before < 0)
            found = np.searchsorted(level_keys, keys[wanted], "right") - 1
            same = (found >= 0) & (level_keys[found] == keys[wanted])
            before[wanted[same]] = level_places[found[same]]
        last = np.append(ordered[1:] != ordered[:-1], True)
        self._levels.append((ordered[last], at[last]))
        while len(self._levels) > 1 and len(self._levels[-2][0]) < 2 * len(self._levels[-1][0]):
            self._merge()
        return before

    def _merge(self) -> None:
        (older, its_places), (newer, new_places) = self._levels[-2:]
        keys = np.concatenate((older, newer))
        order = np.argsort(keys, kind="stable")  # two sorted halves: merged in linear time
        keys = keys[order]
        last = np.append(keys[1:] != keys[:-1], True)
        places = np.concatenate((its_places, new_places))[order]
        self._levels[-2:] = [(keys[last], places[last])]


class KnownLines:
    """The lines of a source.

    Args:
        numbered: whether lines may be linked to ones with other numbers before them.

    Attributes:
        source: the source.
    """

    def __init__(self, *, numbered: bool = False) -> None:
        self.source = Source("")
        self._starts, self._ids = _Column(np.int64), _Column(np.int64)
        self._numbered = numbered
        self._sections, self._before = _Column(), _Column()
        # Lines that a page may print as several.
        self._returns = _Column()
        # The first line of each run that may be of one block; where messages end.
        self._edges, self._stops = _Column(), _Column(np.int64)
        # Sections that a mark opens, and its offset.
        self._opened, self._heads = _Column(), _Column(np.int64)
        self._places = _Places()
        self._scopes = 0

    @property
    def starts(self) -> _Numbers:
        """Offset of each line."""
        return self._starts.values

    @property
    def ids(self) -> _Numbers:
        """A number for each line, the same for equal ones; -1 for one that has a mark, or which a page may
        part or join with others: it is never a part of a block."""
        return self._ids.values

    @property
    def sections(self) -> _Numbers:
        """Number of each line's entry."""
        return self._sections.values

    @property
    def before(self) -> _Numbers:
        """For each the newest line before it that begins with the same `FEWEST` lines in one entry, or with
        the same but for their numbers; -1 where there is none."""
        return self._before.values

    def start(self, number: int) -> int:
        """Offset of a line; of the one behind the last, the end of the text."""
        starts = self.starts
        return int(starts[number]) if number < len(starts) else len(self.source.text)

    def line(self, number: int) -> str:
        """The text of a line, with the newline that ends it."""
        return self.source.text[self.start(number) : self.start(number + 1)]

    def limit(self, number: int) -> int:
        """The first line behind `number` that cannot be of one block with it."""
        edges = self._edges.values
        at = _place(edges, number, "right")
        return int(edges[at]) if at < len(edges) else len(self.starts)

    def returns(self, number: int) -> int:
        """How many lines before one a page may print as several."""
        return _place(self._returns.values, number)

    def head(self, number: int) -> str:
        """What stands behind the mark that opens the section of a line, up to the end of that line."""
        section, opened = self.sections[number], self._opened.values
        at = _place(opened, section)
        if at == len(opened) or opened[at] != section:
            return ""
        text, mark = self.source.text, int(self._heads.values[at])
        end = text.find("\n", mark)
        return text[mark + 1 : end + 1 if end >= 0 else len(text)]

    def alike(self, one: int, other: int, most: int) -> int:
        """How many lines from two lines on are the same, at most so many."""
        ids = self.ids
        size = 0
        step = 32
        while size < most:
            stop = min(most, size + step)
            differ = ids[one + size : one + stop] != ids[other + size : other + stop]
            at = int(differ.argmax())
            if differ[at]:
                size += at
                break
            size, step = stop, step * 8
        # Equal hashes are hardly ever of different lines, but only the texts can say so.
        while size and not self._same_text(one, other, size):
            size -= 1
        return size

    def alike_but_for_numbers(self, one: int, other: int, most: int) -> int:
        """How many lines from two lines on are the same, at most so many, if the numbers before those of
        `one` are taken away, and numbers put before them that count up from that of `other`, if it has any.
        """
        size = 0
        numbers = prefix(self.line(other))
        if not numbers and not prefix(self.line(one)):
            return 0
        lines = (self.line(one + at) for at in range(most))
        told = (line[len(prefix(line)) :] for line in lines)
        for line in with_numbers(told, numbers) if numbers else told:
            if line != self.line(other + size) or _CONTROL.search(line):
                break
            size += 1
        return size

    def _same_text(self, one: int, other: int, size: int) -> bool:
        text = self.source.text
        return (
            text[self.start(one) : self.start(one + size)]
            == text[self.start(other) : self.start(other + size)]
        )

    def follow(self, source: Source) -> None:
        """Take in what is new in a source that goes on from the one before (see `follows`)."""
        old, self.source = self.source, source
        stops = distinct(np.array([stop for _, stop in source.spans[len(old.spans) :]], np.int64))
        self._stops.add(stops[stops > self._stops.values[-1:].max(initial=-1)])
        marks = np.array(source.marks[len(old.marks) :], np.int64)
        first = len(self.starts)
        taken = [self._take(start, texts, marks) for start, texts in _pieces(source.text, len(old.text))]
        # New lines begin an entry, so that those known are of no block with them.
        self._link(first, np.concatenate(taken) if self._numbered and taken else self.ids[first:])

    def _take(self, start: int, texts: Sequence[str], marks: _Numbers) -> _Numbers:
        """Take in lines, the first of which begins at `start`; gives the numbers by which they are linked."""
        size = len(texts)
        first = len(self.starts)
        stops = self._stops.values
        ends = np.fromiter(map(len, texts), np.int64, size).cumsum() + start
        starts = np.concatenate((np.array([start], np.int64), ends[:-1]))
        ids = np.fromiter(map(hash, texts), np.int64, size)
        parted = np.zeros(size, bool)
        broken = np.searchsorted(stops, ends, "left") > np.searchsorted(stops, starts, "right")
        for number, text in enumerate(texts):
            if "\r" in text and _RETURNS.search(text):
                parted[number] = broken[number] = True
            elif "\x1b" in text and _OPEN.search(text):
                broken[number] = True
        bare = _bare_ids(ids, texts) if self._numbered else ids
        low, high = np.searchsorted(marks, (start, ends[-1]))
        marked = np.searchsorted(ends, marks[low:high], "right")
        broken[marked] = True
        lines, firsts = np.unique(marked, return_index=True)
        opens = np.zeros(size, np.int64)
        heads = list(zip(lines.tolist(), marks[low:high][firsts].tolist(), strict=True))
        for line, mark in heads:
            opens[line] = self.source.text[mark] == SCOPE
        scopes = opens.cumsum() + self._scopes
        sections = np.searchsorted(stops, ends, "left") + scopes
        opened = [(sections[line], mark) for line, mark in heads if opens[line]]
        self._opened.add([section for section, _ in opened])
        self._heads.add([mark for _, mark in opened])
        ids[broken] = bare[broken] = -1
        self._starts.add(starts)
        self._ids.add(ids)
        former = self.sections[-1:] if first else sections[:1]
        self._sections.add(sections)
        self._returns.add(np.flatnonzero(parted) + first)
        edges = broken | (np.diff(sections, prepend=former) != 0)
        self._edges.add(np.flatnonzero(edges) + first)
        self._scopes = int(scopes[-1])
        return bare

    def _link(self, first: int, ids: _Numbers) -> None:
        """Find for the lines from `first` on, which begin an entry, where their first ones stood before: by
        their numbers, those in `ids`."""
        sections = self.sections[first:]
        self._before.add(np.full(len(ids), -1, np.int64))
        for start in range(0, len(ids) - FEWEST + 1, _LINES):
            stop = min(start + _LINES, len(ids) - FEWEST + 1)
            # Three hashes as one: products with odd numbers lose nothing.
            keys = ids[start:stop].astype(np.uint64)
            valid = (ids[start:stop] != -1) & (
                sections[start:stop] == sections[start + FEWEST - 1 : stop + FEWEST - 1]
            )
            for more in range(1, FEWEST):
                following = ids[start + more : stop + more]
                valid &= following != -1
                keys = (keys ^ (keys >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
                keys += following.astype(np.uint64)
            places = np.flatnonzero(valid).astype(np.int32)
            found = self._places.add(keys[places].astype(np.int64), places + (first + start))
            self.before[first + start + places] = found


def follows(source: Source, known: Source) -> bool:
    """Whether a source goes on from a known one with whole entries, or is the same."""
    if source is known or not known.text:
        return True
    if source.lineage is not None and source.lineage is known.lineage:
        return len(source.text) >= len(known.text)
    size, marks, spans = len(known.text), len(known.marks), len(known.spans)
    if not source.text.startswith(known.text) or source.repeats or known.repeats:
        return False
    if len(source.text) > size and not (
        known.text.endswith("\n") and known.spans and known.spans[-1][1] == size
    ):
        return False
    return (
        source.spans[:spans] == known.spans
        and source.marks[:marks] == known.marks
        and all(mark >= size for mark in source.marks[marks : marks + 1])
        and source.elisions[: len(known.elisions)] == known.elisions
    )


def _bare_ids(ids: _Numbers, texts: Sequence[str]) -> _Numbers:
    """The numbers of lines without the line numbers that stand before them."""
    bare = ids.copy()
    for number, text in enumerate(texts):
        if before := prefix(text):
            bare[number] = hash(text[len(before) :])
    return bare


def _pieces(text: str, start: int) -> Iterator[tuple[int, list[str]]]:
    """The lines of a text from an offset on, each with the newline that ends it, by the piece."""
    while start < len(text):
        stop = text.rfind("\n", start, start + _AT_ONCE) + 1 or text.find("\n", start) + 1 or len(text)
        yield start, _split(text[start:stop])
        start = stop


def _split(text: str) -> list[str]:
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]
