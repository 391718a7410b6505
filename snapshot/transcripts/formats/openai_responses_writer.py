"""OpenAI Responses: an object with the items of `input`, and `model`."""

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
from snapshot.requests.fallback_text import data_url, is_url
from snapshot.transcripts.writing.json_text import value_of
from snapshot.transcripts.writing.services import unsealed
from snapshot.transcripts.writing.units import Tell, Unit, joined, one_by_one, settled

OWN = frozenset({"codex", "openai-responses"})
LINES = False
IDS = True
STRAYS = True

_NOT_ITEMS = ("text", "refusal", "input_text", "output_text", "input_image", "input_file")


def units(transcript: Transcript, tell: Tell) -> Iterator[Unit]:
    """What the model brought forth between two turns of others is one."""
    return one_by_one(joined(unsealed(transcript, settled(transcript), "openai", tell), tell))


def rows(messages: Sequence[Message], _names: dict[str, str]) -> list[Any]:
    """Items: words of a message together, reasoning and calls apart, all in their order."""
    (message,) = messages
    items: list[Any] = []
    content: list[Any] | None = None
    for part in message.parts:
        item = _item(message.role, part)
        if item is not None:
            items.append(item)
            content = None
            continue
        if content is None:
            content = []
            items.append({"type": "message", "role": message.role, "content": content})
        content.append(_block(message.role, part))
    if not items and message.role != "tool":
        items.append({"type": "message", "role": message.role, "content": []})
    if items and message.id and items[0].get("type") == "message":
        items[0] = {"id": message.id, **items[0]}
    return items


def own(messages: Sequence[Message]) -> list[Any] | None:
    """The items as they came."""
    return [raw for message in messages for raw in message.raw]


def document(rows: list[Any], model: str) -> Any:
    """A request's body, as far as it is the conversation."""
    return {**({"model": model} if model else {}), "input": rows}


def _item(role: str, part: Part) -> dict[str, Any] | None:
    """A part that is an item of its own; None if it stands in a message."""
    match part:
        case Reasoning(text, signature):
            summary = [{"type": "summary_text", "text": text}] if text else []
            sealed = {} if signature is None else {"encrypted_content": signature}
            return {"type": "reasoning", "summary": summary, **sealed}
        case ToolCall(call_id, name, arguments):
            named = {"call_id": call_id} if call_id else {}
            return {"type": "function_call", **named, "name": name, "arguments": arguments}
        case ToolResult(call_id, content, is_error):
            named = {"call_id": call_id} if call_id else {}
            failed = {"status": "failed"} if is_error else {}
            output: Any = [_block("tool", some) for some in content]
            if not output:
                output = ""
            elif (
                len(content) == 1
                and isinstance(content[0], Text)
                and content[0].text
                and not content[0].refusal
            ):
                output = content[0].text
            return {"type": "function_call_output", **named, "output": output, **failed}
        case Opaque(kind, json) if role in ("assistant", "user") and kind not in _NOT_ITEMS:
            value = value_of(json)
            return value if isinstance(value, dict) and value.get("type") == kind else None
    return None


def _block(role: str, part: Part) -> Any:
    match part:
        case Text(text, refusal):
            if refusal:
                return {"type": "refusal", "refusal": text}
            return {"type": "output_text" if role == "assistant" else "input_text", "text": text}
        case Image(media_type, data, source, detail):
            asked = {"detail": detail} if detail else {}
            if not data and not is_url(source):
                return {"type": "input_image", "file_id": source, **asked}
            return {
                "type": "input_image",
                "image_url": data_url(media_type, data) if data else source,
                **asked,
            }
        case File(name, media_type, data, _, source):
            title = {"filename": name} if name else {}
            if data:
                return {"type": "input_file", **title, "file_data": data_url(media_type, data)}
            return {"type": "input_file", **title, "file_url" if is_url(source) else "file_id": source}
        case Opaque(_, json):
            return value_of(json)
    return None
