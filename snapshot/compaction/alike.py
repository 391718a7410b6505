"""Where two conversations are the same objects: a look that costs next to nothing a message."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress, count
from operator import is_not

__all__ = ["differing", "shared"]


def shared(seen: Sequence[object], messages: Sequence[object]) -> int:
    """How many messages two conversations begin with that are the same objects."""
    return next(compress(count(), map(is_not, seen, messages)), min(len(seen), len(messages)))


def differing(ours: Sequence[object], others: Sequence[object]) -> list[int]:
    """Numbers of the messages that are not the same objects in two conversations of equal length."""
    return list(compress(count(), map(is_not, ours, others)))
