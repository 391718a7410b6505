"""Vercel AI SDK: a list of UI messages, each call with its result in the message of the assistant."""

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
from snapshot.transcripts.io.json_values import compact
from snapshot.transcripts.writing.ids import keyed, made_up
from snapshot.transcripts.writing.json_text import value_of
from snapshot.transcripts.writing.units import Tell, Unit, answered, settled

OWN: frozenset[str] = frozenset()
LINES = False
IDS = True
STRAYS = False


# How the names of its other parts begin; one of another name would be refused with the whole list.
_OTHERS = ("data-", "source-")


def units(transcript: Transcript, _tell: Tell) -> Iterator[Unit]:
    """Calls with their results."""
    return answered(settled(transcript))


def rows(messages: Sequence[Message], names: dict[str, str]) -> list[Any]:
    """One message; results whose calls are not in it as a message of the SDK's other form behind it."""
    said, *given = messages if messages[0].role != "tool" else [None, *messages]
    results = [part for message in given if message for part in message.parts if isinstance(part, ToolResult)]
    found: list[Any] = []
    if said is not None:
        waiting = {part.id for part in said.parts if isinstance(part, ToolCall) and part.id}
        answers = {result.call_id: result for result in reversed(results) if result.call_id in waiting}
        results = [result for result in results if answers.get(result.call_id) is not result]
        found.append({**_about(said), "role": said.role, "parts": _parts(said, answers)})
    if results:
        about = next(message for message in given if message)
        content = [_orphan(result, names) for result in results]
        found.append({**_about(about), "role": "tool", "content": content})
    return found


def _about(message: Message) -> dict[str, str]:
    return {
        **({"id": message.id} if message.id else {}),
        **({"createdAt": message.time} if message.time else {}),
    }


def _parts(message: Message, answers: dict[str, ToolResult]) -> list[Any]:
    """Parts, those with results at the end: what stands behind a result was said with it known."""
    parts = [(part, _part(part, answers)) for part in message.parts]
    if not answers:
        return [some for _, some in parts]
    calls = [some for part, some in parts if isinstance(part, ToolCall)]
    return [some for part, some in parts if not isinstance(part, ToolCall)] + calls


def own(_messages: Sequence[Message]) -> list[Any] | None:
    """There is no such form."""
    return None


def document(rows: list[Any], model: str) -> Any:
    """The list, an id for each; messages of the assistant under one id are the steps of one."""
    found: list[Any] = []
    for row in rows:
        last = found[-1] if found else {}
        same = row.get("id") and all(last.get(key) == row.get(key) for key in ("id", "createdAt", "role"))
        if same and row["role"] == "assistant" and row["parts"] and last["parts"]:
            found[-1] = {**last, "parts": [*last["parts"], {"type": "step-start"}, *row["parts"]]}
        else:
            found.append(row)
    about = made_up("messages", *map(compact, found[:2]))
    found = [{"id": key, **row} for key, row in zip(keyed(found, "id", about), found, strict=True)]
    return {"model": model, "messages": found} if model else found


def _part(part: Part, answers: dict[str, ToolResult]) -> Any:
    match part:
        case Text(text):
            return {"type": "text", "text": text}
        case Reasoning(text):
            return {"type": "reasoning", "text": text}
        case ToolCall():
            return _tool(part, answers.get(part.id))
        case Image() | File():
            return _file(part)
        case Opaque(kind, json) if kind.startswith(_OTHERS):
            return value_of(json)
    return None


def _file(part: Image | File) -> dict[str, Any]:
    title = {"filename": part.name} if isinstance(part, File) and part.name else {}
    url = data_url(part.media_type, part.data) if part.data else part.source
    return {"type": "file", "mediaType": part.media_type, **title, "url": url}


def _tool(call: ToolCall, result: ToolResult | None) -> dict[str, Any]:
    value = value_of(call.arguments)
    asked = value if isinstance(value, dict) else call.arguments
    made = {"type": "dynamic-tool", "toolName": call.name, "toolCallId": call.id, "input": asked}
    if result is None:
        return {**made, "state": "input-available"}
    if result.is_error:
        texts = [part.text for part in result.content if isinstance(part, Text)]
        return {**made, "state": "output-error", "errorText": "\n".join(texts)}
    return {**made, "state": "output-available", "output": _output(result)}


def _output(result: ToolResult) -> Any:
    if not result.content:
        return ""
    if len(result.content) == 1 and isinstance(result.content[0], Text) and result.content[0].text:
        return result.content[0].text
    return {"content": [_block(part) for part in result.content]}


def _block(part: Part) -> Any:
    match part:
        case Text(text):
            return {"type": "text", "text": text}
        case Image(media_type, data, source):
            return {"type": "image", "mimeType": media_type, "data": base64_of(data) if data else source}
        case File(name, media_type, data, _, source):
            title = {"filename": name} if name else {}
            return {
                "type": "media",
                "mimeType": media_type,
                **title,
                "data": base64_of(data) if data else source,
            }
        case Opaque(_, json):
            return value_of(json)
    return None


def _orphan(result: ToolResult, names: dict[str, str]) -> dict[str, Any]:
    texts = [part.text for part in result.content if isinstance(part, Text)]
    output: dict[str, Any] = {"type": "error-text" if result.is_error else "text", "value": "\n".join(texts)}
    if not result.is_error and (len(result.content) > 1 or len(texts) < len(result.content)):
        output = {"type": "content", "value": [_block(part) for part in result.content]}
    name = names.get(result.call_id, "")
    return {"type": "tool-result", "toolCallId": result.call_id, "toolName": name, "output": output}
