"""Gemini CLI's sessions: `chats/session-*.json` and, newer, `.jsonl` with records that replace earlier ones.

Source: the recording service and its types in google-gemini/gemini-cli, looked up 2026-11. A line is a
message (one of an id that stood before is its newer state), `$set` with facts of the session, or `$rewindTo`
with the first message that was taken back. Older versions wrote the whole session as one document.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from snapshot.messages import Opaque, Part, Reasoning, Text, ToolCall, ToolResult, Transcript, Usage
from snapshot.transcripts.formats.gemini import PartReader
from snapshot.transcripts.io import jsonl
from snapshot.transcripts.io.json_values import JsonObject, as_list, as_object, as_text, compact, quoted
from snapshot.transcripts.io.source import MISSING, Sample, Source
from snapshot.transcripts.reading.build import Builder
from snapshot.transcripts.reading.threads import Conversation, Detection, Thread, first_words, title_of

NAME = "gemini-cli"

_SESSION = frozenset({"sessionId", "projectHash"})
_SAID = frozenset({"user", "gemini"})
_SHOWN = frozenset({"info", "error", "warning"})  # on the screen alone
_FAILED = frozenset({"error", "cancelled"})

Record = tuple[str, JsonObject]


def detect(sample: Sample) -> Detection | None:
    """How sure it is that this is such a session."""
    document = as_object(sample.document)
    if document is not None and document.keys() >= _SESSION and as_list(document.get("messages")) is not None:
        return Detection(NAME, 0.98, "a session with a projectHash and its messages")
    rows = sample.rows if sample.document is MISSING else ()
    if not any(row.keys() >= _SESSION and "type" not in row for row in rows):
        return None
    known = sum(bool({"$set", "$rewindTo", "projectHash"} & row.keys()) or _is_record(row) for row in rows)
    reason = f"{known} of the first {len(rows)} rows are records of a session with a projectHash"
    return Detection(NAME, 0.98 * known / len(rows), reason)


def _is_record(row: JsonObject) -> bool:
    return "id" in row and "content" in row and as_text(row.get("type")) in _SAID | _SHOWN


def threads(source: Source) -> Sequence[Thread]:
    """The session, and what was taken back as conversations of their own."""
    if source.damage is not None:
        raise source.damage
    facts: JsonObject = {}
    records: dict[str, Record] = {}
    undone: list[list[Record]] = []
    extra_rows: list[Opaque] = []
    notes: list[tuple[str, str, str]] = []
    for number, (where, row) in enumerate(_rows(source)):
        back, changes = row.get("$rewindTo"), as_object(row.get("$set"))
        if isinstance(back, str):
            undone.append(_take_back(records, back))
            note = f'messages were taken back here; read them as conversation "rewound-{len(undone)}"'
            notes.append(("branch", where, note))
        elif changes is not None:
            facts |= changes
        elif "type" not in row and "sessionId" in row:
            facts |= row
        else:
            records[as_text(row.get("id")) or f"\0{number}"] = where, row
    listed = as_list(facts.pop("messages", None))
    for number, value in enumerate(listed or (), 1):  # the whole session, as one document or as one change
        record = as_object(value) or {"type": None, "content": value}
        records[as_text(record.get("id")) or f"\0{number}"] = f"message {number}", record
    kinds = {as_text(record.get("type")) for _, record in records.values()}
    if not facts and not undone and kinds.isdisjoint(_SAID | _SHOWN):
        raise source.error("no message in it: expected `messages`, or lines that are messages")
    if facts:
        extra_rows.append(Opaque("session", compact(facts)))

    def thread(name: str, said: Sequence[Record], *, main: bool = False) -> Thread:
        words = next((first_words(record) for _, record in said if record.get("type") == "user"), "")
        title = as_text(facts.get("summary")) if main else ""
        times = [as_text(record.get("timestamp")) for _, record in said]
        count = sum(as_text(record.get("type")) in _SAID for _, record in said)
        time = next(filter(None, reversed(times)), "")
        read = partial(_read, source, said, extra_rows if main else [], notes if main else [])
        return Thread(Conversation(name, title or title_of(words), count, time, main), read)

    main = thread(as_text(facts.get("sessionId")) or "main", list(records.values()), main=True)
    return [main, *(thread(f"rewound-{number}", said) for number, said in enumerate(undone, 1))]


def _rows(source: Source) -> Iterator[Record]:
    document = as_object(source.document)
    if document is not None:
        yield "session", document
    else:
        yield from jsonl.rows(source)


def _take_back(records: dict[str, Record], first: str) -> list[Record]:
    """Take the message `first` and all behind it out of `records`; all, if there is no such message."""
    gone: list[Record] = []
    last = ""
    while records and (not gone or last != first):
        last, record = records.popitem()
        gone.append(record)
    return gone[::-1]


def _read(
    source: Source,
    records: Sequence[Record],
    extra_rows: Sequence[Opaque],
    notes: Sequence[tuple[str, str, str]],
) -> Transcript:
    builder = Builder(source)
    for note in notes:
        builder.odd(*note)
    parts = PartReader(builder)
    kept = list(extra_rows)
    counted: Counter[str] = Counter()
    model = ""
    for where, record in records:
        kind, time, message_id = (as_text(record.get(key)) for key in ("type", "timestamp", "id"))
        if kind == "user":
            said = parts.parts(record.get("content"), where)
            builder.add("user", said, where=where, message_id=message_id, time=time)
        elif kind == "gemini":
            model = as_text(record.get("model")) or model
            calls = [call for value in as_list(record.get("toolCalls")) or () if (call := as_object(value))]
            said = [*_thoughts(record), *parts.parts(record.get("content"), where)]
            ids = [builder.ids.text(call.get("id")) or builder.ids.invent("function_call") for call in calls]
            for call_id, call in zip(ids, calls, strict=True):
                said.append(ToolCall(call_id, as_text(call.get("name")), as_text(call.get("args"))))
            usage = _usage(as_object(record.get("tokens")) or {})
            builder.add("assistant", said, where=where, message_id=message_id, time=time, usage=usage)
            results = [
                _result(call_id, call, parts, where)
                for call_id, call in zip(ids, calls, strict=True)
                if call.get("result") is not None or as_text(call.get("status")) in _FAILED
            ]
            if results:
                builder.add("tool", results, where=where, time=time)
        elif kind in _SHOWN:
            counted[kind] += 1
            kept.append(Opaque(kind, compact(record)))
        else:
            note = f"a message of type {quoted(record.get('type'))} is not known; kept aside"
            builder.odd("unknown-row", where, note)
            kept.append(Opaque(kind or "message", compact(record)))
    if counted:
        told = ", ".join(f"{count} {kind}" for kind, count in sorted(counted.items()))
        builder.odd("bookkeeping", "whole file", f"notes on the screen, kept extra_rows: {told}")
    return builder.finish(NAME, model, kept)


def _thoughts(record: JsonObject) -> Iterator[Part]:
    for value in as_list(record.get("thoughts")) or ():
        thought = as_object(value) or {"description": value}
        words = [as_text(thought.get(key)).strip() for key in ("subject", "description")]
        yield Reasoning("\n".join(filter(None, words)))


def _result(call_id: str, call: JsonObject, parts: PartReader, where: str) -> ToolResult:
    """What came back: responses of the API's form, or whatever stands in their place."""
    content: list[Part] = []
    failed = as_text(call.get("status")) in _FAILED
    for part in parts.parts(call.get("result"), where):
        if isinstance(part, ToolResult):
            content += part.content
            failed = failed or part.is_error
        else:
            content.append(part)
    if not content and failed:
        content.append(Text(as_text(call.get("resultDisplay")) or as_text(call.get("status"))))
    kept = tuple(p for p in content if not isinstance(p, ToolCall | ToolResult | Reasoning))
    return ToolResult(call_id, kept, failed)


def _usage(tokens: Mapping[str, object]) -> Usage | None:
    prompt, output, thoughts = (
        n if isinstance(n := tokens.get(key), int) and not isinstance(n, bool) and n > 0 else 0
        for key in ("input", "output", "thoughts")
    )
    return Usage(prompt, output + thoughts) if prompt or output else None
