"""Lists of messages that are read again and again: what was read of one before is not read anew.

A harness hands over the same list before every request, a little longer each time. `continued` gives what
`from_messages` gives, and the same objects for messages that it has read before.

A list may be changed in place, at any depth, and a part of it that was is read again: before a message is
taken from an earlier reading, everything in it is compared, see `watched`.

What follows is read by itself, and only put behind what is known where nothing can reach across: the speaker
changes, no call id is used on both sides, the format stays, and the reader has nothing to report. Else all is
read anew. The one thing that may differ is a diagnostic: of words of a harness the first reading's count.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import compress, count
from operator import ne
from typing import Any, Protocol, cast

from snapshot.errors import TranscriptError
from snapshot.messages import Diagnostic, Message, ToolCall, ToolResult, Transcript
from snapshot.transcripts.io.json_values import as_object, as_text, plain
from snapshot.transcripts.loading import Read, Rows, detected, from_messages, read
from snapshot.transcripts.watched import Block, Dump, HostList, digest

__all__ = ["Note", "continued", "forget", "notes_on", "rows_of"]

# Readings that are kept, and their items together, but for the newest one.
_MOST, _MOST_ITEMS = 32, 1 << 16
# Formats whose messages can be read apart, and the key that holds them in a body.
_KEYS = {
    "anthropic": "messages", "openai-chat": "messages", "openai-responses": "input", "gemini": "contents",
    "langchain": "messages", "pydantic-ai": "messages", "inspect-ai": "messages", "smolagents": "messages",
}  # fmt: skip
# Those in which a result belongs to a call because it comes behind it.
_BY_PLACE = frozenset(("gemini", "smolagents"))
# Who messages are from: LangChain's by their types, Pydantic AI's by their kinds, smolagents' by their roles.
_SPEAKERS = {
    "human": "user", "system": "user", "ai": "assistant", "tool": "tool", "function": "tool",
    "request": "user", "response": "assistant", "tool-call": "assistant", "tool-response": "tool",
    "model": "assistant", "assistant": "assistant",
}  # fmt: skip
# Below this, a format is a guess from messages that fit several.
_A_GUESS = 0.5
# What a reader may report of a stretch that is read apart: of words of a harness, of a call that still runs.
_OPEN = "unfinished-turn"
_HARMLESS = frozenset(("harness-words", _OPEN))
# Places that are tried for the reading to go on from, items from the end in which they are looked for, and
# places that are kept, for lists of which the newest messages are changed.
_TRIES, _BACK, _PLACES = 4, 64, 8
_NUMBER = re.compile(r"\d+")
_BLOCK = 64  # items that are compared at once


@dataclass(frozen=True, slots=True)
class _Place:
    """Where reading can go on: number of an item, and of the message that it becomes; how many ids of calls
    were made up before it."""

    item: int
    message: int
    invented: int


class Note(Protocol):
    """Something that is known of the first items of a list, until one of these says something else.

    Attributes:
        count: how many items.
    """

    count: int


class _Reading:
    """A conversation that was read: the items it came in, as they were, what they said, and where each
    message stands among them."""

    def __init__(self, given: _Given, dumped: Sequence[object], read: Read) -> None:
        self.envelope, self._dump = given.envelope, given.dump
        self.transcript, self.rows, self._invented = read
        self.size = 0
        self.places: list[_Place] = []
        self.notes: dict[str, Note] = {}
        self._blocks: list[Block] = []  # all but the last are full
        # Of calls and of results, the ids, each with the number of its message; and of how many messages.
        self._calls: dict[str, int] = {}
        self._results: dict[str, int] = {}
        self._known_ids = 0
        # Of Pydantic AI's requests, each with the number of the first that says it.
        self._instructions: list[tuple[int, str]] = []
        self._take(given.items, dumped, 0)

    def _take(self, items: Sequence[object], dumped: Sequence[object], behind: int) -> None:
        """Remember how items are now that follow the first ones, given as plain data too."""
        self.notes = {key: note for key, note in self.notes.items() if note.count <= behind}
        if self.transcript.format == "pydantic-ai":
            self._take_instructions(dumped, behind)
        full, rest = divmod(behind, _BLOCK)
        was = self._blocks[full].said[:rest] if rest else []
        del self._blocks[full:]
        for start in range(full * _BLOCK, len(items), _BLOCK):
            stop = min(start + _BLOCK, len(items))
            was += map(digest, dumped[start + len(was) - behind : stop - behind])
            self._blocks.append(Block(items[start:stop], was))
            was = []
        self.size = len(items)

    def _take_instructions(self, dumped: Sequence[object], behind: int) -> None:
        told = self._instructions
        while told and told[-1][0] >= behind:
            told.pop()
        for at, item in enumerate(dumped, behind):
            said = as_text((as_object(item) or {}).get("instructions"))
            if said and (not told or told[-1][1] != said):
                told.append((at, said))

    def same(self, given: _Given) -> int:
        """How many items a list begins with that say what they said."""
        if not (self.envelope == given.envelope and self._dump == given.dump):
            return 0
        for number, block in enumerate(self._blocks):
            start = number * _BLOCK
            here = given.items[start : start + len(block.said)]
            if block.is_untouched(here):
                continue
            same = self._alike(block, here)
            if same < len(block.said):
                return start + same
            block.see(here)
        return self.size

    def is_as(self, items: Sequence[object]) -> bool:
        """Whether these items say what was read."""
        spans = (items[start : start + _BLOCK] for start in range(0, self.size, _BLOCK))
        return len(items) == self.size and all(
            block.is_untouched(here) or self._alike(block, here) == len(here)
            for block, here in zip(self._blocks, spans, strict=True)
        )

    def _alike(self, block: Block, here: Sequence[object]) -> int:
        """How many items begin as those of a block did."""
        now = map(digest, here if self._dump is None else map(self._dump, here))
        return next(compress(count(), map(ne, now, block.said)), len(here))

    def go_on(self, given: _Given, same: int) -> bool:
        """Read the items behind the first ones, which are as they were; whether that could be done apart."""
        items = given.items
        if same == len(items) == self.size:
            return True
        place = next((one for one in reversed(self.places) if 0 < one.item <= same), None)
        if place is None or place.item >= len(items):
            return False
        new = given.dumped(place.item, len(items))
        apart = self._apart(new, place)
        before = self.transcript.messages[: place.message]
        if apart is None:
            return False
        tail, rows, invented = apart
        by_place = invented > place.invented or tail.format in _BY_PLACE
        if not _parts_well(before, tail.messages) or not self._keeps_apart(place.message, tail, by_place):
            return False
        messages = (*before, *_as_before(tail.messages, self.transcript.messages[place.message :]))
        told = [one for one in self.transcript.diagnostics if one.kind != _OPEN]
        told += [_moved(one, place.item) for one in tail.diagnostics if one.kind == _OPEN]
        model = tail.model or self.transcript.model
        self.rows = _moved_rows(self.rows[: place.message], rows, place.item)
        self.transcript = replace(self.transcript, messages=messages, model=model, diagnostics=tuple(told))
        self._invented = invented
        self.places = [one for one in self.places if one.item <= same]
        self._take(items, new[same - place.item :], same)
        return True

    def _apart(self, items: Sequence[object], place: _Place) -> Read | None:
        """Items from a place on, read by themselves as behind what is before them."""
        told = next((told for at, told in reversed(self._instructions) if at < place.item), "")
        lead = [{"kind": "request", "parts": [], "instructions": told}] if told else []
        found = _apart([*lead, *items], self.transcript.format, place.invented)
        if found is None or not lead:
            return found
        transcript, rows, invented = found
        if rows[:1] != ((0,),) or any(0 in places for places in rows[1:]):
            return None
        rows = tuple(tuple(row - 1 for row in places) for places in rows[1:])
        return replace(transcript, messages=transcript.messages[1:]), rows, invented

    def _keeps_apart(self, stop: int, tail: Transcript, by_place: bool) -> bool:
        """Whether nothing in the tail can belong to a call before message `stop`: each call behind has an id
        of its own, and where results go by place none before waits for one."""
        messages = self.transcript.messages
        if self._known_ids > stop:
            self._calls = {name: at for name, at in self._calls.items() if at < stop}
            self._results = {name: at for name, at in self._results.items() if at < stop}
            self._known_ids = stop
        for at in range(self._known_ids, stop):
            for part in messages[at].parts:
                if isinstance(part, ToolCall):
                    self._calls.setdefault(part.id, at)
                elif isinstance(part, ToolResult):
                    self._results.setdefault(part.call_id, at)
        self._known_ids = max(self._known_ids, stop)
        if by_place and len(self._results) < len(self._calls):
            return False
        calls = [part.id for message in tail.messages for part in message.parts if isinstance(part, ToolCall)]
        return all(name and name not in self._calls for name in calls)

    def find_place(self, given: _Given) -> None:
        """Find a place near the end of the items from which reading can go on, and keep it."""
        first = max(0, len(given.items) - _BACK)
        near = [plain(item) for item in given.dumped(first, len(given.items))]
        tries = 0
        for at in range(len(near) - 1, 0, -1):
            if _side(near[at]) == _side(near[at - 1]) or tries == _TRIES:
                continue
            tries += 1
            if self._is_place(near[at:], first + at):
                return

    def _is_place(self, items: Sequence[object], at: int) -> bool:
        """Whether reading can go on from item `at`, with which these begin; if so it is kept."""
        invented = self._invented
        apart = self._apart(items, _Place(at, 0, invented))
        if apart is not None and apart[2] > invented:  # some were made up here: fewer were before
            invented -= apart[2] - invented
            apart = self._apart(items, _Place(at, 0, invented))
        if apart is None:
            return False
        messages, tail = self.transcript.messages, apart[0].messages
        start = len(messages) - len(tail)
        fits = start > 0 and _parts_well(messages[start - 1 : start], tail)
        if not (fits and _alike(tail, messages[start:])):
            return False
        before = (one for one in self.places if one.item < at)
        self.places = [*before, _Place(at, start, invented)][-_PLACES:]
        return True


def _side(item: object) -> str:
    """Who an item is from, as far as a look tells."""
    table = as_object(item)
    if table is None:
        return ""
    role, kind = table.get("role"), table.get("type") or table.get("kind")
    known = kind if role is None else role
    if isinstance(known, str) and known in _SPEAKERS:
        return _SPEAKERS[known]
    if isinstance(kind, str) and kind.endswith("_output"):
        return "tool"
    return "assistant" if role is None else "user"


def _apart(items: Sequence[object], name: str, invented: int) -> Read | None:
    """Items read by themselves, and the places of the messages among them; None where they are of another
    format, or the reader has to report something."""
    try:
        guess = detected(items)
        if guess is None or (guess.format != name and guess.confidence > _A_GUESS):
            return None
        found = read(list(items), format=name, invented=invented)
    except TranscriptError:
        return None
    return found if _is_plain(found[0]) else None


def _is_plain(transcript: Transcript) -> bool:
    return not transcript.extra_rows and all(one.kind in _HARMLESS for one in transcript.diagnostics)


def _moved_rows(before: Rows, rows: Rows, items: int) -> Rows:
    """The places of messages, and of those that were read apart behind so many items."""
    return (*before, *(tuple(row + items for row in places) for places in rows))


def _moved(diagnostic: Diagnostic, items: int) -> Diagnostic:
    """The diagnostic of a stretch that begins behind so many items."""
    where = _NUMBER.sub(lambda found: str(int(found[0]) + items), diagnostic.where, count=1)
    return replace(diagnostic, where=where)


def _parts_well(before: Sequence[Message], after: Sequence[Message]) -> bool:
    """Whether two stretches of messages are what they would be in one: the side changes between them."""
    if not before or not after or after[0].role == "tool":
        return False
    return (before[-1].role == "assistant") != (after[0].role == "assistant")


def _alike(ones: Sequence[Message], others: Sequence[Message]) -> bool:
    return len(ones) == len(others) and all(map(_same, ones, others))


def _same(one: Message, other: Message) -> bool:
    return one == other and repr(one.raw) == repr(other.raw) and one.origin == other.origin


def _as_before(made: Sequence[Message], before: Sequence[Message]) -> list[Message]:
    """The messages, and in place of those that say what they said before the former objects."""
    out = list(made)
    for at, (new, old) in enumerate(zip(made, before, strict=False)):
        if not _same(new, old):
            break
        out[at] = old
    return out


class _Readings:
    """The last conversations that were read; one is one call's alone while it is in use."""

    def __init__(self) -> None:
        self._known: list[_Reading] = []  # the newest last
        self._lock = threading.Lock()

    def take(self, given: _Given) -> tuple[_Reading | None, int]:
        """The reading that goes furthest along with a list, and how far."""
        with self._lock:
            known = self._known
            self._known = []
        best, most = None, 0
        try:
            for reading in reversed(known):
                if reading.size > most and (same := reading.same(given)) > most:
                    best, most = reading, same
        finally:
            with self._lock:
                self._known = [one for one in known if one is not best] + self._known
        return best, most

    def give(self, reading: _Reading) -> None:
        with self._lock:
            self._known.append(reading)
            total = sum(one.size for one in self._known)
            while len(self._known) > 1 and (len(self._known) > _MOST or total > _MOST_ITEMS):
                total -= self._known.pop(0).size

    def lend(self, transcript: Transcript) -> _Reading | None:
        """The reading that gave a transcript last, for one call alone until it is given back."""
        with self._lock:
            reading = next((one for one in self._known if one.transcript is transcript), None)
            if reading is not None:
                self._known.remove(reading)
        return reading

    def rows(self, transcript: Transcript) -> Rows | None:
        with self._lock:
            return next((one.rows for one in self._known if one.transcript is transcript), None)

    def clear(self) -> None:
        with self._lock:
            self._known = []


