"""ATIF: one object with a list of steps, the results of a step's calls within it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from snapshot.messages import Image, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult, Transcript
from snapshot.transcripts.writing.json_text import value_of
from snapshot.transcripts.writing.units import Tell, Unit, identified, settled

OWN: frozenset[str] = frozenset()
LINES = False
IDS = True
STRAYS = False

_SPEAKERS = {"assistant": "agent"}


def units(transcript: Transcript, tell: Tell) -> Iterator[Unit]:
    """A message with the results behind it; results with nothing in front follow an empty step."""
    messages = settled(transcript)
    at = steps = 0
    while at < len(messages):
        unit = [messages[at]]
        at += 1
        number, first = unit[0]
        if first.role == "tool":
            tell("message", number, "that results come first; an empty step of the system stands in front")
            unit.insert(0, (number, Message("system", (), first.id, first.time)))
        elif at < len(messages) and messages[at][1].role == "tool":
            unit.append(messages[at])
            at += 1
        if at < len(messages) and _is_observation(messages[at][1], first):
            unit.append(messages[at])
            at += 1
        steps += 1
        named = [(number, _without_id(number, message, str(steps), tell)) for number, message in unit]
        yield identified(named, tell)


def _is_observation(message: Message, step: Message) -> bool:
    """Whether a message of the system is what its step saw without a call."""
    same = (message.id, message.time) == (step.id, step.time)
    return message.role == "system" and same and bool(message.id and message.parts)


def _without_id(number: int, message: Message, step: str, tell: Tell) -> Message:
    """The message with no other id than the number of its step, which is what stands for one here."""
    if message.id and message.id != step:
        tell("id", number, "the id of a message; the number of its step stands for it")
    return replace(message, id="")


def rows(messages: Sequence[Message], _names: dict[str, str]) -> list[Any]:
    """One step, its number left to the whole."""
    said, *results = messages if messages[0].role != "tool" else [Message("system", ()), *messages]
    step: dict[str, Any] = {"source": _SPEAKERS.get(said.role, said.role)}
    if said.time:
        step["timestamp"] = said.time
    step["message"] = _content([p for p in said.parts if not isinstance(p, Reasoning | ToolCall)])
    thoughts = [part.text for part in said.parts if isinstance(part, Reasoning)]
    if thoughts:
        step["reasoning_content"] = "\n\n".join(thoughts)
    calls = [_call(part) for part in said.parts if isinstance(part, ToolCall)]
    if calls:
        step["tool_calls"] = calls
    seen = [_result(p) for message in results for p in message.parts if isinstance(p, ToolResult)]
    seen += [{"content": _content(message.parts)} for message in results if message.role == "system"]
    if seen:
        step["observation"] = {"results": seen}
    if said.usage:
        step["metrics"] = {"prompt_tokens": said.usage.input, "completion_tokens": said.usage.output}
    return [step]


def own(_messages: Sequence[Message]) -> list[Any] | None:
    """Steps are no API's form, and none is kept."""
    return None


def document(rows: list[Any], model: str) -> Any:
    """The trajectory."""
    named = {"model_name": model} if model else {}
    return {
        "schema_version": "ATIF-v1.7",
        "agent": {"name": "unknown", "version": "unknown", **named},
        "steps": [{"step_id": number, **step} for number, step in enumerate(rows, 1)],
    }


def _content(parts: Sequence[Part]) -> Any:
    if not parts:
        return ""
    if len(parts) == 1 and isinstance(parts[0], Text) and parts[0].text:
        return parts[0].text
    return [_block(part) for part in parts]


def _call(call: ToolCall) -> dict[str, Any]:
    value = value_of(call.arguments)
    arguments: Any = value if isinstance(value, dict) else {}  # no other is valid
    named = {"tool_call_id": call.id} if call.id else {}
    return {**named, "function_name": call.name, "arguments": arguments}


def _result(result: ToolResult) -> dict[str, Any]:
    named = {"source_call_id": result.call_id} if result.call_id else {}
    rest = [part for part in result.content if not _is_pointer(part)]
    pointers = [
        value_of(part.json) for part in result.content if isinstance(part, Opaque) and _is_pointer(part)
    ]
    return {**named, "content": _content(rest)} | (
        {"subagent_trajectory_ref": pointers[0]} if pointers else {}
    )


def _is_pointer(part: Part) -> bool:
    return isinstance(part, Opaque) and part.kind == "subagent_trajectory_ref"


def _block(part: Part) -> Any:
    match part:
        case Text(text):
            return {"type": "text", "text": text}
        case Image(media_type, data, source) if not data:
            return {"type": "image", "source": {"media_type": media_type, "path": source}}
    return None
