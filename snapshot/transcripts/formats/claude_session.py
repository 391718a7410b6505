"""Claude Code's session file: one row per block or event, with the ids of a tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from snapshot.messages import Opaque
from snapshot.transcripts.formats._claude_code import (
    Row,
    boundary,
    is_message,
    message_row,
    since_compaction,
    thread,
)
from snapshot.transcripts.io import jsonl
from snapshot.transcripts.io.json_values import as_object, as_text, compact, quoted
from snapshot.transcripts.io.source import Sample, Source
from snapshot.transcripts.reading.parents import way
from snapshot.transcripts.reading.threads import Detection, Thread

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
    if not hits:
        return None
    reason = f"{hits} of the first {len(sample.rows)} rows have a type and a sessionId or parentUuid"
    return Detection(NAME, 0.95 * hits / len(sample.rows), reason)


def threads(source: Source) -> Sequence[Thread]:
    """The main thread, one for each branch that was left by going back, and one for each subagent.

    A thread is in the order of the file, which is that of time. Parallel calls fan out in the tree, so a
    walk along parents would lose some: a row is on another branch only if a person's words lead to it
    that are not on the way to the last row.
    """
    main: list[Row] = []
    side: dict[str, list[Row]] = {}
    extra_rows: list[Opaque] = []
    notes: list[tuple[str, str, str]] = []
    counted: Counter[str] = Counter()
    parents: dict[str, str] = {}
    title = ""
    for where, row in jsonl.rows(source):
        kind, uuid = as_text(row.get("type")), as_text(row.get("uuid"))
        if uuid:
            parents.setdefault(uuid, as_text(row.get("parentUuid") or row.get("logicalParentUuid")))
        found = message_row(where, row) if is_message(row) else boundary(where, row)
        if found is None:
            extra_rows.append(Opaque(kind, compact(row)))
            title = as_text(row.get(_TITLES.get(kind, ""))) or title
            if kind in _BOOKKEEPING:
                counted[kind] += 1
            else:
                told = f"a row of type {quoted(row.get('type'))} is not known; kept aside"
                notes.append(("unknown-row", where, told))
        elif row.get("isSidechain") is True:
            agent = as_text(row.get("agentId")) or f"sidechain-{(way(uuid, parents) or ['1'])[-1]}"
            side.setdefault(agent, []).append(found)
        else:
            main.append(found)
    active, branches = _branches(main, parents)
    for first, rows in branches.items():
        told = f"a branch that was left again; read it as conversation {quoted(first)}"
        notes.append(("branch", rows[0].where, told))
    for agent, rows in side.items() if main else ():
        told = f"a row of the subagent {quoted(agent)}; read it as a conversation of its own"
        notes += [("sidechain", row.where, told) for row in rows]
    if counted:
        told = ", ".join(f"{count} {kind}" for kind, count in sorted(counted.items()))
        notes.append(("bookkeeping", "whole file", f"rows without a message, kept extra_rows: {told}"))
    sent = since_compaction if source.as_sent else list
    known = {"title": title, "extra_rows": extra_rows, "notes": notes}
    if side and not main:  # a subagent's own file
        return [
            thread(source, NAME, sent(rows), conversation_id=name, **known) for name, rows in side.items()
        ]
    return [
        thread(source, NAME, sent(active), conversation_id="main", main=True, **known),
        *(
            thread(source, NAME, sent(rows), conversation_id=name)
            for name, rows in [*branches.items(), *side.items()]
        ),
    ]


def _branches(rows: list[Row], parents: dict[str, str]) -> tuple[list[Row], dict[str, list[Row]]]:
    """The rows of the thread that ends with the last row, and those of each branch beside it.

    A branch has the id of the words it starts with, and the rows before the fork in front of its own.
    """
    active, forked = _forks(rows, parents)
    branches: dict[str, list[Row]] = {}
    while forked:  # a branch may have been left within a branch
        first, thread_rows = forked.popitem()
        branches[first], more = _forks(thread_rows, parents)
        forked |= {key: value for key, value in more.items() if key not in branches}
    places = {id(row): number for number, row in enumerate(rows)}
    return active, dict(sorted(branches.items(), key=lambda item: places[id(item[1][-1])]))


def _forks(rows: list[Row], parents: dict[str, str]) -> tuple[list[Row], dict[str, list[Row]]]:
    path = set(way(next((row.uuid for row in reversed(rows) if row.uuid), ""), parents))
    prompts = {row.uuid for row in rows if row.is_prompt and row.uuid}
    # Of each row: the words that lead to it from the path; "" for none, None where no way leads to the path:
    # that is a gap in the file, and no fork.
    starts: dict[str, str | None] = dict.fromkeys(path, "")
    active: list[Row] = []
    places: dict[str, int] = {}
    beside: dict[str, list[Row]] = {}
    for row in rows:
        if row.uuid and row.uuid not in starts:
            steps = way(row.uuid, parents, ends=starts)
            found = starts.get(parents.get(steps[-1], ""))
            for step in reversed(steps):
                found = step if found == "" and step in prompts else found
                starts[step] = found
        first = starts.get(row.uuid)
        if first:
            beside.setdefault(first, []).append(row)
        else:
            places[row.uuid] = len(active)
            active.append(row)
    return active, {
        first: [*active[: max(places.get(step, -1) for step in way(first, parents)) + 1], *own]
        for first, own in beside.items()
    }
