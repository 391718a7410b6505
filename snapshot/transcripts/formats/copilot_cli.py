"""Copilot CLI's sessions: `session-state/ID/events.jsonl`, one event a line.

Source: the event types of github/copilot-sdk and logs in public repositories, looked up 2026-11. An event is
`{type, data, id, timestamp, parentId}`; messages and results are whole in one event, the others tell of the
run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from snapshot.messages import (
    File,
    Image,
    Opaque,
    Origin,
    Part,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Transcript,
    Usage,
)
from snapshot.transcripts.io import jsonl
from snapshot.transcripts.io.harness import Rules, rules_for
from snapshot.transcripts.io.json_values import JsonObject, as_list, as_object, as_text, compact, quoted
from snapshot.transcripts.io.source import Sample, Source
from snapshot.transcripts.reading.build import Builder
from snapshot.transcripts.reading.parts import ANY_FILE, ANY_IMAGE, bad_base64, decoded
from snapshot.transcripts.reading.threads import Conversation, Detection, Thread, title_of

NAME = "copilot-cli"

# What the events of a run are named by, before the first dot.
_RUN = frozenset(
    {
        "abort", "assistant", "auto_mode_switch", "canvas", "capabilities", "command", "commands",
        "custom_agents", "elicitation", "exit_plan_mode", "extensions", "external_tool", "factory", "fusion",
        "hook", "mcp", "model", "pending_messages", "permission", "result", "sampling", "session", "skill",
        "subagent", "system", "task", "tool", "tools", "user_input",
    }
)  # fmt: skip
_SAID = frozenset(
    {
        "assistant.message", "assistant.reasoning", "assistant.usage", "session.compaction_complete",
        "system.message", "system.notification", "tool.execution_complete", "tool.execution_start",
        "user.message",
    }
)  # fmt: skip

Event = tuple[str, JsonObject]


def detect(sample: Sample) -> Detection | None:
    """How sure it is that this is such a log."""
    known = [row for row in sample.rows if _is_event(row)]
    if not any(as_text(row["type"]) in _SAID or row["type"] == "session.start" for row in known):
        return None
    reason = f"{len(known)} of the first {len(sample.rows)} rows are events of a run with their data"
    return Detection(NAME, 0.97 * len(known) / len(sample.rows), reason)


def _is_event(row: JsonObject) -> bool:
    kind = as_text(row.get("type"))
    named = kind.partition(".")[0] in _RUN or kind == "user.message"
    return named and ("data" in row or "ephemeral" in row)


def threads(source: Source) -> Sequence[Thread]:
    """The main thread, what was taken back, and one thread for each subagent, under its call or its id."""
    main: list[Event] = []
    ids: set[str] = set()
    side: dict[str, list[Event]] = {}
    undone: list[list[Event]] = []
    extra_rows: list[Opaque] = []
    notes: list[tuple[str, str, str]] = []
    counted: Counter[str] = Counter()
    session = model = ""
    for where, row in jsonl.rows(source):
        kind, data = as_text(row.get("type")), as_object(row.get("data")) or {}
        session = session or (as_text(data.get("sessionId")) if kind == "session.start" else "")
        model = as_text(data.get("newModel") or data.get("selectedModel") or data.get("model")) or model
        if kind == "session.snapshot_rewind":
            undone.append(_take_back(main, ids, as_text(data.get("upToEventId"))))
            note = f'turns were taken back here; read them as conversation "rewound-{len(undone)}"'
            notes.append(("branch", where, note))
        if kind in _SAID:
            agent = as_text(row.get("agentId") or data.get("parentToolCallId"))
            (side.setdefault(agent, []) if agent else main).append((where, row))
            ids.update([] if agent else [as_text(row.get("id"))])
            continue
        extra_rows.append(Opaque(kind, compact(row)))
        if kind.partition(".")[0] in _RUN:
            counted[kind] += 1
        else:
            note = f"an event of type {quoted(row.get('type'))} is not known; kept aside"
            notes.append(("unknown-row", where, note))
    if not main and not side and not undone:
        raise source.error("no message in it: expected events such as user.message, each with its data")
    for agent, events in side.items():
        note = f"an event of the subagent {quoted(agent)}; read it as a conversation of its own"
        notes += (("sidechain", where, note) for where, _ in events)
    if counted:
        told = ", ".join(f"{count} {kind}" for kind, count in sorted(counted.items()))
        notes.append(("bookkeeping", "whole file", f"events without a message, kept extra_rows: {told}"))

    def thread(name: str, events: Sequence[Event], *, is_main: bool = False) -> Thread:
        asked = (as_object(row.get("data")) or {} for _, row in events if row.get("type") == "user.message")
        words = next((as_text(data.get("content")) for data in asked), "")
        count = sum(row.get("type") in ("user.message", "assistant.message") for _, row in events)
        time = next((as_text(row["timestamp"]) for _, row in reversed(events) if row.get("timestamp")), "")
        known = (extra_rows, notes) if is_main else ([], [])
        read = partial(_read, source, events, model, *known)
        return Thread(Conversation(name, title_of(words), count, time, is_main), read)

    made = [thread(session or "main", main, is_main=True)]
    made += (thread(f"rewound-{number}", events) for number, events in enumerate(undone, 1))
    return made + [thread(agent, events) for agent, events in side.items()]


def _take_back(events: list[Event], ids: set[str], first: str) -> list[Event]:
    """Take the event `first` and all behind it away, if it is one of `ids`, those of the events."""
    gone: list[Event] = []
    while first in ids and events:
        gone.append(events.pop())
        ids.discard(as_text(gone[-1][1].get("id")))
    return gone[::-1]


def _read(
    source: Source,
    events: Sequence[Event],
    model: str,
    extra_rows: Sequence[Opaque],
    notes: Sequence[tuple[str, str, str]],
) -> Transcript:
    builder = Builder(source)
    for note in notes:
        builder.odd(*note)
    rules = rules_for(NAME, source.harness)
    shown = _since_compaction(events) if source.as_sent else events
    reader = _Reader(builder, rules, as_sent=source.as_sent)
    for where, row in shown:
        reader.read(where, row)
    reader.end()
    return builder.finish(NAME, model, extra_rows)


def _since_compaction(events: Sequence[Event]) -> Sequence[Event]:
    """What the model is sent: the system's words, the newest summary, and what follows it."""
    at = max((n for n, (_, row) in enumerate(events) if _summary(row)), default=0)
    return [event for event in events[:at] if event[1].get("type") == "system.message"] + list(events[at:])


