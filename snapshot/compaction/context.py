"""What every rung of a compaction has to know: the conversation, the reader, the budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

from snapshot.compaction.archive import Archive
from snapshot.compaction.boundaries import Group
from snapshot.compaction.estimate import Estimator
from snapshot.compaction.options import Budget, Options
from snapshot.compaction.places import PLACE
from snapshot.messages import Message
from snapshot.models.profile import ModelProfile

__all__ = ["Context"]


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
    groups: tuple[Group, ...]
    head: int
    former: Archive | None
    format: str
    redactions: Mapping[str, int] = field(default_factory=dict[str, int])
    last_resort: bool = False

    @cached_property
    def limits(self) -> Mapping[str, int]:
        """The provider's limits by name, the caller's in place of the layout file's."""
        return {**self.reader.limits, **self.options.limits}

    @cached_property
    def costs(self) -> tuple[int, ...]:
        """Estimated tokens of each message."""
        return tuple(map(self.estimator.message, self.messages))

    @cached_property
    def after(self) -> tuple[int, ...]:
        """Estimated tokens from message i to the end; one more item, 0, behind the last."""
        return tuple(accumulate(reversed(self.costs), initial=0))[::-1]

    @cached_property
    def mark_tokens(self) -> int:
        """What the estimator takes a page for that is not drawn."""
        return self.estimator.image(PLACE)

    def cost(self, messages: Sequence[Message]) -> int:
        """Estimated tokens of a request with `messages`."""
        return self.estimator.messages(messages)

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
        starts = [group.start for group in self.groups if group.start >= self.first_cut]
        if not starts:
            return len(self.messages)
        at = len(starts) - 1
        while at > 0 and self.after[starts[at]] < wanted:
            at -= 1
        return starts[at]

    @property
    def last_cut(self) -> int:
        """Where the tail may start at the latest: the last group."""
        starts = [group.start for group in self.groups if group.start >= self.first_cut]
        return starts[-1] if starts else len(self.messages)

    def later_cut(self, cut: int) -> int:
        """The start of the group behind the one that starts at `cut`; `cut` itself where it is the last."""
        return next((group.start for group in self.groups if group.start > cut), cut)

    def turn_at(self, message: int) -> int:
        """Number of the turn, from 1, that begins with or behind message `message`."""
        return 1 + sum(item.starts_turn for item in self.messages[:message])
