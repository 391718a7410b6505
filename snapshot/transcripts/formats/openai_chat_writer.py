"""OpenAI Chat Completions: an object with `messages` and `model`.

What the format's readers take beyond the API's own rules is used where it saves something from being lost:
`reasoning_content`, images in results, the id and usage of a message.
"""

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
from snapshot.requests.fallback_text import base64_of, data_url
from snapshot.transcripts.reading.parts import ANY_FILE
from snapshot.transcripts.writing.json_text import value_of
from snapshot.transcripts.writing.units import Tell, Unit, one_by_one, settled

OWN = frozenset({"openai-chat"})
LINES = False
IDS = True
STRAYS = True


def units(transcript: Transcript, _tell: Tell) -> Iterator[Unit]:
    """Every message alone."""
    return one_by_one(settled(transcript))


def rows(messages: Sequence[Message], _names: dict[str, str]) -> list[Any]:
    """A message; of results one for each, the first with the id."""
    (message,) = messages
    named = {"id": message.id} if message.id else {}
    if message.role == "tool":
        results = [_result(part) for part in message.parts if isinstance(part, ToolResult)]
        return [named | results[0], *results[1:]] if results else []
    content = [_block(p) for p in message.parts if isinstance(p, Text | Image | File | Opaque)]
    calls = [_call(part) for part in message.parts if isinstance(part, ToolCall)]
    thoughts = [part.text for part in message.parts if isinstance(part, Reasoning)]
    usage = message.usage
    made: dict[str, Any] = {
        **named,
        "role": message.role,
        "content": _plainest(content, empty=None if calls else []),
    }
    if thoughts:
        made["reasoning_content"] = "\n\n".join(thoughts)
    if calls:
        made["tool_calls"] = calls
    if usage:
        total = usage.input + usage.output
        made["usage"] = {
            "prompt_tokens": usage.input, "completion_tokens": usage.output, "total_tokens": total,
        }  # fmt: skip
    return [made]


def own(messages: Sequence[Message]) -> list[Any] | None:
    """The objects as they came; calls of the old form, which have no ids, are paired by place."""
    raw = [some for message in messages for some in message.raw]
    return None if any("function_call" in some or some.get("role") == "function" for some in raw) else raw


def document(rows: list[Any], model: str) -> Any:
    """A request's body, as far as it is the conversation."""
    return {**({"model": model} if model else {}), "messages": rows}


def _plainest(content: list[Any], *, empty: Any) -> Any:
    if not content:
        return empty
    only = content[0]
    if len(content) == 1 and isinstance(only, dict) and only.get("type") == "text" and only["text"]:
        return only["text"]
    return content


def _call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {**({"id": call.id} if call.id else {}), "type": "function", "function": function}


def _result(result: ToolResult) -> dict[str, Any]:
    named = {"tool_call_id": result.call_id} if result.call_id else {}
    content = _plainest([_block(part) for part in result.content], empty="")
    return {"role": "tool", **named, "content": content}


def _block(part: Part) -> Any:
    match part:
        case Text(text, refusal):
            return {"type": "refusal", "refusal": text} if refusal else {"type": "text", "text": text}
        case Image(media_type, data, source, detail):
            url = data_url(media_type, data) if data else source
            return {"type": "image_url", "image_url": {"url": url, **({"detail": detail} if detail else {})}}
        case File(name, media_type, data, _, source):
            if data and not name and media_type.startswith("audio/"):
                audio = {"data": base64_of(data), "format": media_type.removeprefix("audio/")}
                return {"type": "input_audio", "input_audio": audio}
            title = {"filename": name} if name else {}
            plain = base64_of(data) if media_type == ANY_FILE else data_url(media_type, data)
            return {
                "type": "file",
                "file": {**title, **({"file_data": plain} if data else {"file_id": source})},
            }
        case Opaque(_, json):
            return value_of(json)
    return None
