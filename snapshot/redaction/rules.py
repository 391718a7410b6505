"""The forms of credentials, read from TOML: the package's own, and a user's.

A file has an array `tokens`, of forms that are known wherever they stand, an array `rules`, of those known by
what stands beside them, or both. A token has:

* `kind`: what the mark says: small letters, digits, "-"
* `starts`: the literals one of which it begins with; without any, it is tried at the start of each long word
* `body`: a regular expression for what follows
* `check`: what the value must pass besides; a user's is one of `snapshot.redaction.checks.FREE_CHECKS`
* `anywhere`: it need not have 20 letters, digits, "-" or "_" in a row, so all of the text is searched for it

A rule has `kind`, `check` and:

* `starts`: literals with one of which `pattern` begins, which a text is searched for; a user's may have none
* `nocase`: these literals are looked for in any case, and written small
* `beside`: a literal that must stand in the text as well
* `pattern`: matched where the literal stands; its group `secret`, or all of it, is replaced
* `contextual`: the value is searched for from there on as well, wherever it stands

In both, `{edge}` is the start of a word, also behind an escaped newline, `{end}` its end, `{q}` a quote,
maybe escaped, or nothing. A possessive quantifier stands behind a single character or class only: behind a
group it matches what it should not before Python 3.11.5; an atomic group does not.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from snapshot._toml import parse_toml
from snapshot.errors import SnapshotError
from snapshot.redaction.checks import CHECKS, FREE_CHECKS, Names

__all__ = ["Check", "Rule", "RuleError", "names", "own_rules", "read_rules"]

Check = Callable[[re.Match[str], str, Names], bool]

_MACROS = {
    "{edge}": r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtbf]))",
    "{end}": r"(?![A-Za-z0-9_-])",
    "{q}": r"""(?:\\{0,4}["'])?""",
}
_KIND = re.compile(r"[a-z][a-z0-9-]{0,39}")
_BOTH: dict[str, type] = {"kind": str, "starts": list, "check": str}
_FIELDS: dict[str, dict[str, type]] = {
    "tokens": {**_BOTH, "body": str, "anywhere": bool},
    "rules": {**_BOTH, "pattern": str, "nocase": bool, "contextual": bool, "beside": str},
}
_CLASS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]")
_POSSESSIVE_GROUP = re.compile(r"\)(?:[*+?]|\{\d*,?\d*\})\+")


class RuleError(SnapshotError):
    """A file of rules is wrong; one line for each mistake."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One form of credential.

    Attributes:
        kind: what its marks say.
        starts: literals with which `pattern` begins; none: it is tried at each long word, or everywhere.
        source: the regular expression that is matched where a literal stands.
        check: what a match must pass besides.
        contextual: known by where it stands, so that its value is searched for as well.
        token: known by its own form, and has or is near a long word.
        nocase: `starts` are small, and stand for any case.
        beside: what must stand in the text as well; "" is nothing.
    """

    kind: str
    starts: tuple[str, ...]
    source: str
    check: Check | None = None
    contextual: bool = False
    token: bool = False
    nocase: bool = False
    beside: str = ""

    @property
    def pattern(self) -> re.Pattern[str]:
        """`source`, compiled at its first use: a text has use for few of the rules."""
        return _compiled(self.source)


@cache
def _compiled(source: str) -> re.Pattern[str]:
    return re.compile(source)


@cache
def _table() -> Mapping[str, Any]:
    return parse_toml(Path(__file__).with_name("redaction.toml").read_text(encoding="utf-8"))


@cache
def names() -> Names:
    """The words that names of secrets end in."""
    table = _table()["names"]
    words = {key: frozenset(value) for key, value in table.items() if key != "placeholder"}
    return Names(**words, placeholder=re.compile(table["placeholder"]))


@cache
def own_rules() -> tuple[Rule, ...]:
    """The package's rules, in their order: the first decides what a secret is called."""
    defaults = {"tokens": {"check": "unworded"}, "rules": {}}
    return tuple(
        _rule(table, default | entry) for table, default in defaults.items() for entry in _table()[table]
    )


