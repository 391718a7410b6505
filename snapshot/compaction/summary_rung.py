"""The summary rung: a summary, or the offline digest, in place of the middle."""

from __future__ import annotations

from dataclasses import dataclass

from snapshot.compaction import elide_rung
from snapshot.compaction.archive import Archive
from snapshot.compaction.assemble import SHORT, statements_of, summary_message
from snapshot.compaction.context import Context
from snapshot.compaction.page_rung import images_over
from snapshot.compaction.summary.offline import digest
from snapshot.compaction.summary.prompted import summarize
from snapshot.messages import Message

__all__ = ["Summarized", "take_summary"]

# Share of the goal that a summary may take.
_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Summarized:
    """A conversation with a summary in place of its middle: the messages, what they replace, the tokens."""

    messages: tuple[Message, ...]
    archive: Archive
    after: int
    note: str


def take_summary(context: Context, goal: int) -> Summarized | None:
    """Summarize the middle; None if there is none.

    A summary of an earlier compaction is folded in, with what is new since then.
    """
    cut = context.cuts(context.capacity.tail)
    if cut <= context.head:
        cut = context.cuts(0)
    if cut <= context.head:
        return None
    former = context.former
    middle = context.archived[context.head : cut]
    budget = max(256, int(_SHARE * max(goal, context.capacity.goal)))
    previous = former.summary if former is not None else ""
    turn = 1 + sum(message.role == "user" for message in context.messages[: context.head])
    if context.options.summarize is not None:
        known = len(former.messages) if former is not None and previous else 0
        new = middle[known:]
        made = summarize(
            new,
            context.options.summarize,
            previous=previous,
            focus=context.options.focus,
            keep_fields=context.options.keep_fields,
            window=context.capacity.window,
            output_tokens=budget,
            reader=context.reader,
            first_turn=turn + sum(message.role == "user" for message in middle[:known]),
        )
        text, note = made.text, f"a summary, made in {made.requests} requests"
    else:
        text = digest(middle, budget=budget, reader=context.reader, first_turn=turn)
        note = "an offline digest"
    archive = Archive(context.head, middle, context.format, summary=text)
    pins = frozenset(pin - context.head for pin in context.options.pins)
    said = [
        item
        for item in statements_of(middle, archive.source.spans, first_turn=turn, pins=pins)
        if len(item.text) <= SHORT or "pinned" in item.label
    ]
    message = summary_message(text, said if context.options.summarize is not None else [])
    messages = (*context.messages[: context.head], message, *context.messages[cut:])
    messages = elide_rung.drop_excess(messages, context.head, images_over(context, messages)).messages
    return Summarized(messages, archive, context.cost(messages), note)
