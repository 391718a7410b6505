"""Anthropic Messages: an object with `messages`, `system` where the system speaks first, and `model`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from snapshot.messages import Message, Transcript
from snapshot.transcripts.writing.blocks import message_of, own_message
from snapshot.transcripts.writing.units import Tell, Unit, settled, with_results

OWN = frozenset({"anthropic", "claude-session", "claude-stream"})
LINES = False
IDS = True
STRAYS = True


def units(transcript: Transcript, _tell: Tell) -> Iterator[Unit]:
    """Results stand with what the user said in the same message."""
    return with_results(settled(transcript))


def rows(messages: Sequence[Message], _names: dict[str, str]) -> list[Any]:
    """One message."""
    return [message_of(messages)]


def own(messages: Sequence[Message]) -> list[Any] | None:
    """The message as it came."""
    message = own_message(messages)
    return None if message is None else [message]


def document(rows: list[Any], model: str) -> Any:
    """A request's body, as far as it is the conversation."""
    named = {"model": model} if model else {}
    first = rows[0] if rows and isinstance(rows[0], dict) else {}
    if first.get("role") == "system" and first.get("content") and set(first) == {"role", "content"}:
        return {**named, "system": first["content"], "messages": rows[1:]}
    return {**named, "messages": rows}
