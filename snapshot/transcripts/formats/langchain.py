"""LangChain messages: as `messages_to_dict`, `dumps` and `model_dump` write them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from snapshot.messages import File, Image, Opaque, Part, Reasoning, Role, ToolCall, Transcript
from snapshot.transcripts.formats import openai_chat
from snapshot.transcripts.io.json_values import (
    JsonObject,
    as_list,
    as_object,
    as_text,
    compact,
    quoted,
    type_name,
)
from snapshot.transcripts.io.source import Sample, Source
from snapshot.transcripts.reading import blocks
from snapshot.transcripts.reading.build import Builder, role_of, usage_of
from snapshot.transcripts.reading.envelope import Dialogue, dialogue_threads, opened, sampled
from snapshot.transcripts.reading.pairing import Pairing
from snapshot.transcripts.reading.parts import (
    ANY_FILE,
    bad_base64,
    decoded,
    named,
    read_content,
    read_opaque,
    read_result,
)
from snapshot.transcripts.reading.threads import Detection, Thread

NAME = "langchain"

_ROLES: dict[str, Role] = {
    "human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool",
    "chat": "user", "developer": "system",
}  # fmt: skip
_KINDS = frozenset({*_ROLES, "remove"})
_FIELDS = frozenset({"additional_kwargs", "response_metadata", "tool_call_id", "tool_calls", "example"})
_OPENED = opened("messages")


def detect(sample: Sample) -> Detection | None:
    """How sure it is that these are such messages."""
    found = sampled(sample, _OPENED, alike=True)
    items = [] if found is None else found.items
    hits = sum(_fields(item) is not None for item in items)
    if not hits:
        return None
    shape = (
        "{lc, kwargs}" if "lc" in (as_object(items[0]) or {}) else "a type and data, or LangChain's fields"
    )
    return Detection(
        NAME, 0.96 * hits / len(items), f"{hits} of the first {len(items)} messages have {shape}"
    )


def threads(source: Source) -> Sequence[Thread]:
    """Every list of messages.

    A speaker that is neither user nor assistant (type "chat") is one of the user's side, with the name in
    front of the words. A marker that asks to remove a message removes none, and is kept aside, as a tool's
    artifact is.
    """
    what = "no list of messages in it: expected a JSON array of {type, data} or {lc, kwargs}"
    return dialogue_threads(source, _OPENED, what, _read)


def _fields(value: object) -> tuple[str, JsonObject] | None:
    """The type and the fields of a message in any of its shapes."""
    message = as_object(value) or {}
    inner = as_object(message.get("kwargs"))
    if "lc" in message and inner is not None:
        path = as_list(message.get("id")) or [""]
        name = as_text(path[-1]).removesuffix("Chunk").removesuffix("Message").lower()
        kind = as_text(inner.get("type")) or name
    else:
        inner, kind = as_object(message.get("data")), as_text(message.get("type"))
        if inner is None and not _FIELDS.isdisjoint(message):
            inner = message
    kind = kind.removesuffix("MessageChunk").lower()
    if inner is None or kind not in _KINDS or "content" not in inner:
        return None
    return kind, inner


def _read(builder: Builder, dialogue: Dialogue) -> Transcript:
    pairing = Pairing(builder.ids)
    extra_rows: list[Opaque] = []
    model = ""
    for number, value in builder.numbered(dialogue.items):
        where = f"message {number}"
        known = _fields(value)
        if known is None:
            builder.add_unread(value, where=where, speaker="type")
            continue
        kind, message = known
        if kind == "remove":
            note = f"a marker to remove message {quoted(message.get('id'))}; nothing is removed"
            builder.odd("remove", where, note)
            extra_rows.append(Opaque(kind, compact(value)))
            continue
        if message.get("artifact") is not None:
            extra_rows.append(Opaque("artifact", compact(message["artifact"])))
        metadata = as_object(message.get("response_metadata")) or {}
        model = as_text(metadata.get("model_name") or metadata.get("model")) or model
        _add(builder, pairing, kind, message, where)
    return builder.finish(NAME, model, extra_rows)


def _add(builder: Builder, pairing: Pairing, kind: str, message: JsonObject, where: str) -> None:
    role, message_id, content = _ROLES[kind], as_text(message.get("id")), message.get("content")
    usage = None
    if role == "tool":
        by_name = kind == "function"
        call_id = (
            pairing.answer(as_text(message.get("name")))
            if by_name
            else builder.ids.text(message.get("tool_call_id"))
        )
        failed = message.get("status") == "error"
        parts: list[Part] = [read_result(builder, call_id, content, where, _BLOCKS, is_error=failed)]
    else:
        parts = read_content(builder, content, where, _BLOCKS)
        if role == "assistant":
            parts += _calls(
                builder, pairing, message, where, {p.id for p in parts if isinstance(p, ToolCall)}
            )
            usage = usage_of(message.get("usage_metadata"))
        elif kind == "chat":
            speaker = as_text(message.get("role"))
            role = role_of(speaker) or "user"
            role = "user" if role == "tool" else role
            parts = parts if role_of(speaker) else named(speaker, parts)
    builder.add(role, parts, where=where, message_id=message_id, usage=usage)


def _calls(
    builder: Builder, pairing: Pairing, message: JsonObject, where: str, known: set[str]
) -> Iterator[Part]:
    """Calls beside the content, which may hold the provider's form of the same ones."""
    found = [*(as_list(message.get("tool_calls")) or ()), *(as_list(message.get("invalid_tool_calls")) or ())]
    for value in found:
        call = as_object(value)
        if call is None:
            yield read_opaque(builder, value, type_name(value), where)
            continue
        call_id = builder.ids.text(call.get("id"))
        if not call_id or call_id not in known:
            yield ToolCall(call_id, as_text(call.get("name")), as_text(call.get("args")))
    more = as_object(message.get("additional_kwargs")) or {}
    if not found and not known:
        yield from openai_chat.calls_of(builder, pairing, more, where)
    reasoning = more.get("reasoning_content")
    if isinstance(reasoning, str) and reasoning:
        yield Reasoning(reasoning)


