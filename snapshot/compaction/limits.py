"""The provider's limits as the planner keeps them: images, documents and bytes of a request that is not drawn
yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from snapshot.compaction.body import body_bytes
from snapshot.compaction.replaced import attachments
from snapshot.messages import Image, Message

if TYPE_CHECKING:
    from snapshot.compaction.context import Context
    from snapshot.pages.layout import Layout

__all__ = ["excess", "page_bytes", "page_room", "usable"]

# A drawn page takes about a quarter of its raw bits; what is reckoned with is more.
_BYTES_PER_BIT = 0.4 / 8
_BITS = 2
# Of a provider's limit, what is not used.
_MARGIN = 20


def usable(limit: int) -> int:
    """What is used of a limit."""
    return limit - limit // _MARGIN


def page_bytes(layout: Layout) -> int:
    """About the bytes of a page in base64."""
    return int(layout.width * layout.height * _BITS * _BYTES_PER_BIT * 4 / 3)


def excess(context: Context, messages: Sequence[Message]) -> int:
    """How many of the oldest images and documents must go for the provider's limits on their number and
    bytes."""
    limits = context.limits
    shown = context.attachments(messages)
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
        left = (
            context.body_bytes(messages)
            - usable(body)
            - sum(len(item.data) * 4 // 3 for item in shown[:over])
        )
        while left > 0 and over < len(shown):
            left -= len(shown[over].data) * 4 // 3
            over += 1
    return over


def page_room(context: Context, rest: Sequence[Message], layout: Layout) -> tuple[int, int]:
    """Pages that the request has room for beside `rest`, and attachments of the rest that must go to make
    it."""
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
        while size + page_bytes(layout) > usable(body) and dropped < len(shown):
            size -= len(shown[dropped].data) * 4 // 3
            dropped += 1
        room = min(room, (usable(body) - size) // page_bytes(layout))
    return room, dropped
