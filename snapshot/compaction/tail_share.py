"""How much stands word for word at the end where pages do not come near the goal.

The tail is a share of the goal. Prose on pages for a reader whose images are dear saves a third, so that more
than the goal is sent, and of that a share of the goal is little. Then the tail is a share of what is sent.
It is reckoned from the conversation alone, before anything is set, so that the same one has the same tail.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace

from snapshot.compaction.beside import FACTS, LEDGER
from snapshot.compaction.context import Context
from snapshot.messages import Message, Text, ToolCall, ToolResult
from snapshot.pages.layout import layout_for

__all__ = ["with_fair_tail"]

# The least share of what is sent, a fifth and a little for errors of this estimate; as much less for a caller
# who wants less of the goal than the default.
_LEAST, _OF_SHARE = 0.21, 0.7
# Cells that a character takes: line ends and marks have more than one.
_CELLS = 1.05


class _Characters:
    """Characters that would stand on pages, summed up to each message."""

    def __init__(self) -> None:
        self.sums = array("q", [0])

    def feed(self, messages: Sequence[Message]) -> None:
        """Take in the messages that follow those taken in before."""
        for message in messages:
            self.sums.append(self.sums[-1] + sum(map(_characters, message.parts)))


def _characters(part: object) -> int:
    if isinstance(part, Text):
        return len(part.text)
    if isinstance(part, ToolCall):
        return len(part.arguments)
    return sum(map(_characters, part.content)) if isinstance(part, ToolResult) else 0


def with_fair_tail(context: Context) -> Context:
    """The context whose tail is a fifth of what would be sent with all before it on pages.

    Of T tokens whose pages would take p, beside f that are sent in any case, a tail of t leaves
    f + t + p (1 - t / T) to be sent. So t is the share s of it where t = s (f + p) / (1 - s (1 - p / T)).
    """
    options, budget = context.options, context.budget
    if "snapshot" not in options.rungs or not (context.reader.vision or options.layout):
        return context
    layout = layout_for(context.model, name=options.layout, like=options.like or None)
    sums = context.history.built("characters", _Characters, context.messages).sums
    tokens = context.after[context.head]
    pages = (sums[-1] - sums[context.head]) * _CELLS * layout.tokens / layout.capacity
    pages = min(pages, tokens)
    beside = (FACTS + LEDGER) * min(budget.goal, tokens)
    fixed = context.estimator.overhead + sum(context.costs[: context.head]) + beside
    share = min(_LEAST, _OF_SHARE * options.tail)
    tail = share * (fixed + pages) / (1 - share * (1 - pages / max(1, tokens)))
    return replace(
        context, budget=replace(budget, tail=max(budget.tail, int(min(tail, share * budget.safe))))
    )
