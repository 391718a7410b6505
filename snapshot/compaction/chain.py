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

from snapshot.compaction.history import histories
from snapshot.messages import File, Image, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult

__all__ = ["chain_of"]

_CACHE_MARK = re.compile(r',?\s*"cache_control":\s*\{[^{}]*\}')
_LENGTH = 32


class _Chain:
    """The keys of messages, as they come."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self._digest = sha256()

    def feed(self, messages: Sequence[Message]) -> None:
        """Take in the messages that follow."""
        digest = self._digest
        for message in messages:
            digest.update(f"\0{message.role}".encode())
            for piece in _pieces(message.parts):
                data = piece if isinstance(piece, bytes) else piece.encode("utf-8", "surrogatepass")
                digest.update(b"\0%d:" % len(data))
                digest.update(data)
            self.keys.append(digest.hexdigest()[:_LENGTH])


def chain_of(messages: tuple[Message, ...]) -> list[str]:
    """The key of each message: of all messages up to and with it. What was known before is not found anew."""
    with histories.of(messages) as history:
        return list(history.built("chain", _Chain, messages).keys)


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
