"""A source text folded and segmented once, for every face, layout and span of it that is set afterwards.

What a text folds to and where its grapheme clusters end depend on nothing but the text. A `PreparedText`
works that out stretch by stretch, when a stretch is first asked for, and keeps it: what a text needs of a
font, its pages in one layout and another, and the pages of a part of it all start from the same stretches.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from snapshot.source.codepoints import census, code_points
from snapshot.source.marks import SCOPE
from snapshot.source.source import Source
from snapshot.typeset.fold import Folded, fold, may_fold
from snapshot.typeset.shaped import Segmentation, segment
from snapshot.typeset.terminal import LONGEST_LINE

__all__ = ["PreparedStretch", "PreparedText", "prepared", "stretches"]

# Characters that are set at a time: bounds memory, and keeps the arrays in the processor's cache.
_STRETCH = 1 << 16
# Characters of one text whose folds and clusters are kept. What lies behind them is worked out whenever it is
# asked for, so that a text of any size takes bounded memory.
_KEPT = 1 << 24
_LAST_ASCII = 127
# Characters of a text from which on it is kept what is outside ASCII in it, and how many such texts are kept.
_LONG, _MOST_LONG = 1 << 20, 2


@dataclass(frozen=True, slots=True)
class PreparedStretch:
    """A stretch of source text, or a part of one, as it is ready to be encoded.

    Attributes:
        begin, end: half-open span of the source text.
        text: the folded text of the span.
        segmentation: the grapheme clusters of `text`.
        starts_line: whether a run of blanks at the start of `text` stands at the start of a line.
        folded: the fold of the whole stretch.
        base: offset in the source text at which the whole stretch begins.
        first: offset in `folded.text` at which `text` begins.
    """

    begin: int
    end: int
    text: str
    segmentation: Segmentation
    starts_line: bool
    folded: Folded
    base: int
    first: int = 0

    def source_offset(self, offset: int) -> int:
        """Offset in the source text of the character at `offset` of `text`."""
        return self.base + self.folded.source_offset(self.first + offset)

    def mark_offsets(self, marks: NDArray[np.int64]) -> NDArray[np.int64]:
        """Offsets in `text` of those of the source's marks (ascending) that stand in the stretch."""
        low, high = np.searchsorted(marks, (self.begin, self.end))
        return self.folded.folded_offsets(marks[low:high] - self.base) - self.first

    def cut(self, begin: int, end: int) -> PreparedStretch:
        """The part of the stretch between two offsets in the source text."""
        if (begin, end) == (self.begin, self.end):
            return self
        first, last = self.folded.folded_at(begin - self.base), self.folded.folded_at(end - self.base)
        whole = self.folded.text
        text = whole[first:last]
        starts_line = whole[first - 1] in "\n\t" if first else self.starts_line
        segmentation = self.segmentation.cut(first - self.first, last - self.first) or _segmented(text)
        return PreparedStretch(begin, end, text, segmentation, starts_line, self.folded, self.base, first)


class _Foreign:
    """The different code points outside ASCII of the last long texts; of one that goes on from another, only
    what is new is looked at."""

    def __init__(self) -> None:
        self._known: list[tuple[str, NDArray[np.uint32]]] = []  # the newest last
        self._lock = threading.Lock()

    def of(self, text: str) -> NDArray[np.uint32]:
        if len(text) < _LONG:
            return census(text)[0]
        with self._lock:
            known = list(self._known)
        begun = max(
            (one for one in known if text.startswith(one[0])), key=lambda one: len(one[0]), default=None
        )
        if begun is None:
            codes = census(text)[0]
        elif len(begun[0]) == len(text):
            return begun[1]
        else:
            codes = np.union1d(begun[1], census(text[len(begun[0]) :])[0])
        with self._lock:
            self._known = [*(one for one in known if one is not begun), (text, codes)][-_MOST_LONG:]
        return codes


_foreign = _Foreign()


