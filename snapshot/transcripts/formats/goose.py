"""Goose's sessions: its export, its `.jsonl` of older versions, and the log of a run.

Source: the message types of the goose repository and files in public repositories, looked up 2026-11. An
export is a session with its `conversation`; a line of the older files is a message behind a header with the
working folder, of a run `{type: "message", message}`. Newer versions keep sessions in a database, which
`goose session export --format json` writes out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from snapshot.messages import Image, Opaque, Part, Reasoning, ToolCall, Transcript, Usage
from snapshot.transcripts.io import jsonl
from snapshot.transcripts.io.json_values import JsonObject, as_list, as_object, as_text, compact
from snapshot.transcripts.io.source import MISSING, Sample, Source
from snapshot.transcripts.reading.build import Builder, role_of
from snapshot.transcripts.reading.parts import (
    ANY_IMAGE,
    bad_base64,
    by_speaker,
    decoded,
    read_content,
    read_result,
    read_text,
)
from snapshot.transcripts.reading.threads import Conversation, Detection, Thread, first_words, title_of
from snapshot.transcripts.reading.times import iso_time

NAME = "goose"

_BLOCKS = frozenset({"toolRequest", "toolResponse", "toolConfirmationRequest", "redactedThinking"})
_HEADER = frozenset({"working_dir", "message_count", "description"})
_KEPT = ("actionRequired", "error", "frontendToolRequest", "systemNotification", "toolConfirmationRequest")


def detect(sample: Sample) -> Detection | None:
    """How sure it is that this is such a session."""
    document = as_object(sample.document)
    listed = _listed(document) if document is not None else None
    if listed is not None:
        hits = sum(map(_is_message, listed[:50]))
        known = "working_dir" in (document or {})
        share = hits / max(1, len(listed[:50]))
        return Detection(NAME, 0.95 * share, "a session with a conversation") if known and hits else None
    rows = [_message(row) for row in sample.rows]
    header = any(len(_HEADER & row.keys()) > 1 and "role" not in row for row in sample.rows[:1])
    own = any(as_text(block.get("type")) in _BLOCKS for row in rows for block in _blocks(row))
    hits = sum(map(_is_message, rows))
    if not hits or not (header or own):
        return None
    share = (hits + header) / len(rows)
    return Detection(NAME, min(0.96, 0.97 * share), f"{hits} of the first {len(rows)} rows are messages")


def _listed(document: JsonObject) -> list[object] | None:
    for key in ("conversation", "messages"):
        held = document.get(key)
        inner = as_object(held)
        listed = as_list(held if inner is None else inner.get("messages"))
        if listed is not None:
            return listed
    return None


def _message(row: JsonObject) -> JsonObject:
    held = as_object(row.get("message")) if row.get("type") == "message" else None
    return row if held is None else held


def _is_message(value: object) -> bool:
    message = as_object(value) or {}
    return role_of(message.get("role")) is not None and "created" in message and "content" in message


def _blocks(message: JsonObject) -> list[JsonObject]:
    return [block for value in as_list(message.get("content")) or () if (block := as_object(value))]


def threads(source: Source) -> Sequence[Thread]:
    """The one conversation of the session."""
    if source.damage is not None:
        raise source.damage
    document = as_object(source.document)
    facts: list[JsonObject] = []
    items: list[tuple[str, object]] = []
    if document is not None:
        facts.append(
            {key: value for key, value in document.items() if key not in ("conversation", "messages")}
        )
        items += ((f"message {n}", value) for n, value in enumerate(_listed(document) or (), 1))
    elif source.document is not MISSING and not as_list(source.document):
        raise source.error("no conversation in it: expected a session with its `conversation`")
    else:
        for where, row in jsonl.rows(source):
            message = _message(row)
            if "role" in message:
                items.append((where, message))
            else:
                facts.append(row)
    if not items:
        raise source.error(
            "no message in it: expected a session with its `conversation`, or lines of messages"
        )
    session = facts[0] if facts else {}
    users = (as_object(value) or {} for _, value in items)
    words = next((first_words(message) for message in users if message.get("role") == "user"), "")
    title = as_text(session.get("name") or session.get("description")) or title_of(words)
    times = [iso_time((as_object(value) or {}).get("created")) for _, value in items]
    time = next(filter(None, reversed(times)), "")
    name = as_text(session.get("id")) or "main"
    read = partial(_read, source, items, facts)
    return [Thread(Conversation(name, title, len(items), time, main=True), read)]


def _read(source: Source, items: Sequence[tuple[str, object]], facts: Sequence[JsonObject]) -> Transcript:
    builder = Builder(source)
    model = next((found for one in facts if (found := _model(one))), "")
    for where, value in items:
        message = as_object(value)
        role = role_of((message or {}).get("role"))
        if message is None or role is None or role == "tool":
            builder.add_unread(value, where=where)
            continue
        facets = as_object(message.get("metadata")) or {}
        if source.as_sent and facets.get("agentVisible") is False:
            continue
        by_harness = role == "user" and facets.get("userVisible") is False
        speaks = "system" if by_harness and not source.as_sent else role
        parts = read_content(builder, message.get("content"), where, _PARTS)
        usage = _usage(as_object(facets.get("usage")) or {}) if role == "assistant" else None
        message_id, time = as_text(message.get("id")), iso_time(message.get("created"))
        for speaker, run in by_speaker(speaks, parts):
            origin = "harness" if by_harness and speaker != "tool" else ""
            builder.add(
                speaker, run, where=where, message_id=message_id, time=time, usage=usage, origin=origin
            )
            usage = None
    extra_rows = [Opaque("session", compact(one)) for one in facts if one]
    return builder.finish(NAME, model, extra_rows)


def _model(facts: JsonObject) -> str:
    config = as_object(facts.get("model_config")) or {}
    return as_text(config.get("model_name") or facts.get("model"))


def _usage(counts: JsonObject) -> Usage | None:
    prompt, output = (
        n if isinstance(n := counts.get(key), int) and not isinstance(n, bool) and n > 0 else 0
        for key in ("inputTokens", "outputTokens")
    )
    return Usage(prompt, output) if prompt or output else None


def _call(builder: Builder, block: JsonObject, _where: str) -> Sequence[Part]:
    call_id, told = builder.ids.text(block.get("id")), as_object(block.get("toolCall")) or {}
    value = as_object(told.get("value"))
    if value is None:  # the model wrote what is no call
        return (ToolCall(call_id, "", as_text(told.get("error") or block.get("toolCall"))),)
    return (ToolCall(call_id, as_text(value.get("name")), as_text(value.get("arguments"))),)


def _answer(builder: Builder, block: JsonObject, where: str) -> Sequence[Part]:
    call_id, told = builder.ids.text(block.get("id")), as_object(block.get("toolResult")) or {}
    value = told.get("value")
    held = as_object(value)
    failed = told.get("status") == "error" or (held or {}).get("isError") is True
    content = value if held is None else held.get("content")
    if content is None:
        content = as_text(told.get("error") or (held or {}).get("structuredContent"))
    listed = as_list(content)
    if listed is not None:  # what is for the user's eyes alone was not sent
        content = [item for item in listed if _for_model(item)]
    return (read_result(builder, call_id, content, where, _PARTS, is_error=failed),)


def _for_model(item: object) -> bool:
    annotations = as_object((as_object(item) or {}).get("annotations")) or {}
    audience = as_list(annotations.get("audience"))
    return audience is None or not audience or "assistant" in audience


def _image(builder: Builder, block: JsonObject, where: str) -> Sequence[Part] | None:
    data, media_type = decoded(block.get("data")), as_text(block.get("mimeType")) or ANY_IMAGE
    if data:
        return (Image(media_type, data),)
    return bad_base64(builder, block, "image", where)


def _thinking(_builder: Builder, block: JsonObject, _where: str) -> Sequence[Part]:
    signature = block.get("signature")
    text = as_text(block.get("thinking") or block.get("text"))
    return (Reasoning(text, signature if isinstance(signature, str) and signature else None),)


def _kept(_builder: Builder, block: JsonObject, _where: str) -> Sequence[Part]:
    return (Opaque(as_text(block.get("type")), compact(block)),)


def _resource(_builder: Builder, block: JsonObject, _where: str) -> Sequence[Part] | None:
    held = as_object(block.get("resource")) or {}
    return read_text(_builder, {"text": held["text"]}, _where) if isinstance(held.get("text"), str) else None


_PARTS = {
    "text": read_text,
    "image": _image,
    "resource": _resource,
    "thinking": _thinking,
    "reasoning": _thinking,
    "redactedThinking": _kept,
    "toolRequest": _call,
    "toolResponse": _answer,
    **dict.fromkeys(_KEPT, _kept),
}
