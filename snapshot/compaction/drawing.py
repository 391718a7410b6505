"""Pages of a candidate, drawn and put in their places."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from snapshot.compaction.candidate import Candidate
from snapshot.compaction.page_images import page_images
from snapshot.compaction.pagination import Pagination
from snapshot.compaction.places import is_place, place
from snapshot.compaction.replaced import with_content, with_parts
from snapshot.messages import Image, Message, Part, ToolResult
from snapshot.source.source import Source

__all__ = ["drawn"]


def drawn(candidate: Candidate) -> tuple[Message, ...]:
    """The messages to send, with all pages drawn."""
    context, archive = candidate.context, candidate.archive
    total = sum(len(stretch.pages) for stretch in candidate.stretches)
    done = 0

    def tell() -> None:
        nonlocal done
        done += 1
        if context.options.progress is not None:
            context.options.progress(done, total)

    messages = candidate.messages
    for number, (part, pagination) in enumerate(
        zip(candidate.parts, candidate.part_paginations, strict=True)
    ):
        pages = _pages(pagination, part.printed, context.options.threads, tell)
        messages = _put(messages, place(number), pages, context.reader.detail)
    if archive is None or archive.light:
        return messages
    pages = []
    if candidate.pagination is not None:
        pages = _pages(candidate.pagination, candidate.printed, context.options.threads, tell)
    return (*messages[: context.head], *candidate.framed(pages), *messages[candidate.cut :])


def _pages(
    pagination: Pagination, source: Source, threads: int | None, tell: Callable[[], None]
) -> list[bytes]:
    """The PNG files of the pages, in order."""
    pages: list[bytes] = []
    for stretch in pagination.stretches:
        for png in page_images(source, stretch, threads=threads):
            pages.append(png)
            tell()
    return pages


def _put(messages: Sequence[Message], mark: Image, pngs: Sequence[bytes], detail: str) -> tuple[Message, ...]:
    """The messages with images in place of the marks, in their order."""
    left = iter(pngs)

    def shown(item: Part) -> Part:
        if is_place(item) and isinstance(item, Image) and item.source == mark.source:
            return Image("image/png", next(left), detail=detail)
        return item

    out: list[Message] = []
    for message in messages:
        parts: list[Part] = []
        for part in message.parts:
            if isinstance(part, ToolResult) and any(map(is_place, part.content)):
                parts.append(with_content(part, [shown(item) for item in part.content]))
            else:
                parts.append(shown(part))
        out.append(with_parts(message, parts))
    return tuple(out)