_readings = _Readings()


def rows_of(transcript: Transcript) -> Rows | None:
    """The places (from 0) in the caller's list of each message of what `continued` gave last for it, as
    `loading.with_rows` gives them; None where they are not known."""
    return _readings.rows(transcript)


@contextmanager
def notes_on(transcript: Transcript, items: Sequence[object]) -> Generator[dict[str, Note] | None]:
    """What was noted of a list, by name, to be read and added to; None where the list may have changed since
    `continued` read it.

    Args:
        transcript: what `continued` gave for the list.
        items: the items of the list as they are now: each is looked at, at any depth.
    """
    reading = _readings.lend(transcript)
    if reading is None:
        yield None
        return
    try:
        yield reading.notes if reading.is_as(items) else None
    finally:
        _readings.give(reading)


def forget() -> None:
    """Forget all that was read."""
    _readings.clear()


def continued(value: Sequence[Any] | Mapping[str, Any]) -> Transcript:
    """What `from_messages` gives, at the cost of what is new or changed since the last call with the list.

    Args:
        value: a provider's list of messages, a body with such a list, or a framework's own messages as a
            `HostList`. It may be changed in place between calls in whatever way.

    Raises:
        TranscriptError: as `from_messages` does.
    """
    given = _opened(value)
    if given is None:
        return from_messages(value)
    try:
        reading, same = _readings.take(given)
    except (TypeError, RecursionError):  # what no reader takes: it says so better
        return from_messages(value.plain() if isinstance(value, HostList) else value)
    known = reading.size if reading is not None else 0
    if reading is not None and reading.go_on(given, same):
        if known != len(given.items) or not reading.places:
            reading.find_place(given)
        _readings.give(reading)
        return reading.transcript
    dumped = given.dumped(0, len(given.items))
    found = read(dumped if isinstance(value, HostList) else value)
    transcript = found[0]
    if transcript.format in _KEYS and _is_plain(transcript):
        reading = _Reading(given, dumped, found)
        reading.find_place(given)
        _readings.give(reading)
    elif reading is not None:
        _readings.give(reading)
    return transcript


@dataclass(frozen=True, slots=True)
class _Given:
    """A list as it was given: its items, the digest of all that stands around them, how one is dumped."""

    items: Sequence[Any]
    envelope: bytes
    dump: Dump | None = None

    def dumped(self, start: int, stop: int) -> list[object]:
        """Some of the items, dumped where they are a framework's."""
        some = self.items[start:stop]
        return list(some if self.dump is None else map(self.dump, some))


def _opened(value: object) -> _Given | None:
    """The items of a list or body, and all that stands around them; None for what is neither."""
    try:
        if isinstance(value, HostList):
            return _Given(value.messages, b"", value.dump) if value.messages else None
        if isinstance(value, list | tuple):
            return _Given(cast("Sequence[Any]", value), b"") if value else None
        if isinstance(value, dict):
            table = cast("dict[str, Any]", value)
            keys = [key for key in dict.fromkeys(_KEYS.values()) if isinstance(table.get(key), list)]
            if len(keys) == 1 and table[keys[0]]:
                around = {key: item if key != keys[0] else None for key, item in table.items()}
                return _Given(table[keys[0]], digest(around))
    except (TypeError, RecursionError):
        pass
    return None
