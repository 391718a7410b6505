"""What an outline of a conversation consists of: what was said and what was run, as items.

The live state (plan, files, errors, last test runs) is the ledger's, which stands beside every digest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from snapshot.compaction.summary.clip import (
    arguments_of,
    attachment,
    exit_code,
    numbered,
    one_line,
    plain,
    result_text,
    said,
)
from snapshot.messages import File, Image, Message, Text, ToolCall, ToolResult

__all__ = ["Item", "Section", "outline"]

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
    """The items of `messages`, in order.

    The "plan" is the last list in the assistant's words, "last" is its last statement, in full.

    Args:
        messages: what is outlined.
        first_turn: number of the turn that the first user message here begins.
        beside: words of messages that are told elsewhere; of those only attachments are named.
    """
    found: list[Item] = []
    calls: dict[str, _Called] = {}
    plan: Item | None = None
    last = -1
    for order, (turn, message) in enumerate(numbered(messages, first_turn)):
        if message.role in ("user", "system") and (words := _words(message, beside)):
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
                    found.append(Item("told", turn, order, f"refused: {words}", "assistant"))
                    continue
                last = len(found)
                found.append(Item("told", turn, order, words, "assistant"))
                if steps := _last_list(words):
                    plan = Item("plan", turn, order, steps, "assistant")
    items = [
        Item("told", item.turn, item.order, one_line(item.text, _TOLD), item.speaker)
        if item.section == "told" and at != last
        else item
        for at, item in enumerate(found)
    ]
    if last >= 0:
        item = items[last]
        items[last] = Item("last", item.turn, item.order, item.text, item.speaker)
    # A list that the last statement holds is told with it, if there is room for that.
    return (*items, plan) if plan else tuple(items)


def _words(message: Message, beside: frozenset[str]) -> str:
    """What a user or a system message says; without what is told elsewhere."""
    if beside and "\n".join(part.text for part in message.parts if isinstance(part, Text)) in beside:
        return "\n".join(attachment(part) for part in message.parts if isinstance(part, Image | File))
    return said(message)


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
