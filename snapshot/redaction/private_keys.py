"""Private keys in text, found by their frame: on lines, escaped in JSON, numbered, indented, or torn.

A key goes as a whole. Where a tool cut it, what is left of it goes: the lines behind a beginning without an
end, and those before an end without a beginning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from snapshot._lazy import lazy_pattern

__all__ = ["private_keys"]

_LABEL = r"(?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?"
_DASHES = "-{4,5} ?"  # four and a blank in the SSH2 form of RFC 4716
# What may stand between two runs of base64: line ends as they are or escaped, and what programs put
# before a line: a quote, a number, an arrow, a plus.
_GLUE = r"""(?:\s|\\{1,4}[nrt]|\\?["'`,>|+:→]|\d{1,5}[\t→:|])"""
_HEADER = r"(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash|Subject): [^\n\\]{0,100}"
_RUN = r"[A-Za-z0-9+/]{16,}+={0,2}"
_LAST = r"=?[A-Za-z0-9+/]{1,15}={0,2}"
_END = rf"{_DASHES}END {_LABEL} ?-{{4,5}}"
# Atomic groups: a key is passed over once, whether it has an end or not. A possessive quantifier behind a
# group would be shorter, but matches what it should not before Python 3.11.5 (gh-106052).
_KEY = lazy_pattern(
    rf"{_DASHES}BEGIN {_LABEL} ?-{{4,5}}"
    rf"(?P<body>(?>(?:(?>{_GLUE}{{0,40}})(?:{_HEADER}|{_RUN}))+))"
    rf"(?:(?:(?>{_GLUE}{{1,40}}){_LAST}){{0,2}}(?>{_GLUE}{{0,40}}){_END}"
    rf"|(?>{_GLUE}{{1,40}}){_LAST}(?=\s*(?:\Z|\n|\\n|\\?[\"'])))?"
)
_TAIL = lazy_pattern(_END)
_LINE = lazy_pattern(rf"{_GLUE}{{0,12}}{_RUN}\s{{0,4}}")
_LAST_LINE = lazy_pattern(rf"{_GLUE}{{0,12}}(?:{_RUN}|{_LAST})?\s{{0,4}}")
_END_OF_LINE = lazy_pattern(rf"(?<![A-Za-z0-9+/]){_RUN}\Z")
_LONGEST_KEY = 1 << 14
# PuTTY's own form: the lines are counted, and their keyed digest follows.
_PUTTY = lazy_pattern(
    r"Private-Lines: {0,4}\d{1,4}"
    rf"(?P<body>(?>(?:(?>{_GLUE}{{1,40}})[A-Za-z0-9+/]{{16,64}}={{0,2}}){{1,400}})"
    rf"(?:(?>{_GLUE}{{1,40}})[A-Za-z0-9+/]{{1,15}}={{0,2}}(?![A-Za-z0-9+/:-]))?"
    rf"(?:(?>{_GLUE}{{1,40}})Private-(?:MAC|Hash): {{0,4}}[0-9a-f]{{40,64}})?)"
)


def private_keys(text: str) -> Iterator[tuple[int, int]]:
    """Half-open spans of the private keys in `text`, with as much of their frame as there is."""
    if "Private-Lines:" in text:
        for match in _PUTTY.finditer(text):
            yield match.span("body")
    if "PRIVATE KEY" not in text:
        return
    at = 0
    for match in _KEY.finditer(text):
        yield from _tails(text, at, match.start())
        if re.search(_RUN, match["body"]):
            yield match.span()
        at = match.end()
    yield from _tails(text, at, len(text))


def _tails(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Ends without a beginning in `text[start:stop]`, with the lines of base64 before them."""
    for match in _TAIL.finditer(text, start, stop):
        window = text[max(start, match.start() - _LONGEST_KEY) : match.start()]
        newline = "\n" if "\n" in window[-12:] else "\\n"
        *lines, before = window.split(newline)
        size, key = len(before), False
        for number, line in enumerate(reversed(lines)):
            form = _LINE if number else _LAST_LINE
            if len(line) > 200 or not form.fullmatch(line):
                if rest := _END_OF_LINE.search(line[-200:]):  # the first line, behind something else
                    size, key = size + len(newline) + len(rest[0]), True
                break
            size, key = size + len(newline) + len(line), key or _LINE.fullmatch(line) is not None
        if key:
            yield match.start() - size, match.end()
        start = match.end()
