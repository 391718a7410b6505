"""A transcript as steps that any provider accepts: calls and their results together, ids that are valid.

Whatever the order of the transcript, a message with calls is followed by one result for each of them. Only
the last message may have calls that are still open: all of them, if none was answered yet.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from snapshot.messages import Message, Part, Text, ToolCall, ToolResult, Transcript
from snapshot.requests.fallback_text import NO_RESULT, blank, call_in_words

__all__ = ["Step", "plan"]

_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")  # OpenAI takes no longer ones, Anthropic no other characters


@dataclass(frozen=True, slots=True)
class Step:
    """A message of the system, the user or the assistant, and the results of the calls in it.

    `results` are messages of role "tool", in the order of the transcript.
    """

    message: Message
    results: tuple[Message, ...] = ()

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls of the message."""
        return tuple(part for part in self.message.parts if isinstance(part, ToolCall))


def plan(transcript: Transcript, formats: frozenset[str], sound: Callable[[Message], bool]) -> list[Step]:
    """The steps of `transcript`.

    Args:
        transcript: any transcript.
        formats: formats whose `raw` is the API's own.
        sound: whether the API accepts a message's `raw`. Where it does not, or where a call or result in it
            has to change, `raw` is empty in the step.
    """
    own = transcript.format in formats
    messages = [
        _in_place(message if own and message.raw and _sends(message, sound) else replace(message, raw=()))
        for message in transcript.messages
    ]
    answers = _Answers(messages)
    ids = _Ids()
    last = max((n for n, message in enumerate(messages) if _visible(message)), default=-1)
    steps: list[Step] = []
    for number, found in enumerate(messages):
        if not _visible(found):
            continue
        message, named = ids.settle(_without_results(found))
        results = tuple(answers.of(number, named, whole=bool(message.raw)))
        answered = {
            part.call_id for result in results for part in result.parts if isinstance(part, ToolResult)
        }
        missing = [call_id for _, call_id in named if call_id not in answered]
        if missing and (results or number != last):
            made = (ToolResult(call_id, (Text(NO_RESULT),), is_error=True) for call_id in missing)
            results += (Message("tool", tuple(made)),)
        steps.append(Step(message, results))
    return steps


def _sends(message: Message, sound: Callable[[Message], bool]) -> bool:
    try:
        return sound(message)
    except RecursionError:  # nested more deeply than any API takes
        return False


def _in_place(message: Message) -> Message:
    """The message with calls only where calls can stand: in what the assistant says."""
    if message.role == "assistant" or not any(isinstance(part, ToolCall) for part in message.parts):
        return message
    parts: list[Part] = [
        Text(call_in_words(part)) if isinstance(part, ToolCall) else part for part in message.parts
    ]
    return replace(message, parts=tuple(parts), raw=())


def _visible(message: Message) -> bool:
    """Whether anything but results stands in it."""
    return any(not isinstance(part, ToolResult) and not blank(part) for part in message.parts)


def _without_results(message: Message) -> Message:
    rest = tuple(part for part in message.parts if not isinstance(part, ToolResult))
    if len(rest) == len(message.parts) and message.role != "tool":
        return message
    return replace(message, role="user" if message.role == "tool" else message.role, parts=rest, raw=())


class _Answers:
    """Which result answers which call: the first one behind it that names it. All others are orphans."""

    def __init__(self, messages: list[Message]) -> None:
        self._messages = messages
        self._by_call: dict[tuple[int, int], tuple[int, int]] = {}  # message and part of both
        waiting: dict[str, tuple[int, int]] = {}
        for number, message in enumerate(messages):
            for place, part in enumerate(message.parts):
                if isinstance(part, ToolCall) and part.id:
                    waiting[part.id] = (number, place)
                elif isinstance(part, ToolResult) and part.call_id in waiting:
                    self._by_call[waiting.pop(part.call_id)] = (number, place)

    def of(self, number: int, named: list[tuple[int, str]], *, whole: bool) -> Iterator[Message]:
        """The results for message `number`, whose calls stand at the places in `named` with their ids.

        `whole`: the calls go out as they came, with the ids they had, so that their results may, too.
        """
        found = sorted(
            (self._by_call[number, place], call_id)
            for place, call_id in named
            if (number, place) in self._by_call
        )
        for source, group in groupby(found, lambda pair: pair[0][0]):
            message = self._messages[source]
            results: list[ToolResult] = []
            for (_, place), call_id in group:
                result = message.parts[place]
                if isinstance(result, ToolResult):
                    results.append(replace(result, call_id=call_id))
            kept = whole and len(results) == len(message.parts)
            yield Message("tool", tuple(results), raw=message.raw if kept else ())


class _Ids:
    """Ids of calls that every API accepts, each only once."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def settle(self, message: Message) -> tuple[Message, list[tuple[int, str]]]:
        """The message with good ids, and the id of the call at each place; without `raw` if one changed."""
        calls = [(place, part) for place, part in enumerate(message.parts) if isinstance(part, ToolCall)]
        ids = [call.id for _, call in calls]
        if not message.raw or len(set(ids)) < len(ids) or not self._used.isdisjoint(ids):
            parts = list(message.parts)
            for place, call in calls:
                parts[place] = replace(call, id=self._new(call.id))
            message = replace(message, parts=tuple(parts), raw=() if calls else message.raw)
        named = [(place, part.id) for place, part in enumerate(message.parts) if isinstance(part, ToolCall)]
        self._used.update(call_id for _, call_id in named)
        return message, named

    def _new(self, call_id: str) -> str:
        wanted = call_id or "call"
        if not _ID.fullmatch(wanted):
            digest = hashlib.sha256(wanted.encode("utf-8", "surrogatepass")).hexdigest()[:8]
            wanted = f"{re.sub('[^A-Za-z0-9_-]', '_', wanted)[:28]}_{digest}"
        text, n = wanted, 1
        while text in self._used:
            n += 1
            text = f"{wanted[:32]}_{n}"
        self._used.add(text)
        return text
