"""What ShareGPT and ChatML share: thoughts between tags, calls as JSON, results in the order of the calls."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial

from snapshot.messages import Part, Reasoning, Text, ToolCall, Transcript
from snapshot.parts.exact_json import encode
from snapshot.transcripts.writing.json_text import value_of
from snapshot.transcripts.writing.units import Tell, Unit, answered, in_order, settled

__all__ = ["call_json", "escape", "spoken", "units"]

_TAGS = ("<think", "</think", "<tool_", "</tool_", "<|im_")


def units(transcript: Transcript, tell: Tell) -> Iterator[Unit]:
    """Calls with their results, which have no ids to be told by."""
    return in_order(answered(settled(transcript)), tell)


def call_json(call: ToolCall) -> str:
    """A call as JSON of its name and arguments."""
    value = value_of(call.arguments)
    asked = value if isinstance(value, dict) else call.arguments
    return encode({"name": call.name, "arguments": asked}, partial(json.dumps, ensure_ascii=False))


def spoken(parts: Sequence[Part]) -> str:
    """Words, and thoughts between tags, in their order."""
    pieces = [
        f"<think>\n{part.text}\n</think>" if isinstance(part, Reasoning) else part.text
        for part in parts
        if isinstance(part, Text | Reasoning)
    ]
    return "\n\n".join(pieces)


def escape(text: str) -> str:
    """The text with a blank in each tag that would be read as one."""
    for tag in _TAGS:
        text = text.replace(tag, f"{tag[0]} {tag[1:]}")
    return text
