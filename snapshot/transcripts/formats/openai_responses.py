"""OpenAI Responses: a list of items, or an object with `input` (a request) or `output` (a response).

What the model brought forth between two turns of others is one message: reasoning, calls and words in their
order, so that a reasoning item and the item it led to are never apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from snapshot.messages import File, Image, Opaque, Part, Reasoning, Role, Text, ToolCall, Transcript, Usage
from snapshot.parts.kinds import kind_of
from snapshot.transcripts.io.json_values import JsonObject, as_list, as_object, as_text, compact
from snapshot.transcripts.io.source import Sample, Source
from snapshot.transcripts.reading.build import Builder, role_of, usage_of
from snapshot.transcripts.reading.envelope import Dialogue, dialogue_threads, opened, sampled
from snapshot.transcripts.reading.parts import (
    ANY_FILE,
    ANY_IMAGE,
    bad_base64,
    decoded,
    image_at,
    read_content,
    read_result,
    read_text,
    split_data_url,
)
from snapshot.transcripts.reading.threads import Detection, Thread

__all__ = ["NAME", "add_item", "detect", "threads"]

NAME = "openai-responses"

_BLOCKS = frozenset({"input_text", "input_image", "input_file", "output_text"})
_ITEMS = frozenset({"function_call", "item_reference", "reasoning", "mcp_list_tools", "mcp_approval_request"})
_ENDINGS = ("_call", "_call_output", "_search_output")
# Calls of the client, whatever else they have; others are the client's only if they have a `call_id`.
_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
# Where the different kinds of calls hold what the model asked for.
_ASKED = ("arguments", "input", "action", "operation")


def detect(sample: Sample) -> Detection | None:
    """How sure it is that this is such a list."""
    found = sampled(sample, _opened)
    items, envelope = ([], {}) if found is None else (found.items, found.envelope)
    objects = [item for item in map(as_object, items) if item is not None]
    hits = sum(map(_is_item, objects))
    plain = sum(role_of(item.get("role")) is not None and "content" in item for item in objects)
    if hits:
        reason = f"{hits} of {len(items)} items are calls, outputs, reasoning or typed input and output text"
        return Detection(NAME, 0.95 * min(1.0, max(hits, plain) / len(items)), reason)
    if objects and plain == len(items) and "input" in envelope:
        return Detection(NAME, 0.6, "an object with messages under input")
    return None


def threads(source: Source) -> Sequence[Thread]:
    """Every list of items; outputs stand in messages of role "tool"."""
    what = "no list of items in it: expected a JSON array, or an object with `input`"
    return dialogue_threads(source, _opened, what, _read)


def _read(builder: Builder, dialogue: Dialogue) -> Transcript:
    envelope = dialogue.envelope
    instructions = read_content(builder, envelope.get("instructions"), "instructions", _PARTS)
    if instructions:
        builder.add("system", instructions, where="instructions")
    usage = usage_of(envelope.get("usage")) if "output" in envelope else None
    for number, value in builder.numbered(dialogue.items):
        if add_item(builder, value, f"item {number}", usage=usage):
            usage = None
    return builder.finish(NAME, as_text(envelope.get("model")))


def add_item(
    builder: Builder,
    value: object,
    where: str,
    *,
    time: str = "",
    usage: Usage | None = None,
    as_note: bool = False,
    shown: JsonObject | None = None,
) -> bool:
    """Add the item `value`; whether a message of the assistant began with it, which has the `usage`.

    `as_note` makes it the system's: what a harness wrote in the user's name. `shown` is the item to read
    in place of `value`, which is what is sent back.
    """
    item = _read_item(builder, shown or value, where)
    if shown and item.raw is not None:
        item = replace(item, raw=as_object(value))
    if as_note:
        item = replace(item, role="system")
    raw = [] if item.raw is None else [item.raw]
    begins = item.role == "assistant"
    if begins and builder.extend(item.role, item.parts, raw=raw):
        return False
    counted = usage if begins else None
    builder.add(
        item.role,
        item.parts,
        where=where,
        message_id=item.id,
        time=time,
        usage=counted,
        raw=raw,
        origin="harness" if as_note else "",
    )
    return begins


_LISTED = opened("input", "output")


def _opened(document: object) -> Dialogue | None:
    envelope = as_object(document) or {}
    words = envelope.get("input")
    if isinstance(words, str) and "type" not in envelope:  # a custom call has such an input too
        return Dialogue([{"role": "user", "content": words}], envelope)
    return _LISTED(document)


def _is_item(item: JsonObject) -> bool:
    kind = item.get("type")
    if isinstance(kind, str) and (kind in _ITEMS or kind.endswith(_ENDINGS)):
        return True
    blocks = map(as_object, as_list(item.get("content")) or ())
    return any(block is not None and as_text(block.get("type")) in _BLOCKS for block in blocks)


@dataclass(frozen=True, slots=True)
class _Item:
    """An item as parts; `raw` is None where nobody can tell what it is."""

    role: Role
    parts: Sequence[Part]
    raw: JsonObject | None
    id: str = ""


def _read_item(builder: Builder, value: object, where: str) -> _Item:
    item = as_object(value)
    kind = as_text((item or {}).get("type")) or "message"
    if item is None or (kind == "message" and role_of(item.get("role")) in (None, "tool")):
        return _unread(builder, value, where)
    if kind == "message":
        role = role_of(item.get("role")) or "user"
        parts = read_content(builder, item.get("content"), where, _PARTS)
        return _Item(role, parts, item, as_text(item.get("id")))
    if kind.endswith("_output"):
        call_id = builder.ids.text(item.get("call_id") or item.get("id"))
        failed = item.get("status") == "failed"
        output = item.get("output", item.get("tools"))
        result = read_result(builder, call_id, output, where, _PARTS, is_error=failed)
        return _Item("tool", (result,), item)
    if role_of(item.get("role")) == "system":  # such as tools that are declared in the midst of it
        return _Item("system", tuple(_said(builder, item, kind, where)), item)
    if kind == "mcp_approval_response":
        return _Item("user", (Opaque(kind, compact(item)),), item)
    return _Item("assistant", tuple(_said(builder, item, kind, where)), item)


def _unread(builder: Builder, value: object, where: str) -> _Item:
    builder.odd(
        "unknown-item", where, "neither an item of a known type nor a message with a role; kept whole"
    )
    kind = as_text((as_object(value) or {}).get("type")) or "item"
    return _Item("system", (Opaque(kind, compact(value)),), None)


def _said(builder: Builder, item: JsonObject, kind: str, where: str) -> Iterator[Part]:
    """What the model brought forth beside messages."""
    sealed = item.get("encrypted_content")
    if kind == "reasoning" or isinstance(sealed, str):  # the service's own summaries are sealed likewise
        told = [*(as_list(item.get("summary")) or ()), *(as_list(item.get("content")) or ())]
        texts = [as_text((as_object(block) or {}).get("text")) for block in told]
        yield Reasoning("\n".join(filter(None, texts)), sealed if isinstance(sealed, str) else None)
    elif kind.endswith("_call") and (item.get("call_id") or kind in _CALLS):
        asked = next((item[key] for key in _ASKED if key in item), None)
        name = as_text(item.get("name")) or kind.removesuffix("_call")
        call_id = builder.ids.text(item.get("call_id") or item.get("id"))
        yield ToolCall(call_id, name, as_text(asked))
    elif kind == "image_generation_call" and (picture := decoded(item.get("result"))):
        yield Image("image/png", picture)
    else:
        if kind not in _ITEMS and not kind.endswith(_ENDINGS) and kind_of(NAME, kind) is None:
            builder.odd("unknown-item", where, f"an item of type {kind!r} is not known; kept whole")
        yield Opaque(kind, compact(item))


def _refused(_builder: Builder, block: JsonObject, _where: str) -> Sequence[Part]:
    return (Text(as_text(block.get("refusal")), refusal=True),)


def _image(builder: Builder, block: JsonObject, where: str) -> Sequence[Part] | None:
    place, file_id = block.get("image_url"), block.get("file_id")
    if not place and isinstance(file_id, str) and file_id:
        return (Image(ANY_IMAGE, source=file_id),)
    return image_at(builder, block, place, where, block.get("detail"))


def _file(builder: Builder, block: JsonObject, where: str) -> Sequence[Part] | None:
    name, payload = as_text(block.get("filename")), block.get("file_data")
    if isinstance(payload, str):
        media_type, data = split_data_url(payload) or ("", decoded(payload))
        if not data:
            return bad_base64(builder, block, "input_file", where)
        return (File(name, media_type or ANY_FILE, data),)
    place = as_text(block.get("file_url") or block.get("file_id"))
    return (File(name, ANY_FILE, source=place),) if place else None


_PARTS = {
    "input_text": read_text,
    "output_text": read_text,
    "text": read_text,
    "refusal": _refused,
    "input_image": _image,
    "computer_screenshot": _image,
    "input_file": _file,
}
