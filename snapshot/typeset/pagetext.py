"""Page text: folded source text in the form that is printed, and back.

What is printed as it is: every character that the font covers, and every unit that it draws (see `units`).
What is printed as marks (see `marks`): newlines, tabs, runs of blanks (two or more at the start of a line or
behind a tab, four or more elsewhere), emoji, characters without a glyph, and characters that are marks
themselves. `decode` gives the folded source back.

Everything is whole-text work on arrays of code points; no Python loop runs over characters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from snapshot.source import marks
from snapshot.typeset.clusters import continuations
from snapshot.typeset.emoji import emoji_of
from snapshot.typeset.offset_map import OffsetMap, Offsets, concat_ranges, insert_runs
from snapshot.typeset.shaped import ShapedCluster, expand
from snapshot.typeset.substitution import Substituted, substitute

__all__ = [
    "Coverage",
    "PageText",
    "census",
    "code_points",
    "decode",
    "encode",
    "from_code_points",
    "uncovered_codes",
]

_BLANK, _LINE, _TAB, _DEL = 32, 10, 9, 127
# What newlines and tabs are printed as; folded text has no other controls.
_CONTROL_MARKS = np.zeros(_BLANK, np.uint32)
_CONTROL_MARKS[[_LINE, _TAB]] = ord(marks.NEWLINE), ord(marks.TAB)
_NONE = np.zeros(0, np.int64)
_DIGITS = np.array([ord(digit) for digit in marks.DIGITS], np.uint32)
_HEX = np.array([ord(digit) for digit in "0123456789ABCDEF"], np.uint32)
# By code point; the last one stands for all above.
_IS_MARK = np.zeros(max(map(ord, marks.PAGE_MARKS)) + 2, np.bool_)
_IS_MARK[[ord(mark) for mark in marks.PAGE_MARKS]] = True

_ASCII = 0x80
_WIDEST_NAME = 80  # cells, for counting: a row is seldom shorter
_WIDEST_CHARACTER = 8  # cells: six hexadecimal digits in brackets
_COUNTED_AT_ONCE = 1 << 18  # characters; their code points take four bytes each
# Code points that one pair of brackets may list, so that a unit stays shorter than a row.
_LISTED = 8


class Coverage(Protocol):
    """What page text has to know of a font, which draws all of printable ASCII."""

    @property
    def cells(self) -> NDArray[np.uint8]:
        """Cells that each code point and each unit takes: 0 where the font has no glyph."""
        ...

    @property
    def units(self) -> Mapping[ShapedCluster, int]:
        """The units that the font draws, and their numbers."""
        ...


@dataclass(frozen=True, slots=True)
class PageText:
    """Page text of a stretch of folded text.

    Attributes:
        codes: its code points and the numbers of its units, uint32.
        joined: offsets of the codes that belong to the one before them, int64, ascending: a unit is never
            torn over the end of a row or page (a grapheme cluster, a code point in brackets, a number).
        splices: how the characters of the folded text became codes, step after step.
        units: the numbers of the font's units.
    """

    codes: NDArray[np.uint32]
    joined: NDArray[np.int64]
    splices: tuple[OffsetMap, ...] = ()
    units: Mapping[ShapedCluster, int] = field(default_factory=dict, repr=False)

    @property
    def text(self) -> str:
        """The page text as a string."""
        return from_code_points(expand(self.codes, {number: unit for unit, number in self.units.items()}))

    def origin(self, offset: int) -> int:
        """Offset in the folded text of the character that the code at `offset` prints."""
        for splice in reversed(self.splices):
            offset = splice.origin(offset)
        return offset


def code_points(text: str) -> NDArray[np.uint32]:
    """The code points of `text`, lone surrogates included."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def census(text: str) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The different code points of `text` outside ASCII, ascending, and how often each occurs."""
    found: Counter[int] = Counter()
    if not text.isascii():
        for start in range(0, len(text), _COUNTED_AT_ONCE):
            codes = code_points(text[start : start + _COUNTED_AT_ONCE])
            different, counts = np.unique(codes[codes >= _ASCII], return_counts=True)
            found.update(dict(zip(different.tolist(), counts.tolist(), strict=True)))
    ordered = sorted(found.items())
    return np.array([code for code, _ in ordered], np.uint32), np.array([n for _, n in ordered], np.int64)


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
    source = code_points(text)
    controls, special = _unprintable(source)
    clings = continuations(text, source, special) if special.size else None
    united = (
        substitute(text, source, special, clings, coverage=coverage, widest=widest) if special.size else None
    )
    if united is None:
        return _marked(source, controls, special, clings, coverage=coverage, genuine=genuine, widest=widest)
    genuine = united.emoji if genuine is None else np.append(united.splice.forward(genuine), united.emoji)
    codes = united.codes
    controls, special = _unprintable(codes)
    marked = _marked(
        codes, controls, special, united.clings, coverage=coverage, genuine=genuine, widest=widest
    )
    return _named(marked, united, coverage)


