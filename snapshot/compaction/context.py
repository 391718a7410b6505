"""What every rung of a compaction has to know: the conversation, the reader, the room there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from snapshot.compaction.archive import Archive
from snapshot.compaction.boundaries import Group
from snapshot.compaction.estimate import Estimator
from snapshot.compaction.options import Budget, Options
from snapshot.messages import Message
from snapshot.models.profile import ModelProfile

__all__ = ["Context"]


@dataclass(frozen=True, slots=True)
class Context:
    """What every rung has to know.

    Attributes:
        model: id of the model.
        reader: what is known of it.
        options: what the caller said.
        capacity: what a request may take.
        estimator: estimates tokens, corrected by what was reported.
        messages: the whole conversation, repaired; a draft included.
        archived: the same with credentials redacted, for everything that is archived or rendered.
        groups: its groups.
        head: messages that lead it and stay.
        former: the archive of an earlier compaction of it.
        format: its format.
        redactions: credentials replaced, by kind.
    """

    model: str
    reader: ModelProfile
    options: Options
    capacity: Budget
    estimator: Estimator
    messages: tuple[Message, ...]
    archived: tuple[Message, ...]
    groups: tuple[Group, ...]
    head: int
    former: Archive | None
    format: str
    redactions: Mapping[str, int]

    def cuts(self, tail: int) -> int:
        """Number of the message that the tail starts at, if it may take `tail` tokens.

        The earliest start of a turn that leaves so little; within the last turn, if that alone is more,
        the earliest group. Never before the head, nor before an earlier compaction's boundary.
        """
        starts = [group for group in self.groups if group.start >= self.head]
        if not starts:
            return len(self.messages)
        costs = [0]
        for message in reversed(self.messages):
            costs.append(costs[-1] + self.estimator.message(message))
        after = costs[::-1]  # tokens from message i on
        turns = [group.start for group in starts if group.turn]
        if turns and after[turns[-1]] <= tail:
            cut = next(start for start in turns if after[start] <= tail)
        else:
            inner = [group.start for group in starts if not turns or group.start >= turns[-1]]
            cut = next((start for start in inner if after[start] <= tail), inner[-1])
        fixed = self.former.boundary if self.former and not self.former.light else 0
        return max(cut, self.head, fixed)

    def cost(self, messages: Sequence[Message]) -> int:
        """Estimated tokens of a request with `messages`."""
        return self.estimator.messages(messages)
