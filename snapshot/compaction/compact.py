"""The one way in to compaction: what a conversation takes, whether something is to be done, and what comes of
it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal, Unpack

from snapshot.compaction.alike import differing
from snapshot.compaction.archive import Archive
from snapshot.compaction.boundaries import Group, Repairs
from snapshot.compaction.context import Context
from snapshot.compaction.estimate import Estimator
from snapshot.compaction.history import History, Redacted, histories
from snapshot.compaction.ladder import climb
from snapshot.compaction.options import (
    Budget,
    Options,
    Settings,
    Trigger,
    checked_trigger,
    spell_out_settings,
)
from snapshot.compaction.pagination import set_anew
from snapshot.compaction.projection import projected
from snapshot.compaction.reasons import reason_to_drop, reason_to_wait
from snapshot.compaction.replaced import result_text, with_parts
from snapshot.compaction.restoring import is_frame
from snapshot.compaction.result import Compaction, blank_report, made, stayed, with_projection
from snapshot.compaction.splice import Given, tools_in
from snapshot.compaction.summary.clip import one_line
from snapshot.compaction.tail_share import with_fair_tail
from snapshot.compaction.usage import usage_of
from snapshot.errors import LayoutError, SnapshotError
from snapshot.messages import File, Image, Message, Transcript
from snapshot.models.ids import profile_for, unknown_profile
from snapshot.models.profile import ModelProfile
from snapshot.models.tokens import text_tokens
from snapshot.redaction import Redactor

__all__ = ["Correction", "compact", "compacted", "drafted", "transcript_of", "with_tools"]

# Results without a call that a report names one by one, and characters of their ids.
_MOST_NAMED, _LONGEST_ID = 20, 80


@dataclass(frozen=True, slots=True)
class Correction:
    """What a provider's answer says of an estimate.

    Attributes:
        scale: factor on the tokens of text.
        last_resort: whether the digest may be taken where nothing else makes the request safe.
        forced: whether something must be done although the estimate sees no need, open calls or not.
        refused: which form of the conversation was refused for its tokens: what comes back takes less.
            "whole": all of it as text; "projected": as an earlier compaction has it.
        below: share of what was refused that what comes back takes less than.
    """

    scale: float = 1.0
    last_resort: bool = False
    forced: bool = False
    refused: Literal["", "whole", "projected"] = ""
    below: float = 1.0


@spell_out_settings
def compact(
    conversation: Transcript | Sequence[Any] | Mapping[str, Any],
    *,
    model: str,
    archive: Archive | None = None,
    trigger: Trigger = "target",
    draft: Transcript | Sequence[Any] = (),
    options: Options | None = None,
    **settings: Unpack[Settings],
) -> Compaction:
    """Make a conversation fit its model's window, with nothing lost that the report does not name.

    Args:
        conversation: the whole conversation, or one that was compacted before and went on; a transcript,
            or an API's own list of messages (or the body that holds it).
        model: id of the model that will read it.
        archive: what an earlier compaction of this conversation gave: it is continued, its boundary never
            moves back, and full pages stay as they are.
        trigger: "target": come down to the target if the threshold is exceeded. "manual": compact whatever
            the size. "after-turn": only where the conversation is stable and the boundary moves. "preflight":
            with the draft counted in, and only where the request may not go out as it is.
        draft: messages about to be sent, as messages or as the API's dictionaries; they stay word for word.
        options: settings; those by name win. `help(snapshot.Options)` says what each means.

    Returns:
        The conversation to send, the archive of what was replaced, and a report. Where nothing is to be done,
        the conversation is the caller's own, and `report.no_op` says why.

    Raises:
        CannotFit: not even the smallest request there is would be safe.
        SummarizerRequired: only a summary would do, and there is no way to make one.
        LayoutError: nothing is known of the model.
        ArchiveError: the archive is of another conversation.
        SnapshotError: a setting that cannot be.

    Example:
        >>> messages = [{"role": "user", "content": "Hello"}]
        >>> done = snapshot.compact(messages, model="claude-opus-4-8", window=200_000)
        >>> done.report.no_op
        'the request takes 9 tokens, the goal is 73,000'
    """
    checked_trigger(trigger)
    return compacted(
        conversation,
        model=model,
        archive=archive,
        trigger=trigger,
        draft=draft,
        options=(options or Options()).changed(settings),
        correction=Correction(),
    )


def compacted(
    conversation: Transcript | Sequence[Any] | Mapping[str, Any],
    *,
    model: str,
    archive: Archive | None,
    trigger: Trigger,
    draft: Transcript | Sequence[Any],
    options: Options,
    correction: Correction,
    transcript: Transcript | None = None,
) -> Compaction:
    """What `compact` gives, with a correction of the estimate; `transcript` is what `transcript_of` has just
    given for the conversation, where it was asked."""
    if transcript is None:
        transcript = transcript_of(conversation)
    with histories.of(transcript.messages) as history:
        done = _compacted(
            transcript,
            drafted(draft),
            history=history,
            model=model,
            archive=archive,
            trigger=trigger,
            options=with_tools(conversation, model, options),
            correction=correction,
        )
    return replace(done, _given=Given.of(conversation, transcript)).noted()


def _compacted(
    transcript: Transcript,
    new: tuple[Message, ...],
    *,
    history: History,
    model: str,
    archive: Archive | None,
    trigger: Trigger,
    options: Options,
    correction: Correction,
) -> Compaction:
    reader = profile_of(model, options)
    full = transcript
    if archive is not None and not _has_all(archive, transcript, history, reader):
        full = archive.restore(transcript)
    messages, repairs = history.repaired((*full.messages, *new) if new else full.messages)
    usage = usage_of(history.tally(messages, reader), overhead=options.overhead)
    estimator = replace(usage.estimator, scale=usage.estimator.scale * correction.scale)
    context = _context(
        model=model,
        reader=reader,
        options=options,
        estimator=estimator,
        messages=messages,
        archive=archive,
        format_name=full.format,
        last_resort=correction.last_resort,
        history=history,
    )
    projection = projected(context)
    before = projection.tokens if projection is not None else context.cost(messages)
    if trigger == "manual":
        context = with_fair_tail(_for_its_size(context))
    if correction.refused:
        before = context.cost(messages) if correction.refused == "whole" else before
        context = _below(context, round(before * correction.below))
    if projection is not None:
        usage = replace(usage, tokens=before)
    report = replace(
        blank_report(context, usage, before),
        orphans=len(repairs.orphans),
        orphans_named=_named(repairs),
        unanswered=repairs.unanswered,
        empty=repairs.empty,
    )
    reason = reason_to_wait(context, trigger, before, usage, projection, forced=correction.forced)
    if not reason:
        context = _with_redaction(with_fair_tail(context))
        candidate, rungs = climb(context, 0 if trigger == "manual" else context.budget.goal)
        report = replace(report, rungs=rungs)
        reason = reason_to_drop(context, candidate, before, projection, trigger=trigger, rungs=rungs)
        if not reason:
            return made(candidate, full, report)
    own = stayed(transcript, full, new, projection=projection, context=context, archive=archive)
    return replace(own, report=with_projection(replace(report, no_op=reason), projection))


def _named(repairs: Repairs) -> tuple[str, ...]:
    """The results without a call, a sentence each, up to a number of them."""
    orphans = zip(repairs.orphans, repairs.orphans_at, strict=True)
    return tuple(
        f"message {at + 1}: the result of call {one_line(result.call_id, _LONGEST_ID) or '(no id)'}, "
        f"{len(result_text(result)):,} characters, is not sent: no call before it waits for it"
        for result, at in islice(orphans, _MOST_NAMED)
    )


def with_tools(conversation: object, model: str, options: Options) -> Options:
    """The options, with the tools in the caller's body as overhead where none was given."""
    tools = tools_in(conversation) if options.overhead is None else ""
    return replace(options, overhead=text_tokens(tools, profile_of(model, options))) if tools else options


