"""Where a conversation may be cut: its groups, and the repairs that make it sendable at all.

A group is what must stay together: a user's message; or an assistant's message with the results of all its
calls. A turn starts at a real user message. The head is what leads: system messages and the first request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from snapshot.compaction.alike import shared
from snapshot.messages import Message, Opaque, Part, Text, ToolCall, ToolResult
from snapshot.parts.characters import is_blank
from snapshot.requests.tool_pairing import arrange, mended, no_result, renamed, torn

__all__ = ["Boundaries", "Group", "Repairs", "groups", "repair"]


@dataclass(frozen=True, slots=True)
class Group:
    """Messages `start` to `stop` (half-open) that stay together.

    Attributes:
        turn: whether a user's turn starts here.
        open: whether a call in it has no result yet.
    """

    start: int
    stop: int
    turn: bool
    open: bool


@dataclass(frozen=True, slots=True)
class Repairs:
    """What `repair` did.

    Attributes:
        orphans: results dropped because no call before them waits for them.
        orphans_at: numbers (from 0) of the messages that these stood in.
        unanswered: calls in the middle that were given a result saying that there is none.
        empty: messages dropped because they say nothing.
        halves: calls and results of a provider's own tools that became words, since the other half is gone.
    """

    orphans: tuple[ToolResult, ...] = ()
    orphans_at: tuple[int, ...] = ()
    unanswered: int = 0
    empty: int = 0
    halves: int = 0


def repair(messages: Sequence[Message]) -> tuple[tuple[Message, ...], Repairs]:
    """The messages with each result behind its call, and without what has no place in a request.

    Orphan results go, empty messages, and, but for the last group, unanswered calls; results that stand
    elsewhere come to their call, and what stood between follows behind them. A conversation that grows is
    repaired alike, but where a late result arrives. Messages that need nothing are the same objects.
    """
    sound = Boundaries()
    sound.follow(tuple(messages))
    return (tuple(messages), Repairs()) if sound.sound else _repaired(messages)


def _repaired(messages: Sequence[Message]) -> tuple[tuple[Message, ...], Repairs]:
    batches, orphans = arrange(messages)
    kept: list[Message] = []
    unanswered = empty = halves = 0
    used: set[str] = set()
    half = torn([batch.message for batch in batches], last=len(batches) - 1)
    for number, batch in enumerate(batches):
        if all(isinstance(part, Text) and is_blank(part.text) for part in batch.message.parts):
            empty += 1
            continue
        last = number == len(batches) - 1
        message, count = mended(batch.message, half.get(number, frozenset()))
        halves += count
        names = _named(message.parts, used)
        kept.append(renamed(message, names))
        for results, places in batch.results:
            kept.append(renamed(results, {number: names[place] for number, place in enumerate(places)}))
        if batch.missing and not last:
            unanswered += len(batch.missing)
            made = tuple(no_result(names[place]) for place in batch.missing)
            if kept[-1].role == "tool":
                kept[-1] = replace(kept[-1], parts=(*kept[-1].parts, *made), raw=())
            else:
                kept.append(Message("tool", made))
    return tuple(kept), Repairs(tuple(orphans), _places_of(orphans, messages), unanswered, empty, halves)


def _places_of(orphans: Sequence[ToolResult], messages: Sequence[Message]) -> tuple[int, ...]:
    """Number of the message that each stands in, by the object that it is."""
    places = (
        {id(part): at for at, message in enumerate(messages) for part in message.parts} if orphans else {}
    )
    return tuple(places.get(id(orphan), 0) for orphan in orphans)


def _named(parts: Sequence[Part], used: set[str]) -> dict[int, str]:
    """By place an id of its own for each call; `used` takes them up."""
    names: dict[int, str] = {}
    for place, part in enumerate(parts):
        if isinstance(part, ToolCall):
            sent, again = part.id or "call", 1
            while sent in used or not (part.id or again > 1):
                again += 1
                sent = f"{part.id or 'call'}_{again}"
            used.add(sent)
            names[place] = sent
    return names


def groups(messages: Sequence[Message]) -> tuple[Group, ...]:
    """The groups of repaired messages, in order; they partition the messages."""
    found = Boundaries()
    found.follow(tuple(messages))
    return tuple(found.groups)


class Boundaries:
    """The groups of a conversation, and whether it needs no repair, found message by message as it grows.

    Attributes:
        messages: the conversation.
        groups: its groups, in order; they partition the messages.
    """

    def __init__(self) -> None:
        self.messages: tuple[Message, ...] = ()
        self.groups: list[Group] = []
        self._used: dict[str, int] = {}  # ids of calls, each with the number of its message
        self._ids: list[str] = []
        self._unsound = -1  # number of the first group that may need repair

    @property
    def sound(self) -> bool:
        """Whether nothing is to be repaired, as far as one quick look tells: most conversations are so."""
        return self._unsound < 0

    def follow(self, messages: tuple[Message, ...]) -> None:
        """Go on to these messages: where they begin as those before, only the rest is looked at."""
        if messages is self.messages:
            return
        known = shared(self.messages, messages)
        # The last group may go on, so it is looked at again.
        while self.groups and self.groups[-1].stop >= known:
            self._forget(self.groups.pop().start)
        start = self.groups[-1].stop if self.groups else 0
        self.messages = messages
        while start < len(messages):
            stop = start + 1
            while stop < len(messages) and messages[stop].role == "tool":
                stop += 1
            self._take(messages, start, stop)
            start = stop

    def _forget(self, start: int) -> None:
        while self._ids and self._used[self._ids[-1]] >= start:
            del self._used[self._ids.pop()]
        if self._unsound >= start:
            self._unsound = -1

    def _take(self, messages: Sequence[Message], start: int, stop: int) -> None:
        """One group: a message and the messages of tools behind it."""
        first = messages[start]
        calls = {part.id for part in first.parts if isinstance(part, ToolCall)}
        left = set(calls)
        sound = self._starts_well(first, start)
        for number in range(start + 1, stop):
            parts = messages[number].parts
            answers = [part.call_id for part in parts if isinstance(part, ToolResult)]
            whole = len(answers) == len(parts) == len(set(answers)) > 0
            sound = sound and whole and left.issuperset(answers)
            left.difference_update(answers)
        open_calls = bool(left)
        self.groups.append(Group(start, stop, first.starts_turn, open_calls))
        if self._unsound < 0 and not (sound and (stop == len(messages) or not open_calls)):
            self._unsound = start

    def _starts_well(self, message: Message, number: int) -> bool:
        """Whether a message that begins a group needs no repair; the ids of its calls are taken up."""
        if message.role == "tool":
            return False
        well, says = True, False
        for part in message.parts:
            if isinstance(part, ToolCall):
                if not part.id or part.id in self._used:
                    well = False
                else:
                    self._used[part.id] = number
                    self._ids.append(part.id)
            elif isinstance(part, ToolResult | Opaque):
                well = False
            says = says or not isinstance(part, Text) or not is_blank(part.text)
        return well and says
