"""Whether a value that stands where a secret could stand looks like one: chance letters, or a word?"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["CHECKS", "Names", "is_phrase", "varied"]

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_HEX = re.compile(r"(?:0x|sha\d{1,3}[:-])?[0-9a-fA-F]+")
_HASH = re.compile(r"(?:sha\d{1,3}|md5|blake\w{1,3})[:-].*")
_NAME = re.compile(r"[A-Za-z0-9_.-]{0,64}\Z")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_IDENTIFIER = re.compile(r"[A-Za-z_][\w-]*(?:\.[A-Za-z_]\w*)*")
_CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_PHRASE_WORD = re.compile(r"[a-z]{2,12}\d{0,4}|\d{1,6}")
_LINE_START = re.compile(r"(?>(?:[-+>*#\s\"'{,\[]|export|set|ENV|\d{1,6}[\t→:|])*)\Z")
_LINE_END = re.compile(r"[ \t]*(?:\r?\n|\\r?\\?n|\Z|#|[\"'])")
_SET = re.compile(r"(?:\bset -\w{1,3}|\bsetenv|\bENV|\bsetx|\bARG|\bexport|\bsecret set|\bconfig:set)[ \t]\Z")
_ASKED = re.compile(r"([A-Za-z]+)[ \t]\Z")
_WEB = re.compile(r"\b(?:curl|curlie|wget|https?)\b")
_COMMAND = re.compile(
    r"\b(?:mysql\w{0,8}|mariadb(?:-\w{2,8})?|sshpass|mongo\w{0,8}|redis-cli|(?:docker|podman|registry|az|oc) login|psql|"
    r"openssl|ldap\w{3,8}|smbclient|rabbitmqctl|htpasswd|cqlsh|unzip|7z|zip|sqlcmd|bcp|isql|snmp\w{3,6})\b"
)
_CONNECTION = re.compile(r";[ ]?(?:[A-Za-z][A-Za-z ]{1,39}=|[\"'\s]|\Z)")
_TEMPLATE = re.compile(r"\$\{|\{\{|%\(|%s|\{\w*\}|\$\(|<\w+>")
_TYPE = re.compile(
    r"(?i:u?int|float|str|string|bytes|char|varchar|text|binary|optional|secretstr)\d{0,4}|[A-Z][A-Za-z]*\d?"
)
_SYMBOLS = frozenset("!@#%^*?+=~$&")
_SHORTEST = 16
_PROGRAM = frozenset("([{")


@dataclass(frozen=True, slots=True)
class Names:
    """The table `names` of the rule file: words that names of secrets end in, and their context."""

    secret: frozenset[str]
    key: frozenset[str]
    password: frozenset[str]
    compound: frozenset[str]
    harmless: frozenset[str]
    strong: frozenset[str]
    sentence: frozenset[str]
    placeholder: re.Pattern[str]


def varied(value: str) -> bool:
    """Whether letters and digits alternate as chance has it: no word, path, version or number does.

    Of random letters and digits every third neighbour or so is of another class; in words joined by
    marks, with a number at the end, hardly any. Random letters of both cases change at every other one.
    """
    if len(value) < _SHORTEST or "://" in value or _UUID.search(value):
        return False
    classes = [0 if char.isdigit() else 1 if char.isupper() else 2 for char in value if char.isalnum()]
    if len(set(value)) < 10 or not classes:
        return False
    changes = sum(left != right for left, right in pairwise(classes))
    digits = classes.count(0)
    if 2 <= digits < len(classes) and changes >= max(4, len(classes) // 6):
        return True
    return changes >= max(6, 0.42 * len(classes)) and _chopped(value)


def _chopped(value: str) -> bool:
    """Whether a value falls into pieces too short for words: capitals and small letters as they come."""
    pieces = _PIECE.findall(value)
    return bool(pieces) and sum(map(len, pieces)) <= 2.5 * len(pieces)


def is_phrase(value: str, names: Names) -> bool:
    """Whether words stand together that make no sentence: correct horse battery staple."""
    words = value.split(" ")
    return (
        3 <= len(words) <= 24
        and all(map(_PHRASE_WORD.fullmatch, words))
        and not any(word in names.sentence for word in words)
        and sum(map(len, words)) >= 12
    )


def _is_varied(match: re.Match[str], text: str, names: Names) -> bool:  # noqa: ARG001
    return varied(_value(match))


def _is_scrambled(match: re.Match[str], text: str, names: Names) -> bool:  # noqa: ARG001
    """Of a list of values with marks between them, one is."""
    return any(varied(piece) or _UUID.fullmatch(piece) for piece in re.split(r"[;=, /@]+", _value(match)))


def _is_mixed(match: re.Match[str], text: str, names: Names) -> bool:  # noqa: ARG001
    """Letters of both cases, or letters and digits: `YOUR_TOKEN` and `session-token-here` are no values."""
    value = _value(match)
    kinds = [any(map(test, value)) for test in (str.isdigit, str.isupper, str.islower)]
    return sum(kinds) >= 2 and not names.placeholder.fullmatch(value)


def _is_no_placeholder(match: re.Match[str], text: str, names: Names) -> bool:  # noqa: ARG001
    return not names.placeholder.fullmatch(_value(match))


def _is_password(match: re.Match[str], text: str, names: Names) -> bool:  # noqa: ARG001
    """Letters, and something else: what stands as a password where words could stand as well."""
    value = _value(match)
    return (
        len(value) >= 6
        and any(map(str.isalpha, value))
        and any(map(_is_no_letter, value))
        and not names.placeholder.fullmatch(value)
        and not value.startswith(("/", "./", "~", "http"))
    )


def _is_user(match: re.Match[str], text: str, names: Names) -> bool:
    """`-u name:password`: of curl whatever it is, elsewhere what can be no group or port."""
    if _WEB.search(_line_before(match, text)):
        return not names.placeholder.fullmatch(_value(match))
    return "/" not in _value(match) and _is_password(match, text, names)


def _is_command(match: re.Match[str], text: str, names: Names) -> bool:
    """`-p password` of a program that takes one so."""
    return bool(_COMMAND.search(_line_before(match, text))) and _is_password(match, text, names)


def _line_before(match: re.Match[str], text: str) -> str:
    start = max(text.rfind("\n", 0, match.start()) + 1, match.start() - 240)
    return text[start : match.start()]


def _is_basic(match: re.Match[str], text: str, names: Names) -> bool:  # noqa: ARG001
    """Base64 of a name, a colon and a password; or chance letters."""
    from base64 import b64decode

    value = _value(match)
    try:
        said = b64decode(value + "=" * (-len(value) % 4))
    except ValueError:
        said = b""
    return (b":" in said and said.isascii() and said.decode().isprintable()) or varied(value)


def _is_named(match: re.Match[str], text: str, names: Names) -> bool:
    """NAME=value, where NAME is a secret's, and value could be one."""
    head, name = _name(match, text)
    found = _ASKED.search(head)
    asked = found[1].lower() if found else ""
    words = [word.lower() for word in _WORD.findall(name)]
    if len(words) > 1 and words[-1] in ("base", "value", "64"):
        del words[-1:]
    last, before = ([""] * 2 + words)[:-3:-1]
    if last not in names.secret and last not in names.key:
        last = next((end for end in names.compound if last.endswith(end)), "")
    if not last or before in names.harmless or (not before and asked in names.harmless):
        return False
    if last in names.key and not before and not match["said"]:
        return False
    value = match["secret"] or match["quoted"] or match["phrase"]
    if names.placeholder.fullmatch(value) or value.isdigit() or _HASH.fullmatch(value):
        return False
    if match["phrase"]:
        return last in names.password and is_phrase(value, names) and _stands_alone(match, text)
    if (
        match["secret"]
        and text[match.end() : match.end() + 1] in _PROGRAM
        and text[match.end() : match.end() + 1]
    ):
        return False  # a call or an index, in a program
    if match["said"] and not before and asked not in names.strong and last not in names.password:
        return False
    environment = name.isupper() and bool(match["sign"]) and not match["gap"]
    if match["flag"] is not None and not name.startswith("--"):
        environment = bool(_SET.search(head)) or (name.isupper() and bool(before) and varied(value))
        if not environment:
            return False
    if last in names.password:
        return _is_password_value(match, text, names, value, environment=environment)
    return _is_key_value(match, text, names, value, last=last, before=before, environment=environment)