def uncovered_codes(text: str, coverage: Coverage) -> NDArray[np.uint32]:
    """The characters of a folded text that are printed as code points for want of a glyph, in their order."""
    source = code_points(text)
    _, special = _unprintable(source)
    if special.size:
        clings = continuations(text, source, special)
        united = substitute(text, source, special, clings, coverage=coverage, widest=_WIDEST_NAME)
        source = source if united is None else united.codes
    return source[coverage.cells[source] == 0]


def _unprintable(source: NDArray[np.uint32]) -> tuple[Offsets, Offsets]:
    """Offsets of the control characters, and of what is not ASCII."""
    # All that is not printable ASCII, in one pass: below the blank the difference wraps around.
    other = np.flatnonzero(source - np.uint32(_BLANK) > _DEL - 1 - _BLANK)
    control = source[other] < _BLANK
    return other[control], other[~control]


def _marked(
    source: NDArray[np.uint32],
    controls: Offsets,
    special: Offsets,
    clings: NDArray[np.bool_] | None,
    *,
    coverage: Coverage,
    genuine: Offsets | None,
    widest: int,
) -> PageText:
    """Page text of a text, emoji but for their opening bracket not yet in it."""
    if clings is not None:
        _loosen(clings, source, widest)
    codes = source.copy()
    codes[controls] = _CONTROL_MARKS[source[controls]]
    unmarked = controls[codes[controls] == 0] if controls.size else controls
    escaped = np.concatenate((unmarked, _uncovered(source, special, coverage, genuine)))
    escaped.sort()
    joined = np.flatnonzero(clings) if clings is not None else _NONE
    splices: list[OffsetMap] = []

    runs = _blank_runs(source)
    if runs.starts.size:
        codes, splice, digits = _numbered(codes, runs)
        splices.append(splice)
        joined = np.concatenate((splice.forward(joined), digits))
    if escaped.size:
        values = source[escaped]
        opens, closes = _bracket_groups(escaped, clings)
        at = splices[0].forward(escaped) if splices else escaped
        codes, splice, rest = _bracketed(codes, at, values, opens, closes)
        splices.append(splice)
        joined = np.concatenate((splice.forward(joined), rest))
    joined.sort()
    return PageText(codes, joined, tuple(splices))


def _uncovered(
    source: NDArray[np.uint32], special: Offsets, coverage: Coverage, genuine: Offsets | None
) -> Offsets:
    """Those of the offsets `special` that hold a character without a glyph, or a mark that is none."""
    if not special.size:
        return special
    found = source[special]
    lacking = (coverage.cells[found] == 0) | _IS_MARK[np.minimum(found, _IS_MARK.size - 1)]
    if genuine is not None and genuine.size:
        lacking[np.searchsorted(special, genuine)] = False
    return special[lacking]


def _named(marked: PageText, united: Substituted, coverage: Coverage) -> PageText:
    """Page text with the names of its emoji behind their opening brackets."""
    codes, joined, splices = marked.codes, marked.joined, (united.splice, *marked.splices)
    if united.emoji.size:
        at = united.emoji
        for splice in marked.splices:
            at = splice.forward(at)
        names = [code_points(name + marks.CLOSE) for name in united.names]
        sizes = np.array([name.size for name in names], np.int64)
        splice = OffsetMap(at, 1, sizes + 1)
        codes = insert_runs(codes, at + 1, sizes)
        rest = concat_ranges(splice.forward(at) + 1, sizes)
        codes[rest] = np.concatenate(names)
        joined = np.sort(np.concatenate((splice.forward(joined), rest)))
        splices += (splice,)
    return PageText(codes, joined, splices, coverage.units)


