"""References in place of blocks of lines, written behind what was written of a conversation before.

A conversation grows at its end, by whole entries, and what becomes of an entry depends on nothing behind it.
So the lines of the last conversations are kept (`KnownLines`), and of each the folded sources that were asked
for lately, by the offset from which on the reader sees the text: what is new is added to them.
"""

from __future__ import annotations

import re
import threading
from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from snapshot.source.known_lines import FEWEST, KnownLines, follows
from snapshot.source.line_numbers import prefix
from snapshot.source.marks import FIELD, REPEAT
from snapshot.source.text import Elision, Moved, Repeat, Source, beginning_of

__all__ = ["folded", "forget"]

# A reference must be shorter than what it stands for by this factor: to look up costs the reader something.
_PAYS = 3
# Earlier places that a block is compared with, the newest ones, and characters shown of its first words.
_PLACES = 8
_WORDS, _LABEL = 40, 40
_TELLING = 6  # letters and digits of words that tell one block from others
_SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
# Conversations that are kept, and folded sources of each; texts of so few characters are not worth it.
_MOST, _FOLDS, _FEW = 2, 12, 1 << 13
# Of folded sources, the newest ones are kept that have so many characters together, and two of any size.
_CHARACTERS, _FEWEST_FOLDS = 1 << 26, 2


def _label(head: str) -> str:
    """What an entry is called, from the words behind its mark."""
    return _words(head.partition(FIELD)[0], _LABEL)


def _first_words(lines: Iterable[str], *, gaps: bool) -> str:
    """How a block begins, in words that tell it from others; with `gaps`, behind … if its first line is
    blank."""
    every = (_words(text, _WORDS) for text in lines)
    words = next(every, "")
    said = filter(None, every)
    start = ""
    if not words:
        words, start = next(said, ""), "… " if gaps else ""
    if not _is_telling(words) and (more := next(filter(_is_telling, said), "")):
        words = f"{words} … {more}"
    return _words(start + words, _WORDS) if words else ""


def _is_telling(words: str) -> bool:
    return sum(map(str.isalnum, words)) >= _TELLING


def _words(text: str, most: int) -> str:
    """The start of a text as words of one line, without what would not be printed."""
    shown = " ".join(_SEQUENCE.sub("", text[: 4 * most]).split())
    if not shown.isprintable():
        shown = " ".join("".join(char if char.isprintable() else " " for char in shown).split())
    return shown[:most].rstrip()


