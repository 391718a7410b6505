"""Conversations for tests of the ledger, written as calls with their results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from snapshot.ledger import Ledger, ledger_of, ledger_text
from snapshot.messages import Message, Opaque, Text, ToolCall, ToolResult

STEPS = [
    "Map the old models", "Port the query layer", "Write the data migration", "Backfill the audit table",
    "Delete the compatibility shim", "Update the runbook",
]  # fmt: skip


def todos(*states: str, key: str = "content") -> list[dict[str, str]]:
    """The first steps of a plan, each with its state, as tools for plans take them."""
    return [{key: text, "status": state} for text, state in zip(STEPS, states, strict=False)]


def words(text: str) -> int:
    """A count of tokens that is easy to follow: four characters each."""
    return (len(text) + 3) // 4


class Talk:
    """A conversation that grows: each call takes two messages, its own and that of its result."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self._calls = 0

    def user(self, text: str) -> Talk:
        self.messages.append(Message("user", (Text(text),)))
        return self

    def says(self, text: str) -> Talk:
        self.messages.append(Message("assistant", (Text(text),)))
        return self

    def call(
        self,
        name: str,
        arguments: Any,
        result: str | Sequence[Text | Opaque] | None = "",
        *,
        error: bool = False,
    ) -> Talk:
        self._calls += 1
        call_id = f"call_{self._calls}"
        raw = arguments if isinstance(arguments, str) else json.dumps(arguments)
        self.messages.append(Message("assistant", (ToolCall(call_id, name, raw),)))
        if result is not None:
            content = (Text(result),) if isinstance(result, str) else tuple(result)
            self.messages.append(Message("tool", (ToolResult(call_id, content, error),)))
        return self

    def ledger(self, harness: str = "") -> Ledger:
        return ledger_of(self.messages, harness=harness)

    def lines(self, harness: str = "") -> list[str]:
        """The lines of the whole ledger without its first, which is always the same."""
        return ledger_text(self.ledger(harness), 1_000_000, words).split("\n")[1:]
