"""A recorded run, measured once: tokens, times and exact strings of each message."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import accumulate

from snapshot.compaction.estimate import Estimator
from snapshot.messages import Message, Transcript
from snapshot.models.ids import profile_for
from snapshot.replay.exact_strings import exact_strings, words

__all__ = ["Recording"]


@dataclass(frozen=True)
class Recording:
    """A run as one model would be billed for it.

    Attributes:
        transcript: the run, without the usage that was reported: it is of the model that spoke then.
        model: id of the model that it is played with.
        estimator: estimates tokens for that model; its overhead is what is sent beside the messages.
    """

    transcript: Transcript
    model: str
    estimator: Estimator

    @classmethod
    def of(cls, transcript: Transcript, model: str, *, overhead: int | None = None) -> Recording:
        """The recording of a run.

        Args:
            transcript: the whole run.
            model: id of the model to play it with.
            overhead: tokens of tool definitions and of a system prompt that the transcript does not have;
                None: what the first reported usage counts beyond the messages before it.

        Raises:
            LayoutError: nothing is known of the model.
        """
        plain = Estimator(profile_for(model))
        if overhead is None:
            reported = ((i, m.usage.input) for i, m in enumerate(transcript.messages) if m.usage is not None)
            first, tokens = next(reported, (0, 0))
            overhead = max(0, tokens - plain.messages(transcript.messages[:first]))
        messages = tuple(
            message if message.usage is None else replace(message, usage=None)
            for message in transcript.messages
        )
        return cls(replace(transcript, messages=messages), model, replace(plain, overhead=overhead))

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages of the run."""
        return self.transcript.messages

    @cached_property
    def answers(self) -> tuple[int, ...]:
        """Numbers of the messages that answer a request: all of the assistant's."""
        return tuple(i for i, message in enumerate(self.messages) if message.role == "assistant")

    @cached_property
    def costs(self) -> tuple[int, ...]:
        """Estimated tokens of each message."""
        return tuple(map(self.estimator.message, self.messages))

    @cached_property
    def _sums(self) -> tuple[int, ...]:
        return tuple(accumulate(self.costs, initial=0))

    def tokens(self, start: int, stop: int) -> int:
        """Estimated tokens of messages `start` to `stop`."""
        return self._sums[stop] - self._sums[start]

    def output(self, number: int) -> int:
        """Estimated tokens that the model wrote as message `number`."""
        return sum(map(self.estimator.part, self.messages[number].parts))

    @cached_property
    def head(self) -> int:
        """How many messages lead: system messages, and the first of a user right behind them."""
        head = 0
        while head < len(self.messages) and self.messages[head].role == "system":
            head += 1
        return head + (head < len(self.messages) and self.messages[head].role == "user")

    def cut(self, tokens: int, stop: int, earliest: int) -> int:
        """Where the newest messages before `stop` begin that have about `tokens` tokens: the start of a group
        (a call with its results), never before `earliest`, and at the latest the last group."""
        at = max(earliest, bisect_left(self._sums, self._sums[stop] - tokens))
        while at < stop and self.messages[at].role == "tool":
            at += 1
        if at < stop:
            return at
        at = max(earliest, stop - 1)  # not even the last group fits: it stays all the same
        while at > earliest and self.messages[at].role == "tool":
            at -= 1
        return at

    @cached_property
    def seconds(self) -> tuple[float | None, ...]:
        """Time of each message in seconds, None where the run has none that can be read."""
        return tuple(_seconds(message.time) for message in self.messages)

    @cached_property
    def strings(self) -> tuple[frozenset[str], ...]:
        """Exact strings of each message."""
        return tuple(exact_strings(words(message)) for message in self.messages)

    def strings_of(self, messages: Sequence[Message]) -> frozenset[str]:
        """Exact strings of messages, most of them of the run. No string reaches over the end of a message."""
        places = self._numbers
        return frozenset[str]().union(
            *(
                exact_strings(words(message)) if (at := places.get(id(message))) is None else self.strings[at]
                for message in messages
            )
        )

    @cached_property
    def _numbers(self) -> dict[int, int]:
        return {id(message): number for number, message in enumerate(self.messages)}

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for number, strings in enumerate(self.strings):
            for item in strings:
                places.setdefault(item, []).append(number)
        return places

    def stands(self, item: str, start: int, stop: int) -> bool:
        """Whether an exact string stands in messages `start` to `stop`."""
        places: Sequence[int] = self._places.get(item, ())
        at = bisect_left(places, start)
        return at < len(places) and places[at] < stop

    @cached_property
    def used(self) -> tuple[frozenset[str], ...]:
        """For each message the exact strings in it that stood in one before it."""
        return tuple(
            frozenset(item for item in strings if self.stands(item, 0, number))
            for number, strings in enumerate(self.strings)
        )


def _seconds(time: str) -> float | None:
    try:
        found = datetime.fromisoformat(time)
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
