"""LangChain messages in the form of `messages_to_dict`: a list of `{type, data}`."""

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
from snapshot.requests.fallback_text import base64_of, is_url
from snapshot.transcripts.writing.json_text import value_of
from snapshot.transcripts.writing.units import Tell, Unit, one_by_one, settled

OWN: frozenset[str] = frozenset()
LINES = False
IDS = True
STRAYS = False

_TYPES = {"user": "human", "assistant": "ai", "system": "system"}


def units(transcript: Transcript, _tell: Tell) -> Iterator[Unit]:
    """Every message alone."""
    return one_by_one(settled(transcript))


def rows(messages: Sequence[Message], names: dict[str, str]) -> list[Any]:
    """A message; of results one for each, the first with the id."""
    (message,) = messages
    if message.role == "tool":
        results = [part for part in message.parts if isinstance(part, ToolResult)]
        return [_result(part, names, message.id if n == 0 else "") for n, part in enumerate(results)]
    content = [_block(part) for part in message.parts if not isinstance(part, ToolCall)]
    data: dict[str, Any] = {"content": _plainest(content)} | _fields(_TYPES[message.role], message.id)
    if message.role == "assistant":
        calls = [_call(part) for part in message.parts if isinstance(part, ToolCall)]
        data["tool_calls"] = [call for call in calls if call["type"] == "tool_call"]
        data["invalid_tool_calls"] = [call for call in calls if call["type"] != "tool_call"]
        if message.usage:
            counts = {"input_tokens": message.usage.input, "output_tokens": message.usage.output}
            data["usage_metadata"] = {**counts, "total_tokens": sum(counts.values())}
    return [{"type": _TYPES[message.role], "data": data}]


def _fields(kind: str, message_id: str) -> dict[str, Any]:
    return {
        "additional_kwargs": {},
        "response_metadata": {},
        "type": kind,
        "name": None,
        "id": message_id or None,
    }


def own(_messages: Sequence[Message]) -> list[Any] | None:
    """There is no such form."""
    return None


def document(rows: list[Any], model: str) -> Any:
    """The list, with the model where the assistant speaks."""
    if not model:
        return rows
    named = {"response_metadata": {"model_name": model}}
    return [row | {"data": {**row["data"], **named}} if row["type"] == "ai" else row for row in rows]


def _plainest(content: list[Any]) -> Any:
    if not content:
        return ""
    only = content[0]
    if len(content) == 1 and isinstance(only, dict) and only.get("type") == "text" and only["text"]:
        return only["text"]
    return content


def _call(call: ToolCall) -> dict[str, Any]:
    value = value_of(call.arguments)
    named = {"name": call.name, "id": call.id or None}
    if isinstance(value, dict):
        return {**named, "args": value, "type": "tool_call"}
    return {**named, "args": call.arguments, "error": None, "type": "invalid_tool_call"}


def _result(result: ToolResult, names: dict[str, str], message_id: str) -> dict[str, Any]:
    about = _fields("tool", message_id) | {"name": names.get(result.call_id) or None}
    told = {"tool_call_id": result.call_id, "status": "error" if result.is_error else "success"}
    content = _plainest([_block(part) for part in result.content])
    return {"type": "tool", "data": {"content": content} | about | told}


def _block(part: Part) -> Any:
    match part:
        case Text(text, refusal):
            return {"type": "refusal", "refusal": text} if refusal else {"type": "text", "text": text}
        case Reasoning(text, signature):
            signed = {} if signature is None else {"extras": {"signature": signature}}
            return {"type": "reasoning", "reasoning": text, **signed}
        case Image(media_type, data, source):
            return {"type": "image", "mime_type": media_type, **_place(data, source)}
        case File(name, media_type, data, text, source):
            title = {"title": name} if name else {}
            if text:
                return {"type": "text-plain", "mime_type": media_type, **title, "text": text}
            return {"type": "file", "mime_type": media_type, **title, **_place(data, source)}
        case Opaque(_, json):
            return value_of(json)
    return None


def _place(data: bytes, source: str) -> dict[str, str]:
    if data:
        return {"base64": base64_of(data)}
    return {"url": source} if is_url(source) else {"file_id": source}
