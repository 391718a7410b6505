"""What Claude Code's two logs share: rows that carry messages, one message spread over several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from snapshot.messages import Opaque, Role, Transcript
from snapshot.transcripts.io.harness import NONE, Rules
from snapshot.transcripts.io.json_values import JsonObject, as_list, as_object, as_text
from snapshot.transcripts.io.source import Source
from snapshot.transcripts.reading.blocks import add_message
from snapshot.transcripts.reading.build import Builder
from snapshot.transcripts.reading.speakers import asked
from snapshot.transcripts.reading.threads import Conversation, Thread, first_words, title_of
from snapshot.transcripts.reading.times import known_time

__all__ = ["Row", "boundary", "is_message", "message_row", "since_compaction", "thread", "transcript_of"]

_SYNTHETIC = "<synthetic>"  # the model of notes that the harness writes in the assistant's name


@dataclass(frozen=True, slots=True)
class Row:
    """A row that is part of a thread: an API message or a piece of one, or a boundary.

    Attributes:
        where: its place in the file.
        kind: "user", "assistant", "note" for words of the harness in the user's name, "queued" for those that
            the user sent while a turn ran, "summary" for those that a compaction put in the place of the
            past, or "boundary".
        uuid: its own id, "" if it has none; `parent` the one it says it follows.
        message: the API message; of a boundary what it says of the compaction.
        words: of a row of the user's, the first that a person said to the model; None: all of it is theirs.
    """

    where: str
    kind: str
    uuid: str
    parent: str
    time: str
    message: JsonObject
    words: str | None = None

    @property
    def is_prompt(self) -> bool:
        """Whether a person said it: not a tool's result, and not the harness's."""
        if self.kind != "user" or self.words == "":
            return False
        blocks = as_list(self.message.get("content"))
        return blocks is None or not any((as_object(b) or {}).get("type") == "tool_result" for b in blocks)


def is_message(row: JsonObject) -> bool:
    """Whether the row holds a message or a part of one."""
    return row.get("type") in ("user", "assistant") and as_object(row.get("message")) is not None


def message_row(where: str, row: JsonObject, rules: Rules = NONE) -> Row:
    """The row of a message. What the file holds beside it, such as a tool's own account, is let go."""
    kind = as_text(row.get("type"))
    if kind == "user" and row.get("isCompactSummary") is True:
        kind = "summary"
    elif kind == "user" and (row.get("isMeta") is True or row.get("isSynthetic") is True):
        kind = "note"
    message = as_object(row.get("message")) or {}
    return Row(
        where,
        kind,
        as_text(row.get("uuid")),
        as_text(row.get("parentUuid")),
        known_time(row.get("timestamp")),
        message,
        asked(message.get("content"), rules) if kind == "user" and rules is not NONE else None,
    )


def boundary(where: str, row: JsonObject) -> Row | None:
    """The row of a compaction, or None if it is another one."""
    if row.get("type") != "system" or row.get("subtype") != "compact_boundary":
        return None
    metadata = as_object(row.get("compactMetadata", row.get("compact_metadata"))) or {}
    parent = as_text(row.get("parentUuid") or row.get("logicalParentUuid"))
    return Row(
        where, "boundary", as_text(row.get("uuid")), parent, known_time(row.get("timestamp")), metadata
    )


def since_compaction(rows: Sequence[Row]) -> list[Row]:
    """What the model is sent: the newest summary as the user's word, what was kept beside it, the rest."""
    last = max((n for n, row in enumerate(rows) if row.kind == "boundary"), default=-1)
    if last < 0:
        return list(rows)
    after = list(rows[last + 1 :])
    kept = _preserved(rows[:last], rows[last].message)
    if after and after[0].kind in ("summary", "note"):
        return [replace(after[0], kind="user"), *kept, *after[1:]]
    return [*kept, *after]


