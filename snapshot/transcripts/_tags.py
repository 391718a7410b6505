"""Text in which calls, results and thoughts stand between tags, as models of the Hermes kind write it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from snapshot.messages import Part, Reasoning, Text, ToolCall, ToolResult
from snapshot.transcripts._json import as_object, as_text, parse
from snapshot.transcripts._pairing import Pairing

__all__ = ["call_from", "said", "tool_results"]

_SAID = re.compile(r"<(think|thinking|tool_call)>(.*?)</\1>", re.DOTALL)
_GIVEN = re.compile(r"<tool_response>(.*?)</tool_response>", re.DOTALL)


def said(text: str, pairing: Pairing) -> Iterator[Part]:
    """What an assistant's text holds. Blanks beside tags go; a tag that holds something else is text."""
    at = 0
    for match in _SAID.finditer(text):
        call = call_from(match[2], pairing) if match[1] == "tool_call" else Reasoning(match[2].strip())
        if call is None:
            continue
        before = text[at : match.start()].strip()
        if before:
            yield Text(before)
        yield call
        at = match.end()
    rest = text[at:].strip() if at else text
    if rest:
        yield Text(rest)


def tool_results(text: str, pairing: Pairing) -> list[ToolResult]:
    """The results in a turn, in the order of the calls: each between tags, or the whole."""
    given = [match[1].strip() for match in _GIVEN.finditer(text)] or [text]
    return [ToolResult(pairing.answer(_name_in(words)), (Text(words),) if words else ()) for words in given]


def holds_results(text: str) -> bool:
    """Whether a turn holds results between tags and nothing else."""
    return "<tool_response>" in text and not _GIVEN.sub("", text).strip()


def call_from(text: str, pairing: Pairing) -> ToolCall | None:
    """The call that JSON text with a name and arguments stands for; None if it is none."""
    try:
        value = as_object(parse(text.strip()))
    except (json.JSONDecodeError, RecursionError):
        return None
    if value is None or not isinstance(value.get("name"), str):
        return None
    name = as_text(value["name"])
    return ToolCall(pairing.call(name), name, as_text(value.get("arguments", value.get("parameters"))))


def _name_in(text: str) -> str:
    try:
        value = as_object(parse(text))
    except (json.JSONDecodeError, RecursionError):
        return ""
    return as_text((value or {}).get("name"))