def _summary(row: JsonObject) -> str:
    if row.get("type") != "session.compaction_complete":
        return ""
    return as_text((as_object(row.get("data")) or {}).get("summaryContent"))


class _Reader:
    """Adds events to a conversation."""

    def __init__(self, builder: Builder, rules: Rules, *, as_sent: bool) -> None:
        self._builder = builder
        self._rules = rules
        self._as_sent = as_sent
        self._thoughts: list[str] = []
        self._called: set[str] = set()

    def read(self, where: str, row: JsonObject) -> None:
        data, time = as_object(row.get("data")) or {}, as_text(row.get("timestamp"))
        message_id = as_text(data.get("messageId")) or as_text(row.get("id"))
        kind = row.get("type")
        add = partial(self._builder.add, where=where, time=time, message_id=message_id)
        if kind == "user.message":
            self._asked(add, data, where)
        elif kind == "assistant.message":
            parts = [*self._reasoning(data), *self._said(data)]
            add("assistant", parts)
        elif kind == "assistant.reasoning":
            self._thoughts.append(as_text(data.get("content")))
        elif kind == "assistant.usage":
            self._builder.count(_usage(data))
        elif kind == "tool.execution_start" and as_text(data.get("toolCallId")) not in self._called:
            add("assistant", [self._call(data, "toolName")])  # what the user asked for without the model
        elif kind == "tool.execution_complete":
            add("tool", [self._result(data, where)])
        elif kind in ("system.message", "system.notification"):
            words = as_text(data.get("content"))
            add("system", [Text(words)] if words else [], origin="harness" if "notif" in kind else "")
        elif kind == "session.compaction_complete":
            before = as_text(data.get("preCompactionTokens"))
            told = f" ({before} tokens before)" if before else ""
            summary = as_text(data.get("summaryContent"))
            if not self._as_sent:
                note = f"the conversation was compacted here{told}; all of it is kept"
                self._builder.odd("compaction", where, note)
            if summary:
                add("user" if self._as_sent else "system", [Text(summary)], origin="harness")

    def end(self) -> None:
        """Thoughts behind which nothing was said."""
        if self._thoughts:
            self._builder.add("assistant", self._reasoning({}), where="the end")

    def _asked(self, add: partial[None], data: JsonObject, where: str) -> None:
        said_by = as_text(data.get("source"))
        notes = self._rules.notes
        by_harness = said_by in notes or said_by.partition("-")[0] in notes
        role: Role = "system" if by_harness and not self._as_sent else "user"
        origin: Origin = "harness" if by_harness else ""
        sent = as_text(data.get("transformedContent")) if self._as_sent else ""
        words = sent or as_text(data.get("content"))
        parts: list[Part] = [Text(words)] if words else []
        for value in as_list(data.get("attachments")) or ():
            parts += self._attached(as_object(value) or {"type": None, "data": value}, where)
        add(role, parts, origin=origin)

    def _attached(self, value: JsonObject, where: str) -> Iterator[Part]:
        kind, path = as_text(value.get("type")), as_text(value.get("path") or value.get("filePath"))
        name = as_text(value.get("displayName")) or path.rpartition("/")[2]
        media_type, payload = as_text(value.get("mimeType")), value.get("data")
        if kind == "blob" and payload is not None:
            data = decoded(payload)
            if not data:
                yield from bad_base64(self._builder, value, kind, where)
            elif media_type.startswith("image/"):
                yield Image(media_type, data)
            else:
                yield File(name, media_type or ANY_FILE, data)
        elif kind == "selection" and isinstance(value.get("text"), str):
            yield File(name, "text/plain", text=as_text(value["text"]), source=path)
        elif kind in ("file", "directory", "selection") and path:
            yield File(name, media_type or ANY_FILE, source=path)
        else:
            yield Opaque(kind or "attachment", compact(value))

    def _reasoning(self, data: JsonObject) -> Iterator[Part]:
        own, sealed = as_text(data.get("reasoningText")), data.get("reasoningOpaque")
        texts = self._thoughts or ([own] if own else [])
        if own and own not in texts:
            texts = [*texts, own]
        signature = sealed if isinstance(sealed, str) else None
        if signature and not texts:
            texts = [""]
        for number, text in enumerate(texts, 1):
            yield Reasoning(text, signature if number == len(texts) else None)
        self._thoughts = []

    def _said(self, data: JsonObject) -> Iterator[Part]:
        words = as_text(data.get("content"))
        if words:
            yield Text(words)
        for value in as_list(data.get("toolRequests")) or ():
            yield self._call(as_object(value) or {"name": value}, "name")

    def _call(self, data: JsonObject, name: str) -> ToolCall:
        call_id = self._builder.ids.text(data.get("toolCallId"))
        self._called.add(as_text(data.get("toolCallId")))
        return ToolCall(call_id, as_text(data.get(name)), as_text(data.get("arguments")))

    def _result(self, data: JsonObject, where: str) -> ToolResult:
        result, error = data.get("result"), as_object(data.get("error")) or {}
        held = as_object(result)
        words = as_text(result if held is None else held.get("content"))
        content: list[Text | Image | Opaque] = [Text(words)] if words else []
        for value in as_list((held or {}).get("contents")) or ():
            block = as_object(value) or {}
            if block.get("type") == "image":
                picture = decoded(block.get("data"))
                media_type = as_text(block.get("mimeType")) or ANY_IMAGE
                found = [Image(media_type, picture)] if picture else []
                content += found or [Opaque("image", compact(block))]
            elif block.get("type") not in ("text", "terminal", "shell_exit", "resource", "resource_link"):
                self._builder.odd(
                    "unknown-part", where, "a block of a result is of no known type; kept whole"
                )
                content.append(Opaque(as_text(block.get("type")) or "block", compact(value)))
        failed = data.get("success") is False
        if not content and error:
            content.append(Text(as_text(error.get("message")) or compact(error)))
        return ToolResult(self._builder.ids.text(data.get("toolCallId")), tuple(content), failed)


def _usage(data: JsonObject) -> Usage | None:
    prompt, read, written, output = (
        n if isinstance(n := data.get(key), int) and not isinstance(n, bool) and n > 0 else 0
        for key in ("inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens")
    )
    if prompt < read + written:  # some services count what is cached beside the rest
        prompt += read + written
    return Usage(prompt, output) if prompt or output else None
