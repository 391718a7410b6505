"""Content, a string or a list of blocks, to parts; nothing is dropped, what is unknown is counted."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias
from urllib.parse import unquote_to_bytes

from snapshot.messages import File, Image, Opaque, Part, Role, Text, ToolResult
from snapshot.parts.kinds import family_of
from snapshot.transcripts.io.json_values import (
    JsonObject,
    a_type,
    as_list,
    as_object,
    as_text,
    compact,
    quoted,
    type_name,
)
from snapshot.transcripts.reading.build import Builder

__all__ = [
    "ANY_FILE",
    "ANY_IMAGE",
    "Handler",
    "Handlers",
    "bad_base64",
    "by_speaker",
    "decoded",
    "image_at",
    "named",
    "raw_of",
    "read_content",
    "read_opaque",
    "read_result",
    "read_text",
    "split_data_url",
]

ANY_IMAGE = "image/*"  # where the source does not say
ANY_FILE = "application/octet-stream"

# Reads a block of one type; None: not as that type should be, so it is kept opaque and counted.
Handler: TypeAlias = Callable[[Builder, JsonObject, str], Sequence[Part] | None]
Handlers: TypeAlias = Mapping[str, Handler]


def read_content(builder: Builder, content: object, where: str, handlers: Handlers) -> list[Part]:
    """The parts of a message's or result's `content`.

    Null, none and the empty string are no part. A single block may stand without its list. Any other
    value in the place of content is its JSON as text, and reported.
    """
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return [Text(content)]
    blocks = as_list(content)
    if blocks is not None:
        return [part for item in blocks for part in _read_block(builder, item, where, handlers)]
    block = as_object(content)
    kind = (block or {}).get("type")
    known = isinstance(kind, str) and kind in handlers
    if block is not None and (known or isinstance(block.get("text"), str)):
        return list(_read_block(builder, block, where, handlers))
    builder.odd("wrong-type", where, f"{a_type(content)} in place of content; read as its JSON text")
    return [Text(compact(content))]


def _read_block(builder: Builder, item: object, where: str, handlers: Handlers) -> Sequence[Part]:
    if isinstance(item, str):
        return (Text(item),)
    block = as_object(item)
    if block is None:
        return (read_opaque(builder, item, type_name(item), where),)
    kind = block.get("type")
    if kind is None and isinstance(block.get("text"), str):
        kind = "text"
    handler = handlers.get(kind) if isinstance(kind, str) else None
    parts = handler(builder, block, where) if handler else None
    return parts if parts is not None else (read_opaque(builder, block, as_text(kind) or "untyped", where),)


def read_opaque(builder: Builder, value: object, kind: str, where: str) -> Opaque:
    """Keep a part whole, and count it where it is of a kind that nobody knows."""
    part = Opaque(kind, compact(value))
    if family_of(part) is None:
        builder.odd("unknown-part", where, f"a part of type {quoted(kind)} is not known; kept whole")
    return part


def read_text(builder: Builder, block: JsonObject, where: str) -> Sequence[Part]:
    """A text block; without `text` it is empty."""
    text = block.get("text")
    if not isinstance(text, str):
        builder.odd("wrong-type", where, f"a text block whose text is {a_type(text)}")
    return (Text(as_text(text)),)


def read_result(
    builder: Builder, call_id: str, content: object, where: str, handlers: Handlers, *, is_error: bool = False
) -> ToolResult:
    """A tool's result; `handlers` gives text, images, files and opaque parts only."""
    parts = read_content(builder, content, where, handlers)
    kept = tuple(part for part in parts if isinstance(part, Text | Image | File | Opaque))
    return ToolResult(call_id, kept, is_error)


def decoded(data: object) -> bytes | None:
    """The bytes that base64 text stands for; None if it is not base64, or nothing."""
    if not isinstance(data, str):
        return None
    if any(blank in data for blank in "\r\n \t"):
        data = "".join(data.split())
    try:
        return base64.b64decode(data, validate=True) or None
    except (binascii.Error, ValueError):
        return None


