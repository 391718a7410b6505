"""The first rung: old results that a later one supersedes become one line each."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from snapshot.compaction.candidate import Candidate, Step
from snapshot.compaction.replaced import ELIDED_RESULT, Lightened, result_text, with_parts
from snapshot.messages import Message, Part, Text, ToolCall, ToolResult

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
        context = candidate.context
        if candidate.messages is context.messages:
            results = context.history.built("results", Results, context.messages)
            lighter = _elided(context.messages, head, tail, results, self.protect)
        else:
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
    results = Results()
    results.feed(messages)
    return _elided(messages, start, stop, results, protect)


def _elided(
    messages: Sequence[Message], start: int, stop: int, results: Results, protect: Collection[str]
) -> Lightened:
    out = list(messages)
    lines: list[str] = []
    for at in results.superseded(start, stop):
        parts: list[Part] = []
        for part in messages[at].parts:
            why = results.why(at, part)
            call = results.call_of(part)
            if (
                not why
                or not isinstance(part, ToolResult)
                or not all(isinstance(item, Text) for item in part.content)
                or (call is not None and call.name in protect)
                or results.quoted_after(at, text := result_text(part))
            ):
                parts.append(part)
                continue
            line = f"{ELIDED_RESULT}{len(text)} characters; {why} later; kept in the archive]"
            parts.append(replace(part, content=(Text(line),)))
            lines.append(line)
        out[at] = with_parts(messages[at], parts)
    return Lightened(tuple(out), tuple(lines))


class Results:
    """The results of a conversation that grows: which of them a later one supersedes, and what is quoted."""

    def __init__(self) -> None:
        self._number = 0
        self._calls: dict[str, ToolCall] = {}
        self._last_of_text: dict[str, int] = {}
        self._last_of_call: dict[tuple[str, str], int] = {}
        self._superseded: set[int] = set()
        self._quotes = _Quotes()

    def feed(self, messages: Sequence[Message]) -> None:
        """Take in the messages that follow."""
        for message in messages:
            at = self._number
            self._number += 1
            self._quotes.take(at, message)
            for part in message.parts:
                if isinstance(part, ToolCall):
                    self._calls[part.id] = part
                elif isinstance(part, ToolResult) and not part.is_error:
                    self._result(at, part)

    def _result(self, at: int, part: ToolResult) -> None:
        text = result_text(part)
        if len(text) >= _BULKY:
            self._supersede(self._last_of_text.get(text), at)
            self._last_of_text[text] = at
        call = self._calls.get(part.call_id)
        if call is not None:
            key = call.name, call.arguments
            self._supersede(self._last_of_call.get(key), at)
            self._last_of_call[key] = at

    def _supersede(self, before: int | None, at: int) -> None:
        if before is not None and before < at:
            self._superseded.add(before)

    def superseded(self, start: int, stop: int) -> list[int]:
        """Numbers of the messages from `start` to `stop` (half-open) in which a result may be superseded."""
        return sorted(at for at in self._superseded if start <= at < stop)

    def call_of(self, part: Part) -> ToolCall | None:
        """The call that a result answers."""
        return self._calls.get(part.call_id) if isinstance(part, ToolResult) else None

    def why(self, at: int, part: Part) -> str:
        """Why a part of message `at` is not needed any more, as words; "" where it is."""
        if not isinstance(part, ToolResult) or part.is_error:
            return ""
        text = result_text(part)
        if len(text) < _BULKY:
            return ""
        if self._last_of_text[text] > at:
            return "the same came again"
        call = self.call_of(part)
        again = call is not None and self._last_of_call.get((call.name, call.arguments), at) > at
        return "the call was made again" if again else ""

    def quoted_after(self, at: int, text: str) -> bool:
        """Whether a message of the user or the assistant after `at` quotes `text`."""
        return self._quotes.after(at, text)


class _Quotes:
    """Lines and quoted pieces of what user and assistant said, with the message that says each last."""

    def __init__(self) -> None:
        self._lines: dict[str, int] = {}
        self._pieces: dict[str, int] = {}

    def take(self, at: int, message: Message) -> None:
        if message.role == "tool":
            return
        for part in message.parts:
            if isinstance(part, Text):
                for line in part.text.split("\n"):
                    if len(line.strip()) >= _QUOTED:
                        self._lines[line.strip()] = at
                for quoted in _PIECE.findall(part.text):
                    self._pieces[quoted[0] or quoted[1]] = at

    def after(self, at: int, text: str) -> bool:
        if any(self._lines.get(line.strip(), -1) > at for line in text.split("\n")):
            return True
        return any(said > at and piece in text for piece, said in self._pieces.items())
