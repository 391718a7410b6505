"""What is told of a conversation before it is read: the key of its beginning, and the client's session.

They narrow a search and name what is listed; what decides is the chain of messages
(`snapshot.compaction.chain`).
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any, cast

import msgspec

from snapshot.proxy.apis import Call

__all__ = ["root_of", "session_of"]

_LENGTH = 32
# Where clients say which of their sessions a request belongs to.
_SESSIONS = ("prompt_cache_key", "metadata", "user")


def root_of(call: Call) -> str:
    """The key of a conversation's beginning, had from the bytes: API and words of the first message."""
    words = "\0".join(_words(msgspec.json.decode(call.items[0]))) if call.items else ""
    return sha256(f"{call.api}\0{words}".encode("utf-8", "surrogatepass")).hexdigest()[:_LENGTH]


def session_of(call: Call, root: str) -> str:
    """The name under which a conversation is listed: its beginning, and the session that the client names."""
    named = b"\0".join(bytes(call.fields[name]) for name in _SESSIONS if name in call.fields)
    return sha256(root.encode() + named).hexdigest()[:16]


def _words(value: Any) -> Iterator[str]:
    """The texts of a message, in whichever of its forms."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _words(item)
    elif isinstance(value, dict):
        given = cast("dict[str, Any]", value)
        for name in ("content", "parts", "text"):
            if name in given:
                yield from _words(given[name])
