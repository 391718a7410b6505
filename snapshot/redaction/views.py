"""Text as a reader sees it: colour codes, escapes and line breaks that hide a secret are taken out.

A `View` knows where each of its characters stands in the source, so that what is found in it can be replaced
there.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from string import ascii_letters, digits

_Cut = tuple[int, int, str]

__all__ = ["View", "decoded", "runs", "unescaped"]

_INTRODUCER = r"(?:\x1b|\u241b|\^\[|\\{1,4}(?:x1[bB]|u001[bB]|033|e))"
_CONTROL = rf"(?:{_INTRODUCER}\[|\x9b)[0-?]*+[ -/]*+[@-~]"
_STRING = r"\x1b\][^\x07\x1b\n]{0,2048}+(?:\x07|\x1b\\)"
# A character as its number: in JSON, in a program, in a URL (where the percent sign may be escaped itself).
_NUMBERED = r"(?:\\{1,4}(?:u00|x)|%(?:25)?)(?P<code>[2-7][0-9A-Fa-f])"
_HIDDEN = re.compile(rf"{_NUMBERED}|{_CONTROL}|{_STRING}|\x1b[()][0-9A-B]|\\\r?\n[ \t]{{0,40}}")
# Where one can begin: each alternative begins with a character, so that the search is quick.
_MAYBE_HIDDEN = re.compile(
    r"\\(?=\\{0,3}(?:u00[1-7]|x[1-7]|033\[|e\[)|\r?\n)|%(?=(?:25)?[2-7][0-9A-Fa-f])|\x1b|\x9b|\u241b|\^(?=\[\[)"
)
# How much around such a place is looked at once more.
_BEFORE, _AFTER = 400, 800
_FAR = "\n" * 64
# A line break that `fold` or a mail program put into a long word: the line is full, the next is no longer.
_FOLD = re.compile(
    r"\n(?<=[A-Za-z0-9+/_=.~%&?:-]{30}\n)(?=([A-Za-z0-9+/_.~%-]{1,160}={0,2})[\"']?[,;]?(?:\r?\n|\Z))"
)
_WIDTHS = frozenset((60, 64, 70, 72, 76, 78, 79, 80, 100, 120, 128, 132))

_SHORTEST = 24  # characters of base64 that are looked into
# Base64 of printable ASCII and line ends: the first of four characters has the upper bits of a byte.
_ASCII = re.compile(r"(?:[CDI-Za-f][A-Za-z0-9+/_-]{3}){5}")
_WHOLE = 4096  # characters of base64 that go as a whole
_BASE64_ALPHABET = str.maketrans("-_", "+/")
_PRINTABLE = bytes([9, 10, 13, *range(32, 127)])


class View:
    """Part of a source text as it reads, with the way back.

    Attributes:
        text: what to search.
    """

    def __init__(self, text: str, starts: list[int], origins: list[int], ends: list[int]) -> None:
        self.text = text
        self._starts = starts  # of each stretch, in the view
        self._origins = origins  # of each stretch, in the source
        self._ends = ends  # where it ends in the source; a stretch of another length is one character

    def span(self, start: int, stop: int) -> tuple[int, int]:
        """The half-open span of the source that `text[start:stop]` comes from; `start < stop`."""
        first = bisect_right(self._starts, start) - 1
        last = bisect_right(self._starts, stop - 1) - 1
        end = self._origins[last] + stop - self._starts[last]
        return (
            self._origins[first] + start - self._starts[first],
            self._ends[last] if end > self._ends[last] or self._is_escape(last) else end,
        )

    def _is_escape(self, number: int) -> bool:
        following = self._starts[number + 1] if number + 1 < len(self._starts) else len(self.text)
        return self._ends[number] - self._origins[number] != following - self._starts[number]


def unescaped(text: str) -> View | None:
    """A view of what is around all that can hide a secret in `text`, without it; None where nothing can."""
    cuts = list(_cuts(text))
    if not cuts:
        return None
    areas = list(_areas(text, cuts))
    pieces: list[str] = []
    starts: list[int] = []
    origins: list[int] = []
    ends: list[int] = []
    size = 0

    def put(piece: str, start: int, stop: int) -> None:
        nonlocal size
        if piece:
            pieces.append(piece)
            starts.append(size)
            origins.append(start)
            ends.append(stop)
            size += len(piece)

    for start, stop, inside in areas:
        if pieces:
            put(_FAR, start, start)
        at = start
        for begin, end, char in inside:
            put(text[at:begin], at, begin)
            put(char, begin, end)
            at = end
        put(text[at:stop], at, stop)
    return View("".join(pieces), starts, origins, ends) if pieces else None


def _areas(text: str, cuts: list[_Cut]) -> Iterator[tuple[int, int, list[_Cut]]]:
    """Spans of `text` around cuts, whole words, apart; with the cuts in each."""
    if "PRIVATE KEY" in text:  # which can be long
        yield 0, len(text), cuts
        return
    area: list[_Cut] = []
    start = stop = 0
    for cut in cuts:
        begin = cut[0] - _BEFORE
        if area and begin > stop:
            yield start, stop, area
            area = []
        if not area:
            start = max(stop, _word_start(text, begin))
        area.append(cut)
        stop = max(stop, min(len(text), cut[1] + _AFTER))
    yield start, stop, area


def _word_start(text: str, at: int) -> int:
    """Where the word at `at` begins, or `at` where it is too long: an area must not begin in a word."""
    if at <= 0:
        return 0
    blank = max(text.rfind(" ", max(0, at - _BEFORE), at), text.rfind("\n", max(0, at - _BEFORE), at))
    return at if blank < 0 else blank


def _cuts(text: str) -> Iterator[_Cut]:
    """What to replace by a character or nothing, in order and apart."""
    found = [(cut.start(), cut.end(), "") for cut in _FOLD.finditer(text) if _is_fold(text, cut)]
    stop = 0
    for place in _MAYBE_HIDDEN.finditer(text):
        if place.start() >= stop and (cut := _HIDDEN.match(text, place.start())):
            stop = cut.end()
            found.append((cut.start(), stop, chr(int(code, 16)) if (code := cut["code"]) else ""))
    at = 0
    for cut in sorted(found):
        if cut[0] >= at:
            yield cut
            at = cut[1]


def _is_fold(text: str, cut: re.Match[str]) -> bool:
    stop = cut.start() - (text[cut.start() - 1] == "\r")
    width = stop - text.rfind("\n", 0, cut.start()) - 1
    return width in _WIDTHS and len(cut[1]) <= width


def runs(text: bytes, marks: str, shortest: int) -> Iterator[tuple[int, int]]:
    """Half-open spans of at least `shortest` letters, digits and `marks` in a row."""
    words = text.translate(_alphabet(marks))
    long = b"a" * shortest
    at = words.find(long)
    while at >= 0:
        stop = words.find(b" ", at)
        stop = len(words) if stop < 0 else stop
        yield at, stop
        at = words.find(long, stop)


@cache
def _alphabet(marks: str) -> bytes:
    known = {*marks.encode(), *ascii_letters.encode(), *digits.encode()}
    return bytes(0x61 if code in known else 0x20 for code in range(256))


class _Decoded(View):
    """What runs of base64 say, one after the other; a span comes from a whole run, or part of a long one."""

    def __init__(self, pieces: list[str], places: list[tuple[int, int]]) -> None:
        self.text = _FAR.join(pieces)
        self._places = places
        self._starts = [0]
        for piece in pieces:
            self._starts.append(self._starts[-1] + len(piece) + len(_FAR))

    def span(self, start: int, stop: int) -> tuple[int, int]:
        number = bisect_right(self._starts, start) - 1
        first, last = self._places[number]
        if last - first <= _WHOLE:
            return first, last
        at = self._starts[number]
        return first + (start - at) // 3 * 4, min(last, first - (at - stop) // 3 * 4)


def decoded(text: str) -> View | None:
    """A view of what those runs of base64 say that are printable ASCII, but for data URLs; None without."""
    pieces: list[str] = []
    places: list[tuple[int, int]] = []
    for start, stop in runs(text.encode("ascii", "replace"), "+/_-", _SHORTEST):
        if text.endswith("base64,", 0, start):
            continue
        for first in range(start, min(start + 4, stop)):  # what stands before may be of the alphabet: a plus
            said = _said(text[first:stop]) if _ASCII.match(text, first) else None
            if said is not None:
                pieces.append(said)
                places.append((first, stop))
                break
    return _Decoded(pieces, places) if pieces else None


def _said(run: str) -> str | None:
    """What a run of base64 says, if that is printable ASCII."""
    from binascii import Error, a2b_base64

    try:
        if a2b_base64(run[:24].translate(_BASE64_ALPHABET)).translate(None, _PRINTABLE):
            return None
        body = run.translate(_BASE64_ALPHABET)
        if len(body) % 4 == 1:  # no end of base64, so it belongs to something else
            body = body[:-1]
        data = a2b_base64(body + "=" * (-len(body) % 4))
    except Error:
        return None
    return data.decode("latin-1")
