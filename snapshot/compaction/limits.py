"""The provider's limits as the planner keeps them: images, documents and bytes of a request that is not drawn
yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from snapshot.compaction.page_images import most_bytes
from snapshot.compaction.replaced import attachments
from snapshot.messages import Image, Message
from snapshot.requests.limits import load_of

if TYPE_CHECKING:
    from snapshot.compaction.context import Context
    from snapshot.pages.layout import Layout

__all__ = ["body_bytes", "bytes_left", "excess", "page_room", "usable"]

# Of a provider's limit, what is not used.
_MARGIN = 20


def usable(limit: int) -> int:
    """What is used of a limit."""
    return limit - limit // _MARGIN


def body_bytes(messages: Sequence[Message]) -> int:
    """About the bytes of messages in a request: text as JSON has it, and attachments in base64."""
    return load_of(messages).measure_bytes()


def bytes_left(context: Context, messages: Sequence[Message]) -> int | None:
    """What is left of the body for pages beside `messages`; None where the body is not limited."""
    body = context.limits.get("request_bytes")
    return None if body is None else usable(body) - body_bytes(messages)


def excess(context: Context, messages: Sequence[Message]) -> int:
    """How many of the oldest images and documents must go for the provider's limits on their number and
    bytes."""
    limits = context.limits
    shown = attachments(messages)
    over = 0
    most = limits.get("images_per_request")
    images = sum(isinstance(item, Image) for item in shown)
    documents = len(shown) - images
    wanted_images = 0 if most is None else max(0, images - usable(most))
    most_documents = limits.get("documents_per_request")
    wanted_documents = 0 if most_documents is None else max(0, documents - most_documents)
    while wanted_images > 0 or wanted_documents > 0:
        if isinstance(shown[over], Image):
            wanted_images -= 1
        else:
            wanted_documents -= 1
        over += 1
    body = limits.get("request_bytes")
    if body is not None:
        left = body_bytes(messages) - usable(body) - sum(len(item.data) * 4 // 3 for item in shown[:over])
        while left > 0 and over < len(shown):
            left -= len(shown[over].data) * 4 // 3
            over += 1
    return over


def page_room(context: Context, rest: Sequence[Message], layout: Layout) -> tuple[int, int]:
    """Pages that the request may have beside `rest` by their number, and attachments of the rest that must
    go so that there is room for a page, in bytes as well."""
    limits = context.limits
    shown = attachments(rest)
    dropped = excess(context, rest)
    room = 1 << 30
    most = limits.get("images_per_request")
    if most is not None:
        left = sum(isinstance(item, Image) for item in shown[dropped:])
        while left >= usable(most) and dropped < len(shown):
            # One page at least: the oldest images make room for it.
            left -= isinstance(shown[dropped], Image)
            dropped += 1
        room = usable(most) - left
    body = limits.get("request_bytes")
    if body is not None:
        size = body_bytes(rest) - sum(len(item.data) * 4 // 3 for item in shown[:dropped])
        while size + most_bytes(layout) > usable(body) and dropped < len(shown):
            size -= len(shown[dropped].data) * 4 // 3
            dropped += 1
        if size >= usable(body):
            room = 0
    return room, dropped
