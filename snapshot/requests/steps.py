"""A transcript as steps that any provider accepts: calls and their results together, ids that are valid.

Whatever the order of the transcript, a message with calls is followed by one result for each of them. Only
the last message may have calls that are still open: all of them, if none was answered yet.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from snapshot.messages import Message, Part, Reasoning, Text, ToolCall, ToolResult, Transcript
from snapshot.requests.fallback_text import blank, call_in_words
from snapshot.requests.tool_pairing import Batch, arrange, mended, no_result, pair, renamed, torn

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
    last = max((n for n, message in enumerate(transcript.messages) if _visible(message)), default=-1)
    prepared: list[Message] = []
    placed = _placed(transcript.messages)
    half = torn(placed, last=last)
    for number, found in enumerate(placed):
        message, _ = mended(found, half.get(number, frozenset()))
        sendable = own and message.raw and _sends(message, sound)
        prepared.append(message if sendable else replace(message, raw=()))
    ids = _Ids()
    steps: list[Step] = []
    for batch in arrange(prepared)[0]:
        if not _visible(batch.message):
            continue
        message, named = ids.settle(batch.message)
        results = _results(batch, named, whole=bool(message.raw))
        if batch.missing and (results or batch.number != last):
            results += (Message("tool", tuple(no_result(named[place]) for place in batch.missing)),)
        steps.append(Step(message, results))
    return steps


def _sends(message: Message, sound: Callable[[Message], bool]) -> bool:
    if not all(part.name for part in message.parts if isinstance(part, ToolCall)):
        return False
    try:
        return sound(message)
    except RecursionError:  # nested more deeply than any API takes
        return False


def _placed(messages: Sequence[Message]) -> list[Message]:
    """The messages with calls and thoughts only in what the assistant says; elsewhere they are words, and so
    are the results of such calls."""
    wrong = {
        number
        for number, message in enumerate(messages)
        if message.role != "assistant"
        and any(isinstance(part, ToolCall | Reasoning) for part in message.parts)
    }
    if not wrong:
        return list(messages)
    answers = pair(message.parts for message in messages).answers
    called = {result: call for call, result in answers.items() if call[0] in wrong}
    found: list[Message] = []
    for number, message in enumerate(messages):
        parts: list[Part] = []
        for place, part in enumerate(message.parts):
            call = called.get((number, place))
            if number in wrong and isinstance(part, ToolCall):
                parts.append(Text(call_in_words(part)))
            elif number in wrong and isinstance(part, Reasoning):
                parts += [Text(f"[thinking] {part.text}")] if part.text.strip() else []
            elif call is not None and isinstance(part, ToolResult):
                made = messages[call[0]].parts[call[1]]
                name = made.name if isinstance(made, ToolCall) else ""
                parts += [Text(f"[{'error' if part.is_error else 'result'} of {name}]"), *part.content]
            else:
                parts.append(part)
        changed = tuple(parts) != message.parts
        found.append(replace(message, parts=tuple(parts), raw=()) if changed else message)
    return found


def _visible(message: Message) -> bool:
    """Whether anything but results stands in it."""
    return any(not isinstance(part, ToolResult) and not blank(part) for part in message.parts)


def _results(batch: Batch, named: Mapping[int, str], *, whole: bool) -> tuple[Message, ...]:
    """The results of a batch under the ids in `named`, by the place of the call.

    `whole`: the calls go out as they came, so that their results may, too.
    """
    found: list[Message] = []
    for message, places in batch.results:
        answers = renamed(message, {number: named[place] for number, place in enumerate(places)})
        found.append(answers if whole else replace(answers, raw=()))
    return tuple(found)


class _Ids:
    """Ids of calls that every API accepts, each only once."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def settle(self, message: Message) -> tuple[Message, dict[int, str]]:
        """The message with good ids, and the id of the call at each place.

        What came in the API's own form keeps its ids, but for those that were there before.
        """
        ids = {place: part.id for place, part in enumerate(message.parts) if isinstance(part, ToolCall)}
        named: dict[int, str] = {}
        if message.raw:
            used = set(self._used)
            for place, call_id in ids.items():
                named[place] = _free(call_id, used) if call_id in used else call_id
                used.add(named[place])
            message = renamed(message, named)
        if not message.raw:
            used = set(self._used)
            for place, call_id in ids.items():
                named[place] = _free(call_id, used)
                used.add(named[place])
            message = renamed(message, named)
        self._used.update(named.values())
        return message, named


def _free(call_id: str, used: Set[str]) -> str:
    """An id that every API accepts and that is not used."""
    wanted = call_id or "call"
    if not _ID.fullmatch(wanted):
        digest = hashlib.sha256(wanted.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        wanted = f"{re.sub('[^A-Za-z0-9_-]', '_', wanted)[:28]}_{digest}"
    text, n = wanted, 1
    while text in used:
        n += 1
        text = f"{wanted[:32]}_{n}"
    return text
