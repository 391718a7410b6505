"""Claude Code's log of one run (`--output-format stream-json`): one event per line."""

from __future__ import annotations

from collections.abc import Iterator

from snapshot.messages import Transcript
from snapshot.transcripts import _jsonl
from snapshot.transcripts._build import Builder
from snapshot.transcripts._claude_code import add_rows, is_message, note_compaction, note_unknown_row
from snapshot.transcripts._json import JsonObject, as_text, quoted
from snapshot.transcripts._source import Sample, Source

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


def detect(sample: Sample) -> float:
    """How sure it is that this is such a log."""
    hits = sum(("session_id" in row and "type" in row) or is_message(row) for row in sample.rows)
    return 0.9 * hits / len(sample.rows) if hits else 0.0


def read(source: Source) -> Transcript:
    """The main thread. Rows of subagents are left out and counted."""
    builder = Builder(source)
    models: list[str] = []
    model = add_rows(builder, _main_thread(builder, source, models))
    return builder.finish(NAME, model or "".join(models[-1:]))


def _main_thread(builder: Builder, source: Source, models: list[str]) -> Iterator[tuple[str, JsonObject]]:
    for where, row in _jsonl.rows(source, builder.odd):
        if is_message(row):
            caller = row.get("parent_tool_use_id")
            if caller is None:
                yield where, row
            else:
                builder.odd("sidechain", where, f"a row of the subagent of call {quoted(caller)}; left out")
        elif row.get("type") not in _BOOKKEEPING:
            note_unknown_row(builder, where, row)
        elif row.get("subtype") == "init":
            models.append(as_text(row.get("model")))
        elif row.get("subtype") == "compact_boundary":
            note_compaction(builder, where, row.get("compact_metadata"))
