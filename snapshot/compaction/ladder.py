"""The ladder: rung after rung until the request is within the goal, or at least safe.

A rung is a file with one class; `rungs_of` lists them, with the options that each takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

from snapshot.compaction.candidate import Candidate, Rung
from snapshot.compaction.context import Context
from snapshot.compaction.elide_rung import ElideRung
from snapshot.compaction.image_rung import ImageRung, without_images
from snapshot.compaction.options import Options
from snapshot.compaction.page_rung import PageRung
from snapshot.compaction.report import RungReport
from snapshot.compaction.summary_rung import SummaryRung
from snapshot.errors import CannotFit, SummarizerRequired

__all__ = ["climb", "rungs_of"]

# Where lighter rungs alone reach the goal they have to leave room for this share of the window, or else the
# next few messages would end the prompt cache again.
_NEWS = 10


def rungs_of(options: Options) -> tuple[Rung, ...]:
    """The rungs that a compaction may use, cheapest first."""
    rungs: tuple[Rung, ...] = (
        ElideRung(options.protect),
        ImageRung(),
        PageRung(options.layout, options.reasoning),
        SummaryRung(options.summarize),
    )
    return tuple(rung for rung in rungs if rung.name in options.rungs)


def climb(context: Context, goal: int) -> tuple[Candidate, tuple[RungReport, ...]]:
    """The best candidate that the allowed rungs make of a conversation, and what each did.

    Raises:
        CannotFit: not even the smallest request there is would be safe.
        SummarizerRequired: only a summary would do, and there is no way to make one.
    """
    candidate = Candidate(context, context.messages, context.cut())
    if context.reader.blind:
        candidate = without_images(candidate)
    reports: list[RungReport] = []
    best = candidate
    budget = context.budget
    roomy = min(goal, budget.threshold - budget.window // _NEWS)
    for rung in rungs_of(context.options):
        if best.fits(goal if best.replaced else roomy) or (
            isinstance(rung, SummaryRung) and not _may_summarize(best, rung, reports)
        ):
            continue
        # Pages and summaries begin with what stands word for word: the lighter rungs' work on head and tail.
        step = rung.apply(best, goal)
        better = step.candidate
        freed = best.tokens - better.tokens if better is not None else 0
        reports.append(RungReport(rung.name, max(freed, 0), step.note))
        if better is not None and _is_better(better, best):
            best = better
    if not best.sendable:
        _cannot_fit(best, reports)
    return best, tuple(reports)


def _is_better(candidate: Candidate, best: Candidate) -> bool:
    if candidate.sendable != best.sendable:
        return candidate.sendable
    if bool(candidate.over_limits) != bool(best.over_limits):
        return not candidate.over_limits
    return candidate.tokens < best.tokens


def _may_summarize(best: Candidate, rung: SummaryRung, reports: list[RungReport]) -> bool:
    """Whether the last rung is taken: where only it makes the request safe, or where pages are no way at
    all."""
    context = best.context
    options = context.options
    needed = not best.sendable
    alone = "snapshot" not in options.rungs
    if not needed and context.reader.vision and not alone:
        return False
    if rung.call is not None or options.digest:
        return True
    if needed and options.digest is None and context.last_resort:
        return True
    if needed:
        raise SummarizerRequired(
            f"{best.tokens:,} tokens where {context.budget.safe:,} are safe, or a body beyond the limits; "
            "no rung before the last frees more: "
            "pass `summarize=`, or accept the offline digest (`digest=True`)"
        )
    reports.append(RungReport(rung.name, 0, "no summarizer was given, and no digest asked for"))
    return False


def _cannot_fit(best: Candidate, reports: Sequence[RungReport]) -> NoReturn:
    context = best.context
    safe = context.budget.safe
    head = context.cost(best.head)
    last = context.after[context.last_cut] if context.groups else 0
    notes = "; ".join(report.note for report in reports if report.name != "elide")
    why = "; ".join(excess.sentence for excess in best.over_limits)
    raise CannotFit(
        f"the smallest request there is takes {best.tokens:,} tokens, {safe:,} are safe of a window of "
        f"{context.budget.window:,}; head {head:,}, last messages {last:,}{f'; {why}' if why else ''}"
        + (f" ({notes})" if notes else ""),
        smallest=best.tokens,
        limit=safe,
    )


def without_pages(context: Context, boundary: int) -> tuple[Candidate, tuple[RungReport, ...]]:
    """What stands for the messages up to `boundary` where a model refuses pages or cannot read them."""
    blind = replace(context, reader=replace(context.reader, vision=False), former=None)
    candidate = without_images(Candidate(blind, blind.messages, boundary))
    step = SummaryRung(context.options.summarize).apply(candidate, context.budget.goal)
    best = step.candidate or candidate
    if not best.sendable:
        _cannot_fit(best, ())
    return best, (RungReport(SummaryRung.name, max(0, candidate.tokens - best.tokens), step.note),)
