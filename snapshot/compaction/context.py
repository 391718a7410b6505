"""What every rung of a compaction has to know: the conversation, the reader, the budget."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any, TypeVar

from snapshot.compaction.alike import differing
from snapshot.compaction.archive import Archive
from snapshot.compaction.boundaries import Group
from snapshot.compaction.estimate import Estimator
from snapshot.compaction.history import History
from snapshot.compaction.options import Budget, Options
from snapshot.compaction.places import PLACE
from snapshot.compaction.replaced import attachments
from snapshot.compaction.tally import Tally
from snapshot.messages import File, Image, Message
from snapshot.models.profile import ModelProfile

__all__ = ["Context"]

_T = TypeVar("_T")


@dataclass(frozen=True)
class Context:
    """A conversation to be compacted.

    Attributes:
        model: id of the model.
        reader: what is known of it.
        options: what the caller said.
        budget: what a request may take.
        estimator: estimates tokens, corrected by what was reported.
        messages: the whole conversation, repaired; a draft included.
        archived: the same with credentials redacted, for everything that is archived or rendered.
        groups: its groups.
        head: messages that lead it and stay.
        former: the archive of an earlier compaction of it.
        format: its format.
        history: what is known of it from earlier calls.
        redactions: credentials replaced, by kind.
        last_resort: whether the digest is taken where nothing else makes the request safe.
    """

    model: str
    reader: ModelProfile
    options: Options
    budget: Budget
    estimator: Estimator
    messages: tuple[Message, ...]
    archived: tuple[Message, ...]
    groups: Sequence[Group]
    head: int
    former: Archive | None
    format: str
    history: History = field(repr=False, compare=False)
    redactions: Mapping[str, int] = field(default_factory=dict[str, int])
    last_resort: bool = False

    @cached_property
    def limits(self) -> Mapping[str, int]:
        """The provider's limits by name, the caller's in place of the layout file's."""
        return {**self.reader.limits, **self.options.limits}

    @property
    def tally(self) -> Tally:
        """The totals of the messages."""
        return self.history.tally(self.messages, self.estimator.reader)

    @cached_property
    def costs(self) -> Sequence[int]:
        """Estimated tokens of each message."""
        return self.tally.costs(self.estimator.scale)

    @cached_property
    def after(self) -> Sequence[int]:
        """Estimated tokens from message i to the end; one more item, 0, behind the last."""
        return tuple(accumulate(reversed(self.costs), initial=0))[::-1]

    @cached_property
    def mark_tokens(self) -> int:
        """What the estimator takes a page for that is not drawn."""
        return self.estimator.image(PLACE)

    def cost(self, messages: Sequence[Message]) -> int:
        """Estimated tokens of a request with `messages`."""
        if messages is self.messages:
            return self.estimator.overhead + self.tally.total(self.estimator.scale)
        return self.estimator.messages(messages)

    def costs_of(self, messages: Sequence[Message]) -> Sequence[int]:
        """Estimated tokens of each message of the conversation, some of which are other ones."""
        if messages is self.messages:
            return self.costs
        return self._of("costs", messages, self._costs_of)

    def _costs_of(self, messages: Sequence[Message]) -> Sequence[int]:
        costs = list(self.costs)
        sizes, estimator = self.history.sizes(self.estimator.reader), self.estimator
        for at in differing(self.messages, messages):
            costs[at] = estimator.at(sizes.size(messages[at]))
        return costs

    def attachments(self, messages: Sequence[Message]) -> Sequence[Image | File]:
        """All images and documents of messages, in order."""
        return self._of("attachments", messages, self._attachments)

    def _attachments(self, messages: Sequence[Message]) -> Sequence[Image | File]:
        if messages is not self.messages and len(messages) != len(self.messages):
            return attachments(messages)
        own = self.tally.attachments
        changed = differing(self.messages, messages)
        if not changed:
            return [item for _, item in own]
        gone = frozenset(changed)
        found = [item for item in own if item[0] not in gone]
        found += [(at, item) for at in changed for item in attachments((messages[at],))]
        return [item for _, item in sorted(found, key=lambda one: one[0])]

    def images_in(self, messages: Sequence[Message]) -> int:
        """How many images are in messages."""
        return sum(isinstance(item, Image) for item in self.attachments(messages))

    def body_bytes(self, messages: Sequence[Message]) -> int:
        """About the bytes of messages in a request."""
        return (
            self.tally.body_bytes() if messages is self.messages else self._of("bytes", messages, self._bytes)
        )

    def _bytes(self, messages: Sequence[Message]) -> int:
        sizes, tally = self.history.sizes(self.estimator.reader), self.tally
        if len(messages) != len(self.messages):
            return sum(map(sizes.bytes, messages))
        changed = differing(self.messages, messages)
        return tally.body_bytes() + sum(sizes.bytes(messages[at]) - tally.bytes_of(at) for at in changed)

    @cached_property
    def _found(self) -> dict[tuple[str, int], tuple[Sequence[Message], Any]]:
        return {}

    def _of(self, what: str, messages: Sequence[Message], find: Callable[[Sequence[Message]], _T]) -> _T:
        """What was found for these very messages; a list may be another one the next time."""
        if not isinstance(messages, tuple):
            return find(messages)
        known = self._found.get((what, id(messages)))
        if known is None:
            known = self._found[what, id(messages)] = messages, find(messages)
        return known[1]

    @property
    def first_cut(self) -> int:
        """Where the tail may start at the earliest: behind the head and what was compacted before."""
        former = self.former.boundary if self.former is not None and not self.former.light else 0
        return max(self.head, former)

    def cut(self, tail: int | None = None) -> int:
        """Number of the message that the tail starts at, so that it has `tail` tokens, by default its share.

        That is a promise: the group that begins before the share is kept whole as well, however large. Only
        where that is not safe the tail becomes shorter (`snapshot.compaction.verbatim`).
        """
        wanted = self.budget.tail if tail is None else tail
        groups, first = self.groups, self.first_cut
        if not groups or groups[-1].start < first:
            return len(self.messages)
        at = len(groups) - 1
        while at > 0 and groups[at - 1].start >= first and self.after[groups[at].start] < wanted:
            at -= 1
        return groups[at].start

    @property
    def last_cut(self) -> int:
        """Where the tail may start at the latest: the last group."""
        if not self.groups or self.groups[-1].start < self.first_cut:
            return len(self.messages)
        return self.groups[-1].start

    def later_cut(self, cut: int) -> int:
        """The start of the group behind the one that starts at `cut`; `cut` itself where it is the last."""
        at = bisect_right(self.groups, cut, key=lambda group: group.start)
        return self.groups[at].start if at < len(self.groups) else cut

    def turn_at(self, message: int) -> int:
        """Number of the turn, from 1, that begins with or behind message `message`."""
        return 1 + bisect_left(self.tally.turns, message)
