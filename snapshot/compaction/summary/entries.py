"""The entries of a history as a summarizer reads them, and as many of them as one request has room for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

from snapshot.compaction.summary.clip import (
    attachment,
    clip,
    dear_fence,
    numbered,
    one_line,
    plain,
    prefix,
    result_text,
    said,
)
from snapshot.messages import File, Image, Message, Opaque, Text, ToolCall, ToolResult
from snapshot.models.tokens import text_tokens

if TYPE_CHECKING:
    from snapshot.models.profile import ModelProfile

__all__ = ["Entry", "entries_of", "pack"]

Voice: TypeAlias = Literal["user", "tool", "model"]

# Share of the room that one call or result may take where a history needs several requests.
_SHARE = 16
_LEAST = 48  # tokens, enough for the mark of what was left out and some words on either side
_NAME = 40


@dataclass(frozen=True)
class Entry:
    """One thing that was said or done.

    Attributes:
        head: who, and in which turn; ASCII and short.
        body: the words, without payloads.
        voice: "tool" entries are clipped where room is short, the others are told in full, in parts if
            one request is too small for them.
    """

    head: str
    body: str
    voice: Voice

    def printed(self, word: str) -> str:
        """The entry as the summarizer reads it, behind the word that nothing in the history contains."""
        return f"[{word} {self.head}]\n{self.body}"

    def cost(self, reader: ModelProfile) -> int:
        """Tokens of the entry in a prompt."""
        known = self._costs.get(reader.name)
        if known is None:
            known = self._costs[reader.name] = self.frame(reader) + text_tokens(self.body, reader)
        return known

    def frame(self, reader: ModelProfile) -> int:
        """Tokens of the entry without its body."""
        return text_tokens(Entry(self.head, "", "tool").printed(dear_fence(reader)) + "\n", reader)

    @cached_property
    def _costs(self) -> dict[str, int]:
        return {}


def entries_of(messages: Sequence[Message], first_turn: int = 1) -> list[Entry]:
    """The entries of `messages`, without reasoning and without what is empty."""
    found: list[Entry] = []
    names: dict[str, str] = {}

    def add(head: str, turn: int, body: str, voice: Voice) -> None:
        if body.strip():
            found.append(Entry(f"{head}, turn {turn}", body, voice))

    for turn, message in numbered(messages, first_turn):
        if message.role in ("user", "system"):
            add(message.role, turn, said(message), "user")
        for part in message.parts:
            match part:
                case ToolCall(call_id, name, arguments):
                    names[call_id] = _name(name)
                    add(f"assistant calls {_name(name)}", turn, plain(arguments) or "{}", "tool")
                case ToolResult():
                    what = "ERROR" if part.is_error else "result"
                    tool = names.get(part.call_id, "an unknown call")
                    add(f"{what} of {tool}", turn, result_text(part) or "(no output)", "tool")
                case Text(text, refusal) if message.role not in ("user", "system"):
                    add("assistant REFUSES" if refusal else message.role, turn, plain(text), "model")
                case Image() | File() if message.role not in ("user", "system"):
                    add(message.role, turn, attachment(part), "tool")
                case Opaque(kind) if "thinking" not in kind and "reasoning" not in kind:
                    add(message.role, turn, attachment(part), "tool")
    return found


def _name(name: str) -> str:
    """The name of a tool, which a model may have invented, such that it cannot break or bloat a head."""
    return one_line(name, _NAME).encode("ascii", "replace").decode().replace("]", "?") or "?"


def pack(entries: Sequence[Entry], room: int, reader: ModelProfile) -> tuple[list[Entry], list[Entry]]:
    """The entries that go into one request, and what is left for the next ones.

    If clipping calls and results moderately makes all of them fit, they are clipped no more than that.
    Otherwise each may take a sixteenth of the room. Other entries stay whole; one that is larger than a
    whole request goes into several.

    Args:
        entries: at least one.
        room: tokens that they may take, 128 or more.
        reader: whose tokens they are.
    """
    floor = max(_LEAST, room // _SHARE)

    def total(most: int) -> int:
        return sum(_capped(entry, most, reader) for entry in entries)

    low, high = floor, floor
    if total(floor) <= room:
        high = room
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if total(middle) <= room else (low, middle - 1)
    taken: list[Entry] = []
    left = room
    for number, entry in enumerate(entries):
        clipped = _clipped(entry, low, reader)
        cost = clipped.cost(reader)
        if cost <= left:
            taken.append(clipped)
            left -= cost
            continue
        # What no request could hold whole begins here, unless hardly any room is left.
        if cost > room and (not taken or left > room // 4):
            first, second = _split(clipped, left, reader)
            return [*taken, first], [second, *entries[number + 1 :]]
        return taken, list(entries[number:])
    return taken, []


def _capped(entry: Entry, most: int, reader: ModelProfile) -> int:
    cost = entry.cost(reader)
    return cost if entry.voice != "tool" or cost <= most else min(cost, entry.frame(reader) + most)


def _clipped(entry: Entry, most: int, reader: ModelProfile) -> Entry:
    if entry.voice != "tool" or entry.cost(reader) <= most:
        return entry
    return replace(entry, body=clip(entry.body, most, reader))


def _split(entry: Entry, left: int, reader: ModelProfile) -> tuple[Entry, Entry]:
    head = entry.head.removesuffix(" (continued)")
    first = replace(entry, head=f"{head} (to be continued)")
    room = left - first.frame(reader)
    # A single cluster that is larger than a request is torn all the same, and something always moves on.
    length = prefix(entry.body, room, reader) or max(1, prefix(entry.body, room, reader, tear=True))
    return replace(first, body=entry.body[:length]), Entry(
        f"{head} (continued)", entry.body[length:], entry.voice
    )
