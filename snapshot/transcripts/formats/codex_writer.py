"""Codex rollouts: lines of `{timestamp, type, payload}`, each with an item of the Responses API."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from snapshot.messages import Message, Opaque, Transcript
from snapshot.transcripts.formats import openai_responses_writer
from snapshot.transcripts.io.json_values import compact
from snapshot.transcripts.reading.times import NO_TIME
from snapshot.transcripts.writing.ids import made_up
from snapshot.transcripts.writing.json_text import value_of
from snapshot.transcripts.writing.units import Tell, Unit, timed

OWN = openai_responses_writer.OWN
LINES = True
IDS = True
STRAYS = False

_HEAD = ("session_meta", "turn_context")
_ROWS = (*_HEAD, "compacted", "token_usage_record", "world_state")
# What the head of a session must tell: without it Codex takes the file for none of its own.
_ORIGIN = {"cwd": "", "originator": "snapshot", "cli_version": "0.0.0"}


def units(transcript: Transcript, tell: Tell) -> Iterator[Unit]:
    """As the Responses API has them."""
    return openai_responses_writer.units(transcript, tell)


def rows(messages: Sequence[Message], names: dict[str, str]) -> list[Any]:
    """The items of a message, and the provider's count behind them."""
    return _rows(messages[0], [_unambiguous(item) for item in openai_responses_writer.rows(messages, names)])


def own(messages: Sequence[Message]) -> list[Any] | None:
    """The items as they came."""
    return _rows(messages[0], [item for message in messages for item in message.raw])


def _rows(message: Message, items: list[Any]) -> list[Any]:
    found = [_row(message.time, "response_item", item) for item in items]
    if message.usage:
        counts = {"input_tokens": message.usage.input, "output_tokens": message.usage.output}
        told = {"type": "token_count", "info": {"last_token_usage": counts}}
        found.append(_row(message.time, "event_msg", told))
    return found


def _unambiguous(item: Any) -> Any:
    """An output that looks like the packed output of a shell as a list: there it is what it is."""
    output = item.get("output")
    if isinstance(output, str) and output.startswith("{"):
        return item | {"output": [{"type": "input_text", "text": output}]}
    return item


def _row(time: str, kind: str, payload: Any) -> dict[str, Any]:
    return {"timestamp": time, "type": kind, "payload": payload}


def document(rows: list[Any], model: str) -> Any:
    """The rows behind the head of a session."""
    rows = timed(rows)
    time = next((row["timestamp"] for row in rows if row["timestamp"] != NO_TIME), NO_TIME)
    session = made_up("rollout", *map(compact, rows))
    head = [_row(time, "session_meta", {"id": session, "timestamp": time, **_ORIGIN})]
    if model:
        head.append(_row(time, "turn_context", {"model": model}))
    return [*head, *rows]


def beside(extra_rows: tuple[Opaque, ...], document: list[Any]) -> list[Any]:
    """The session's own head and other rows in front, in place of the head that was made.

    A head that does not tell its origin, as old versions have it, is not the file's: Codex would refuse it.
    """
    time = document[0]["timestamp"]
    kept = [(row.kind, value_of(row.json)) for row in extra_rows]
    heads = [value for kind, value in kept if kind == "session_meta"]
    own = any(isinstance(head, dict) and head.keys() >= _ORIGIN.keys() for head in heads)
    rows = [_row(time, kind if kind in _ROWS else "response_item", value) for kind, value in kept]
    return [*rows, *document[1:]] if own else [document[0], *rows, *document[1:]]
