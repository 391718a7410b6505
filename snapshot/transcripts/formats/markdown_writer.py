"""Markdown chat logs: turns under headings; calls and results as words of the answer, results fenced."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from snapshot.messages import (
    File,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Transcript,
)
from snapshot.requests.fallback_text import in_words
from snapshot.transcripts.writing.json_text import strict
from snapshot.transcripts.writing.units import Tell, Unit, answered, settled

OWN: frozenset[str] = frozenset()
LINES = False
IDS = True
STRAYS = False

_TITLES = {"user": "User", "assistant": "Assistant", "system": "System"}
_HEADING = re.compile(r"^(#{1,6}[ \t])", re.MULTILINE)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def units(transcript: Transcript, tell: Tell) -> Iterator[Unit]:
    """What is more than words as words, results behind the calls that brought them."""
    names: dict[str, str] = {}
    for unit in answered(settled(transcript)):
        number, first = unit[0]
        parts: list[Part] = []
        for at, message in unit:
            for part in message.parts:
                if isinstance(part, ToolCall):
                    names[part.id] = part.name
                parts += _words(at, part, names, tell)
        role = "assistant" if first.role == "tool" else first.role
        if first.role == "tool":
            tell("role", number, "that nobody but tools speaks; it stands as the assistant's")
        text = "\n\n".join(part.text for part in parts if isinstance(part, Text))
        if len(parts) > 1:
            tell("joined", number, "where one part of a message ends and the next begins")
        closed = _closed(text)
        if closed != text:
            tell("marks", number, "a fence that is never closed; it is closed at the end")
        said = (Text(closed),) if text or parts else ()
        yield [(number, replace(first, role=role, parts=said, raw=()))]


def _words(number: int, part: Part, names: dict[str, str], tell: Tell) -> list[Part]:
    match part:
        case Text(text, refusal):
            if refusal:
                tell("refusal", number, "that a text is a refusal; its words stay")
            return [Text(text)]
        case Reasoning(text, signature):
            if signature is not None:
                tell("signature", number, "the signature of reasoning")
            if text:
                tell("reasoning", number, "that words were thought and not said; a quote stands for it")
            return [Text("\n".join(f"> {line}" for line in text.split("\n")))] if text else []
        case ToolCall(_, name, arguments):
            tell("call", number, "a call of a tool as such; its name and arguments stand for it")
            return [Text(f"**Call of {name}**\n\n{_fenced(arguments)}")]
        case ToolResult(call_id, content, is_error):
            tell("result", number, "a result as such; its words stand in a fence")
            told = "\n".join(_told(number, some, tell) for some in content)
            what = "Error" if is_error else "Result"
            return [Text(f"**{what} of {names.get(call_id, 'an unknown call')}**\n\n{_fenced(told)}")]
        case Image() | File() | Opaque():
            return [Text(_told(number, part, tell))]


def _told(number: int, part: Text | Image | File | Opaque, tell: Tell) -> str:
    match part:
        case Text(text):
            return text
        case Image():
            tell("image", number, "an image; words stand for it")
        case File():
            tell("file", number, "a file as such; words stand for it")
        case Opaque(kind):
            tell("opaque", number, f"a part of type {kind!r}; words stand for it")
    return in_words(part)


def _fenced(text: str) -> str:
    longest = max((len(run) for run in re.findall("`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text}\n{fence}"


def _closed(text: str) -> str:
    """The text with an end to its last fence: it would reach into the turns behind it."""
    fence = ""
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if match is None:
            continue
        if not fence:
            fence = match[1] if "`" not in line[match.end() :] else ""
        elif match[1][0] == fence[0] and len(match[1]) >= len(fence) and not line[match.end() :].strip():
            fence = ""
    return f"{text}\n{fence}" if fence else text


def escape(text: str) -> str:
    """The text with its headings escaped: one of them is read as the start of a turn."""
    return _HEADING.sub(r"\\\1", strict(text))


def rows(messages: Sequence[Message], _names: dict[str, str]) -> list[Any]:
    """A heading, and the words."""
    (message,) = messages
    words = "\n\n".join(part.text for part in message.parts if isinstance(part, Text))
    return [f"## {_TITLES[message.role]}\n\n{words}\n\n"]


def own(_messages: Sequence[Message]) -> list[Any] | None:
    """There is no such form."""
    return None


def document(rows: list[Any], _model: str) -> Any:
    """The turns."""
    return "".join(rows)
