"""JSON as files hold it, and JSON text as values without a change on the way."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from snapshot.parts.characters import LONE_SURROGATE, strict_text
from snapshot.parts.exact_json import decode, encode

__all__ = ["encoded", "strict", "value_of"]

_DEEPEST = 200  # levels; far below what Python's recursion allows, far above what a tool is given


def value_of(text: str) -> Any:
    """The value of a JSON text; None where it is none, or where writing it again would change it."""
    if not text or text[0] not in '{["-0123456789tfn':
        return None
    try:
        value = decode(text)
    except (ValueError, RecursionError):
        return None
    return value if _is_flat(value) else None


def _is_flat(value: Any) -> bool:
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            item
            for some in level
            if isinstance(some, dict | list)
            for item in (some.values() if isinstance(some, dict) else some)
        ]
        if not level:
            return True
    return False


def encoded(document: Any, *, lines: bool) -> bytes:
    """A document as UTF-8: pretty, or a row of the list a line. Halves of surrogate pairs are escaped."""
    if lines:
        row_of = partial(json.dumps, ensure_ascii=False, separators=(",", ":"))
        text = "".join(encode(row, row_of) + "\n" for row in document)
    else:
        text = _pretty(document) + "\n"
    return LONE_SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", text).encode("utf-8")


def _pretty(document: Any) -> str:
    try:
        return encode(document, partial(json.dumps, ensure_ascii=False, indent=1))
    except RecursionError:  # the indenting encoder reaches less deep than the other one
        return encode(document, partial(json.dumps, ensure_ascii=False))


def strict(text: str) -> str:
    """The text as UTF-8 can hold it: U+FFFD for each half of a surrogate pair."""
    return strict_text(text)[0]
