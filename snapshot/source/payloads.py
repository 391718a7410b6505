"""Base64 payloads in text: found whole, told what they are, never cut in half.

Found are

* data URLs in any spelling: upper case, parameters (quoted ones too), blanks, percent signs or JSON's escapes
  in place of `+`, `/` and `=`, data wrapped over lines; without base64 where most of them is percent-encoded;
* the bodies of MIME parts whose header says `Content-Transfer-Encoding: base64`;
* runs of base64 without a scheme, on one line or wrapped, indented or quoted, that are long and varied enough
  to be no word, hash or path.

A short mention such as `data:image/png;base64,` in prose is left alone.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass

from snapshot._lazy import lazy_pattern
from snapshot.parts.media import media_type_of

__all__ = ["Payload", "payloads"]

# A payload from which something could be decoded; shorter ones are examples in prose.
_SHORTEST_URL = 32
_SHORTEST_BARE = 256
# Widths of the lines of a wrapped payload, and the fewest lines.
_NARROWEST, _WIDEST, _FEWEST_LINES = 40, 2000, 3
# Characters of a percent-encoded URL, and the share of them that escapes take.
_SHORTEST_ENCODED, _ENCODED_SHARE = 256, 0.2

# Every repetition is possessive or bounded, and no search begins inside of what another one has scanned: each
# character is looked at a few times at the most, whatever the text.
_TYPE = r"[\w.+-]{1,100}(?:/|\\/|%2[Ff])[\w.+-]{1,100}"
_PARAMETER = r"[ ]?;[ ]?(?!base64[ ]?,)[\w.+%*-]{1,100}(?:=(?:\"[^\"\n]{0,200}\"|[^\s;,\"'()<>]{0,200}))?"
_HEAD = lazy_pattern(
    rf"data:[ ]?(?P<type>{_TYPE})?(?:{_PARAMETER}){{0,8}}(?P<base64>[ ]?;[ ]?base64[ ]?)?,", re.IGNORECASE
)
# Between the lines of a payload: a newline, or an escape for one; indentation and quoting, or the quotes of
# string literals that are put together.
_SCHEME = lazy_pattern(r"data:", re.IGNORECASE)
_BREAK = lazy_pattern(r"(?:[\"']? ?[+\\]?\r?\n|(?:\\r)?\\n|(?:%0[Dd])?%0[Aa])[ \t]{0,80}+(?:[>#|*] ?|[\"'])?")
_START = lazy_pattern(rf"(?:{_BREAK.pattern}|[ ])?")
_LETTERS = lazy_pattern(r"[A-Za-z0-9+/]++")
_URL_LETTERS = lazy_pattern(r"(?>(?:[A-Za-z0-9+/_-]++|%2[BbFfDd]|%5[Ff]|\\/|\\u00(?:2[BbFf]))+)")
_ESCAPE = lazy_pattern(r"%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\/")
_PADDING = lazy_pattern(r"(?:=|%3[Dd]|\\u003[Dd]){1,2}")
_RUN = lazy_pattern(rf"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{{{_NARROWEST},}}+")
_ENCODED = {
    "'": lazy_pattern(r"[^\s\"'<>]*+"),
    "(": lazy_pattern(r"[^\s\"'<>()]*+"),
    '"': lazy_pattern(r"[^\s\"<>]*+"),
}

# A MIME part: its header fields in any order, an empty line, and lines of base64.
_MIME = lazy_pattern(
    r"^[ \t>]{0,80}content-transfer-encoding[ \t]*:[ \t]*[\"']?base64[\"']?[ \t]*\r?$",
    re.IGNORECASE | re.MULTILINE,
)
_MIME_TYPE = lazy_pattern(r"content-type[ \t]*:[ \t]*([\w.+-]{1,100}/[\w.+-]{1,100})", re.IGNORECASE)
_MIME_LINE = lazy_pattern(r"[ \t>]{0,80}[A-Za-z0-9+/]++={0,2}[ \t]*+\r?")
_FIELDS = 40  # lines of a header

# Every bare payload has a run as long as its narrowest line. Searching for that costs a tenth of the pattern.
_IS_BASE64 = bytes(chr(code).isalnum() or chr(code) in "+/" for code in range(128)) + bytes(128)
_LINE = b"\x01" * _NARROWEST


@dataclass(frozen=True, slots=True)
class Payload:
    """A payload in a text: the half-open span of its characters, its media type, its size in bytes."""

    start: int
    stop: int
    media_type: str
    size: int


def payloads(text: str) -> Iterator[Payload]:
    """The payloads of `text`, in order, apart from each other."""
    lowered = text.lower()
    announced = [*_urls(text)] if "data:" in lowered else []
    if "content-transfer-encoding" in lowered:
        announced += _mime_bodies(text)
    announced.sort(key=lambda payload: payload.start)
    bare = _may_hold_bare(text)
    end = 0
    for payload in announced:
        if payload.start >= end:
            if bare:
                yield from _bare(text, end, payload.start)
            yield payload
            end = payload.stop
    if bare:
        yield from _bare(text, end, len(text))


def _urls(text: str) -> Iterator[Payload]:
    """Data URLs."""
    at = 0
    while match := _HEAD.search(text, at):
        payload = _base64_url(text, match) if match["base64"] else _encoded_url(text, match)
        if isinstance(payload, Payload):
            yield payload
            at = payload.stop
        else:
            at = payload


def _base64_url(text: str, match: re.Match[str]) -> Payload | int:
    """The data URL with that head, or where to look on."""
    start = _START.match(text, match.end())
    begin = start.end() if start else match.end()
    first = _URL_LETTERS.match(text, begin)
    if first is None:
        return match.end()
    stop = _wrapped(text, first.end(), 0, _letters(first[0]))
    data = text[begin:stop]
    if _letters(data) < _SHORTEST_URL:
        return first.end()
    return Payload(match.start(), stop, _media_type(match), _letters(data) * 3 // 4)


def _encoded_url(text: str, match: re.Match[str]) -> Payload | int:
    """The data URL with that head and no base64, if escapes are a good part of it, or where to look on."""
    inner = _SCHEME.search(text, match.end())
    pattern = _ENCODED.get(text[match.start() - 1 : match.start()], _ENCODED["'"])
    data = pattern.match(text, match.end(), inner.start() if inner else len(text))
    content = data[0] if data else ""
    escapes = content.count("%")
    if len(content) < _SHORTEST_ENCODED or 3 * escapes < _ENCODED_SHARE * len(content):
        return match.end()
    return Payload(match.start(), match.end() + len(content), _media_type(match), len(content) - 2 * escapes)


def _media_type(match: re.Match[str]) -> str:
    return re.sub(r"\\/|%2f", "/", (match["type"] or "text/plain").lower())


def _mime_bodies(text: str) -> Iterator[Payload]:
    """Bodies of MIME parts in base64."""
    at = 0
    while match := _MIME.search(text, at):
        body = _body_start(text, match.end())
        at = match.end()
        if body is None:
            continue
        stop = body
        while (line := _MIME_LINE.match(text, stop)) and text[line.end() : line.end() + 1] in ("\n", ""):
            at = line.end()
            stop = at + 1
            if "=" in line[0]:
                break
        lines = text[body : max(at, body)].rstrip()
        data = lines.lstrip(" \t>")
        size = _letters(data)
        if size >= _SHORTEST_URL:
            # The last one before the body: another part, or the whole message, may have one before.
            kinds = _MIME_TYPE.findall(text, max(0, match.start() - 1000), body)
            kind = kinds[-1].lower() if kinds else _sniff(data)
            stop = body + len(lines)
            yield Payload(stop - len(data), stop, kind, size * 3 // 4)


def _body_start(text: str, at: int) -> int | None:
    """Where the body begins that follows the header field which ends at `at`."""
    for _ in range(_FIELDS):
        at = text.find("\n", at) + 1
        if not at:
            return None
        end = text.find("\n", at, at + 1000)
        line = text[at : end if end >= 0 else at + 1000].strip(" \t\r>")
        if not line:
            return end + 1 if end >= 0 else None
    return None


def _bare(text: str, start: int, stop: int) -> Iterator[Payload]:
    """Runs of base64 without a scheme between two offsets."""
    at = start
    while match := _RUN.search(text, at, stop):
        at = match.end()
        width = at - match.start()
        end = min(_wrapped(text, at, width, width), stop) if width <= _WIDEST else at
        is_wrapped = end - match.start() >= _FEWEST_LINES * width
        end = end if is_wrapped else _padded(text, at)
        data = text[match.start() : end]
        size = _letters(data)
        if (is_wrapped or width >= _SHORTEST_BARE) and size >= _SHORTEST_BARE and _varied(data):
            yield Payload(match.start(), end, _sniff(data), size * 3 // 4)
        at = end


def _wrapped(text: str, end: int, width: int, count: int) -> int:
    """Where the payload ends whose first line ends at `end`.

    Args:
        text: the text.
        end: offset behind the letters of the first line.
        width: letters of each line but the last; 0 if the first line was a shorter one.
        count: letters of the first line.
    """
    separator = _BREAK.match(text, end)
    while separator and not _PADDING.match(text, end):
        between = separator[0]
        line = _LETTERS.match(text, separator.end())
        letters = line[0] if line else ""
        if line and not width and len(letters) >= _NARROWEST and _varied(letters, fewest=20):
            width = len(letters)
        if line and not width and _PADDING.match(text, line.end()):
            return _padded(text, line.end())
        if line is None or not width or len(letters) > width:
            break
        if len(letters) < width:
            return _padded(text, line.end()) if _is_last_line(text, line, count) else _padded(text, end)
        end = line.end()
        count += width
        separator = _BREAK.match(text, end)
        if separator and separator[0] != between:
            break
    return _padded(text, end)


def _is_last_line(text: str, line: re.Match[str], before: int) -> bool:
    """Whether letters behind the full lines of a payload, `before` letters, are its end, and no word."""
    if _PADDING.match(text, line.end()):
        return True
    word = line[0].isalpha() and (line[0].islower() or line[0].isupper() or line[0].istitle())
    return not word and ((before + len(line[0])) % 4 == 0 or len(line[0]) >= _SHORTEST_URL // 2)


def _padded(text: str, end: int) -> int:
    padding = _PADDING.match(text, end)
    return padding.end() if padding else end


def _letters(data: str) -> int:
    """Base64 letters of a payload, without what stands between its lines and at its end."""
    plain = _ESCAPE.sub("/", _PADDING.sub("", _BREAK.sub("", data)))
    return len(plain) - plain.count("=")


def _may_hold_bare(text: str) -> bool:
    """Whether a run of base64 is long enough for a line of a payload."""
    if len(text) < _SHORTEST_BARE:
        return False
    return _LINE in text.encode("ascii", "replace").translate(_IS_BASE64)


def _varied(run: str, fewest: int = 40) -> bool:
    """Whether a run looks like encoded bytes: lower and upper case and digits, in many different letters.

    Of 256 random base64 characters about 63 of the 64 differ; of hexadecimal digits 16, of a long
    identifier or path a dozen or two.
    """
    middle = len(run) // 2
    sample = {*run[:1024], *run[middle : middle + 1024], *run[-1024:]}
    kinds = (str.islower, str.isupper, str.isdigit)
    return len(sample) >= fewest and all(any(kind(char) for char in sample) for kind in kinds)


def _sniff(run: str) -> str:
    letters = "".join(_LETTERS.findall(run[:200]))[:60]
    try:
        head = base64.b64decode(letters[: len(letters) // 4 * 4])
    except binascii.Error:
        head = b""
    return media_type_of(head) or "application/octet-stream"
