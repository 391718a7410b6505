"""The first rung: old results that a later one supersedes become one line each."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
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
    for at, (message, its_lines) in results.elided(messages, start, stop, frozenset(protect)):
        out[at] = message
        lines += its_lines
    return Lightened(tuple(out), tuple(lines))


class Results:
    """The results of a conversation that grows: which of them a later one supersedes, and what is quoted."""

    def __init__(self) -> None:
        self._number = 0
        self._calls: dict[str, ToolCall] = {}
        # Ids that were given to several calls: what their results answer changes with each.
        self._given_again: set[str] = set()
        self._last_of_text: dict[str, int] = {}
        self._last_of_call: dict[tuple[str, str], int] = {}
        self._superseded: set[int] = set()
        self._quotes = _Quotes()
        # What stands in place of superseded messages, by their numbers; those that are to be looked at, for
        # the first time or since something happened that they depend on.
        self._made: dict[int, tuple[Message, tuple[str, ...]]] = {}
        self._waiting: set[int] = set()
        self._protected: frozenset[str] = frozenset()

    def feed(self, messages: Sequence[Message]) -> None:
        """Take in the messages that follow."""
        for message in messages:
            at = self._number
            self._number += 1
            self._quotes.take(at, message)
            for part in message.parts:
                if isinstance(part, ToolCall):
                    if part.id in self._calls:
                        self._given_again.add(part.id)
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
            self._waiting.add(before)

    def elided(
        self, messages: Sequence[Message], start: int, stop: int, protect: frozenset[str]
    ) -> Iterator[tuple[int, tuple[Message, tuple[str, ...]]]]:
        """Messages from `start` to `stop` (half-open) in which a result is superseded: the number of each,
        what stands in its place, and the lines in that.

        Args:
            messages: those that were fed.
            start, stop: which of them count.
            protect: tools whose results stay.
        """
        if protect != self._protected:
            self._protected, self._waiting = protect, set(self._superseded)
        self._waiting |= self._quotes.news()
        if self._given_again:
            self._waiting.update(at for at in self._superseded if self._is_answer(messages[at]))
        for at in [at for at in self._waiting if start <= at < stop]:
            self._made[at] = self._elide(at, messages[at])
            self._waiting.remove(at)
        for at in sorted(self._made):
            if start <= at < stop and self._made[at][1]:
                yield at, self._made[at]

    def _is_answer(self, message: Message) -> bool:
        """Whether a message has results under ids that were given again."""
        parts = message.parts
        return any(isinstance(part, ToolResult) and part.call_id in self._given_again for part in parts)

    def _elide(self, at: int, message: Message) -> tuple[Message, tuple[str, ...]]:
        parts: list[Part] = []
        lines: list[str] = []
        for part in message.parts:
            why = self._why(at, part)
            call = self._call_of(part)
            if (
                not why
                or not isinstance(part, ToolResult)
                or not all(isinstance(item, Text) for item in part.content)
                or (call is not None and call.name in self._protected)
                or self._quotes.after(at, text := result_text(part))
            ):
                parts.append(part)
                continue
            line = f"{ELIDED_RESULT}{len(text)} characters; {why} later; kept in the archive]"
            parts.append(replace(part, content=(Text(line),)))
            lines.append(line)
        return with_parts(message, parts), tuple(lines)

    def _call_of(self, part: Part) -> ToolCall | None:
        """The call that a result answers."""
        return self._calls.get(part.call_id) if isinstance(part, ToolResult) else None

    def _why(self, at: int, part: Part) -> str:
        """Why a part of message `at` is not needed any more, as words; "" where it is."""
        if not isinstance(part, ToolResult) or part.is_error:
            return ""
        text = result_text(part)
        if len(text) < _BULKY:
            return ""
        if self._last_of_text[text] > at:
            return "the same came again"
        call = self._call_of(part)
        again = call is not None and self._last_of_call.get((call.name, call.arguments), at) > at
        return "the call was made again" if again else ""


class _Asked:
    """A text that was asked for: its lines, the last message that quotes it, the messages that it stands in
    and that nothing quotes so far, and how many lines and pieces were looked for in it."""

    __slots__ = ("last", "lines", "seen", "unquoted")

    def __init__(self, text: str) -> None:
        self.lines = frozenset(line.strip() for line in text.split("\n") if len(line) >= _QUOTED)
        self.last = -1
        self.unquoted: set[int] = set()
        self.seen: tuple[int, int] = 0, 0


class _Quotes:
    """Lines and quoted pieces of what user and assistant said, with the message that says each last.

    Each is looked for in a text that was asked for once, and once more where it is said again.
    """

    def __init__(self) -> None:
        self._last_lines: dict[str, int] = {}
        self._last_pieces: dict[str, int] = {}
        self._lines: list[str] = []
        self._pieces: list[str] = []
        self._asked: dict[str, _Asked] = {}

    def take(self, at: int, message: Message) -> None:
        """Take in a message."""
        if message.role == "tool":
            return
        for part in message.parts:
            if isinstance(part, Text):
                lines = [words for line in part.text.split("\n") if len(words := line.strip()) >= _QUOTED]
                pieces = [quoted[0] or quoted[1] for quoted in _PIECE.findall(part.text)]
                self._lines += lines
                self._pieces += pieces
                self._last_lines.update(dict.fromkeys(lines, at))
                self._last_pieces.update(dict.fromkeys(pieces, at))

    def after(self, at: int, text: str) -> bool:
        """Whether a message after `at` quotes the text."""
        asked = self._asked.get(text)
        if asked is None:
            asked = self._asked[text] = _Asked(text)
        self._look(text, asked, {})
        if asked.last > at:
            return True
        asked.unquoted.add(at)
        return False

    def news(self) -> set[int]:
        """The messages whose texts nothing quoted when they were asked for, and something does now."""
        found: set[int] = set()
        known: dict[tuple[int, int], tuple[frozenset[str], frozenset[str]]] = {}
        for text, asked in self._asked.items():
            if asked.unquoted:
                self._look(text, asked, known)
                quoted = {at for at in asked.unquoted if asked.last > at}
                asked.unquoted -= quoted
                found |= quoted
        return found

    def _look(
        self, text: str, asked: _Asked, known: dict[tuple[int, int], tuple[frozenset[str], frozenset[str]]]
    ) -> None:
        """Look for what was said since a text was looked at; `known` is that, by how much was seen."""
        size = len(self._lines), len(self._pieces)
        if asked.seen == size:
            return
        new = known.get(asked.seen)
        if new is None:
            lines, pieces = asked.seen
            new = frozenset(self._lines[lines:]), frozenset(self._pieces[pieces:])
            known[asked.seen] = new
        asked.seen = size
        said = [self._last_lines[line] for line in asked.lines & new[0]]
        said += [self._last_pieces[piece] for piece in new[1] if piece in text]
        asked.last = max(said, default=asked.last)
