"""Blocks of lines that were shown before, said once: each later time is a reference to the first.

A run of lines that stands word for word earlier in the source becomes one line,

    ⇐29 lines as 412 lines up in result 7: def parse(self, text):

which says how many lines stood there, how many lines above the reference the first of them stands, and, for
the reader, in which entry and how the block begins: with words that tell it from others, so that a line of
quotes or a bracket is followed by … and the first one that says more. A block that is said several times over
says so, and a run of one line is that line and a count:

    ⇐3 lines 57 times as 3 lines up in result 7: waiting for the server
    ⇐the line above, 57 times more

A file that is read again has other line numbers, or none; so a block may stand there with others before its
lines. The reference tells the first, as it was written, or that there are none:

    ⇐29 lines numbered from   1082→ as 412 lines up in result 7:    977→ def parse(self, text):
    ⇐29 lines without numbers as 412 lines up in result 7:    977→ def parse(self, text):

References go to earlier text that is itself shown in full, never to another reference, never to what
stands before `visible_from`, and not over lines that a terminal's carriage returns may part or join, so that
they hold for what a page prints as well. Each depends on nothing behind its own entry, so that a source that
grows by whole entries keeps the text it had. The mark is real only where `Source.marks` says so: no source
forges one. Runs of random characters are printed as marks besides, see `snapshot.source.run_marks`.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from snapshot.source.line_numbers import NUMBER, numbered, prefix
from snapshot.source.marks import ELIDED, REPEAT, RUN_MARK
from snapshot.source.text import Moved, Repeat, Source, marks_of

__all__ = ["expand_repeats", "fold_chapters", "fold_repeats", "folded_offset", "original_span"]

# Sources in chapters that are kept.
_MOST = 6
_REFERENCE = re.compile(
    rf"{REPEAT}(?:the line above, (?P<more>\d+) times? more"
    rf"|(?P<lines>\d+) lines(?: (?P<times>\d+) times| numbered from (?P<first>{NUMBER})"
    r"|(?P<bare> without numbers))?"
    r" as (?P<up>\d+) lines up.*)\n"
)


def fold_repeats(source: Source, *, visible_from: int = 0, runs: bool = False) -> Source:
    """The source with references in place of blocks that it has shown before.

    Spans, marks and elisions are those of the new text; `repeats` says what each reference stands for.

    Args:
        source: source text without references.
        visible_from: offset in it from which on the reader sees it. What stands before stays as it is, and
            nothing refers to it.
        runs: print marks in place of runs of random characters as well (see `snapshot.source.run_marks`), and
            references to lines with other numbers before them.
    """
    return _folded(source, visible_from, None, runs)


def _folded(source: Source, visible_from: int, until: int | None, runs: bool) -> Source:
    if visible_from >= len(source.text):
        return source
    if runs:
        from snapshot.source.run_marks import folded_with_runs

        return folded_with_runs(source, visible_from, until)
    from snapshot.source.folding import folded

    return folded(source, visible_from, until)


def fold_chapters(source: Source, starts: Sequence[int], *, runs: bool = False) -> Source:
    """The source in chapters, each with references to what itself has shown, and none to an earlier one.

    From the start of any chapter on, it is what the chapters from that one on are alone.

    Args:
        source: source text without references.
        starts: offset in it of each chapter, ascending; what stands before the first stays as it is.
        runs: as for `fold_repeats`.

    Raises:
        ValueError: a chapter begins within lines that the one before it says by a reference.
    """
    return _lately.folded(source, tuple(starts), runs)


def forget() -> None:
    """Forget what was folded lately."""
    _lately.__init__()


class _Lately:
    """The last sources that were folded in chapters: a compaction asks for the same one many times."""

    def __init__(self) -> None:
        self._known: list[tuple[Source, tuple[int, ...], bool, Source]] = []  # the newest last

    def folded(self, source: Source, starts: tuple[int, ...], runs: bool) -> Source:
        for given, at, with_runs, folded in reversed(self._known):
            if at == starts and with_runs is runs and (given is source or given == source):
                return folded
        folded = _in_chapters(source, starts, runs)
        self._known = [*self._known, (source, starts, runs, folded)][-_MOST:]
        return folded


_lately = _Lately()


def _in_chapters(source: Source, starts: Sequence[int], runs: bool) -> Source:
    # Of all chapters but the last, what stands behind them need not be folded.
    folds = [_folded(source, start, stop, runs) for start, stop in pairwise(starts)]
    folds += [_folded(source, start, None, runs) for start in starts[-1:]]
    if len(folds) == 1 or not any(folded.repeats for folded in folds):
        return folds[-1] if folds else source
    pieces = [source.text[: starts[0]]]
    length = starts[0]
    repeats: list[Repeat] = []
    for folded, start, stop in zip(folds, starts, [*starts[1:], len(source.text)], strict=True):
        end = folded_offset(folded, stop)
        if original_span(folded, end, end)[0] != stop:
            raise ValueError("a chapter begins within a reference")
        repeats += [
            Repeat(
                one.start - start + length, one.stop - start + length, one.original_start, one.original_stop
            )
            for one in folded.repeats[: bisect_left(folded.repeats, end, key=lambda repeat: repeat.start)]
        ]
        pieces.append(folded.text[start:end])
        length += end - start
    moved = Moved(repeats)
    begins = moved.all([start for start, _ in source.spans])
    ends = moved.all([stop for _, stop in source.spans])
    offsets = moved.all([item.offset for item in source.elisions])
    text = "".join(pieces)
    own = (at for repeat in repeats for at in marks_of(text, repeat))
    return replace(
        source,
        text=text,
        marks=tuple(sorted([*moved.all(source.marks), *own])),
        spans=tuple(zip(begins, ends, strict=True)),
        elisions=tuple(
            replace(item, offset=offset) for item, offset in zip(source.elisions, offsets, strict=True)
        ),
        repeats=tuple(repeats),
        runs=max((folded.runs for folded in folds), key=len),  # of the last, if anything stands there
        lineage=None,
    )


def expand_repeats(
    text: str, marks: Iterable[int], *, most: int | None = None, runs: Sequence[str] = ()
) -> str:
    """The text that `fold_repeats` was given, from the one that it gave and the offsets of its marks.

    Args:
        text: folded text.
        marks: offsets in it of its marks, those of references among them.
        most: characters that it may become; None: any.
        runs: the runs of random characters that its marks name by their numbers.

    Raises:
        ValueError: a reference goes to what is not there (the text is only a part, or no folded one), or
            there would be more than `most` characters.
    """
    genuine = {mark for mark in marks if text[mark] in REPEAT + ELIDED}
    printed = _split(text)
    shown = printed.copy()
    original: list[str] = []
    offset = length = 0
    for number, line in enumerate(shown):
        match = _REFERENCE.fullmatch(line) if offset in genuine else None
        begin, offset = offset, offset + len(line)
        if match is None:
            if runs and ELIDED in line:
                shown[number] = _with_runs(line, begin, genuine, runs)
            original.append(shown[number])
            length += len(shown[number])
            continue
        if match["more"]:
            lines, times, up = 1, int(match["more"]), 1
        else:
            lines, times, up = int(match["lines"]), int(match["times"] or 1), int(match["up"])
        if not 0 < lines <= up <= number:
            raise ValueError(f"line {number + 1} refers to {lines} lines that are {up} lines up")
        place = slice(number - up, number - up + lines)
        block = shown[place]
        if match["first"] or match["bare"]:
            block = [line[len(prefix(told)) :] for line, told in zip(block, printed[place], strict=True)]
        if first := match["first"]:
            length += len(first) * lines
            if most is None or length <= most:
                block = list(numbered(block, first))
                length -= len(first) * lines
        length += sum(map(len, block)) * times
        if most is not None and length > most:
            raise ValueError(f"line {number + 1} makes more than {most:,} characters of the text")
        original += block * times
    if most is not None and runs and length > most:
        raise ValueError(f"there are more than {most:,} characters of the text")
    return "".join(original)


def _with_runs(line: str, begin: int, genuine: Container[int], runs: Sequence[str]) -> str:
    """A line that begins at an offset, with what the marks of runs in it stand for.

    Every mark of something elided has another at its end; that of a run has one behind its number as well.
    """
    pieces: list[str] = []
    done = at = 0
    while (at := line.find(ELIDED, at)) >= 0:
        if begin + at not in genuine:
            at += 1
            continue
        match = RUN_MARK.match(line, at)
        if match is not None and begin + match.end(1) in genuine and begin + match.end() - 1 in genuine:
            number = int(match[1])
            if not 0 < number <= len(runs):
                raise ValueError(f"there is no run {number}")
            pieces += (line[done:at], runs[number - 1])
            done = at = match.end()
            continue
        at += 1
        while (at := line.find(ELIDED, at)) >= 0 and begin + at not in genuine:
            at += 1
        if at < 0:
            break
        at += 1
    return "".join((*pieces, line[done:]))


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
