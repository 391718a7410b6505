"""About how many bytes messages take in the body of a request."""

from __future__ import annotations

from collections.abc import Sequence

from snapshot.messages import Message
from snapshot.requests.limits import message_bytes

__all__ = ["body_bytes", "message_bytes"]


def body_bytes(messages: Sequence[Message]) -> int:
    """About the bytes of messages in a request: text as JSON has it, and attachments in base64."""
    return sum(map(message_bytes, messages))
