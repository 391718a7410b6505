"""Inspect AI: a list of chat messages, as its `ChatMessage` classes are dumped."""

from __future__ import annotations

from collections.abc import Sequence

from snapshot.messages import File, Opaque, Part, Reasoning, ToolCall, Transcript
from snapshot.transcripts.io.json_values import JsonObject, as_list, as_object, as_text, compact
from snapshot.transcripts.io.source import Sample, Source
from snapshot.transcripts.reading.build import Builder, role_of
from snapshot.transcripts.reading.envelope import Dialogue, dialogue_threads, opened, sampled
from snapshot.transcripts.reading.parts import (
    ANY_FILE,
    image_at,
    read_content,
    read_opaque,
    read_result,
    read_text,
    split_data_url,
)
from snapshot.transcripts.reading.threads import Detection, Thread

NAME = "inspect-ai"

_OPENED = opened("messages")


def detect(sample: Sample) -> Detection | None:
    """How sure it is that this is such a list."""
    found = sampled(sample, _OPENED)
    items = [] if found is None else found.items
    own = sum(map(_is_own, map(as_object, items)))
    with_role = sum(role_of((as_object(item) or {}).get("role")) is not None for item in items)
    if not own:
        return None
    reason = f"{own} of {len(items)} messages name functions and media as Inspect does"
    return Detection(NAME, 0.96 * with_role / len(items), reason)


def _is_own(message: JsonObject | None) -> bool:
    """Whether a message has what no API's has: calls whose function is a name, media under their own kind."""
    if message is None:
        return False
    calls = [as_object(call) or {} for call in as_list(message.get("tool_calls")) or ()]
    blocks = [as_object(block) or {} for block in as_list(message.get("content")) or ()]
    return (
        any(isinstance(call.get("function"), str) and "arguments" in call for call in calls)
        or (message.get("role") == "tool" and isinstance(message.get("function"), str))
        or any(block.get("type") == "reasoning" and "redacted" in block for block in blocks)
    )


def threads(source: Source) -> Sequence[Thread]:
    """Every list of messages."""
    what = "no list of messages in it: expected a JSON array, or an object with `messages`"
    return dialogue_threads(source, _OPENED, what, _read)


def _read(builder: Builder, dialogue: Dialogue) -> Transcript:
    model = ""
    for number, value in builder.numbered(dialogue.items):
        where = f"message {number}"
        message = as_object(value) or {}
        role = role_of(message.get("role"))
        if role is None:
            builder.add_unread(value, where=where)
            continue
        model = as_text(message.get("model")) or model
        content = message.get("content")
        if role == "tool":
            error = as_object(message.get("error"))
            told = content or (error or {}).get("message")
            call_id = builder.ids.text(message.get("tool_call_id"))
            parts: list[Part] = [
                read_result(builder, call_id, told, where, _BLOCKS, is_error=error is not None)
            ]
        else:
            parts = read_content(builder, content, where, _BLOCKS)
            parts += [_call(builder, call, where) for call in as_list(message.get("tool_calls")) or ()]
        builder.add(role, parts, where=where, message_id=as_text(message.get("id")))
    return builder.finish(NAME, model)


def _call(builder: Builder, value: object, where: str) -> Part:
    call = as_object(value) or {}
    if not isinstance(call.get("function"), str):
        return read_opaque(builder, value, "tool_call", where)
    return ToolCall(
        builder.ids.text(call.get("id")), as_text(call["function"]), as_text(call.get("arguments"))
    )


def _reasoning(_builder: Builder, block: JsonObject, _where: str) -> Sequence[Part]:
    text, signature = as_text(block.get("reasoning")), block.get("signature")
    if block.get("redacted") is True:  # then what stands for the words is sealed
        return (Opaque("redacted_thinking", compact({"type": "redacted_thinking", "data": text})),)
    return (Reasoning(text, signature if isinstance(signature, str) else None),)


def _image(builder: Builder, block: JsonObject, where: str) -> Sequence[Part] | None:
    detail = block.get("detail")
    return image_at(builder, block, block.get("image"), where, None if detail == "auto" else detail)


def _file(_builder: Builder, block: JsonObject, _where: str) -> Sequence[Part] | None:
    kind = as_text(block.get("type"))
    place = as_text(block.get(kind))
    if not place:
        return None
    media_type, data = split_data_url(place) or ("", None)
    media_type = media_type or as_text(block.get("mime_type")) or ANY_FILE
    name = as_text(block.get("filename"))
    return (File(name, media_type, data or b"", source="" if data else place),)


_BLOCKS = {
    "text": read_text,
    "reasoning": _reasoning,
    "image": _image,
    "audio": _file,
    "video": _file,
    "document": _file,
}
