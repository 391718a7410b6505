"""Page text: folded source text in the form that is printed, and back.

What is printed as it is: every character that the font covers, and every unit that it draws (see `shaped`).
What is printed as marks (see `marks`): newlines, tabs, runs of blanks (two or more at the start of a line or
behind a tab, four or more elsewhere), emoji, characters without a glyph, and characters that are marks
themselves. `decode` gives the folded source back.

Everything is whole-text work on arrays of code points; no Python loop runs over characters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from snapshot._lazy import lazy_pattern
from snapshot.source import marks
from snapshot.source.codepoints import code_points, from_code_points
from snapshot.typeset.coverage import Coverage
from snapshot.typeset.emoji import emoji_of
from snapshot.typeset.offset_map import OffsetMap, Offsets, concat_ranges, insert_runs
from snapshot.typeset.shaped import Segmentation, ShapedCluster, expand, segment
from snapshot.typeset.substitution import Substituted, substitute

__all__ = [
    "PageText",
    "Printed",
    "decode",
    "encode",
    "printed_tokens",
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
# Code points that one pair of brackets may list, so that a unit stays shorter than a row.
_LISTED = 8


@dataclass(frozen=True, slots=True)
class PageText:
    """Page text of a stretch of folded text.

    Attributes:
        codes: its code points and the numbers of its units, uint32.
        joined: offsets of the codes that belong to the one before them, int64, ascending: a unit is never
            torn over the end of a row or page (a grapheme cluster, a code point in brackets, a number).
        offset_maps: how the characters of the folded text became codes, step after step.
        units: the numbers of the font's units.
    """

    codes: NDArray[np.uint32]
    joined: NDArray[np.int64]
    offset_maps: tuple[OffsetMap, ...] = ()
    units: Mapping[ShapedCluster, int] = field(default_factory=dict, repr=False)

    @property
    def text(self) -> str:
        """The page text as a string."""
        return from_code_points(expand(self.codes, {number: unit for unit, number in self.units.items()}))

    def origin(self, offset: int) -> int:
        """Offset in the folded text of the character that the code at `offset` prints."""
        for offset_map in reversed(self.offset_maps):
            offset = offset_map.origin(offset)
        return offset


def encode(
    text: str,
    coverage: Coverage,
    *,
    mark_offsets: NDArray[np.int64] | None = None,
    widest: int = 80,
    segmentation: Segmentation | None = None,
    starts_line: bool = True,
) -> PageText:
    """Page text of the folded text `text`.

    Args:
        text: folded source text, or a stretch of it.
        coverage: which code points the font draws, and in how many cells.
        mark_offsets: offsets of the characters in `text` that are marks of the source text and no content.
        widest: cells a unit may take before its grapheme cluster is torn after all.
        segmentation: the grapheme clusters of `text`, where they are known.
        starts_line: whether blanks at its start stand at the start of a line.
    """
    source = code_points(text)
    controls, special = _unprintable(source)
    segmentation = segmentation or segment(text, source, special)
    substituted = (
        substitute(source, special, segmentation, coverage=coverage, widest=widest) if special.size else None
    )
    if substituted is None:
        return _marked(
            source,
            controls,
            special,
            segmentation.is_continuation,
            coverage=coverage,
            mark_offsets=mark_offsets,
            widest=widest,
            starts_line=starts_line,
        )
    mark_offsets = (
        substituted.emoji
        if mark_offsets is None
        else np.append(substituted.offset_map.forward(mark_offsets), substituted.emoji)
    )
    codes = substituted.codes
    controls, special = _unprintable(codes)
    marked = _marked(
        codes,
        controls,
        special,
        substituted.is_continuation,
        coverage=coverage,
        mark_offsets=mark_offsets,
        widest=widest,
        starts_line=starts_line,
    )
    return _named(marked, substituted, coverage)


def uncovered_codes(
    text: str, coverage: Coverage, segmentation: Segmentation | None = None
) -> NDArray[np.uint32]:
    """The characters of a folded text that are printed as code points for want of a glyph, in their order."""
    source = code_points(text)
    _, special = _unprintable(source)
    if special.size:
        segmentation = segmentation or segment(text, source, special)
        substituted = substitute(source, special, segmentation, coverage=coverage, widest=_WIDEST_NAME)
        source = source if substituted is None else substituted.codes
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
    is_continuation: NDArray[np.bool_] | None,
    *,
    coverage: Coverage,
    mark_offsets: Offsets | None,
    widest: int,
    starts_line: bool,
) -> PageText:
    """Page text of a text, emoji but for their opening bracket not yet in it."""
    if is_continuation is not None:
        is_continuation = _loosened(is_continuation, source, widest)
    codes = source.copy()
    codes[controls] = _CONTROL_MARKS[source[controls]]
    unmarked = controls[codes[controls] == 0] if controls.size else controls
    escaped = np.concatenate((unmarked, _uncovered(source, special, coverage, mark_offsets)))
    escaped.sort()
    joined = np.flatnonzero(is_continuation) if is_continuation is not None else _NONE
    offset_maps: list[OffsetMap] = []

    runs = _blank_runs(source, starts_line=starts_line)
    if runs.starts.size:
        codes, offset_map, digits = _numbered(codes, runs)
        offset_maps.append(offset_map)
        joined = np.concatenate((offset_map.forward(joined), digits))
    if escaped.size:
        values = source[escaped]
        opens, closes = _bracket_groups(escaped, is_continuation)
        at = offset_maps[0].forward(escaped) if offset_maps else escaped
        codes, offset_map, rest = _bracketed(codes, at, values, opens, closes)
        offset_maps.append(offset_map)
        joined = np.concatenate((offset_map.forward(joined), rest))
    joined.sort()
    return PageText(codes, joined, tuple(offset_maps))


def _uncovered(
    source: NDArray[np.uint32], special: Offsets, coverage: Coverage, mark_offsets: Offsets | None
) -> Offsets:
    """Those of the offsets `special` that hold a character without a glyph, or a mark that is none."""
    if not special.size:
        return special
    values = source[special]
    lacking = (coverage.cells[values] == 0) | _IS_MARK[np.minimum(values, _IS_MARK.size - 1)]
    if mark_offsets is not None and mark_offsets.size:
        lacking[np.searchsorted(special, mark_offsets)] = False
    return special[lacking]


def _named(marked: PageText, substituted: Substituted, coverage: Coverage) -> PageText:
    """Page text with the names of its emoji behind their opening brackets."""
    codes, joined, offset_maps = marked.codes, marked.joined, (substituted.offset_map, *marked.offset_maps)
    if substituted.emoji.size:
        at = substituted.emoji
        for offset_map in marked.offset_maps:
            at = offset_map.forward(at)
        different, which = substituted.names
        every = np.array([len(name) + 1 for name in different], np.int64)
        sizes = every[which]
        offset_map = OffsetMap(at, 1, sizes + 1)
        codes = insert_runs(codes, at + 1, sizes)
        rest = concat_ranges(offset_map.forward(at) + 1, sizes)
        names = code_points(marks.CLOSE.join((*different, "")))
        codes[rest] = names[concat_ranges((every.cumsum() - every)[which], sizes)]
        joined = np.sort(np.concatenate((offset_map.forward(joined), rest)))
        offset_maps += (offset_map,)
    return PageText(codes, joined, offset_maps, coverage.units)


class _Runs(NamedTuple):
    """Runs of blanks that are printed as a number: first offset, length, digits of the number."""

    starts: Offsets
    lengths: Offsets
    digits: Offsets


def _blank_runs(source: NDArray[np.uint32], *, starts_line: bool) -> _Runs:
    blank = source == _BLANK
    pairs = np.flatnonzero(blank[1:] & blank[:-1])
    first = np.flatnonzero(np.diff(pairs, prepend=-2) != 1)
    starts = pairs[first]
    lengths = np.diff(first, append=pairs.size) + 1
    before = source[starts - 1]
    leading = np.where(starts == 0, starts_line, (before == _LINE) | (before == _TAB))
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
    offset_map = OffsetMap(starts, lengths, digits)
    return codes[kept], offset_map, concat_ranges(offset_map.forward(starts) + 1, digits - 1)


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
    offset_map = OffsetMap(at, 1, lengths)
    out = insert_runs(codes, at, lengths - 1)
    begin = offset_map.forward(at)
    out[begin] = np.where(opens, ord(marks.OPEN), ord("."))
    for place in range(int(hexes.max())):
        has = hexes > place
        shift = (4 * (hexes[has] - 1 - place)).astype(np.uint32)
        out[begin[has] + 1 + place] = _HEX[values[has] >> shift & 15]
    out[(begin + 1 + hexes)[closes]] = ord(marks.CLOSE)
    return out, offset_map, concat_ranges(begin + 1, lengths - 1)


def _bracket_groups(
    escaped: NDArray[np.int64], is_continuation: NDArray[np.bool_] | None
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which of the escaped characters open a pair of brackets, and which close one.

    A pair lists neighbours of one grapheme cluster, `_LISTED` at the most.
    """
    opens = np.ones(escaped.size, np.bool_)
    if is_continuation is not None and escaped.size > 1:
        opens[1:] = (np.diff(escaped) > 1) | ~is_continuation[escaped[1:]]
        index = np.arange(escaped.size)
        since = index - np.maximum.accumulate(np.where(opens, index, 0))
        opens |= since % _LISTED == 0
    closes = np.ones(escaped.size, np.bool_)
    closes[:-1] = opens[1:]
    return opens, closes


