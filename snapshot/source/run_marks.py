"""Marks in place of runs of random characters: no reader can be trusted with more than 64 of them on a page.

A run becomes

    ✂7✂hex 128 3f78a5..9be1c2✂

its number, what it is, its length, its first and last characters. Runs are numbered through the whole
source text, equal ones alike, so that the text beside the pages, and an archive, name them by the same
number. What a run is depends on nothing outside its own entry: a source that grows by whole entries keeps the
text that it had.

The three marks are real only where `Source.marks` says so, and no payload's mark has one behind a number: no
source forges one. Lines with marks of runs may be said once as any others (`snapshot.source.repeats`).
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace

from snapshot.source.folding import folded
from snapshot.source.known_lines import follows
from snapshot.source.marks import ELIDED, RUN_MARK, SCOPE
from snapshot.source.random_runs import RandomRun, random_runs
from snapshot.source.text import Elision, Moved, Repeat, Source, beginning_of, marks_of, whole_messages

__all__ = [
    "VERSION",
    "NumberedRun",
    "folded_with_runs",
    "forget",
    "numbered_runs",
    "run_marks_in",
    "with_run_marks",
    "with_whole_runs",
]

VERSION = 1
"""Version of what is taken for a run of random characters, and of its mark, that archives tell."""

_ENDS = 6  # characters of a run that its mark shows at each end
_GAP = re.compile(r"\\[nr]|[^A-Za-z0-9+/=%_.~:-]")
_LONGEST = 4000  # characters of a run that a search shows whole
# Conversations that are kept, and folded sources of each; texts of so few characters are not worth it.
_MOST, _FOLDS, _FEW = 2, 12, 1 << 13
# Characters that are looked at in one go: bounds memory.
_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class NumberedRun:
    """A run in a source text: the half-open span of its characters, its number from 1, what it is."""

    start: int
    stop: int
    number: int
    kind: str


def _mark(run: NumberedRun, text: str) -> str:
    """What is printed in place of a run with that text."""
    ends, lines = _GAP.sub("", text), text.count("\n") + 1
    size = f"{len(text)} in {lines} lines" if lines > 1 else f"{len(text)}"
    return f"{ELIDED}{run.number}{ELIDED}{run.kind} {size} {ends[:_ENDS]}..{ends[-_ENDS:]}{ELIDED}"


class _Known:
    """The runs of one conversation, and what was folded of it lately."""

    def __init__(self) -> None:
        self.source = Source("")
        self._runs: list[NumberedRun] = []
        self._numbers: dict[str, int] = {}
        self._texts: list[str] = []
        self._marked: list[tuple[Source, _Marked]] = []
        self._told: list[tuple[Source, int, Source]] = []

    def follow(self, source: Source) -> None:
        """Take in what is new."""
        if len(source.text) <= len(self.source.text):
            return
        start = len(self.source.text)
        # No run goes over the end of an entry, but it may over that of a part of a document.
        size = _AT_ONCE if _is_conversation(source) else len(source.text)
        for begin, end in whole_messages(source, start, size):
            for run in random_runs(source.text, begin, end):
                self._take(source, run)
        self.source = source

    def _take(self, source: Source, run: RandomRun) -> None:
        place = bisect_right(source.spans, run.start, key=lambda span: span[1])
        if place < len(source.spans) and source.spans[place][1] < run.stop:
            return  # two messages of a document
        text = source.text[run.start : run.stop]
        number = self._numbers.setdefault(text, len(self._numbers) + 1)
        if number > len(self._texts):
            self._texts.append(text)
        self._runs.append(NumberedRun(run.start, run.stop, number, run.kind))

    def runs(self, source: Source) -> list[NumberedRun]:
        """Those of the conversation, or of its beginning."""
        if len(source.text) == len(self.source.text):
            return self._runs
        return self._runs[: bisect_right(self._runs, len(source.text), key=lambda run: run.stop)]

    def texts(self, source: Source) -> tuple[str, ...]:
        """The text of each number."""
        return tuple(self._texts[: max((run.number for run in self.runs(source)), default=0)])

    def folded(self, source: Source, visible_from: int, until: int | None) -> Source:
        """The source with marks and references; see `fold_repeats`."""
        if not self.runs(source):
            return folded(source, visible_from, until, numbered=True)
        for given, offset, told in self._told:
            if given is source and offset == visible_from:
                return told
        if until is not None:
            part = beginning_of(source, until)
            return _Marked(part, self.runs(part), self.texts(part)).folded(visible_from, repeats=True)
        marked = next((marked for given, marked in self._marked if given is source), None)
        if marked is None:
            marked = _Marked(source, self.runs(source), self.texts(source))
            self._marked = [*self._marked, (source, marked)][-_MOST:]
        found = marked.folded(visible_from, repeats=True)
        self._told = [*self._told, (source, visible_from, found)][-_FOLDS:]
        return found

    def marked(self, source: Source) -> Source:
        """The source with marks alone."""
        runs = self.runs(source)
        return _Marked(source, runs, self.texts(source)).folded(0, repeats=False) if runs else source


class _Marked:
    """A source with marks in place of all its runs, of which any end is folded."""

    def __init__(self, source: Source, runs: list[NumberedRun], texts: tuple[str, ...]) -> None:
        self.given, self.texts = source, texts
        pieces: list[str] = []
        spans: list[Repeat] = []
        done = length = 0
        for run in runs:
            mark = _mark(run, texts[run.number - 1])
            pieces += (source.text[done : run.start], mark)
            length += run.start - done
            spans.append(Repeat(length, length + len(mark), run.start, run.stop))
            length += len(mark)
            done = run.stop
        pieces.append(source.text[done:])
        text = "".join(pieces)
        self.spans = spans
        moved = Moved(spans)
        # Marks of runs are no marks while lines are compared, so that such lines may be said once; but what
        # only looks like one, in a message's own words, is never taken for the same.
        marks = [*map(moved, source.marks)]
        self.alike: frozenset[int] = frozenset()
        if text.count(ELIDED) > sum(source.text[mark] == ELIDED for mark in source.marks) + 3 * len(spans):
            own = {at for span in spans for at in marks_of(text, span)} | set(marks)
            self.alike = frozenset(match.start() for match in re.finditer(ELIDED, text)) - own
            marks = sorted((*marks, *self.alike))
        self.source = replace(
            source,
            text=text,
            marks=tuple(marks),
            spans=tuple((moved(start), moved(stop)) for start, stop in source.spans),
            elisions=tuple(Elision(moved(one.offset), one.media_type, one.size) for one in source.elisions),
            lineage=None,
        )

    def folded(self, visible_from: int, *, repeats: bool) -> Source:
        """The source as it was given up to an offset, or to the end of the run that it is in, and from there
        on with marks, and with references to earlier lines if those are wanted."""
        given, spans = self.given, self.spans
        first = bisect_left(spans, visible_from, key=lambda span: span.original_start)
        edge = max(visible_from, spans[first - 1].original_stop if first else 0)
        if edge >= len(given.text):
            return given
        begin = Moved(spans)(edge)
        told = folded(self.source, begin, numbered=True) if repeats else self.source
        shift = edge - begin  # of what is printed
        found = self._repeats(told, spans[first:], shift)
        text = given.text[:edge] + told.text[begin:]
        to_printed = Moved(found)
        own = (at for repeat in found for at in marks_of(text, repeat))
        return replace(
            given,
            text=text,
            marks=tuple(sorted((*map(to_printed, given.marks), *own))),
            spans=tuple((to_printed(start), to_printed(stop)) for start, stop in given.spans),
            elisions=tuple(
                Elision(to_printed(one.offset), one.media_type, one.size) for one in given.elisions
            ),
            repeats=tuple(found),
            runs=self.texts,
            lineage=None,
        )

    def _repeats(self, told: Source, spans: list[Repeat], shift: int) -> list[Repeat]:
        """References and marks of runs, each with what it stands for in the source as it was given."""
        to_given = Moved(
            [Repeat(one.original_start, one.original_stop, one.start, one.stop) for one in self.spans]
        )
        to_told = Moved(told.repeats)
        found = [
            Repeat(
                one.start + shift,
                one.stop + shift,
                to_given(one.original_start),
                to_given(one.original_stop),
            )
            for one in told.repeats
        ]
        blocks = told.repeats
        for span in spans:
            place = bisect_right(blocks, span.start, key=lambda one: one.original_start) - 1
            if place >= 0 and span.start < blocks[place].original_stop:
                continue  # said before
            start, stop = to_told(span.start) + shift, to_told(span.stop) + shift
            found.append(Repeat(start, stop, span.original_start, span.original_stop))
        return sorted(found, key=lambda one: one.start)


class _Lately:
    """The conversations that were looked at lately; of one that goes on, only what is new is looked at."""

    def __init__(self) -> None:
        self._known: list[_Known] = []  # the newest last
        self._lock = threading.RLock()

    def known(self, source: Source) -> _Known:
        if len(source.text) < _FEW or not _is_conversation(source):  # nothing that goes on
            known = _Known()
            known.follow(source)
            return known
        with self._lock:
            known = next((one for one in reversed(self._known) if _is_of(source, one.source)), None)
            if known is None:
                known = _Known()
            else:
                self._known.remove(known)
            known.follow(source)
            self._known = [*self._known, known][-_MOST:]
            return known

    def folded(self, source: Source, visible_from: int, until: int | None) -> Source:
        with self._lock:
            return self.known(source).folded(source, visible_from, until)

    def marked(self, source: Source) -> Source:
        with self._lock:
            return self.known(source).marked(source)


def _is_conversation(source: Source) -> bool:
    """Whether a source is of entries, and no document."""
    return bool(source.marks) and source.text[source.marks[0]] == SCOPE


def _is_of(source: Source, known: Source) -> bool:
    return follows(source, known) if len(source.text) >= len(known.text) else follows(known, source)


_lately = _Lately()


def folded_with_runs(source: Source, visible_from: int, until: int | None = None) -> Source:
    """See `snapshot.source.folding.folded`; with marks of runs as well."""
    return _lately.folded(source, visible_from, until)


def numbered_runs(source: Source) -> tuple[NumberedRun, ...]:
    """The runs of a source as it was written, in order."""
    return tuple(_lately.known(source).runs(source))


def with_run_marks(source: Source) -> Source:
    """The source with marks in place of its runs of random characters, and no references to earlier lines."""
    return _lately.marked(source)


def run_marks_in(printed: Source, start: int, stop: int) -> tuple[tuple[int, str], ...]:
    """Number and text of each run that has a mark in a half-open span of a printed text, in order."""
    if not printed.runs:
        return ()
    found: dict[int, str] = {}
    first = bisect_right(printed.repeats, start, key=lambda one: one.stop)
    for one in printed.repeats[first:]:
        if one.start >= stop:
            break
        if mark := RUN_MARK.match(printed.text, one.start):
            found[int(mark[1])] = printed.runs[int(mark[1]) - 1]
    return tuple(found.items())


def with_whole_runs(printed: Source, start: int, stop: int) -> tuple[int, int]:
    """A half-open span of the original text with the whole of each run that it has a part of, of those that
    are marks in the folded text and not too long to be shown."""
    for span in printed.repeats:
        if span.original_start < stop and start < span.original_stop:
            size = span.original_stop - span.original_start
            if size <= _LONGEST and printed.text[span.start] == ELIDED:
                start, stop = min(start, span.original_start), max(stop, span.original_stop)
    return start, stop


def forget() -> None:
    """Forget what was looked at lately."""
    _lately.__init__()
