"""Messages in the order and grouping that formats want: results apart, and what is one message as one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, TypeAlias

from snapshot.messages import Message, Part, Role, ToolCall, ToolResult, Transcript
from snapshot.requests.fallback_text import from_system
from snapshot.transcripts.reading.times import NO_TIME

__all__ = [
    "Numbered",
    "Tell",
    "Unit",
    "answered",
    "as_user",
    "beside_parts",
    "identified",
    "in_order",
    "joined",
    "merged_raw",
    "one_by_one",
    "settled",
    "timed",
    "with_results",
]

Numbered: TypeAlias = tuple[int, Message]
Unit: TypeAlias = Sequence[Numbered]
Tell: TypeAlias = Callable[[str, int, str], None]


def settled(transcript: Transcript) -> list[Numbered]:
    """Messages with their numbers; results stand in messages of role "tool", one for each batch, and alone.

    All readers give them so; a conversation put together by hand may not be.
    """
    found: list[Numbered] = []
    for number, message in enumerate(transcript.messages, 1):
        for run in _runs(message):
            if run.role == "tool" and found and found[-1][1].role == "tool":
                first, before = found[-1]
                raw = (*before.raw, *run.raw) if before.raw and run.raw else ()
                found[-1] = first, replace(before, parts=before.parts + run.parts, raw=raw)
            else:
                found.append((number, run))
    return found


def timed(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with a `timestamp` each, for tools that read none without; `NO_TIME` where none is known."""
    return [{**row, "timestamp": row.get("timestamp") or NO_TIME} for row in rows]


def _runs(message: Message) -> Iterator[Message]:
    runs = [
        (is_result, tuple(group))
        for is_result, group in groupby(message.parts, lambda part: isinstance(part, ToolResult))
    ]
    speaker: Role = "user" if message.role == "tool" else message.role
    if not runs:
        if message.role != "tool":
            yield message
        return
    whole = len(runs) == 1 and runs[0][0] == (message.role == "tool")
    for is_result, parts in runs:
        role: Role = "tool" if is_result else speaker
        yield message if whole else replace(message, role=role, parts=parts, raw=())


def one_by_one(messages: Sequence[Numbered]) -> Iterator[Unit]:
    """Every message alone."""
    for numbered in messages:
        yield (numbered,)


def with_results(messages: Sequence[Numbered]) -> Iterator[Unit]:
    """Results, and the user's words that came in the same message behind them, as one."""
    at = 0
    while at < len(messages):
        unit = messages[at : at + 2]
        if not _is_one_message([message for _, message in unit]):
            unit = unit[:1]
        yield unit
        at += len(unit)


def _is_one_message(pair: Sequence[Message]) -> bool:
    if len(pair) < 2 or (pair[0].role, pair[1].role) != ("tool", "user"):
        return False
    return bool(pair[1].parts) and (pair[0].id, pair[0].time) == (pair[1].id, pair[1].time)


def answered(messages: Sequence[Numbered]) -> Iterator[Unit]:
    """A message of the assistant and the results behind it as one; all others alone."""
    at = 0
    while at < len(messages):
        unit = messages[at : at + 2]
        if [message.role for _, message in unit] != ["assistant", "tool"] or not unit[0][1].parts:
            unit = unit[:1]
        yield unit
        at += len(unit)


def as_user(number: int, message: Message, tell: Tell) -> Message:
    """What the system says as the user's, where only user and assistant speak."""
    if message.role != "system":
        return message
    tell("role", number, "that the system speaks; it is the user who says so, labelled")
    return from_system(message)


def in_order(units: Iterator[Unit], tell: Tell, *, by_name: bool = False) -> Iterator[Unit]:
    """The units with results in the order of their calls, for formats that pair them so.

    `by_name`: the format has the names of tools with results, so that order tells only those of one tool.
    """
    places: dict[str, tuple[int, str]] = {}
    for unit in units:
        ordered: list[Numbered] = []
        for number, message in unit:
            for part in message.parts:
                if isinstance(part, ToolCall) and part.id:
                    places[part.id] = (len(places), part.name if by_name else "")
            parts = _ordered(message, places) if message.role == "tool" else message.parts
            if parts != message.parts:
                tell("order", number, "the order in which results came; they stand in that of the calls")
            ordered.append((number, message if parts == message.parts else replace(message, parts=parts)))
        yield ordered


def _ordered(message: Message, places: dict[str, tuple[int, str]]) -> tuple[Part, ...]:
    """The results, those of each name in the order of their calls at the places where such stand."""
    parts = list(message.parts)
    found = [places.get(getattr(part, "call_id", ""), (len(places), "")) for part in parts]
    for name in {name for _, name in found}:
        at = [n for n, (_, other) in enumerate(found) if other == name]
        for target, source in zip(at, sorted(at, key=lambda n: found[n][0]), strict=True):
            parts[target] = message.parts[source]
    return tuple(parts)


def identified(unit: Unit, tell: Tell) -> Unit:
    """The unit with an id for every call, for formats whose readers pair by order what has none."""
    return [(number, _identified(number, message, tell)) for number, message in unit]


def _identified(number: int, message: Message, tell: Tell) -> Message:
    parts = list(message.parts)
    for place, part in enumerate(parts):
        if isinstance(part, ToolCall) and not part.id:
            parts[place] = replace(part, id=f"unnamed_{number}_{place}")
            tell("call-id", number, "that a call has no id; one is made up")
        elif isinstance(part, ToolResult) and not part.call_id:
            parts[place] = replace(part, call_id=f"unknown_{number}_{place}")
            tell("call-id", number, "that a result names no call; it names one that is not there")
    return message if tuple(parts) == message.parts else replace(message, parts=tuple(parts), raw=())


def joined(messages: Sequence[Numbered], tell: Tell) -> list[Numbered]:
    """Messages of which those of the assistant in a row are one, as formats without messages have it."""
    found: list[Numbered] = []
    for number, message in messages:
        if message.role != "assistant" or not found or found[-1][1].role != "assistant":
            found.append((number, message))
            continue
        first, before = found[-1]
        tell("message", number, "that the assistant began a new message; it goes on with the former one")
        for lost, kind in ((message.id, "id"), (message.time, "time"), (message.usage, "usage")):
            if lost:
                tell(kind, number, _FACTS[kind])
        raw = (*before.raw, *message.raw) if before.raw and message.raw else ()
        found[-1] = first, replace(before, parts=before.parts + message.parts, raw=raw)
    return found


_FACTS = {
    "id": "the id of a message",
    "time": "the time of a message",
    "usage": "the provider's count of tokens",
}


def merged_raw(messages: Sequence[Message], key: str) -> dict[str, Any] | None:
    """The objects that messages came in as one, their lists under `key` behind each other."""
    raw = [some for message in messages for some in message.raw]
    if len(raw) == 1:
        return raw[0]
    if not all(isinstance(some.get(key), list) for some in raw):
        return None
    return raw[0] | {key: [item for some in raw for item in some[key]]}


_BESIDE = frozenset({"annotations", "cache_control", "citations", "thoughtSignature", "thought_signature"})


def beside_parts(message: Message) -> list[str]:
    """Keys in what a message came in that its parts do not hold: marks of a cache, citations, signatures."""
    found: dict[str, None] = {}
    for raw in message.raw:
        for listed in (raw.get("content"), raw.get("parts")):
            for part in listed if isinstance(listed, list) else ():
                if isinstance(part, dict) and part.get("thought") is not True:
                    found |= dict.fromkeys(key for key in _BESIDE & part.keys() if part[key])
    return sorted(found)
