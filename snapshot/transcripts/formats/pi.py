"""Sessions of pi and omp: a header, then entries with ids that form a tree."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace

from snapshot.messages import Image, Opaque, Origin, Part, Reasoning, Role, Text, ToolCall, Transcript, Usage
from snapshot.transcripts.io import jsonl
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
from snapshot.transcripts.reading.build import Builder
from snapshot.transcripts.reading.parents import along, mended, way
from snapshot.transcripts.reading.parts import ANY_IMAGE, decoded, read_content, read_result, read_text
from snapshot.transcripts.reading.threads import Conversation, Detection, Thread, first_words, title_of
from snapshot.transcripts.reading.times import known_time

NAME = "pi"

_STATE = frozenset(
    {
        "context_edit",
        "custom",
        "label",
        "mode_change",
        "model_change",
        "reset_boundary",
        "service_tier_change",
        "session",
        "session_info",
        "session_init",
        "thinking_level_change",
        "title",
        "ttsr_injection",
        "usage",
    }
)
# The log of one run (`--mode json`) has events behind the header; a message is whole in that of its end.
_EVENTS = frozenset(
    {
        "agent_end",
        "agent_start",
        "message_start",
        "message_update",
        "tool_execution_end",
        "tool_execution_start",
        "tool_execution_update",
        "turn_end",
        "turn_start",
    }
)
_ENDED = "message_end"
# Titles, by the entry and its field.
_TITLES = {"session_info": "name", "title": "title"}
# How a summary begins when it is sent, in pi's words.
_COMPACTED = "The conversation history before this point was compacted into the following summary:"
_BRANCHED = "The following is a summary of a branch that this conversation came back from:"
_LEADS = {
    "compaction": _COMPACTED, "compactionSummary": _COMPACTED,
    "branch_summary": _BRANCHED, "branchSummary": _BRANCHED,
}  # fmt: skip
_SAID = frozenset({"branch_summary", "compaction", "custom_message", "message"})


def detect(sample: Sample) -> Detection | None:
    """How sure it is that this is such a file."""
    if not sample.rows:
        return None
    first = sample.rows[0]
    known = [row for row in sample.rows if as_text(row.get("type")) in _STATE | _SAID | _EVENTS | {_ENDED}]
    hits = sum("id" in row and "parentId" in row for row in known)
    if first.get("type") == "session" and ("version" in first or "cwd" in first):
        reason = f"a session header, and {hits} entries with id and parentId behind it"
        return Detection(NAME, 0.97 if 2 * len(known) > len(sample.rows) else 0.3, reason)
    if not hits:
        return None
    reason = f"{hits} of the first {len(sample.rows)} rows are entries with id and parentId"
    return Detection(NAME, 0.93 * hits / len(sample.rows), reason)


@dataclass(frozen=True, slots=True)
class _Entry:
    """An entry of the tree; `row` is its own words, or those that a compaction kept a copy of."""

    where: str
    id: str
    parent: str
    kind: str
    time: str
    row: JsonObject


def threads(source: Source) -> Sequence[Thread]:
    """One conversation for each leaf, under the leaf's id; every other entry can be chosen as a leaf too.

    The main one is that of the last entry. Its whole history is the way from the root; what the model is
    sent is the newest compaction on that way, what it kept, and what follows.
    """
    entries, name = _entries(source)
    if not entries:
        raise source.error("there is no entry in it, only a header; nothing was said in this session")
    tree = {entry.id: entry for entry in entries}
    parents = _parents(source, entries)
    last = entries[-1].id
    listed = _leaves(entries, parents) | {last}
    told = along(parents, {entry.id: _told(entry) for entry in entries}, _Told.then)

    def thread(leaf: _Entry) -> Thread:
        here = told[leaf.id]
        title = name if leaf.id == last and name else title_of(here.words)
        found = Conversation(leaf.id, title, here.said, here.time, main=leaf.id == last)

        def read() -> Transcript:
            path = [tree[step] for step in reversed(way(leaf.id, parents)) if step in tree]
            state = [e for e in (entries if leaf.id == last else path) if e.kind not in _SAID]
            return _read(source, path, state, tree)

        return Thread(found, read, listed=leaf.id in listed)

    return [thread(entry) for entry in entries]


def _parents(source: Source, entries: Sequence[_Entry]) -> dict[str, str]:
    """The tree. Where a parent is missing, or in a circle, an entry follows the one before it in the file."""
    known = {entry.id for entry in entries}
    linked = {entry.id: entry.parent for entry in entries}
    _, cut = mended(linked)
    torn = dict.fromkeys(cut, "circle") | {
        entry.id: "no-parent" for entry in entries if entry.parent and entry.parent not in known
    }
    before = ""
    for entry in entries:
        if entry.id in torn and before:
            what = "is not in the file" if torn[entry.id] == "no-parent" else "leads back to it"
            note = f"the parent of an entry {what}; it follows the one before it"
            source.odd.append((torn[entry.id], entry.where, note))
            linked[entry.id] = before
        elif entry.id in torn and torn[entry.id] == "circle":
            note = "the parent of an entry leads back to it; it is the first"
            source.odd.append(("circle", entry.where, note))
            linked[entry.id] = ""
        before = entry.id
    return mended(linked)[0]


def _leaves(entries: Sequence[_Entry], parents: dict[str, str]) -> set[str]:
    """The ends of the tree, one for each last word: a note of the harness beside the talk is no branch."""
    inner = set(parents.values())
    anchors = along(
        parents, {e.id: e.id if e.kind in _SAID else "" for e in entries}, lambda above, here: here or above
    )
    answered: set[str] = set()
    for entry in entries:
        if entry.kind in _SAID:
            answered.update(way(entry.parent, parents, ends=answered))
    ends = {
        anchors[e.id]: e.id
        for e in entries
        if e.id not in inner and anchors[e.id] and anchors[e.id] not in answered
    }
    return set(ends.values())


@dataclass(frozen=True, slots=True)
class _Told:
    """How much was said up to an entry, the user's first words, and the time of the last."""

    said: int
    words: str
    time: str

    def then(self, more: _Told) -> _Told:
        """What is told up to an entry behind this one."""
        return _Told(self.said + more.said, self.words or more.words, more.time or self.time)