def _is_password_value(
    match: re.Match[str], text: str, names: Names, value: str, *, environment: bool
) -> bool:
    if " " in value or "\t" in value:
        if is_phrase(value, names):
            return True
        return environment and not any(word.lower() in names.sentence for word in value.split())
    if value[0] in "/.~" and not varied(value):
        return False
    connection = match["sign"] == "=" and text[match.end() : match.end() + 1] == ";"
    if (
        connection
        and match["secret"]
        and _CONNECTION.match(text, match.end())
        and "=" in text[max(0, match.start() - 60) : match.start()]
    ):
        return len(value) >= 6
    if environment:
        # In an environment every value is a value; in a program, one without quotes is a variable.
        return any(map(str.isalpha, value))
    if match["list"] is not None and "value" not in match["list"]:
        return varied(value)
    if not (any(map(str.isalpha, value)) and any(map(_is_no_letter, value))):
        return varied(value)
    if match["quoted"] or match["flag"] or match["xml"] or not _IDENTIFIER.fullmatch(value):
        return not _TEMPLATE.search(value)
    if varied(value):
        return True
    declared = match["sign"] == ":" and not match["gap"] and not _TYPE.fullmatch(value)
    return any(map(str.isdigit, value)) and len(value) >= 7 and (declared or _stands_alone(match, text))


