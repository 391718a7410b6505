"""Amazon Bedrock's Converse: messages whose blocks stand under the key of their kind, as boto3 has them."""

from __future__ import annotations

from collections.abc import Sequence

from snapshot.messages import File, Image, Opaque, Part, Reasoning, Text, ToolCall, ToolResult, Transcript
from snapshot.transcripts.io.json_values import JsonObject, as_list, as_object, as_text, compact
from snapshot.transcripts.io.source import Sample, Source
from snapshot.transcripts.reading.build import Builder, role_of
from snapshot.transcripts.reading.envelope import Dialogue, dialogue_threads, opened, sampled
from snapshot.transcripts.reading.parts import by_speaker, decoded, read_opaque
from snapshot.transcripts.reading.threads import Detection, Thread

NAME = "bedrock"

_BLOCKS = frozenset(
    {
        "cachePoint",
        "citationsContent",
        "document",
        "guardContent",
        "image",
        "reasoningContent",
        "text",
        "toolResult",
        "toolUse",
        "video",
    }
)
# Keys that no other service's blocks have; a text alone might be anybody's.
_OWN = frozenset(
    {"cachePoint", "citationsContent", "guardContent", "reasoningContent", "toolResult", "toolUse"}
)
_OPENED = opened("messages")
_TYPES = {
    "md": "text/markdown",
    "txt": "text/plain",
    "html": "text/html",
    "csv": "text/csv",
    "pdf": "application/pdf",
}


def detect(sample: Sample) -> Detection | None:
    """How sure it is that this is such a list."""
    found = sampled(sample, _OPENED)
    items = [] if found is None else found.items
    blocks = [
        [as_object(block) or {} for block in as_list((as_object(item) or {}).get("content")) or ()]
        for item in items
    ]
    alike = sum(bool(some) and all(_kind(block) for block in some) for some in blocks)
    own = any(not _OWN.isdisjoint(block) for some in blocks for block in some)
    if not own or 2 * alike < len(items):
        return None
    reason = f"{alike} of {len(items)} messages have blocks under the key of their kind, such as toolUse"
    return Detection(NAME, 0.96 * alike / len(items), reason)


def _kind(block: JsonObject) -> str:
    """The key that a block stands under; "" where it has a type, as other services' blocks do."""
    if "type" in block:
        return ""
    return next((key for key in block if key in _BLOCKS), "")


def threads(source: Source) -> Sequence[Thread]:
    """Every list of messages; results stand in messages of role "tool"."""
    what = "no list of messages in it: expected a JSON array, or an object with `messages`"
    return dialogue_threads(source, _OPENED, what, _read)


def _read(builder: Builder, dialogue: Dialogue) -> Transcript:
    envelope = dialogue.envelope
    system = [
        part for block in as_list(envelope.get("system")) or () for part in _part(builder, block, "system")
    ]
    if system:
        builder.add("system", system, where="system")
    for number, value in builder.numbered(dialogue.items):
        where = f"message {number}"
        message = as_object(value) or {}
        role = role_of(message.get("role"))
        if role is None or role == "tool":
            builder.add_unread(value, where=where)
            continue
        parts = [
            part for block in as_list(message.get("content")) or () for part in _part(builder, block, where)
        ]
        for speaker, run in by_speaker(role, parts):
            builder.add(speaker, run, where=where)
    return builder.finish(NAME, as_text(envelope.get("modelId")))


def _part(builder: Builder, value: object, where: str) -> Sequence[Part]:  # noqa: PLR0911 - a kind each
    block = as_object(value) or {}
    kind = _kind(block)
    inner = as_object(block.get(kind)) or {}
    match kind:
        case "text":
            return (Text(as_text(block["text"])),)
        case "toolUse":
            call_id = builder.ids.text(inner.get("toolUseId"))
            return (ToolCall(call_id, as_text(inner.get("name")), as_text(inner.get("input"))),)
        case "toolResult":
            content = [
                part for one in as_list(inner.get("content")) or () for part in _shown(builder, one, where)
            ]
            kept = tuple(part for part in content if isinstance(part, Text | Image | File | Opaque))
            return (
                ToolResult(builder.ids.text(inner.get("toolUseId")), kept, inner.get("status") == "error"),
            )
        case "reasoningContent":
            return _reasoning(inner, block)
        case "image" | "document":
            return (_file(builder, kind, inner, block, where),)
        case "cachePoint":
            return ()
    return (read_opaque(builder, value, kind or "untyped", where),)


def _shown(builder: Builder, value: object, where: str) -> Sequence[Part]:
    """A block of a result, which may be any JSON."""
    block = as_object(value) or {}
    return (Text(compact(block["json"])),) if set(block) == {"json"} else _part(builder, value, where)


def _reasoning(inner: JsonObject, block: JsonObject) -> Sequence[Part]:
    told = as_object(inner.get("reasoningText"))
    if told is None:  # sealed
        return (Opaque("redacted_thinking", compact({"type": "redacted_thinking", "data": block})),)
    signature = told.get("signature")
    return (Reasoning(as_text(told.get("text")), signature if isinstance(signature, str) else None),)


def _file(builder: Builder, kind: str, inner: JsonObject, block: JsonObject, where: str) -> Part:
    form, source = as_text(inner.get("format")), as_object(inner.get("source")) or {}
    payload = source.get("bytes")
    data = decoded(payload)
    place = as_text((as_object(source.get("s3Location")) or {}).get("uri"))
    if not data and not place:
        return read_opaque(builder, block, kind, where)
    if kind == "image":
        return Image(f"image/{form}", data or b"", "" if data else place)
    name, media_type = as_text(inner.get("name")), _TYPES.get(form, f"application/{form}")
    return File(name, media_type, data or b"", source="" if data else place)