def _told(entry: _Entry) -> _Told:
    said = entry.kind in _SAID
    message = as_object(entry.row.get("message")) if entry.kind == "message" else None
    words = first_words(message) if message and message.get("role") == "user" else ""
    return _Told(int(said), words, entry.time if said else "")


def _entries(source: Source) -> tuple[list[_Entry], str]:
    """The entries in the order of the file, and the session's name."""
    entries: list[_Entry] = []
    title = before = ""
    taken: set[str] = set()
    for number, (where, row) in enumerate(jsonl.rows(source)):
        kind, entry_id = as_text(row.get("type")), as_text(row.get("id"))
        if (kind == "session" and number == 0) or kind in _EVENTS:
            continue
        kind = "message" if kind == _ENDED else kind
        if kind in _TITLES:
            title = as_text(row.get(_TITLES[kind])) or title
        if kind not in _STATE | _SAID:
            note = f"an entry of type {quoted(row.get('type'))} is not known; kept aside"
            source.odd.append(("unknown-row", where, note))
        parent = as_text(row.get("parentId"))
        if not entry_id or entry_id in taken:  # version 1 has no ids, and is a line
            if entry_id:
                note = "an entry has the id of an earlier one; it follows the one before it"
                source.odd.append(("repeated-id", where, note))
            entry_id, parent = f"{entry_id or 'entry'}#{number}", before
        taken.add(entry_id)
        before = entry_id
        entries.append(_Entry(where, entry_id, parent, kind, known_time(row.get("timestamp")), row))
    return entries, title


def _read(
    source: Source, path: Sequence[_Entry], state: Sequence[_Entry], tree: Container[str]
) -> Transcript:
    builder = Builder(source)
    if path and path[0].parent and path[0].parent not in tree:
        builder.odd("no-parent", path[0].where, "the entry before it is not in the file; read from here on")
    reader = _Reader(builder, as_sent=source.as_sent)
    for entry in _edited(_projection(builder, path), path) if source.as_sent else path:
        reader.read(entry)
    extra_rows = [*(Opaque(entry.kind, compact(entry.row)) for entry in state), *reader.extra_rows]
    return builder.finish(NAME, reader.model, extra_rows)


