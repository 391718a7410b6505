"""Pydantic AI: a list of requests and responses, as its `ModelMessagesTypeAdapter` writes them."""

from __future__ import annotations

from collections.abc import Sequence

from snapshot.messages import (
    File,
    Image,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Transcript,
    Usage,
)
from snapshot.transcripts.io.json_values import JsonObject, as_list, as_object, as_text, compact
from snapshot.transcripts.io.source import Sample, Source
from snapshot.transcripts.reading.build import Builder
from snapshot.transcripts.reading.envelope import Dialogue, dialogue_threads, opened, sampled
from snapshot.transcripts.reading.parts import ANY_FILE, ANY_IMAGE, decoded, read_opaque
from snapshot.transcripts.reading.threads import Detection, Thread

NAME = "pydantic-ai"

_KINDS = frozenset({"request", "response"})
_OPENED = opened("messages")


def detect(sample: Sample) -> Detection | None:
    """How sure it is that this is such a list."""
    found = sampled(sample, _OPENED, alike=True)
    items = [] if found is None else found.items
    hits = sum(map(_is_message, items))
    if not hits:
        return None
    reason = f"{hits} of the first {len(items)} messages are requests or responses with parts of a part_kind"
    return Detection(NAME, 0.97 * hits / len(items), reason)


def _is_message(value: object) -> bool:
    message = as_object(value) or {}
    parts = as_list(message.get("parts"))
    return (
        as_text(message.get("kind")) in _KINDS
        and parts is not None
        and all("part_kind" in (as_object(part) or {}) for part in parts)
    )


def threads(source: Source) -> Sequence[Thread]:
    """Every list of messages; a request is the system's, the tools' and the user's words in that order."""
    what = "no list of messages in it: expected a JSON array of {kind, parts}"
    return dialogue_threads(source, _OPENED, what, _read)


def _read(builder: Builder, dialogue: Dialogue) -> Transcript:
    model = instructions = ""
    for number, value in builder.numbered(dialogue.items):
        where = f"message {number}"
        message = as_object(value) or {}
        if as_text(message.get("kind")) not in _KINDS:
            builder.add_unread(value, where=where, speaker="kind")
            continue
        parts = [as_object(part) or {} for part in as_list(message.get("parts")) or ()]
        time = as_text(message.get("timestamp"))
        if message["kind"] == "response":
            model = as_text(message.get("model_name")) or model
            said = [part for one in parts for part in _said(builder, one, where)]
            builder.add("assistant", said, where=where, time=time, usage=_usage(message.get("usage")))
            continue
        told = as_text(message.get("instructions"))
        if told and told != instructions:  # every request repeats them
            builder.add("system", [Text(told)], where=where)
            instructions = told
        _request(builder, parts, where, time)
    return builder.finish(NAME, model)


def _request(builder: Builder, parts: Sequence[JsonObject], where: str, time: str) -> None:
    """Results first, as services want them; the user's words in one message."""
    system = [
        Text(as_text(part.get("content"))) for part in parts if part.get("part_kind") == "system-prompt"
    ]
    if system:
        builder.add("system", system, where=where, time=time)
    results = [_result(builder, part) for part in parts if _answers(part)]
    if results:
        builder.add("tool", results, where=where, time=time)
    words: list[Part] = []
    for part in parts:
        kind = as_text(part.get("part_kind"))
        if kind in ("user-prompt", "retry-prompt") and not _answers(part):
            words += _content(builder, part.get("content"), where)
        elif kind not in ("system-prompt", "user-prompt", "retry-prompt") and not _answers(part):
            words.append(read_opaque(builder, part, kind or "untyped", where))
    if words:
        builder.add("user", words, where=where, time=time)


def _answers(part: JsonObject) -> bool:
    """Whether a part is what came of a call: its return, or what was wrong with it."""
    kind = part.get("part_kind")
    return kind in ("tool-return", "builtin-tool-return") or (
        kind == "retry-prompt" and bool(part.get("tool_name")) and bool(part.get("tool_call_id"))
    )


def _result(builder: Builder, part: JsonObject) -> ToolResult:
    call_id = builder.ids.text(part.get("tool_call_id"))
    failed = part.get("part_kind") == "retry-prompt" or part.get("outcome") in ("failed", "denied")
    content = _content(builder, part.get("content"), "a result")
    kept = tuple(item for item in content if isinstance(item, Text | Image | File | Opaque))
    return ToolResult(call_id, kept, failed)


def _content(builder: Builder, value: object, where: str) -> list[Part]:
    """A text, a list of texts and media, or any other value as its JSON."""
    if value is None or value == "":
        return []
    if isinstance(value, str):
        return [Text(value)]
    listed = as_list(value)
    if listed is None:
        listed = [value] if _is_media(value) else None
    if listed is None or not all(isinstance(item, str) or _is_media(item) for item in listed):
        return [Text(compact(value))]
    return [
        Text(item) if isinstance(item, str) else _media(builder, as_object(item) or {}, where)
        for item in listed
    ]


def _is_media(value: object) -> bool:
    kind = as_text((as_object(value) or {}).get("kind"))
    return kind == "binary" or kind.endswith("-url")


def _media(builder: Builder, item: JsonObject, where: str) -> Part:
    media_type, place = as_text(item.get("media_type")), as_text(item.get("url"))
    payload = item.get("data")
    # URL-safe base64, as pydantic writes bytes.
    data = decoded(payload.replace("-", "+").replace("_", "/")) if isinstance(payload, str) else None
    if not data and not place:
        return read_opaque(builder, item, as_text(item.get("kind")), where)
    if media_type.startswith("image/") or item.get("kind") == "image-url":
        return Image(media_type or ANY_IMAGE, data or b"", "" if data else place)
    name = as_text(item.get("identifier"))
    return File(name, media_type or ANY_FILE, data or b"", source="" if data else place)


def _said(builder: Builder, part: JsonObject, where: str) -> Sequence[Part]:
    kind = as_text(part.get("part_kind"))
    if kind == "text":
        text = as_text(part.get("content"))
        return (Text(text),) if text else ()
    if kind == "thinking":
        signature = part.get("signature")
        return (Reasoning(as_text(part.get("content")), signature if isinstance(signature, str) else None),)
    if kind == "tool-call":
        call_id = builder.ids.text(part.get("tool_call_id"))
        return (ToolCall(call_id, as_text(part.get("tool_name")), as_text(part.get("args"))),)
    if kind == "file" and _is_media(part.get("content")):
        return (_media(builder, as_object(part.get("content")) or {}, where),)
    return (read_opaque(builder, part, kind or "untyped", where),)


def _usage(value: object) -> Usage | None:
    counts = as_object(value) or {}
    prompt, output = (
        count
        if isinstance(count := counts.get(key), int) and not isinstance(count, bool) and count > 0
        else 0
        for key in ("input_tokens", "output_tokens")
    )
    return Usage(prompt, output) if prompt or output else None
