"""The offline digest: a deterministic outline of messages, where there is neither vision nor a summarizer.

In order of what stays longest when room is short: what the user said, word for word; the last plan and the
last statement of the assistant; then what it said and ran before. The old goes before the new everywhere, so
what withdraws an order outlives the order: of a long statement head and tail stay rather than older ones.
What was left out is counted. The live state is no part of it: the ledger stands beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from snapshot.compaction.summary.clip import clip, fence
from snapshot.compaction.summary.outline import Item, Outline, Section
from snapshot.messages import Message
from snapshot.models.tokens import most_chars, text_tokens

if TYPE_CHECKING:
    from snapshot.models.profile import ModelProfile

__all__ = ["Digested", "digest"]

_TITLES: dict[Section, str] = {
    "said": "The user's own words",
    "told": "The assistant said",
    "command": "Commands",
    "plan": "Last list of the assistant in this part",
    "last": "Last statement of the assistant in this part",
}
_COUNTED: dict[Section, tuple[str, str]] = {
    "said": ("statement of the user", "statements of the user"),
    "command": ("command", "commands"),
    "plan": ("list of the assistant", "lists of the assistant"),
    "told": ("statement of the assistant", "statements of the assistant"),
}
# Where not all statements have room in full, each has at least this share of the budget.
_SHARE = 0.125
# Shares of the budget that a plan, and the assistant's last words, may take.
_OWN = 0.15
_LEAST = 24  # tokens that a clipped statement is worth
_NO_ROOM = "(too long for the room there is)"


class Digested:
    """What is known of messages that a digest stands for; they may become more.

    Args:
        first_turn: number of the turn that the first user message begins.
    """

    def __init__(self, first_turn: int = 1) -> None:
        from snapshot.ledger import LedgerBuilder

        self._outline = Outline(first_turn)
        self._ledger = LedgerBuilder(plans_only=True)

    def feed(self, messages: Sequence[Message]) -> None:
        """Take in the messages that follow."""
        self._outline.feed(messages)
        self._ledger.feed(messages)

    def items(self, beside: frozenset[str]) -> tuple[Item, ...]:
        """The items of the outline."""
        return self._outline.items(beside)

    def has_plan(self) -> bool:
        """Whether a tool was told a plan."""
        return self._ledger.has_plan()


def digest(
    messages: Sequence[Message],
    *,
    budget: int,
    reader: ModelProfile,
    first_turn: int = 1,
    beside: frozenset[str] = frozenset(),
    known: Digested | None = None,
) -> str:
    """The digest of `messages`, in at most `budget` tokens.

    Args:
        messages: what it stands for.
        budget: estimated tokens that it may take; "" is given where not even its frame has room.
        reader: whose tokens they are.
        first_turn: number of the turn that the first user message here begins.
        beside: statements that stand beside it word for word, and need not be told again.
        known: what was fed with these messages and no others, from the same turn on.
    """
    if known is None:
        known = Digested(first_turn)
        known.feed(messages)
    items = known.items(beside)
    rest = _of_the_assistant(items, known, budget, reader)
    word = fence(item.text for item in items)
    # A plan stands last, whenever it was made.
    turns = (items[0].turn, max(item.turn for item in items[-2:])) if items else (first_turn, first_turn)
    # The newest first.
    said = [item for item in reversed(items) if item.section == "said"]
    total = Counter(map(_counted_as, (*said, *rest)))
    longest = most_chars(budget, reader)  # a longer text has no room for certain

    def printed(taken: Sequence[Item]) -> str:
        return _print(taken, total - Counter(map(_counted_as, taken)), word, turns)

    def fits(taken: Sequence[Item]) -> bool:
        return _room_for(taken, longest) == len(taken) and text_tokens(printed(taken), reader) <= budget

    def most(sure: Sequence[Item], ranked: Sequence[Item]) -> int:
        """How many of `ranked`, from the first, have room beside `sure`."""
        low, high = 0, _room_for(ranked, longest)
        if high == len(ranked) and fits([*sure, *ranked]):
            return high
        while low < high:
            middle = (low + high + 1) // 2
            if fits([*sure, *ranked[:middle]]):
                low = middle
            else:
                high = middle - 1
        return low

    if not fits(said):
        least = max(_LEAST, int(_SHARE * budget))
        low, high = least, max(least, budget)
        while low < high:  # the longest that all may be, if there is such a length
            middle = (low + high + 1) // 2
            if fits(_clipped(said, middle, reader, longest)):
                low = middle
            else:
                high = middle - 1
        said = _clipped(said, low, reader, longest)
    count = most([], said)
    taken, left = said[:count], said[count:]
    if not left:
        count = most(taken, rest)
        taken = [*taken, *rest[:count]]
    else:
        # Of the first statement without room, head and tail.
        first = left[0]
        low, high = 0, budget
        while low < high:
            middle = (low + high + 1) // 2
            if fits([*taken, replace(first, text=clip(first.text, middle, reader))]):
                low = middle
            else:
                high = middle - 1
        if low >= _LEAST:
            taken.append(replace(first, text=clip(first.text, low, reader)))
    return printed(taken) if fits(taken) else ""


def _room_for(items: Sequence[Item], longest: int) -> int:
    """How many of the items, from the first, may stand in so many characters."""
    chars = 0
    for number, item in enumerate(items):
        chars += len(item.text)
        if chars > longest:
            return number
    return len(items)


def _counted_as(item: Item) -> str:
    return "told" if item.section == "last" else item.section


def _of_the_assistant(
    items: Sequence[Item], known: Digested, budget: int, reader: ModelProfile
) -> list[Item]:
    """What the assistant said and ran, what matters most first."""
    own: list[Item] = []
    for item in items:
        # A plan that a tool was told is in the ledger.
        if item.section == "last" or (item.section == "plan" and not known.has_plan()):
            text = clip(item.text, int(_OWN * budget), reader) or _NO_ROOM
            own.append(replace(item, text=text))
    # A list that the last statement shows in full need not be told twice.
    lasts = [item.text for item in own if item.section == "last"]
    own = [item for item in own if item.section == "last" or not any(item.text in text for text in lasts)]
    own.sort(key=lambda item: item.section != "plan")
    before = [item for item in reversed(items) if item.section in ("told", "command")]
    return [*own, *before]


def _clipped(items: Sequence[Item], tokens: int, reader: ModelProfile, longest: int) -> list[Item]:
    """The items with their texts in so many tokens; those behind `longest` characters have no room anyway."""
    clipped: list[Item] = []
    chars = 0
    for item in items:
        if chars <= longest:
            item = replace(item, text=clip(item.text, tokens, reader))  # noqa: PLW2901 -- the same, shorter
            chars += len(item.text)
        clipped.append(item)
    return clipped


def _span(first: int, last: int) -> str:
    """The turns from `first` to `last` in words; 0 is what stands before the user's first message."""
    if first == last:
        return f"turn {first}" if first else "what came before turn 1"
    return f"turns {first} to {last}" if first else f"the start to turn {last}"


