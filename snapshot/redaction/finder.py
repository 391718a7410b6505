"""Where credentials stand in a text: rules tried at the literals they begin with.

Searching a text for each of hundreds of literals would cost more than all else. Nearly every token has a run of
20 letters, digits, "-" or "_", and no edge within it; so only the surroundings of where such runs begin are searched for them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from snapshot.redaction.private_keys import private_keys
from snapshot.redaction.rules import Rule, names
from snapshot.redaction.views import runs

__all__ = ["Hit", "hits_of"]

_RUN = 20  # characters
_BEFORE, _AFTER = 14, 26  # of the start of a run: where a token that it belongs to can begin
_SHORT = 128  # characters of a value
_IN_BASE64 = re.compile(r"[A-Za-z0-9+/]{40}\Z")


class Hit(NamedTuple):
    """A secret in a text.

    Attributes:
        start, stop: its half-open span.
        order: of its rule: the lower decides the kind where two overlap.
        kind: what its mark will say.
        contextual: known by where it stands.
    """

    start: int
    stop: int
    order: int
    kind: str
    contextual: bool


def hits_of(text: str, rules: Sequence[Rule]) -> Iterator[Hit]:
    """What the rules find in `text`, in no order; spans may overlap."""
    for start, stop in private_keys(text):
        yield Hit(start, stop, -1, "private-key", False)
    plain = text.encode("ascii", "replace")
    small = plain.lower()
    words = _starts(plain)
    near, starts, origins = _surroundings(text, words)
    for order, rule in enumerate(rules):
        if rule.beside and rule.beside not in text:
            continue
        if rule.token:
            places = _in_surroundings(rule, near, starts, origins) if rule.starts else words
        elif rule.starts:
            places = None
        else:
            yield from _everywhere(text, order, rule)
            continue
        if places is None:
            yield from _at_literals(text, small, order, rule)
        else:
            for place in places:
                match = rule.pattern.match(text, place)
                if match and not _inside_base64(text, match.start()):
                    yield from _hit(match, text, order, rule)


def _starts(plain: bytes) -> list[int]:
    """Where runs of letters, digits, "-" and "_" begin that are long enough; also behind an escaped newline."""
    found: list[int] = []
    for at, _ in runs(plain, "_-", _RUN):
        found.append(at)
        if at and plain[at - 1] == 0x5C and plain[at] in b"nrtbf":
            found.append(at + 1)
    return found


def _surroundings(text: str, runs: Sequence[int]) -> tuple[str, list[int], list[int]]:
    """The surroundings of where runs begin, put together; where each stands there, and in `text`."""
    pieces: list[str] = []
    starts: list[int] = []
    origins: list[int] = []
    size = done = 0
    for run in runs:
        start, stop = max(done, run - _BEFORE), run + _AFTER
        if start >= stop:
            continue
        if start > done or not pieces:
            pieces.append("\n")
            size += 1
        piece = text[start:stop]
        pieces.append(piece)
        starts.append(size)
        origins.append(start)
        size += len(piece)
        done = stop
    return "".join(pieces), starts, origins


def _in_surroundings(rule: Rule, near: str, starts: list[int], origins: list[int]) -> Iterator[int]:
    for literal in rule.starts:
        at = near.find(literal)
        while at >= 0:
            piece = bisect_right(starts, at) - 1
            yield origins[piece] + at - starts[piece]
            at = near.find(literal, at + 1)


def _at_literals(text: str, small: bytes, order: int, rule: Rule) -> Iterator[Hit]:
    for literal in rule.starts:
        sought = literal.encode("ascii", "replace") if rule.nocase else b""
        at = small.find(sought) if rule.nocase else text.find(literal)
        while at >= 0:
            match = rule.pattern.match(text, at)
            if match:
                hits = tuple(_hit(match, text, order, rule))
                yield from hits
                # Also past a long value that is no secret, so that each character is looked at a few times at most.
                at = max(at, (match.end() if hits else _value_start(match)) - 1)
            at = small.find(sought, at + 1) if rule.nocase else text.find(literal, at + 1)


def _value_start(match: re.Match[str]) -> int:
    """Where to look on behind a match that is no secret: a short value can be the name of another."""
    groups = match.re.groupindex
    if "quoted" in groups and match["quoted"]:
        return match.start("quoted")
    long = "secret" not in groups or not match["secret"] or len(match["secret"]) > _SHORT
    return match.end() if long else match.start("secret")


def _everywhere(text: str, order: int, rule: Rule) -> Iterator[Hit]:
    for match in rule.pattern.finditer(text):
        yield from _hit(match, text, order, rule)


def _hit(match: re.Match[str], text: str, order: int, rule: Rule) -> Iterator[Hit]:
    if rule.check is not None and not rule.check(match, text, names()):
        return
    start, stop = match.span()
    for group in ("secret", "quoted", "phrase"):
        if group in match.re.groupindex and match[group]:
            start, stop = match.span(group)
            break
    while stop > start and text[stop - 1] == ".":
        stop -= 1  # of the sentence
    if start < stop:
        yield Hit(start, stop, order, rule.kind, rule.contextual)


def _inside_base64(text: str, start: int) -> bool:
    """Whether what begins at `start` stands in a longer piece of base64, where anything can come up by chance."""
    return start > 40 and text[start - 1] in "+/" and _IN_BASE64.search(text, start - 40, start) is not None
