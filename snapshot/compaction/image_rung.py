"""The second rung: old images become one line each, and what the provider's limits refuse goes, oldest
first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from snapshot.compaction.candidate import Candidate, Step
from snapshot.compaction.limits import excess
from snapshot.compaction.replaced import drop_attachments
from snapshot.messages import Image

__all__ = ["ImageRung", "within_limits", "without_images"]


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
        lighter = drop_attachments(
            candidate.messages, candidate.context.head, candidate.cut, lambda item: isinstance(item, Image)
        )
        note = f"{lighter.count} old images"
        lighter_candidate = candidate.lightened(lighter.messages)
        more = within_limits(lighter_candidate)
        if more is not lighter_candidate:
            count = excess(candidate.context, lighter.messages)
            note = f"{lighter.count + count} images and documents, {count} of them not old: beyond the limits"
        if more.messages == candidate.messages:
            return Step(None, "there is no old image")
        return Step(more, note)


def within_limits(candidate: Candidate, dropped: int | None = None) -> Candidate:
    """The candidate without the attachments that are too many or too large: oldest behind the head first.

    Args:
        candidate: whose middle is not replaced.
        dropped: how many must go; None: as many as the limits say.
    """
    head, stop = candidate.context.head, len(candidate.messages)
    count = excess(candidate.context, candidate.messages) if dropped is None else dropped
    if not count:
        return candidate
    why = "the provider takes no more"
    start = candidate.cut if dropped is not None else head
    lighter = drop_attachments(candidate.messages, start, stop, lambda _: True, most=count, why=why)
    if lighter.count < count:
        rest = count - lighter.count
        lighter = drop_attachments(lighter.messages, 0, head, lambda _: True, most=rest, why=why)
    note = f"{count} images or documents of what stays are dropped: the provider takes no more"
    return replace(candidate, messages=lighter.messages, notes=(*candidate.notes, note))


def without_images(candidate: Candidate) -> Candidate:
    """The candidate without any image, for a reader that cannot see."""
    lighter = drop_attachments(
        candidate.messages,
        0,
        len(candidate.messages),
        lambda item: isinstance(item, Image),
        why="the model cannot see images",
    )
    if not lighter.count:
        return candidate
    note = f"{lighter.count} images are dropped: {candidate.context.model} cannot see"
    return replace(candidate, messages=lighter.messages, notes=(*candidate.notes, note))
