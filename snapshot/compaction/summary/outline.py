"""What an outline of a conversation consists of: statements, files, commands, errors, plans, as items."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from snapshot.compaction.summary.clip import (
    arguments_of,
    exit_code,
    numbered,
    one_line,
    plain,
    result_text,
    said,
)
from snapshot.messages import Message, Text, ToolCall, ToolResult

__all__ = ["Item", "Section", "outline"]

Section: TypeAlias = Literal["said", "changed", "read", "command", "error", "plan", "last"]

_LINE = 160  # characters of a command or of an error that are told
_PATH = 300
_PATH_KEY = re.compile(
    r"(?i)(?:^|_)(?:file|path|filename|filepath|notebook|directory|dir)s?(?:_path)?$|path$"
)
_CHANGES = re.compile(r"(?i)write|edit|create|patch|replace|insert|delete|remove|move|rename|save|append")
_PATCHED = re.compile(r"(?m)^\*\*\* (?:Update|Add|Delete) File: (.{1,300})$")
_PLAN_TOOL = re.compile(r"(?i)todo|plan|task_?list|checklist")
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)]|\[[ x~-]\])[ \t]+\S")
_STATES = {"completed": "x", "done": "x", "complete": "x", "in_progress": "~", "doing": "~", "active": "~"}
_STEP_KEYS = ("content", "step", "title", "description", "text", "task")
_TAG = re.compile(r"</?[A-Za-z_-]{1,40}>")
_ONLY_EXIT = re.compile(r"(?i)(?:process )?exit(?:ed)?(?: with)?(?: code| status)? ?:? ?-?\d+\.?")


@dataclass(frozen=True, slots=True)
class Item:
    """One thing worth telling.

    Attributes:
        section: what it is.
        turn: number of the turn it is from.
        order: index of the message it is from.
        text: its words; one line, but for statements and plans.
        speaker: whose words they are.
    """

    section: Section
    turn: int
    order: int
    text: str
    speaker: str = ""


def outline(  # noqa: PLR0912 - a branch for each kind of part
    messages: Sequence[Message], first_turn: int = 1
) -> tuple[Item, ...]:
    """The items of `messages` in order; of plans and of the assistant's statements only the last.

    A file is named once, where it was touched last, and as changed if it ever was. A plan is what a call
    of a planning tool says, or without any the last list in the assistant's words.
    """
    found: list[Item] = []
    files: dict[str, Item] = {}
    calls: dict[str, _Called] = {}
    plan: Item | None = None
    listed: Item | None = None
    last: Item | None = None
    for order, (turn, message) in enumerate(numbered(messages, first_turn)):
        if message.role in ("user", "system") and (words := said(message)):
            who = "user" if message.role == "user" else "system"
            found.append(Item("said", turn, order, words, who))
        for part in message.parts:
            if isinstance(part, ToolCall):
                arguments = arguments_of(part)
                for changes, path in _files(part, arguments):
                    before = files.pop(path, None)
                    changed = changes or (before is not None and before.section == "changed")
                    files[path] = Item("changed" if changed else "read", turn, order, path)
                calls[part.id] = called = _Called(part.name, _command(arguments), turn, order)
                if called.command:
                    called.index = len(found)
                    found.append(called.item("no result"))
                if _PLAN_TOOL.search(part.name) and (steps := _steps(arguments)):
                    plan = Item("plan", turn, order, steps, "assistant")
            elif isinstance(part, ToolResult):
                called = calls.get(part.call_id)
                text = result_text(part)
                code = exit_code(text) if called and called.command else None
                failed = part.is_error or bool(code)
                if called and called.command:
                    exits = f", exit code {code}" if code else ""
                    found[called.index] = called.item(f"{'error' if failed else 'ok'}{exits}")
                if failed:
                    name = one_line(called.name, 60) if called else "a tool"
                    found.append(Item("error", turn, order, f"{name}: {_first_line(text)}"))
            elif isinstance(part, Text) and message.role == "assistant" and part.text.strip():
                words = plain(part.text).strip()
                if part.refusal:
                    refused = f"the assistant refused: {one_line(words, _LINE)}"
                    found.append(Item("error", turn, order, refused))
                    continue
                last = Item("last", turn, order, words, "assistant")
                if steps := _last_list(words):
                    listed = Item("plan", turn, order, steps, "assistant")
    plan = plan or listed
    ends = [item for item in (plan, last) if item is not None]
    return tuple(sorted([*found, *files.values(), *ends], key=lambda item: item.order))


@dataclass(slots=True)
class _Called:
    """A call that may still get its result; `index` is where its command stands among the items."""

    name: str
    command: str
    turn: int
    order: int
    index: int = -1

    def item(self, state: str) -> Item:
        return Item("command", self.turn, self.order, f"{state}: {self.command}")


def _command(arguments: dict[str, Any]) -> str:
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


def _files(call: ToolCall, arguments: dict[str, Any]) -> Iterator[tuple[bool, str]]:
    """Whether it is changed, and the path of each file that a call names."""
    verb = arguments.get("command")
    changes = bool(_CHANGES.search(verb if isinstance(verb, str) and "path" in arguments else call.name))
    for name, value in arguments.items():
        if _PATH_KEY.search(name):
            for path in value if isinstance(value, list) else [value]:
                if isinstance(path, str) and path.strip():
                    yield changes, one_line(plain(path), _PATH)
        elif isinstance(value, str) and "*** " in value:
            yield from ((True, one_line(path, _PATH)) for path in _PATCHED.findall(value))


def _steps(arguments: dict[str, Any]) -> str:
    """The steps of a plan that is given as a list of objects or texts."""
    for value in arguments.values():
        if isinstance(value, list) and value:
            lines = []
            for step in value:
                if isinstance(step, str):
                    lines.append(f"- {one_line(plain(step), _LINE)}")
                elif isinstance(step, dict):
                    words = next(
                        (text for text in step.values() if isinstance(text, str) and " " in text), ""
                    )
                    words = next((step[key] for key in _STEP_KEYS if isinstance(step.get(key), str)), words)
                    state = _STATES.get(str(step.get("status", "")).lower(), " ")
                    lines.append(f"[{state}] {one_line(plain(words), _LINE)}")
            return "\n".join(lines)
    return ""


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


def _first_line(text: str) -> str:
    """The first line of an error that says something; of a Python traceback the last one, which does."""
    lines = [line for line in (_TAG.sub("", line).strip() for line in text.split("\n")) if line]
    telling = [line for line in lines if not _ONLY_EXIT.fullmatch(line)] or lines
    if not telling:
        return "no output"
    return one_line(telling[-1 if telling[0].startswith("Traceback (most recent") else 0], _LINE)