def _loosened(
    is_continuation: NDArray[np.bool_], codes: NDArray[np.uint32], widest: int
) -> NDArray[np.bool_]:
    """`is_continuation` without the clusters that may not fit `widest` cells even on a row of their own.

    One that begins before the text is such a one: else no page would begin within it.
    """
    if is_continuation[0]:
        is_continuation = is_continuation.copy()
        is_continuation[: np.argmin(is_continuation) or is_continuation.size] = False
    heads = np.flatnonzero(~is_continuation)
    sizes = np.diff(np.append(heads, codes.size))
    if sizes.max() * _WIDEST_CHARACTER <= widest:
        return is_continuation
    bounds = np.add.reduceat(np.where(codes < _ASCII, 1, _WIDEST_CHARACTER), heads)
    torn = (sizes > 1) & (bounds > widest)
    is_continuation = is_continuation.copy()
    for head, size in zip(heads[torn], sizes[torn], strict=True):
        is_continuation[head : head + size] = False
    return is_continuation


def _decimal_length(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Decimal digits of each value of 1 and more."""
    return np.searchsorted(10 ** np.arange(1, 19), values, side="right") + 1


def _hex_length(values: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Hexadecimal digits of each value."""
    return np.searchsorted(16 ** np.arange(1, 8), values, side="right") + 1


_TOKEN = lazy_pattern(
    rf"[{marks.DIGITS}]+"
    # A name ends before the next bracket, whichever it is, so that no bracket is looked for over and over.
    rf"|{marks.OPEN}(?:(?P<hex>[0-9A-F]+(?:\.[0-9A-F]+)*)|(?P<name>[^{marks.OPEN}{marks.CLOSE}]+)){marks.CLOSE}"
    rf"|[{marks.NEWLINE}{marks.TAB}]|(?P<mark>[{marks.SOURCE_MARKS}])"
)
_VALUES = str.maketrans(marks.DIGITS, "0123456789")


class Printed(NamedTuple):
    """A token of page text that prints something else than itself, or a mark of the source.

    `start` and `stop` are its half-open span in the page text, `text` is the folded text that it prints.
    """

    start: int
    stop: int
    text: str
    is_mark: bool


def printed_tokens(page_text: str) -> Iterator[Printed]:
    """What in `page_text` is not simply the character that it shows, in order.

    Raises:
        PageError: the name of an emoji that has none.
    """
    for match in _TOKEN.finditer(page_text):
        token = match[0]
        if match["hex"]:
            text = "".join(chr(int(code, 16)) for code in match["hex"].split("."))
        elif match["name"]:
            text = emoji_of(match["name"])
        elif token == marks.NEWLINE:
            text = "\n"
        elif token == marks.TAB:
            text = "\t"
        elif match["mark"]:
            text = token
        else:
            text = " " * int(token.translate(_VALUES))
        yield Printed(match.start(), match.end(), text, bool(match["mark"]))


def decode(page_text: str) -> tuple[str, tuple[int, ...]]:
    """The folded text that `page_text` prints, and the offsets in it of the source's own marks.

    Raises:
        PageError: the name of an emoji that has none.
    """
    pieces: list[str] = []
    mark_offsets: list[int] = []
    end = length = 0
    for start, stop, text, is_mark in printed_tokens(page_text):
        length += start - end
        if is_mark:
            mark_offsets.append(length)
        pieces += (page_text[end:start], text)
        length += len(text)
        end = stop
    pieces.append(page_text[end:])
    return "".join(pieces), tuple(mark_offsets)