class _Runs(NamedTuple):
    """Runs of blanks that are printed as a number: first offset, length, digits of the number."""

    starts: Offsets
    lengths: Offsets
    digits: Offsets


def _blank_runs(source: NDArray[np.uint32]) -> _Runs:
    blank = source == _BLANK
    pairs = np.flatnonzero(blank[1:] & blank[:-1])
    first = np.flatnonzero(np.diff(pairs, prepend=-2) != 1)
    starts = pairs[first]
    lengths = np.diff(first, append=pairs.size) + 1
    before = source[starts - 1]
    leading = (starts == 0) | (before == _LINE) | (before == _TAB)
    long = lengths >= np.where(leading, 2, 4)
    lengths = lengths[long]
    return _Runs(starts[long], lengths, _decimal_length(lengths))


def _numbered(codes: NDArray[np.uint32], runs: _Runs) -> tuple[NDArray[np.uint32], OffsetMap, Offsets]:
    """`codes` (which it writes into) with numbers for runs of blanks; where digits after the first are."""
    starts, lengths, digits = runs
    for place in range(int(digits.max())):
        has = digits > place
        digit = lengths[has] // 10 ** (digits[has] - 1 - place) % 10
        codes[starts[has] + place] = _DIGITS[digit]
    # A number is never longer than its run: it stands in the run's first cells, and the rest goes.
    kept = np.ones(codes.size, np.bool_)
    kept[concat_ranges(starts + digits, lengths - digits)] = False
    splice = OffsetMap(starts, lengths, digits)
    return codes[kept], splice, concat_ranges(splice.forward(starts) + 1, digits - 1)


def _bracketed(
    codes: NDArray[np.uint32],
    at: Offsets,
    values: NDArray[np.uint32],
    opens: NDArray[np.bool_],
    closes: NDArray[np.bool_],
) -> tuple[NDArray[np.uint32], OffsetMap, Offsets]:
    """`codes` with the code points `values` in place of the characters `at`, and where all but the first
    code of each of them are."""
    hexes = _hex_length(values)
    lengths = 1 + hexes + closes
    splice = OffsetMap(at, 1, lengths)
    out = insert_runs(codes, at, lengths - 1)
    begin = splice.forward(at)
    out[begin] = np.where(opens, ord(marks.OPEN), ord("."))
    for place in range(int(hexes.max())):
        has = hexes > place
        shift = (4 * (hexes[has] - 1 - place)).astype(np.uint32)
        out[begin[has] + 1 + place] = _HEX[values[has] >> shift & 15]
    out[(begin + 1 + hexes)[closes]] = ord(marks.CLOSE)
    return out, splice, concat_ranges(begin + 1, lengths - 1)


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
    rf"[{marks.DIGITS}]+|{marks.OPEN}(?:(?P<hex>[0-9A-F]+(?:\.[0-9A-F]+)*)|(?P<name>[^{marks.CLOSE}]+)){marks.CLOSE}"
    rf"|[{marks.NEWLINE}{marks.TAB}]|(?P<mark>[{marks.SOURCE_MARKS}])"
)
_VALUES = str.maketrans(marks.DIGITS, "0123456789")


def decode(page_text: str) -> tuple[str, tuple[int, ...]]:
    """The folded text that `page_text` prints, and the offsets in it of the source's own marks.

    Raises:
        PageError: the name of an emoji that has none.
    """
    pieces: list[str] = []
    genuine: list[int] = []
    end = length = 0
    for match in _TOKEN.finditer(page_text):
        token = match[0]
        if match["hex"]:
            new = "".join(chr(int(code, 16)) for code in match["hex"].split("."))
        elif match["name"]:
            new = emoji_of(match["name"])
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