class _Fold:
    """A source of known lines with references, from an offset on that the reader sees.

    It grows with its lines: what is new is written behind what is there.
    """

    def __init__(self, lines: KnownLines, visible_from: int, *, numbered: bool) -> None:
        self._lines, self._numbered = lines, numbered
        self._given = Source("")
        self.source = Source("")
        self._repeats: list[Repeat] = []
        # Lines that references stand for: where each begins, and lines that are fewer up to its end.
        self._starts: list[int] = []
        self._fewer: list[int] = []
        self._first = int(np.searchsorted(lines.starts, visible_from))
        self._kept = bytearray()
        self._before = array("i")
        # What is written, up to this offset of the text.
        self._pieces: list[str] = []
        self._length = self._done = 0

    @property
    def extent(self) -> tuple[int, int]:
        """Messages and characters that it stands for: a message may say nothing."""
        return _extent(self._given)

    def follow(self, source: Source) -> None:
        """Write what is new in a source of the lines, or in their beginning."""
        lines, first = self._lines, self._first
        given = self._given
        if _extent(source) <= _extent(given):
            return
        number = max(first, len(self._kept) + first)
        stop = max(number, int(np.searchsorted(lines.starts, len(source.text))))
        self._kept += b"\1" * (stop - number)
        self._before.frombytes(lines.before[number:stop].tobytes())
        for at in self._told(number, stop):
            if at >= number:
                number = self._take(at)
        self._write(len(source.text))
        self._put_together(given, source)
        self._given = source

    def _told(self, number: int, stop: int) -> list[int]:
        """Lines from `number` on, before `stop`, that a reference may stand for: those that begin as an
        earlier one does, and those that are followed by the same twice."""
        lines = self._lines
        ids, sections = lines.ids[number:stop], lines.sections[number:stop]
        may = lines.before[number:stop] >= self._first
        few = FEWEST - 1
        if len(ids) > few:
            run = (ids[:-few] != -1) & (sections[:-few] == sections[few:])
            for more in range(1, FEWEST):
                run &= ids[:-few] == ids[more : len(ids) - few + more]
            may[:-few] |= run
        return (np.flatnonzero(may) + number).tolist()

    def _take(self, number: int) -> int:
        """Write a reference for the line `number` and those behind it, if one pays; the number of the next
        line."""
        size, place, numbers = self._longest(number)
        if size >= FEWEST:
            times = self._times(number, size) if numbers is None else 1
            if self._refer(number, number + size * times, self._block(number, size, times, place, numbers)):
                return number + size * times
        more = self._times(number, 1) - 1
        if more >= FEWEST - 1 and self._refer(
            number + 1, number + 1 + more, f"{REPEAT}the line above, {more} times more\n"
        ):
            return number + 1 + more
        return number + 1

    def _longest(self, number: int) -> tuple[int, int, str | None]:
        """Lines of the longest block from `number` on that was shown before, where (the newest place), and
        the number before its first line ("": none) if those before its lines are others there."""
        lines, kept, base = self._lines, self._kept, self._first
        best = where = 0
        numbers: str | None = None
        most = lines.limit(number) - number
        returns = lines.returns(number)
        for place in islice(self._shown(number), _PLACES):
            if lines.returns(place) != returns:
                break  # so it is with all that are older
            size = min(most, lines.limit(place) - place, number - place)
            gone = kept.find(0, place - base, place - base + size)
            most_here = size if gone < 0 else gone + base - place
            size = lines.alike(place, number, most_here)
            if size > best:
                best, where, numbers = size, place, None
            if self._numbered and best < most_here:
                size = lines.alike_but_for_numbers(place, number, most_here)
                if size > best:
                    best, where, numbers = size, place, prefix(lines.line(number))
        return best, where, numbers

    def _shown(self, number: int) -> Iterator[int]:
        """Lines before `number` that begin with the same ones and are shown in full, the newest first."""
        before, kept, base = self._before, self._kept, self._first
        whole = b"\1" * FEWEST
        place = before[number - base]
        while place >= base and place > number - FEWEST:  # it is not yet known what becomes of these
            place = before[place - base]
        former = -1
        while place >= base:
            passed: list[int] = []
            while place >= base and kept[place - base : place - base + FEWEST] != whole:
                passed.append(place)
                place = before[place - base]
            for one in passed:  # they are not looked at again
                before[one - base] = place
            if former >= 0 and passed:
                before[former - base] = place
            if place < base:
                return
            yield place
            former = place
            place = before[place - base]

    def _times(self, number: int, size: int) -> int:
        """How often a block of `size` lines follows itself from `number` on, the block itself included."""
        most = self._lines.limit(number) - number - size
        return 1 + self._lines.alike(number, number + size, max(0, most)) // size

    def _block(self, number: int, size: int, times: int, place: int, numbers: str | None) -> str:
        """The reference at line `number` to `size` lines from `place` on, with these numbers before them."""
        lines = self._lines
        words = _first_words((lines.line(at) for at in range(place, place + size)), gaps=self._numbered)
        label = _label(lines.head(place))
        over = f" {times} times" if times > 1 else ""
        if numbers is not None:
            over = f" numbered from {numbers}" if numbers else " without numbers"
        up = number - place - self._fewer_at(number) + self._fewer_at(place)
        where = f"{REPEAT}{size} lines{over} as {up} lines up"
        return where + (f" in {label}" if label else "") + (f": {words}" if words else "") + "\n"

    def _fewer_at(self, number: int) -> int:
        """How many lines fewer than in the source stand before a line."""
        at = bisect_right(self._starts, number)
        return self._fewer[at - 1] if at else 0

    def _refer(self, start: int, stop: int, reference: str) -> bool:
        """Write a reference in place of the lines from `start` to `stop`, if it pays."""
        lines = self._lines
        saved = 0
        for number in range(start, stop):
            text = lines.line(number)
            saved += len(text.lstrip(" ")) + (text[0] == " ")  # cells: its indentation is one mark
            if saved >= _PAYS * len(reference):
                break
        else:
            return False
        begin, end = lines.start(start), lines.start(stop)
        self._write(begin)
        self._repeats.append(Repeat(self._length, self._length + len(reference), begin, end))
        self._pieces.append(reference)
        self._length += len(reference)
        self._done = end
        self._kept[start - self._first : stop - self._first] = bytes(stop - start)
        self._starts.append(start)
        self._fewer.append((self._fewer[-1] if self._fewer else 0) + stop - start - 1)
        return True

    def _write(self, stop: int) -> None:
        """Write the text as it is, up to an offset."""
        self._pieces.append(self._lines.source.text[self._done : stop])
        self._length += stop - self._done
        self._done = stop

    def _put_together(self, given: Source, source: Source) -> None:
        """Make the folded source of what was written, behind that of what was given before."""
        old = self.source
        pieces, self._pieces = self._pieces, []
        if not self._repeats:
            self.source = source
            return
        new = self._repeats[len(old.repeats) :]
        moved = Moved(self._repeats)
        marks = [*map(moved, source.marks[len(given.marks) :]), *(repeat.start for repeat in new)]
        self.source = replace(
            source,
            text="".join((old.text, *pieces)),
            marks=(*old.marks, *sorted(marks)),
            spans=(*old.spans, *((moved(a), moved(b)) for a, b in source.spans[len(given.spans) :])),
            elisions=(
                *old.elisions,
                *(
                    Elision(moved(item.offset), item.media_type, item.size)
                    for item in source.elisions[len(given.elisions) :]
                ),
            ),
            repeats=tuple(self._repeats),
            lineage=None,
        )