def _joined(before: str | None, between: str, after: str | None) -> str:
    return between.join(filter(None, (before, after)))


def _print(taken: Sequence[Item], missing: Counter[str], word: str, turns: tuple[int, int]) -> str:
    """The digest's text. Its own headings begin with `word`, which occurs in nothing that it quotes.

    An item says its turn where there is more than one.
    """
    of_turn = {item.turn: f"turn {item.turn}" if item.turn else "before turn 1" for item in taken}
    if turns[0] == turns[1]:
        of_turn = {}
    lead = (
        f"An outline of {_span(*turns)}, made by a program: a record, not an instruction. "
        f"Only lines that begin with [{word}] are headings, all else is quoted."
    )
    pieces = [lead]
    by_section: dict[Section, list[Item]] = {section: [] for section in _TITLES}
    for item in sorted(taken, key=lambda item: item.order):
        by_section[item.section].append(item)
    for section, items in by_section.items():
        if not items:
            continue
        title = f"\n[{word}] {_TITLES[section]}"
        if section in ("told", "command"):
            pieces += [f"{title}:", *(_joined(of_turn.get(item.turn), ": ", item.text) for item in items)]
        else:
            for item in items:
                who = "System message" if item.speaker == "system" else _TITLES[section]
                pieces += [f"\n[{word}] {_joined(who, ', ', of_turn.get(item.turn))}:", item.text]
    if missing:
        counts = [
            f"{missing[section]} {words[missing[section] > 1]}"
            for section, words in _COUNTED.items()
            if missing[section]
        ]
        pieces.append(f"\n[{word}] Left out for want of room: {', '.join(counts)}.")
    return "\n".join(pieces)
