"""Text as a reader sees it: colour codes, escapes and line breaks that hide a secret are taken out.

A `View` knows where each of its characters stands in the source, so that what is found in it can be replaced there.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

__all__ = ["View", "base64_views", "unescaped"]

_INTRODUCER = r"(?:\x1b|\u241b|\^\[|\\{1,4}(?:x1[bB]|u001[bB]|033|e))"
_CONTROL = rf"(?:{_INTRODUCER}\[|\x9b)[0-?]*+[ -/]*+[@-~]"
_STRING = r"\x1b\][^\x07\x1b\n]{0,2048}+(?:\x07|\x1b\\)"
# A character as its number: in JSON, in a program, in a URL (where the percent sign may be escaped itself).
_NUMBERED = r"(?:\\{1,4}(?:u00|x)|%(?:25)?)(?P<code>[2-7][0-9A-Fa-f])"
_HIDDEN = re.compile(rf"{_NUMBERED}|{_CONTROL}|{_STRING}|\x1b[()][0-9A-B]|\\\r?\n[ \t]{{0,40}}")
_MAYBE_HIDDEN = re.compile(r"[\x1b\x9b\u241b%^]|\\(?:[xue0\r\n]|\\)")
# A line break that `fold` or a mail program put into a long word: the lines before are full, the next is no longer.
_FOLD = re.compile(r"\n(?<=[A-Za-z0-9+/_=.~-]{30}\n)(?=([A-Za-z0-9+/_.~-]{1,160}={0,2})[\"']?[,;]?(?:\r?\n|\Z))")
_WIDTHS = frozenset((60, 64, 70, 72, 76, 78, 79, 80, 100, 120, 128, 132))

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{24,}+")
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
    """A view of `text` without what can hide a secret; None where there is nothing of the kind."""
    cuts = list(_cuts(text))
    if not cuts:
        return None
    pieces: list[str] = []
    starts: list[int] = []
    origins: list[int] = []
    ends: list[int] = []
    size = at = 0
    for start, stop, char in (*cuts, (len(text), len(text), "")):
        if start > at:
            pieces.append(text[at:start])
            starts.append(size)
            origins.append(at)
            ends.append(start)
            size += start - at
        if char:
            pieces.append(char)
            starts.append(size)
            origins.append(start)
            ends.append(stop)
            size += 1
        at = stop
    return View("".join(pieces), starts, origins, ends) if pieces else None


def _cuts(text: str) -> Iterator[tuple[int, int, str]]:
    """What to replace by a character or nothing, in order and apart."""
    found = [(cut.start(), cut.end(), "") for cut in _FOLD.finditer(text) if _is_fold(text, cut)]
    if _MAYBE_HIDDEN.search(text):
        hidden = (
            (cut.start(), cut.end(), chr(int(code, 16)) if (code := cut["code"]) else "")
            for cut in _HIDDEN.finditer(text)
        )
        found = sorted([*found, *hidden])
    at = 0
    for start, stop, char in found:
        if start >= at:
            yield start, stop, char
            at = stop


def _is_fold(text: str, cut: re.Match[str]) -> bool:
    stop = cut.start() - (text[cut.start() - 1] == "\r")
    width = stop - text.rfind("\n", 0, cut.start()) - 1
    return width in _WIDTHS and len(cut[1]) <= width


def base64_views(text: str) -> Iterator[View]:
    """A view of each run of base64 in `text` that says printable ASCII, but for those of data URLs.

    A stretch of the source that one of its characters comes from is the whole group of four.
    """
    from binascii import Error, a2b_base64

    for run in _BASE64.finditer(text):
        start, stop = run.span()
        if text.endswith("base64,", 0, start):
            continue
        for skipped in range(4):  # what stands before may be of the alphabet: a plus of a diff, a slash
            body = text[start + skipped : start + skipped + (stop - start - skipped) // 4 * 4]
            try:
                head = a2b_base64(body[:24].translate(_BASE64_ALPHABET))
                if head.translate(None, _PRINTABLE):
                    continue
                data = a2b_base64(body.translate(_BASE64_ALPHABET))
            except Error:
                continue
            said = data.decode("latin-1")
            origins = [start + skipped + at // 3 * 4 for at in range(len(said))]
            yield View(said, list(range(len(said))), origins, [origin + 4 for origin in origins])
            break
