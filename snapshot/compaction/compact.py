"""The one way in to compaction: what a conversation takes, whether something is to be done, and what comes of
it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Unpack

from snapshot.compaction.alike import differing
from snapshot.compaction.archive import Archive, Changed
from snapshot.compaction.boundaries import Group
from snapshot.compaction.candidate import Candidate
from snapshot.compaction.context import Context
from snapshot.compaction.drawing import drawn
from snapshot.compaction.estimate import Estimator
from snapshot.compaction.history import History, Redacted, histories
from snapshot.compaction.ladder import climb, without_pages
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
from snapshot.compaction.replaced import with_parts
from snapshot.compaction.report import Report, RungReport
from snapshot.compaction.restoring import is_frame
from snapshot.compaction.splice import Given, InPlace, tools_in
from snapshot.compaction.usage import ContextUsage, usage_of
from snapshot.errors import LayoutError, SnapshotError
from snapshot.messages import File, Image, Message, Transcript
from snapshot.models.ids import profile_for, unknown_profile
from snapshot.models.profile import ModelProfile
from snapshot.models.tokens import text_tokens
from snapshot.redaction import Redactor
from snapshot.requests.cache_marks import CacheMark
from snapshot.source.source import slice_of

__all__ = ["Compaction", "Correction", "compact", "compacted", "drafted", "transcript_of", "with_tools"]

# Share of the window that must be new before a conversation with pages is compacted again.
_NEWS = 10


@dataclass(frozen=True, slots=True)
class Compaction(InPlace):
    """The result of a compaction: what to send, what to keep, and what was done.

    Attributes:
        transcript: the conversation to send: the caller's own where nothing was done.
        archive: what was replaced, to be kept beside the conversation; None where nothing was.
        report: what was done.
    """

    transcript: Transcript
    archive: Archive | None
    report: Report
    _context: Context | None = field(default=None, repr=False, compare=False)
    _given: Given | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        return f"<Compaction: {len(self.transcript.messages)} messages, {self.report!r}, {self.archive!r}>"

    def request(self, api: str) -> dict[str, Any]:
        """The conversation as the body of a request has it; model and tools are the caller's.

        Where nothing changed and `api` is that of the caller's list, it is the caller's own, key for key.

        Args:
            api: "anthropic", "openai", "openai-responses", "gemini", or "google-genai": the arguments of
                `client.models.generate_content`. For Anthropic the last page that will not change is marked
                for the prompt cache, see `cache_marks` of `snapshot.Options`.
        """
        from snapshot.compaction.bodies import body_of

        reader = self._context.reader if self._context is not None else None
        return body_of(self._given, self.transcript, api, reader=reader, mark=self._cache_mark())

    def _cache_mark(self) -> CacheMark | None:
        from snapshot.compaction.bodies import cache_mark_for

        context = self._context
        if context is None or not context.options.cache_marks:
            return None
        return cache_mark_for(self._given, self.transcript, self.archive, context.reader)

    @property
    def awaits_user(self) -> bool:
        """Whether the user has to speak before it is sent.

        It ends with the assistant's words, as a finished turn does, and the model refuses to continue them:
        the user's next message has to be appended.
        """
        reader = self._context.reader if self._context is not None else None
        last = self.transcript.messages[-1:]
        return reader is not None and not reader.prefill and any(item.role == "assistant" for item in last)

    def noted(self) -> Compaction:
        """The same with notes in its report: of a model that is not known, of who has to speak next."""
        reader = self._context.reader if self._context is not None else None
        notes: tuple[str, ...] = ()
        if reader is not None and not reader.known:
            notes += (f"{reader.title}: it gets no pages; its window is the one given",)
        if self.awaits_user and not self.report.no_op:
            notes += ("it ends with the assistant's words: append the user's next message before it is sent",)
        if not notes:
            return self
        return replace(self, report=replace(self.report, notes=(*self.report.notes, *notes)))

    def without_pages(self) -> Compaction:
        """The same conversation with text in place of its pages, where the model refuses or misreads them.

        A summary stands for the middle if the settings have a summarizer, else the offline digest.

        Raises:
            CannotFit: even so the request would not be safe.
        """
        if self._context is None or self.archive is None or not (self.archive.pages or self.archive.parts):
            return self
        context = self._context
        cut = self.archive.boundary if self.archive.messages else context.cut()
        candidate, rungs = without_pages(context, cut)
        report = replace(self.report, rungs=rungs, no_op="")
        return replace(_made(candidate, self.transcript, report), _given=self._given)


@dataclass(frozen=True, slots=True)
class Correction:
    """What a provider's answer says of an estimate.

    Attributes:
        scale: factor on the tokens of text.
        last_resort: whether the digest may be taken where nothing else makes the request safe.
        forced: whether something must be done although the estimate sees no need, open calls or not.
        refused: which form of the conversation was refused for its tokens: what comes back takes less.
            "whole": all of it as text; "projected": as an earlier compaction has it.
    """

    scale: float = 1.0
    last_resort: bool = False
    forced: bool = False
    refused: Literal["", "whole", "projected"] = ""


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
) -> Compaction:
    """What `compact` gives, with a correction of the estimate."""
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
        context = _for_its_size(context)
    if correction.refused:
        before = context.cost(messages) if correction.refused == "whole" else before
        context = _below(context, before)
    if projection is not None:
        usage = replace(usage, tokens=before)
    report = replace(
        _blank(context, usage, before),
        orphans=len(repairs.orphans),
        unanswered=repairs.unanswered,
        empty=repairs.empty,
    )
    reason = _reason_to_wait(context, trigger, before, usage, projection, forced=correction.forced)
    if not reason:
        context = _with_redaction(context)
        candidate, rungs = climb(context, 0 if trigger == "manual" else context.budget.goal)
        report = replace(report, rungs=rungs)
        reason = _reason_to_drop(context, candidate, before, projection, trigger=trigger, rungs=rungs)
        if not reason:
            return _made(candidate, full, report)
    stayed = _stayed(transcript, full, new, projection=projection, context=context, archive=archive)
    return replace(stayed, report=_with_projection(replace(report, no_op=reason), projection))


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


def _reason_to_wait(
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
        if context.cut() <= context.first_cut:
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


def _reason_to_drop(
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


def _blank(context: Context, usage: ContextUsage, before: int) -> Report:
    budget = context.budget
    return Report(
        images=context.images_in(context.messages),
        before=before,
        after=before,
        occupancy=usage.tokens,
        basis=usage.basis,
        window=budget.window,
        safe=budget.safe,
        goal=budget.goal,
        head=context.head,
        tail=len(context.messages) - context.head,
    )


def _stayed(
    transcript: Transcript,
    full: Transcript,
    draft: tuple[Message, ...],
    *,
    projection: Candidate | None,
    context: Context,
    archive: Archive | None,
) -> Compaction:
    """The conversation as it stands: the caller's own, or with what was compacted before in its place."""
    report = Report(before=0, after=0, occupancy=0, basis="", window=0, safe=0, goal=0)
    if projection is None:
        sent = full if full is not transcript else transcript
        kept = archive if full is transcript and archive is not None else None
        if draft:
            sent = replace(sent, messages=(*sent.messages, *draft))
        return Compaction(sent, kept, report, context)
    if full is not transcript:  # it came as it was sent
        sent = replace(transcript, messages=(*transcript.messages, *draft)) if draft else transcript
        return Compaction(sent, projection.archive, report, context)
    sent = replace(transcript, messages=_drawn(projection))
    return Compaction(sent, projection.archive, report, context)


