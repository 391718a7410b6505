"""Page text: folded source text in the form that is printed, and back.

What is printed as it is: every character that the font covers. What is printed as marks (see `marks`):
newlines, tabs, runs of blanks (two or more at the start of a line or behind a tab, four or more elsewhere),
characters without a glyph, and characters that are marks themselves. `decode` gives the folded source back.

Everything is whole-text work on arrays of code points; no Python loop runs over characters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from snapshot.typeset import marks
from snapshot.typeset.clusters import continuations

__all__ = ["Coverage", "PageText", "code_points", "decode", "encode", "from_code_points"]

_BLANK, _LINE, _TAB = 32, 10, 9
_NEWLINE_MARK, _TAB_MARK = ord(marks.NEWLINE), ord(marks.TAB)
_DIGITS = np.array([ord(digit) for digit in marks.DIGITS], np.uint32)
_HEX = np.array([ord(digit) for digit in "0123456789ABCDEF"], np.uint32)
_MARKS = np.array(sorted(ord(mark) for mark in marks.PAGE_MARKS), np.uint32)

_ASCII = 0x80
_WIDEST_CHARACTER = 8  # cells: six hexadecimal digits in brackets
# Code points that one pair of brackets may list, so that a unit stays shorter than a row.
_LISTED = 8


class Coverage(Protocol):
    """What page text has to know of a font."""

    @property
    def cells(self) -> NDArray[np.uint8]:
        """Cells that each code point takes: 0 where the font has no glyph, else 1 or 2."""
        ...


@dataclass(frozen=True, slots=True)
class PageText:
    """Page text of a stretch of folded text.

    Attributes:
        codes: its code points, uint32.
        origins: for each code, the offset in the folded text of the character it prints, int32.
        starts: True where a unit starts: what stands from one True to the next is never torn over the
            end of a row or page (a grapheme cluster, a code point in brackets, a number of blanks).
    """

    codes: NDArray[np.uint32]
    origins: NDArray[np.int32]
    starts: NDArray[np.bool_]

    @property
    def text(self) -> str:
        """The page text as a string."""
        return from_code_points(self.codes)


def code_points(text: str) -> NDArray[np.uint32]:
    """The code points of `text`, lone surrogates included."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def from_code_points(codes: NDArray[np.uint32]) -> str:
    """The string of `codes`, lone surrogates included."""
    return codes.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


def encode(
    text: str, coverage: Coverage, *, genuine: NDArray[np.int64] | None = None, widest: int = 80
) -> PageText:
    """Page text of the folded text `text`, which begins at the start of a line or in the middle of a word.

    Args:
        text: folded source text, or a stretch of it.
        coverage: which code points the font draws, and in how many cells.
        genuine: offsets of the characters in `text` that are marks of the source text and no content.
        widest: cells a unit may take before its grapheme cluster is torn after all.
    """
    codes = code_points(text)
    if not codes.size:
        return PageText(codes, np.zeros(0, np.int32), np.zeros(0, np.bool_))
    cells = coverage.cells[codes]
    plain = cells > 0
    plain[codes == _LINE] = plain[codes == _TAB] = True
    special = np.flatnonzero(codes >= _ASCII)
    if special.size:
        forged = special[np.isin(codes[special], _MARKS)]
        plain[forged] = False
        if genuine is not None:
            plain[genuine] = True

    run_starts, run_ends = _blank_runs(codes)
    escaped = np.flatnonzero(~plain)
    clings = continuations(text, codes) if special.size else None
    if clings is not None:
        _loosen(clings, codes, widest)

    printed = codes.copy()
    printed[codes == _LINE] = _NEWLINE_MARK
    printed[codes == _TAB] = _TAB_MARK
    if not run_starts.size and not escaped.size:
        starts = np.ones(codes.size, np.bool_) if clings is None else ~clings
        return PageText(printed, np.arange(codes.size, dtype=np.int32), starts)

    # How many codes each character becomes, hence where they go.
    length = np.ones(codes.size, np.int32)
    inside = _spans(codes.size, run_starts, run_ends)
    length[inside] = 0
    counts = run_ends - run_starts
    digits = _decimal_length(counts)
    length[run_starts] = digits
    opens, closes = _bracket_groups(escaped, clings)
    values = codes[escaped]
    hexes = _hex_length(values)
    length[escaped] = 1 + hexes + closes
    position = np.cumsum(length, dtype=np.int64) - length

    out = np.empty(int(position[-1] + length[-1]), np.uint32)
    simple = plain & ~inside
    out[position[simple]] = printed[simple]
    for place in range(int(digits.max(initial=0))):
        has = digits > place
        digit = counts[has] // 10 ** (digits[has] - 1 - place) % 10
        out[position[run_starts[has]] + place] = _DIGITS[digit]
    at = position[escaped]
    out[at] = np.where(opens, ord(marks.OPEN), ord("."))
    for place in range(int(hexes.max(initial=0))):
        has = hexes > place
        shift = (4 * (hexes[has] - 1 - place)).astype(np.uint32)
        out[at[has] + 1 + place] = _HEX[values[has] >> shift & 15]
    out[(at + 1 + hexes)[closes]] = ord(marks.CLOSE)

    present = length > 0
    starts = np.zeros(out.size, np.bool_)
    starts[position[present]] = True
    if clings is not None:
        starts[position[present & clings]] = False
    return PageText(out, np.repeat(np.arange(codes.size, dtype=np.int32), length), starts)


