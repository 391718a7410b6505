"""Messages made of Anthropic's content blocks, as the API and Claude Code's logs hold them."""

from __future__ import annotations

from collections.abc import Sequence

from snapshot.messages import File, Image, Opaque, Origin, Part, Reasoning, Role, Text, ToolCall
from snapshot.transcripts.io.json_values import JsonObject, a_type, as_object, as_text, compact
from snapshot.transcripts.reading.build import Builder, role_of, usage_of
from snapshot.transcripts.reading.parts import (
    ANY_FILE,
    ANY_IMAGE,
    bad_base64,
    by_speaker,
    decoded,
    raw_of,
    read_content,
    read_opaque,
    read_result,
    read_text,
    read_unsaid,
)

__all__ = ["BLOCKS", "add_message"]

# Where OpenAI's messages hold what is a block here; a list may mix the two.
_FOREIGN = ("tool_calls", "function_call", "refusal", "reasoning_content")


def add_message(
    builder: Builder,
    value: object,
    *,
    where: str,
    role: Role | None = None,
    message_id: str = "",
    time: str = "",
    join: bool = False,
    origin: Origin = "",
) -> None:
    """Add the message `value`, or keep it opaque where nobody can tell who speaks.

    `role` overrides the message's own, but results stay results; `message_id` is for messages without an id.
    """
    message = as_object(value)
    speaker = role or role_of((message or {}).get("role"))
    if message is None or speaker is None or speaker == "tool":
        builder.add_unread(value, where=where)
        return
    parts = read_content(builder, message.get("content"), where, BLOCKS)
    foreign = [key for key in _FOREIGN if message.get(key)]
    parts += [read_opaque(builder, message[key], key, where) for key in foreign]
    unsaid = read_unsaid(builder, message, where)
    parts += unsaid
    message_id = as_text(message.get("id")) or message_id
    usage = usage_of(message.get("usage")) if speaker == "assistant" else None
    runs = by_speaker(speaker, parts)
    for part_role, run in runs:
        raw = () if foreign or unsaid else raw_of(message, "content", _is_result, part_role, len(runs))
        builder.add(
            part_role,
            run,
            where=where,
            message_id=message_id,
            time=time,
            usage=usage,
            raw=raw,
            join=join,
            origin=origin,
        )
        usage = None


def _is_result(block: object) -> bool:
    return (as_object(block) or {}).get("type") == "tool_result"


def _thinking(_builder: Builder, block: JsonObject, _where: str) -> Sequence[Part]:
    signature = block.get("signature")
    text = as_text(block.get("thinking"))
    return (Reasoning(text, signature if isinstance(signature, str) else None),)


def _redacted(_builder: Builder, block: JsonObject, _where: str) -> Sequence[Part]:
    return (Opaque("redacted_thinking", compact(block)),)


def _compaction(_builder: Builder, block: JsonObject, _where: str) -> Sequence[Part]:
    """The service's summary of what stood before; one without words is for the service alone."""
    content = block.get("content")
    if isinstance(content, str) and content:
        return (Text(content),)
    return (Opaque("compaction", compact(block)),)


def _tool_use(builder: Builder, block: JsonObject, where: str) -> Sequence[Part]:
    call_id, arguments = builder.ids.text(block.get("id")), block.get("input")
    if arguments is not None and as_object(arguments) is None:
        builder.odd("wrong-type", where, f"{a_type(arguments)} in place of a call's input; kept as text")
    return (ToolCall(call_id, as_text(block.get("name")), as_text(arguments)),)


def _tool_result(builder: Builder, block: JsonObject, where: str) -> Sequence[Part]:
    call_id = builder.ids.text(block.get("tool_use_id"))
    failed = block.get("is_error") in (True, "true")
    return (read_result(builder, call_id, block.get("content"), where, _IN_RESULT, is_error=failed),)


def _image(builder: Builder, block: JsonObject, where: str) -> Sequence[Part] | None:
    source = as_object(block.get("source")) or {}
    media_type = as_text(source.get("media_type")) or ANY_IMAGE
    if source.get("type") == "base64":
        data = decoded(source.get("data"))
        return (Image(media_type, data),) if data else bad_base64(builder, block, "image", where)
    place = _location(source)
    return (Image(media_type, source=place),) if place else None


def _document(builder: Builder, block: JsonObject, where: str) -> Sequence[Part] | None:
    source = as_object(block.get("source")) or {}
    name, media_type = as_text(block.get("title")), as_text(source.get("media_type"))
    place = _location(source)
    if source.get("type") == "base64":
        data = decoded(source.get("data"))
        if not data:
            return bad_base64(builder, block, "document", where)
        file = File(name, media_type or ANY_FILE, data)
    elif isinstance(text := source.get("data", source.get("content")), str):
        file = File(name, media_type or "text/plain", text=text)
    elif place:
        file = File(name, media_type or ANY_FILE, source=place)
    else:
        return None
    context = block.get("context")  # words about the document, for the model to read
    return (Text(context), file) if isinstance(context, str) and context else (file,)


def _location(source: JsonObject) -> str:
    return as_text(source.get("url") or source.get("file_id"))


_IN_RESULT = {"text": read_text, "image": _image, "document": _document}
BLOCKS = {
    **_IN_RESULT,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "compaction": _compaction,
    "tool_use": _tool_use,
    "tool_result": _tool_result,
}
