"""What Claude Code's two logs share: a row for each message, of the user and the assistant alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any
from uuid import UUID

from snapshot.messages import Message, Transcript
from snapshot.transcripts.writers._units import Tell, Unit, with_results

__all__ = ["OWN", "made_up", "row", "units"]

OWN = frozenset({"anthropic", "claude-session", "claude-stream"})


def units(transcript: Transcript, tell: Tell) -> Iterator[Unit]:
    """Results with the user's words; an id that comes again stands only where it came first."""
    seen: set[str] = set()
    for unit in with_results(transcript):
        number, first = unit[0]
        if first.id and first.id in seen:
            tell("id", number, "an id that another message has as well")
            yield [(n, replace(message, id="", raw=())) for n, message in unit]
        else:
            seen.add(first.id)
            yield unit


def row(messages: Sequence[Message], message: dict[str, Any], note: str) -> dict[str, Any]:
    """The row of a message; `note` is the key that marks what the harness says in the user's name."""
    first = messages[0]
    speaks = "assistant" if first.role == "assistant" else "user"
    noted = {note: True} if first.role == "system" else {}
    timed = {"timestamp": first.time} if first.time else {}
    return {"type": speaks, **noted, "message": {**message, "role": speaks}, **timed}


def made_up(*about: str) -> str:
    """An id in the form of a UUID; the same for the same words."""
    return str(UUID(bytes=sha256("\0".join(about).encode("utf-8", "surrogatepass")).digest()[:16], version=4))
