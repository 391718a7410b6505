"""Claude Code's log of one run (`--output-format stream-json`): one event per line."""

from __future__ import annotations

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
from snapshot.transcripts.io.harness import rules_for
from snapshot.transcripts.io.json_values import as_object, as_text, compact, quoted
from snapshot.transcripts.io.source import Sample, Source
from snapshot.transcripts.reading.threads import Detection, Thread

NAME = "claude-stream"

# Progress, limits and totals of the run: they say nothing that a message does not say.
_BOOKKEEPING = frozenset(
    {
        "control_request",
        "control_response",
        "keep_alive",
        "rate_limit_event",
        "result",
        "stream_event",
        "system",
        "tool_progress",
    }
)


def detect(sample: Sample) -> Detection | None:
    """How sure it is that this is such a log."""
    said = [row for row in sample.rows if is_message(row)]
    spoken = sum("content" in (as_object(row["message"]) or {}) for row in said)
    known = [row for row in sample.rows if "session_id" in row and as_text(row.get("type")) in _BOOKKEEPING]
    if 2 * spoken < len(said) or not (said or known):  # others borrow the frame
        return None
    hits = sum(("session_id" in row and "type" in row) or is_message(row) for row in sample.rows)
    reason = f"{hits} of the first {len(sample.rows)} rows have a type and a session_id, or an API message"
    return Detection(NAME, 0.9 * hits / len(sample.rows), reason)


def threads(source: Source) -> Sequence[Thread]:
    """The main thread, and one for each subagent, under the id of the call that started it."""
    rules = rules_for(NAME, source.harness)
    main: list[Row] = []
    side: dict[str, list[Row]] = {}
    extra_rows: list[Opaque] = []
    notes: list[tuple[str, str, str]] = []
    model = ""
    for where, row in jsonl.rows(source):
        kind = as_text(row.get("type"))
        caller = row.get("parent_tool_use_id")
        if is_message(row):
            if caller is not None:
                whose = f"a row of the subagent of call {quoted(caller)}"
                notes.append(("sidechain", where, f"{whose}; read it as a conversation of its own"))
            (main if caller is None else side.setdefault(as_text(caller), [])).append(
                message_row(where, row, rules)
            )
        elif found := boundary(where, row):
            (main if caller is None else side.setdefault(as_text(caller), [])).append(found)
        elif kind not in _BOOKKEEPING:
            notes.append(
                ("unknown-row", where, f"a row of type {quoted(row.get('type'))} is not known; kept aside")
            )
            extra_rows.append(Opaque(kind, compact(row)))
        elif row.get("subtype") == "init":
            model = as_text(row.get("model"))
    sent = since_compaction if source.as_sent else list
    return [
        thread(
            source,
            NAME,
            sent(main),
            conversation_id="main",
            main=True,
            model=model,
            extra_rows=extra_rows,
            notes=notes,
        ),
        *(thread(source, NAME, sent(rows), conversation_id=caller) for caller, rows in side.items()),
    ]
