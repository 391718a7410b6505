"""Blocks of lines that were shown before, said once: each later time is a reference to the first.

A run of lines that stands word for word earlier in the source becomes one line,

    ⇐29 lines as 412 lines up in result 7: def parse(self, text):

which says how many lines stood there, how many lines above the reference the first of them stands, and, for
the reader, in which entry and how the block begins: with words that tell it from others, so that a line of
quotes or a bracket is followed by … and the first one that says more. A block that is said several times over
says so, and a run of one line is that line and a count:

    ⇐3 lines 57 times as 3 lines up in result 7: waiting for the server
    ⇐the line above, 57 times more

References go to earlier text that is itself shown in full, never to another reference, never to what
stands before `visible_from`, and not over lines that a terminal's carriage returns may part or join, so that
they hold for what a page prints as well. Each depends on nothing behind its own entry, so that a source that
grows by whole entries keeps the text it had. The mark is real only where `Source.marks` says so: no source
forges one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from snapshot.source.marks import FIELD, REPEAT, SCOPE
from snapshot.source.text import Elision, Repeat, Source

__all__ = ["expand_repeats", "fold_repeats", "folded_offset", "original_span"]

# Lines of the shortest block. What two texts have in common by chance is seldom longer than two.
_FEWEST = 3
# A reference must be shorter than what it stands for by this factor: to look up costs the reader something.
_PAYS = 3
# Earlier places that a block is compared with, the newest ones, and characters shown of its first words.
_PLACES = 8
_WORDS, _LABEL = 40, 40
_TELLING = 6  # letters and digits of words that tell one block from others
# Lines that a page may print as more than one, for their carriage returns, and lines that it prints otherwise
# at the end of an entry, for a control string that nothing ends.
_RETURNS = re.compile(r"\r(?!\r*\n)")
_OPEN = re.compile(r"\x1b[\]PX^_][^\x07\x1b]*\Z")
_SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_REFERENCE = re.compile(
    rf"{REPEAT}(?:the line above, (?P<more>\d+) times? more"
    r"|(?P<lines>\d+) lines(?: (?P<times>\d+) times)? as (?P<up>\d+) lines up.*)\n"
)


def fold_repeats(source: Source, *, visible_from: int = 0, borders: Sequence[int] = ()) -> Source:
    """The source with references in place of blocks that it has shown before.

    Spans, marks and elisions are those of the new text; `repeats` says what each reference stands for.

    Args:
        source: source text without references.
        visible_from: offset in it from which on the reader sees it. What stands before stays as it is, and
            nothing refers to it.
        borders: offsets in it that no reference goes over, ascending: what stands behind one is folded as if
            it were visible from there on.
    """
    lines = _Lines(source, visible_from, borders)
    writer = _Writer(source, lines)
    number = 0
    while number < len(lines.ids):
        number = writer.take(number)
    return writer.source()


def expand_repeats(text: str, marks: Iterable[int], *, most: int | None = None) -> str:
    """The text that `fold_repeats` was given, from the one that it gave and the offsets of its marks.

    Args:
        text: folded text.
        marks: offsets in it of its marks, those of references among them.
        most: characters that it may become; None: any.

    Raises:
        ValueError: a reference goes to what is not there (the text is only a part, or no folded one), or
            there would be more than `most` characters.
    """
    genuine = {mark for mark in marks if text[mark] == REPEAT}
    shown = _split(text)
    original: list[str] = []
    offset = length = 0
    for number, line in enumerate(shown):
        match = _REFERENCE.fullmatch(line) if offset in genuine else None
        offset += len(line)
        if match is None:
            original.append(line)
            length += len(line)
            continue
        if match["more"]:
            lines, times, up = 1, int(match["more"]), 1
        else:
            lines, times, up = int(match["lines"]), int(match["times"] or 1), int(match["up"])
        if not 0 < lines <= up <= number:
            raise ValueError(f"line {number + 1} refers to {lines} lines that are {up} lines up")
        block = shown[number - up : number - up + lines]
        length += sum(map(len, block)) * times
        if most is not None and length > most:
            raise ValueError(f"line {number + 1} makes more than {most:,} characters of the text")
        original += block * times
    return "".join(original)


def original_span(source: Source, start: int, stop: int) -> tuple[int, int]:
    """The half-open span of the original text that a span of a folded source stands for.

    The spans of pages that follow each other follow each other too: a reference that goes over the end of a
    page belongs to the page that it begins on.
    """
    return _original(source.repeats, start), _original(source.repeats, stop)


def folded_offset(source: Source, offset: int) -> int:
    """Where what stands at an offset of the original text begins in a folded source.

    For what is inside a block that was said before, that is behind the reference to it.
    """
    repeats = source.repeats
    place = bisect_right(repeats, offset, key=lambda repeat: repeat.original_start) - 1
    if place < 0:
        return offset
    repeat = repeats[place]
    if offset == repeat.original_start:
        return repeat.start
    return repeat.stop + max(0, offset - repeat.original_stop)


def _original(repeats: Sequence[Repeat], offset: int) -> int:
    place = bisect_right(repeats, offset, key=lambda repeat: repeat.start) - 1
    if place < 0:
        return offset
    repeat = repeats[place]
    if offset == repeat.start:
        return repeat.original_start
    return repeat.original_stop + max(0, offset - repeat.stop)


def _split(text: str) -> list[str]:
    """The lines of a text, each with the newline that ends it."""
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


class _Lines:
    """The lines of a source.

    Attributes:
        texts: each with its newline.
        ids: a number for each, the same for equal lines; -1 for one that has a mark, or stands out of view:
            it is never a part of a block.
        sizes: by id, the cells that a line about takes: without its indentation, which is one mark.
        sections: number of the entry that each stands in.
        starts: offset of each.
        returns: lines before each that a page may print as more than one line.
        fences: numbers of the lines before which a border is.
    """

    def __init__(self, source: Source, visible_from: int, borders: Sequence[int]) -> None:
        self.texts = _split(source.text)
        self.ids: list[int] = []
        self.sizes: list[int] = []
        self.sections: list[int] = []
        self.starts: list[int] = []
        self.returns: list[int] = []
        self.labels: list[str] = [""]
        self.fences: set[int] = set()
        known: dict[str, int] = {}
        marks, ends = deque(source.marks), deque(sorted({stop for _, stop in source.spans}))
        fences = deque(borders)
        offset = section = returns = 0
        for number, text in enumerate(self.texts):
            end = offset + len(text)
            while fences and fences[0] <= offset:
                fences.popleft()
                self.fences.add(number)
                section += 1
                self.labels.append(self.labels[-1])
            parted = "\r" in text and _RETURNS.search(text) is not None
            broken = parted or ("\x1b" in text and _OPEN.search(text) is not None)
            broken = broken or bool(fences and fences[0] < end)
            while ends and ends[0] < end:
                broken = ends.popleft() > offset or broken
                section += 1
                self.labels.append("")
            if marks and marks[0] < end:
                broken = True
                if source.text[marks[0]] == SCOPE:
                    section += 1
                    self.labels.append(_label(text[marks[0] - offset + 1 :]))
                while marks and marks[0] < end:
                    marks.popleft()
            if broken or offset < visible_from:
                self.ids.append(-1)
            else:
                id_ = known.setdefault(text, len(known))
                if id_ == len(self.sizes):
                    self.sizes.append(len(text.lstrip(" ")) + (text[0] == " "))
                self.ids.append(id_)
            self.sections.append(section)
            self.starts.append(offset)
            self.returns.append(returns)
            returns += parted
            offset = end


def _label(head: str) -> str:
    """What an entry is called, from the words behind its mark."""
    return _words(head.partition(FIELD)[0], _LABEL)


def _first_words(lines: Sequence[str]) -> str:
    """How a block begins, in words that tell it from others."""
    said = filter(None, (_words(text, _WORDS) for text in lines))
    words = next(said, "")
    if _is_telling(words):
        return words
    more = next(filter(_is_telling, said), "")
    return _words(f"{words} … {more}", _WORDS) if more else words


def _is_telling(words: str) -> bool:
    return sum(map(str.isalnum, words)) >= _TELLING


def _words(text: str, most: int) -> str:
    """The start of a text as words of one line, without what would not be printed."""
    shown = _SEQUENCE.sub("", text[: 4 * most])
    return " ".join("".join(char if char.isprintable() else " " for char in shown).split())[:most].rstrip()


@dataclass(slots=True)
class _Writer:
    """Puts the folded source together, line by line."""

    given: Source
    lines: _Lines
    pieces: list[str] = field(default_factory=list)
    repeats: list[Repeat] = field(default_factory=list)
    length: int = 0
    # By line of the new text: its id, -1 where it is no part of a block, and the line that it was.
    ids: list[int] = field(default_factory=list)
    origins: list[int] = field(default_factory=list)
    places: dict[tuple[int, ...], deque[int]] = field(default_factory=dict)

    def take(self, number: int) -> int:
        """Write the line `number`, or a reference for it and those behind it; the number of the next line."""
        ids, sections = self.lines.ids, self.lines.sections
        if number in self.lines.fences:
            self.places.clear()
        if ids[number] < 0:
            self._keep(number)
            return number + 1
        size, place = self._longest(number)
        if size >= _FEWEST:
            times = self._times(number, size)
            if self._refer(number, number + size * times, self._block(size, times, place)):
                return number + size * times
        self._keep(number)
        stop = number + 1
        while stop < len(ids) and ids[stop] == ids[number] and sections[stop] == sections[number]:
            stop += 1
        more = stop - number - 1
        if more >= _FEWEST - 1:
            reference = f"{REPEAT}the line above, {more} times more\n"
            if self._refer(number + 1, stop, reference):
                return stop
        return number + 1

    def source(self) -> Source:
        """What was written."""
        given, repeats = self.given, tuple(self.repeats)
        moved = _Moved(repeats)
        marks = sorted([*(moved(mark) for mark in given.marks), *(repeat.start for repeat in repeats)])
        return replace(
            given,
            text="".join(self.pieces),
            marks=tuple(marks),
            spans=tuple((moved(start), moved(stop)) for start, stop in given.spans),
            elisions=tuple(
                Elision(moved(item.offset), item.media_type, item.size) for item in given.elisions
            ),
            repeats=repeats,
        )

    def _keep(self, number: int) -> None:
        """Write a line as it is, and know it as the end of a block."""
        text, id_ = self.lines.texts[number], self.lines.ids[number]
        self.pieces.append(text)
        self.length += len(text)
        self.ids.append(id_)
        self.origins.append(number)
        window = self.ids[-_FEWEST:]
        if len(window) == _FEWEST and min(window) >= 0:
            first, last = self.origins[-_FEWEST], number
            if self.lines.sections[first] == self.lines.sections[last]:
                self.places.setdefault(tuple(window), deque(maxlen=_PLACES)).append(len(self.ids) - _FEWEST)

    def _longest(self, number: int) -> tuple[int, int]:
        """Lines of the longest block from `number` on that was shown before, and where (the newest place)."""
        ids, sections = self.lines.ids, self.lines.sections
        best, where = 0, 0
        returns = self.lines.returns
        for place in reversed(self.places.get(tuple(ids[number : number + _FEWEST]), ())):
            if returns[self.origins[place]] != returns[number]:
                break  # so it is with all that are older
            size = 0
            while (
                place + size < len(self.ids)
                and number + size < len(ids)
                and self.ids[place + size] == ids[number + size] >= 0
                and sections[number + size] == sections[number]
                and sections[self.origins[place + size]] == sections[self.origins[place]]
            ):
                size += 1
            if size > best:
                best, where = size, place
        return best, where

    def _times(self, number: int, size: int) -> int:
        """How often a block of `size` lines follows itself from `number` on."""
        ids, sections = self.lines.ids, self.lines.sections
        stop = number + size
        while stop < len(ids) and ids[stop] == ids[stop - size] and sections[stop] == sections[number]:
            stop += 1
        return (stop - number) // size

    def _block(self, size: int, times: int, place: int) -> str:
        """The reference to `size` lines that stand at the line `place` of the new text."""
        first = self.origins[place]
        words = _first_words(self.lines.texts[first : first + size])
        label = self.lines.labels[self.lines.sections[first]]
        over = f" {times} times" if times > 1 else ""
        up = len(self.ids) - place
        where = f"{REPEAT}{size} lines{over} as {up} lines up"
        return where + (f" in {label}" if label else "") + (f": {words}" if words else "") + "\n"

    def _refer(self, start: int, stop: int, reference: str) -> bool:
        """Write a reference in place of the lines from `start` to `stop`, if it pays."""
        sizes, ids = self.lines.sizes, self.lines.ids
        saved = 0
        for number in range(start, stop):
            saved += sizes[ids[number]]
            if saved >= _PAYS * len(reference):
                break
        else:
            return False
        starts = self.lines.starts
        end = starts[stop] if stop < len(starts) else len(self.given.text)
        self.repeats.append(Repeat(self.length, self.length + len(reference), starts[start], end))
        self.pieces.append(reference)
        self.length += len(reference)
        self.ids.append(-1)
        self.origins.append(start)
        return True


class _Moved:
    """Offsets of the original text in the folded one; offsets inside a block are not asked for."""

    def __init__(self, repeats: Sequence[Repeat]) -> None:
        self._stops = [repeat.original_stop for repeat in repeats]
        self._shifts = [0, *(repeat.stop - repeat.original_stop for repeat in repeats)]

    def __call__(self, offset: int) -> int:
        return offset + self._shifts[bisect_right(self._stops, offset)]