def _blank_runs(codes: NDArray[np.uint32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Half-open spans of the runs of blanks that are printed as a number."""
    edges = np.diff((codes == _BLANK).view(np.int8), prepend=0, append=0)
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    before = codes[starts - 1]
    leading = (starts == 0) | (before == _LINE) | (before == _TAB)
    long = ends - starts >= np.where(leading, 2, 4)
    return starts[long], ends[long]


def _spans(size: int, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.bool_]:
    """True inside the half-open spans, which do not touch."""
    edges = np.zeros(size + 1, np.int8)
    edges[starts] = 1
    edges[ends] -= 1
    return np.cumsum(edges[:-1], dtype=np.int8).view(np.bool_)


def _bracket_groups(
    escaped: NDArray[np.int64], clings: NDArray[np.bool_] | None
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which of the escaped characters open a pair of brackets, and which close one.

    A pair lists neighbours of one grapheme cluster, `_LISTED` at the most.
    """
    opens = np.ones(escaped.size, np.bool_)
    if clings is not None and escaped.size > 1:
        opens[1:] = (np.diff(escaped) > 1) | ~clings[escaped[1:]]
        index = np.arange(escaped.size)
        since = index - np.maximum.accumulate(np.where(opens, index, 0))
        opens |= since % _LISTED == 0
    closes = np.ones(escaped.size, np.bool_)
    closes[:-1] = opens[1:]
    return opens, closes


def _loosen(clings: NDArray[np.bool_], codes: NDArray[np.uint32], widest: int) -> None:
    """Let go of the clusters that may not fit into `widest` cells even on a row of their own."""
    heads = np.flatnonzero(~clings)
    sizes = np.diff(np.append(heads, codes.size))
    if sizes.max() * _WIDEST_CHARACTER <= widest:
        return
    bounds = np.add.reduceat(np.where(codes < _ASCII, 1, _WIDEST_CHARACTER), heads)
    torn = (sizes > 1) & (bounds > widest)
    for head, size in zip(heads[torn], sizes[torn], strict=True):
        clings[head : head + size] = False


def _decimal_length(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Decimal digits of each value of 1 and more."""
    return np.searchsorted(10 ** np.arange(1, 19), values, side="right") + 1


def _hex_length(values: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Hexadecimal digits of each value."""
    return np.searchsorted(16 ** np.arange(1, 8), values, side="right") + 1


_TOKEN = re.compile(
    rf"[{marks.DIGITS}]+|{marks.OPEN}(?P<hex>[0-9A-F]+(?:\.[0-9A-F]+)*){marks.CLOSE}"
    rf"|[{marks.NEWLINE}{marks.TAB}]|(?P<mark>[{marks.SOURCE_MARKS}])"
)
_VALUES = str.maketrans(marks.DIGITS, "0123456789")


def decode(page_text: str) -> tuple[str, tuple[int, ...]]:
    """The folded text that `page_text` prints, and the offsets in it of the source's own marks."""
    pieces: list[str] = []
    genuine: list[int] = []
    end = length = 0
    for match in _TOKEN.finditer(page_text):
        token = match[0]
        if match["hex"]:
            new = "".join(chr(int(code, 16)) for code in match["hex"].split("."))
        elif token == marks.NEWLINE:
            new = "\n"
        elif token == marks.TAB:
            new = "\t"
        elif match["mark"]:
            new = token
            genuine.append(length + match.start() - end)
        else:
            new = " " * int(token.translate(_VALUES))
        pieces += (page_text[end : match.start()], new)
        length += match.start() - end + len(new)
        end = match.end()
    pieces.append(page_text[end:])
    return "".join(pieces), tuple(genuine)
