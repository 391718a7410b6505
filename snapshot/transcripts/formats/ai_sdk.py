"""Vercel AI SDK: UI messages of versions 4 to 6, and the model messages made from them."""

from __future__ import annotations

from collections.abc import Sequence

from snapshot.messages import (
    File,
    Image,
    Opaque,
    Part,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Transcript,
)
from snapshot.transcripts.io.json_values import JsonObject, as_list, as_object, as_text, compact
from snapshot.transcripts.io.source import Sample, Source
from snapshot.transcripts.reading.build import Builder, role_of
from snapshot.transcripts.reading.envelope import Dialogue, dialogue_threads, opened, sampled
from snapshot.transcripts.reading.parts import (
    ANY_FILE,
    ANY_IMAGE,
    bad_base64,
    by_speaker,
    decoded,
    read_content,
    read_text,
    split_data_url,
)
from snapshot.transcripts.reading.threads import Detection, Thread

NAME = "ai-sdk"

_OPENED = opened("messages")
_ANSWERED = frozenset({"output-available", "output-error", "output-denied", "result"})
_MODEL_PARTS = frozenset({"tool-call", "tool-result"})


def detect(sample: Sample) -> Detection | None:
    """How sure it is that these are such messages."""
    found = sampled(sample, _OPENED)
    items = [] if found is None else found.items
    hits = sum(map(_is_ours, map(as_object, items)))
    if not hits:
        return None
    return Detection(
        NAME,
        0.5 + 0.46 * hits / len(items),
        f"{hits} of {len(items)} messages have typed parts of the AI SDK",
    )


def _is_ours(message: JsonObject | None) -> bool:
    if message is None or role_of(message.get("role")) is None:
        return False
    parts = [as_object(part) for part in as_list(message.get("parts")) or ()]
    content = [as_object(block) for block in as_list(message.get("content")) or ()]
    return (
        (bool(parts) and all(isinstance((part or {}).get("type"), str) for part in parts))
        or as_list(message.get("toolInvocations")) is not None
        or any(as_text((block or {}).get("type")) in _MODEL_PARTS for block in content)
    )


def threads(source: Source) -> Sequence[Thread]:
    """Every list of messages. What tools gave stands in messages of role "tool" behind their calls."""
    what = "no list of messages in it: expected a JSON array of messages with `parts`"
    return dialogue_threads(source, _OPENED, what, _read)


def _read(builder: Builder, dialogue: Dialogue) -> Transcript:
    extra_rows: list[Opaque] = []
    for number, value in builder.numbered(dialogue.items):
        where = f"message {number}"
        message = as_object(value)
        role = role_of((message or {}).get("role"))
        if message is None or role is None:
            builder.add_unread(value, where=where)
            continue
        if message.get("metadata"):
            extra_rows.append(Opaque("metadata", compact(message["metadata"])))
        content = message.get("parts")
        if content is None:
            content = _of_version_4(message)
        parts = read_content(builder, _plainly(content), where, _PARTS)
        _add(builder, role, parts, where, message)
    model = as_text(dialogue.envelope.get("model"))
    return builder.finish(NAME, model, extra_rows)


def _of_version_4(message: JsonObject) -> object:
    """Content as parts: reasoning, words, and calls beside them."""
    calls = as_list(message.get("toolInvocations")) or []
    files = as_list(message.get("experimental_attachments")) or []
    if not calls and not files and not message.get("reasoning"):
        return message.get("content")
    content = message.get("content")
    thought = [{"type": "reasoning", "reasoning": message["reasoning"]}] if message.get("reasoning") else []
    made = [{"type": "tool-invocation", "toolInvocation": call} for call in calls]
    sent = [
        {"type": "file", "mediaType": f.get("contentType"), "filename": f.get("name"), "url": f.get("url")}
        for f in map(as_object, files)
        if f
    ]
    # The words of a message with calls were said when their results were there.
    words = [content] if isinstance(content, str) and content else as_list(content) or []
    return [*thought, *sent, *made, *words]


def _add(builder: Builder, role: Role, parts: Sequence[Part], where: str, message: JsonObject) -> None:
    """A message of the assistant holds several turns: what follows results was said with them known."""
    message_id, time = as_text(message.get("id")), as_text(message.get("createdAt"))
    turn: list[Part] = []
    results: list[Part] = []

    def flush() -> None:
        if turn:
            builder.add(role, turn, where=where, message_id=message_id, time=time)
        if results:
            builder.add("tool", results, where=where, message_id=message_id, time=time)
        turn.clear()
        results.clear()

    if role != "assistant":
        for speaker, run in by_speaker(role, parts):
            builder.add(
                "tool" if role == "tool" else speaker, run, where=where, message_id=message_id, time=time
            )
        return
    for part in parts:
        if isinstance(part, ToolResult):
            results.append(part)
        elif part is not _STEP:
            if results and not isinstance(part, ToolCall):
                flush()
            turn.append(part)
        else:
            flush()
    if parts and not all(part is _STEP for part in parts):
        flush()
    else:
        builder.add(role, (), where=where, message_id=message_id, time=time)


def _plainly(content: object) -> object:
    """Content whose parts have the name of their tool or data in a field, not in their type."""
    blocks = as_list(content)
    return content if blocks is None else [_plain_part(block) for block in blocks]