def _projection(builder: Builder, path: Sequence[_Entry]) -> list[_Entry]:
    """The newest compaction, what it kept, and what follows it."""
    at = max((n for n, entry in enumerate(path) if entry.kind == "compaction"), default=-1)
    if at < 0:
        return list(path)
    newest = path[at]
    tail = as_list(newest.row.get("retainedTail"))
    if tail is not None:
        copies = [as_object(item) or {} for item in tail]
        kept = [
            _Entry(
                newest.where,
                as_text(copy.get("id")),
                "",
                "message",
                newest.time,
                copy if "message" in copy else {"message": copy},
            )
            for copy in copies
        ]
    else:
        first = as_text(newest.row.get("firstKeptEntryId"))
        start = next((n for n, entry in enumerate(path[:at]) if entry.id == first), at)
        if start == at and first:
            builder.odd(
                "no-parent",
                newest.where,
                "the first entry that the compaction kept is not before it; none is kept",
            )
        kept = [entry for entry in path[start:at] if entry.kind != "compaction"]
    return [newest, *kept, *path[at + 1 :]]


def _edited(entries: Sequence[_Entry], path: Sequence[_Entry]) -> list[_Entry]:
    """Entries as the newest edit of each on the way to the leaf leaves them: out, or with other content."""
    edits = {as_text(entry.row.get("targetId")): entry.row for entry in path if entry.kind == "context_edit"}
    found: list[_Entry] = []
    for entry in entries:
        edit = edits.get(entry.id)
        if edit is None:
            found.append(entry)
        elif (content := edit.get("replacement")) is not None:
            message = as_object(entry.row.get("message"))
            changed = {"content": content} if message is None else {"message": message | {"content": content}}
            found.append(replace(entry, row=entry.row | changed))
    return found


class _Reader:
    """Adds entries to a conversation."""

    def __init__(self, builder: Builder, *, as_sent: bool) -> None:
        self.model = ""
        self.extra_rows: list[Opaque] = []
        self._builder = builder
        self._as_sent = as_sent
        # What the harness says goes out as the user's word; in the history it is nobody's.
        self._harness: Role = "user" if as_sent else "system"

    def read(self, entry: _Entry) -> None:
        row, kind = entry.row, entry.kind
        if kind == "message":
            self._message(entry, as_object(row.get("message")))
        elif kind in ("compaction", "branch_summary"):
            self._summary(entry, row, compaction=kind == "compaction", lead=_LEADS[kind])
            details = {
                key: value for key, value in row.items() if key in ("details", "preserveData") and value
            }
            if details:
                self.extra_rows.append(Opaque(kind, compact(details | {"id": entry.id})))
        elif kind == "custom_message":
            self._say(self._harness, row, entry, origin="harness")
        elif kind == "model_change":
            self.model = as_text(row.get("modelId")) or self.model

    def _summary(self, entry: _Entry, row: JsonObject, *, compaction: bool, lead: str) -> None:
        if compaction and not self._as_sent:
            before = as_text(row.get("tokensBefore"))
            told = f" ({before} tokens before)" if before else ""
            self._builder.odd(
                "compaction", entry.where, f"the conversation was compacted here{told}; all of it is kept"
            )
        checkpoint = as_object(row.get("systemMessage"))
        if checkpoint is not None and self._as_sent:
            self._system(entry, checkpoint)
        summary = as_text(row.get("summary"))
        if summary:
            self._builder.add(
                self._harness,
                [Text(f"{lead}\n\n<summary>\n{summary}\n</summary>" if self._as_sent else summary)],
                where=entry.where,
                message_id=entry.id,
                time=entry.time,
                origin="harness",
            )

    def _message(self, entry: _Entry, message: JsonObject | None) -> None:
        role = (message or {}).get("role")
        if message is None:
            self._builder.add_unread(entry.row, where=entry.where)
        elif role == "user":
            self._say("user", message, entry)
        elif role == "system":
            self._system(entry, message)
        elif role == "assistant":
            self.model = as_text(message.get("model")) or self.model
            if message.get("errorMessage"):
                told = f"the answer failed: {quoted(message['errorMessage'], 200)}"
                self._builder.odd("failed-answer", entry.where, told)
            self._say("assistant", message, entry)
        elif role == "toolResult":
            call_id = self._builder.ids.text(message.get("toolCallId"))
            failed = message.get("isError") is True
            result = read_result(
                self._builder, call_id, message.get("content"), entry.where, _BLOCKS, is_error=failed
            )
            self._builder.add("tool", [result], where=entry.where, message_id=entry.id, time=entry.time)
        elif role == "bashExecution":
            if not (self._as_sent and message.get("excludeFromContext") is True):
                self._builder.add(
                    self._harness,
                    [Text(_shell(message))],
                    where=entry.where,
                    message_id=entry.id,
                    time=entry.time,
                    origin="user",
                )
        elif role in ("compactionSummary", "branchSummary"):
            self._summary(entry, message, compaction=False, lead=_LEADS[role])
        elif role in ("custom", "hookMessage"):
            self._say(self._harness, message, entry, origin="harness")
        else:
            self._builder.add_unread(message, where=entry.where)

    def _system(self, entry: _Entry, message: JsonObject) -> None:
        """The prompt in named sections, or a change of it. Tools are declared beside it, and kept aside."""
        parts = read_content(self._builder, message.get("content"), entry.where, _BLOCKS)
        sections = (as_object(message.get("sections")) or {}).values()
        parts += [Text(text) for text in sections if isinstance(text, str) and text]
        tools = {key: message[key] for key in ("toolsAdded", "toolsRemoved") if message.get(key)}
        if tools:
            self.extra_rows.append(Opaque("tools", compact(tools | {"id": entry.id})))
        if parts:
            self._builder.add("system", parts, where=entry.where, message_id=entry.id, time=entry.time)

    def _say(self, role: Role, message: JsonObject, entry: _Entry, *, origin: Origin = "") -> None:
        parts = read_content(self._builder, message.get("content"), entry.where, _BLOCKS)
        usage = _usage(message.get("usage")) if role == "assistant" else None
        self._builder.add(
            role,
            parts,
            where=entry.where,
            message_id=entry.id,
            time=entry.time,
            usage=usage,
            origin=origin,
        )


