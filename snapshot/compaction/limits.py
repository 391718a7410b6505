"""The provider's limits as the planner keeps them: images, documents and bytes of a request that is not drawn
yet."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from snapshot.compaction.page_images import most_bytes
from snapshot.compaction.places import is_place
from snapshot.compaction.replaced import attachments
from snapshot.messages import Image, Message
from snapshot.requests.limits import Excess, Item, Load, exceeded, load_of

if TYPE_CHECKING:
    from snapshot.compaction.context import Context
    from snapshot.pages.layout import Layout

__all__ = ["bytes_left", "over", "page_room", "refused", "usable"]

# Of a provider's limit, what is not used.
_MARGIN = 20


def usable(limit: int) -> int:
    """What is used of a limit."""
    return limit - limit // _MARGIN


def bytes_left(context: Context, messages: Sequence[Message]) -> int | None:
    """What is left of the body for pages beside `messages`; None where the body is not limited."""
    body = context.limits.get("request_bytes")
    return None if body is None else usable(body) - context.body_bytes(messages)


def over(context: Context, messages: Sequence[Message], *, more_bytes: int = 0) -> tuple[Excess, ...]:
    """The limits that a request with `messages` is over, with a margin on those that are sums.

    Args:
        context: the reader and its limits.
        messages: what would be sent, with marks for pages.
        more_bytes: what the body takes besides: the pages.
    """
    # Most conversations have none, and that is known without a look at every part.
    items = load_of(messages).items if context.attachments(messages) else ()
    load = Load(items, lambda: context.body_bytes(messages) + more_bytes)
    return exceeded(load, context.limits, reader=context.reader, margin=_MARGIN)


def refused(
    context: Context, messages: Sequence[Message], *, pages: int = 0, page_size: int = 0
) -> frozenset[int]:
    """Which images and documents must go for the provider's limits, as positions in `attachments(messages)`.

    What is over a limit by itself goes. Of the rest documents go first, the oldest first of all, then images
    behind the head, then the head's; and no more than must.

    Args:
        context: the reader, its limits, and the length of the head.
        messages: what would be sent, from the head on; marks for pages in it count and stay.
        pages, page_size: pages that need room besides, and the bytes of each.
    """
    shown = context.attachments(messages)
    if not shown:
        return frozenset()
    items = load_of(messages).items
    size = context.body_bytes(messages) + pages * page_size
    # Each of these pages may stand in a message of its own.
    more = tuple(Item("image", -number) for number in range(1, pages + 1))
    head = len(attachments(messages[: context.head]))
    order = sorted(
        (at for at, item in enumerate(shown) if not is_place(item)),
        key=lambda at: (isinstance(shown[at], Image), isinstance(shown[at], Image) and at < head, at),
    )

    def without(gone: Collection[int]) -> tuple[list[int], tuple[Excess, ...]]:
        left = [at for at in range(len(items)) if at not in gone]
        sent = size - sum(items[at].sent for at in gone)
        load = Load((*(items[at] for at in left), *more), lambda: sent)
        return left, exceeded(load, context.limits, reader=context.reader, margin=_MARGIN)

    gone: dict[int, None] = {}
    while (found := without(gone))[1]:
        picked = _picked(*found, items, [at for at in order if at not in gone])
        if not picked:
            break
        gone |= dict.fromkeys(picked)
    else:
        # A small one that went before large ones may have gone for nothing.
        for at in [*reversed(gone)]:
            if not without(gone.keys() - {at})[1]:
                del gone[at]
    return frozenset(gone)


def _picked(
    left: Sequence[int], found: Sequence[Excess], items: Sequence[Item], order: Sequence[int]
) -> list[int]:
    """What goes for limits that are exceeded: positions of `order`, none where nothing helps.

    Args:
        left: position of each item that the limits were measured on.
        found: the limits that are exceeded.
        items: all images and documents.
        order: positions of those that may go, what goes first in front.
    """
    may_go = frozenset(order)
    alone = {left[item.item] for item in found if item.item is not None and item.item < len(left)}
    if alone & may_go:
        return sorted(alone & may_go)
    for excess in found:
        picked: list[int] = []
        much = excess.have - excess.allowed
        for at in order:
            share = _share(excess.key, items[at], excess.at)
            if share > 0 and much > 0:
                picked.append(at)
                much -= share
        if picked:
            return picked
    return []


def _share(key: str, item: Item, at: int) -> int:
    """What one item adds to a limit that is a sum; `at` is the message that the limit is exceeded in."""
    match key:
        case "images_per_request":
            return 1
        case "images_per_message":
            return int(item.at == at)
        case "documents_per_request":
            return int(item.kind == "file")
        case "pdf_pages":
            return item.pages
        case "request_bytes":
            return item.sent
        case _:
            return 0


def page_room(
    context: Context, head: Sequence[Message], tail: Sequence[Message], layout: Layout
) -> tuple[int, frozenset[int]]:
    """Pages that the request has room for between head and tail, and attachments of these that must go to
    make it: for one page at least."""
    limits = context.limits
    # The pages stand between: nothing joins the tail to the head.
    rest = (*head, Message("assistant", ()), *tail)
    shown = attachments(rest)
    dropped = refused(context, rest, pages=1, page_size=most_bytes(layout))
    room = 1 << 30
    most = limits.get("images_per_request")
    if most is not None:
        room = usable(most) - (len(shown) - len(dropped))
    body = limits.get("request_bytes")
    if body is not None:
        size = context.body_bytes(rest) - sum(len(shown[at].data) * 4 // 3 for at in dropped)
        if size >= usable(body):
            room = 0
    return room, dropped
