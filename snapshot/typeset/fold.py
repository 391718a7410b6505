"""Source text without what no page can show: the only characters that page text does not give back.

Four folds, each counted:

* a complete control sequence (ECMA-48: CSI, OSC, DCS, SOS, PM, APC and the short escapes, introduced by
  ESC or by a C1 control) is dropped, the target of a terminal hyperlink with it;
* CR LF is one newline, and so is a CR alone;
* a run of other control characters (C0 but tab and newline, DEL, C1) is one blank.

Folding twice is folding once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from snapshot.source.codepoints import code_points

__all__ = ["Folded", "fold", "may_fold"]

_CONTROL = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
# A string ends at its terminator, and may hold no control before it: so a stray introducer in binary output
# swallows nothing, no sequence goes over the end of a line, and every scan ends at the next introducer.
_STRING = r"[\x20-\x7e\xa0-\U0010ffff]*+"
_SEQUENCE = (
    r"(?:\x1b\[|\x9b)[\x30-\x3f]*+[\x20-\x2f]*+[\x40-\x7e]"
    rf"|(?:\x1b\]|\x9d){_STRING}(?:\x07|\x1b\\|\x9c)"
    rf"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f]){_STRING}(?:\x1b\\|\x9c)"
    r"|\x1b[\x20-\x2f]++[\x30-\x7e]"
    r"|\x1b[\x30-\x4f\x51-\x57\x59\x5a\x5c\x60-\x7e]"
)
_FOLDS = re.compile(
    rf"(?P<sequence>{_SEQUENCE})|(?P<newline>\r\n?)|(?P<control>(?:(?!{_SEQUENCE})[{_CONTROL}])++)"
)
_AT_ONCE = 1 << 18  # characters that are looked through at a time
_BECOMES = {"sequence": "", "newline": "\n", "control": " "}
_COUNTED_AS = {
    "sequence": "control sequences",
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


def fold(text: str) -> Folded:
    """Apply the folds; `text` itself comes back where there is nothing to fold."""
    if not may_fold(text):
        return Folded(text)
    pieces: list[str] = []
    counts: Counter[str] = Counter()
    breaks, shifts = [0], [0]
    end = length = 0
    for match in _FOLDS.finditer(text):
        kind = str(match.lastgroup)
        new = _BECOMES[kind]
        pieces += (text[end : match.start()], new)
        length += match.start() - end + len(new)
        end = match.end()
        # A CR LF loses one character, a CR alone none: what is counted is what is gone or replaced.
        counts[_COUNTED_AS[kind]] += match.end() - match.start() - (kind == "newline" and match[0] == "\r\n")
        breaks.append(length)
        shifts.append(end - length)
    pieces.append(text[end:])
    return Folded("".join(pieces), dict(counts), np.array(breaks, np.int64), np.array(shifts, np.int64))
