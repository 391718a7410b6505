"""Qwen Code's sessions: rows as Claude Code's, with `uuid` and `parentUuid`, around Gemini's messages.

Source: the recording service of QwenLM/qwen-code, looked up 2026-11. Sessions of its first versions are
Gemini CLI's documents, and read as these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from snapshot.messages import Opaque, Origin, Role, Transcript, Usage
from snapshot.transcripts.formats._claude_branches import branches_of, told
from snapshot.transcripts.formats._claude_code import Row
from snapshot.transcripts.formats.gemini import PartReader, is_response
from snapshot.transcripts.io import jsonl
from snapshot.transcripts.io.harness import Rules, rules_for
from snapshot.transcripts.io.json_values import JsonObject, as_list, as_object, as_text, compact, quoted
from snapshot.transcripts.io.source import Sample, Source
from snapshot.transcripts.reading.build import Builder
from snapshot.transcripts.reading.parents import mended
from snapshot.transcripts.reading.parts import by_speaker, raw_of
from snapshot.transcripts.reading.threads import Conversation, Detection, Thread, first_words, title_of

NAME = "qwen-code"

_KEYS = frozenset({"uuid", "parentUuid", "sessionId", "type"})
_SAID = frozenset({"user", "assistant", "tool_result"})


def detect(sample: Sample) -> Detection | None:
    """How sure it is that this is such a session: Claude Code's rows with parts in the messages."""
    rows = [row for row in sample.rows if row.keys() >= _KEYS]
    said = [row for row in rows if as_text(row["type"]) in _SAID]
    hits = sum(as_list((as_object(row.get("message")) or {}).get("parts")) is not None for row in said)
    if not hits:
        return None
    reason = f"{hits} of {len(said)} messages in rows with a parentUuid have parts"
    return Detection(NAME, 0.98 * hits / len(said) * len(rows) / len(sample.rows), reason)


def threads(source: Source) -> Sequence[Thread]:
    """The main thread, the branches that were left by going back, and one thread for each subagent."""
    log = _Log(rules_for(NAME, source.harness))
    for where, row in jsonl.rows(source):
        log.take(where, row)
    rows, side, extra_rows, notes = log.rows, log.side, log.extra_rows, log.notes
    if not rows and not side:
        raise source.error("no message in it: expected rows with a `message` of parts")
    parents = log.settled()
    if not rows:
        return [_side(source, name, own, extra_rows, notes) for name, own in side.items()]
    main, branches = branches_of(rows, parents)
    notes += told(branches, rows)
    for name, own in side.items():
        note = f"a row of the subagent {quoted(name)}; read it as a conversation of its own"
        notes += (("sidechain", row.where, note) for row in own)
    found = Conversation("main", log.title or main.title, main.messages, main.time, main=True)
    made = [Thread(found, partial(_read, source, partial(main.rows, rows), extra_rows, notes))]
    for branch in branches:
        found = Conversation(branch.id, branch.title, branch.messages, branch.time)
        made.append(Thread(found, partial(_read, source, partial(branch.rows, rows), [], [])))
    return made + [_side(source, name, own, [], []) for name, own in side.items()]