def read_rules(path: str | Path) -> tuple[Rule, ...]:
    """The rules of a user's file.

    Raises:
        RuleError: it cannot be read, or a rule is wrong; says every mistake, each on a line of its own.
    """
    import tomllib

    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise RuleError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RuleError(f"{path}: no TOML ({error})") from error
    if mistakes := tuple(_mistakes(table)):
        raise RuleError("\n".join(f"{path}: {mistake}" for mistake in mistakes))
    return tuple(_rule(key, entry) for key in _FIELDS for entry in table.get(key, ()))


def _rule(table: str, entry: Mapping[str, Any]) -> Rule:
    starts = tuple(entry.get("starts", ()))
    return Rule(
        kind=entry["kind"],
        starts=starts,
        source=_expanded(_source(table, entry)),
        check=CHECKS[entry["check"]] if "check" in entry else None,
        contextual=entry.get("contextual", False),
        token=table == "tokens" and not entry.get("anywhere", False),
        nocase=entry.get("nocase", False),
        beside=entry.get("beside", ""),
    )


def _source(table: str, entry: Mapping[str, Any]) -> str:
    if table == "rules":
        return entry["pattern"]
    starts = [re.escape(start) for start in entry.get("starts", ())]
    lead = f"(?:{'|'.join(starts)})" if starts else ""
    body = entry["body"]
    return f"{lead}{body}" if body.startswith("(?<=") else f"{{edge}}{lead}(?P<body>{body})"


def _expanded(pattern: str) -> str:
    for name, meaning in _MACROS.items():
        pattern = pattern.replace(name, meaning)
    return pattern


def _mistakes(table: Mapping[str, Any]) -> Iterator[str]:
    for key in table:
        if key not in _FIELDS:
            yield f"{key}: unknown; a file of rules has `tokens` and `rules`{_near(key, _FIELDS)}"
    if not any(key in table for key in _FIELDS):
        yield "no rules: write [[rules]] with a kind and a pattern, or [[tokens]] with a kind and a body"
    for key, fields in _FIELDS.items():
        entries = table.get(key, [])
        if not isinstance(entries, list):
            yield f"{key}: not an array of tables; write [[{key}]] before each"
            continue
        for number, entry in enumerate(entries, 1):
            if isinstance(entry, dict):
                for mistake in _mistakes_of(key, fields, entry):
                    yield f"{key} {number}: {mistake}"
            else:
                yield f"{key} {number}: not a table"


def _mistakes_of(table: str, fields: Mapping[str, type], entry: Mapping[str, Any]) -> Iterator[str]:
    typed = True
    for key, value in entry.items():
        if key not in fields:
            yield f"{key}: no such field{_near(key, fields)}"
        elif not isinstance(value, fields[key]):
            typed = False
            yield f"{key}: {value!r:.60} is of another type"
    main = "body" if table == "tokens" else "pattern"
    for key in ("kind", main):
        if key not in entry:
            typed = False
            yield f"{key}: missing"
    if not typed:
        return
    if not _KIND.fullmatch(entry["kind"]):
        yield f"kind: {entry['kind']!r:.60} is not small letters, digits and -, at most 40"
    for start in entry.get("starts", ()):
        if not isinstance(start, str) or not start:
            typed = False
            yield f"starts: {start!r:.60} is no literal"
        elif entry.get("nocase") and start != start.lower():
            yield f"starts: {start!r:.60} must be written small, since case does not count"
    if "check" in entry and entry["check"] not in FREE_CHECKS:
        near = _near(entry["check"], FREE_CHECKS)
        yield f"check: {entry['check']!r:.60} is none of {', '.join(FREE_CHECKS)}{near}"
    if typed:
        yield from _mistakes_of_pattern(main, _expanded(_source(table, entry)))


def _mistakes_of_pattern(field: str, source: str) -> Iterator[str]:
    try:
        pattern = re.compile(source)
    except (re.error, OverflowError, RecursionError) as error:
        yield f"{field}: no regular expression ({error})"
        return
    if pattern.fullmatch(""):
        yield f"{field}: matches nothing as well, so it would be found everywhere"
    if _POSSESSIVE_GROUP.search(_CLASS.sub("", source)):
        yield f"{field}: a possessive quantifier behind a group; write an atomic group, (?>(?:...)*)"


def _near(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, tuple(known), 1)
    return f"; did you mean {near[0]}?" if near else ""
