"""The ladder, climbed until the request fits: the one way in to compaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from snapshot.compaction import boundaries, elide_rung
from snapshot.compaction.archive import Archive
from snapshot.compaction.context import Context
from snapshot.compaction.estimate import ContextUsage, Estimator, context_usage
from snapshot.compaction.options import Budget, Options, Trigger
from snapshot.compaction.page_rung import (
    Snapshot,
    image_parts,
    images_over,
    over_limits,
    project,
    take_snapshot,
)
from snapshot.compaction.report import Report, Rung
from snapshot.compaction.summary_rung import Summarized, take_summary
from snapshot.errors import CannotFit, SnapshotError, SummarizerRequired
from snapshot.messages import Message, Transcript
from snapshot.models.ids import profile_for
from snapshot.models.profile import ModelProfile
from snapshot.redaction import Redactor

__all__ = ["Compaction", "compact", "transcript_of"]


@dataclass(frozen=True, slots=True)
class Compaction:
    """What a compaction gives.

    Attributes:
        transcript: the conversation to send: itself where nothing was done.
        archive: what was replaced, to be kept beside the conversation; None where nothing was.
        report: what was done.
    """

    transcript: Transcript
    archive: Archive | None
    report: Report

    def request(self, api: str) -> dict[str, Any]:
        """The body of a request for `api` ("anthropic", "openai", "openai-responses", "gemini")."""
        from snapshot.requests import request

        return request(self.transcript, api)


def compact(
    conversation: Transcript | Sequence[Any] | dict[str, Any],
    *,
    model: str,
    archive: Archive | None = None,
    trigger: Trigger = "target",
    draft: Sequence[Message] = (),
    options: Options | None = None,
    **changes: Any,
) -> Compaction:
    """Make a conversation fit its model's window, with nothing lost that the report does not name.

    Args:
        conversation: the whole conversation, or one that was compacted before and went on; a transcript,
            or an API's own list of messages (or the body that holds it).
        model: id of the model that will read it.
        archive: what an earlier compaction of this conversation gave: it is continued, its boundary never
            moves back, and full pages stay as they are.
        trigger: "target": come down to the target if it is exceeded. "manual": compact whatever the
            size. "after-turn": only where the conversation is stable and the boundary moves. "preflight":
            as "target", with the draft counted in.
        draft: messages about to be sent; they stay word for word.
        options: settings; `changes` are settings by name, and win.

    Raises:
        CannotFit: not even the smallest request there is would be safe.
        SummarizerRequired: only a summary would do, and there is no way to make one.
        LayoutError: nothing is known of the model.
        ArchiveError: the archive is of another conversation.
    """
    settings = replace(options or Options(), **changes)
    transcript = transcript_of(conversation)
    reader = profile_for(model)
    full = archive.restore(transcript) if archive is not None else transcript
    messages, repairs = boundaries.repair((*full.messages, *draft))
    filled = context_usage(messages, reader, overhead=settings.overhead)
    estimator = replace(filled.estimator, scale=filled.estimator.scale * settings.scale)
    context = _job(
        model=model,
        reader=reader,
        options=settings,
        estimator=estimator,
        messages=messages,
        archive=archive,
        format_name=full.format,
    )
    # What would be sent as it stands: of a conversation that was compacted before, its pages or summary and
    # not what they replaced, whether it comes in that form or as the full history.
    stands = boundaries.repair((*transcript.messages, *draft))[0] if full is not transcript else messages
    projection = project(context) if full is transcript else None
    before = projection.after if projection is not None else context.cost(stands)
    compacted = full is not transcript or projection is not None
    if compacted:
        filled = replace(filled, tokens=before)
    report = replace(
        _blank(context, filled),
        before=before,
        after=before,
        orphans=len(repairs.orphans),
        unanswered=repairs.unanswered,
        empty=repairs.empty,
    )
    stayed = Compaction(replace(transcript, messages=stands), archive, report)
    if reason := _reason_to_wait(context, trigger, before, filled, compacted=compacted):
        return _no_op(context, stayed, report, reason, projection)
    return _climb(context, stayed, report, projection, 0 if trigger == "manual" else context.capacity.goal)


def transcript_of(conversation: Transcript | Sequence[Any] | dict[str, Any]) -> Transcript:
    """The conversation itself, or what an API's own list of messages says."""
    if isinstance(conversation, Transcript):
        return conversation
    from snapshot.transcripts import from_messages

    return from_messages(conversation)


