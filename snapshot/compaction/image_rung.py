"""The second rung: old images become one line each, and what the provider's limits refuse goes, oldest
first."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import ClassVar

from snapshot.compaction.candidate import Candidate, Step
from snapshot.compaction.limits import refused
from snapshot.compaction.replaced import attachments, drop_attachments
from snapshot.messages import Image

__all__ = ["ImageRung", "within_limits", "without", "without_images"]

_MOST_NAMED = 20  # attachments that went which a report names one by one


_LIMITS = "the provider takes no more"


@dataclass(frozen=True, slots=True)
class ImageRung:
    """Drops images of the middle, and attachments beyond the provider's limits wherever they stand."""

    name: ClassVar[str] = "images"

    def apply(self, candidate: Candidate, goal: int) -> Step:
        """The candidate with lines in place of images; the goal does not matter."""
        del goal
        if candidate.replaced:
            return Step(None, "what it could drop is on pages already")
        if not candidate.context.attachments(candidate.messages):
            return Step(None, "there is no old image")
        before, middle = candidate.head, candidate.messages[candidate.context.head : candidate.cut]
        old = drop_attachments(middle, lambda _, item: isinstance(item, Image))
        lighter = candidate.lightened((*before, *old.messages, *candidate.tail))
        more = within_limits(lighter)
        if more.messages == candidate.messages:
            return Step(None, "there is no old image")
        beyond = len(attachments(lighter.messages)) - len(attachments(more.messages))
        notes = (
            (old.count, f"{old.count} old images"),
            (beyond, f"{beyond} images or documents beyond the provider's limits"),
        )
        return Step(more, ", ".join(note for count, note in notes if count))


def within_limits(candidate: Candidate) -> Candidate:
    """The candidate without the attachments that are too many or too large for the provider."""
    # The line in place of a small one may be longer than it was, so what is left is looked at again.
    while (lighter := _once_within_limits(candidate)) is not candidate:
        candidate = lighter
    return candidate


def _once_within_limits(candidate: Candidate) -> Candidate:
    if not candidate.replaced:
        return without(candidate, refused(candidate.context, candidate.messages), middle=True)
    # Marks for pages stand between head and tail, and stay.
    frame = attachments(
        candidate.undrawn[candidate.context.head : len(candidate.undrawn) - len(candidate.tail)]
    )
    start = len(attachments(candidate.head))
    gone = refused(candidate.context, candidate.undrawn)
    return without(candidate, frozenset(at if at < start else at - len(frame) for at in gone))


def without(
    candidate: Candidate, gone: Collection[int], *, middle: bool = False, why: str = _LIMITS
) -> Candidate:
    """The candidate without some attachments, each named in a note.

    Args:
        candidate: a request in the making.
        gone: positions among the attachments of head and tail.
        middle: whether the middle's are counted in as well, and may go.
        why: the reason, in words.
    """
    if not gone:
        return candidate
    context = candidate.context
    between = () if middle else candidate.messages[context.head : candidate.cut]
    stays = candidate.messages if middle else (*candidate.head, *candidate.tail)
    lighter = drop_attachments(stays, lambda at, _: at in gone, why=why)
    head, rest = lighter.messages[: context.head], lighter.messages[context.head :]
    notes = (*candidate.notes, *lighter.lines[:_MOST_NAMED])
    if lighter.count > _MOST_NAMED:
        notes = (*notes, f"and {lighter.count - _MOST_NAMED} more images or documents: {why}")
    return replace(candidate, messages=(*head, *between, *rest), notes=notes)


def without_images(candidate: Candidate) -> Candidate:
    """The candidate without any image, for a reader that cannot see."""
    lighter = drop_attachments(
        candidate.messages, lambda _, item: isinstance(item, Image), why="the model cannot see images"
    )
    if not lighter.count:
        return candidate
    note = f"{lighter.count} images are dropped: {candidate.context.model} cannot see"
    return replace(candidate, messages=lighter.messages, notes=(*candidate.notes, note))
