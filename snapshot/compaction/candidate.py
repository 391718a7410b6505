"""A request in the making: what the ladder has made of a conversation so far, and what it would take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, ClassVar, Protocol

from snapshot.compaction.archive import Archive, PagedPart
from snapshot.compaction.context import Context
from snapshot.compaction.limits import bytes_left, over
from snapshot.compaction.page_images import base64_bytes, most_bytes, page_sizes
from snapshot.compaction.pagination import Pagination, Stretch
from snapshot.compaction.replaced import attachments
from snapshot.messages import Message
from snapshot.source.source import Source

if TYPE_CHECKING:
    from snapshot.requests.limits import Excess

__all__ = ["Candidate", "Rung", "Step"]


@dataclass(frozen=True)
class Candidate:
    """A request in the making; nothing is drawn yet.

    Attributes:
        context: the conversation.
        messages: what would be sent of the conversation, before anything stands for its middle: all of it,
            with parts replaced by lines.
        cut: number of the message that the tail starts at.
        archive: what stands for messages `context.head` to `cut`, with the pages of single parts; None:
            nothing yet.
        pagination: the archive's pages, measured.
        parts: parts of head and tail that stand on pages of their own, or are clipped.
        part_paginations: the pages of each of these, measured.
        break_even: requests after which the pages pay, counting the cache; None if not asked.
        notes: what a person should know of it: a tail that was shortened, what left view.
        facts, facts_left_out: exact strings listed as text, and those without room.
    """

    context: Context
    messages: tuple[Message, ...]
    cut: int
    archive: Archive | None = None
    pagination: Pagination | None = None
    parts: tuple[PagedPart, ...] = ()
    part_paginations: tuple[Pagination, ...] = ()
    break_even: int | None = None
    notes: tuple[str, ...] = ()
    facts: int = 0
    facts_left_out: int = 0

    @property
    def replaced(self) -> bool:
        """Whether pages or a summary stand for the middle."""
        return self.archive is not None and not self.archive.light

    @property
    def head(self) -> tuple[Message, ...]:
        """The messages that lead."""
        return self.messages[: self.context.head]

    @property
    def tail(self) -> tuple[Message, ...]:
        """The messages that follow word for word."""
        return self.messages[self.cut :]

    @cached_property
    def frame(self) -> tuple[Message, ...]:
        """What carries the archive, with marks in place of the pages."""
        return self.framed() if self.replaced else ()

    def framed(self, pages: Sequence[bytes] = ()) -> tuple[Message, ...]:
        """The messages that carry the archive, with the PNG files of its pages, or with marks in their
        place."""
        from snapshot.compaction.assemble import archive_messages

        assert self.archive is not None
        context = self.context
        return archive_messages(
            self.archive,
            pages,
            detail=context.reader.detail,
            per_message=context.limits.get("images_per_message"),
            beside=self.beside_frame,
        )

    @cached_property
    def beside_frame(self) -> tuple[int, int]:
        """Images in what an API joins to the first message of the frame, and to its last: all that stands
        between two of the assistant's messages."""
        if "images_per_message" not in self.context.limits:
            return 0, 0
        return _joined(reversed(self.head)), _joined(self.tail)

    @cached_property
    def undrawn(self) -> tuple[Message, ...]:
        """The request with marks in place of the pages."""
        return (*self.head, *self.frame, *self.tail) if self.replaced else self.messages

    @cached_property
    def tokens(self) -> int:
        """Estimated tokens of the request: pages at their price, not at that of the marks for them."""
        context = self.context
        marks = sum(len(stretch.pages) for stretch in self.stretches)
        pages = sum(page.tokens for stretch in self.stretches for page in stretch.pages)
        costs = context.costs_of(self.messages)
        if self.replaced:
            text = sum(costs[: context.head]) + sum(costs[self.cut :])
            text += sum(map(context.estimator.message, self.frame))
        else:
            text = sum(costs)
        return context.estimator.overhead + text - marks * context.mark_tokens + pages

    @property
    def stretches(self) -> tuple[Stretch, ...]:
        """All pages that are to be drawn: those of the middle, then those of single parts."""
        middle = self.pagination.stretches if self.pagination is not None else ()
        return (*middle, *(stretch for part in self.part_paginations for stretch in part.stretches))

    @property
    def printed(self) -> Source:
        """The text that the pages of the middle are set of."""
        assert self.archive is not None
        assert self.pagination is not None
        return self.pagination.printed if self.pagination.start else self.archive.printed

    def fits(self, goal: int) -> bool:
        """Whether it is within the goal and the provider's limits."""
        return self.tokens <= goal and not self.over_limits

    @cached_property
    def over_limits(self) -> tuple[Excess, ...]:
        """The provider's limits that it is over: on images, on documents, on bytes."""
        found = over(self.context, self.undrawn)
        room = bytes_left(self.context, self.undrawn)
        if found or room is None:
            return found
        return over(self.context, self.undrawn, more_bytes=self._page_bytes(room))

    def _page_bytes(self, room: int) -> int:
        """Bytes of the pages in base64: the most that they can have where there is room for it, else as they
        are drawn."""
        most = sum(most_bytes(stretch.layout) * len(stretch.pages) for stretch in self.stretches)
        if most <= room:
            return most
        threads = self.context.options.threads
        sizes: list[int] = []
        if self.archive is not None and self.pagination is not None:
            known = self.archive.sizes
            if len(known) == len(self.pagination.pages):
                sizes += known
            else:
                for stretch in self.pagination.stretches:
                    sizes += page_sizes(self.printed, stretch, threads=threads)
        for part, pagination in zip(self.parts, self.part_paginations, strict=True):
            for stretch in pagination.stretches:
                sizes += page_sizes(part.printed, stretch, threads=threads)
        return sum(map(base64_bytes, sizes))

    @property
    def sendable(self) -> bool:
        """Whether it is safe, and within the provider's limits."""
        return self.fits(self.context.budget.safe)

    def lightened(self, messages: Sequence[Message]) -> Candidate:
        """The candidate with lines in place of some parts of messages."""
        return replace(self, messages=tuple(messages))


def _joined(messages: Iterable[Message]) -> int:
    """Images and documents in the messages before the first of the assistant's."""
    return len(attachments(list(takewhile(lambda message: message.role != "assistant", messages))))


@dataclass(frozen=True, slots=True)
class Step:
    """What a rung did: a better candidate, or None, and what it did or why it did nothing."""

    candidate: Candidate | None
    note: str


class Rung(Protocol):
    """A step of the ladder."""

    name: ClassVar[str]

    def apply(self, candidate: Candidate, goal: int) -> Step:
        """A candidate that takes less. It is called only while the one at hand is over the goal or the
        limits."""
        ...
