"""Sessions of pi and omp: a header, then an entry for each message and each result, a tree of one branch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from snapshot.messages import (
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Transcript,
    Usage,
)
from snapshot.requests.fallback_text import base64_of
from snapshot.transcripts.formats.pi import NAME, sealed_item
from snapshot.transcripts.io.json_values import compact
from snapshot.transcripts.reading.times import NO_TIME
from snapshot.transcripts.writing.ids import keyed, made_up, named_once
from snapshot.transcripts.writing.json_text import value_of
from snapshot.transcripts.writing.services import service_of, unsealed
from snapshot.transcripts.writing.units import Tell, Unit, one_by_one, settled, timed

OWN: frozenset[str] = frozenset()
LINES = True
IDS = True
STRAYS = False

# What pi calls the service that an answer is from, and the API that it spoke.
_APIS = {"anthropic": "anthropic-messages", "google": "google-generative-ai", "openai": "openai-responses"}


def units(transcript: Transcript, tell: Tell) -> Iterator[Unit]:
    """Every message alone, under an id of its own.

    Pi keeps the service of each answer and sends its reasoning back to that one alone.
    """
    service = service_of(transcript)
    messages = settled(transcript)
    if transcript.format != NAME:
        messages = unsealed(transcript, messages, service if service in _APIS else "none", tell)
    return named_once(one_by_one(messages), tell)


def rows(messages: Sequence[Message], names: dict[str, str]) -> list[Any]:
    """One entry, of results one for each; the tree is left to the whole."""
    (message,) = messages
    if message.role == "tool":
        said = [_result(part, names) for part in message.parts if isinstance(part, ToolResult)]
    else:
        said = [_said(message)]
    ids = [{"id": message.id} if message.id else {}, *({} for _ in said)]
    return [
        {"type": "message", **named, "timestamp": message.time, "message": some}
        for named, some in zip(ids, said, strict=False)
    ]


def _said(message: Message) -> dict[str, Any]:
    content = [_block(part) for part in message.parts]
    if message.role == "system":  # what the harness says
        return {"role": "custom", "customType": "note", "content": content, "display": True}
    if message.role == "user":
        return {"role": "user", "content": content}
    calls = any(isinstance(part, ToolCall) for part in message.parts)
    usage = message.usage or Usage(0)
    counts = {"input": usage.input, "output": usage.output, "cacheRead": 0, "cacheWrite": 0}
    cost = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "total"), 0)  # nobody told
    return {
        "role": "assistant",
        "content": content,
        "usage": {**counts, "totalTokens": usage.input + usage.output, "cost": cost},
        "stopReason": "toolUse" if calls else "stop",
    }


def _result(result: ToolResult, names: dict[str, str]) -> dict[str, Any]:
    return {
        "role": "toolResult",
        "toolCallId": result.call_id,
        "toolName": names.get(result.call_id, ""),
        "content": [_block(part) for part in result.content],
        "isError": result.is_error,
    }


def own(_messages: Sequence[Message]) -> list[Any] | None:
    """Entries are no API's form, and none is kept."""
    return None


def document(rows: list[Any], model: str) -> Any:
    """The entries behind the header, each the child of the one before it; the assistant's name the model."""
    session = made_up("session", *map(compact, rows))
    time = next((row["timestamp"] for row in rows if row["timestamp"]), NO_TIME)
    entries: list[Any] = [{"type": "session", "version": 3, "id": session, "timestamp": time, "cwd": ""}]
    if not rows:  # a header alone would be no session
        return [*entries, {"type": "session_info", "id": made_up(session)[:8], "parentId": None, "name": ""}]
    service = service_of(Transcript((), NAME, model))
    spoken = {"api": _APIS.get(service, "unknown"), "provider": service or "unknown", "model": model}
    parent: str | None = None
    for key, row in zip(keyed(rows, "id", session, 8), timed(rows), strict=True):
        entry = {"type": row["type"], "id": key, "parentId": parent, "timestamp": row["timestamp"]}
        message = row["message"]
        if message["role"] == "assistant":
            content = [_sealed(block, service) for block in message["content"]]
            message = {**message, **spoken, "content": content}
        entries.append({**entry, "message": {**message, "timestamp": _milliseconds(row["timestamp"])}})
        parent = key
    return entries


def _milliseconds(time: str) -> int:
    try:
        return int(datetime.fromisoformat(time).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        return 0


def _sealed(block: Any, service: str) -> Any:
    """A block of reasoning with its seal as pi keeps it: of OpenAI's the whole item, as JSON."""
    if service != "openai" or not isinstance(block, dict) or not block.get("thinkingSignature"):
        return block
    return {**block, "thinkingSignature": sealed_item(block["thinking"], block["thinkingSignature"])}


def beside(extra_rows: tuple[Opaque, ...], document: list[Any]) -> list[Any]:
    """The entries that are no messages in front, as far as the messages follow them."""
    messages = (row for row in document[1:] if "message" in row)
    return [*document[:1], *(value_of(row.json) for row in extra_rows), *messages]


def _block(part: Part) -> Any:
    match part:
        case Text(text):
            return {"type": "text", "text": text}
        case Reasoning(text, signature):
            signed = {} if signature is None else {"thinkingSignature": signature}
            return {"type": "thinking", "thinking": text, **signed}
        case ToolCall(call_id, name, arguments):
            value = value_of(arguments)
            asked: Any = value if isinstance(value, dict) else {}  # the tool takes no other
            return {"type": "toolCall", "id": call_id, "name": name, "arguments": asked}
        case Image(media_type, data, source):
            return {"type": "image", "data": base64_of(data) if data else source, "mimeType": media_type}
        case Opaque("redacted_thinking", json):
            data = (value_of(json) or {}).get("data")
            return {"type": "thinking", "thinking": "", "thinkingSignature": data, "redacted": True}
    return None
