"""Claude.ai's data export: conversations with `chat_messages`."""

from __future__ import annotations

from collections.abc import Sequence

from snapshot.messages import File, Opaque, Part, Role, ToolCall, Transcript
from snapshot.transcripts.io.json_values import JsonObject, as_list, as_object, as_text, compact
from snapshot.transcripts.io.source import Sample, Source
from snapshot.transcripts.reading.blocks import BLOCKS
from snapshot.transcripts.reading.build import Builder
from snapshot.transcripts.reading.envelope import Dialogue, dialogue_threads, opened, sampled
from snapshot.transcripts.reading.pairing import Pairing
from snapshot.transcripts.reading.parts import ANY_FILE, Handlers, by_speaker, read_content, read_result
from snapshot.transcripts.reading.threads import Detection, Thread

NAME = "claude-export"

_OPENED = opened("chat_messages")
_SHOWN = ("token_budget", "flag", "voice_note")  # known, and nobody's words
_ROLES: dict[str, Role] = {"human": "user", "assistant": "assistant"}


def detect(sample: Sample) -> Detection | None:
    """How sure it is that this is such an export."""
    found = sampled(sample, _OPENED, alike=True)
    if found is None or not found.envelope:
        return None
    hits = sum("sender" in (as_object(item) or {}) for item in found.items)
    if found.items and not hits:
        return None
    return Detection(NAME, 0.98, f"chat_messages, {hits} of the first {len(found.items)} with a sender")


def threads(source: Source) -> Sequence[Thread]:
    """Every conversation. Calls and results of an answer stand in one message there, in several here."""
    what = "no conversation in it: expected objects with `chat_messages`"
    return dialogue_threads(source, _OPENED, what, _read)


def _read(builder: Builder, dialogue: Dialogue) -> Transcript:
    handlers = _handlers(Pairing(builder.ids))
    summary = as_text(dialogue.envelope.get("summary"))
    for number, value in builder.numbered(dialogue.items):
        where, message = f"message {number}", as_object(value)
        role = _ROLES.get(as_text((message or {}).get("sender")).strip().lower())
        if message is None or role is None:
            builder.add_unread(value, where=where, speaker="sender")
            continue
        parts = read_content(builder, message.get("content") or message.get("text"), where, handlers)
        parts += _attached(message)
        message_id, time = as_text(message.get("uuid")), as_text(message.get("created_at"))
        for speaker, run in by_speaker(role, parts):
            builder.add(speaker, run, where=where, message_id=message_id, time=time)
    extra_rows = [Opaque("summary", compact(summary))] if summary else []
    return builder.finish(NAME, as_text(dialogue.envelope.get("model")), extra_rows)


def _handlers(pairing: Pairing) -> Handlers:
    """Blocks. A call or result may have null for an id: a result answers the open call of its name."""

    def call(builder: Builder, block: JsonObject, where: str) -> Sequence[Part] | None:
        if block.get("id"):
            return BLOCKS["tool_use"](builder, block, where)
        name = as_text(block.get("name"))
        return (ToolCall(pairing.call(name), name, as_text(block.get("input"))),)

    def result(builder: Builder, block: JsonObject, where: str) -> Sequence[Part] | None:
        if block.get("tool_use_id"):
            return BLOCKS["tool_result"](builder, block, where)
        call_id, failed = pairing.answer(as_text(block.get("name"))), block.get("is_error") is True
        return (read_result(builder, call_id, block.get("content"), where, BLOCKS, is_error=failed),)

    return {**BLOCKS, **dict.fromkeys(_SHOWN, _kept), "tool_use": call, "tool_result": result}


def _attached(message: JsonObject) -> list[Part]:
    """Attachments, whose text the export has, and files, of which it has the name alone."""
    found: list[Part] = []
    for item in map(as_object, as_list(message.get("attachments")) or ()):
        if item is not None:
            media_type = as_text(item.get("file_type"))
            media_type = media_type if "/" in media_type else "text/plain"
            found.append(
                File(as_text(item.get("file_name")), media_type, text=as_text(item.get("extracted_content")))
            )
    for item in map(as_object, as_list(message.get("files")) or ()):
        if item is not None:
            name = as_text(item.get("file_name"))
            found.append(File(name, ANY_FILE, source=as_text(item.get("file_uuid")) or name))
    return found


def _kept(_builder: Builder, block: JsonObject, _where: str) -> Sequence[Part]:
    return (Opaque(as_text(block.get("type")), compact(block)),)
