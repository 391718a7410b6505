"""Ids of messages, where a format wants each to have one of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any
from uuid import UUID

from snapshot.messages import Message
from snapshot.transcripts.writing.units import Tell, Unit

__all__ = ["keyed", "made_up", "named_once"]


def named_once(units: Iterator[Unit], tell: Tell, *, apart: bool = False) -> Iterator[Unit]:
    """The units; an id that comes again stands only where it came first.

    `apart`: the messages of a unit have ids of their own; else they share that of the first.
    """
    seen: set[str] = set()
    for unit in units:
        named: list[tuple[int, Message]] = []
        taken: set[str] = set()
        for number, message in unit:
            if message.id and message.id in seen | (taken if apart else set()):
                tell("id", number, "an id that another message has as well")
                named.append((number, replace(message, id="", raw=())))
            else:
                taken.add(message.id)
                named.append((number, message))
        seen |= taken
        yield named


def made_up(*about: str) -> str:
    """An id in the form of a UUID; the same for the same words."""
    return str(UUID(bytes=sha256("\0".join(about).encode("utf-8", "surrogatepass")).digest()[:16], version=4))


def keyed(rows: Sequence[dict[str, Any]], key: str, about: str, length: int = 36) -> list[str]:
    """The ids of rows under `key`; those that have none get one that no other has."""
    taken = {row[key] for row in rows if row.get(key)}
    found: list[str] = []
    for number, row in enumerate(rows):
        name, again = row.get(key), 0
        while not name or (name in taken and not row.get(key)):
            name, again = made_up(about, str(number), str(again))[:length], again + 1
        taken.add(name)
        found.append(name)
    return found
