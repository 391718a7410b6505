"""Exact strings in a text, by their form: hashes, UUIDs, URLs, paths, versions, numbers, identifiers, …

Every pattern starts behind a character that cannot belong to it and takes what it takes for good, so each
run of characters is looked at once by each pattern, however long a line is. What one kind took, the kinds
after it leave alone. Strings longer than `_LONGEST` are no facts: nobody types them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias

__all__ = ["Fact", "Kind", "find", "look"]

Kind: TypeAlias = Literal[
    "hash", "uuid", "identifier", "ip", "url", "path", "mail", "version", "number", "host", "time", "name",
    "named",
]  # fmt: skip

_LONGEST = 256


@dataclass(frozen=True, slots=True)
class Fact:
    """An exact string.

    Attributes:
        text: the string.
        kind: what it is by its form. An "identifier" mixes letters and digits or has no vowels, a "name"
            (`drain_events`, `fooBar`) consists of words; "named" is what a caller asked for.
        offsets: where it stands in the text, ascending.
    """

    text: str
    kind: Kind
    offsets: tuple[int, ...]


# A letter that goes on before or behind: also accented ones. A backslash before may be an escape in JSON
# or code, whose letter would be taken for the string's first.
_LETTER = r"A-Za-z0-9_À-ɏ"
_BEFORE = rf"(?<![{_LETTER}\\-])"
_AFTER = rf"(?![{_LETTER}-])"
_SEGMENT = r"[\w.@+=~%-]"
_UNITS = (
    r"%|‰|°[CF]?|[kKMGTP]i?[Bb](?:/s|ps)?|[BkMGT]?bps|bytes?|chars|characters|tokens?|[mµunpk]?s|ms|min|h|hours?"
    r"|seconds?|minutes|days?|[kMG]?Hz|[mkMµ]?[VAWΩFJ]|mAh|kWh|[hk]?Pa|bar|[mckµn]?m|[mkµ]?g|px|pt|dpi|[KL]|dB"
    r"|USD|EUR|GBP|CHF|JPY|€|\$|[A-Za-z]{1,12}/(?:s|sec|min|h|hour|day|week|month|year)"
)
_EXTENSIONS = re.compile(
    "(?:bat|c|cc|cfg|conf|cpp|cs|css|csv|deb|diff|docx?|exe|gif|go|gz|h|hpp|html?|ico|ini|ipynb|java|jpe?g|jsx?"
    "|jsonl?|kt|log|lua|md|mjs|mp[34]|odt|orig|parquet|patch|pdf|php|pkl|png|proto|ps1|py[ci]?|rb|rs|rst|scala"
    "|sh|sln|so|sql|sqlite|svg|swift|tar|tex|tgz|toml|tsx?|tsv|ttf|txt|vue|wasm|wav|webp|whl|woff2?|xlsx?|xml"
    "|xz|ya?ml|zig|zip|zst)",
    re.IGNORECASE,
)
_SURE_HOSTS = re.compile("com|org|net|edu|gov|mil|internal|lan|local|localdomain")
_OTHER_HOSTS = re.compile("io|dev|ai|cloud|de|uk|fr|nl|eu|ch|at|es|it|pl|se|us|ca|jp|cn|in|au|br")


def _url(found: str) -> str:
    """Without the punctuation of the sentence around it."""
    while found and (
        found[-1] in ".,;:!?*_~|\\"
        or (found[-1] in ")]}" and found.count(found[-1]) > found.count(_OPENS[found[-1]]))
    ):
        found = found[:-1]
    return found if len(found) > found.index("://") + 3 else ""


_OPENS = {")": "(", "]": "[", "}": "{"}
_MIXED = re.compile(r"_|[A-Za-z]\d|\d[A-Za-z]|[A-Za-z0-9]\.[A-Za-z]|[A-Za-z]\.\d")


def _path(found: str) -> str:
    """A path of more than words: `/srv/data`, `src/a_b`, `x/y.py`; not `and/or`, `1/2` or `km/h`."""
    found = re.sub(r"^-*[\w-]+=(?=[~/.])", "", found.rstrip(".,-=@%+~"))  # --file=/a/b
    found = re.sub(r"(\.[A-Za-z]{1,5})-\d{1,7}(?:-.*)?$", r"\1", found)  # grep's a/b.py-12-class
    if re.match(r"[ab]/[^/]+/", found):
        found = found[2:]  # as in a diff
    segments = [segment for segment in re.split(r"[/\\]", found) if segment]
    absolute = found[:1] in "/~." or found[1:2] == ":"
    if not segments or found.startswith("HTTP/") or (len(segments) < 2 and not _MIXED.search(found)):
        return ""
    if absolute:
        return found if any(char.isalnum() for char in found) else ""
    sure = "." in segments[-1] and bool(_EXTENSIONS.fullmatch(segments[-1].rpartition(".")[2]))
    return found if sure or any(_MIXED.search(segment) for segment in segments) else ""


def _file(found: str) -> str:
    found = found.rstrip(".")
    stem, _, extension = found.rpartition(".")
    return found if stem.strip(".") and _EXTENSIONS.fullmatch(extension) else ""


def _hash(found: str) -> str:
    tail = found.rpartition(":")[2]
    mixed = bool(re.search(r"\d", tail) and re.search(r"[A-Fa-f]", tail))
    return found if mixed or tail != found else ""


def _ip(found: str) -> str:
    from ipaddress import ip_address

    if re.fullmatch(r"(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}", found):
        return found
    if not any(char.isdigit() for char in found):
        return ""  # a::b in C++
    address = found if found.count(":") > 1 else re.split(r"[:/]", found)[0]
    try:
        ip_address(address)
    except ValueError:
        return ""
    return found


def _version(found: str) -> str:
    """Three parts or more, at least two of them numbers; or two behind a v."""
    parts = re.split(r"[.+-]", found.lstrip("vV"))
    numbers = sum(part.isdigit() for part in parts)
    return found if (len(parts) > 2 and numbers > 1) or (found[0] in "vV" and parts[0].isdigit()) else ""


def _number(found: str) -> str:
    """With a unit or a currency two digits or more; without one, four and a separator."""
    digits = sum(char.isdigit() for char in found)
    measured = not found[-1].isdigit() or found.lstrip("-+−")[0] in "$€£"
    return found if (digits > 1 if measured else digits > 3 and not found.lstrip("-+−").isdigit()) else ""


def _host(found: str) -> str:
    name, _, port = found.partition(":")
    labels = name.split(".")
    if name == "localhost":
        return found if port else ""
    top = labels[-1].lower()
    sure = bool(_SURE_HOSTS.fullmatch(top)) and len(labels) > 1
    return found if sure or (bool(_OTHER_HOSTS.fullmatch(top)) and (len(labels) > 2 or bool(port))) else ""


_DIGIT_SEGMENT = re.compile(r"[a-z]*[aeiouy][a-z]*\d{0,2}|[a-z]|\d{1,2}", re.IGNORECASE)
_HUMPS = re.compile(r"[a-z]{2}[A-Z]{1,8}[a-z]|[a-z]{2}[A-Z].{3}")


def _identifier(found: str) -> tuple[str, Kind] | None:  # noqa: PLR0911 - a form each
    digits = sum(char.isdigit() for char in found)
    bare = found.strip("_")
    segments = [segment for segment in re.split(r"[_-]+", found) if segment]
    if digits == len(found):
        return (found, "identifier") if digits > 4 else None
    if re.fullmatch(r"\d+[A-Za-z]{1,2}", found) and not re.match(r"0[xX]", found):
        return None  # 3rd, 20th, 10x
    if re.fullmatch(r"\d+-[A-Za-z]+|[bcdlps]?(?:[r-][w-][xsStT-]){3}", found):
        return None  # grep's 12-class, ls's drwxr-xr-x
    if digits:
        if len(found) < 3 or (
            len(found) < 4 and found.islower() and found[:-1].isalpha() and found[0] in "vV"
        ):
            return None
        if all(_DIGIT_SEGMENT.fullmatch(segment) for segment in segments):
            return (found, "name") if len(segments) > 1 and "_" in bare else None
        return found, "identifier"
    if "-" in found:
        vowelless = sum(not re.search("[aeiouyAEIOUY]", segment) for segment in segments)
        return (found, "identifier") if len(segments) > 2 and vowelless > 1 else None
    if "_" in bare or (found[0].islower() and len(found) > 4 and _HUMPS.search(found)):
        return found, "name"
    return None


# In order of precedence: each with its pattern, and what becomes of a match ("" if it is none after all).
_PATTERNS: tuple[tuple[Kind, re.Pattern[str], Callable[[str], str]], ...] = (
    ("url", re.compile(r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,15}+://[^\s\"'<>`{}|\\^✂‣⁋]++"), _url),
    (
        "mail",
        re.compile(
            rf"(?<![{_LETTER}.%+\\-])[A-Za-z0-9_.%+-]{{1,64}}+@"
            r"[A-Za-z0-9-]{1,63}+(?:\.[A-Za-z0-9-]{1,63}+){1,8}+"
        ),
        lambda found: found.rstrip("-"),
    ),
    (
        "path",
        re.compile(
            rf"(?<![<\w.~/\\@%+=:-])(?:~?/)?{_SEGMENT}++(?:/{_SEGMENT}++)++/?"
            rf"|(?<![<\w.~/\\@%+:-])~?/{_SEGMENT}++/?"
            # Behind a colon or an equals sign only what is absolute: PATH=/a:/b, --file=/a/b.
            rf"|(?<=[:=])/{_SEGMENT}++(?:/{_SEGMENT}++)++/?"
            # A backslash is a separator behind a drive only; elsewhere it is an escape.
            rf"|(?<!\w)[A-Za-z]:(?:\\\\?{_SEGMENT}++)++"
        ),
        _path,
    ),
    ("path", re.compile(r"(?<![<\w.~/\\@%+=-])\w[\w+-]*+(?:\.[\w+-]++)++(?!\()"), _file),
    (
        "uuid",
        re.compile(rf"{_BEFORE}[0-9A-Fa-f]{{8}}-(?:[0-9A-Fa-f]{{4}}-){{3}}[0-9A-Fa-f]{{12}}{_AFTER}"),
        str,
    ),
    (
        "time",
        re.compile(
            r"(?<![\w.:-])(?:\d{4}-\d\d-\d\d"
            r"(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[ ]?[+-]\d\d:?\d\d)?)?"
            r"|\d\d?:\d\d:\d\d(?:[.,]\d{1,9})?)(?![\w:-])"
        ),
        str,
    ),
    (
        "ip",
        re.compile(
            r"(?<![\w.:-])(?:\d{1,3}(?:\.\d{1,3}){3}(?::\d{2,5}|/\d{1,2})?(?![\w-]|\.\d)"
            r"|(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}(?![\w:-])"
            r"|(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{1,4}(?![\w:.]))"
        ),
        _ip,
    ),
    (
        "hash",
        re.compile(rf"{_BEFORE}(?:(?:sha(?:1|256|384|512)|md5)[:-])?[0-9A-Fa-f]{{7,128}}+{_AFTER}"),
        _hash,
    ),
    (
        "version",
        re.compile(
            rf"(?<![{_LETTER}.\\-])[0-9A-Za-z_]{{1,40}}+(?:[.+-][0-9A-Za-z]{{1,16}}+){{1,8}}+(?![\w-]|\.\w)"
        ),
        _version,
    ),
    (
        "number",
        re.compile(
            r"(?<![\w.,/\\])[-+−]?(?:[$€£]\s?)?\d{1,15}+(?:[.,'\u2009\u202f\u00a0]\d{1,9}+){0,6}+"
            rf"(?:[eE][-+]?\d{{1,3}})?+(?:[ \u2009\u202f\u00a0]?(?:{_UNITS})(?![\w/]))?(?!\w)"
        ),
        _number,
    ),
    (
        "host",
        re.compile(
            rf"(?<![{_LETTER}.@/\\-])[A-Za-z0-9-]{{1,63}}+(?:\.[A-Za-z0-9-]{{1,63}}+){{0,8}}+"
            r"(?::\d{2,5})?(?![\w-])"
        ),
        _host,
    ),
)
_WORD = re.compile(rf"{_BEFORE}[A-Za-z0-9_]++(?:-[A-Za-z0-9_]++)*+(?![{_LETTER}]|\.\d)")
_LONGEST_WORD = 60


def find(text: str) -> tuple[Fact, ...]:
    """The exact strings of `text`, each once, in order of their first place; in linear time.

    Prose is none, nor are words with a hyphen, small numbers, names with a capital, or base64.
    """
    taken = bytearray(len(text))
    places: dict[tuple[str, Kind], list[int]] = {}

    def take(start: int, found: str, kind: Kind) -> None:
        if len(found) <= _LONGEST:
            places.setdefault((found, kind), []).append(start)
        taken[start : start + len(found)] = b"\1" * len(found)

    # A text has few different words, so each is judged once.
    for kind, pattern, trim in _PATTERNS:
        trimmed = cache(trim)
        for match in pattern.finditer(text):
            start, stop = match.span()
            if stop - start > 4 * _LONGEST:
                taken[start:stop] = b"\1" * (stop - start)
            elif taken.find(1, start, stop) < 0 and (found := trimmed(match[0])):
                take(start + match[0].index(found), found, kind)
    identifier = cache(_identifier)
    for match in _WORD.finditer(text):
        start, stop = match.span()
        if 3 <= stop - start <= _LONGEST_WORD and taken.find(1, start, stop) < 0:
            known = identifier(match[0])
            if known:
                take(start, *known)
    facts = [Fact(found, kind, tuple(sorted(at))) for (found, kind), at in places.items()]
    return tuple(sorted(facts, key=lambda fact: (fact.offsets[0], fact.text)))


_LOOK = str.maketrans("OolI|SBZb", "001115826")
_PAIRS = re.compile("rn|vv|cl")


def look(text: str) -> str:
    """What look-alikes have in common: 0 O o, 1 l I |, 5 S, 8 B, 2 Z, 6 b, rn m, vv w, cl d."""
    return _PAIRS.sub(lambda pair: {"rn": "m", "vv": "w", "cl": "d"}[pair[0]], text).translate(_LOOK)