def bad_base64(builder: Builder, block: JsonObject, kind: str, where: str) -> Sequence[Part]:
    """Keep a block whose payload does not decode."""
    builder.odd(
        "bad-base64", where, f"the payload of a part of type {quoted(kind)} is not base64; kept whole"
    )
    return (Opaque(kind, compact(block)),)


def split_data_url(url: str) -> tuple[str, bytes | None] | None:
    """Media type and bytes (None: damaged) of a data URL, or None if `url` is no data URL."""
    if url[:5].lower() != "data:":
        return None
    header, comma, payload = url[5:].partition(",")
    media_type, *options = header.split(";")
    if not comma:
        return media_type, None
    if "base64" in (option.strip().lower() for option in options):
        return media_type, decoded(payload)
    return media_type or "text/plain", unquote_to_bytes(payload)


def image_at(
    builder: Builder, block: JsonObject, url: object, where: str, detail: object = None
) -> Sequence[Part] | None:
    """The image at a URL; its bytes if the URL holds them."""
    asked = detail if isinstance(detail, str) else ""
    if not isinstance(url, str) or not url:
        return None
    inline = split_data_url(url)
    if inline is None:
        return (Image(ANY_IMAGE, source=url, detail=asked),)
    media_type, data = inline
    return (
        (Image(media_type or ANY_IMAGE, data, detail=asked),)
        if data
        else bad_base64(builder, block, as_text(block.get("type")), where)
    )


# What stands beside what a message says.
_BESIDE = frozenset(
    {"role", "id", "name", "type", "model", "usage", "time", "timestamp", "created", "created_at"}
)
_SAID = frozenset({
    "content", "tool_calls", "tool_call_id", "function_call", "refusal", "reasoning", "reasoning_content",
    "audio", "images",
})  # fmt: skip


def read_unsaid(builder: Builder, message: JsonObject, where: str) -> list[Part]:
    """What a message holds that has none of the keys under which messages say something: it whole."""
    rest = {key: value for key, value in message.items() if key not in _BESIDE and value}
    if not rest or not _SAID.isdisjoint(message):
        return []
    return [read_opaque(builder, rest, next(iter(rest)), where)]


def by_speaker(role: Role, parts: Sequence[Part]) -> list[tuple[Role, list[Part]]]:
    """`parts` of one message as messages in which results stand apart, with role "tool".

    A user's results come first, as providers want them, and what the user says comes behind; in other
    messages the order stays.
    """
    if role == "user":
        parts = sorted(parts, key=lambda part: not isinstance(part, ToolResult))
    runs: list[tuple[Role, list[Part]]] = []
    for part in parts:
        speaker: Role = "tool" if isinstance(part, ToolResult) else role
        if not runs or runs[-1][0] != speaker:
            runs.append((speaker, []))
        runs[-1][1].append(part)
    return runs or [(role, [])]


def named(name: str, parts: Sequence[Part]) -> list[Part]:
    """The words of a speaker who is neither user nor assistant: the name stands in front, in brackets."""
    if parts and isinstance(parts[0], Text):
        return [Text(f"[{name}] {parts[0].text}"), *parts[1:]]
    return [Text(f"[{name}]"), *parts]


def raw_of(
    message: JsonObject, key: str, is_result: Callable[[object], bool], role: Role, runs: int
) -> Sequence[JsonObject]:
    """The object to send back for the run of role `role`, one of the `runs` that `message` was split into.

    Results of a user's message and the words with them are half a message each. Results in an
    assistant's own message have no place there in any API, so nothing can be sent back as it is.
    """
    blocks = as_list(message.get(key))
    if runs == 1 or blocks is None:
        return (message,)
    if runs > 2 or message.get("role") == "assistant":
        return ()
    half = [block for block in blocks if is_result(block) == (role == "tool")]
    return ({"role": message.get("role"), key: half},)
