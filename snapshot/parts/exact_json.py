"""JSON that keeps numbers as they were written, and tells what no JSON is.

Python reads `1e400` as infinity, which is no JSON when it is written, drops digits of
`0.1000000000000000055`, and keeps the last of equal keys. A `Number` is a float that remembers its digits;
`encode` writes them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, NoReturn, cast

__all__ = ["Number", "decode", "encode", "is_exact", "members", "number", "read"]

_INT_DIGITS = 4000  # Python refuses to convert more than 4300 digits
_BLANKS = " \t\n\r"


class Number(float):
    """A float with the digits that it was written in, where they are not Python's own."""

    __slots__ = ("digits",)

    digits: str

    def __new__(cls, digits: str) -> Number:
        """The number that `digits` stand for; infinite where a float cannot hold it."""
        made = super().__new__(cls, digits)
        made.digits = digits
        return made

    def __reduce__(self) -> tuple[type[Number], tuple[str]]:
        return Number, (self.digits,)


def number(digits: str) -> float:
    """The float that `digits` stand for, a `Number` where Python would write it otherwise."""
    plain = float(digits)
    return plain if repr(plain) == digits else Number(digits)


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _INT_DIGITS else Number(digits)


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


class _Equal(ValueError):
    """Equal keys in an object."""


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise _Equal("equal keys")
    return value


_DECODER = json.JSONDecoder(
    parse_float=number, parse_int=_integer, parse_constant=_refuse, object_pairs_hook=_distinct
)
_TOLERANT = json.JSONDecoder(strict=False, parse_float=number, parse_int=_integer)
_LENIENT = json.JSONDecoder(parse_float=number, parse_int=_integer, parse_constant=_refuse)


def decode(text: str) -> Any:
    """The value of a JSON text, with numbers as `number` gives them.

    Raises:
        ValueError: no JSON (NaN and Infinity are none), or an object with equal keys.
        RecursionError: it is nested too deeply.
    """
    return _DECODER.decode(text)


def read(data: str | bytes) -> Any:
    """The value of JSON that a program wrote, with numbers as `number` gives them.

    It may say NaN, hold raw control characters in strings and equal keys, of which the last counts.

    Raises:
        ValueError: no JSON.
        RecursionError: it is nested too deeply.
    """
    text = data if isinstance(data, str) else data.decode(json.detect_encoding(data), "surrogatepass")
    return _TOLERANT.decode(text)


def is_exact(text: str) -> bool:
    """Whether Python's own reading and writing of a JSON text would change no number and lose no key."""
    try:
        value = decode(text)
    except (ValueError, RecursionError):
        return False
    return not any(isinstance(item, Number) for item in _scalars(value))


def _scalars(value: Any) -> Iterator[Any]:
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            todo += cast("dict[str, Any]", item).values()
        elif isinstance(item, list):
            todo += cast("list[Any]", item)
        else:
            yield item


def members(text: str) -> list[tuple[str, Any, str]] | None:
    """Name, value and text of each member of a JSON object, equal names among them; None if it is none.

    The text of a member whose value Python would not write as it was is its own, with its blanks; of all
    others it is "", and the value says everything.
    """
    at = _skip(text, 0)
    if text[at : at + 1] != "{":
        return None
    found: list[tuple[str, Any, str]] = []
    at = _skip(text, at + 1)
    try:
        while text[at : at + 1] != "}":
            name, at = _LENIENT.raw_decode(text, at)
            at = _skip(text, at)
            if not isinstance(name, str) or text[at : at + 1] != ":":
                return None
            start = _skip(text, at + 1)
            value, at = _LENIENT.raw_decode(text, start)
            raw = text[start:at]
            found.append((name, value, "" if isinstance(value, str) or is_exact(raw) else raw))
            at = _skip(text, at)
            if text[at : at + 1] == ",":
                at = _skip(text, at + 1)
                if text[at : at + 1] == "}":
                    return None
            elif text[at : at + 1] != "}":
                return None
    except (ValueError, RecursionError):
        return None
    return found if _skip(text, at + 1) == len(text) else None


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANKS:
        at += 1
    return at


def encode(value: Any, dumps: Callable[[Any], str]) -> str:
    """`dumps(value)`, with the digits of every `Number` in it as they were written.

    `dumps` writes JSON in whatever style. It sees a text in place of each such number, which begins with more
    signs `@` than any other text in the value. A number that JSON does not know (NaN, infinities) is written
    as its name (`NaN`, `-Infinity`), a text: what comes out is JSON whatever came in.
    """
    scalars = list(_scalars(value))
    if not any(isinstance(item, float) and not _is_plain(item) for item in scalars):
        return dumps(value)
    texts = [item for item in chain(scalars, _keys(value)) if isinstance(item, str)]
    mark = "@" * (1 + max((len(text) - len(text.lstrip("@")) for text in texts), default=0))
    digits: list[str] = []

    def marked(item: Any) -> Any:
        if isinstance(item, Number):
            digits.append(item.digits)
            return f"{mark}{len(digits) - 1}"
        if isinstance(item, float) and not math.isfinite(item):
            return json.dumps(item)
        if isinstance(item, dict):
            return {key: marked(inner) for key, inner in cast("dict[str, Any]", item).items()}
        if isinstance(item, list):
            return [marked(inner) for inner in cast("list[Any]", item)]
        return item

    return re.sub(f'"{mark}(\\d+)"', lambda found: digits[int(found[1])], dumps(marked(value)))


def _is_plain(item: float) -> bool:
    return math.isfinite(item) and not isinstance(item, Number)


def _keys(value: Any) -> Iterator[Any]:
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            pairs = cast("dict[str, Any]", item)
            yield from pairs
            todo += pairs.values()
        elif isinstance(item, list):
            todo += cast("list[Any]", item)
