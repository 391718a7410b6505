"""Exact strings in a text, by their form: hashes, UUIDs, URLs, paths, versions, numbers, identifiers, …

A text has few different words, so it is split at blanks and each word is looked at once. Every pattern
starts behind a character that cannot belong to it and takes what it takes for good, so the time is linear
however long a word is. What one kind took, the kinds after it leave alone. A string is listed whole or not
at all: not one that goes on where its pattern ends, that was cut (`3f78685…`), or longer than `_LONGEST`.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Literal, TypeAlias

__all__ = ["Fact", "Finder", "Kind", "find", "look", "parts_of", "strings_in"]

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
            (`drain_events`, `fooBar`, `self.pool`) consists of words; "named" is what a caller asked for.
        offsets: where it stands in the text, ascending.
    """

    text: str
    kind: Kind
    offsets: tuple[int, ...]


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
_LONG_NUMBER = 7
_DIGIT_SEGMENT = re.compile(r"[a-z]*[aeiouy][a-z]*\d{0,2}|[a-z]|\d{1,2}", re.IGNORECASE)
_HUMPS = re.compile(r"[a-z]{2}[A-Z]{1,8}[a-z]|[a-z]{2}[A-Z].{3}")


def _identifier(found: str) -> tuple[str, Kind] | None:  # noqa: PLR0911 - a form each
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
_PATTERNS: tuple[tuple[Kind, re.Pattern[str], Callable[[str], str]], ...] = (
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
_WORD = re.compile(
    rf"(?<!‣){_BEFORE}(?<![0-9][.,'’](?=[0-9]))[A-Za-z0-9_]++(?>(?:-[A-Za-z0-9_]++)*)(?![{_LETTER}-]|[.,'’]\d)"
)
_LONGEST_WORD = 60
# Names as code has them: flags, dotted names, words with an underscore, a hump or a hyphen; and numbers. What
# stands behind ‣ is the name of a tool's argument, which every call repeats.
_NAME = re.compile(
    rf"(?<![{_LETTER}./\\‣-])(?:--[a-z][a-z0-9-]{{2,40}}+"
    r"|[A-Za-z_][A-Za-z0-9_]{0,60}+(?>(?:[.-][A-Za-z0-9_]{1,60}+){0,8}))"
    rf"(?![{_LETTER}/]|[.-][{_LETTER}])"
    r"|(?<![\w./\\‣-])(?<![0-9][,'’])\d{4,20}+(?![\w/-]|[.,'’]\d)"
)
_TELLING = re.compile(r"--|[A-Za-z0-9]_[A-Za-z0-9]|[A-Za-z0-9_]{2}\.[A-Za-z_]{2}|[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_SHORTEST_NAME, _LONGEST_NAME = 5, 80

# Words, as blanks part them; a number, a date or a currency that goes on behind its blank is one.
_SPACE = r" \t\n\r\x0b\x0c"
_GOES_ON = rf"(?:{_UNITS})(?![\w/])|[+-]\d\d:?\d\d|\d"
_CHUNK = re.compile(rf"[^{_SPACE}]++(?:(?<=[\d$€£]) (?={_GOES_ON})[^{_SPACE}]++)*")
# What a longer string consists of, and how many of these in a row are looked up.
_PART = re.compile(rf"[{_LETTER}]+")
_RUN = 8
# What no exact string does without.
_PROMISING = re.compile(r"[\d_/@\\]|[:.-]\w|[a-z][A-Z]|[A-Z]{2}[a-z]")
# Where something was cut: what touches this is not whole. Behind a mark in words a line may end in between.
_CUT = re.compile(
    r"[….✂\[<({](?:(?<=…)|(?<=\.)\.{2,}"
    r"|(?<=✂)[^✂\n]{0,80}left out[^✂\n]{0,40}✂\n?"
    r"|(?<=[\[<({])[A-Za-z0-9 .…,:;%-]{0,60}(?i:truncated|omitted|elided|left out|clipped|more characters)"
    r"[A-Za-z0-9 .…,:;%-]{0,60}[\]>)}]\n?)"
)


def find(text: str, *, names: bool = False) -> tuple[Fact, ...]:
    """The exact strings of `text`, each once, in order of their first place; in linear time.

    Prose is none, nor are words with a hyphen, small numbers, names with a capital, or base64.

    Args:
        text: any text.
        names: whether to take more that only code has, whole: `--flags`, dotted names, `CamelCase`, numbers
            without a separator.
    """
    finder = Finder(names=names)
    finder.feed(text)
    return finder.facts()


class Finder:
    """The exact strings of a text that is looked at piece by piece, as `find` finds them in the whole.

    Pieces may end only behind a newline, and where no mark of something cut goes on in the next.

    Args:
        names: as for `find`.
    """

    def __init__(self, *, names: bool = False) -> None:
        self._names = names
        self._length = self._start = 0
        self._found: dict[str, _Places] = {}
        # What a word is that only its own form tells.
        self._kinds: dict[tuple[int, str], Kind] = {}

    def feed(self, text: str) -> None:
        """Look at the piece of text that follows."""
        matches = list(_CHUNK.finditer(text))
        chunks = [match[0] for match in matches]
        told = _words.strings_of(chunks)
        offsets: defaultdict[str, list[int]] = defaultdict(list)
        for match, chunk in zip(matches, chunks, strict=True):
            if chunk in told:
                offsets[chunk].append(match.start())
        cuts = _cuts(text)
        behind = self._length
        new: defaultdict[str, dict[int, int]] = defaultdict(dict)
        for chunk, starts in offsets.items():
            for inside, found, kind, rank in told[chunk]:
                if rank >= len(_PATTERNS):
                    if rank > len(_PATTERNS) and not self._names:
                        continue
                    self._kinds[rank, found] = kind
                length, places = len(found), new[found]
                for start in starts:
                    if not (cuts and _touches(start + inside, start + inside + length, cuts)):
                        # A name may be found twice in one place, by what it ends with and as a whole.
                        places.setdefault(behind + start + inside, rank)
        for found, places in new.items():
            if places:
                known = self._found.get(found)
                if known is None:
                    known = self._found[found] = _Places()
                known.add(places)
        self._length += len(text)

    def skip(self, offset: int) -> None:
        """Begin at an offset: what stands before is not looked at."""
        self._length = self._start = offset

    def facts(self) -> tuple[Fact, ...]:
        """All that was found, each once, in order of its first place."""
        return tuple(sorted(self.some(), key=lambda fact: (fact.offsets[0], fact.text)))

    def some(self, start: int = 0) -> list[Fact]:
        """What was found from an offset on, in no certain order; what stands before is forgotten."""
        if start > self._start:
            self._start = start
            self._found = {text: places for text, places in self._found.items() if places.forget(start)}
        return [places.fact(text, self._kind) for text, places in self._found.items()]

    def _kind(self, rank: int, text: str) -> Kind:
        return _PATTERNS[rank][0] if rank < len(_PATTERNS) else self._kinds[rank, text]


class _Places:
    """Where a string stands, ascending, and the rank of the pattern that found it in each place."""

    __slots__ = ("_fact", "_offsets", "_ranks")

    def __init__(self) -> None:
        self._offsets = array("q")
        self._ranks = bytearray()
        self._fact: Fact | None = None

    def add(self, places: dict[int, int]) -> None:
        for offset in sorted(places):
            self._offsets.append(offset)
            self._ranks.append(places[offset])
        self._fact = None

    def forget(self, start: int) -> bool:
        """Forget what stands before an offset; whether anything is left."""
        gone = bisect_left(self._offsets, start)
        if gone:
            del self._offsets[:gone], self._ranks[:gone]
            self._fact = None
        return bool(self._offsets)

    def fact(self, text: str, kind: Callable[[int, str], Kind]) -> Fact:
        if self._fact is None:
            self._fact = Fact(text, kind(min(self._ranks), text), tuple(self._offsets))
        return self._fact


_String: TypeAlias = tuple[int, str, Kind, int]
"""An exact string in a word: its offset there, itself, its kind, and the rank of that."""


class _Words:
    """The exact strings of the words that were looked at lately; words without any are known as well.

    A text has few different words, and another one much the same, so each is looked at once. No pattern
    reaches over the newline that parts two words, so what is in one depends on nothing beside it.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[_String, ...]] = {}

    def strings_of(self, words: Collection[str]) -> dict[str, tuple[_String, ...]]:
        """The words that have exact strings, in no certain order, each with these, the lowest rank first."""
        known = self._known
        different = set(words)
        new = [word for word in different if word not in known]
        made: dict[str, tuple[_String, ...]] = dict.fromkeys(new, ())
        promising = [word for word in new if _PROMISING.search(word)]
        for word, strings in _in_words(promising):
            made[word] = strings
        found = {word: strings for word in different if (strings := made.get(word) or known.get(word))}
        if len(known) + len(made) > _WORDS_KNOWN:
            self._known = known = {}
        known.update((word, strings) for word, strings in made.items() if len(word) <= _LONGEST)
        return found


def _in_words(words: Sequence[str]) -> Iterator[tuple[str, tuple[_String, ...]]]:
    """Each word that has exact strings, with these."""
    starts = list(accumulate((len(word) + 1 for word in words), initial=0))
    found: defaultdict[int, list[_String]] = defaultdict(list)
    for at, text, kind, rank in _strings("\n".join(words)):
        number = bisect_right(starts, at) - 1
        found[number].append((at - starts[number], text, kind, rank))
    for number, strings in found.items():
        yield words[number], tuple(strings)


def _strings(text: str) -> Iterator[_String]:
    """Each exact string of a text without repetitions, with its offset, its kind, and the rank of that."""
    taken = bytearray(len(text))
    for rank, (kind, pattern, trimmed) in enumerate(_PATTERNS):
        for match in pattern.finditer(text):
            whole = match[0]
            if len(whole) > 4 * _LONGEST:
                taken[match.start() : match.end()] = b"\1" * len(whole)
            elif (found := trimmed(whole)) and taken.find(1, match.start(), match.end()) < 0:
                start = match.start() + whole.index(found)
                taken[start : start + len(found)] = b"\1" * len(found)
                if len(found) <= _LONGEST:
                    yield start, found, kind, rank
    for rank, (pattern, judge) in enumerate(_JUDGES, len(_PATTERNS)):
        for match in pattern.finditer(text):
            known = judge(match[0])
            if known and taken.find(1, match.start(), match.end()) < 0:
                yield match.start(), *known, rank


# Words, and exact strings, of which it is kept what they are: bounds memory.
_WORDS_KNOWN = 1 << 16


def _code_name(found: str) -> tuple[str, Kind] | None:
    name = found.rstrip("-")
    if name[0].isdigit():
        return (name, "number" if len(name) < _LONG_NUMBER else "identifier")
    if not _SHORTEST_NAME <= len(name) <= _LONGEST_NAME:
        return None
    telling = _TELLING.search(name) or (len(name) > _SHORTEST_NAME and "-" in name)
    return (name, "name") if telling else None


_JUDGES = (_WORD, _identifier), (_NAME, _code_name)
_words = _Words()


@lru_cache(maxsize=1 << 11)
def strings_in(text: str) -> frozenset[str]:
    """The exact strings of a text, and what stands whole in them."""
    if _CUT.search(text):
        whole = {fact.text for fact in find(text, names=True)}
    else:  # where nothing was cut, those of the words are all there are
        told = _words.strings_of(_CHUNK.findall(text))
        whole = {found for strings in told.values() for _, found, _, _ in strings}
    return frozenset(whole.union(*map(parts_of, whole)))


@lru_cache(maxsize=_WORDS_KNOWN)
def parts_of(text: str) -> frozenset[str]:
    """What stands whole in an exact string: `pool`, `self.pool` and `pool.size` in `self.pool.size`.

    Runs of up to `_RUN` words, not the string itself, which makes them linear in its length.
    """
    spans = [match.span() for match in _PART.finditer(text)]
    if len(spans) < 2:
        start, stop = spans[0] if spans else (0, 0)
        return frozenset((text[start:stop],) if stop - start not in (0, len(text)) else ())
    found: set[str] = set()
    for number, (start, _) in enumerate(spans):
        found.update(text[start:stop] for _, stop in spans[number : number + _RUN])
        # A path may begin with its separator.
        if start and text[start - 1] in "/~":
            found.update(text[start - 1 : stop] for _, stop in spans[number : number + _RUN])
    found.discard(text)
    return frozenset(found)


def _cuts(text: str) -> list[tuple[int, int]]:
    """The half-open spans of marks of something cut, ascending."""
    found: list[tuple[int, int]] = []
    for match in _CUT.finditer(text):
        start, stop = match.span()
        in_words = text[start] not in "…."
        found.append((start - (in_words and text[start - 1 : start] == "\n"), stop))
    return found


def _touches(start: int, stop: int, cuts: Sequence[tuple[int, int]]) -> bool:
    number = bisect_right(cuts, stop, key=lambda cut: cut[0]) - 1
    return number >= 0 and cuts[number][1] >= start


_LOOK = str.maketrans("OolI|SBZb", "001115826")
_PAIRS = re.compile("rn|vv|cl")


@lru_cache(maxsize=_WORDS_KNOWN)
def look(text: str) -> str:
    """What look-alikes have in common: 0 O o, 1 l I |, 5 S, 8 B, 2 Z, 6 b, rn m, vv w, cl d."""
    return _PAIRS.sub(lambda pair: {"rn": "m", "vv": "w", "cl": "d"}[pair[0]], text).translate(_LOOK)
