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


def take_summary(job: Context, goal: int) -> Summarized | None:
    """Summarize the middle; None if there is none.

    A summary of an earlier compaction is folded in, with what is new since then.
    """
    cut = job.cuts(job.capacity.tail)
    if cut <= job.head:
        cut = job.cuts(0)
    if cut <= job.head:
        return None
    former = job.former
    middle = job.archived[job.head : cut]
    budget = max(256, int(_SHARE * max(goal, job.capacity.goal)))
    previous = former.summary if former is not None else ""
    turn = 1 + sum(message.role == "user" for message in job.messages[: job.head])
    if job.options.summarize is not None:
        known = len(former.messages) if former is not None and previous else 0
        new = middle[known:]
        made = summarize(
            new,
            job.options.summarize,
            previous=previous,
            focus=job.options.focus,
            keep_fields=job.options.keep_fields,
            window=job.capacity.window,
            output_tokens=budget,
            reader=job.reader,
            first_turn=turn + sum(message.role == "user" for message in middle[:known]),
        )
        text, note = made.text, f"a summary, made in {made.requests} requests"
    else:
        text = digest(middle, budget=budget, reader=job.reader, first_turn=turn)
        note = "an offline digest"
    archive = Archive(job.head, middle, job.format, summary=text)
    pins = frozenset(pin - job.head for pin in job.options.pins)
    said = [
        item
        for item in statements_of(middle, archive.source.spans, first_turn=turn, pins=pins)
        if len(item.text) <= SHORT or "pinned" in item.label
    ]
    message = summary_message(text, said if job.options.summarize is not None else [])
    messages = (*job.messages[: job.head], message, *job.messages[cut:])
    messages = elide_rung.drop_excess(messages, job.head, images_over(job, messages)).messages
    return Summarized(messages, archive, job.cost(messages), note)
