"""About how many bytes messages take in the body of a request."""

from __future__ import annotations

from collections.abc import Sequence

from snapshot.messages import File, Image, Message, Reasoning, Text, ToolCall, ToolResult

__all__ = ["body_bytes", "message_bytes"]


def body_bytes(messages: Sequence[Message]) -> int:
    """About the bytes of messages in a request: text, and attachments in base64."""
    return sum(map(message_bytes, messages))


def message_bytes(message: Message) -> int:
    """About the bytes of a message in a request."""
    size = 0
    for part in message.parts:
        inner = part.content if isinstance(part, ToolResult) else (part,)
        for item in inner:
            match item:
                case Text(text) | Reasoning(text):
                    size += len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
                case ToolCall(_, name, arguments):
                    size += len(name) + len(arguments)
                case Image(data=data) | File(data=data):
                    size += len(data) * 4 // 3
                case _:
                    size += len(item.json)
    return size
