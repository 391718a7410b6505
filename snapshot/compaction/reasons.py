"""Why nothing is done: before the ladder is climbed, and after it, where what it made is not worth it."""

from __future__ import annotations

from collections.abc import Sequence

from snapshot.compaction.candidate import Candidate
from snapshot.compaction.context import Context
from snapshot.compaction.options import (
    Trigger,
)
from snapshot.compaction.report import RungReport
from snapshot.compaction.usage import ContextUsage
from snapshot.messages import Image

__all__ = ["reason_to_drop", "reason_to_wait"]

# Share of the window that must be new before a conversation with pages is compacted again.
_NEWS = 10


def reason_to_wait(
    context: Context,
    trigger: Trigger,
    before: int,
    usage: ContextUsage,
    projection: Candidate | None,
    *,
    forced: bool,
) -> str:
    """Why nothing should be done, or ""."""
    budget = context.budget
    stands = projection or Candidate(context, context.messages, len(context.messages))
    occupied = max(before, usage.tokens)
    sendable = occupied <= budget.safe and not stands.over_limits and not _shows_images_to_the_blind(stands)
    if forced:
        return ""
    if context.groups and context.groups[-1].open:
        return "a call is open: nothing is compacted until its result is there"
    if trigger == "manual":
        # An archive that cannot stand for this reader is made anew; what does not fit cannot wait.
        anew = context.former is not None and projection is None
        if context.cut() <= context.first_cut and sendable and not anew:
            return "nothing is new since the last compaction" if projection else "there is nothing to compact"
        return ""
    if trigger == "preflight" and sendable:
        return f"the request may go out as it is: {occupied:,} tokens, {budget.safe:,} are safe"
    if sendable and occupied <= budget.threshold:
        named = "goal" if budget.threshold == budget.goal else "threshold"
        return f"the request takes {occupied:,} tokens, the {named} is {budget.threshold:,}"
    if sendable and projection is not None and trigger == "target":
        assert context.former is not None
        news = context.after[min(context.first_cut, len(context.messages))] - context.former.tail
        if news < budget.window // _NEWS:
            return f"only {max(0, news):,} tokens are new since the last compaction"
    if trigger == "after-turn":
        if context.messages[-1].role != "assistant":
            return "the turn is not over"
        if projection is not None and context.cut() <= context.first_cut:
            return "the boundary would not move"
    return ""


def _shows_images_to_the_blind(candidate: Candidate) -> bool:
    """Whether images would go to a reader that cannot see."""
    return candidate.context.reader.blind and any(
        isinstance(item, Image) for item in candidate.context.attachments(candidate.undrawn)
    )


def reason_to_drop(
    context: Context,
    candidate: Candidate,
    before: int,
    projection: Candidate | None,
    *,
    trigger: Trigger,
    rungs: Sequence[RungReport],
) -> str:
    """Why what the ladder made should not be taken, or "": it frees too little, or leaves more out for
    nothing."""
    stands = projection or Candidate(context, context.messages, len(context.messages))
    needed = before > context.budget.safe or stands.over_limits or _shows_images_to_the_blind(stands)
    if needed:
        return ""
    freed = before - candidate.tokens
    if freed <= 0 or candidate.undrawn == context.messages:
        reasons = "; ".join(f"{rung.name}: {rung.note}" for rung in rungs)
        if projection is not None:
            return "compacting again would free nothing"
        return reasons or "no rung was allowed"
    if trigger != "manual" and freed < context.options.least_gain * before:
        return f"it would free {freed:,} of {before:,} tokens only"
    pages, new = projection.pagination if projection is not None else None, candidate.pagination
    more_out = pages is not None and new is not None and new.left_out > pages.left_out
    if more_out and freed < before // _NEWS:
        return "compacting again would only leave more out"
    return ""