class PreparedText:
    """Source text with its folds and clusters, each worked out once.

    Args:
        source: the source text.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self._kept: dict[int, PreparedStretch] = {}

    @cached_property
    def marks(self) -> NDArray[np.int64]:
        """Offsets of the marks of the source."""
        return np.array(self.source.marks, np.int64)

    @cached_property
    def foreign(self) -> NDArray[np.uint32]:
        """The different code points outside ASCII, ascending."""
        return _foreign.of(self.source.text)

    @cached_property
    def bounds(self) -> tuple[tuple[int, int], ...]:
        """Half-open spans of source text that are prepared apart; they partition it."""
        return tuple(stretches(self.source.text))

    @cached_property
    def whole(self) -> frozenset[tuple[int, int]]:
        """The spans that are no parts of others."""
        return frozenset(self.bounds)

    def stretches(self, start: int = 0, stop: int | None = None) -> Iterator[PreparedStretch]:
        """The stretches of a half-open span of the source text, in order; the outer ones cut to it.

        A span that begins where a page of the whole begins is set as the whole is from there on.
        """
        for begin, end in self.spans(start, stop):
            yield self.stretch(begin, end)

    def spans(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, int]]:
        """The spans of `stretches`, which `stretch` prepares."""
        stop = len(self.source.text) if stop is None else stop
        first = bisect_right(self.bounds, start, key=lambda span: span[0]) - 1
        for begin, end in self.bounds[max(first, 0) :]:
            if begin >= stop:
                return
            yield max(begin, start), min(end, stop)

    def stretch(self, begin: int, end: int) -> PreparedStretch:
        """One of the stretches that `spans` tells, prepared."""
        number = bisect_right(self.bounds, begin, key=lambda span: span[0]) - 1
        stretch = self._kept.get(number)
        if stretch is None:
            base, stop = self.bounds[number]
            folded = self._fold(base, stop)
            stretch = PreparedStretch(
                base, stop, folded.text, _segmented(folded.text), starts_line=True, folded=folded, base=base
            )
            if stop <= _KEPT:
                self._kept[number] = stretch
        return stretch.cut(begin, end)

    def _fold(self, begin: int, end: int) -> Folded:
        text, marks = self.source.text, self.source.marks
        low, high = bisect_left(marks, begin), bisect_left(marks, end)
        if end < len(text):
            ends_entry = text[end] == SCOPE and high < len(marks) and marks[high] == end
        else:
            # A document has no entries, and may go on behind its last line.
            ends_entry = bool(marks) or text[-1] != "\n"
        return fold(
            text[begin:end],
            marks=[mark - begin for mark in marks[low:high]],
            starts_line=not begin or text[begin - 1] == "\n",
            ends_entry=ends_entry,
        )

    def folded(self, start: int = 0, stop: int | None = None) -> str:
        """The folded text of a half-open span of the source text."""
        return "".join(stretch.text for stretch in self.stretches(start, stop))

    def folded_marks(self) -> list[int]:
        """Offsets of the marks of the source in its folded text."""
        offsets: list[int] = []
        length = 0
        for stretch in self.stretches():
            offsets += (stretch.mark_offsets(self.marks) + length).tolist()
            length += len(stretch.text)
        return offsets

    def counts(self) -> Mapping[str, int]:
        """Source characters that the folds take, by kind of fold."""
        counts: Counter[str] = Counter()
        for stretch in self.stretches():
            counts.update(stretch.folded.counts)
        return dict(counts)


def prepared(source: Source | PreparedText) -> PreparedText:
    """The prepared text of a source that may be prepared already."""
    return source if isinstance(source, PreparedText) else PreparedText(source)


def _segmented(text: str) -> Segmentation:
    codes = code_points(text)
    return segment(text, codes, np.flatnonzero(codes > _LAST_ASCII))


def stretches(text: str, size: int | None = None) -> Iterator[tuple[int, int]]:
    """Spans of about `size` characters that can be folded and encoded apart.

    They end behind a newline, which no fold goes over, or else between two ASCII characters with ink, where
    no run of blanks and no grapheme cluster can be torn; but not where a control sequence may be open, nor in
    a line of a terminal that may be written over further on.
    """
    size = size or _STRETCH
    begin = line = 0
    line_end, line_folds = (
        0,
        False,
    )  # the end of the line that was looked at last, and whether it has controls
    while len(text) - begin > size:
        end = text.rfind("\n", begin + size // 2, begin + size) + 1
        if not end:
            end = begin + size
            while end < len(text) and not _parts(text[end - 1 : end + 1]):
                end += 1
            if text[end - 1] != "\n":
                line = max(line, text.rfind("\n", begin, end) + 1)
                if line_end < end:
                    line_end = text.find("\n", end)
                    line_end = len(text) if line_end < 0 else line_end
                    line_folds = line_end - line <= LONGEST_LINE and may_fold(text[line:line_end])
                if line_folds or may_fold(text[begin:end]):
                    end = min(line_end + 1, len(text))
        yield begin, end
        begin = end
    if begin < len(text):
        yield begin, len(text)


def _parts(pair: str) -> bool:
    """Whether the text may be cut between these two characters, if no control sequence is open."""
    return pair[0] == "\n" or ("!" <= pair[0] <= "~" and "!" <= pair[1] <= "~")
