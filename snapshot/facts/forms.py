"""The forms that exact strings have: a pattern for each kind, and what a match has to be besides.

Every pattern starts behind a character that cannot belong to it and takes what it takes for good, so that the
time is linear however long a word is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, TypeAlias

__all__ = [
    "CHUNK",
    "CUT",
    "LONGEST",
    "LONG_NUMBER",
    "NAME",
    "PART",
    "PATTERNS",
    "PROMISING",
    "RUN",
    "TELLING",
    "WORD",
    "Kind",
    "identifier",
]

Kind: TypeAlias = Literal[
    "hash", "uuid", "identifier", "ip", "url", "path", "mail", "version", "number", "host", "time", "name",
    "named",
]  # fmt: skip

LONGEST = 256

# A letter that goes on before or behind: also accented, Greek and Cyrillic ones; not those of scripts that
# set no blanks between words. A backslash before may be an escape in JSON or code, whose letter would be
# taken for the string's first.
_LETTER = r"A-Za-z0-9_À-ɏͰ-ԯ"
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
    """Without the punctuation of the sentence, and the brackets, around it."""
    waiting: list[str] = []
    for at, char in enumerate(found):
        if char in "([":
            waiting.append(char)
        elif char in _OPENS and (not waiting or waiting.pop() != _OPENS[char]):
            found = found[:at]  # the bracket that it stands in
            break
    found = found.rstrip(".,;:!?*~|([")
    return found if len(found) > found.index("://") + 3 else ""


_OPENS = {")": "(", "]": "["}
_MIXED = re.compile(r"_|[A-Za-z]\d|\d[A-Za-z]|[A-Za-z0-9]\.[A-Za-z]|[A-Za-z]\.\d")


_OPTION = re.compile(r"^(?:-*[\w.-]*=)+")
_LISTED = re.compile(r"(\.[A-Za-z]{1,5})-\d{1,7}(?:-.*)?$")
_IN_DIFF = re.compile(r"[ab]/[^/]+/")
_SEPARATOR = re.compile(r"[/\\]")
_JOINT = re.compile(r"[_-]+")
_ORDINAL = re.compile(r"\d+[A-Za-z]{1,2}")
_OUTPUT = re.compile(r"\d+-[A-Za-z]+|[bcdlps]?(?:[r-][w-][xsStT-]){3}")
_VOWEL = re.compile("[aeiouyAEIOUY]")


def _path(found: str) -> str:
    """A path of more than words: `/srv/data`, `src/a_b`, `x/y.py`; not `and/or`, `1/2` or `km/h`."""
    found = _OPTION.sub("", found.rstrip(".,-=@%+~"))  # --file=/a/b
    if "/" not in found and "\\" not in found:
        return ""
    found = _LISTED.sub(r"\1", found)  # grep's a/b.py-12-class
    if _IN_DIFF.match(found):
        found = found[2:]  # as in a diff
    segments = [segment for segment in _SEPARATOR.split(found) if segment]
    absolute = found[:1] in "/~." or found[1:2] == ":"
    if not segments or found.startswith("HTTP/") or (len(segments) < 2 and not _MIXED.search(found)):
        return ""
    if absolute:  # but no /+14p/p of sed
        return found if any(char.isalnum() for char in found) and found[1:2] not in "+%=" else ""
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
    if re.fullmatch(r"\d{1,3}(?:\.\d{3}){2,9}", found):
        return ""  # a number
    parts = re.split(r"[.+-]", found.lstrip("vV"))
    numbers = sum(part.isdigit() for part in parts)
    return found if (len(parts) > 2 and numbers > 1) or (found[0] in "vV" and parts[0].isdigit()) else ""


def _number(found: str) -> str:
    """With a unit or a currency two digits or more; without one, four and a separator. No list: `1,2,3`."""
    groups = found.split(",")
    if len(groups) > 2 and any(len(group) < 2 or not group.isdigit() for group in groups[1:-1]):
        return ""
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


# Digits from which on a number is no amount or line number, but names something.
LONG_NUMBER = 7
_DIGIT_SEGMENT = re.compile(r"[a-z]*[aeiouy][a-z]*\d{0,2}|[a-z]|\d{1,2}", re.IGNORECASE)
_HUMPS = re.compile(r"[a-z]{2}[A-Z]{1,8}[a-z]|[a-z]{2}[A-Z].{3}")


def identifier(found: str) -> tuple[str, Kind] | None:  # noqa: PLR0911 - a form each
    """The word and its kind, an identifier or a name of words; None where it is neither."""
    if not 3 <= len(found) <= _LONGEST_WORD:
        return None
    humped = found[0].islower() and len(found) > 4 and bool(_HUMPS.search(found))
    if found.isalpha():  # most words
        return (found, "name") if humped else None
    digits = sum(char.isdigit() for char in found)
    bare = found.strip("_")
    segments = [segment for segment in _JOINT.split(found) if segment]
    if digits == len(found):
        return (found, "identifier") if digits > 4 else None
    if _ORDINAL.fullmatch(found) and found[:2] not in ("0x", "0X"):
        return None  # 3rd, 20th, 10x
    if _OUTPUT.fullmatch(found):
        return None  # grep's 12-class, ls's drwxr-xr-x
    if digits:
        if len(found) < 4 and found.islower() and found[:-1].isalpha() and found[0] in "vV":
            return None
        if all(_DIGIT_SEGMENT.fullmatch(segment) for segment in segments):
            return (found, "name") if len(segments) > 1 and "_" in bare else None
        return found, "identifier"
    if "-" in found:
        vowelless = sum(not _VOWEL.search(segment) for segment in segments)
        return (found, "identifier") if len(segments) > 2 and vowelless > 1 else None
    return (found, "name") if humped or "_" in bare else None


_BLANK = " \u2009\u202f\u00a0"
_GROUPED = r"\d{1,3}(?: \d{3}){1,9}(?:[.,]\d{1,40})?(?! ?\d)"
_PLAIN = r"\d{1,40}+(?>(?:[.,'’\u2009\u202f\u00a0]\d{1,40}+){0,12})(?![.,'’]\d)(?>(?:[eE][-+]?\d{1,3})?)"

_NO_URL = r"\s\"'<>`{}|\\^✂‣⁋。，、；：？！（）「」『』【】《》"

# In order of precedence: each with its pattern, and what becomes of a match ("" if it is none after all).
# Python before 3.11.5 gets possessive quantifiers behind groups wrong: such groups are atomic instead.
PATTERNS: tuple[tuple[Kind, re.Pattern[str], Callable[[str], str]], ...] = (
    (
        "url",
        re.compile(
            rf"(?<![{_LETTER}+.-])[A-Za-z][A-Za-z0-9+.-]{{1,15}}+://"
            rf"(?>(?:[^{_NO_URL})\],;]++|[)\],;](?![,;]?(?:[(\[]|[A-Za-z][A-Za-z0-9+.-]{{1,15}}://)))+)(?!\{{)"
        ),
        _url,
    ),
    (
        "mail",
        re.compile(
            rf"(?<![{_LETTER}.%+\\-])[A-Za-z0-9_.%+-]{{1,64}}+@"
            r"[A-Za-z0-9-]{1,63}+(?>(?:\.[A-Za-z0-9-]{1,63}+){1,8})(?!\w|\.\w)"
        ),
        lambda found: found.rstrip("-"),
    ),
    (
        "path",
        # In front of *, {, $ and [ a pattern or a template goes on, which is no path.
        re.compile(
            rf"(?<![<\w.~/\\@%+=:*}}\])$-])(?:~?/)?{_SEGMENT}++(?>(?:/{_SEGMENT}++)+)/?+(?![*{{$\[])"
            rf"|(?<![<\w.~/\\@%+:*}}\])$-])~?/{_SEGMENT}++/?+(?![*{{$\[])"
            # Behind a colon or an equals sign only what is absolute: PATH=/a:/b, --file=/a/b.
            rf"|(?<=[:=])/{_SEGMENT}++(?>(?:/{_SEGMENT}++)+)/?+(?![*{{$\[])"
            # A backslash is a separator behind a drive only; elsewhere it is an escape. In JSON it is two.
            rf"|(?<!\w)[A-Za-z]:(?:(?>(?:\\\\{_SEGMENT}++)+)|(?>(?:\\{_SEGMENT}++)+))"
        ),
        _path,
    ),
    ("path", re.compile(r"(?<![<\w.~/\\@%+$}*-])\w[\w+-]*+(?>(?:\.[\w+-]++)+)(?![(\\/*{$])"), _file),
    (
        "uuid",
        re.compile(rf"{_BEFORE}[0-9A-Fa-f]{{8}}-(?:[0-9A-Fa-f]{{4}}-){{3}}[0-9A-Fa-f]{{12}}{_AFTER}"),
        str,
    ),
    (
        "time",
        re.compile(
            r"(?<![\w.:-])(?:\d{4}-\d\d-\d\d"
            r"(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,40})?)?(?:Z|[ ]?[+-]\d\d:?\d\d)?)?"
            r"|\d\d?:\d\d:\d\d(?:[.,]\d{1,40})?)(?![\w:-]|[.,]\d)"
        ),
        str,
    ),
    (
        "ip",
        re.compile(
            r"(?<![\w.:-])(?:\d{1,3}(?:\.\d{1,3}){3}(?::\d{2,5}|/\d{1,2})?(?![\w-]|[.:/]\d)"
            r"|(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}(?![\w:-])"
            r"|(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{1,4}(?![\w:]|\.\w))"
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
            rf"(?<![{_LETTER}.\\-])[0-9A-Za-z_]{{1,40}}+(?>(?:[.+-][0-9A-Za-z]{{1,16}}+){{1,8}})"
            r"(?![\w-]|[.+]\w|:\d\d:)"
        ),
        _version,
    ),
    (
        "number",
        re.compile(
            rf"(?<![\w.,'’/\\])(?<![0-9][{_BLANK[1:]}])[-+−]?"
            rf"(?:[$€£][{_BLANK}]?)?(?>(?<![0-9] ){_GROUPED}|{_PLAIN})"
            rf"(?:[{_BLANK}]?(?:{_UNITS})(?![\w/]))?(?!\w)"
        ),
        _number,
    ),
    (
        "host",
        re.compile(
            rf"(?<![{_LETTER}.@/\\-])[A-Za-z0-9-]{{1,63}}+"
            r"(?:(?>(?:\.[A-Za-z0-9-]{1,63}+){1,8})(?::\d{2,5})?|:\d{2,5})(?![\w-]|[.:]\w)"
        ),
        _host,
    ),
)
WORD = re.compile(
    rf"(?<!‣){_BEFORE}(?<![0-9][.,'’](?=[0-9]))[A-Za-z0-9_]++(?>(?:-[A-Za-z0-9_]++)*)(?![{_LETTER}-]|[.,'’]\d)"
)
_LONGEST_WORD = 60
# Names as code has them: flags, dotted names, words with an underscore, a hump or a hyphen; and numbers. What
# stands behind ‣ is the name of a tool's argument, which every call repeats.
NAME = re.compile(
    rf"(?<![{_LETTER}./\\‣-])(?:--[a-z][a-z0-9-]{{2,40}}+"
    r"|[A-Za-z_][A-Za-z0-9_]{0,60}+(?>(?:[.-][A-Za-z0-9_]{1,60}+){0,8}))"
    rf"(?![{_LETTER}/]|[.-][{_LETTER}])"
    r"|(?<![\w./\\‣-])(?<![0-9][,'’])\d{4,20}+(?![\w/-]|[.,'’]\d)"
)
TELLING = re.compile(r"--|[A-Za-z0-9]_[A-Za-z0-9]|[A-Za-z0-9_]{2}\.[A-Za-z_]{2}|[a-z0-9][A-Z]|[A-Z]{2}[a-z]")

# Words, as blanks part them; a number, a date or a currency that goes on behind its blank is one.
_SPACE = r" \t\n\r\x0b\x0c"
_GOES_ON = rf"(?:{_UNITS})(?![\w/])|[+-]\d\d:?\d\d|\d"
CHUNK = re.compile(rf"[^{_SPACE}]++(?:(?<=[\d$€£]) (?={_GOES_ON})[^{_SPACE}]++)*")
# What a longer string consists of, and how many of these in a row are looked up.
PART = re.compile(rf"[{_LETTER}]+")
RUN = 8
# What no exact string does without.
PROMISING = re.compile(r"[\d_/@\\]|[:.-]\w|[a-z][A-Z]|[A-Z]{2}[a-z]")
# Where something was cut: what touches this is not whole. Behind a mark in words a line may end in between.
CUT = re.compile(
    r"[….✂\[<({](?:(?<=…)|(?<=\.)\.{2,}"
    r"|(?<=✂)[^✂\n]{0,80}left out[^✂\n]{0,40}✂\n?"
    r"|(?<=[\[<({])[A-Za-z0-9 .…,:;%-]{0,60}(?i:truncated|omitted|elided|left out|clipped|more characters)"
    r"[A-Za-z0-9 .…,:;%-]{0,60}[\]>)}]\n?)"
)
