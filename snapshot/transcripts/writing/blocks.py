"""Anthropic's content blocks, which its API and Claude Code's logs share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from snapshot.messages import File, Image, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from snapshot.requests.fallback_text import base64_of, is_url
from snapshot.transcripts.reading.parts import ANY_FILE, ANY_IMAGE
from snapshot.transcripts.writing.json_text import value_of
from snapshot.transcripts.writing.units import merged_raw

__all__ = ["content_of", "message_of", "own_message"]

_ROLES = {"tool": "user"}


def message_of(messages: Sequence[Message]) -> dict[str, Any]:
    """A message, or results with the user's words behind them, as one object."""
    blocks = [part for message in messages for part in message.parts]
    first = messages[0]
    usage = first.usage
    return {
        **({"id": first.id} if first.id else {}),
        "role": _ROLES.get(first.role, first.role),
        "content": content_of(blocks),
        **({"usage": {"input_tokens": usage.input, "output_tokens": usage.output}} if usage else {}),
    }


def own_message(messages: Sequence[Message]) -> dict[str, Any] | None:
    """The object that messages came in, with what is known of them beside it; None if it is no message."""
    raw = merged_raw(messages, "content")
    if raw is None or "content" not in raw:
        return None
    made = message_of(messages)
    kept = {key: made[key] for key in ("id", "usage") if key in made and key not in raw}
    return kept | raw


def content_of(parts: Sequence[Part]) -> str | list[Any]:
    """Blocks, or a string where that says the same."""
    if len(parts) == 1 and isinstance(parts[0], Text) and parts[0].text and not parts[0].refusal:
        return parts[0].text
    return [_block(part) for part in parts]


def _block(part: Part) -> Any:
    match part:
        case Text(text):
            return {"type": "text", "text": text}
        case Reasoning(text, signature):
            signed = {} if signature is None else {"signature": signature}
            return {"type": "thinking", "thinking": text, **signed}
        case ToolCall(call_id, name, arguments):
            value = value_of(arguments)
            asked: Any = value if isinstance(value, dict) else {}  # the tool takes no other
            named = {"id": call_id} if call_id else {}
            return {"type": "tool_use", **named, "name": name, "input": asked}
        case ToolResult(call_id, content, is_error):
            failed = {"is_error": True} if is_error else {}
            named = {"tool_use_id": call_id} if call_id else {}
            return {"type": "tool_result", **named, "content": content_of(content), **failed}
        case Image(media_type, data, source):
            return {"type": "image", "source": _source(media_type, data, source, ANY_IMAGE)}
        case File(name, media_type, data, text, source):
            title = {"title": name} if name else {}
            if text:
                return {
                    "type": "document",
                    **title,
                    "source": {"type": "text", "media_type": media_type, "data": text},
                }
            return {"type": "document", **title, "source": _source(media_type, data, source, ANY_FILE)}
        case Opaque(_, json):
            return value_of(json)


def _source(media_type: str, data: bytes, place: str, anything: str) -> dict[str, Any]:
    if data:
        return {"type": "base64", "media_type": media_type, "data": base64_of(data)}
    kind = {} if media_type == anything else {"media_type": media_type}
    return (
        {"type": "url", "url": place, **kind} if is_url(place) else {"type": "file", "file_id": place, **kind}
    )
