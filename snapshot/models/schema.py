"""Tables of layout files, checked: which keys there may be, of which type, and errors that say so.

An error is one line: where (file and table), the key, what it is and what it may be, and for an unknown key
the nearest one that there is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from difflib import get_close_matches
from typing import Any

from snapshot.errors import LayoutError

__all__ = ["Key", "check", "money"]

_MONEY = re.compile(r"\d+(?:\.\d+)?")
_KINDS: dict[str, str] = {
    "text": "text",
    "texts": "a list of texts",
    "count": "a whole number from 0",
    "number": "a number above 0",
    "flag": "true or false",
    "date": "a date, as in 2026-11-30",
    "money": 'US dollars as text, as in "0.25"',
    "table": "a table",
    "tables": "a list of tables",
    "pattern": "a regular expression",
    "size": "two whole numbers from 1",
    "rule": "a table with a rule, or the name of one of [rules]",
}


@dataclass(frozen=True, slots=True)
class Key:
    """A key that a table may have: its kind (of `_KINDS`), whether it must be there, and allowed values."""

    kind: str
    required: bool = False
    values: tuple[str, ...] = ()


def check(table: object, keys: Mapping[str, Key], where: str) -> Mapping[str, Any]:
    """`table`, if it has only such keys, all the required ones, and values of their kinds.

    Raises:
        LayoutError: it has not; the message begins with `where`.
    """
    if not isinstance(table, dict):
        raise LayoutError(f"{where}: {table!r} is no table")
    for name in table:
        if name not in keys:
            near = get_close_matches(name, keys, n=1)
            meant = f" (did you mean {near[0]}?)" if near else ""
            raise LayoutError(f"{where}: unknown key {name}{meant}; known are {', '.join(sorted(keys))}")
    for name, key in keys.items():
        if name not in table:
            if key.required:
                raise LayoutError(f"{where}: {name} is missing, it must be {_KINDS[key.kind]}")
            continue
        value = table[name]
        if not _is(value, key.kind):
            raise LayoutError(f"{where}: {name} is {value!r}, it must be {_KINDS[key.kind]}")
        if key.values and value not in key.values:
            raise LayoutError(f"{where}: {name} is {value!r}, it must be one of {', '.join(key.values)}")
    return table


def money(text: str | None) -> Decimal | None:
    """The amount that a checked text names."""
    return None if text is None else Decimal(text)


def _is(value: object, kind: str) -> bool:  # noqa: PLR0911 -- a case each
    match kind:
        case "text":
            return isinstance(value, str) and bool(value)
        case "texts":
            return isinstance(value, list) and all(isinstance(item, str) and item for item in value)
        case "count":
            return type(value) is int and value >= 0
        case "number":
            return type(value) in (int, float) and value > 0  # type: ignore[operator]
        case "flag":
            return type(value) is bool
        case "date":
            return type(value) is date
        case "money":
            return isinstance(value, str) and _MONEY.fullmatch(value) is not None
        case "table":
            return isinstance(value, dict)
        case "tables":
            return isinstance(value, list) and all(isinstance(item, dict) for item in value)
        case "size":
            return (
                isinstance(value, list) and len(value) == 2 and all(type(x) is int and x > 0 for x in value)
            )
        case "rule":
            return isinstance(value, str | dict)
        case "pattern":
            return isinstance(value, str) and _compiles(value)
    raise AssertionError(kind)


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True
