"""JSON as files hold it, and JSON text as values without a change on the way."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from snapshot.parts.characters import LONE_SURROGATE, strict_text

__all__ = ["encoded", "strict", "value_of"]

_DEEPEST = 200  # levels; far below what Python's recursion allows, far above what a tool is given


def value_of(text: str) -> Any:
    """The value of a JSON text; None where it is none, or where writing it again would change it."""
    if not text or text[0] not in '{["-0123456789tfn':
        return None
    try:
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_distinct)
    except (ValueError, RecursionError):
        return None
    return value if _is_flat(value) else None


def _refuse(_word: str) -> NoReturn:
    raise ValueError


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError
    return value


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError
    return value


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
        text = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in document)
    else:
        text = _pretty(document) + "\n"
    return LONE_SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", text).encode("utf-8")


def _pretty(document: Any) -> str:
    try:
        return json.dumps(document, ensure_ascii=False, indent=1)
    except RecursionError:  # the indenting encoder reaches less deep than the other one
        return json.dumps(document, ensure_ascii=False)


def strict(text: str) -> str:
    """The text as UTF-8 can hold it: U+FFFD for each half of a surrogate pair."""
    return strict_text(text)[0]
