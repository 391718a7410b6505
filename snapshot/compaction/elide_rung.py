"""The first rung: old results that a later one supersedes become one line each."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from snapshot.compaction.candidate import Candidate, Step
from snapshot.compaction.replaced import ELIDED_RESULT, Lightened, calls_by_id, result_text, with_parts
from snapshot.messages import Message, Part, Text, ToolResult

__all__ = ["ElideRung", "elide"]

# Shorter results are not worth a mark.
_BULKY = 400
# A line or a quoted piece of at least so many characters that a later message repeats is a quotation.
_QUOTED = 24
_PIECE = re.compile(r"`([^`\n]{8,200})`|\"([^\"\n]{12,200})\"")


@dataclass(frozen=True, slots=True)
class ElideRung:
    """Elides superseded results of the middle.

    Attributes:
        protect: names of tools whose results stay.
    """

    name: ClassVar[str] = "elide"
    protect: frozenset[str] = frozenset()

    def apply(self, candidate: Candidate, goal: int) -> Step:
        """The candidate with superseded results replaced; the goal does not matter."""
        del goal
        if candidate.replaced:
            return Step(None, "what it could elide is on pages already")
        head, tail = candidate.context.head, candidate.cut
        lighter = elide(candidate.messages, head, tail, protect=self.protect)
        if not lighter.count:
            return Step(None, "no result is superseded")
        return Step(candidate.lightened(lighter.messages), f"{lighter.count} superseded results")


def elide(messages: Sequence[Message], start: int, stop: int, *, protect: Collection[str] = ()) -> Lightened:
    """Replace superseded bulky results in messages `start` to `stop` (half-open) by a line.

    A result is superseded if the same text came again later, or the same call (tool and arguments) was made
    again with another result; the line says which. Errors stay, results of the tools named in `protect`, and
    what a later message of the user or the assistant quotes.
    """
    calls = calls_by_id(messages)
    last_of_text: dict[str, int] = {}
    last_of_call: dict[tuple[str, str], int] = {}
    for at, message in enumerate(messages):
        for part in message.parts:
            if isinstance(part, ToolResult) and not part.is_error:
                last_of_text[result_text(part)] = at
                call = calls.get(part.call_id)
                if call is not None:
                    last_of_call[call.name, call.arguments] = at
    quotes = _Quotes(messages)
    out = list(messages)
    lines: list[str] = []
    for at in range(start, stop):
        parts: list[Part] = []
        for part in messages[at].parts:
            text = result_text(part) if isinstance(part, ToolResult) and not part.is_error else ""
            call = calls.get(part.call_id) if isinstance(part, ToolResult) else None
            again = call is not None and last_of_call.get((call.name, call.arguments), at) > at
            if (
                not isinstance(part, ToolResult)
                or len(text) < _BULKY
                or not (last_of_text[text] > at or again)
                or not all(isinstance(item, Text) for item in part.content)
                or (call is not None and call.name in protect)
                or quotes.after(at, text)
            ):
                parts.append(part)
                continue
            why = "the same came again" if last_of_text[text] > at else "the call was made again"
            line = f"{ELIDED_RESULT}{len(text)} characters; {why} later; kept in the archive]"
            parts.append(replace(part, content=(Text(line),)))
            lines.append(line)
        out[at] = with_parts(messages[at], parts)
    return Lightened(tuple(out), tuple(lines))


class _Quotes:
    """Lines and quoted pieces of what user and assistant said, with the message that says each last."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._lines: dict[str, int] = {}
        self._pieces: dict[str, int] = {}
        for at, message in enumerate(messages):
            if message.role == "tool":
                continue
            for part in message.parts:
                if isinstance(part, Text):
                    for line in part.text.split("\n"):
                        if len(line.strip()) >= _QUOTED:
                            self._lines[line.strip()] = at
                    for quoted in _PIECE.findall(part.text):
                        self._pieces[quoted[0] or quoted[1]] = at

    def after(self, at: int, text: str) -> bool:
        """Whether a message after `at` quotes `text`."""
        if any(self._lines.get(line.strip(), -1) > at for line in text.split("\n")):
            return True
        return any(said > at and piece in text for piece, said in self._pieces.items())
