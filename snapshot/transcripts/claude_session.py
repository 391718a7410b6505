"""Claude Code's session file: one row per block or event, with the ids of a tree."""

from __future__ import annotations

from collections import Counter

from snapshot.messages import Transcript
from snapshot.transcripts import _jsonl
from snapshot.transcripts._build import Builder
from snapshot.transcripts._claude_code import add_rows, is_message, note_compaction, note_unknown_row
from snapshot.transcripts._json import JsonObject, as_object, as_text, quoted
from snapshot.transcripts._source import Sample, Source

NAME = "claude-session"

_KEYS = frozenset({"sessionId", "parentUuid", "leafUuid"})
_BOOKKEEPING = frozenset(
    {
        "agent-name",
        "ai-title",
        "attachment",
        "cost-state",
        "custom-title",
        "file-history-snapshot",
        "last-prompt",
        "mode",
        "permission-mode",
        "pr-link",
        "progress",
        "queue-operation",
        "summary",
        "system",
        "tag",
        "turn_end",
    }
)


def detect(sample: Sample) -> float:
    """How sure it is that this is such a file."""
    wrapper = as_object(sample.document)
    if wrapper is not None and "loglines" in wrapper:
        return 0.95
    hits = sum(
        "type" in row and (not _KEYS.isdisjoint(row) or row["type"] == "file-history-snapshot")
        for row in sample.rows
    )
    return 0.95 * hits / len(sample.rows) if hits else 0.0


def read(source: Source) -> Transcript:
    """The main thread in the order of the file, which is that of time.

    Parallel calls fan out in the tree, so that a walk along parents would lose some. Sidechains are
    left out and counted, unless the file holds nothing else: then it is a subagent's own.
    """
    builder = Builder(source)
    main: list[tuple[str, JsonObject]] = []
    side: list[tuple[str, JsonObject]] = []
    bookkeeping: Counter[str] = Counter()
    for where, row in _jsonl.rows(source, builder.odd):
        kind = row.get("type")
        if is_message(row):
            (side if row.get("isSidechain") is True else main).append((where, row))
        elif kind not in _BOOKKEEPING:
            note_unknown_row(builder, where, row)
        elif row.get("subtype") == "compact_boundary":
            note_compaction(builder, where, row.get("compactMetadata"))
        else:
            bookkeeping[as_text(kind)] += 1
    if not main:
        main, side = side, []
    for where, row in side:
        agent = row.get("agentId")
        whose = "a subagent" if agent is None else f"the subagent {quoted(agent)}"
        builder.odd("sidechain", where, f"a row of {whose}; left out")
    if bookkeeping:
        told = ", ".join(f"{count} {kind}" for kind, count in sorted(bookkeeping.items()))
        builder.odd("bookkeeping", "whole file", f"rows without a message left out: {told}")
    return builder.finish(NAME, add_rows(builder, main))