def _usage(value: object) -> Usage | None:
    counts = as_object(value) or {}
    prompt, output = (
        sum(n for key in keys if isinstance(n := counts.get(key), int) and not isinstance(n, bool) and n > 0)
        for keys in (("input", "cacheRead", "cacheWrite"), ("output",))
    )
    return Usage(prompt, output) if prompt or output else None


def _shell(message: JsonObject) -> str:
    """A command that the user ran beside the model, as a terminal shows it."""
    lines: Iterator[str] = filter(
        None,
        (
            f"$ {as_text(message.get('command'))}",
            as_text(message.get("output")),
            "(cancelled)" if message.get("cancelled") is True else "",
            f"(exit code {as_text(code)})" if (code := message.get("exitCode")) not in (None, 0) else "",
            f"(cut; the whole output is in {as_text(message['fullOutputPath'])})"
            if message.get("fullOutputPath")
            else "",
        ),
    )
    return "\n".join(lines)


def _thinking(_builder: Builder, block: JsonObject, _where: str) -> Sequence[Part]:
    text, signature = as_text(block.get("thinking")), block.get("thinkingSignature")
    if not isinstance(signature, str):
        return (Reasoning(text),)
    if block.get("redacted") is True:
        return (Opaque("redacted_thinking", compact({"type": "redacted_thinking", "data": signature})),)
    return (Reasoning(text, _seal(signature)),)


def _seal(signature: str) -> str:
    """What a service sealed: of OpenAI's, whose whole item pi keeps as JSON, the encrypted content of it."""
    if not signature.startswith("{"):
        return signature
    try:
        sealed = (as_object(parse(signature)) or {}).get("encrypted_content")
    except (ValueError, RecursionError):
        return signature
    return sealed if isinstance(sealed, str) and sealed else signature


def sealed_item(text: str, encrypted: str) -> str:
    """An item of reasoning as pi keeps it in the place of a signature."""
    summary = [{"type": "summary_text", "text": text}] if text else []
    return compact({"type": "reasoning", "summary": summary, "encrypted_content": encrypted})


def _call(builder: Builder, block: JsonObject, _where: str) -> Sequence[Part]:
    call_id = builder.ids.text(block.get("id"))
    return (ToolCall(call_id, as_text(block.get("name")), as_text(block.get("arguments"))),)


def _image(_builder: Builder, block: JsonObject, _where: str) -> Sequence[Part] | None:
    media_type, payload = as_text(block.get("mimeType")) or ANY_IMAGE, block.get("data")
    data = decoded(payload)
    if data:
        return (Image(media_type, data),)
    # omp moves large images out of the file, and leaves a reference.
    return (Image(media_type, source=payload),) if isinstance(payload, str) and ":" in payload[:20] else None


_BLOCKS = {"text": read_text, "thinking": _thinking, "toolCall": _call, "image": _image}
