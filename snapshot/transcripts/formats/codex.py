"""Codex rollouts: lines of `{timestamp, type, payload}`, with items of the Responses API among events."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from snapshot.messages import Opaque, Text, Transcript, Usage
from snapshot.transcripts.formats.openai_responses import add_item
from snapshot.transcripts.io import jsonl
from snapshot.transcripts.io.harness import rules_for
from snapshot.transcripts.io.json_values import (
    JsonObject,
    as_list,
    as_object,
    as_text,
    compact,
    parse,
    quoted,
)
from snapshot.transcripts.io.source import Sample, Source
from snapshot.transcripts.reading.build import Builder, usage_of
from snapshot.transcripts.reading.threads import Conversation, Detection, Thread, first_words, title_of
from snapshot.transcripts.reading.times import known_time

NAME = "codex"

_OPENING = 20  # items among which the instructions stand, if they are an item
_KEYS = frozenset({"timestamp", "type", "payload"})
_TYPES = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})
# Rows of the harness's own state: they are neither sent nor said.
_STATE = ("token_usage_record", "world_state")
_OLD_NAMES = {"compaction_summary": "compaction"}
_SHELL = frozenset({"exit_code", "duration_seconds"})


def detect(sample: Sample) -> Detection | None:
    """How sure it is that this is such a file."""
    hits = sum(row.keys() >= _KEYS and as_object(row["payload"]) is not None for row in sample.rows)
    if not hits:
        return None
    if not any(as_text(row["type"]) in _TYPES for row in sample.rows if "type" in row):
        return None
    reason = f"{hits} of the first {len(sample.rows)} rows are {{timestamp, type, payload}}"
    return Detection(NAME, 0.98 * hits / len(sample.rows), reason)


@dataclass(frozen=True, slots=True)
class _Entry:
    """An item, or the usage of the request before."""

    where: str
    time: str
    item: object
    usage: Usage | None = None

    @property
    def is_prompt(self) -> bool:
        item = as_object(self.item) or {}
        return self.usage is None and item.get("role") == "user" and not _is_note(item)


def threads(source: Source) -> Sequence[Thread]:
    """The items; events repeat them. Turns that were taken back are in a conversation of their own.

    After a compaction the whole history has the items before it, the model its replacement.
    """
    entries: list[_Entry] = []
    undone: list[list[_Entry]] = []
    extra_rows: list[Opaque] = []
    notes: list[tuple[str, str, str]] = []
    conversation_id = model = base = ""
    for where, row in jsonl.rows(source):
        kind, time = as_text(row.get("type")), known_time(row.get("timestamp"))
        payload = as_object(row.get("payload")) or {}
        event = as_text(payload.get("type"))
        if kind == "response_item" and event != "ghost_snapshot":
            entries.append(_Entry(where, time, _renamed(payload)))
        elif kind == "session_meta":
            conversation_id = conversation_id or as_text(payload.get("id"))
            told = payload.get("base_instructions")
            base = base or as_text((as_object(told) or {"text": told}).get("text"))
            extra_rows.append(Opaque(kind, compact(payload)))
        elif kind == "turn_context":
            model = as_text(payload.get("model")) or model
        elif kind == "compacted":
            notes.append(_compaction(where, payload, entries))
            extra_rows.append(
                Opaque(kind, compact({key: v for key, v in payload.items() if key != "replacement_history"}))
            )
            if source.as_sent:
                entries = [_Entry(where, time, item) for item in _replacement(payload)]
        elif kind == "event_msg" and event == "token_count":
            info = as_object(payload.get("info")) or {}
            usage = usage_of(info.get("last_token_usage"))
            if usage:
                entries.append(_Entry(where, time, None, usage))
        elif kind == "event_msg" and event == "thread_rolled_back":
            undone.append(entries)
            entries = _without_turns(entries, payload.get("num_turns"))
            notes.append(
                (
                    "branch",
                    where,
                    f'turns were taken back here; read them as conversation "rolled-back-{len(undone)}"',
                )
            )
        elif kind != "event_msg":
            if kind not in ("response_item", *_STATE):
                notes.append(("unknown-row", where, f"a row of type {quoted(kind)} is not known; kept aside"))
            extra_rows.append(Opaque(event if kind == "response_item" else kind, compact(payload)))

    def thread(name: str, said: Sequence[_Entry], *, main: bool = False) -> Thread:
        words = next((first_words(entry.item) for entry in said if entry.is_prompt), "")
        time = next((entry.time for entry in reversed(said) if entry.time), "")
        found = Conversation(name, title_of(words), sum(e.usage is None for e in said), time, main)
        return Thread(
            found,
            lambda: _read(
                source,
                base=base,
                entries=said,
                model=model,
                notes=notes if main else (),
                extra_rows=extra_rows if main else (),
            ),
        )

    made = [thread(conversation_id or "main", entries, main=True)]
    return made + [thread(f"rolled-back-{number}", said) for number, said in enumerate(undone, 1)]


def _read(
    source: Source,
    *,
    base: str,
    entries: Sequence[_Entry],
    model: str,
    notes: Sequence[tuple[str, str, str]],
    extra_rows: Sequence[Opaque],
) -> Transcript:
    builder = Builder(source)
    for note in notes:
        builder.odd(*note)
    if base and not any(_says(entry.item, base) for entry in entries[:_OPENING]):
        builder.add("system", [Text(base)], where="session_meta")
    for entry in entries:
        item = as_object(entry.item)
        if entry.usage:
            builder.count(entry.usage)
        else:
            note = item is not None and item.get("role") == "user" and _is_note(item)
            add_item(
                builder, entry.item, entry.where, time=entry.time, as_note=note, shown=_plain_output(item)
            )
    return builder.finish(NAME, model, extra_rows)


def _says(value: object, text: str) -> bool:
    """Whether an item says the session's instructions itself, as newer versions have it."""
    item = as_object(value) or {}
    if item.get("role") not in ("developer", "system"):
        return False
    blocks = as_list(item.get("content")) or [{"text": item.get("content")}]
    said = "".join(as_text((as_object(block) or {}).get("text")) for block in blocks)
    return said.strip() == text.strip()


