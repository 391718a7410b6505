"""The form of a request: what it begins with, and from which message of the run on it has all as text."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TypeAlias

from snapshot.compaction.estimate import Estimator
from snapshot.messages import Image, Message
from snapshot.replay.exact_strings import exact_strings, words
from snapshot.replay.recording import Recording

__all__ = ["Form", "Unit", "shared_prefix", "units_of"]

Unit: TypeAlias = tuple[Hashable, int]
"""A piece of a request for the cache: what it is equal by, and its tokens."""


@dataclass(frozen=True)
class Form:
    """What a request begins with; behind it stand all messages of the run from `start` on.

    Attributes:
        units: what it begins with, piece by piece.
        start: number of the first message that follows as it was.
        shown: messages whose words are in `units`, for the exact strings that stand as text.
        pages: pages among the units.
        recording: the run that most of `shown` are messages of; None: it is not known.
    """

    units: tuple[Unit, ...]
    start: int
    shown: Sequence[Message] = ()
    pages: int = 0
    recording: Recording | None = field(default=None, repr=False, compare=False)
    _found: dict[str, bool] = field(default_factory=dict[str, bool], repr=False, compare=False)

    @cached_property
    def tokens(self) -> int:
        """Tokens of the units."""
        return sum(tokens for _, tokens in self.units)

    @cached_property
    def _text(self) -> str:
        return "\n".join(map(words, self.shown))

    @cached_property
    def _strings(self) -> frozenset[str]:
        return exact_strings(self._text) if self.recording is None else self.recording.strings_of(self.shown)

    def says(self, item: str) -> bool:
        """Whether an exact string stands as text in the units, also within a longer one."""
        if item in self._strings:
            return True
        found = self._found.get(item)
        if found is None:
            found = self._found[item] = item in self._text
        return found


def units_of(messages: Sequence[Message], estimator: Estimator) -> Iterator[Unit]:
    """The units of messages: what frames each, and its parts."""
    for message in messages:
        frame = estimator.message(Message(message.role, ()))
        yield ("message", message.role), frame
        for part in message.parts:
            # Two pages are the same for the cache if their bytes are.
            key = (part.media_type, part.data, part.source) if isinstance(part, Image) else part
            yield key, estimator.part(part)


def shared_prefix(recording: Recording, before: Form, stop_before: int, after: Form, stop_after: int) -> int:
    """Tokens of the longest prefix that two requests have in common.

    Args:
        recording: the run.
        before, after: the forms of the two requests.
        stop_before, stop_after: the numbers of the messages that answer them.
    """
    if before is after:  # the one goes on from the other
        return before.tokens + recording.tokens(before.start, min(stop_before, stop_after))
    tokens = 0
    for one, other in zip(
        _all_units(recording, before, stop_before), _all_units(recording, after, stop_after), strict=False
    ):
        if one[0] != other[0]:
            break
        tokens += min(one[1], other[1])
    return tokens


def _all_units(recording: Recording, form: Form, stop: int) -> Iterator[Unit]:
    rest = recording.messages[form.start : stop]
    return chain(form.units, units_of(rest, recording.estimator))
