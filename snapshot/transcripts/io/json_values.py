"""JSON values without surprises: lenient parsing, narrowing by type, compact printing."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias, cast

from snapshot.parts.exact_json import encode, number

__all__ = [
    "JsonObject",
    "a_type",
    "as_list",
    "as_object",
    "as_text",
    "compact",
    "escaped",
    "parse",
    "parse_at",
    "plain",
    "prepare",
    "quoted",
    "type_name",
]

JsonObject: TypeAlias = dict[str, object]

_INT_DIGITS = 4000  # Python refuses to convert more than 4300 digits


def _parse_int(digits: str) -> int | float:
    """An integer; a number that knows its digits where Python would refuse to print it again."""
    return int(digits) if len(digits) <= _INT_DIGITS else number(digits)


# Not strict: a raw tab or newline inside a string is a writer's slip, not a reason to lose the text.
_DECODER = json.JSONDecoder(strict=False, parse_float=number)
_SLOW_DECODER = json.JSONDecoder(strict=False, parse_float=number, parse_int=_parse_int)
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False)


# Characters for which msgspec pays: it parses three times as quickly, and takes that long to import.
_LARGE = 4_000_000


def prepare(size: int) -> None:
    """Load the quick parser, if so many characters of JSON are worth it."""
    if size >= _LARGE:
        import msgspec.json  # noqa: F401 - `parse` looks for it


def parse(text: str) -> object:
    """The value that `text` holds. Raises `json.JSONDecodeError` or `RecursionError`, nothing else."""
    if quick := sys.modules.get("msgspec.json"):
        # What it takes it reads as the standard library does. What it refuses (lone surrogates, raw tabs in
        # strings, NaN, deep nesting, damage) is for the lenient parser.
        with suppress(ValueError, RecursionError):
            return quick.Decoder(float_hook=number).decode(text)
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError:
        raise
    except ValueError:  # an integer too long for int()
        return _SLOW_DECODER.decode(text)


def parse_at(text: str, start: int) -> tuple[object, int]:
    """The value that starts at `start`, and where it ends. Raises as `parse` does."""
    try:
        return _DECODER.raw_decode(text, start)
    except json.JSONDecodeError:
        raise
    except ValueError:
        return _SLOW_DECODER.raw_decode(text, start)


def plain(value: object, place: str = "") -> object:
    """A copy of `value`, as JSON would bring it back: tuples as lists, bytes as base64.

    Objects of the SDKs (whatever has `model_dump`) are what the SDK itself would send for them: the fields
    that were set.

    Raises:
        TypeError: an object of another type in it; says where.
    """
    try:
        return _copied(value)
    except _OfAnotherType:
        return _plain(value, place)


class _OfAnotherType(Exception):
    """A value that JSON would not bring back as it is."""


def _copied(value: object) -> object:
    """A copy of what JSON has brought: nearly all that there is, so it is quick."""
    kind = type(value)
    if kind is dict:
        table = cast("dict[object, object]", value)
        made = table.copy()
        for key, item in table.items():
            if type(key) is not str:
                raise _OfAnotherType
            if type(item) is not str:
                made[key] = _copied(item)
        return made
    if kind is list or kind is tuple:
        return [item if type(item) is str else _copied(item) for item in cast("list[object]", value)]
    if kind is str or value is None or kind is int or kind is bool or kind is float:
        return value
    raise _OfAnotherType


def _plain(value: object, place: str) -> object:
    if isinstance(value, dict):
        return {str(key): _plain(item, f"{place}[{key!r}]") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, f"{place}[{number}]") for number, item in enumerate(value)]
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode("ascii")
    if value is None or isinstance(value, str | int | float):
        return value
    if not isinstance(value, type) and callable(dump := getattr(value, "model_dump", None)):
        return _plain(_dumped(dump, value), place)
    name = type(value).__name__
    raise TypeError(f"messages{place} is a {name}: give plain dictionaries, such as its model_dump() makes")


def _dumped(dump: Callable[..., object], value: object) -> object:
    """What `model_dump` of an SDK's object gives, in the way in which the SDKs call it themselves."""
    hidden = getattr(value, "__api_exclude__", None)
    if hasattr(value, "lc_attributes"):
        # LangChain's: what says the type is never set, and an artifact is a program's own object.
        return dump(mode="json", exclude={"artifact"})
    try:
        return dump(mode="json", by_alias=True, exclude_unset=True, exclude=hidden)
    except TypeError:  # somebody's own method, or an older one
        return dump()


def compact(value: object) -> str:
    """`value` as JSON without spaces, every character as itself and every number as it was written."""
    return encode(value, _ENCODER.encode)


def escaped(value: object) -> str:
    """`value` as JSON of ASCII alone, lone surrogates escaped, every number as it was written."""
    return encode(value, json.dumps)


def quoted(value: object, limit: int = 60) -> str:
    """`value` as short ASCII JSON for a sentence to a person: one line, no lone surrogates."""
    text = json.dumps(value if isinstance(value, str) else compact(value))
    return text if len(text) <= limit else text[: limit - 4] + '..."'


def as_object(value: object) -> JsonObject | None:
    """`value` if it is a JSON object, else None."""
    return cast(JsonObject, value) if isinstance(value, dict) else None


def as_list(value: object) -> list[object] | None:
    """`value` if it is a JSON array, else None."""
    return cast("list[object]", value) if isinstance(value, list) else None


def as_text(value: object) -> str:
    """A string as it is, null as "", anything else as its compact JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else compact(value)


def a_type(value: object) -> str:
    """The type of `value` with its article, for a sentence."""
    name = type_name(value)
    return f"an {name}" if name[0] in "ao" else name if name == "null" else f"a {name}"


def type_name(value: object) -> str:
    """What JSON calls the type of `value`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return {"str": "string", "list": "array"}.get(type(value).__name__, "object")
