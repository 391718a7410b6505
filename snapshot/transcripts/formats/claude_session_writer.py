"""Claude Code's session file: rows that form a tree of one branch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from snapshot.messages import Message, Opaque
from snapshot.transcripts.formats._claude_code_writer import OWN, row, units
from snapshot.transcripts.io.json_values import compact
from snapshot.transcripts.writing.blocks import message_of, own_message
from snapshot.transcripts.writing.ids import keyed, made_up
from snapshot.transcripts.writing.json_text import value_of
from snapshot.transcripts.writing.units import timed

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
    first = messages[0]
    kept = {"uuid": first.id} if first.id and first.role != "assistant" else {}
    if first.role != "assistant":
        message = {key: value for key, value in message.items() if key != "id"}
    return {**kept, **row(messages, message, "isMeta")}


def beside(extra_rows: tuple[Opaque, ...], document: list[Any]) -> list[Any]:
    """Titles, snapshots of files and the like, in front of the messages.

    A row that stands for a conversation without any is not needed beside others.
    """
    return [*(value_of(row.json) for row in extra_rows), *(row for row in document if "message" in row)]


def document(rows: list[Any], model: str) -> Any:
    """The rows with the ids of a tree, a time each, and the model with what the assistant says."""
    session = made_up("session", *map(compact, rows))
    if not rows:  # a file without a row would be no session
        return [{"type": "mode", "mode": "normal", "sessionId": session}]
    parent: str | None = None
    linked: list[Any] = []
    for uuid, some in zip(keyed(rows, "uuid", session), timed(rows), strict=True):
        message = some["message"]
        if model and some["type"] == "assistant" and "model" not in message:
            message = {"model": model, **message}
        linked.append(
            {
                "parentUuid": parent,
                "isSidechain": False,
                "userType": "external",
                "sessionId": session,
                **some,
                "message": message,
                "uuid": uuid,
            }
        )
        parent = uuid
    return linked
