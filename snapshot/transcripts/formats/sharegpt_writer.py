"""ShareGPT: an object with `conversations` of `{from, value}`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from snapshot.messages import Message, Text, ToolCall, ToolResult
from snapshot.transcripts.writing.tagged import call_json, escape, spoken, units

__all__ = ["IDS", "LINES", "OWN", "STRAYS", "document", "escape", "own", "rows", "units"]

OWN: frozenset[str] = frozenset()
LINES = False
IDS = False
STRAYS = False

_NAMES = {"user": "human", "assistant": "gpt", "system": "system"}


def rows(messages: Sequence[Message], _names: dict[str, str]) -> list[Any]:
    """A turn, one for each call behind it, and one for each result."""
    found: list[Any] = []
    for message in messages:
        if message.role == "tool":
            found += [
                _turn("observation", _told(part)) for part in message.parts if isinstance(part, ToolResult)
            ]
            continue
        calls = [part for part in message.parts if isinstance(part, ToolCall)]
        words = [part for part in message.parts if not isinstance(part, ToolCall)]
        if words or not calls:
            found.append(_turn(_NAMES[message.role], spoken(words)))
        found += [_turn("function_call", call_json(call)) for call in calls]
    return found


def _turn(speaker: str, value: str) -> dict[str, str]:
    return {"from": speaker, "value": value}


def _told(result: ToolResult) -> str:
    return "\n".join(part.text for part in result.content if isinstance(part, Text))


def own(_messages: Sequence[Message]) -> list[Any] | None:
    """There is no such form."""
    return None


def document(rows: list[Any], model: str) -> Any:
    """One conversation, in a list as data sets have them."""
    return [{**({"model": model} if model else {}), "conversations": rows}]
