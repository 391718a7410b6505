"""Where a conversation may be cut: its groups, and the repairs that make it sendable at all.

A group is what must stay together: a user's message; or an assistant's message with the results of all its
calls. A turn starts at a real user message. The head is what leads: system messages and the first request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from snapshot.messages import Message, Part, Text, ToolCall, ToolResult

__all__ = ["Group", "Repairs", "groups", "is_turn", "repair"]

_NO_RESULT = "(no result was recorded for this call)"


@dataclass(frozen=True, slots=True)
class Group:
    """Messages `start` to `stop` (half-open) that stay together.

    Attributes:
        turn: whether a user's turn starts here.
        open: whether a call in it has no result yet.
    """

    start: int
    stop: int
    turn: bool
    open: bool


@dataclass(frozen=True, slots=True)
class Repairs:
    """What `repair` did.

    Attributes:
        orphans: results dropped because no call before them waits for them.
        unanswered: calls in the middle that were given a result saying that there is none.
        empty: messages dropped because they say nothing.
    """

    orphans: tuple[ToolResult, ...] = ()
    unanswered: int = 0
    empty: int = 0


def is_turn(message: Message) -> bool:
    """Whether a real user speaks here."""
    return message.role == "user"


def repair(messages: Sequence[Message]) -> tuple[tuple[Message, ...], Repairs]:
    """The messages without orphan results, empty ones and, but for the last group, unanswered calls.

    What is repaired depends on what stands before and right behind, so a conversation that grows is
    repaired alike. Messages that need nothing are the same objects.
    """
    kept: list[Message] = []
    orphans: list[ToolResult] = []
    unanswered = empty = 0
    used: set[str] = set()
    waiting: dict[str, str] = {}  # ids of the last calls, as found and as sent, until they are answered

    def close() -> int:
        """Answer what still waits, once something other than results follows."""
        if waiting:
            missing = [ToolResult(sent, (Text(_NO_RESULT),), is_error=True) for sent in waiting.values()]
            if kept[-1].role == "tool":
                kept[-1] = replace(kept[-1], parts=(*kept[-1].parts, *missing), raw=())
            else:
                kept.append(Message("tool", tuple(missing)))
        count = len(waiting)
        waiting.clear()
        return count

    for message in messages:
        if message.role == "tool":
            parts: list[Part] = []
            for part in message.parts:
                if not isinstance(part, ToolResult):
                    parts.append(part)
                elif (sent := waiting.pop(part.call_id, None)) is None:
                    orphans.append(part)
                else:
                    parts.append(part if sent == part.call_id else replace(part, call_id=sent))
            if parts:
                kept.append(_with_parts(message, parts))
        elif not any(not isinstance(part, Text) or part.text.strip() for part in message.parts):
            empty += 1
        else:
            unanswered += close()
            parts = []
            for part in message.parts:
                if not isinstance(part, ToolCall):
                    parts.append(part)
                    continue
                sent, again = part.id or "call", 1
                while sent in used or not (part.id or again > 1):
                    again += 1
                    sent = f"{part.id or 'call'}_{again}"
                used.add(sent)
                waiting[part.id or sent] = sent
                parts.append(part if sent == part.id else replace(part, id=sent))
            kept.append(_with_parts(message, parts))
    return tuple(kept), Repairs(tuple(orphans), unanswered, empty)


def _with_parts(message: Message, parts: Sequence[Part]) -> Message:
    """The message itself if the parts are its own, else one with them, which has no raw form."""
    return message if tuple(parts) == message.parts else replace(message, parts=tuple(parts), raw=())


def groups(messages: Sequence[Message]) -> tuple[Group, ...]:
    """The groups of repaired messages, in order; they partition the messages."""
    found: list[Group] = []
    start = 0
    while start < len(messages):
        stop = start + 1
        waiting = {part.id for part in messages[start].parts if isinstance(part, ToolCall)}
        while stop < len(messages) and messages[stop].role == "tool":
            waiting -= {part.call_id for part in messages[stop].parts if isinstance(part, ToolResult)}
            stop += 1
        found.append(Group(start, stop, is_turn(messages[start]), bool(waiting)))
        start = stop
    return tuple(found)
