"""Claude Code's log of one run: a row that names the model, then one for each message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from snapshot.messages import Message, Opaque
from snapshot.transcripts.formats._claude_code_writer import OWN, row, units
from snapshot.transcripts.io.json_values import compact
from snapshot.transcripts.writing.blocks import message_of, own_message
from snapshot.transcripts.writing.ids import made_up
from snapshot.transcripts.writing.json_text import value_of

__all__ = ["IDS", "LINES", "OWN", "STRAYS", "beside", "document", "own", "rows", "units"]

LINES = True
IDS = True
STRAYS = False


def rows(messages: Sequence[Message], _names: dict[str, str]) -> list[Any]:
    """One row."""
    return [_row(messages, message_of(messages))]


def own(messages: Sequence[Message]) -> list[Any] | None:
    """The row with the message as it came."""
    message = own_message(messages)
    return None if message is None else [_row(messages, message)]


def _row(messages: Sequence[Message], message: dict[str, Any]) -> dict[str, Any]:
    return {**row(messages, message, "isSynthetic"), "parent_tool_use_id": None}


def beside(extra_rows: tuple[Opaque, ...], document: list[Any]) -> list[Any]:
    """Rows of a kind that is not known, in front of the messages."""
    return [*(value_of(row.json) for row in extra_rows), *document]


def document(rows: list[Any], model: str) -> Any:
    """The rows of one session."""
    session = made_up("run", *(compact(some) for some in rows[:2]))
    start = {
        "type": "system",
        "subtype": "init",
        "session_id": session,
        **({"model": model} if model else {}),
    }
    return [start, *({**some, "session_id": session} for some in rows)]
