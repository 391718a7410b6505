"""What an outline of a conversation consists of: what was said and what was run, as items.

The live state (plan, files, errors, last test runs) is the ledger's, which stands beside every digest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from snapshot.compaction.summary.clip import (
    arguments_of,
    attachment,
    exit_code,
    one_line,
    plain,
    result_text,
    said,
)
from snapshot.messages import File, Image, Message, Text, ToolCall, ToolResult

__all__ = ["Item", "Outline", "Section", "outline"]

Section: TypeAlias = Literal["said", "told", "command", "plan", "last"]

_LINE = 160  # characters of a command that are told
_TOLD = 320  # characters of a statement of the assistant's, but for the last one
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)]|\[[ x~-]\])[ \t]+\S")


@dataclass(frozen=True, slots=True)
class Item:
    """One thing worth telling.

    Attributes:
        section: what it is.
        turn: number of the turn it is from.
        order: index of the message it is from.
        text: its words; one line, but for the user's statements, the plan and the last statement.
        speaker: whose words they are.
    """

    section: Section
    turn: int
    order: int
    text: str
    speaker: str = ""


def outline(
    messages: Sequence[Message], first_turn: int = 1, beside: frozenset[str] = frozenset()
) -> tuple[Item, ...]:
    """The items of `messages`, in order, see `Outline`."""
    made = Outline(first_turn)
    made.feed(messages)
    return made.items(beside)


class Outline:
    """The outline of messages that come one after the other.

    Args:
        first_turn: number of the turn that the first user message begins.
    """

    def __init__(self, first_turn: int = 1) -> None:
        self._turn = first_turn - 1
        self._messages = 0
        self._items: list[Item] = []
        self._calls: dict[str, _Called] = {}
        self._plan: Item | None = None
        # Where the assistant's last statement stands, and that in full.
        self._last: tuple[int, Item] | None = None
        # Where statements of users stand, what they are known by, and what is told of them where that stands
        # beside the outline.
        self._said: list[tuple[int, str, str]] = []

    def feed(self, messages: Sequence[Message]) -> None:
        """Take in the messages that follow."""
        for message in messages:
            self._turn += message.starts_turn
            self._take(message, self._turn, self._messages)
            self._messages += 1

    def _take(self, message: Message, turn: int, order: int) -> None:
        found, calls = self._items, self._calls
        if message.role in ("user", "system") and (words := said(message)):
            key = "\n".join(part.text for part in message.parts if isinstance(part, Text))
            shown = (attachment(part) for part in message.parts if isinstance(part, Image | File))
            self._said.append((len(found), key, "\n".join(shown)))
            found.append(Item("said", turn, order, words, message.role))
        for part in message.parts:
            if isinstance(part, ToolCall):
                if command := _command(arguments_of(part)):
                    calls[part.id] = called = _Called(command, turn, order, len(found))
                    found.append(called.item("no result"))
                else:
                    calls.pop(part.id, None)
            elif isinstance(part, ToolResult) and (called := calls.get(part.call_id)):
                code = exit_code(result_text(part))
                failed = part.is_error or bool(code)
                exits = f", exit code {code}" if code else ""
                found[called.index] = called.item(f"{'error' if failed else 'ok'}{exits}")
            elif isinstance(part, Text) and message.role == "assistant" and part.text.strip():
                words = plain(part.text).strip()
                if part.refusal:
                    words = f"refused: {words}"
                else:
                    self._last = len(found), Item("last", turn, order, words, "assistant")
                    if steps := _last_list(words):
                        self._plan = Item("plan", turn, order, steps, "assistant")
                found.append(Item("told", turn, order, one_line(words, _TOLD), "assistant"))

    def items(self, beside: frozenset[str] = frozenset()) -> tuple[Item, ...]:
        """The items, in order.

        The "plan" is the last list in the assistant's words, "last" is its last statement, in full.

        Args:
            beside: words of messages that are told elsewhere; of those only attachments are named.
        """
        items = list(self._items)
        if self._last is not None:
            at, last = self._last
            items[at] = last
        empty = False
        for at, key, shown in self._said if beside else ():
            if key in beside:
                items[at] = replace(items[at], text=shown)
                empty = empty or not shown
        if empty:
            items = [item for item in items if item.section != "said" or item.text]
        # A list that the last statement holds is told with it, if there is room for that.
        return (*items, self._plan) if self._plan else tuple(items)


@dataclass(frozen=True, slots=True)
class _Called:
    """A command that may still get its result; `index` is where it stands among the items."""

    command: str
    turn: int
    order: int
    index: int

    def item(self, state: str) -> Item:
        return Item("command", self.turn, self.order, f"{state}: {self.command}")


def _command(arguments: Mapping[str, Any]) -> str:
    """The first line of a shell command, with the number of lines that follow."""
    value = arguments.get("command", arguments.get("cmd"))
    if isinstance(value, list):
        # ["bash", "-lc", "…"]: what the shell is told.
        words = [word for word in value if isinstance(word, str)]
        value = words[-1] if len(words) > 2 and words[1].startswith("-") else " ".join(words)
    if not isinstance(value, str) or not value.strip() or "path" in arguments:
        return ""  # an editor's command ("view", "create") comes with a path
    first, *more = plain(value).strip().split("\n")
    return one_line(first, _LINE) + (f" (and {len(more)} more lines)" if more else "")


def _last_list(text: str) -> str:
    """The last list of two items or more, with the lines that its items go on in."""
    lines = text.split("\n")
    stop = len(lines)
    while stop > 0:
        while stop > 0 and not _LIST_ITEM.match(lines[stop - 1]):
            stop -= 1
        start = stop
        while start > 0 and (_LIST_ITEM.match(lines[start - 1]) or lines[start - 1][:1] in ("", " ", "\t")):
            start -= 1
        while start < stop and not _LIST_ITEM.match(lines[start]):
            start += 1
        if sum(bool(_LIST_ITEM.match(line)) for line in lines[start:stop]) > 1:
            return "\n".join(lines[start:stop])
        stop = min(start, stop - 1)
    return ""
