"""Markdown chat logs: turns under headings, behind bold names, or behind `User:` at the start of a line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from snapshot._lazy import lazy_pattern
from snapshot.messages import Role, Text, Transcript
from snapshot.transcripts.io.source import Sample, Source
from snapshot.transcripts.reading.build import Builder
from snapshot.transcripts.reading.threads import Detection

NAME = "markdown"

_ROLES: dict[str, Role] = {
    "user": "user", "human": "user", "you": "user", "me": "user", "prompt": "user",
    "assistant": "assistant", "ai": "assistant", "chatgpt": "assistant", "claude": "assistant",
    "gemini": "assistant", "copilot": "assistant", "model": "assistant", "bot": "assistant",
    "gpt": "assistant", "response": "assistant", "cursor": "assistant", "grok": "assistant",
    "system": "system", "developer": "system",
}  # fmt: skip
_NAME = rf"(?P<who>{'|'.join(_ROLES)})"
# Decoration, such as an emoji in front, and a time or a model behind in brackets.
_AROUND = r"[^\w\s#*<>\[\](){}|/\\`]{0,3}\s*"
_TAIL = r"(?:\s*[(\[][^)\]\n]{0,60}[)\]])?"
_BOLD = r"(?:\*\*|__)"
_STYLES = {
    "headings": lazy_pattern(
        rf"#{{1,6}}[ \t]+{_AROUND}(?:\*\*)?{_NAME}(?:\*\*)?{_TAIL}\s*:?(?:\*\*)?{_TAIL}[ \t]*#*(?P<rest>)$",
        re.I,
    ),
    "bold names": lazy_pattern(
        rf"{_AROUND}{_BOLD}{_NAME}{_TAIL}\s*(?::{_BOLD}|{_BOLD}{_TAIL}[ \t]*(?::|$))[ \t]*(?P<rest>.*)$", re.I
    ),
    "names at line starts": lazy_pattern(rf"{_NAME}:(?:[ \t]+(?P<rest>.*))?$", re.I),
}
_FENCE = lazy_pattern(r" {0,3}(`{3,}|~{3,})(?P<info>.*)$")
_RULE = lazy_pattern(r"\n[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*\n*\Z")
_LEAD = 40  # lines that may stand before the first turn: a title, a date, who exported it


@dataclass(frozen=True, slots=True)
class _Turn:
    """A turn: its line number from 1, who speaks, and what."""

    line: int
    role: Role
    text: str


def detect(sample: Sample) -> Detection | None:
    """How sure it is that this is such a log: both sides speak, in one style, from the start on."""
    style, before, turns = _turns(sample.text)
    roles = {turn.role for turn in turns}
    if not {"user", "assistant"} <= roles or before.count("\n") > _LEAD:
        return None
    share = 0.6 if style == "names at line starts" else 0.75
    confidence = min(0.95, share + 0.05 * (len(turns) - 2))
    return Detection(NAME, confidence, f"{len(turns)} turns of user and assistant, told by {style}")


def read(source: Source) -> Transcript:
    """The turns. Blank lines and rules around a turn are its frame, and go; all else stays as it is.

    The style of the first turn is that of all: the same words in another style, in a fence or in a
    quote, are words. What stands before the first turn is the system's.
    """
    builder = Builder(source)
    _, before, turns = _turns(source.text())
    if not turns:
        raise source.error("no turn in it: expected headings, bold names or lines such as `User:`")
    if before.strip():
        builder.add("system", [Text(before.strip())], where="line 1")
    for turn in turns:
        builder.add(turn.role, [Text(turn.text)] if turn.text else [], where=f"line {turn.line}")
    return builder.finish(NAME)


def _turns(text: str) -> tuple[str, str, list[_Turn]]:
    """The style, what stands before the first turn, and the turns."""
    lines = text.replace("\r\n", "\n").split("\n")
    style = ""
    starts: list[tuple[int, re.Match[str]]] = []
    for number in outside_fences(lines):
        for name in [style] if style else _STYLES:
            match = _STYLES[name].match(lines[number]) if len(lines[number]) < 1 << 16 else None
            if match:
                style = name
                starts.append((number, match))
                break
    if not starts:
        return "", "", []
    stops = [*(number for number, _ in starts[1:]), len(lines)]
    turns: list[_Turn] = []
    for (number, match), stop in zip(starts, stops, strict=True):
        rest = [match["rest"]] if match["rest"] else []
        body = "\n".join([*rest, *lines[number + 1 : stop]])
        if stop < len(lines):
            body = _RULE.sub("", "\n" + body)
        turns.append(_Turn(number + 1, _ROLES[match["who"].lower()], body.strip("\n").rstrip()))
    return style, "\n".join(lines[: starts[0][0]]), turns


def outside_fences(lines: list[str]) -> Iterator[int]:
    """Numbers of the lines that are in no code; a fence that is never closed is none."""
    closing: dict[int, int] = {}
    opened: tuple[int, str] | None = None
    for number, line in enumerate(lines):
        match = _FENCE.match(line)
        if match is None:
            continue
        if opened is None:
            if "`" not in match["info"]:
                opened = (number, match[1])
        elif match[1][0] == opened[1][0] and len(match[1]) >= len(opened[1]) and not match["info"].strip():
            closing[opened[0]] = number
            opened = None
    number = 0
    while number < len(lines):
        if number in closing:
            number = closing[number]
        else:
            yield number
        number += 1