def _renamed(item: JsonObject) -> JsonObject:
    name = _OLD_NAMES.get(as_text(item.get("type")))
    return item | {"type": name} if name else item


def _is_note(item: JsonObject) -> bool:
    blocks = as_list(item.get("content")) or [{"text": item.get("content")}]
    texts = [as_text((as_object(block) or {}).get("text")) for block in blocks]
    rules = rules_for(NAME)
    return any(texts) and all(map(rules.is_all, texts))


def _compaction(where: str, payload: JsonObject, entries: Sequence[_Entry]) -> tuple[str, str, str]:
    before = next((entry.usage for entry in reversed(entries) if entry.usage), None)
    told = f" ({before.input + before.output} tokens before)" if before else ""
    replaced = as_list(payload.get("replacement_history"))
    by = "a summary" if replaced is None else f"a history of {len(replaced)} items"
    return "compaction", where, f"the conversation was compacted here{told}; the model goes on from {by}"


def _replacement(payload: JsonObject) -> list[object]:
    """What the model sees from a compaction on: without a history, the summary as the assistant's word."""
    replaced = as_list(payload.get("replacement_history"))
    if replaced is not None:
        return [_renamed(item) if isinstance(item, dict) else item for item in replaced]
    summary = as_text(payload.get("message"))
    content = [{"type": "output_text", "text": summary}]
    return [{"type": "message", "role": "assistant", "content": content}] if summary else []


def _without_turns(entries: Sequence[_Entry], turns: object) -> list[_Entry]:
    """The entries before the last `turns` of the user."""
    starts = [number for number, entry in enumerate(entries) if entry.is_prompt]
    count = turns if isinstance(turns, int) and turns > 0 else 0
    if not count or not starts:
        return list(entries)
    return list(entries[: starts[max(0, len(starts) - count)]])


def _plain_output(item: JsonObject | None) -> JsonObject | None:
    """An output that is packed as JSON with its exit code, as plain text; None if it is not so packed."""
    packed = (item or {}).get("output")
    if item is None or not isinstance(packed, str) or not packed.startswith("{"):
        return None
    try:
        told = as_object(parse(packed)) or {}
    except (json.JSONDecodeError, RecursionError):
        return None
    output, metadata = told.get("output"), as_object(told.get("metadata"))
    if not isinstance(output, str) or metadata is None or len(told) != 2 or not metadata.keys() <= _SHELL:
        return None
    code = metadata.get("exit_code")
    if code in (0, None):
        return item | {"output": output}
    ending = {"type": "input_text", "text": f"exit code {as_text(code)}"}
    return item | {"output": [{"type": "input_text", "text": output}, ending], "status": "failed"}
