"""Calls and what they do: their arguments, the operations in them, and which of them a result belongs to."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from snapshot.ledger.commands import Line
from snapshot.ledger.plans import PlanAct
from snapshot.ledger.tools import Tool

__all__ = ["Act", "Call", "Waiting", "arguments_of", "operations"]


@dataclass(slots=True)
class Act:
    """One thing that a call does: its meaning, and the arguments that say so."""

    means: str
    arguments: Mapping[str, Any]
    line: Line | None = None
    plan: PlanAct | None = None


@dataclass(slots=True)
class Call:
    """A call that waits for its result."""

    name: str
    raw: str
    tool: Tool
    number: int
    acts: list[Act] = field(default_factory=list[Act])


class Waiting:
    """The calls that wait for their results."""

    def __init__(self) -> None:
        self._by_id: dict[str, deque[Call]] = {}

    def add(self, call_id: str, call: Call) -> None:
        """A call was made."""
        self._by_id.setdefault(call_id, deque()).append(call)

    def take(self, call_id: str) -> Call | None:
        """The call that a result belongs to: of equal ids the first in the newest message that has one."""
        waiting = self._by_id.get(call_id)
        if not waiting:
            return None
        newest = waiting[-1].number
        while waiting[0].number != newest:
            waiting.popleft()
        call = waiting.popleft()
        if not waiting:
            del self._by_id[call_id]
        return call

    def holds(self, call: Call) -> bool:
        """Whether this very call still waits."""
        return any(call is other for calls in self._by_id.values() for other in calls)


def arguments_of(text: str) -> dict[str, Any]:
    """The arguments of a call; none where they are no JSON object."""
    if not text.lstrip().startswith("{"):
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def operations(tool: Tool, arguments: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """What a call does: one thing, or by its own words one of several, or a list of them."""
    if not tool.operation:
        return [(tool.means, arguments)]
    inner = arguments.get(tool.each) if tool.each else None
    rows: list[Any] = cast("list[Any]", inner) if isinstance(inner, list) else [arguments]
    found: list[tuple[str, Mapping[str, Any]]] = []
    for row in rows:
        if isinstance(row, dict):
            table = cast("dict[str, Any]", row)
            word = table.get(tool.operation)
            found.append(
                (tool.operations.get(word, tool.means) if isinstance(word, str) else tool.means, table)
            )
    return found
