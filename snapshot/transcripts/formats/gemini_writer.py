"""Gemini: an object with `contents`, and `systemInstruction` where the system speaks first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from snapshot.messages import (
    File,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Transcript,
)
from snapshot.requests.fallback_text import base64_of
from snapshot.transcripts.writing.json_text import value_of
from snapshot.transcripts.writing.units import (
    Tell,
    Unit,
    identified,
    joined,
    merged_raw,
    settled,
    with_results,
)

OWN = frozenset({"gemini"})
LINES = False
IDS = True
STRAYS = True

_PAIRED = ("functionCall", "function_call", "functionResponse", "function_response")
_ROLES = {"assistant": "model", "tool": "user"}


def units(transcript: Transcript, tell: Tell) -> Iterator[Unit]:
    """What the model says between two turns of others is one; results stand with the user's words."""
    for unit in with_results(joined(settled(transcript), tell)):
        yield identified(unit, tell)


def rows(messages: Sequence[Message], names: dict[str, str]) -> list[Any]:
    """One content."""
    parts = [_part(part, names) for message in messages for part in message.parts]
    return [{"role": _ROLES.get(messages[0].role, messages[0].role), "parts": parts}]


def own(messages: Sequence[Message]) -> list[Any] | None:
    """The content as it came, with ids for calls that have none: a mix of both would not pair."""
    raw = merged_raw(messages, "parts")
    if raw is None or not isinstance(raw.get("parts"), list):
        return None
    ids = iter(
        [
            part.id if isinstance(part, ToolCall) else part.call_id
            for message in messages
            for part in message.parts
            if isinstance(part, ToolCall | ToolResult)
        ]
    )
    return [raw | {"parts": [_with_id(part, ids) for part in raw["parts"]]}]


def _with_id(part: Any, ids: Iterator[str]) -> Any:
    for key in _PAIRED:
        if isinstance(part, dict) and isinstance(part.get(key), dict):
            return part | {key: {**part[key], "id": next(ids, "")}}
    return part


def document(rows: list[Any], model: str) -> Any:
    """A request's body, as far as it is the conversation."""
    named = {"model": model} if model else {}
    first = rows[0] if rows and isinstance(rows[0], dict) else {}
    if first.get("role") == "system" and set(first) == {"role", "parts"}:
        return {**named, "systemInstruction": {"parts": first["parts"]}, "contents": rows[1:]}
    return {**named, "contents": rows}


def _part(part: Part, names: dict[str, str]) -> Any:
    match part:
        case Text(text):
            return {"text": text}
        case Reasoning(text, signature):
            sealed = {} if signature is None else {"thoughtSignature": signature}
            return {"text": text, "thought": True, **sealed}
        case ToolCall(call_id, name, arguments):
            value = value_of(arguments)
            args = {"args": value if isinstance(value, dict) else arguments} if arguments else {}
            return {"functionCall": {"id": call_id, "name": name, **args}}
        case ToolResult():
            return _response(part, names)
        case Image(media_type, data, source):
            return _file(media_type, data, source, "")
        case File(name, media_type, data, _, source):
            return _file(media_type, data, source, name)
        case Opaque(kind, json):
            value = value_of(json)
            return value if kind == "untyped" else {kind: value}


def _file(media_type: str, data: bytes, source: str, name: str) -> dict[str, Any]:
    title = {"displayName": name} if name else {}
    if data:
        return {"inlineData": {"mimeType": media_type, "data": base64_of(data), **title}}
    return {"fileData": {"mimeType": media_type, "fileUri": source, **title}}


def _response(result: ToolResult, names: dict[str, str]) -> dict[str, Any]:
    """A response: one text as its output, or error; images and files behind it."""
    texts = [part.text for part in result.content if isinstance(part, Text)]
    rest = [_part(part, names) for part in result.content if isinstance(part, Image | File | Opaque)]
    told = {"error" if result.is_error else "output": "\n".join(texts)}
    response = {"id": result.call_id, "name": names.get(result.call_id, ""), "response": told}
    return {"functionResponse": response | ({"parts": rest} if rest else {})}
