"""Claude Code's session file: one row per block or event, with the ids of a tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

from snapshot.messages import Opaque
from snapshot.transcripts.formats._claude_attachments import attached, local_command
from snapshot.transcripts.formats._claude_branches import branches_of, told
from snapshot.transcripts.formats._claude_code import (
    Row,
    boundary,
    is_message,
    message_row,
    since_compaction,
    thread,
    transcript_of,
)
from snapshot.transcripts.formats._claude_queue import Queue, delivered
from snapshot.transcripts.io import jsonl
from snapshot.transcripts.io.harness import Rules, rules_for
from snapshot.transcripts.io.json_values import JsonObject, as_object, as_text, compact, quoted
from snapshot.transcripts.io.source import Sample, Source
from snapshot.transcripts.reading.parents import anchors, mended
from snapshot.transcripts.reading.threads import Conversation, Detection, Thread

NAME = "claude-session"

_KEYS = frozenset({"sessionId", "parentUuid", "leafUuid"})
_TITLES = {"summary": "summary", "ai-title": "aiTitle", "custom-title": "customTitle"}
_BOOKKEEPING = frozenset(
    {
        *_TITLES,
        "agent-name",
        "attachment",
        "cost-state",
        "file-history-snapshot",
        "last-prompt",
        "mode",
        "permission-mode",
        "pr-link",
        "progress",
        "queue-operation",
        "system",
        "tag",
        "turn_end",
    }
)


def detect(sample: Sample) -> Detection | None:
    """How sure it is that this is such a file."""
    wrapper = as_object(sample.document)
    if wrapper is not None and "loglines" in wrapper:
        return Detection(NAME, 0.95, "an object with loglines")
    hits = sum(
        "type" in row and (not _KEYS.isdisjoint(row) or row["type"] == "file-history-snapshot")
        for row in sample.rows
    )
    if not hits or not _speaks(sample.rows):
        return None
    reason = f"{hits} of the first {len(sample.rows)} rows have a type and a sessionId or parentUuid"
    return Detection(NAME, 0.95 * hits / len(sample.rows), reason)


def _speaks(rows: Sequence[JsonObject]) -> bool:
    """Whether these rows are Claude Code's: others borrow their frame for messages of another kind."""
    said = [as_object(row["message"]) or {} for row in rows if is_message(row)]
    if said:
        return 2 * sum("content" in message for message in said) > len(said)
    return any(as_text(row.get("type")) in _BOOKKEEPING for row in rows)


def threads(source: Source) -> Sequence[Thread]:
    """The main thread, one for each branch that was left by going back, and one for each subagent."""
    log = _Log(rules_for(NAME, source.harness))
    for where, row in jsonl.rows(source):
        log.take(where, row)
    log.settle()
    sent = since_compaction if source.as_sent else list
    extra_rows, notes = log.extra_rows, log.notes
    if log.side and not log.main:  # a subagent's own file
        return [
            thread(
                source,
                NAME,
                sent(rows),
                conversation_id=name,
                title=log.title,
                extra_rows=extra_rows,
                notes=notes,
            )
            for name, rows in log.side.items()
        ]
    rows = log.main
    main, branches = branches_of(rows, log.parents)
    notes += told(branches, rows)
    for agent, own in log.side.items():
        note = f"a row of the subagent {quoted(agent)}; read it as a conversation of its own"
        notes += [("sidechain", row.where, note) for row in own]
    made = [
        Thread(
            Conversation("main", log.title or main.title, main.messages, main.time, main=True),
            lambda: transcript_of(
                source, NAME, lambda: sent(main.rows(rows)), extra_rows=extra_rows, notes=notes
            ),
        )
    ]
    for branch in branches:
        made.append(
            Thread(
                Conversation(branch.id, branch.title, branch.messages, branch.time),
                partial(transcript_of, source, NAME, lambda branch=branch: sent(branch.rows(rows))),
            )
        )
    return made + [thread(source, NAME, sent(own), conversation_id=agent) for agent, own in log.side.items()]


class _Log:
    """The rows of a session, sorted.

    Attributes:
        main: message rows of the main thread and of its branches, in the order of the file.
        side: those of each subagent.
        parents: the tree of all rows that have an id; without circles once it is settled.
        aside, notes, title: as `thread` takes them.
    """

    def __init__(self, rules: Rules) -> None:
        self.main: list[Row] = []
        self.side: dict[str, list[Row]] = {}
        self.parents: dict[str, str] = {}
        self.extra_rows: list[Opaque] = []
        self.notes: list[tuple[str, str, str]] = []
        self.title = ""
        self._rules = rules
        self._queue = Queue(rules)
        self._counted: Counter[str] = Counter()
        self._sidechain: list[Row] = []  # rows of subagents without a name: of old versions
        self._seen: dict[str, JsonObject] = {}

    def take(self, where: str, row: JsonObject) -> None:
        """Sort a row."""
        kind, uuid = as_text(row.get("type")), as_text(row.get("uuid"))
        if uuid:
            self.parents.setdefault(uuid, as_text(row.get("parentUuid") or row.get("logicalParentUuid")))
        found = message_row(where, row, self._rules) if is_message(row) else boundary(where, row)
        found = found or delivered(where, row, self._rules) or attached(where, row)
        found = found or local_command(where, row, self._rules)
        if found is None:
            self._keep(where, kind, row)
        elif uuid and self._seen.get(uuid) == found.message:
            self.notes.append(("repeated-row", where, "a row that was appended again; left out"))
        elif row.get("isSidechain") is True:
            agent = as_text(row.get("agentId"))
            (self.side.setdefault(agent, []) if agent else self._sidechain).append(found)
        else:
            self.main.append(found)
        if found is not None and uuid:
            self._seen[uuid] = found.message

    def _keep(self, where: str, kind: str, row: JsonObject) -> None:
        self.extra_rows.append(Opaque(kind, compact(row)))
        self.title = as_text(row.get(_TITLES.get(kind, ""))) or self.title
        if kind == "queue-operation":
            self._queue.note(where, row, len(self.main))
        if kind in _BOOKKEEPING:
            self._counted[kind] += 1
        else:
            note = f"a row of type {quoted(row.get('type'))} is not known; kept aside"
            self.notes.append(("unknown-row", where, note))

    def settle(self) -> None:
        """Mend the tree, put queued words in their places, and tell what was odd."""
        known = frozenset(self.parents)
        self.parents, cut = mended(self.parents)
        places = {row.uuid: row.where for row in (*self.main, *self._sidechain)}
        for uuid in cut:
            note = "the parents of rows form a circle; it is cut at its first row"
            self.notes.append(("circle", places.get(uuid, f"row {quoted(uuid)}"), note))
        for row in self.main:
            if row.parent and row.parent not in known and row.kind != "boundary":
                note = "the row before it is not in the file; it stays where it stands"
                self.notes.append(("no-parent", row.where, note))
        _, roots = anchors((row.uuid for row in self._sidechain), self.parents)
        for row in self._sidechain:
            self.side.setdefault(f"sidechain-{roots.get(row.uuid, '1')}", []).append(row)
        self.main, twice = self._queue.settled(self.main)
        self.extra_rows += (Opaque("attachment", compact(row.message)) for row in twice)
        self._counted["attachment"] += len(twice)
        if counted := +self._counted:
            told = ", ".join(f"{count} {kind}" for kind, count in sorted(counted.items()))
            note = f"rows without a message, kept extra_rows: {told}"
            self.notes.append(("bookkeeping", "whole file", note))
