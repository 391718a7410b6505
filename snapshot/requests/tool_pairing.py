"""Calls and their results, paired: the one place that says which result answers which call.

A result answers a call with its id that stands before it, however far: other messages may stand between, the
user's words among them. Ids that occur several times are told apart by order. A result that no call waits for
is an orphan, a call that nothing answers gets a result that says so, once something follows it.

What a provider runs itself (`snapshot.parts.kinds`) is paired within a turn of the assistant.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain, groupby
from typing import Any, TypeAlias, cast

from snapshot.messages import Message, Opaque, Part, Text, ToolCall, ToolResult
from snapshot.parts.kinds import api_of, family_of, pair_id, words_of_opaque

__all__ = [
    "NO_OUTPUT",
    "NO_RESULT",
    "Batch",
    "NamelessCalls",
    "OpenCalls",
    "Pairs",
    "arrange",
    "mended",
    "no_result",
    "pair",
    "renamed",
    "torn",
    "with_ids",
]

NO_OUTPUT = "(no output)"
"""What a result without words says, where an API wants some."""
NO_RESULT = "(no result: the call was never answered)"
"""What stands for the result that a call never got."""

Place: TypeAlias = tuple[int, int]
"""A part: number of its message, and its own number in it, both from 0."""


def no_result(call_id: str) -> ToolResult:
    """The result of a call that never got one."""
    return ToolResult(call_id, (Text(NO_RESULT),), is_error=True)


# --- pairs


@dataclass(frozen=True, slots=True)
class Pairs:
    """Which result answers which call.

    Attributes:
        answers: by the place of a call, that of its result.
        orphans: places of results that answer no call, ascending.
        unanswered: places of calls without a result, ascending.
    """

    answers: Mapping[Place, Place]
    orphans: tuple[Place, ...]
    unanswered: tuple[Place, ...]


def pair(messages: Iterable[Sequence[Part]]) -> Pairs:
    """The pairs among the parts of messages, each given as its parts.

    Calls and results without an id are paired with each other, by order.
    """
    by_id: defaultdict[str, _Id] = defaultdict(_Id)
    for number, parts in enumerate(messages):
        for place, part in enumerate(parts):
            if isinstance(part, ToolCall):
                by_id[part.id].call((number, place))
            elif isinstance(part, ToolResult):
                by_id[part.call_id].results.append((number, place))
    answers: dict[Place, Place] = {}
    orphans: list[Place] = []
    unanswered: list[Place] = []
    for found in by_id.values():
        found.settle()
        answers.update(found.answers)
        orphans += found.orphans
        unanswered += found.open
    return Pairs(answers, tuple(sorted(orphans)), tuple(sorted(unanswered)))


class _Id:
    """Calls and results with one id, settled whenever a call follows results.

    As many results as calls wait go to them in their order. Of fewer, the calls of the newest message have
    them: an older call with this id was left without one.
    """

    __slots__ = ("answers", "orphans", "results", "waiting")

    def __init__(self) -> None:
        self.answers: list[tuple[Place, Place]] = []
        self.orphans: list[Place] = []
        self.results: list[Place] = []
        self.waiting: list[deque[Place]] = []  # the calls of a message each

    @property
    def open(self) -> Iterator[Place]:
        return chain.from_iterable(self.waiting)

    def call(self, place: Place) -> None:
        if self.results:
            self.settle()
        if not self.waiting or self.waiting[-1][0][0] != place[0]:
            self.waiting.append(deque())
        self.waiting[-1].append(place)

    def settle(self) -> None:
        taken: list[list[Place]] = []
        left = len(self.results)
        while left and self.waiting:
            calls = self.waiting[-1]
            taken.append([calls.popleft() for _ in range(min(left, len(calls)))])
            left -= len(taken[-1])
            if not calls:
                self.waiting.pop()
        found = [place for calls in reversed(taken) for place in calls]
        self.answers += zip(found, self.results, strict=False)
        self.orphans += self.results[len(found) :]
        self.results = []


@dataclass(frozen=True, slots=True)
class Batch:
    """A message without results, and the results of its calls, from wherever they stood.

    Attributes:
        number: of the message.
        message: it; the same object where no result stood in it.
        results: messages of role "tool" in the order of the transcript, each with the place of the call for
            each of its parts; what stood alone is the same object.
        missing: places in `message.parts` of calls that have no result.
    """

    number: int
    message: Message
    results: tuple[tuple[Message, tuple[int, ...]], ...] = ()
    missing: tuple[int, ...] = ()


def arrange(messages: Sequence[Message]) -> tuple[list[Batch], list[ToolResult]]:
    """The messages with every result directly behind its call, and the results that are orphans.

    Messages of results alone are in no batch of their own; whatever else stands in a message keeps its
    place, that of a tool's message in the user's name.
    """
    pairs = pair(message.parts for message in messages)
    answered: defaultdict[int, list[tuple[Place, int]]] = defaultdict(list)
    for (number, place), result in pairs.answers.items():
        answered[number].append((result, place))
    missing: defaultdict[int, list[int]] = defaultdict(list)
    for number, place in pairs.unanswered:
        missing[number].append(place)
    batches: list[Batch] = []
    for number, message in enumerate(messages):
        rest = _without_results(message)
        if not rest.parts and (message.parts or message.role == "tool"):
            continue
        if rest is message:
            places: Mapping[int, int] = {}
        else:
            kept = [place for place, part in enumerate(message.parts) if not isinstance(part, ToolResult)]
            places = {place: new for new, place in enumerate(kept)}
        results: list[tuple[Message, tuple[int, ...]]] = []
        for source, group in groupby(sorted(answered[number]), lambda item: item[0][0]):
            of_source = list(group)
            calls = tuple(places.get(place, place) for _, place in of_source)
            results.append((_piece(messages[source], [place for (_, place), _ in of_source]), calls))
        open_calls = tuple(places.get(place, place) for place in missing[number])
        batches.append(Batch(number, rest, tuple(results), open_calls))
    orphans = [
        part
        for number, place in pairs.orphans
        if isinstance(part := messages[number].parts[place], ToolResult)
    ]
    return batches, orphans


def _without_results(message: Message) -> Message:
    rest = tuple(part for part in message.parts if not isinstance(part, ToolResult))
    if len(rest) == len(message.parts) and message.role != "tool":
        return message
    return replace(message, role="user" if message.role == "tool" else message.role, parts=rest, raw=())


def _piece(message: Message, places: Sequence[int]) -> Message:
    """The results at `places` of a message as one of role "tool"; itself if they are all there is."""
    if len(places) == len(message.parts) and message.role == "tool":
        return message
    parts = tuple(message.parts[place] for place in places)
    whole = message.role == "tool" and len(message.raw) == len(message.parts)
    raw = tuple(message.raw[place] for place in places) if whole else ()
    first = places[0] == 0 and message.role == "tool"
    return replace(message, role="tool", parts=parts, raw=raw, id=message.id if first else "", usage=None)


# --- ids of calls

# Keys under which the APIs name a call, and keys of values that are the caller's own.
_IDS = ("id", "call_id", "tool_call_id", "tool_use_id")
_FOREIGN = frozenset({"input", "arguments", "args", "response"})


def renamed(message: Message, names: Mapping[int, str]) -> Message:
    """The message with the ids in `names` for the calls and results at these places; itself if it has them.

    In its raw form nothing but the ids changes: what only that form holds, such as the signature of a
    Gemini call, goes back to the provider. A form that names no calls stays as it is. There is no raw form
    where it does not tell which of its ids is meant.
    """
    parts = list(message.parts)
    ids: defaultdict[str, list[str]] = defaultdict(list)
    for place, part in enumerate(parts):
        if isinstance(part, ToolCall):
            ids[part.id].append(names.get(place, part.id))
            parts[place] = replace(part, id=ids[part.id][-1])
        elif isinstance(part, ToolResult):
            ids[part.call_id].append(names.get(place, part.call_id))
            parts[place] = replace(part, call_id=ids[part.call_id][-1])
    changed = {old: new for old, new in ids.items() if any(name != old for name in new)}
    if not changed:
        return message
    raw: tuple[Any, ...] = ()
    if message.raw and "" not in changed:
        seen: Counter[str] = Counter()
        try:
            raw = tuple(with_ids(list(message.raw), changed, seen))
        except RecursionError:  # nested more deeply than any API takes
            raw = ()
        if any(seen[old] not in (0, len(new)) for old, new in changed.items()):
            raw = ()
    return replace(message, parts=tuple(parts), raw=raw)


def with_ids(value: Any, names: Mapping[str, Sequence[str]], seen: Counter[str] | None = None) -> Any:
    """Messages as an API has them, with other ids for calls and results.

    Args:
        value: dictionaries and lists; they stay as they are.
        names: by an id, those that stand in its place, the first time, the second, and so on.
        seen: counts how often each id was met.
    """
    seen = Counter() if seen is None else seen
    if isinstance(value, list):
        return [with_ids(item, names, seen) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    table = cast("dict[str, Any]", value)
    found = (item for key in _IDS if isinstance(item := table.get(key), str) and item in names)
    old = next(found, None)
    new = None
    if old is not None:
        new = names[old][min(seen[old], len(names[old]) - 1)]
        seen[old] += 1
    return {
        key: new
        if new is not None and key in _IDS and item == old
        else item
        if key in _FOREIGN
        else with_ids(item, names, seen)
        for key, item in table.items()
    }


# --- tools that the provider runs


def torn(messages: Sequence[Message], *, last: int = -1) -> dict[int, frozenset[int]]:
    """By number of the message, parts that are half of a pair of call and result of a provider's own tool.

    A call at the end of a message, alone or before calls of the caller's own tools, may go on in the
    assistant's next message of the turn: code that calls such a tool waits for it.

    Args:
        messages: in order; only the assistant's are looked at, and the user's words end a turn.
        last: number of the message that nothing follows but results: what runs there goes on.
    """
    half: defaultdict[int, set[int]] = defaultdict(set)
    running: list[tuple[str, Place]] = []

    def end_turn() -> None:
        for _, (at, place) in running:
            half[at].add(place)
        running.clear()

    for number, message in enumerate(messages):
        if message.role != "assistant":
            if any(not isinstance(part, ToolResult) for part in message.parts):
                end_turn()
            continue
        waiting: list[tuple[str, Place]] = []
        for place, part in enumerate(message.parts):
            family = family_of(part)
            if family == "provider-call" and isinstance(part, Opaque):
                waiting.append((pair_id(part), (number, place)))
            elif family == "provider-result" and isinstance(part, Opaque):
                name = pair_id(part)
                here = [call for call in waiting if call[0] == name]
                before = [call for call in running if call[0] == name != ""]
                if here:
                    waiting.remove(here[0])
                elif before:
                    running.remove(before[0])
                else:
                    half[number].add(place)
        runs = _running(message.parts, {place for _, (_, place) in waiting})
        half[number] |= {place for _, (_, place) in waiting} - runs
        running += [call for call in waiting if call[1][1] in runs]
        if number == last:
            if message.parts and isinstance(message.parts[-1], ToolCall):
                running.clear()
            else:
                running = [call for call in running if call[1][0] != number]
    end_turn()
    return {number: frozenset(places) for number, places in half.items() if places}


def _running(parts: Sequence[Part], open_calls: Set[int]) -> set[int]:
    """Of the calls without a result those at the end, of one API: what is another's becomes words, behind
    which none runs. Calls of the caller's own tools may stand among them."""
    found: set[int] = set()
    for place in reversed(range(len(parts))):
        if isinstance(parts[place], ToolCall):
            continue
        if place not in open_calls or (found and _api(parts[place]) != _api(parts[max(found)])):
            break
        found.add(place)
    return found


