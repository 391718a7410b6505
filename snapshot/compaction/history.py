"""What is known of a conversation from call to call, so that a call costs by what is new.

A harness compacts before every request, and hands over the same conversation each time, a little longer. Its
messages are values that never change, so whatever was found by looking at one holds for as long as it is the
same object. A history keeps such findings as builders that follow the messages: those that are new are fed to
them, and where the conversation is another one they begin anew. What comes out is what a first call would
give.

`histories` keeps those of the last conversations, by their first message. A history is one call's alone while
it is in use.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar, cast

from snapshot.compaction.alike import shared
from snapshot.compaction.archive import Archive
from snapshot.compaction.body import message_bytes
from snapshot.compaction.boundaries import Boundaries, Repairs, repair
from snapshot.compaction.estimate import Size, measured_message
from snapshot.compaction.tally import Tally
from snapshot.messages import Message
from snapshot.models.profile import ModelProfile
from snapshot.redaction import Redactor

__all__ = ["Builder", "Histories", "History", "Redacted", "Sizes", "forget", "histories"]

# Conversations that are kept, and their messages together, but for the newest conversation.
_MOST, _MOST_MESSAGES = 32, 1 << 16
# Messages whose sizes are kept apart from the conversation's own.
_MOST_SIZES = 1 << 14


class Builder(Protocol):
    """Something that is built up message by message."""

    def feed(self, messages: Sequence[Message], /) -> None:
        """Take in the messages that follow those taken in before."""
        ...


_B = TypeVar("_B", bound=Builder)
_T = TypeVar("_T")


class Redacted:
    """The messages of a conversation with credentials redacted, and how many there were by kind."""

    def __init__(self) -> None:
        self._redactor = Redactor()
        self.messages: list[Message] = []

    @property
    def counts(self) -> dict[str, int]:
        """Different credentials that were replaced, by kind."""
        return self._redactor.counts

    def feed(self, messages: Sequence[Message]) -> None:
        """Take in the messages that follow."""
        self.messages += map(self._redactor.message, messages)


class Sizes:
    """What single messages take for a reader: those that stand in place of others, from call to call."""

    def __init__(self, reader: ModelProfile) -> None:
        self.reader = reader
        self._sizes: dict[int, tuple[Message, Size]] = {}
        self._bytes: dict[int, tuple[Message, int]] = {}

    def size(self, message: Message) -> Size:
        """The size of a message, frame and all."""
        known = self._sizes.get(id(message))
        if known is None:
            known = _kept(self._sizes, message, measured_message(message, self.reader))
        return known[1]

    def bytes(self, message: Message) -> int:
        """About the bytes of a message in a request."""
        known = self._bytes.get(id(message))
        if known is None:
            known = _kept(self._bytes, message, message_bytes(message))
        return known[1]


def _kept(known: dict[int, tuple[Message, _T]], message: Message, value: _T) -> tuple[Message, _T]:
    if len(known) >= _MOST_SIZES:
        known.clear()
    known[id(message)] = message, value
    return message, value


class History:
    """What is known of one conversation."""

    def __init__(self) -> None:
        self.size = 0
        self._given = Boundaries()
        self._boundaries = Boundaries()
        self._repaired: tuple[tuple[Message, ...], tuple[Message, ...], Repairs] = ((), (), Repairs())
        self._tally: Tally | None = None
        self._sizes: Sizes | None = None
        self._frame: tuple[Archive | None, Hashable, tuple[Message, ...]] = None, None, ()
        self._built: dict[Hashable, tuple[tuple[Message, ...], Builder]] = {}

    def repaired(self, messages: tuple[Message, ...]) -> tuple[tuple[Message, ...], Repairs]:
        """See `boundaries.repair`. What is repaired as before is the same object as before."""
        self.size = len(messages)
        self._given.follow(messages)
        if self._given.sound:
            return messages, Repairs()
        given, before, repairs = self._repaired
        if len(given) != len(messages) or shared(given, messages) < len(messages):
            made, repairs = repair(messages)
            before = _with_known(made, before)
            self._repaired = messages, before, repairs
        return before, repairs

    def is_sound(self, messages: tuple[Message, ...]) -> bool:
        """Whether messages as they were given need no repair."""
        self._given.follow(messages)
        return self._given.sound

    def frame_of(self, archive: Archive, form: Hashable) -> tuple[Message, ...] | None:
        """The messages that carry an archive in a form, where they were drawn last."""
        known, its_form, frame = self._frame
        return frame if known is archive and its_form == form else None

    def keep_frame(self, archive: Archive, form: Hashable, frame: tuple[Message, ...]) -> None:
        """Keep the messages that carry an archive."""
        self._frame = archive, form, frame

    def boundaries(self, messages: tuple[Message, ...]) -> Boundaries:
        """The groups of repaired messages."""
        found = self._given if self._given.messages is messages else self._boundaries
        found.follow(messages)
        return found

    def tally(self, messages: tuple[Message, ...], reader: ModelProfile) -> Tally:
        """The totals of messages for a reader."""
        if self._tally is None or (self._tally.reader is not reader and self._tally.reader != reader):
            self._tally = Tally(reader)
        self._tally.follow(messages)
        return self._tally

    def sizes(self, reader: ModelProfile) -> Sizes:
        """What single messages take for a reader."""
        if self._sizes is None or (self._sizes.reader is not reader and self._sizes.reader != reader):
            self._sizes = Sizes(reader)
        return self._sizes

    def built(self, key: Hashable, make: Callable[[], _B], messages: tuple[Message, ...]) -> _B:
        """The builder under a key, fed with these messages and nothing else.

        Args:
            key: what it is, with everything that it depends on beside the messages.
            make: a new one.
            messages: what it is to hold.
        """
        known = self._built.pop(key, None)  # gone, should feeding it fail
        builder = None
        start = 0
        if known is not None:
            seen, old = known
            if seen is messages or shared(seen, messages) == len(seen):
                builder, start = cast(_B, old), len(seen)
        if builder is None:
            builder = make()
        if start < len(messages):
            builder.feed(messages[start:])
        self._built[key] = messages, builder
        return builder


def _with_known(made: tuple[Message, ...], before: tuple[Message, ...]) -> tuple[Message, ...]:
    """The messages, and in place of those that were made anew and are the same as before the former ones."""
    out = list(made)
    for at, (new, old) in enumerate(zip(made, before, strict=False)):
        if new is not old:
            if new != old or new.raw != old.raw or new.origin != old.origin:
                break
            out[at] = old
    return tuple(out)


class Histories:
    """The histories of the last conversations."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, tuple[Message, History]] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def of(self, messages: Sequence[Message]) -> Generator[History]:
        """The history of a conversation, for one call; of an unknown one a new one."""
        if not messages:
            yield History()
            return
        first = messages[0]
        with self._lock:
            _, history = self._known.pop(id(first), (first, History()))
        try:
            yield history
        finally:
            with self._lock:
                self._known[id(first)] = first, history
                self._known.move_to_end(id(first))
                total = sum(history.size for _, history in self._known.values())
                while len(self._known) > 1 and (len(self._known) > _MOST or total > _MOST_MESSAGES):
                    _, (_, oldest) = self._known.popitem(last=False)
                    total -= oldest.size

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._known.clear()


histories = Histories()
"""Those of all conversations that were compacted lately."""


def forget() -> None:
    """Forget all that is known of conversations from earlier calls: it only saves time."""
    from snapshot.compaction import window
    from snapshot.facts import survey
    from snapshot.source import folding, repeats, run_marks, source
    from snapshot.transcripts import continued

    histories.clear()
    continued.forget()
    source.forget()
    folding.forget()
    repeats.forget()
    run_marks.forget()
    survey.forget()
    window.forget()
