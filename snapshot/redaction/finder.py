"""Where credentials stand in a text: rules tried at the literals they begin with.

Searching a text for each of hundreds of literals would cost more than all else. Nearly every token has a run
of 20 letters, digits, "-" or "_", and begins where that begins, or close before: only there it is sought.
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
_BEFORE, _AFTER = 20, 4  # characters around the start of a run: where its token can begin
_WORD = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
_Numbered = tuple[int, Rule]
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


class RuleSet:
    """Rules by how they are looked for; the order of `rules` decides what a secret is called."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.shapes: list[_Numbered] = []  # without literals: tried where a run begins, if any matches there
        self.leading: dict[str, list[tuple[str, int, Rule]]] = {}  # literals that a run begins with
        self.close: list[tuple[str, int, Rule]] = []  # literals that stand close before a run
        self.everywhere: list[_Numbered] = []
        for order, rule in enumerate(rules):
            if not rule.token:
                self.everywhere.append((order, rule))
            elif not rule.starts:
                self.shapes.append((order, rule))
            for literal in rule.starts if rule.token else ():
                if len(literal) > 1 and not literal.encode("ascii", "replace").translate(None, _WORD):
                    self.leading.setdefault(literal[:2], []).append((literal, order, rule))
                else:
                    self.close.append((literal, order, rule))
        sources = (f"(?:{_unnamed(rule.source)})" for _, rule in self.shapes)
        self.any_shape = re.compile("|".join(sources)) if self.shapes else None


def hits_of(text: str, rules: RuleSet) -> Iterator[Hit]:
    """What the rules find in `text`, in no order; spans may overlap."""
    for start, stop in private_keys(text):
        yield Hit(start, stop, -1, "private-key", False)
    plain = text.encode("ascii", "replace")
    for place, order, rule in _token_places(text, plain, rules):
        match = rule.pattern.match(text, place)
        if match and not _inside_base64(text, match.start()):
            yield from _hit(match, text, order, rule)
    small = plain.lower()
    for order, rule in rules.everywhere:
        if rule.beside and rule.beside not in text:
            continue
        yield from _at_literals(text, small, order, rule) if rule.starts else _everywhere(text, order, rule)


def _token_places(text: str, plain: bytes, rules: RuleSet) -> Iterator[tuple[int, int, Rule]]:
    """Where a token could begin, with the number of its rule."""
    words = _starts(plain)
    for word in words:
        for literal, order, rule in rules.leading.get(text[word : word + 2], ()):
            if text.startswith(literal, word):
                yield word, order, rule
        if rules.any_shape is not None and rules.any_shape.match(text, word):
            for order, rule in rules.shapes:
                yield word, order, rule
    near, starts, origins = _surroundings(text, words)
    for literal, order, rule in rules.close:
        at = near.find(literal)
        while at >= 0:
            piece = bisect_right(starts, at) - 1
            yield origins[piece] + at - starts[piece], order, rule
            at = near.find(literal, at + 1)


def _unnamed(pattern: str) -> str:
    return re.sub(r"\(\?P<\w+>", "(?:", pattern)


def _starts(plain: bytes) -> list[int]:
    """Where long runs of letters, digits, "-" and "_" begin; also behind an escaped newline."""
    found: list[int] = []
    for at, _ in runs(plain, "_-", _RUN):
        found.append(at)
        if at and plain[at - 1] == 0x5C and plain[at] in b"nrtbf":
            found.append(at + 1)
    return found


def _surroundings(text: str, words: Sequence[int]) -> tuple[str, list[int], list[int]]:
    """What stands close before runs, put together; where each piece stands there, and in `text`."""
    pieces: list[str] = []
    starts: list[int] = []
    origins: list[int] = []
    size = done = 0
    for word in words:
        start, stop = max(done, word - _BEFORE), word + _AFTER
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


def _at_literals(text: str, small: bytes, order: int, rule: Rule) -> Iterator[Hit]:
    for literal in rule.starts:
        sought = literal.encode("ascii", "replace") if rule.nocase else b""
        at = small.find(sought) if rule.nocase else text.find(literal)
        while at >= 0:
            match = rule.pattern.match(text, at)
            if match:
                hits = tuple(_hit(match, text, order, rule))
                yield from hits
                # Also past a long value that is no secret: each character is looked at a few times at most.
                at = max(at, (match.end() if hits else _value_start(match)) - 1)
            at = small.find(sought, at + 1) if rule.nocase else text.find(literal, at + 1)


def _value_start(match: re.Match[str]) -> int:
    """Where to look on behind a match that is no secret: a short value can be the name of another."""
    groups = match.groupdict()
    if groups.get("quoted"):
        return match.start("quoted")
    value = groups.get("secret")
    # Behind "=" and ":" the value can hold name after name, behind a blank or a comma it cannot.
    if value and (("sign" in groups and not groups["sign"]) or len(value) <= _SHORT):
        return match.start("secret")
    return match.end()


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
    """Whether what begins at `start` stands in a long piece of base64, where anything comes up by chance."""
    return start > 40 and text[start - 1] in "+/" and _IN_BASE64.search(text, start - 40, start) is not None