def _job(
    *,
    model: str,
    reader: ModelProfile,
    options: Options,
    estimator: Estimator,
    messages: tuple[Message, ...],
    archive: Archive | None,
    format_name: str,
) -> Context:
    window = options.window or reader.window
    if window <= 0:
        raise SnapshotError(f"the window of {model} is not known: say how many tokens it has")
    capacity = Budget.of(options, window, options.max_output or reader.max_output)
    found = boundaries.groups(messages)
    if archive is not None:
        head = archive.head
        if archive.boundary > len(messages):
            raise SnapshotError("the archive is of another conversation, or the conversation is not complete")
    else:
        head = _head(found, messages, estimator, capacity)
    archived, redactions = messages, {}
    if options.redact:
        # The whole conversation in one go: a secret's mark is the same wherever it stands.
        redactor = options.redact if isinstance(options.redact, Redactor) else Redactor()
        archived = redactor.transcript(Transcript(messages, format_name)).messages
        redactions = dict(redactor.counts)
    return Context(
        model=model,
        reader=reader,
        options=options,
        capacity=capacity,
        estimator=estimator,
        messages=messages,
        archived=archived,
        groups=found,
        head=head,
        former=archive,
        format=format_name,
        redactions=redactions,
    )


def _head(
    found: Sequence[boundaries.Group], messages: Sequence[Message], estimator: Estimator, capacity: Budget
) -> int:
    """How many messages lead: system messages, and the first request unless it is bulk itself."""
    head = 0
    while head < len(messages) and messages[head].role == "system":
        head += 1
    first = next((group for group in found if group.start >= head), None)
    if (
        first is not None
        and first.turn
        and sum(map(estimator.message, messages[head : first.stop])) <= capacity.goal // 4
    ):
        return first.stop
    return head


def _reason_to_wait(
    context: Context, trigger: Trigger, before: int, filled: ContextUsage, *, compacted: bool
) -> str:
    """Why nothing should be done, or ""."""
    if context.groups and context.groups[-1].open:
        return "a call is open: nothing is compacted until its result is there"
    if context.options.pending:
        return "an approval is pending: nothing is compacted until it is given"
    if trigger == "manual":
        turns = sum(group.turn for group in context.groups)
        if turns < 2:
            return "there is only one turn"
        stuck = context.former is not None and context.cuts(0) <= context.former.boundary
        return "nothing is new since the last compaction" if stuck else ""
    if max(before, filled.tokens) <= context.capacity.goal and not over_limits(context, context.messages):
        return (
            f"the request takes {max(before, filled.tokens):,} tokens, the goal is {context.capacity.goal:,}"
        )
    if (
        compacted
        and context.former
        and context.cuts(0) <= context.former.boundary
        and before <= context.capacity.safe
    ):
        return "nothing is new since the last compaction"
    if trigger == "after-turn":
        if context.messages[-1].role != "assistant":
            return "the turn is not over"
        if context.former and context.cuts(context.capacity.tail) <= context.former.boundary:
            return "the boundary would not move"
    return ""


def _blank(context: Context, filled: ContextUsage) -> Report:
    capacity = context.capacity
    before = context.cost(context.messages)
    return Report(
        images=len(image_parts(context.messages)),
        before=before,
        after=before,
        occupancy=filled.tokens,
        basis=filled.basis,
        window=capacity.window,
        safe=capacity.safe,
        goal=capacity.goal,
        head=context.head,
        tail=len(context.messages) - context.head,
    )


def _no_op(
    context: Context, stayed: Compaction, report: Report, reason: str, projection: Snapshot | None
) -> Compaction:
    """The conversation as it stands, and why."""
    if projection is not None:
        stayed = _with_snapshot(context, stayed, report, projection, list(report.rungs))
        report = stayed.report
    return replace(stayed, report=replace(report, no_op=reason))