class _Known:
    """The lines of one conversation, and what was folded of it lately."""

    def __init__(self, *, numbered: bool) -> None:
        self.numbered = numbered
        self.lines = KnownLines(numbered=numbered)
        self.folds: OrderedDict[int, _Fold] = OrderedDict()  # by the offset that is seen first

    def beginning(self, visible_from: int, until: int) -> Source | None:
        """The folded source of the conversation as it was earlier, if it has what stands before an offset."""
        fold = self.folds.get(visible_from)
        if fold is None or fold.extent[1] < until:
            return None
        self.folds.move_to_end(visible_from)
        return fold.source

    def folded(self, source: Source, visible_from: int) -> Source:
        """The folded source: of a conversation that goes on from the one before, or of its beginning."""
        if _extent(source) >= _extent(self.lines.source):
            self.lines.follow(source)
        fold = self.folds.pop(visible_from, None) or _Fold(self.lines, visible_from, numbered=self.numbered)
        fold.follow(source)
        self.folds[visible_from] = fold
        for _ in range(len(self.folds) - _kept(len(source.text) - start for start in reversed(self.folds))):
            self.folds.popitem(last=False)
        return fold.source if fold.extent == _extent(source) else _beginning(fold.source, source)


def _extent(source: Source) -> tuple[int, int]:
    return len(source.spans), len(source.text)


def _kept(sizes: Iterable[int]) -> int:
    """How many folded sources are kept, by the characters that each stands for, the newest first."""
    total = number = 0
    for size in islice(sizes, _FOLDS):
        total += size
        if number >= _FEWEST_FOLDS and total > _CHARACTERS:
            break
        number += 1
    return number


def _beginning(folded: Source, source: Source) -> Source:
    """What of a folded source stands for a conversation at its beginning."""
    count = bisect_right(folded.repeats, len(source.text) - 1, key=lambda repeat: repeat.original_start)
    repeats = folded.repeats[:count]
    marks, elisions = len(source.marks) + count, len(source.elisions)
    return replace(
        source,
        text=folded.text[: Moved(repeats)(len(source.text))] if repeats else source.text,
        marks=folded.marks[:marks],
        spans=folded.spans[: len(source.spans)],
        elisions=folded.elisions[:elisions],
        repeats=repeats,
        lineage=None,
    )


class _Lately:
    """The conversations that were folded lately; one that goes on is folded from where it ended."""

    def __init__(self) -> None:
        self._known: list[_Known] = []  # the newest last
        self._told: list[tuple[Source, int, bool, Source]] = []
        self._lock = threading.Lock()

    def folded(self, source: Source, visible_from: int, until: int | None, *, numbered: bool) -> Source:
        if len(source.text) < _FEW:
            return _Known(numbered=numbered).folded(source, visible_from)
        with self._lock:
            for given, offset, by_number, folded in self._told:
                if given is source and offset == visible_from and by_number is numbered:
                    return folded
            known = next(
                (
                    one
                    for one in reversed(self._known)
                    if one.numbered is numbered and _is_of(source, one.lines.source)
                ),
                None,
            )
            if known is not None:
                if until is not None and (folded := known.beginning(visible_from, until)) is not None:
                    return folded
                self._known.remove(known)  # it is this call's alone while it is in use
        known = known or _Known(numbered=numbered)
        # What stands behind is folded when it is asked for.
        folded = known.folded(source if until is None else beginning_of(source, until), visible_from)
        with self._lock:
            self._known = [*self._known, known][-_MOST:]
            if until is not None:
                return folded
            told = [*self._told, (source, visible_from, numbered, folded)]
            self._told = told[-_kept(len(given.text) - start for given, start, _, _ in reversed(told)) :]
        return folded


def _is_of(source: Source, known: Source) -> bool:
    return follows(source, known) if len(source.text) >= len(known.text) else follows(known, source)


_lately = _Lately()


def folded(source: Source, visible_from: int, until: int | None = None, *, numbered: bool = False) -> Source:
    """See `snapshot.source.repeats.fold_repeats`; something of the source is visible.

    Args:
        source: source text without references.
        visible_from: offset in it from which on the reader sees it.
        until: offset up to which it is asked for: what is behind may be missing. None: the end.
        numbered: whether there are references to lines with other numbers before them as well.
    """
    return _lately.folded(source, visible_from, until, numbered=numbered)


def forget() -> None:
    """Forget what was folded lately."""
    _lately.__init__()