def _api(part: Part) -> str:
    return api_of(part) if isinstance(part, Opaque) else ""


def mended(message: Message, half: Set[int] = frozenset()) -> tuple[Message, int]:
    """The message with words in place of torn halves, and how many there were; itself if there are none."""
    if message.role != "assistant":  # where the provider's own tools have no place
        half = frozenset(
            number
            for number, part in enumerate(message.parts)
            if family_of(part) in ("provider-call", "provider-result")
        )
    if not half:
        return message, 0
    parts = tuple(
        Text(words_of_opaque(part)) if number in half and isinstance(part, Opaque) else part
        for number, part in enumerate(message.parts)
    )
    return replace(message, parts=parts, raw=()), len(half)


# --- along a path, message by message


@dataclass(slots=True)
class OpenCalls:
    """The calls that wait for a result, in a history that takes one message after the other.

    Such a history is stricter than a request: results follow their calls directly.

    Attributes:
        open: ids of the calls that wait, with how many times.
    """

    open: Counter[str]

    @classmethod
    def after(cls, messages: Iterable[Message] = ()) -> OpenCalls:
        """What is open after `messages`."""
        found = cls(Counter())
        for message in messages:
            found.take(message)
        return found

    def take(self, message: Message) -> list[tuple[str, str]]:
        """Go on by one message: what does not pair, as kind and words."""
        wrong: list[tuple[str, str]] = []
        if message.role == "tool":
            for part in message.parts:
                if isinstance(part, ToolResult):
                    if self.open[part.call_id] > 0:
                        self.open[part.call_id] -= 1
                    else:
                        wrong.append(
                            ("orphan-result", f"a result of {_name(part.call_id)}, which is not open")
                        )
            self.open = +self.open
            return wrong
        wrong += [("open-call", f"{_name(call)} has no result before it") for call in self.open]
        self.open = Counter(part.id for part in message.parts if isinstance(part, ToolCall))
        return wrong

    def closing(self) -> Message:
        """A message with a result for each call that waits, which says that it never got one."""
        return Message("tool", tuple(no_result(call_id) for call_id in self.open.elements()))

    def answers_in(self, message: Message) -> Message:
        """The message without the results that no call waits for; itself if there are none."""
        left = Counter(self.open)
        kept: list[Part] = []
        for part in message.parts:
            if isinstance(part, ToolResult):
                if left[part.call_id] <= 0:
                    continue
                left[part.call_id] -= 1
            kept.append(part)
        return message if len(kept) == len(message.parts) else replace(message, parts=tuple(kept), raw=())


def _name(call_id: str) -> str:
    return f"call {call_id!r}" if call_id else "a call without id"


class NamelessCalls:
    """Ids for calls of formats without any, and for each result that of its call: by name, else by order."""

    def __init__(self, invent: Callable[[], str]) -> None:
        self._invent = invent
        self._open: set[str] = set()
        self._queues: defaultdict[str, deque[str]] = defaultdict(deque)  # by name, and all under ""

    def call(self, name: str) -> str:
        """An id for a new call of `name`."""
        call_id = self._invent()
        self._open.add(call_id)
        for key in {name, ""}:
            self._queues[key].append(call_id)
        return call_id

    def answer(self, name: str) -> str:
        """The id of the call that a result of `name` answers; "" if no call is open."""
        for key in (name, ""):
            queue = self._queues[key]
            while queue:
                call_id = queue.popleft()
                if call_id in self._open:  # not yet answered through its other queue
                    self._open.remove(call_id)
                    return call_id
        return ""