def _climb(
    context: Context, stayed: Compaction, report: Report, projection: Snapshot | None, goal: int
) -> Compaction:
    """Try rung after rung until the request is within the goal, or at least safe."""
    rungs: list[Rung] = []
    tail = context.cuts(context.capacity.tail)
    messages = _lighten(context, goal, tail, rungs)
    done = context.cost(messages)
    light = replace(
        _lightened(context, stayed, messages, tail),
        report=replace(
            report,
            rungs=tuple(rungs),
            after=done,
            images=len(image_parts(messages)),
            middle=tail - context.head,
            tail=len(messages) - tail,
        ),
    )
    if _enough(context, messages, goal):
        return light

    snapshot = _snapshot(context, goal, rungs)
    if snapshot is not None and snapshot.after <= min(done, context.capacity.safe):
        if _pointless(context, report, snapshot, projection, goal):
            return _no_op(context, stayed, report, "compacting again would only leave more out", projection)
        return _with_snapshot(context, stayed, report, snapshot, rungs)
    unsendable = done > context.capacity.safe or over_limits(context, messages)
    summary = _summary(context, goal, rungs, needed=unsendable, light=done)
    if summary is not None:
        return _with_summary(context, stayed, report, summary, rungs)
    if unsendable:
        smallest = min(done, snapshot.after) if snapshot is not None else done
        _cannot_fit(context, smallest, "; ".join(rung.note for rung in rungs if rung.name != "elide"))
    if messages == context.messages:
        reasons = "; ".join(f"{rung.name}: {rung.note}" for rung in rungs)
        report = replace(report, rungs=tuple(rungs))
        return _no_op(context, stayed, report, reasons or "no rung was allowed", projection)
    return replace(light, report=replace(light.report, rungs=tuple(rungs)))


def _enough(context: Context, messages: Sequence[Message], goal: int) -> bool:
    return context.cost(messages) <= goal and not over_limits(context, messages)


def _pointless(
    context: Context, report: Report, snapshot: Snapshot, projection: Snapshot | None, goal: int
) -> bool:
    """Whether a conversation that has pages already would only lose some of them."""
    if projection is not None and snapshot.pagination.left_out < projection.pagination.left_out:
        return False
    former = context.former.pages[0][0] if context.former and context.former.pages else 0
    sendable = report.before <= context.capacity.safe and goal > 0
    return snapshot.after >= report.before or (sendable and snapshot.pagination.left_out > former > 0)


def _lighten(context: Context, goal: int, tail: int, rungs: list[Rung]) -> tuple[Message, ...]:
    """The messages after the free rungs, each tried only if it is needed."""
    messages = context.messages
    if context.former is not None and context.former.pages:
        return messages  # what the rungs could lighten is on pages already
    for name in ("elide", "images"):
        if name not in context.options.rungs or _enough(context, messages, goal):
            continue
        if name == "elide":
            lighter = elide_rung.elide(messages, context.head, tail, protect=context.options.protect)
            note = f"{lighter.count} superseded results"
        else:
            lighter = elide_rung.drop_images(messages, context.head, tail)
            note = f"{lighter.count} old images"
            excess = images_over(context, lighter.messages)
            if excess > 0:
                # Beyond the provider's limit not even tail and head keep them.
                more = elide_rung.drop_excess(lighter.messages, context.head, excess)
                lighter = replace(more, count=lighter.count + more.count)
                note = f"{lighter.count} images, {more.count} of them not old"
        freed = context.cost(messages) - context.cost(lighter.messages)
        if freed > 0 or images_over(context, messages) > 0:
            messages = lighter.messages
        rungs.append(Rung(name, max(freed, 0), note))
    return messages


def _lightened(context: Context, stayed: Compaction, messages: tuple[Message, ...], tail: int) -> Compaction:
    """The conversation after the free rungs; what they replaced is in an archive of its own."""
    archive = stayed.archive
    if messages != context.messages and archive is None:
        archive = Archive(context.head, context.archived[context.head : tail], context.format)
    return Compaction(replace(stayed.transcript, messages=messages), archive, stayed.report)