def _drawn(candidate: Candidate) -> tuple[Message, ...]:
    """The messages to send. The frame of pages that was drawn last is not drawn again."""
    context, archive = candidate.context, candidate.archive
    if archive is None or not candidate.replaced or candidate.parts or context.options.progress is not None:
        return drawn(candidate)
    form = context.reader.detail, context.limits.get("images_per_message"), candidate.beside_frame
    frame = context.history.frame_of(archive, form)
    if frame is None:
        messages = drawn(candidate)
        frame = messages[context.head : len(messages) - len(candidate.tail)]
        context.history.keep_frame(archive, form, frame)
    return (*candidate.head, *frame, *candidate.tail)


def _with_projection(report: Report, projection: Candidate | None) -> Report:
    """The report of a conversation that stays as it was compacted before."""
    if projection is None or projection.archive is None:
        return report
    return replace(report, **_figures(projection))


def _figures(candidate: Candidate) -> dict[str, Any]:
    """What a report says of a candidate."""
    context, archive = candidate.context, candidate.archive
    middle = len(archive.messages) if archive is not None else 0
    figures: dict[str, Any] = {
        "after": candidate.tokens,
        "images": context.images_in(candidate.undrawn),
        "head": context.head,
        "middle": middle or candidate.cut - context.head,
        "tail": len(context.messages) - candidate.cut,
        "tail_tokens": sum(context.costs_of(candidate.messages)[candidate.cut :]),
        "notes": candidate.notes,
        "pages": sum(len(stretch.pages) for stretch in candidate.stretches),
        "page_tokens": sum(page.tokens for stretch in candidate.stretches for page in stretch.pages),
        "facts": candidate.facts,
        "facts_left_out": candidate.facts_left_out,
        "break_even": candidate.break_even,
    }
    if candidate.pagination is not None:
        figures |= {"dense_pages": candidate.pagination.dense, "left_out": candidate.pagination.left_out}
    return figures


def _made(candidate: Candidate, full: Transcript, report: Report) -> Compaction:
    """The compaction that a candidate is: its pages drawn, its archive complete."""
    context = candidate.context
    changed = tuple(
        Changed(at, context.archived[at], candidate.messages[at])
        for at in differing(candidate.messages, context.messages)
        if not (candidate.replaced and context.head <= at < candidate.cut)
        and candidate.messages[at] != context.messages[at]
    )
    archive = candidate.archive
    if archive is None:
        archive = Archive(context.head, (), context.format, reasoning=context.options.reasoning)
    archive = replace(
        archive,
        changed=changed,
        parts=candidate.parts,
        tail=context.after[candidate.cut if candidate.replaced else context.head],
    )
    messages = _drawn(replace(candidate, archive=archive))
    report = replace(report, redactions=context.redactions, **_figures(candidate), **_printed(candidate))
    return Compaction(replace(full, messages=messages), archive, report, context)


def _printed(candidate: Candidate) -> dict[str, Any]:
    """Characters that no page shows as they are: folded ones, and those without a glyph."""
    archive, pagination = candidate.archive, candidate.pagination
    if archive is None or pagination is None:
        return {}
    from snapshot.pages.render import Typesetter

    setter, source = Typesetter(pagination.stretches[-1].layout), archive.source
    if pagination.left_out:
        source = slice_of(source, pagination.left_out, len(source.text))
    return {"folded": setter.folds(source), "code_points": setter.code_points(source)}
