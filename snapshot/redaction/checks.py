"""Whether a value that stands where a secret could stand looks like one: chance letters, or a word?"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["CHECKS", "Names"]

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_HEX = re.compile(r"(?:0x|sha\d{1,3}[:-])?[0-9a-fA-F]+")
_NAME = re.compile(r"[A-Za-z0-9_.-]{0,64}\Z")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_SYMBOLS = frozenset("!@#%^*?+=~$")
_SHORTEST = 16


@dataclass(frozen=True, slots=True)
class Names:
    """The table `names` of the rule file: words that names of secrets end in, and their context."""

    secret: frozenset[str]
    key: frozenset[str]
    password: frozenset[str]
    harmless: frozenset[str]
    strong: frozenset[str]
    placeholder: re.Pattern[str]


def varied(value: str) -> bool:
    """Whether letters and digits alternate as chance has it: no word, path, version or number does.

    Of random letters and digits every third neighbour or so is of another class; in words joined by
    marks, with a number at the end, hardly any.
    """
    if len(value) < _SHORTEST or "://" in value or _UUID.search(value):
        return False
    classes = [0 if char.isdigit() else 1 if char.isupper() else 2 for char in value if char.isalnum()]
    changes = sum(left != right for left, right in pairwise(classes))
    return (
        classes.count(0) >= 2
        and classes.count(0) < len(classes)
        and len(set(value)) >= 10
        and changes >= max(4, len(classes) // 6)
    )


def _is_varied(match: re.Match[str], text: str, names: Names) -> bool:  # noqa: ARG001
    return varied(_value(match))


def _is_mixed(match: re.Match[str], text: str, names: Names) -> bool:  # noqa: ARG001
    """Letters of both cases, or letters and digits: `YOUR_TOKEN` and `session-token-here` are no values."""
    value = _value(match)
    kinds = [any(map(test, value)) for test in (str.isdigit, str.isupper, str.islower)]
    return sum(kinds) >= 2 and not names.placeholder.fullmatch(value)


def _is_no_placeholder(match: re.Match[str], text: str, names: Names) -> bool:  # noqa: ARG001
    return not names.placeholder.fullmatch(_value(match))


def _is_named(match: re.Match[str], text: str, names: Names) -> bool:
    """NAME=value, where NAME is a secret's, and value could be one."""
    value, name = match["secret"], _name(match, text)
    words = [word.lower() for word in _WORD.findall(name)]
    last, before = ([""] * 2 + words)[:-3:-1]
    of_secret = last in names.secret or (last in names.key and before != "")
    if not of_secret or before in names.harmless or (match["flag"] and not name.startswith("--")):
        return False
    called = text[match.end() : match.end() + 1]
    if called and called in "([{":
        return False  # a call or an index, in a program
    if names.placeholder.fullmatch(value) or _UUID.fullmatch(value) or value.isdigit() or value[0] in "/.~":
        return False
    if last in names.password:
        # In an environment every value is a value; in a program, one without quotes is a variable.
        environment = name.isupper() and not match["gap"]
        variable = not (match["quote"] or match["flag"] or environment) and _IDENTIFIER.fullmatch(value)
        return not variable and any(map(str.isalpha, value)) and any(map(_is_no_letter, value))
    hash_of_something = _HEX.fullmatch(value) and last in names.key and before not in names.strong
    return not hash_of_something and varied(value) and not value.startswith("sha256:")


def _is_no_letter(char: str) -> bool:
    return char.isdigit() or char in _SYMBOLS


def _value(match: re.Match[str]) -> str:
    groups = match.groupdict()
    return groups.get("secret") or groups.get("body") or match[0]


def _name(match: re.Match[str], text: str) -> str:
    """The name whose end the match begins with."""
    end = re.match(r"[A-Za-z]+", match[0])
    assert end is not None
    head = text[max(0, match.start() - 64) : match.start()]
    found = _NAME.search(head)
    before = found[0] if found else ""
    at = len(head) - len(before)
    if at and head[at - 1] == "\\" and before[:1] in ("n", "r", "t"):
        before = before[1:]  # an escaped newline, not the name's first letter
    return before + end[0]


CHECKS: dict[str, Callable[[re.Match[str], str, Names], bool]] = {
    "varied": _is_varied,
    "mixed": _is_mixed,
    "placeholder": _is_no_placeholder,
    "named": _is_named,
}