class _Log:
    """The rows of a session, sorted: those of the main thread with its branches, those of subagents."""

    def __init__(self, rules: Rules) -> None:
        self.rows: list[Row] = []
        self.side: dict[str, list[Row]] = {}
        self.extra_rows: list[Opaque] = []
        self.notes: list[tuple[str, str, str]] = []
        self.title = ""
        self._rules = rules
        self._parents: dict[str, str] = {}
        self._counted: Counter[str] = Counter()
        self._seen: dict[str, object] = {}

    def take(self, where: str, row: JsonObject) -> None:
        """Sort a row."""
        kind, subtype, uuid = (as_text(row.get(key)) for key in ("type", "subtype", "uuid"))
        payload, message = as_object(row.get("systemPayload")) or {}, as_object(row.get("message"))
        parent = as_text(row.get("parentUuid"))
        if uuid:
            self._parents.setdefault(uuid, parent)
        self.title = as_text(payload.get("customTitle")) or self.title
        if kind in _SAID and message is not None:
            held = {**message, "model": row.get("model"), "usageMetadata": row.get("usageMetadata")}
            speaks = "note" if kind == "user" and subtype in self._rules.notes else kind
        elif subtype == "chat_compression" and as_list(payload.get("compressedHistory")) is not None:
            held, speaks = payload, "boundary"
        else:
            self._counted[subtype or kind] += 1
            self.extra_rows.append(Opaque(subtype or kind, compact(row)))
            if kind not in (*_SAID, "system"):
                note = f"a row of type {quoted(row.get('type'))} is not known; kept aside"
                self.notes.append(("unknown-row", where, note))
            return
        if uuid and self._seen.get(uuid) == held:
            self.notes.append(("repeated-row", where, "a row that was appended again; left out"))
            return
        if uuid in self._seen:
            note = "a row has the id of an earlier one and says something else; both are kept"
            self.notes.append(("rewritten-row", where, note))
        if uuid:
            self._seen[uuid] = held
        found = Row(where, speaks, uuid, parent, as_text(row.get("timestamp")), held)
        agent = as_text(row.get("agentId")) or ("sidechain" if row.get("isSidechain") is True else "")
        (self.side.setdefault(agent, []) if agent else self.rows).append(found)

    def settled(self) -> dict[str, str]:
        """The tree without circles; tells what was odd."""
        parents, cut = mended(self._parents)
        circle = "its parents lead back to it; it is the first"
        self.notes += (("circle", f"row {quoted(uuid)}", circle) for uuid in cut)
        gap = "the row before it is not in the file; it stays where it stands"
        self.notes += (
            ("no-parent", row.where, gap) for row in self.rows if row.parent and row.parent not in parents
        )
        if self._counted:
            listed = ", ".join(f"{count} {kind}" for kind, count in sorted(self._counted.items()))
            note = f"rows without a message, kept extra_rows: {listed}"
            self.notes.append(("bookkeeping", "whole file", note))
        return parents


def _side(
    source: Source,
    name: str,
    rows: Sequence[Row],
    extra_rows: Sequence[Opaque],
    notes: Sequence[tuple[str, str, str]],
) -> Thread:
    words = next((first_words(row.message) for row in rows if row.kind == "user"), "")
    found = Conversation(name, title_of(words), len(rows), rows[-1].time)
    return Thread(found, partial(_read, source, lambda: rows, extra_rows, notes))


def _read(
    source: Source,
    rows: Callable[[], Sequence[Row]],
    extra_rows: Sequence[Opaque],
    notes: Sequence[tuple[str, str, str]],
) -> Transcript:
    builder = Builder(source)
    for note in notes:
        builder.odd(*note)
    reader = PartReader(builder)
    listed = list(rows())
    model = next(
        (as_text(row.message.get("model")) for row in reversed(listed) if row.message.get("model")), ""
    )
    if source.as_sent:
        listed = _since_compaction(listed)
    for row in listed:
        if row.kind == "boundary":
            info = as_object(row.message.get("info")) or {}
            before = as_text(info.get("originalTokenCount"))
            facts = f" ({before} tokens before)" if before else ""
            note = f"the conversation was compacted here{facts}; all of it is kept"
            builder.odd("compaction", row.where, note)
        else:
            _say(builder, reader, row)
    return builder.finish(NAME, model, extra_rows)


def _since_compaction(rows: list[Row]) -> list[Row]:
    last = max((n for n, row in enumerate(rows) if row.kind == "boundary"), default=-1)
    if last < 0:
        return rows
    contents = map(as_object, as_list(rows[last].message.get("compressedHistory")) or ())
    kept = [
        Row(rows[last].where, "assistant" if content.get("role") == "model" else "user", "", "", "", content)
        for content in contents
        if content is not None
    ]
    return [*kept, *rows[last + 1 :]]


def _say(builder: Builder, reader: PartReader, row: Row) -> None:
    message = {key: row.message[key] for key in ("role", "parts") if key in row.message}
    role: Role = "assistant" if row.kind == "assistant" else "system" if row.kind == "note" else "user"
    origin: Origin = "harness" if row.kind == "note" else ""
    usage = _usage(as_object(row.message.get("usageMetadata")) or {}) if role == "assistant" else None
    runs = by_speaker(role, reader.parts(message.get("parts"), row.where))
    for speaker, parts in runs:
        raw = raw_of(message, "parts", is_response, speaker, len(runs))
        builder.add(
            speaker,
            parts,
            where=row.where,
            message_id=row.uuid,
            time=row.time,
            usage=usage,
            raw=raw,
            origin=origin if speaker == role else "",
        )
        usage = None


def _usage(counts: JsonObject) -> Usage | None:
    prompt, output, thoughts = (
        n if isinstance(n := counts.get(key), int) and not isinstance(n, bool) and n > 0 else 0
        for key in ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount")
    )
    return Usage(prompt, output + thoughts) if prompt or output else None