def _has_all(archive: Archive, transcript: Transcript, history: History, reader: ModelProfile) -> bool:
    """Whether one look tells that a conversation is whole, with all messages of its archive: most often the
    very same objects. Where it does not, `Archive.restore` looks closer."""
    messages = transcript.messages
    if archive.light or archive.former_schema or not history.is_sound(messages):
        return False
    if history.tally(messages, reader).openings:
        return False
    there = messages[archive.head : archive.boundary]
    return len(there) == len(archive.messages) and all(
        _is_like(there[at], archive.messages[at]) for at in differing(there, archive.messages)
    )


def _is_like(message: Message, archived: Message) -> bool:
    """Whether a message may be an archived one, in which credentials were redacted."""
    return message.role == archived.role and list(map(type, message.parts)) == list(map(type, archived.parts))


def profile_of(model: str, options: Options) -> ModelProfile:
    """What is known of the model; of an unknown one whose window is given, that it gets no pages.

    Raises:
        LayoutError: nothing is known of the model, and no window was given.
    """
    try:
        return profile_for(model, like=options.like or None)
    except LayoutError:
        if not options.window or options.like:
            raise
        return unknown_profile(model, window=options.window)


def transcript_of(conversation: Transcript | Sequence[Any] | Mapping[str, Any]) -> Transcript:
    """The conversation itself, or what an API's own list of messages says."""
    if isinstance(conversation, Transcript):
        return conversation
    from snapshot.transcripts.continued import continued

    return continued(conversation)


