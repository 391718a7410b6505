"""Messages as plain JSON and back: one form for archives, sessions and what else is kept on disk."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import fields
from typing import Any, cast, get_args

from snapshot.messages import (
    File,
    Image,
    Message,
    Opaque,
    Origin,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Usage,
)

__all__ = ["from_json", "to_json"]

# What stands in a file for each type of part, whatever the classes are called: a tag never changes.
_TAGS: dict[type[Part], str] = {
    Text: "text",
    Reasoning: "reasoning",
    ToolCall: "call",
    ToolResult: "result",
    Image: "image",
    File: "file",
    Opaque: "opaque",
}
# Before tags, the names that the classes had then stood in files: read, never written.
_CLASS_NAMES: dict[str, type[Part]] = {
    "Text": Text,
    "Reasoning": Reasoning,
    "ToolCall": ToolCall,
    "ToolResult": ToolResult,
    "Image": Image,
    "File": File,
    "Opaque": Opaque,
}
_KINDS: dict[str, type[Part]] = {**_CLASS_NAMES, **{tag: kind for kind, tag in _TAGS.items()}}
# What a field's value is in JSON, by the start of its annotation; a tuple of parts is an array.
_JSON_TYPES: dict[str, type[Any]] = {"str": str, "bytes": str, "bool": bool, "int": int}
_FIELDS: dict[type[Part], dict[str, type[Any]]] = {
    kind: {field.name: _JSON_TYPES.get(str(field.type).split(" ")[0], list) for field in fields(kind)}
    for kind in _TAGS
}


def _inline(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _inlined(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def to_json(message: Message, *, put: Callable[[bytes], str] = _inline) -> dict[str, Any]:
    """The message as a JSON object; `put` says what stands for the bytes of an image or file (base64)."""
    value: dict[str, Any] = {"role": message.role, "parts": [_part_to(part, put) for part in message.parts]}
    value |= {key: getattr(message, key) for key in ("id", "time") if getattr(message, key)}
    if message.usage is not None:
        value["usage"] = [message.usage.input, message.usage.output]
    if message.origin:
        value["origin"] = message.origin
    if message.raw:
        value["raw"] = list(message.raw)
    return value


def from_json(value: dict[str, Any], *, get: Callable[[str], bytes] = _inlined) -> Message:
    """The message that `to_json` gave; `get` undoes `put`.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: it is none.
    """
    usage, origin = value.get("usage"), value.get("origin", "")
    if origin not in get_args(Origin):
        raise ValueError("a message of an unknown origin")
    found = Message(
        value["role"],
        tuple(_part_from(part, get) for part in value["parts"]),
        value.get("id", ""),
        value.get("time", ""),
        Usage(*usage) if usage else None,
        tuple(value.get("raw", ())),
        origin,
    )
    words = (found.role, found.id, found.time)
    counts = (found.usage.input, found.usage.output) if found.usage else ()
    for item, wanted in (
        *((w, str) for w in words),
        *((c, int) for c in counts),
        *((r, dict) for r in found.raw),
    ):
        if type(item) is not wanted:
            raise TypeError(f"{item!r:.40} stands where a message has a {wanted.__name__}")
    return found


def _part_to(part: Part, put: Callable[[bytes], str]) -> dict[str, Any]:
    """The part's fields, but for those that are empty, with the tag of its type under `is`."""
    value: dict[str, Any] = {"is": _TAGS[type(part)]}
    for field in fields(part):
        item = getattr(part, field.name)
        if isinstance(item, bytes):
            item = put(item) if item else ""
        elif isinstance(item, tuple):
            item = [_part_to(inner, put) for inner in cast("tuple[Part, ...]", item)]
        if item or field.name == "text":
            value[field.name] = item
    return value


def _part_from(value: dict[str, Any], get: Callable[[str], bytes]) -> Part:
    given = dict(value)
    kind = _KINDS[given.pop("is")]
    for name, item in given.items():
        wanted = _FIELDS[kind][name]
        if type(item) is not wanted:
            raise TypeError(f"{name} of a part is a {type(item).__name__}, not a {wanted.__name__}")
    if "data" in given:
        given["data"] = get(given["data"]) if given["data"] else b""
    if kind is ToolResult:
        given["content"] = tuple(_part_from(inner, get) for inner in given.get("content", ()))
    defaults = dict.fromkeys(("id", "name", "arguments", "call_id", "media_type", "kind", "json", "text"), "")
    names = {field.name for field in fields(kind)}
    return kind(
        **{name: given.get(name, default) for name, default in defaults.items() if name in names} | given
    )
