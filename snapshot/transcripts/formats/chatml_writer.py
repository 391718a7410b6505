"""ChatML: text with `<|im_start|>role`, a turn, and `<|im_end|>`."""

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


def rows(messages: Sequence[Message], _names: dict[str, str]) -> list[Any]:
    """A turn; results between tags in a turn of the tool's."""
    return [_turn(message) for message in messages]


def _turn(message: Message) -> str:
    if message.role == "tool":
        given = [_told(part) for part in message.parts if isinstance(part, ToolResult)]
        text = (
            given[0]
            if len(given) == 1
            else "\n".join(f"<tool_response>\n{some}\n</tool_response>" for some in given)
        )
    else:
        calls = [part for part in message.parts if isinstance(part, ToolCall)]
        made = "\n".join(f"<tool_call>\n{call_json(call)}\n</tool_call>" for call in calls)
        text = "\n".join(filter(None, (spoken(message.parts), made)))
    end = "\n" if text.endswith("\n") else ""  # one in front of the mark is the mark's
    return f"<|im_start|>{message.role}\n{text}{end}<|im_end|>\n"


def _told(result: ToolResult) -> str:
    return "\n".join(part.text for part in result.content if isinstance(part, Text))


def own(_messages: Sequence[Message]) -> list[Any] | None:
    """There is no such form."""
    return None


def document(rows: list[Any], _model: str) -> Any:
    """The turns."""
    return "".join(rows)
