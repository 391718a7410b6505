"""Inspect AI: a list of chat messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from snapshot.messages import File, Image, Message, Part, Reasoning, Text, ToolCall, ToolResult, Transcript
from snapshot.requests.fallback_text import data_url
from snapshot.transcripts.writing.json_text import value_of
from snapshot.transcripts.writing.units import Tell, Unit, one_by_one, settled

OWN: frozenset[str] = frozenset()
LINES = False
IDS = True
STRAYS = False


def units(transcript: Transcript, _tell: Tell) -> Iterator[Unit]:
    """Every message alone."""
    return one_by_one(settled(transcript))


def rows(messages: Sequence[Message], names: dict[str, str]) -> list[Any]:
    """A message; of results one for each, the first with the id."""
    (message,) = messages
    named = {"id": message.id} if message.id else {}
    if message.role == "tool":
        results = [part for part in message.parts if isinstance(part, ToolResult)]
        return [_result(part, names) | (named if n == 0 else {}) for n, part in enumerate(results)]
    content = _content([part for part in message.parts if not isinstance(part, ToolCall)])
    calls = [_call(part) for part in message.parts if isinstance(part, ToolCall)]
    return [{**named, "role": message.role, "content": content, **({"tool_calls": calls} if calls else {})}]


def own(_messages: Sequence[Message]) -> list[Any] | None:
    """There is no API's form."""
    return None


def document(rows: list[Any], model: str) -> Any:
    """The list, with the model where the assistant speaks."""
    return [row | {"model": model} if model and row["role"] == "assistant" else row for row in rows]


def _content(parts: Sequence[Part]) -> Any:
    if not parts:
        return ""
    if len(parts) == 1 and isinstance(parts[0], Text) and parts[0].text:
        return parts[0].text
    return [_block(part) for part in parts]


def _call(call: ToolCall) -> dict[str, Any]:
    value = value_of(call.arguments)
    asked: Any = value if isinstance(value, dict) else {}  # the tool takes no other
    return {"id": call.id, "function": call.name, "arguments": asked, "type": "function"}


def _result(result: ToolResult, names: dict[str, str]) -> dict[str, Any]:
    named = {"tool_call_id": result.call_id, "function": names.get(result.call_id, "")}
    failed = {"error": {"type": "unknown", "message": ""}} if result.is_error else {}
    return {"role": "tool", "content": _content(result.content), **named, **failed}


def _block(part: Part) -> dict[str, Any] | None:
    match part:
        case Text(text, False):
            return {"type": "text", "text": text}
        case Reasoning(text, signature):
            return {"type": "reasoning", "reasoning": text, "signature": signature, "redacted": False}
        case Image(media_type, data, source, detail):
            place = data_url(media_type, data) if data else source
            return {"type": "image", "image": place, **({"detail": detail} if detail else {})}
        case File(name, media_type, data, _, source):
            place = data_url(media_type, data) if data else source
            named = {"filename": name} if name else {}
            return {"type": "document", "document": place, "mime_type": media_type, **named}
    return None