def drafted(draft: Transcript | Sequence[Any]) -> tuple[Message, ...]:
    """The messages of a draft, however it is given."""
    if isinstance(draft, Transcript):
        return draft.messages
    if all(isinstance(message, Message) for message in draft):
        return tuple(draft)
    return transcript_of(draft).messages


def _context(
    *,
    model: str,
    reader: ModelProfile,
    options: Options,
    estimator: Estimator,
    messages: tuple[Message, ...],
    archive: Archive | None,
    format_name: str,
    last_resort: bool,
    history: History,
) -> Context:
    window = options.window or reader.window
    if window <= 0:
        raise SnapshotError(f"the window of {model} is not known: say how many tokens it has")
    budget = Budget.of(options, window, options.max_output or reader.max_output)
    groups = history.boundaries(messages).groups
    if archive is None:
        head = _head(groups, messages, estimator, budget, history.tally(messages, reader).openings)
    else:
        head = archive.head
        if archive.boundary > len(messages):
            raise SnapshotError("the archive is of another conversation, or the conversation is not complete")
    return Context(
        model=model,
        reader=reader,
        options=options,
        budget=budget,
        estimator=estimator,
        messages=messages,
        archived=messages,
        groups=groups,
        head=head,
        former=archive and set_anew(archive),
        format=format_name,
        last_resort=last_resort,
        history=history,
    )


def _below(context: Context, refused: int) -> Context:
    """The context in which only what takes less than the refused request is safe."""
    budget = context.budget
    safe = max(1, min(budget.safe, refused - 1))
    return replace(context, budget=replace(budget, safe=safe, goal=min(budget.goal, safe)))


def _for_its_size(context: Context) -> Context:
    """The context whose tail is a share of the conversation as it is, where that is smaller than its own."""
    options, budget = context.options, context.budget
    goal = min(budget.goal, int(min(options.target, 1.0) * context.cost(context.messages)))
    return replace(context, budget=replace(budget, tail=min(budget.tail, int(options.tail * goal))))


def _with_redaction(context: Context) -> Context:
    """The context with credentials redacted in what is archived and rendered.

    The whole conversation in one go: a secret's mark is the same wherever it stands.
    """
    redact = context.options.redact
    if redact is False:
        return context
    if isinstance(redact, Redactor):
        archived = redact.transcript(Transcript(context.messages, context.format)).messages
        return replace(context, archived=archived, redactions=dict(redact.counts))
    redacted = context.history.built("redacted", Redacted, context.messages)
    return replace(context, archived=tuple(redacted.messages), redactions=dict(redacted.counts))


def _head(
    groups: Sequence[Group],
    messages: Sequence[Message],
    estimator: Estimator,
    budget: Budget,
    openings: Sequence[int],
) -> int:
    """How many messages lead: system messages, the first request unless it is bulk itself, and archives.

    An archive whose keeper lost it is only what the conversation shows of it: it stays as it is.
    """
    head = 0
    while head < len(messages) and messages[head].role == "system":
        head += 1
    at = bisect_left(groups, head, key=lambda group: group.start)
    first = groups[at] if at < len(groups) else None
    if first is not None and first.turn:
        # An image or a document beside the words does not make them bulk.
        words = (_words(message) for message in messages[head : first.stop])
        cost = sum(map(estimator.message, words))
        if cost <= budget.goal // 4 or any(map(is_frame, messages[head : first.stop])):
            head = first.stop
    frames = [at for at in openings if is_frame(messages[at])]
    return max(head, frames[-1] + 1) if frames else head


def _words(message: Message) -> Message:
    """The message without its images and documents."""
    return with_parts(message, [part for part in message.parts if not isinstance(part, Image | File)])
