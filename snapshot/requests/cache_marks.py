"""Marks for the provider's prompt cache, behind the last page that will stay as it is.

Anthropic writes a cache entry at a marked block only. Without a mark behind the pages, the next request after
a further compaction differs from the last one at its newest page, and nothing in front of that is read from
the cache, although it is the same to the byte. A request may have few marks (`cache.breakpoints` of the
layout file), and the caller's own come first: they are counted and never taken away.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from snapshot.messages import Message

__all__ = ["CacheMark", "marks_in", "marks_of"]

_KEY = "cache_control"
# Keys of a body under which marks may stand beside the messages, and what they take where it is not seen.
_BESIDE = ("system", "tools")


@dataclass(frozen=True, slots=True)
class CacheMark:
    """A mark to be set on a page.

    Attributes:
        lead: the text that leads the pages.
        page: number of the page, from 0.
        lifetime: how long the entry stays, as the API writes it; "" for its default.
    """

    lead: str
    page: int
    lifetime: str = ""

    def on(self, messages: Iterable[dict[str, Any]]) -> bool:
        """Set the mark on a block of these messages, which are changed; whether the page is in them."""
        led = False
        left = self.page
        for block in _blocks(messages):
            led = led or (block.get("type") == "text" and block.get("text") == self.lead)
            if not led or block.get("type") != "image":
                continue
            if left == 0:
                block[_KEY] = {"type": "ephemeral"} | ({"ttl": self.lifetime} if self.lifetime else {})
                return True
            left -= 1
        return False


def _blocks(messages: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The blocks of the user's messages, results' own apart."""
    for message in messages:
        content: object = message.get("content")
        if message.get("role") == "user" and isinstance(content, list):
            for block in cast("list[object]", content):
                if isinstance(block, dict):
                    yield cast("dict[str, Any]", block)


def marks_of(messages: Iterable[Message]) -> list[str]:
    """The lifetimes of the marks that messages came with, in order; "" is the API's default."""
    return [found for message in messages for raw in message.raw for found in _marks(raw.get("content"))]


def marks_in(body: Mapping[str, Any]) -> list[str]:
    """The lifetimes of the marks that stand in a body beside its messages."""
    own = body.get(_KEY)
    found = [lifetime for key in _BESIDE for lifetime in _marks(body.get(key))]
    return [*found, *([_lifetime(own)] if own else [])]


def _marks(content: object) -> Iterator[str]:
    """The marks of blocks and of blocks in them."""
    if not isinstance(content, list | tuple):
        return
    for item in cast("list[object]", content):
        if isinstance(item, Mapping):
            block = cast("Mapping[str, Any]", item)
            if block.get(_KEY):
                yield _lifetime(block[_KEY])
            yield from _marks(block.get("content"))


def _lifetime(mark: object) -> str:
    lifetime = cast("Mapping[str, Any]", mark).get("ttl") if isinstance(mark, Mapping) else None
    return lifetime if isinstance(lifetime, str) else ""
