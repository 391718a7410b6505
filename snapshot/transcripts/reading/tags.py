"""Text in which calls, results and thoughts stand between tags, as models of the Hermes kind write it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from snapshot.messages import Part, Reasoning, Text, ToolCall, ToolResult
from snapshot.transcripts.io.json_values import as_object, as_text, parse
from snapshot.transcripts.reading.pairing import Pairing

__all__ = ["call_from", "holds_results", "said", "tool_results"]

_SAID = re.compile("<(think|thinking|tool_call)>")
_GIVEN = re.compile("<(tool_response)>")


def said(text: str, pairing: Pairing) -> Iterator[Part]:
    """What an assistant's text holds. Blanks beside tags go; a tag that holds something else is text."""
    at = 0
    for tag, start, stop, inner in _tagged(text, _SAID):
        call = call_from(inner, pairing) if tag == "tool_call" else Reasoning(inner.strip())
        if call is None:
            continue
        before = text[at:start].strip()
        if before:
            yield Text(before)
        yield call
        at = stop
    rest = text[at:].strip() if at else text
    if rest:
        yield Text(rest)


def tool_results(text: str, pairing: Pairing) -> list[ToolResult]:
    """The results in a turn, in the order of the calls: each between tags, or the whole."""
    given = [inner.strip() for _, _, _, inner in _tagged(text, _GIVEN)] or [text]
    return [ToolResult(pairing.answer(_name_in(words)), (Text(words),) if words else ()) for words in given]


def holds_results(text: str) -> bool:
    """Whether a turn holds results between tags and nothing else."""
    at, found = 0, False
    for _, start, stop, _ in _tagged(text, _GIVEN):
        if text[at:start].strip():
            return False
        at, found = stop, True
    return found and not text[at:].strip()


def _tagged(text: str, opening: re.Pattern[str]) -> Iterator[tuple[str, int, int, str]]:
    """Name, start, end and content of what stands between tags; a tag that is never closed is text.

    One search for each end, so that a text full of open tags takes linear time.
    """
    at = 0
    unclosed: set[str] = set()
    while match := opening.search(text, at):
        at = match.end()
        end = -1 if match[1] in unclosed else text.find(f"</{match[1]}>", at)
        if end < 0:
            unclosed.add(match[1])
            continue
        inner, at = text[at:end], end + len(match[1]) + 3
        yield match[1], match.start(), at, inner


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