def _call(builder: Builder, block: JsonObject, _where: str) -> Sequence[Part]:
    return (
        ToolCall(builder.ids.text(block.get("id")), as_text(block.get("name")), as_text(block.get("args"))),
    )


def _item(builder: Builder, block: JsonObject, _where: str) -> Sequence[Part] | None:
    """A call as an item of the Responses API, which stands beside the content as well."""
    if not block.get("call_id"):
        return None
    asked = block.get("arguments", block.get("input"))
    call_id = builder.ids.text(block["call_id"])
    return (ToolCall(call_id, as_text(block.get("name")), as_text(asked)),)


def _reasoning(_builder: Builder, block: JsonObject, _where: str) -> Sequence[Part]:
    signature = (as_object(block.get("extras")) or block).get("signature")
    text = as_text(block.get("reasoning", block.get("text")))
    if isinstance(block.get("summary"), list):  # an item of the Responses API
        told = [*(as_list(block["summary"]) or ()), *(as_list(block.get("content")) or ())]
        texts = [as_text((as_object(one) or {}).get("text")) for one in told]
        text, signature = "\n".join(filter(None, texts)), block.get("encrypted_content")
    return (Reasoning(text, signature if isinstance(signature, str) else None),)


def _media(builder: Builder, block: JsonObject, where: str) -> Sequence[Part] | None:
    kind = as_text(block.get("type"))
    if "source" in block or kind in block:  # a provider's own form
        own = blocks.BLOCKS.get(kind) or openai_chat.PARTS.get(kind)
        return own(builder, block, where) if own else None
    media_type = as_text(block.get("mime_type")) or (f"{kind}/*" if kind != "file" else ANY_FILE)
    payload, place = block.get("base64") or block.get("data"), block.get("url") or block.get("file_id")
    data = decoded(payload)
    if payload and not data:
        return bad_base64(builder, block, kind, where)
    if not data and not isinstance(place, str):
        return None
    if kind == "image":
        return (Image(media_type, data or b"", "" if data else as_text(place)),)
    name = as_text(block.get("title") or block.get("filename"))
    return (File(name, media_type, data or b"", source="" if data else as_text(place)),)


def _plain(_builder: Builder, block: JsonObject, _where: str) -> Sequence[Part]:
    name, text = as_text(block.get("title")), as_text(block.get("text"))
    return (
        File(
            name, as_text(block.get("mime_type")) or "text/plain", text=text, source=as_text(block.get("url"))
        ),
    )


def _kept(_builder: Builder, block: JsonObject, _where: str) -> Sequence[Part]:
    return (Opaque(as_text(block.get("type")), compact(block)),)


_BLOCKS = {
    **openai_chat.PARTS,
    **blocks.BLOCKS,
    "reasoning": _reasoning,
    "image": _media,
    "audio": _media,
    "video": _media,
    "file": _media,
    "text-plain": _plain,
    "function_call": _item,
    "custom_tool_call": _item,
    "tool_call": _call,
    "tool_call_chunk": _call,
    "invalid_tool_call": _call,
    "server_tool_call": _kept,
    "server_tool_result": _kept,
    "non_standard": _kept,
}