def _preserved(before: Sequence[Row], metadata: JsonObject) -> list[Row]:
    """Rows before a boundary that the harness goes on sending as they are."""
    listed = as_object(metadata.get("preservedMessages")) or {}
    ids = set(map(as_text, as_list(listed.get("uuids")) or as_list(listed.get("allUuids")) or ()))
    if ids:
        return [row for row in before if row.uuid in ids]
    segment = as_object(metadata.get("preservedSegment")) or {}
    uuids = [row.uuid for row in before]
    head, tail = as_text(segment.get("headUuid")), as_text(segment.get("tailUuid"))
    if not head or head not in uuids or tail not in uuids:
        return []
    return list(before[uuids.index(head) : uuids.index(tail) + 1])


def thread(
    source: Source,
    reader: str,
    rows: Sequence[Row],
    *,
    conversation_id: str,
    title: str = "",
    main: bool = False,
    model: str = "",
    extra_rows: Sequence[Opaque] = (),
    notes: Iterable[tuple[str, str, str]] = (),
) -> Thread:
    """A thread of such a log.

    Args:
        model: the one that is to speak, where no row says.
        aside: rows that are no message.
        notes: diagnostics, as `Builder.odd` takes them.
    """
    said = [row for row in rows if row.kind != "boundary"]
    ids = {(as_text(row.message.get("id")) if row.kind == "assistant" else "") or row.uuid for row in said}
    words = next((row.words or first_words(row.message) for row in rows if row.is_prompt), "")
    time = next((row.time for row in reversed(rows) if row.time), "")
    found = Conversation(conversation_id, title or title_of(words), len(ids), time, main)
    return Thread(
        found,
        partial(transcript_of, source, reader, lambda: rows, model=model, extra_rows=extra_rows, notes=notes),
    )


def transcript_of(
    source: Source,
    reader: str,
    rows: Callable[[], Sequence[Row]],
    *,
    model: str = "",
    extra_rows: Sequence[Opaque] = (),
    notes: Iterable[tuple[str, str, str]] = (),
) -> Transcript:
    """The transcript of rows that are put together when they are asked for; arguments as for `thread`."""
    builder = Builder(source)
    spoken = _add_rows(builder, rows()) or model
    for note in notes:
        builder.odd(*note)
    return builder.finish(reader, spoken, extra_rows)


def _add_rows(builder: Builder, rows: Iterable[Row]) -> str:
    """Add the rows of one thread in their order; the model that spoke last.

    Rows of the assistant with equal message id become one message, its usage counted once. Rows that
    were appended again are left out. The harness's own notes in the user's name become the system's.
    """
    model = ""
    seen: dict[str, object] = {}
    for row in rows:
        if row.kind == "boundary":
            _note_compaction(builder, row)
            continue
        if row.uuid and row.uuid in seen:
            if seen[row.uuid] == row.message:
                builder.odd("repeated-row", row.where, "a row that was appended again; left out")
                continue
            note = "a row has the id of an earlier one and says something else; both are kept"
            builder.odd("rewritten-row", row.where, note)
        seen[row.uuid] = row.message
        spoken_by = row.message.get("model")
        if isinstance(spoken_by, str) and spoken_by and spoken_by != _SYNTHETIC:
            model = spoken_by
        role: Role = "system"
        if row.kind in ("user", "assistant", "queued"):
            role = "assistant" if row.kind == "assistant" else "user"
        add_message(
            builder,
            row.message,
            where=row.where,
            role=role,
            message_id=row.uuid,
            time=row.time,
            join=True,
            origin="harness" if role == "system" else "",
        )
    return model


def _note_compaction(builder: Builder, row: Row) -> None:
    found = row.message
    facts = [as_text(found.get("trigger")), as_text(found.get("preTokens", found.get("pre_tokens")))]
    told = ", ".join(fact for fact in (facts[0], facts[1] and f"{facts[1]} tokens before") if fact)
    note = f"the conversation was compacted here{told and f' ({told})'}; all of it is kept"
    builder.odd("compaction", row.where, note)
