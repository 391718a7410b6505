"""Statements: words of the conversation that stay word for word, as text between the pages.

What users said, but for pasted bulk, what system messages said, and pinned messages. They have a budget: the
newest come first, so what withdraws an order outlives the order.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from snapshot.compaction.summary.clip import one_line
from snapshot.messages import Message, Text

__all__ = ["Spoken", "Statement", "chosen", "statements_of"]

# A statement of more characters is taken for pasted matter.
_BULK = 4000
# What statements come down to when they exceed their budget, so that they don't change at every compaction.
_ROOMY = 0.7
_LONGEST_TIME = 40


@dataclass(frozen=True, slots=True)
class Statement:
    """Words that stay word for word beside the pages.

    Attributes:
        offset: where they stand in the source text.
        label: who said it, and when; one line.
        text: the words.
        pinned: whether they are kept whatever there is room for: the caller wants it, or they are the request
            that is live.
        whole: whether these are all words; else their beginning and end.
    """

    offset: int
    label: str
    text: str
    pinned: bool = False
    whole: bool = True

    def printed(self) -> str:
        """The statement as the model reads it. Its length is told, so that no words can pass for a second
        one."""
        how = "word for word" if self.whole else "beginning and end"
        return f"[{self.label}, {how}, {len(self.text):,} characters]\n{self.text}"


class Spoken:
    """The numbers of those of a conversation's messages that are the user's or the system's, and of those
    with which turns begin."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.turns: list[int] = []
        self._size = 0

    def feed(self, messages: Sequence[Message]) -> None:
        """Take in the messages that follow."""
        for number, message in enumerate(messages, self._size):
            if message.role in ("user", "system"):
                self.numbers.append(number)
            if message.starts_turn:
                self.turns.append(number)
        self._size += len(messages)


def statements_of(
    messages: Sequence[Message],
    spans: Sequence[tuple[int, int]],
    *,
    first_turn: int,
    pins: frozenset[int],
    live: int | None = None,
    shown: Mapping[int, Statement] | None = None,
    spoken: Spoken | None = None,
) -> tuple[Statement, ...]:
    """What users and system messages said in `messages`, but for pasted bulk, and pinned messages whole.

    Args:
        messages: the middle.
        spans: half-open span of source text of each.
        first_turn: number of the first turn in it.
        pins: numbers (from 0) of pinned messages in it.
        live: number of the message with the request that is worked on: it is none too long.
        shown: what stands beside the pages already, by its offset: it stays as it is.
        spoken: of these messages, where it is known.
    """
    shown = shown or {}
    found: list[Statement] = []
    if spoken is None:
        spoken = Spoken()
        spoken.feed(messages)
    pinned = (pin for pin in pins if 0 <= pin < len(messages))
    for number in sorted({*spoken.numbers, *pinned}):
        message, start = messages[number], spans[number][0]
        turn = first_turn - 1 + bisect_right(spoken.turns, number)
        text = "\n".join(part.text for part in message.parts if isinstance(part, Text))
        time = f", {one_line(message.time, _LONGEST_TIME)}" if message.time.strip() else ""
        if number in pins and text.strip():
            found.append(Statement(start, f"{message.role}, pinned{time}", text, pinned=True))
        elif start in shown:
            found.append(replace(shown[start], pinned=number == live))
        elif number == live and text.strip():
            found.append(Statement(start, f"user, turn {turn}{time}", text, pinned=True))
        elif not text.strip() or len(text) > _BULK or message.origin == "harness":
            continue
        elif message.starts_turn:
            found.append(Statement(start, f"user, turn {turn}{time}", text))
        elif message.role == "system":
            found.append(Statement(start, f"system message{time}", text))
    return tuple(found)


def chosen(
    statements: Sequence[Statement], costs: Sequence[int], budget: int, shown: frozenset[int] = frozenset()
) -> tuple[Statement, ...]:
    """The statements that there is room for, in their order: pinned ones, then the newest.

    Of those that say the same ("Go on.") only the newest counts, beside what the request has already.

    Args:
        statements: all, in their order.
        costs: tokens of each.
        budget: tokens that all may take.
        shown: offsets of those that the request has already: as long as all of these and all new ones fit,
            nothing that stands before the newest page changes.
    """
    newest = _newest_of_equal(statements)
    statements, costs = _only(statements, costs, newest | shown)
    total = sum(
        cost
        for item, cost in zip(statements, costs, strict=True)
        if not shown or item.offset in shown or item.offset > max(shown)
    )
    if shown and total <= budget:
        return tuple(
            item for item in statements if item.pinned or item.offset in shown or item.offset > max(shown)
        )
    statements, costs = _only(statements, costs, newest)
    pinned = sum(cost for item, cost in zip(statements, costs, strict=True) if item.pinned)
    room = (budget if sum(costs) <= budget else int(budget * _ROOMY)) - pinned
    kept: set[int] = set()
    for number in range(len(statements) - 1, -1, -1):
        if statements[number].pinned:
            kept.add(number)
        elif costs[number] <= room:
            kept.add(number)
            room -= costs[number]
        else:
            room = 0  # an older one may have been withdrawn by this one
    return tuple(item for number, item in enumerate(statements) if number in kept)


def _newest_of_equal(statements: Sequence[Statement]) -> frozenset[int]:
    """Offsets of the statements behind which nobody says the same again, and of pinned ones."""
    last = {_words(item.text): item.offset for item in statements}
    return frozenset(last.values()) | {item.offset for item in statements if item.pinned}


def _words(text: str) -> str:
    """What a statement says, without regard to case, spaces, and the sign that ends it."""
    return " ".join(text.casefold().split()).rstrip(".!… ")


def _only(
    statements: Sequence[Statement], costs: Sequence[int], offsets: frozenset[int]
) -> tuple[list[Statement], list[int]]:
    """The statements at some offsets, with their costs."""
    kept = [number for number, item in enumerate(statements) if item.offset in offsets]
    return [statements[number] for number in kept], [costs[number] for number in kept]
