"""Base64 payloads in text: found whole, told what they are, never cut in half.

Found are data URLs, and runs of base64 without a scheme, on one line or wrapped, that are long and varied
enough to be no word, hash or path. A short mention such as `data:image/png;base64,` in prose is left alone.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass

from snapshot.parts.media import media_type_of

__all__ = ["Payload", "payloads"]

# A payload from which something could be decoded; shorter ones are examples in prose.
_SHORTEST_URL = 32
_SHORTEST_BARE = 256
_URL = re.compile(
    r"data:(?P<type>[\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*;base64,"
    rf"(?P<data>[A-Za-z0-9+/_-]{{{_SHORTEST_URL},}}={{0,2}})"
)
# Possessive, and anchored behind what is no base64: each run is scanned once.
_BARE = re.compile(
    rf"(?<![A-Za-z0-9+/=])(?:[A-Za-z0-9+/]{{{_SHORTEST_BARE},}}+"
    r"|(?:[A-Za-z0-9+/]{60,76}\n){4,}+[A-Za-z0-9+/]*+)={0,2}(?![A-Za-z0-9+/=])"
)
# Every bare payload has a run as long as its shortest line. Searching for that costs a tenth of the pattern.
_IS_BASE64 = bytes(chr(code).isalnum() or chr(code) in "+/" for code in range(128)) + bytes(128)
_LINE = b"\x01" * 60


@dataclass(frozen=True, slots=True)
class Payload:
    """A payload in a text: the half-open span of its characters, its media type, its size in bytes."""

    start: int
    stop: int
    media_type: str
    size: int


def payloads(text: str) -> Iterator[Payload]:
    """The payloads of `text`, in order, apart from each other."""
    found: list[Payload] = []
    if ";base64," in text:
        for match in _URL.finditer(text):
            kind = match["type"] or "text/plain"
            found.append(Payload(match.start(), match.end(), kind, _size(match["data"])))
    end = 0
    for match in _BARE.finditer(text) if _may_hold_bare(text) else ():
        while found and found[0].stop <= match.start():
            yield found[0]
            end = found.pop(0).stop
        inside_url = bool(found) and match.start() < found[0].stop and match.end() > found[0].start
        if not inside_url and match.start() >= end and _varied(match[0]):
            yield Payload(match.start(), match.end(), _sniff(match[0]), _size(match[0]))
            end = match.end()
    yield from found


def _may_hold_bare(text: str) -> bool:
    """Whether a run of base64 is long enough for a line of a payload."""
    return len(text) >= 4 * len(_LINE) and _LINE in text.encode("ascii", "replace").translate(_IS_BASE64)


def _varied(run: str) -> bool:
    """Whether a run looks like encoded bytes: lower and upper case and digits, in many different letters.

    Of 256 random base64 characters about 63 of the 64 differ; of hexadecimal digits 16, of a long
    identifier or path a dozen or two.
    """
    sample = set(run[:1024])
    kinds = (str.islower, str.isupper, str.isdigit)
    return len(sample) >= 40 and all(any(kind(char) for char in sample) for kind in kinds)


def _sniff(run: str) -> str:
    head = base64.b64decode(run[:64].replace("\n", "")[:60])
    return media_type_of(head) or "application/octet-stream"


def _size(run: str) -> int:
    """Bytes that a base64 run decodes to."""
    letters = len(run) - run.count("=") - run.count("\n")
    return letters * 3 // 4
