"""What Claude Code's two logs share: a row for each message, of the user and the assistant alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from snapshot.messages import Message, Transcript
from snapshot.transcripts.writing.ids import named_once
from snapshot.transcripts.writing.services import unsealed
from snapshot.transcripts.writing.units import Tell, Unit, settled, with_results

__all__ = ["OWN", "row", "units"]

OWN = frozenset({"anthropic", "claude-session", "claude-stream"})


def units(transcript: Transcript, tell: Tell) -> Iterator[Unit]:
    """Results with the user's words, each under an id of its own; reasoning that another service signed is
    unsigned."""
    messages = unsealed(transcript, settled(transcript), "anthropic", tell)
    return named_once(with_results(messages), tell)


def row(messages: Sequence[Message], message: dict[str, Any], note: str) -> dict[str, Any]:
    """The row of a message; `note` is the key that marks what the harness says in the user's name.

    What the assistant says is a list of blocks always: Claude Code reads no other form of it.
    """
    first = messages[0]
    speaks = "assistant" if first.role == "assistant" else "user"
    if speaks == "assistant" and isinstance(message["content"], str):
        message = {**message, "content": [{"type": "text", "text": message["content"]}]}
    noted = {note: True} if first.role == "system" else {}
    timed = {"timestamp": first.time} if first.time else {}
    return {"type": speaks, **noted, "message": {**message, "role": speaks}, **timed}