def _snapshot(context: Context, goal: int, rungs: list[Rung]) -> Snapshot | None:
    if "snapshot" not in context.options.rungs:
        return None
    if not context.reader.vision and context.options.layout is None:
        rungs.append(Rung("snapshot", 0, f"{context.model} cannot see images"))
        return None
    snapshot, why = take_snapshot(context, goal)
    if snapshot is None:
        rungs.append(Rung("snapshot", 0, why))
        return None
    rungs.append(Rung("snapshot", context.cost(context.messages) - snapshot.after, why))
    return snapshot


def _summary(
    context: Context, goal: int, rungs: list[Rung], *, needed: bool, light: int
) -> Summarized | None:
    """The last rung: taken where only it makes the request safe, or where pages are no way at all."""
    if "summarize" not in context.options.rungs or not (needed or not context.reader.vision):
        return None
    if context.options.summarize is None and not context.options.digest:
        if needed:
            raise SummarizerRequired(
                f"{light:,} tokens where {context.capacity.safe:,} are safe, or a body beyond the limits: "
                "only a summary would free more: pass `summarize`, or accept the offline digest with `digest`"
            )
        rungs.append(Rung("summarize", 0, "no summarizer was given, and no digest asked for"))
        return None
    summary = take_summary(context, goal)
    if summary is None:
        rungs.append(Rung("summarize", 0, "there is nothing between head and tail"))
        return None
    rungs.append(Rung("summarize", context.cost(context.messages) - summary.after, summary.note))
    return summary if summary.after < context.cost(context.messages) else None


def _with_snapshot(
    context: Context, stayed: Compaction, report: Report, snapshot: Snapshot, rungs: list[Rung]
) -> Compaction:
    messages = snapshot.messages(context)
    archive = snapshot.archive
    from snapshot.pages.render import Typesetter

    setter = Typesetter(snapshot.pagination.stretches[-1].layout)
    report = replace(
        report,
        rungs=tuple(rungs),
        after=context.cost(messages),
        head=archive.head,
        middle=len(archive.messages),
        tail=len(context.messages) - archive.boundary,
        pages=len(archive.pages),
        page_tokens=snapshot.pagination.tokens,
        images=len(image_parts(messages)),
        dense_pages=snapshot.pagination.dense,
        left_out=snapshot.pagination.left_out,
        facts=len(snapshot.facts.facts),
        facts_left_out=snapshot.facts.left_out,
        redactions=context.redactions,
        folded=setter.folds(archive.source),
        code_points=setter.code_points(archive.source),
        break_even=snapshot.break_even,
    )
    return Compaction(replace(stayed.transcript, messages=messages), archive, report)


def _with_summary(
    context: Context, stayed: Compaction, report: Report, summary: Summarized, rungs: list[Rung]
) -> Compaction:
    if summary.after > context.capacity.safe:
        _cannot_fit(context, summary.after, "even with a summary in place of the middle")
    report = replace(
        report,
        rungs=tuple(rungs),
        after=summary.after,
        head=summary.archive.head,
        middle=len(summary.archive.messages),
        tail=len(context.messages) - summary.archive.boundary,
        images=len(image_parts(summary.messages)),
        redactions=context.redactions,
    )
    return Compaction(replace(stayed.transcript, messages=summary.messages), summary.archive, report)


def _cannot_fit(context: Context, smallest: int, why: str) -> NoReturn:
    head = context.estimator.messages(context.messages[: context.head])
    last = context.estimator.messages(context.messages[context.groups[-1].start :]) if context.groups else 0
    raise CannotFit(
        f"the smallest request there is takes {smallest:,} tokens, {context.capacity.safe:,} are safe of a "
        f"window of {context.capacity.window:,}; head {head:,}, last messages {last:,}"
        + (f" ({why})" if why else ""),
        smallest=smallest,
        limit=context.capacity.safe,
    )