def _plain_part(block: object) -> object:
    part = as_object(block) or {}
    kind, _, name = as_text(part.get("type")).partition("-")
    if kind == "tool" and "toolCallId" in part and as_text(part.get("type")) not in _MODEL_PARTS:
        return part | {"type": "dynamic-tool", "toolName": name}
    if kind == "data":
        return {"type": "data", "part": part}
    return block


def _step(_builder: Builder, _block: JsonObject, _where: str) -> Sequence[Part]:
    return (_STEP,)


def _shown(_builder: Builder, block: JsonObject, _where: str) -> Sequence[Part]:
    part = as_object(block.get("part")) or block
    return (Opaque(as_text(part.get("type")), compact(part)),)


def _reasoning(_builder: Builder, block: JsonObject, _where: str) -> Sequence[Part]:
    return (Reasoning(as_text(block.get("text", block.get("reasoning")))),)


def _file(builder: Builder, block: JsonObject, where: str) -> Sequence[Part] | None:
    media_type = as_text(block.get("mediaType") or block.get("mimeType"))
    name = as_text(block.get("filename"))
    place = block.get("url") or block.get("data") or block.get("image")
    if not isinstance(place, str) or not place:
        return None
    inline = split_data_url(place)
    data = inline[1] if inline else None if "://" in place[:16] else decoded(place)
    if inline and data is None:
        return bad_base64(builder, block, as_text(block.get("type")), where)
    media_type = media_type or (inline[0] if inline else "")
    source = "" if data else place
    if media_type.startswith("image/") or block.get("type") == "image":
        return (Image(media_type or ANY_IMAGE, data or b"", source),)
    return (File(name, media_type or ANY_FILE, data or b"", source=source),)


def _tool(builder: Builder, block: JsonObject, where: str) -> Sequence[Part]:
    """A call, and what came of it as far as its state says that something did."""
    call_id = builder.ids.text(block.get("toolCallId"))
    asked = block.get("input", block.get("args"))
    call = ToolCall(
        call_id, as_text(block.get("toolName")), as_text(block.get("rawInput") if asked is None else asked)
    )
    state = as_text(block.get("state"))
    if state not in _ANSWERED:
        return (call,)
    if state == "output-error":
        told: object = block.get("errorText")
    elif state == "output-denied":
        reason = as_text((as_object(block.get("approval")) or {}).get("reason"))
        told = f"denied: {reason}" if reason else "denied"
    else:
        told = block.get("output", block.get("result"))
    return (call, _result(builder, call_id, told, where, failed=state in ("output-error", "output-denied")))


def _invocation(builder: Builder, block: JsonObject, where: str) -> Sequence[Part] | None:
    inner = as_object(block.get("toolInvocation"))
    return None if inner is None else _tool(builder, inner, where)


def _call(builder: Builder, block: JsonObject, _where: str) -> Sequence[Part]:
    asked = block.get("input", block.get("args"))
    return (
        ToolCall(builder.ids.text(block.get("toolCallId")), as_text(block.get("toolName")), as_text(asked)),
    )


def _answer(builder: Builder, block: JsonObject, where: str) -> Sequence[Part]:
    call_id = builder.ids.text(block.get("toolCallId"))
    output = block.get("output", block.get("result"))
    wrapped = as_object(output) or {}
    kind = wrapped.get("type")
    if isinstance(kind, str) and ("value" in wrapped or kind == "execution-denied"):
        failed = kind in ("error-text", "error-json", "execution-denied")
        output = wrapped.get("value", wrapped.get("reason", "denied"))
        if kind == "content":
            parts = read_content(builder, output, where, _IN_RESULT)
            return (
                ToolResult(call_id, tuple(p for p in parts if isinstance(p, Text | Image | File | Opaque))),
            )
    else:
        failed = block.get("isError") is True
    return (_result(builder, call_id, output, where, failed=failed),)


def _result(builder: Builder, call_id: str, value: object, where: str, *, failed: bool) -> ToolResult:
    """The result that `value` is: words as they are, blocks as blocks, other values as their JSON."""
    wrapper = as_object(value) or {}
    blocks = as_list(wrapper.get("content"))
    if blocks and len(wrapper) <= 2 and all("type" in (as_object(block) or {}) for block in blocks):
        parts = read_content(builder, blocks, where, _IN_RESULT)  # as MCP servers answer
        return ToolResult(
            call_id, tuple(p for p in parts if isinstance(p, Text | Image | File | Opaque)), failed
        )
    words = as_text(value)
    return ToolResult(call_id, (Text(words),) if words else (), failed)


_STEP = Opaque("step-start", "")  # ends a turn of the provider; it never leaves this module
_IN_RESULT = {
    "text": read_text,
    "image": _file,
    "media": _file,
    "file-data": _file,
    "file-url": _file,
    "image-data": _file,
    "image-url": _file,
}
_PARTS = {
    "text": read_text,
    "reasoning": _reasoning,
    "file": _file,
    "image": _file,
    "step-start": _step,
    "source-url": _shown,
    "source-document": _shown,
    "source": _shown,
    "data": _shown,
    "dynamic-tool": _tool,
    "tool-invocation": _invocation,
    "tool-call": _call,
    "tool-result": _answer,
}
