"""Pydantic AI: requests and responses in the form of its `ModelMessagesTypeAdapter`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from snapshot.messages import File, Image, Message, Part, Reasoning, Text, ToolCall, ToolResult, Transcript
from snapshot.requests.fallback_text import base64_of, is_url
from snapshot.transcripts.writing.json_text import value_of
from snapshot.transcripts.writing.units import Tell, Unit, one_by_one, settled

OWN: frozenset[str] = frozenset()
LINES = False
IDS = True
STRAYS = False


def units(transcript: Transcript, _tell: Tell) -> Iterator[Unit]:
    """Every message alone: a request, or a response."""
    return one_by_one(settled(transcript))


def rows(messages: Sequence[Message], names: dict[str, str]) -> list[Any]:
    """One message."""
    (message,) = messages
    timed = {"timestamp": message.time} if _is_time(message.time) else {}
    if message.role == "assistant":
        said = [_said(part) for part in message.parts]
        usage = message.usage
        counts = {"usage": {"input_tokens": usage.input, "output_tokens": usage.output}} if usage else {}
        return [{"kind": "response", "parts": said, **timed, **counts}]
    if message.role == "tool":
        parts: list[Any] = [_result(part, names) for part in message.parts if isinstance(part, ToolResult)]
    elif message.role == "system":
        parts = [{"part_kind": "system-prompt", "content": _words(part)} for part in message.parts]
    else:
        parts = [{"part_kind": "user-prompt", "content": _content(message.parts)}]
    return [{"kind": "request", "parts": parts, **timed}]


def _is_time(time: str) -> bool:
    try:
        return datetime.fromisoformat(time) is not None
    except ValueError:
        return False


def own(_messages: Sequence[Message]) -> list[Any] | None:
    """There is no API's form."""
    return None


def document(rows: list[Any], model: str) -> Any:
    """The list, with the model where it speaks."""
    named = {"model_name": model} if model else {}
    return [row | named if row["kind"] == "response" else row for row in rows]


def _words(part: Part) -> str | None:
    return part.text if isinstance(part, Text) else None


def _content(parts: Sequence[Part]) -> Any:
    if len(parts) == 1 and isinstance(parts[0], Text):
        return parts[0].text
    return [part.text if isinstance(part, Text) else _media(part) for part in parts]


def _media(part: Part) -> dict[str, Any] | None:
    if not isinstance(part, Image | File):
        return None
    named = {"identifier": part.name} if isinstance(part, File) and part.name else {}
    if part.data:
        return {"kind": "binary", "data": base64_of(part.data), "media_type": part.media_type, **named}
    if not is_url(part.source):
        return None
    kind = "image-url" if isinstance(part, Image) else "document-url"
    return {"kind": kind, "url": part.source, "media_type": part.media_type, **named}


def _result(result: ToolResult, names: dict[str, str]) -> dict[str, Any]:
    named = {"tool_name": names.get(result.call_id, ""), "tool_call_id": result.call_id}
    failed = {"outcome": "failed"} if result.is_error else {}
    content = _content(result.content) if result.content else ""
    return {"part_kind": "tool-return", **named, "content": content, **failed}


def _said(part: Part) -> dict[str, Any] | None:
    match part:
        case Text(text, False):
            return {"part_kind": "text", "content": text}
        case Reasoning(text, signature):
            return {"part_kind": "thinking", "content": text, "signature": signature}
        case ToolCall(call_id, name, arguments):
            value = value_of(arguments)
            asked = value if isinstance(value, dict) else arguments
            return {"part_kind": "tool-call", "tool_name": name, "args": asked, "tool_call_id": call_id}
        case Image() | File() if part.data:
            return {"part_kind": "file", "content": _media(part)}
    return None
