"""Whether a value that stands where a secret could stand looks like one: chance letters, or a word?"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from snapshot._lazy import lazy_pattern

__all__ = ["CHECKS", "FREE_CHECKS", "Names", "is_phrase", "varied"]

_UUID = lazy_pattern(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_HEX = lazy_pattern(r"(?:0x|sha\d{1,3}[:-])?[0-9a-fA-F]+")
_HASH = lazy_pattern(r"(?:sha\d{1,3}|md5|blake\w{1,3})[:-].*")
_NAME = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
_LETTERS = _NAME[:52]
_END_OF_NAME = lazy_pattern(r"[A-Za-z0-9]+(?:_[A-Za-z0-9]+)?")
_WORD = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_IDENTIFIER = lazy_pattern(r"[A-Za-z_][\w-]*(?:\.[A-Za-z_]\w*)*")
_CONSTANT = lazy_pattern(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_PHRASE_WORD = lazy_pattern(r"[a-z]{2,12}\d{0,4}|\d{1,6}")
_LINE_START = lazy_pattern(r"(?>(?:[-+>*#\s\"'{,\[]|export|set|ENV|\d{1,6}[\t→:|])*)\Z")
_LINE_END = lazy_pattern(r"[ \t]*(?:\r?\n|\\r?\\?n|\Z|#|[\"'])")
_SET = lazy_pattern(
    r"(?:\bset -\w{1,3}|\bsetenv|\bENV|\bsetx|\bARG|\bexport|\bsecret set|\bconfig:set)[ \t]\Z"
)
_WEB = lazy_pattern(r"\b(?:curl|curlie|wget|https?)\b")
_COMMAND = lazy_pattern(
    r"\b(?:(?P<joined>mysql\w{0,8}|mariadb(?:-\w{2,8})?|7z)|(?P<said>sshpass)"
    r"|mongo\w{0,8}|redis-cli|psql|openssl|smbclient|ldap\w{3,8}|rabbitmqctl|htpasswd|cqlsh|unzip|zip"
    r"|sqlcmd|bcp|isql|snmp\w{3,6}|(?:docker|podman|registry|az|oc) login)\b"
)
_CONNECTION = lazy_pattern(r";[ ]?(?:[A-Za-z][A-Za-z ]{1,39}=|[\"'\s]|\Z)")
_TEMPLATE = lazy_pattern(r"\$\{|\{\{|%\(|%s|\{\w*\}|\$\(|<\w+>")
_TYPE = lazy_pattern(
    r"(?i:u?int|float|str|string|bytes|char|varchar|text|binary|optional|secretstr)\d{0,4}|[A-Z][A-Za-z]*\d?"
)
_SEPARATOR = lazy_pattern(r"[-_./:]")
_WORDED = lazy_pattern(r"[A-Z]?[a-z]*\d{0,2}|[A-Z]*\d{0,2}|\d+")
_SHORT_KEY = lazy_pattern(r"(?=(?:\D{0,15}\d){3})(?=(?:\d{0,15}[A-Za-z]){2})[A-Za-z0-9]{8,15}")
_CALL = lazy_pattern(r"\w[(\[{]|\$[({]|\.\w+\(")
_CODE = lazy_pattern(r"[A-Za-z_]\w*(?:\??\.[A-Za-z_]\w*)+\W*")
_SCHEMES = frozenset(
    ("apikey", "basic", "bearer", "bot", "digest", "genie-key", "key", "splunk", "sso-key", "ssws", "token")
)
_ESCAPE_START = lazy_pattern(r"(?:\x1b|\u241b|\^\[|\\(?:x1[bB]|u001[bB]|033|e))\[[0-9;]{0,12}\Z")
_ESCAPE_REST = lazy_pattern(r"\d{0,3}[A-Za-z]")
_HEX_PAIR = lazy_pattern(r"[0-9A-F]{2}")
_SYMBOLS = frozenset("!@#%^*?+=~$&")
_SHORTEST = 16
_PROGRAM = ("(", "[", "{")
_PROGRAM_TEXT = lazy_pattern(r"[{};<>,\"'`]")


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
    if len(set(value)) < 10 or not classes or max(map(len, _SEPARATOR.split(value))) < 8:
        return False
    changes = sum(left != right for left, right in pairwise(classes))
    digits = classes.count(0)
    if 2 <= digits < len(classes) and changes >= max(4, len(classes) // 6):
        return True
    return changes >= max(6, 0.42 * len(classes)) and _chopped(value)


def _chopped(value: str, most: float = 2.5) -> bool:
    """Whether a value falls into pieces too short for words: capitals and small letters as they come."""
    pieces = _WORD.findall(value)
    return bool(pieces) and sum(map(len, pieces)) <= most * len(pieces)


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
    value = _value(match)
    return varied(value) or (len(value) >= 20 and _is_wordless(value))


def _is_unworded(match: re.Match[str], text: str, names: Names) -> bool:  # noqa: ARG001
    """No name of words and numbers with marks between, which begins like a token by chance."""
    return not all(map(_WORDED.fullmatch, _SEPARATOR.split(_value(match))))


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
        and (any(map(_is_no_letter, value)) or (len(value) >= 12 and _chopped(value, 3.2)))
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
    command, value = _COMMAND.search(_line_before(match, text)), _value(match)
    if command is None or names.placeholder.fullmatch(value):
        return False
    if match[0].startswith("pass:"):
        return True
    if command["joined"]:  # -p alone asks for it, and what follows is something else
        return match.start("secret") - match.start() <= 4 and not match[0].startswith((" -p ", " -a", " -w"))
    return bool(command["said"]) or _is_password(match, text, names)


def _line_before(match: re.Match[str], text: str) -> str:
    start = max(text.rfind("\n", 0, match.start()) + 1, match.start() - 240)
    return text[start : match.start()]


def _is_basic(match: re.Match[str], text: str, names: Names) -> bool:  # noqa: ARG001
    """Base64 of a name, a colon and a password; or chance letters."""
    return _is_pair(_value(match)) or varied(_value(match))


def _is_pair(value: str) -> bool:
    return b":" in _text_of(value)


def _says_text(value: str) -> bool:
    """Whether a value is base64 of printable ASCII, as in a manifest of secrets."""
    return len(value) % 4 == 0 and len(_text_of(value)) >= 6


def _text_of(value: str) -> bytes:
    """What a value says as base64; nothing if that is no printable ASCII."""
    from base64 import b64decode

    try:
        said = b64decode(value + "=" * (-len(value) % 4))
    except ValueError:
        return b""
    return said if said.isascii() and said.decode().isprintable() else b""


def _is_line(match: re.Match[str], text: str, names: Names) -> bool:
    """All that a line of an environment says behind NAME=, unless it is a program's."""
    value = _value(match)
    if names.placeholder.fullmatch(value) or _CALL.search(value) or _HASH.fullmatch(value):
        return False
    return _stands_alone(match, text) and any(map(str.isalpha, value))


