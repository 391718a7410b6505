"""Runs of more than 64 random characters in a text: digests, keys, signatures, encoded bytes, dumps.

Found by their look are runs of hexadecimal digits (also as bytes parted by colons or blanks), decimal digits,
base32, base58, base64 and its URL-safe form, tokens of several such pieces, percent-encoded bytes, lists of
digests on one line, all of that over lines of one width, and dumps as `xxd` and `hexdump` write them.

What tells them from names, paths and words is how likely each character is behind the one before it: in text,
by pairs of letters and steps between classes of characters (`random_runs.toml`), or by chance, out of the
run's own alphabet. The mean of the logarithms of these ratios over all pairs decides.
Digits are wanted besides, many different characters, and no piece that comes again: ruled lines and patterns
are none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import unquote_to_bytes

import numpy as np
from numpy.typing import NDArray

from snapshot._lazy import lazy_pattern
from snapshot._toml import parse_toml

__all__ = ["LONGEST", "RandomRun", "random_runs"]

LONGEST = 64
"""Random characters that a reader may be trusted with: a run has more."""

# Characters of each line of a run that is wrapped, at least and at most, and of each digest in a list.
_NARROWEST, _WIDEST, _DIGEST = 32, 2000, 32
# Widths of digests: lines of hexadecimal digits that are all so wide are a list of them, one a line.
_DIGESTS = frozenset({32, 40, 48, 56, 64, 96, 128})
# Mean of the logarithms of likelihood ratios from which on a run is random, in nats.
_RANDOM = 0.5
_SIGNS = "+/_.-"

# --- where to look: bytes of the text, classes of characters in place of each

# 1 for what a run may have, 2 for what may stand behind a line of one.
_CLASS = bytes(
    1 if chr(c).isalnum() or chr(c) in "+/_.-%~" else 2 if chr(c) in "\n\r\\\"'=,;|:" else 0
    for c in range(128)
) + bytes(128)
# 1 for a hexadecimal digit, 2 for what parts bytes.
_BYTES_CLASS = bytes(
    1 if chr(c) in "0123456789abcdefABCDEF" else 2 if chr(c) in " :-" else 0 for c in range(128)
) + bytes(128)
_LONG = b"\x01" * (LONGEST + 1)
_LINE_END = b"\x01" * _NARROWEST + b"\x02"
_LEAD_OF_DUMP = 100  # characters before the first byte of a dump's line
_OTHER = re.compile(rb"[^\x01]")
_OCTETS = b"\x01\x01\x02" * 8
_WORDS = b"\x01\x01\x01\x01\x02" * 3

_TOKEN = lazy_pattern(rf"[A-Za-z0-9+/_.-]{{{LONGEST + 1},}}+={{0,2}}")
_PERCENT = lazy_pattern(r"[A-Za-z0-9_.~-]{0,8}+(?>(?:%[0-9A-Fa-f]{2}[A-Za-z0-9_.~/-]{0,12}+){12,})")
_LETTERS = lazy_pattern(r"[A-Za-z0-9+/_-]++")
_PADDING = lazy_pattern(r"={0,2}")
# Between two lines of a run: a newline, or an escape for one, with indentation, quoting or a line's number.
_BREAK = lazy_pattern(
    r"[\"']? ?[+\\]?(?:\r?\n|(?:\\r)?\\n)"
    r"(?:[ \t]{0,80}+(?:[>#|*] ?|[\"'])?|[ ]{0,8}\d{1,7}(?:\t|[→:|-][ \t]?|[ ]{1,2}))"
)
_LIST = lazy_pattern(
    rf"[0-9A-Fa-f]{{{_DIGEST},}}+(?:[\"']?[ ]?[,;|][ ]?[\"']?[0-9A-Fa-f]{{{_DIGEST},}}+)+(?![0-9A-Za-z])"
)
_PAIRS = lazy_pattern(
    r"(?<![0-9A-Za-z])[0-9A-Fa-f]{2}"
    r"(?:([: -])(?:\r?\n[ \t]{0,40}+)?[0-9A-Fa-f]{2}(?>(?:\1(?:\r?\n[ \t]{0,40}+)?[0-9A-Fa-f]{2}){20,}))"
    r"(?![0-9A-Za-z])"
)
_DUMP_LINE = lazy_pattern(
    r"(?P<offset>[0-9A-Fa-f]{4,16}):?[ \t]{1,2}"
    r"(?P<bytes>(?:(?:[0-9A-Fa-f]{2}){1,8}(?:[ ]{1,2}|(?=\r?\n)|\Z|-)){1,32})"
    r"[^\n]{0,72}"
)
# Ids and digests that are not too long, between signs.
_NAMED = lazy_pattern(
    r"(?<![A-Za-z0-9])(?:[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}|[0-9a-f]{20,64}|[0-9A-F]{20,64})"
    r"(?![A-Za-z0-9])"
)
# What a run is led by that is none of it: "sha512-", "0x"; and the names that compilers give.
_LEAD = lazy_pattern(r"[a-z]{3,16}\d{0,4}[-_.]|0[xX]")
_MANGLED = lazy_pattern(r"_+(?:Z[A-Z0-9]|R[A-Z])")
_PIECE = lazy_pattern(r"[A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class RandomRun:
    """A run in a text: the half-open span of its characters, and what it is: "hex", "base64", …"""

    start: int
    stop: int
    kind: str


def random_runs(text: str, start: int = 0, stop: int | None = None) -> list[RandomRun]:
    """The runs of `text` in a half-open span, or from an offset on, in order, apart from each other."""
    seen = text[start:stop]
    data = seen.encode("ascii", "replace")
    classes = data.translate(_CLASS)
    found = [*_dumps(seen, data.translate(_BYTES_CLASS)), *_wrapped(seen, classes), *_tokens(seen, classes)]
    if len(found) > 1:
        found.sort(key=lambda run: (run.start, -run.stop))
    runs: list[RandomRun] = []
    for run in found:
        if not runs or run.start + start >= runs[-1].stop:
            runs.append(RandomRun(run.start + start, run.stop + start, run.kind))
    return runs


# --- on one line


def _tokens(text: str, classes: bytes) -> Iterator[RandomRun]:
    """Runs without a break."""
    at = classes.find(_LONG)
    while at >= 0:
        other = _OTHER.search(classes, at)
        end = other.start() if other else len(classes)
        if text.find("%", at, end) >= 0:
            yield from _percent(text, at, end)
        at += _is_escaped(text, at)
        for match in _TOKEN.finditer(text, at, min(end + 2, len(text))):  # with its padding
            yield from _in_token(text, match.start(), match.end())
        at = classes.find(_LONG, end)


def _is_escaped(text: str, at: int) -> bool:
    """Whether the letter at an offset is that of an escape."""
    return text[at - 1 : at] == "\\" and text[at : at + 1] in ("n", "r", "t")


def _percent(text: str, start: int, end: int) -> Iterator[RandomRun]:
    """Percent-encoded bytes that are no text."""
    for match in _PERCENT.finditer(text, start, end):
        if match.end() - match.start() <= LONGEST or 3 * match[0].count("%") < 0.5 * len(match[0]):
            continue
        content = unquote_to_bytes(match[0])
        try:
            content.decode("utf-8")
        except UnicodeDecodeError:
            if len(set(content)) >= _different(len(content), 256):
                yield RandomRun(match.start(), match.end(), "percent-encoded")


def _in_token(text: str, start: int, stop: int) -> Iterator[RandomRun]:
    """Runs in a token: the whole of it, or pieces between signs."""
    token = text[start:stop]
    if _count_digits(token) < 2 or _MANGLED.match(token):
        return
    lead = _LEAD.match(token)
    if lead:
        start += lead.end()
        token = token[lead.end() :]
        if len(token) <= LONGEST:
            return
    body = token.rstrip("=")
    if kind := _digits(body):
        yield RandomRun(start, start + len(body), kind)
        return
    scores = _scores(body)
    # Words, ids and whole runs of digits between signs end a run; token[:at] is what was looked at.
    edges = [match.span() for match in _NAMED.finditer(body)]
    for piece in _PIECE.finditer(body):
        low, high = piece.span()
        kind = _digits(piece[0]) if high - low > LONGEST else ""
        if kind:
            yield RandomRun(start + low, start + high, kind)
        if kind or _is_word(piece[0], scores[low : high - 1]):
            edges.append((low, high))
    at = 0
    for low, high in (*sorted(edges), (len(body), len(body))):
        if low - at > LONGEST:
            run = _segment(body, scores, at, low)
            if run is not None:
                padding = len(token) - len(body) if run.stop == len(body) else 0
                yield RandomRun(start + run.start, start + run.stop + padding, run.kind)
        at = max(at, high)


def _is_word(piece: str, scores: NDArray[np.float32]) -> bool:
    """Whether a piece is a word, by its letters and its case."""
    if len(piece) < 4 or not piece.isalpha() or not (piece[1:].islower() or piece.isupper()):
        return False
    return float(scores.sum()) < 1 - len(piece)


def _segment(body: str, scores: NDArray[np.float32], low: int, high: int) -> RandomRun | None:
    """The run in a part of a token, if there is one."""
    while low < high and body[low] in ".-_" and low:
        low += 1
    while high > low and body[high - 1] in ".-_" and high < len(body):
        high -= 1
    lead = _LEAD.match(body, low, high)
    low = lead.end() if lead else low
    run = body[low:high]
    if len(run) <= LONGEST or float(scores[low : high - 1].mean()) < _RANDOM:
        return None
    kind = _kind(run)
    return RandomRun(low, high, kind) if kind else None


def _digits(run: str) -> str:
    """What a run is called that is random of digits ("digits", "hex"); "" for any other."""
    if len(run) <= LONGEST or not _HEX.fullmatch(run):
        return ""
    digits = _count_digits(run)
    different = len(set(run.lower()))
    if digits == len(run):
        return "digits" if different >= 8 and _is_without_pattern(run) else ""
    even = 0.4 < digits / len(run) < 0.82
    return "hex" if even and different >= 13 and _is_without_pattern(run) else ""


_HEX = lazy_pattern(r"[0-9A-Fa-f]+")
_BASE32, _LOW32 = lazy_pattern(r"[A-Z2-7]+"), lazy_pattern(r"[a-z2-7]+")
_BASE58 = lazy_pattern(r"[1-9A-HJ-NP-Za-km-z]+")


def _kind(run: str) -> str:
    """What a run is called that no text is likely to have; "" where it has a pattern, or hardly digits."""
    if len(set(run)) < 15 or _count_digits(run) < 2 or not _is_without_pattern(run):
        return ""
    if "." in run:
        return "token"
    if _BASE32.fullmatch(run) or _LOW32.fullmatch(run):
        return "base32"
    if "-" in run or "_" in run:
        return "base64url"
    if "+" in run or "/" in run:
        return "base64"
    return "base58" if _BASE58.fullmatch(run) and len(run) > 90 else "base64"


def _count_digits(run: str) -> int:
    return sum(map(run.count, "0123456789"))


def _is_without_pattern(run: str) -> bool:
    """Whether hardly a piece of a run comes again."""
    sample = run[:512]
    size = 5 if len(set(sample)) > 12 else 7
    pieces = {sample[at : at + size] for at in range(len(sample) - size + 1)}
    return len(pieces) >= 0.9 * (len(sample) - size + 1)


def _different(size: int, of: int) -> float:
    """Different ones that so many draws from an alphabet have at least."""
    return 0.6 * of * (1 - math.exp(-size / of))


# --- over lines


def _wrapped(text: str, classes: bytes) -> Iterator[RandomRun]:
    """Runs over lines of one width, and lists of digests on one line."""
    at = classes.find(_LINE_END)
    while at >= 0:
        end = classes.find(2, at)
        begin, at = at, end
        if classes[begin - 1 : begin] == b"\x01":  # the end of a longer one
            before = classes[max(0, begin - _WIDEST) : begin]
            begin -= len(before) - len(before.rstrip(b"\x01"))
        begin = 1 + max(begin - 1, *(text.rfind(sign, begin, end) for sign in ".%~"))
        begin += _is_escaped(text, begin)
        width = end - begin
        if _NARROWEST <= width <= _WIDEST:
            run, looked_at = _list(text, begin, end)
            if run is None:
                run, behind = _block(text, begin, width)
                looked_at = max(looked_at, behind)
            if run is not None:
                yield run
            at = max(at, looked_at)
        at = classes.find(_LINE_END, at)


def _list(text: str, begin: int, end: int) -> tuple[RandomRun | None, int]:
    """The list of digests on one line that begins at an offset, and up to where the text was looked at."""
    match = _LIST.match(text, begin) if end - begin >= _DIGEST else None
    if match is None:
        return None, begin
    if all(_is_hex(piece) for piece in re.split(r"[^0-9A-Fa-f]+", match[0])):
        return RandomRun(match.start(), match.end(), "hex"), match.end()
    return None, match.end()


def _is_hex(piece: str) -> bool:
    digits = _count_digits(piece)
    return 0.3 < digits / len(piece) < 0.95 and len(set(piece.lower())) >= 9


def _block(text: str, begin: int, width: int) -> tuple[RandomRun | None, int]:
    """The wrapped run whose first line begins at an offset, and from where on to look for another one."""
    lines = [text[begin : begin + width]]
    ends = [begin + width]
    end = begin + width
    between = ""
    while separator := _BREAK.match(text, end):
        if between and len(separator[0]) != len(between) and not _NUMBERED.search(separator[0]):
            break
        line = _LETTERS.match(text, separator.end())
        if line is None or len(line[0]) > width:
            break
        is_short = len(line[0]) < width
        if is_short and not _is_last(text, line, lines):
            break
        between = separator[0]
        lines.append(line[0])
        end = line.end()
        ends.append(end)
        if is_short:
            break
    padding = _PADDING.match(text, end)
    stop = padding.end() if padding else end
    body = "".join(lines)
    # One that begins with lines of something else may begin farther down; half of it is skipped at least.
    behind = ends[len(lines) // 2]
    if len(lines) < 2 or len(body) <= LONGEST:
        return None, begin
    kind = _digits(body)
    if kind:
        is_list = kind == "hex" and width in _DIGESTS and len(lines[-1]) == width
        return (None, stop) if is_list else (RandomRun(begin, stop, kind), stop)
    kind = _kind(body)
    if kind and float(_scores(body).mean()) >= _RANDOM and float(_scores(lines[0]).mean()) > 0:
        return RandomRun(begin, stop, kind), stop
    return None, behind


_NUMBERED = lazy_pattern(r"\d")


def _is_last(text: str, line: re.Match[str], before: list[str]) -> bool:
    """Whether a shorter line is the end of a run, and no word behind it."""
    if text[line.end() : line.end() + 1] not in ("", "\n", "\r", "=", '"', "'", "\\"):
        return False
    if text[line.end() : line.end() + 1] == "=":
        return True
    if _digits("".join(before)):
        return bool(_HEX.fullmatch(line[0]))
    return not _is_word(line[0], _scores(line[0]))


def _dumps(text: str, classes: bytes) -> Iterator[RandomRun]:
    """Bytes parted by colons or blanks, and dumps with an offset on each line."""
    # Where each of the two next stands; each is looked for once.
    octets, words = classes.find(_OCTETS), classes.find(_WORDS)
    while octets >= 0 or words >= 0:
        at = min(octets, words) if min(octets, words) >= 0 else max(octets, words)
        near = max(0, at - _LEAD_OF_DUMP)
        begin = text.rfind("\n", near, at) + 1 or near
        run, looked_at = _dump(text, begin)
        if run is None and looked_at <= at:
            run, looked_at = _pairs(text, begin, at)
        if run is not None:
            yield run
        at = looked_at if looked_at > at else classes.find(0, at)
        if at < 0:
            return
        octets = classes.find(_OCTETS, at) if 0 <= octets < at else octets
        words = classes.find(_WORDS, at) if 0 <= words < at else words


def _pairs(text: str, begin: int, at: int) -> tuple[RandomRun | None, int]:
    """Bytes parted by one character that begin near an offset, and up to where the text was looked at."""
    tries = (_PAIRS.match(text, place) for place in range(max(begin, at - 1), at + 4))
    match = next(filter(None, tries), None)
    if match is None:
        return None, at
    content = re.sub(r"[^0-9A-Fa-f]", "", match[0])
    letters = len(content) - _count_digits(content)
    octets = {content[n : n + 2].lower() for n in range(0, len(content), 2)}
    if letters < 0.15 * len(content) or len(octets) < _different(len(content) // 2, 256):
        return None, match.end()
    return RandomRun(match.start(), match.end(), "hex"), match.end()


def _dump(text: str, begin: int) -> tuple[RandomRun | None, int]:
    """The dump whose first line begins at an offset, behind indentation or a line's number; and up to where
    the text was looked at."""
    lead = _DUMP_LEAD.match(text, begin)
    first = line = _DUMP_LINE.match(text, lead.end() if lead else begin)
    if first is None:
        return None, begin
    pieces: list[str] = []
    digits, stop = 0, begin
    while line is not None and len(line["offset"]) == len(first["offset"]):
        if not any(
            int(line["offset"], base) - int(first["offset"], base) == digits // 2
            for base in _bases(first, line)
        ):
            break
        pieces.append(re.sub(r"[^0-9A-Fa-f]", "", line["bytes"]))
        digits += len(pieces[-1])
        stop = line.end()
        lead = _DUMP_LEAD.match(text, stop + 1) if text[stop : stop + 1] == "\n" else None
        line = _DUMP_LINE.match(text, lead.end()) if lead else None
    if digits <= LONGEST or len(pieces) < 2:
        return None, begin
    raw = bytes.fromhex("".join(pieces)[: digits // 2 * 2])
    printable = sum(32 <= octet < 127 for octet in raw)
    if printable > 0.6 * len(raw) or len(set(raw)) < _different(len(raw), 256):
        return None, stop
    return RandomRun(first.start(), stop, "hexdump"), stop


def _bases(*lines: re.Match[str]) -> tuple[int, ...]:
    """Bases that offsets may be written in: `od` has octal ones."""
    return (16, 8) if all(_OCTAL.fullmatch(line["offset"]) for line in lines) else (16,)


_OCTAL = lazy_pattern(r"[0-7]+")
_DUMP_LEAD = lazy_pattern(r"[ \t]{0,40}+(?:\d{1,7}(?:\t|[→|][ \t]?))?")


# --- scores


@cache
def _tables() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Logarithm of how much likelier a character is by chance than in text behind each other, (128, 128):
    for runs in both cases, and for those in one (looked up in lower case)."""
    table = parse_toml(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    letters = np.array([[*map(float, row.split())] for row in table["letters"].values()]) / -10
    steps = np.array([[*map(float, row.split())] for row in table["classes"].values()]) / -10
    kinds = np.array([_class(chr(code)) for code in range(128)])
    within = np.array([-math.log(26), -math.log(26), -math.log(10), -math.log(len(_SIGNS))])
    text = steps[kinds[:, None], kinds] + within[kinds]
    lower = np.array([ord(chr(code).lower()) - ord("a") for code in range(128)])
    places = np.flatnonzero(kinds < 2)
    text[np.ix_(places, places)] = (
        steps[kinds[places][:, None], kinds[places]] + letters[lower[places][:, None], lower[places]]
    )
    return (-math.log(64) - text).astype(np.float32), (-math.log(36) - text).astype(np.float32)


def _class(char: str) -> int:
    """Row of `random_runs.toml`."""
    return 0 if char.islower() else 1 if char.isupper() else 2 if char.isdigit() else 3


def _scores(run: str) -> NDArray[np.float32]:
    """For each pair of neighbours how much likelier it is by chance, (len(run) - 1,)."""
    both, single = _tables()
    if run == run.upper():
        run = run.lower()
    table = single if run == run.lower() else both
    codes = np.frombuffer(run.encode("ascii", "replace"), np.uint8)
    return table[codes[:-1], codes[1:]]
