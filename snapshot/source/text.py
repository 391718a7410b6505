"""Source text with its structure: marks, the span of each message, what was elided or said once."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from snapshot.source.marks import ELIDED, REPEAT

__all__ = [
    "Elision",
    "Lineage",
    "Moved",
    "Repeat",
    "Source",
    "beginning_of",
    "marks_of",
    "slice_of",
    "whole_messages",
]


@dataclass(frozen=True, slots=True)
class Elision:
    """Something that source text only names: where its mark starts, what it is, how many bytes it had."""

    offset: int
    media_type: str
    size: int


@dataclass(frozen=True, slots=True)
class Repeat:
    """A reference to lines that were shown before, or the mark of a run of random characters.

    Attributes:
        start, stop: half-open span of the reference or mark in source text.
        original_start, original_stop: half-open span that it stands for in the text without any.
    """

    start: int
    stop: int
    original_start: int
    original_stop: int


class Lineage:
    """What sources have in common of which each goes on, by whole messages, where a shorter one ended."""

    __slots__ = ("__weakref__",)


@dataclass(frozen=True, slots=True)
class Source:
    """Source text with its structure.

    Attributes:
        text: the text. It may hold lone surrogates, where the transcript did.
        marks: offsets of the characters that are marks and no content, ascending.
        spans: half-open span of each message of the transcript, in order; they partition `text`.
        elisions: what was replaced by its description.
        repeats: references to earlier lines, and what of the original text each stands for (see
            `snapshot.source.repeats`); marks of runs are among them (`snapshot.source.run_marks`).
        runs: the runs of random characters of the whole original text, each once: mark N is of `runs[N - 1]`.
        lineage: of which it is, where that is known: it saves comparing texts. A source that is changed has
            none.
    """

    text: str
    marks: tuple[int, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()
    elisions: tuple[Elision, ...] = ()
    repeats: tuple[Repeat, ...] = ()
    runs: tuple[str, ...] = ()
    lineage: Lineage | None = field(default=None, repr=False, compare=False)

    @property
    def references(self) -> tuple[Repeat, ...]:
        """Those of `repeats` that are references to earlier lines."""
        if not self.runs:
            return self.repeats
        return tuple(one for one in self.repeats if self.text[one.start] == REPEAT)

    def place_of_run(self, number: int) -> int:
        """Offset of the first mark of a run; -1 where there is none."""
        mark = f"{ELIDED}{number}{ELIDED}"
        return next((one.start for one in self.repeats if self.text.startswith(mark, one.start)), -1)


def slice_of(source: Source, start: int, stop: int) -> Source:
    """The half-open span of a source as a source of its own; spans, elisions and repeats are left behind."""
    low, high = bisect_left(source.marks, start), bisect_left(source.marks, stop)
    return Source(source.text[start:stop], tuple(mark - start for mark in source.marks[low:high]))


def beginning_of(source: Source, offset: int) -> Source:
    """The source as it was when the message that stands before an offset had come: all of it where none ends
    behind that."""
    count = bisect_left(source.spans, offset, key=lambda span: span[1]) + 1
    if count >= len(source.spans) or source.repeats:
        return source
    stop = source.spans[count - 1][1]
    return Source(
        source.text[:stop],
        source.marks[: bisect_left(source.marks, stop)],
        source.spans[:count],
        source.elisions[: bisect_left(source.elisions, stop, key=lambda elision: elision.offset)],
        lineage=source.lineage,
    )


def whole_messages(source: Source, start: int, size: int) -> Iterator[tuple[int, int]]:
    """Half-open spans of a source's text from the start of a message on, each of whole messages and, but for
    the last, of at least so many characters: what is looked at in one go, where memory has to be bounded."""
    length = len(source.text)
    while start < length:
        at = bisect_left(source.spans, start + size, key=lambda span: span[1])
        stop = max(source.spans[at][1], start) if at < len(source.spans) else length
        yield start, stop
        start = stop


def marks_of(text: str, repeat: Repeat) -> Iterator[int]:
    """Offsets of the marks that a reference in a text has, or the mark of a run."""
    yield repeat.start
    if text[repeat.start] == ELIDED:
        yield text.index(ELIDED, repeat.start + 1)
        yield repeat.stop - 1


class Moved:
    """Offsets of the original text in the folded one; offsets inside a block are not asked for."""

    def __init__(self, repeats: Sequence[Repeat]) -> None:
        self._stops = [repeat.original_stop for repeat in repeats]
        self._shifts = [0, *(repeat.stop - repeat.original_stop for repeat in repeats)]

    def __call__(self, offset: int) -> int:
        """The offset in the folded text."""
        return offset + self._shifts[bisect_right(self._stops, offset)]

    def all(self, offsets: Sequence[int]) -> list[int]:
        """The offsets in the folded text, in the same order."""
        given = np.array(offsets, np.int64)
        return (given + np.array(self._shifts)[np.searchsorted(self._stops, given, "right")]).tolist()
