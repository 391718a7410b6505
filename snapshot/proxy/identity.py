"""What a conversation is known by: the chain of its messages.

Each message's key depends on all before it, so two conversations that begin alike are one up to where they
differ, and an archive is found by the key of the last message that it was made from: it can say nothing that
is not in every conversation it is found for. Cache marks, thoughts (which clients drop later) and the
spelling of the JSON don't count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any, cast

import msgspec

from snapshot.messages import File, Image, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from snapshot.proxy.apis import Call

__all__ = ["chain_of", "root_of", "session_of"]

_CACHE_MARK = re.compile(r',?\s*"cache_control":\s*\{[^{}]*\}')
_LENGTH = 32
# Where clients say which of their sessions a request belongs to.
_SESSIONS = ("prompt_cache_key", "metadata", "user")


def chain_of(messages: Sequence[Message]) -> list[str]:
    """The key of each message: of all messages up to and with it."""
    keys: list[str] = []
    digest = sha256()
    for message in messages:
        digest.update(f"\0{message.role}".encode())
        for piece in _pieces(message.parts):
            data = piece if isinstance(piece, bytes) else piece.encode("utf-8", "surrogatepass")
            digest.update(b"\0%d:" % len(data))
            digest.update(data)
        keys.append(digest.hexdigest()[:_LENGTH])
    return keys


def _pieces(parts: Sequence[Part]) -> Iterator[str | bytes]:
    for part in parts:
        match part:
            case Text(text):
                yield text
            case Reasoning():
                pass
            case ToolCall(call_id, name, arguments):
                yield from ("call", call_id, name, arguments)
            case ToolResult(call_id, content, is_error):
                yield from ("result", call_id, str(is_error), *_pieces(content))
            case Image(media_type, data, source):
                yield from ("image", media_type, sha256(data).digest(), source)
            case File(name, media_type, data, text, source):
                yield from ("file", name, media_type, sha256(data).digest(), text, source)
            case Opaque(kind, json):
                yield from ("opaque", kind, _CACHE_MARK.sub("", json))


def root_of(call: Call) -> str:
    """The key of a conversation's beginning, cheaply had from the bytes: API and words of the first message.

    It narrows a search; what decides is `chain_of`.
    """
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
