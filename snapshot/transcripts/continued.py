"""Lists of messages that are read again and again: what was read of one before is not read anew.

A harness hands over the same list before every request, a little longer each time. `continued` gives what
`from_messages` gives, and the same objects for messages that it has read before.

A list may be changed in place, at any depth, and a part of it that was is read again: before a message is
taken from an earlier reading, everything in it is compared. Where all lists and dictionaries are the same
objects as before, it is enough that each holds the same objects as before, in the same order, since strings
and numbers cannot change; that is one quick pass. Elsewhere (a body that was parsed anew, a message that was
replaced by its like) the values are compared themselves, with their types and the order of their keys.

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
from itertools import chain
from operator import is_
from typing import Any, Protocol, cast

from snapshot.errors import TranscriptError
from snapshot.messages import Diagnostic, Message, ToolCall, Transcript
from snapshot.transcripts.io.json_values import plain
from snapshot.transcripts.loading import detected, from_messages, with_rows

__all__ = ["Note", "continued", "forget", "notes_on", "rows_of"]

Rows = tuple[tuple[int, ...], ...]

# Readings that are kept, and their items together, but for the newest one.
_MOST, _MOST_ITEMS = 32, 1 << 16
# Formats whose messages can be read apart, and the key that holds them in a body.
_KEYS = {
    "anthropic": "messages", "openai-chat": "messages", "openai-responses": "input", "langchain": "messages"
}  # fmt: skip
# Who LangChain's messages are from, by their types.
_SPEAKERS = {"human": "user", "system": "user", "ai": "assistant", "tool": "tool", "function": "tool"}
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
_DICT, _LIST, _FLOAT, _BYTES = object(), object(), object(), object()


@dataclass(frozen=True, slots=True)
class _Place:
    """Where reading can go on: number of an item, and of the message that it becomes."""

    item: int
    message: int


class Note(Protocol):
    """Something that is known of the first items of a list, until one of these says something else.

    Attributes:
        count: how many items.
    """

    count: int


class _Value:
    """Plain data as it was.

    Attributes:
        tokens: keys and leaves in order, with marks for containers and their sizes.
        dicts, lists: its containers.
        loose: whether there is something in it that may change unseen, such as an object of an SDK.
    """

    __slots__ = ("dicts", "lists", "loose", "tokens")

    def __init__(self, value: object) -> None:
        self.tokens: list[object] = []
        self.dicts: list[dict[Any, Any]] = []
        self.lists: list[list[Any]] = []
        self.loose = False
        self._walk(value)

    def _walk(self, value: object) -> None:
        tokens = self.tokens
        kind = type(value)
        if kind is str or value is None or kind is bool or kind is int:
            tokens.append(value)
        elif kind is dict:
            table = cast("dict[Any, Any]", value)
            self.dicts.append(table)
            tokens += (_DICT, len(table))
            for key, item in table.items():
                tokens.append(key)
                self._walk(item)
        elif kind is list:
            items = cast("list[Any]", value)
            self.lists.append(items)
            tokens += (_LIST, len(items))
            for item in items:
                self._walk(item)
        elif isinstance(value, float):
            tokens += (_FLOAT, repr(value))
        elif kind is bytes:
            tokens += (_BYTES, value)
        else:
            self.loose = True
            simple = plain(value)
            if type(simple) is kind or not isinstance(simple, dict | list | str | int | float | None):
                simple = repr(simple)
            self._walk(simple)

    def is_as(self, other: _Value) -> bool:
        """Whether two values are the same for every reader."""
        return self.tokens == other.tokens and all(map(is_, map(type, self.tokens), map(type, other.tokens)))


class _Block:
    """Some of the items of a conversation as they were, so few that looking at them thrice is no more than
    once."""

    __slots__ = ("_dicts", "_entries", "_items", "_keys", "_lists", "_loose", "_sizes", "_values", "was")

    def __init__(self, items: Sequence[object], was: Sequence[_Value]) -> None:
        self._items, self.was = list(items), list(was)
        self._dicts = [table for value in was for table in value.dicts]
        self._lists = [listed for value in was for listed in value.lists]
        self._loose = any(value.loose for value in was)
        self._sizes = list(map(len, self._dicts)), list(map(len, self._lists))
        self._keys = list(chain.from_iterable(self._dicts))
        self._values = list(chain.from_iterable(map(dict.values, self._dicts)))
        self._entries = list(chain.from_iterable(self._lists))

    def is_untouched(self, items: Sequence[object]) -> bool:
        """Whether these are the items, and all that they hold are the same objects."""
        return (
            not self._loose
            and len(items) == len(self._items)
            and all(map(is_, items, self._items))
            and list(map(len, self._dicts)) == self._sizes[0]
            and list(map(len, self._lists)) == self._sizes[1]
            and all(map(is_, chain.from_iterable(self._dicts), self._keys))
            and all(map(is_, chain.from_iterable(map(dict.values, self._dicts)), self._values))
            and all(map(is_, chain.from_iterable(self._lists), self._entries))
        )


class _Reading:
    """A conversation that was read: the items it came in, as they were, what they said, and where each
    message stands among them."""

    def __init__(self, envelope: _Value, items: Sequence[object], transcript: Transcript, rows: Rows) -> None:
        self.envelope = envelope
        self.transcript, self.rows = transcript, rows
        self.size = 0
        self.places: list[_Place] = []
        self.notes: dict[str, Note] = {}
        self._blocks: list[_Block] = []  # all but the last are full
        self._ids: dict[str, int] = {}  # of calls, each with the number of its message
        self._known_ids = 0
        self._take(items)

    def _take(self, items: Sequence[object], behind: int | None = None) -> None:
        """Remember how items are now that follow the first ones, or all."""
        size = self.size if behind is None else behind
        self.notes = {key: note for key, note in self.notes.items() if note.count <= size}
        full, rest = divmod(size, _BLOCK)
        was = self._blocks[full].was[:rest] if rest else []
        del self._blocks[full:]
        for start in range(full * _BLOCK, len(items), _BLOCK):
            stop = min(start + _BLOCK, len(items))
            was += [_Value(items[at]) for at in range(start + len(was), stop)]
            self._blocks.append(_Block(items[start:stop], was))
            was = []
        self.size = len(items)

    def same(self, items: Sequence[object]) -> int:
        """How many items a list begins with that say what they said."""
        for number, block in enumerate(self._blocks):
            start = number * _BLOCK
            here = items[start : start + len(block.was)]
            if block.is_untouched(here):
                continue
            now = [_Value(item) for item in here]
            first = next(
                (at for at, (new, old) in enumerate(zip(now, block.was, strict=False)) if not new.is_as(old)),
                len(now),
            )
            if first < len(block.was):
                return start + first
            self._blocks[number] = _Block(here, now)  # other objects that say the same
        return self.size

    def is_untouched(self, items: Sequence[object]) -> bool:
        """Whether these are the items, and all that they hold are the same objects."""
        return len(items) == self.size and all(
            block.is_untouched(items[number * _BLOCK : (number + 1) * _BLOCK])
            for number, block in enumerate(self._blocks)
        )

    def go_on(self, items: Sequence[object], same: int) -> bool:
        """Read the items behind the first ones, which are as they were; whether that could be done apart."""
        if same == len(items) == self.size:
            return True
        place = next((one for one in reversed(self.places) if 0 < one.item <= same), None)
        if place is None or place.item >= len(items):
            return False
        apart = _apart(items[place.item :], self.transcript.format)
        before = self.transcript.messages[: place.message]
        if apart is None:
            return False
        tail, rows = apart
        if not _parts_well(before, tail.messages) or self._ids_before(place.message, tail):
            return False
        messages = (*before, *_as_before(tail.messages, self.transcript.messages[place.message :]))
        told = [one for one in self.transcript.diagnostics if one.kind != _OPEN]
        told += [_moved(one, place.item) for one in tail.diagnostics if one.kind == _OPEN]
        model = tail.model or self.transcript.model
        self.rows = _moved_rows(self.rows[: place.message], rows, place.item)
        self.transcript = replace(self.transcript, messages=messages, model=model, diagnostics=tuple(told))
        self.places = [one for one in self.places if one.item <= same]
        self._take(items, same)
        return True

    def _ids_before(self, stop: int, tail: Transcript) -> bool:
        """Whether calls behind have ids of calls before message `stop`, or none."""
        messages = self.transcript.messages
        if self._known_ids > stop:
            self._ids = {name: at for name, at in self._ids.items() if at < stop}
            self._known_ids = stop
        for at in range(self._known_ids, stop):
            for part in messages[at].parts:
                if isinstance(part, ToolCall):
                    self._ids.setdefault(part.id, at)
        self._known_ids = max(self._known_ids, stop)
        calls = [part.id for message in tail.messages for part in message.parts if isinstance(part, ToolCall)]
        return any(not name or name in self._ids for name in calls)

    def find_place(self, items: Sequence[object]) -> None:
        """Find a place near the end of the items from which reading can go on, and keep it."""
        messages = self.transcript.messages
        tries = 0
        for at in range(len(items) - 1, max(0, len(items) - _BACK), -1):
            if _side(items[at]) == _side(items[at - 1]) or tries == _TRIES:
                continue
            tries += 1
            apart = _apart(items[at:], self.transcript.format)
            if apart is None:
                continue
            tail, _ = apart
            start = len(messages) - len(tail.messages)
            fits = start > 0 and _parts_well(messages[start - 1 : start], tail.messages)
            if fits and _alike(tail.messages, messages[start:]):
                self.places = [*(one for one in self.places if one.item < at), _Place(at, start)][-_PLACES:]
                return


def _side(item: object) -> str:
    """Who an item is from, as far as a look tells."""
    if not isinstance(item, dict):
        return ""
    table = cast("dict[str, object]", item)
    role, kind = table.get("role"), table.get("type")
    if role is None and kind in _SPEAKERS:
        return _SPEAKERS[cast(str, kind)]
    if role in ("tool", "function") or (isinstance(kind, str) and kind.endswith("_output")):
        return "tool"
    return "assistant" if role in (None, "assistant") else "user"


def _apart(items: Sequence[object], name: str) -> tuple[Transcript, Rows] | None:
    """Items read by themselves, and the places of the messages among them; None where they are of another
    format, or the reader has to report something."""
    try:
        guess = detected(items)
        if guess is None or (guess.format != name and guess.confidence > _A_GUESS):
            return None
        found = with_rows(list(items), format=name)
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

    def take(self, envelope: _Value, items: Sequence[object]) -> tuple[_Reading | None, int]:
        """The reading that goes furthest along with a list, and how far."""
        with self._lock:
            known = self._known
            self._known = []
        best, most = None, 0
        try:
            for reading in reversed(known):
                if reading.size > most and reading.envelope.is_as(envelope):
                    same = reading.same(items)
                    if same > most:
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
        yield reading.notes if reading.is_untouched(items) else None
    finally:
        _readings.give(reading)


def forget() -> None:
    """Forget all that was read."""
    _readings.clear()


def continued(value: Sequence[Any] | Mapping[str, Any]) -> Transcript:
    """What `from_messages` gives, at the cost of what is new or changed since the last call with the list.

    Args:
        value: a provider's list of messages, or a body with such a list. It may be changed in place between
            calls in whatever way.

    Raises:
        TranscriptError: as `from_messages` does.
    """
    opened = _opened(value)
    if opened is None:
        return from_messages(value)
    envelope, items = opened
    try:
        reading, same = _readings.take(envelope, items)
    except (TypeError, RecursionError):  # what no reader takes: it says so better
        return from_messages(value)
    known = reading.size if reading is not None else 0
    if reading is not None and reading.go_on(items, same):
        if known != len(items) or not reading.places:
            reading.find_place(items)
        _readings.give(reading)
        return reading.transcript
    transcript, rows = with_rows(value)
    if transcript.format in _KEYS and _is_plain(transcript):
        reading = _Reading(envelope, items, transcript, rows)
        reading.find_place(items)
        _readings.give(reading)
    elif reading is not None:
        _readings.give(reading)
    return transcript


def _opened(value: object) -> tuple[_Value, Sequence[object]] | None:
    """The items of a list or body, and all that stands around them; None for what is neither."""
    try:
        if isinstance(value, list | tuple):
            return (_Value(None), cast("Sequence[object]", value)) if value else None
        if isinstance(value, dict):
            table = cast("dict[str, Any]", value)
            keys = [key for key in dict.fromkeys(_KEYS.values()) if isinstance(table.get(key), list)]
            if len(keys) == 1 and table[keys[0]]:
                around = {key: item if key != keys[0] else None for key, item in table.items()}
                return _Value(around), table[keys[0]]
    except (TypeError, RecursionError):
        pass
    return None
