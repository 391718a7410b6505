"""What Claude Code's two logs share: rows that carry messages, one message spread over several."""

from __future__ import annotations

from collections.abc import Iterable

from snapshot.messages import Role
from snapshot.transcripts._blocks import add_message
from snapshot.transcripts._build import Builder
from snapshot.transcripts._json import JsonObject, as_object, as_text, quoted

__all__ = ["add_rows", "is_message", "note_compaction", "note_unknown_row"]

_SYNTHETIC = "<synthetic>"  # the model of notes that the harness writes in the assistant's name


def is_message(row: JsonObject) -> bool:
    """Whether the row holds a message or a part of one."""
    return row.get("type") in ("user", "assistant") and as_object(row.get("message")) is not None


def add_rows(builder: Builder, rows: Iterable[tuple[str, JsonObject]], model: str = "") -> str:
    """Add message rows of one thread in their order.

    Rows of the assistant with equal message id become one message, its usage counted once. Rows that
    were appended again are left out. The harness's own notes in the user's name become the system's.

    Returns:
        The model that spoke last, or `model` if no row says.
    """
    seen: dict[str, object] = {}
    for where, row in rows:
        message = as_object(row.get("message")) or {}
        uuid = as_text(row.get("uuid"))
        if uuid and uuid in seen and seen[uuid] == message:
            builder.odd("repeated-row", where, "a row that was appended again; left out")
            continue
        seen[uuid] = message
        spoken_by = message.get("model")
        if isinstance(spoken_by, str) and spoken_by and spoken_by != _SYNTHETIC:
            model = spoken_by
        role: Role = "assistant" if row.get("type") == "assistant" else "user"
        if role == "user" and (row.get("isMeta") is True or row.get("isSynthetic") is True):
            role = "system"
        time = as_text(row.get("timestamp"))
        add_message(builder, message, where=where, role=role, message_id=uuid, time=time, join=True)
    return model


def note_compaction(builder: Builder, where: str, metadata: object) -> None:
    """Report a boundary: what follows was said with a summary in place of what stands before."""
    found = as_object(metadata) or {}
    facts = [as_text(found.get("trigger")), as_text(found.get("preTokens", found.get("pre_tokens")))]
    told = ", ".join(fact for fact in (facts[0], facts[1] and f"{facts[1]} tokens before") if fact)
    builder.odd(
        "compaction", where, f"the conversation was compacted here{told and f' ({told})'}; all of it is kept"
    )


def note_unknown_row(builder: Builder, where: str, row: JsonObject) -> None:
    """Count a row of a type that this reader does not know."""
    builder.odd("unknown-row", where, f"a row of type {quoted(row.get('type'))} is not known; left out")
