"""Source text without what no page can show: the only characters that page text does not give back.

Five folds, each counted:

* a control sequence (ECMA-48: CSI, OSC, DCS, SOS, PM, APC and the short escapes, introduced by ESC or by a C1
  control) is dropped, the target of a terminal hyperlink with it; so is one that is cut off by the end of a
  line or, if it is a string, by the end of an entry;
* what a terminal wrote over is dropped: of a line that carriage returns rewrote the last state stays, of
  characters struck over each other the last one (see `terminal`);
* CR LF is one newline, and so are CR CR LF and any other CR alone;
* a run of other control characters (C0 but tab and newline, DEL, C1) is one blank.

Folding twice is folding once. A line depends on no other line.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from snapshot._lazy import lazy_pattern
from snapshot.source.codepoints import code_points
from snapshot.source.marks import SCOPE
from snapshot.typeset.terminal import may_be_overwritten, overwritten

__all__ = ["Folded", "fold", "may_fold"]

_CONTROL = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
# A string ends at its terminator, and may hold no control before it: so a stray introducer in binary output
# swallows nothing, no sequence goes over the end of a line, and every scan ends at the next introducer.
_STRING = r"[^\x00-\x1f\x7f-\x9f]*+"
_SEQUENCE = (
    r"(?:\x1b\[|\x9b)[\x30-\x3f]*+[\x20-\x2f]*+[\x40-\x7e]"
    rf"|(?:\x1b\]|\x9d){_STRING}(?:\x07|\x1b\\|\x9c)"
    rf"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f]){_STRING}(?:\x1b\\|\x9c)"
    r"|\x1b[\x20-\x2f]++[\x30-\x7e]"
    r"|\x1b[\x30-\x4f\x51-\x57\x59\x5a\x5c\x60-\x7e]"
    # Cut off by the end of its line.
    r"|\x1b(?:\[[\x30-\x3f]*+)?[\x20-\x2f]*+(?=[\r\n]|\Z)"
)
_FOLDS = lazy_pattern(
    rf"(?P<sequence>{_SEQUENCE})|(?P<newline>\r++\n?)|(?P<control>(?>(?:(?!{_SEQUENCE})[{_CONTROL}])+))"
)
# A string that nothing ends.
_OPEN_STRING = lazy_pattern(rf"\x1b[\]PX^_]{_STRING}")
_LINE = lazy_pattern(r"[^\n]+")
_AT_ONCE = 1 << 18  # characters that are looked through at a time
_COUNTED_AS = {
    "sequence": "control sequences",
    "overwritten": "overwritten characters",
    "newline": "carriage returns",
    "control": "control characters",
}


@dataclass(frozen=True, slots=True)
class Folded:
    """Folded text, and where its characters stand in the source.

    Attributes:
        text: the source without what the folds take.
        counts: source characters taken, by kind of fold.
    """

    text: str
    counts: Mapping[str, int] = field(default_factory=dict)
    _breaks: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64), repr=False)
    _shifts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64), repr=False)

    def source_offset(self, offset: int) -> int:
        """Offset in the source of the character at `offset` of `text`."""
        return offset + int(self._shifts[np.searchsorted(self._breaks, offset, side="right") - 1])

    def folded_at(self, offset: int) -> int:
        """Offset in `text` of what stands for the source's character at `offset`, or for the next one."""
        place = int(np.searchsorted(self._breaks + self._shifts, offset, side="right")) - 1
        most = int(self._breaks[place + 1]) if place + 1 < self._breaks.size else len(self.text)
        return min(offset - int(self._shifts[place]), most)

    def folded_offsets(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Offsets in `text` of source characters that were not folded away."""
        starts = self._breaks + self._shifts
        return offsets - self._shifts[np.searchsorted(starts, offsets, side="right") - 1]


def may_fold(text: str) -> bool:
    """Whether anything in the text could be folded: a control character other than a newline or tab."""
    return any(_has_control(text[at : at + _AT_ONCE]) for at in range(0, len(text), _AT_ONCE))


def _has_control(text: str) -> bool:
    codes = np.frombuffer(text.encode(), np.uint8) if text.isascii() else code_points(text)
    # Unsigned differences wrap around, so that DEL and C1 are one comparison.
    return (
        int(np.count_nonzero(codes < 0x20)) > text.count("\n") + text.count("\t")
        or int(np.count_nonzero(codes - codes.dtype.type(0x7F) <= 0x9F - 0x7F)) > 0
    )


def fold(
    text: str, *, marks: Sequence[int] = (), starts_line: bool = True, ends_entry: bool = True
) -> Folded:
    """Apply the folds; `text` itself comes back where there is nothing to fold.

    Args:
        text: source text, or a stretch of it.
        marks: offsets in it of the marks that are no content, ascending. Nothing that a line with one of them
            says is written over, so that content cannot change the structure.
        starts_line: whether a line begins where the text begins.
        ends_entry: whether an entry ends where the text ends.
    """
    if not may_fold(text):
        return Folded(text)
    pieces: list[str] = []
    counts: Counter[str] = Counter()
    breaks, shifts = [0], [0]
    end = length = 0
    dropped = sorted(
        (
            *_written_over(text, marks, starts_line=starts_line),
            *_cut_off(text, marks, ends_entry=ends_entry),
        )
    )
    for start, stop, new, kind in _folds(text, dropped):
        pieces += (text[end:start], new)
        length += start - end + len(new)
        end = stop
        # A CR LF loses one character, a CR alone none: what is counted is what is gone or replaced.
        counts[_COUNTED_AS[kind]] += stop - start - (kind == "newline" and text[stop - 1] == "\n")
        breaks.append(length)
        shifts.append(end - length)
    pieces.append(text[end:])
    return Folded("".join(pieces), dict(counts), np.array(breaks, np.int64), np.array(shifts, np.int64))


def _folds(text: str, dropped: list[tuple[int, int, str]]) -> Iterator[tuple[int, int, str, str]]:
    """What is folded, in order: start, stop, what it becomes, and which fold it is."""
    end = 0
    for start, stop, kind in (*dropped, (len(text), len(text), "")):
        for match in _FOLDS.finditer(text, end, start):
            which = str(match.lastgroup)
            if which == "newline":
                new = "\n" if match[0][-1] == "\n" else "\n" * len(match[0])
            else:
                new = "" if which == "sequence" else " "
            yield match.start(), match.end(), new, which
        if kind:
            yield start, stop, "", kind
        end = stop


def _written_over(text: str, marks: Sequence[int], *, starts_line: bool) -> Iterator[tuple[int, int, str]]:
    """What a terminal wrote over, line by line."""
    if not may_be_overwritten(text):
        return
    for match in _LINE.finditer(text):
        begin, end = match.span()
        if begin == 0 and not starts_line:
            continue  # the end of a line that is too long
        if end < len(text):
            while text[end - 1] == "\r" and end > begin:  # the end of the line
                end -= 1
        at = bisect_left(marks, begin)
        if (at == len(marks) or marks[at] >= match.end()) and may_be_overwritten(text[begin:end]):
            for start, stop in overwritten(text[begin:end]):
                yield begin + start, begin + stop, "overwritten"


def _cut_off(text: str, marks: Sequence[int], *, ends_entry: bool) -> Iterator[tuple[int, int, str]]:
    """Strings of control sequences that are open where an entry ends: what was to end them was cut off."""
    ends = [mark for mark in marks if mark and text[mark] == SCOPE]
    for end in (*ends, *([len(text)] if ends_entry else [])):
        stop = end - (text[end - 1 : end] == "\n")
        start = text.rfind("\x1b", text.rfind("\n", 0, stop) + 1, stop)
        if start >= 0 and bisect_left(marks, start) == bisect_left(marks, stop):
            stop -= text[start:stop].endswith("\r")
            if _OPEN_STRING.fullmatch(text, start, stop):
                yield start, stop, "sequence"