def _is_key_value(
    match: re.Match[str],
    text: str,
    names: Names,
    value: str,
    *,
    last: str,
    before: str,
    environment: bool,
) -> bool:
    strong = last not in names.key or before in names.strong
    if " " in value or _TEMPLATE.search(value):
        return False
    if _UUID.fullmatch(value):
        return strong and bool(before or last not in ("token", "secret")) and match["list"] is None
    if _HEX.fullmatch(value) and not strong:
        return False  # the hash of something
    if value[0] in "/.~":
        return varied(value) and _chopped(value)
    if varied(value):
        return True
    placed = match["quoted"] or environment or match["flag"] or match["xml"]
    if not strong or match["list"] is not None or len(value) >= _SHORTEST or len(value) < 8:
        return False
    query = match["sign"] == "=" and not match["gap"] and text[match.end() : match.end() + 1] in "&"
    if not (placed or query or _stands_alone(match, text)):
        return False
    return _is_short_key(value)


def _is_short_key(value: str) -> bool:
    """8 to 15 characters, of which no word can be made: digits within, or more than a number behind a word."""
    classes = [0 if char.isdigit() else 1 if char.isupper() else 2 for char in value if char.isalnum()]
    changes = sum(left != right for left, right in pairwise(classes))
    return 2 <= classes.count(0) < len(classes) - 1 and changes >= 3 and len(classes) >= len(value) - 1


def _stands_alone(match: re.Match[str], text: str) -> bool:
    """Whether name and value are all that a line says, as in YAML and INI."""
    if match["said"]:
        return True
    before = text[max(0, match.start() - 100) : match.start()]
    line = before[before.rfind("\n") + 1 :]
    newline = max(line.rfind("\\n"), line.rfind("\\r"))
    line = line[newline + 2 :] if newline >= 0 else line
    name = _NAME.search(line)
    head = line[: name.start()] if name else line
    return bool(_LINE_START.fullmatch(head)) and bool(_LINE_END.match(text, match.end()))


def _is_no_letter(char: str) -> bool:
    return char.isdigit() or char in _SYMBOLS


def _value(match: re.Match[str]) -> str:
    groups = match.groupdict()
    return groups.get("secret") or groups.get("body") or match[0]


def _name(match: re.Match[str], text: str) -> tuple[str, str]:
    """What stands before the name whose end the match begins with; and the name."""
    end = re.match(r"[A-Za-z0-9]+(?:_[A-Za-z0-9]+)?", match[0])
    assert end is not None
    head = text[max(0, match.start() - 64) : match.start()]
    found = _NAME.search(head)
    before = found[0] if found else ""
    head = head[: len(head) - len(before)]
    if head.endswith("\\") and before[:1] in ("n", "r", "t"):
        before = before[1:]  # an escaped newline, not the name's first letter
    return head, before + end[0]


CHECKS: dict[str, Callable[[re.Match[str], str, Names], bool]] = {
    "varied": _is_varied,
    "scrambled": _is_scrambled,
    "mixed": _is_mixed,
    "placeholder": _is_no_placeholder,
    "password": _is_password,
    "basic": _is_basic,
    "user": _is_user,
    "command": _is_command,
    "named": _is_named,
}