def _is_authorization(match: re.Match[str], text: str, names: Names) -> bool:  # noqa: ARG001
    value, scheme = _value(match), (match["scheme"] or "").lower()
    if names.placeholder.fullmatch(value) or _CODE.fullmatch(value):
        return False
    return varied(value) or (scheme in _SCHEMES and (_is_pair(value) or _is_wordless(value)))


def _is_named(match: re.Match[str], text: str, names: Names) -> bool:  # noqa: PLR0911 - a line for each reason
    """NAME=value, where NAME is a secret's, and value could be one."""
    head, name = _name(match, text)
    said = head[:-1] if head.endswith((" ", "\t")) else ""
    asked = said[len(said.rstrip(_LETTERS)) :].lower()
    words = [word.lower() for word in _WORD.findall(name)]
    if len(words) > 1 and words[-1] in ("base", "value", "64"):
        del words[-1:]
    last, before = ([""] * 2 + words)[:-3:-1]
    if last not in names.secret and last not in names.key:
        last = next((end for end in names.compound if last.endswith(end)), "")
    if before == "key" and len(words) > 2:  # publicKeyToken
        before = words[-3]
    if not last or before in names.harmless or (not before and asked in names.harmless):
        return False
    if last in names.key and not before and not match["said"]:
        return False
    value = match["secret"] or match["quoted"] or match["phrase"]
    if names.placeholder.fullmatch(value) or value.isdigit() or _HASH.fullmatch(value):
        return False
    if match["secret"] and text[match.end() : match.end() + 1] in _PROGRAM:
        return False  # a call or an index, in a program
    if match["xml"] and not text.startswith("</", match.end()):
        return False  # not the content of an element, but a name that stands for a value
    if match["quoted"] and value[0] in "),;}]":
        return False  # what stands between two strings
    if match["said"] and (last == "pass" or not (before or asked in names.strong or last in names.password)):
        return False
    flag = name.startswith("--")
    variable = match["flag"] is not None and not flag  # set -x NAME value
    if variable and not (_SET.search(head) or (name.isupper() and before and varied(value))):
        return False
    place = _Place(
        environment=variable
        or _is_environment(match, text, name)
        or (head.endswith(("?", "&")) and match["sign"] == "=" and not match["gap"]),
        flag=flag,
        before=before,
        strong=last not in names.key or before in names.strong or asked in names.strong,
        key=last.endswith("key"),
    )
    check = _is_password_value if last in names.password else _is_key_value
    return check(match, text, names, value, place)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value stands: in an environment or a query, behind a flag; and how telling its name is."""

    environment: bool
    flag: bool
    before: str
    strong: bool
    key: bool


def _is_environment(match: re.Match[str], text: str, name: str) -> bool:
    """Whether it is NAME=value of an environment, or NAME: value of a file for one."""
    if not name.isupper() or not match["sign"] or match["open"]:
        return False
    return (match["sign"] == "=" and not match["gap"]) or (
        match["sign"] == ":" and _stands_alone(match, text)
    )


def _is_password_value(match: re.Match[str], text: str, names: Names, value: str, place: _Place) -> bool:  # noqa: PLR0911 - a line for each reason
    if " " in value or "\t" in value:
        if match["phrase"] and not ((match["sign"] or match["said"]) and _stands_alone(match, text)):
            return False
        words = [word.lower() for word in value.split()]
        return is_phrase(value, names) or (place.environment and names.sentence.isdisjoint(words))
    if value[0] in "/.~" and not (varied(value) and _chopped(value)):
        return False
    if _is_connection(match, text):
        return len(value) >= 6
    if place.environment:
        # In an environment every value is a value; in a program, one without quotes is a variable.
        return any(map(str.isalpha, value))
    if varied(value):
        return True
    if match["list"] is not None and "value" not in match["list"]:
        return False
    if _CODE.fullmatch(value) or _TEMPLATE.search(value) or not any(map(str.isalpha, value)):
        return False
    if not any(map(_is_no_letter, value)):
        return (_says_text(value) or (len(value) >= 12 and _chopped(value))) and bool(
            match["quoted"] or _stands_alone(match, text)
        )
    if match["quoted"] or place.flag or match["xml"] or not _IDENTIFIER.fullmatch(value):
        return True
    if match["row"]:
        return not _TYPE.fullmatch(value)
    declared = match["sign"] == ":" and not match["gap"] and not _TYPE.fullmatch(value)
    return any(map(str.isdigit, value)) and len(value) >= 7 and (declared or _stands_alone(match, text))


def _is_connection(match: re.Match[str], text: str) -> bool:
    """Whether it is one of several settings in a row: Server=db;Password=value;"""
    return bool(
        match["secret"]
        and match["sign"] == "="
        and _CONNECTION.match(text, match.end())
        and "=" in text[max(0, match.start() - 60) : match.start()]
    )


def _is_key_value(match: re.Match[str], text: str, names: Names, value: str, place: _Place) -> bool:  # noqa: ARG001, PLR0911 - a line for each reason
    if match["phrase"] or " " in value or _TEMPLATE.search(value) or _PROGRAM_TEXT.search(value):
        return False
    if _UUID.fullmatch(value):
        return place.strong and bool(place.before) and match["list"] is None
    if _HEX.fullmatch(value) and not place.strong:
        return False  # the hash of something
    if _CODE.fullmatch(value) and not _chopped(value):
        return False
    if value[0] in "/.~":
        return varied(value) and _chopped(value)
    if varied(value):
        return True
    if not place.strong or match["list"] is not None or len(value) < 8:
        return False
    query = match["sign"] == "=" and not match["gap"] and text[match.end() : match.end() + 1] in "&"
    placed = match["quoted"] or place.environment or place.flag or match["xml"] or query
    if not (placed or len(value) >= 24 or _stands_alone(match, text)):
        return False
    return _is_wordless(value) or (place.key and _SHORT_KEY.fullmatch(value) is not None)


def _is_wordless(value: str) -> bool:
    """Of 8 characters or more, no word can be made: digits within, more than a number behind a word."""
    if _CONSTANT.fullmatch(value) or max(map(len, _SEPARATOR.split(value))) < 7:
        return False
    classes = [0 if char.isdigit() else 1 if char.isupper() else 2 for char in value if char.isalnum()]
    changes = sum(left != right for left, right in pairwise(classes))
    digits = classes.count(0)
    if 2 <= digits < len(classes) - 1 and changes >= 3 and len(classes) >= len(value) - 2:
        return True
    return len(classes) >= 16 and changes >= 0.35 * len(classes) and _chopped(value, 3.2)


def _stands_alone(match: re.Match[str], text: str) -> bool:
    """Whether name and value are all that a line says, as in YAML and INI."""
    if match.groupdict().get("said"):
        return True
    before = text[max(0, match.start() - 100) : match.start()]
    line = before[before.rfind("\n") + 1 :]
    newline = max(line.rfind("\\n"), line.rfind("\\r"))
    line = line[newline + 2 :] if newline >= 0 else line
    return bool(_LINE_START.fullmatch(line.rstrip(_NAME))) and bool(_LINE_END.match(text, match.end()))


def _is_no_letter(char: str) -> bool:
    return char.isdigit() or char in _SYMBOLS


def _value(match: re.Match[str]) -> str:
    groups = match.groupdict()
    return groups.get("secret") or groups.get("body") or match[0]


def _name(match: re.Match[str], text: str) -> tuple[str, str]:
    """What stands before the name whose end the match begins with; and the name."""
    end = _END_OF_NAME.match(match[0])
    assert end is not None
    left = text[max(0, match.start() - 64) : match.start()]
    head = left.rstrip(_NAME)
    before = left[len(head) :]
    if head.endswith("\\") and before[:1] in ("n", "r", "t"):
        before = before[1:]  # an escaped newline, not the name's first letter
    elif head.endswith("%") and _HEX_PAIR.match(before):
        before = before[2:]  # a character as its number
    elif head.endswith(("[", ";")) and _ESCAPE_START.search(head) and (rest := _ESCAPE_REST.match(before)):
        before = before[rest.end() :]  # the end of a colour code
    return head, before + end[0]


CHECKS: dict[str, Callable[[re.Match[str], str, Names], bool]] = {
    "varied": _is_varied,
    "unworded": _is_unworded,
    "scrambled": _is_scrambled,
    "mixed": _is_mixed,
    "placeholder": _is_no_placeholder,
    "password": _is_password,
    "authorization": _is_authorization,
    "basic": _is_basic,
    "user": _is_user,
    "command": _is_command,
    "line": _is_line,
    "named": _is_named,
}

FREE_CHECKS = ("varied", "unworded", "scrambled", "mixed", "placeholder", "password", "basic")
"""Those that need no groups of the pattern but `secret`, for rules of a user's own."""
