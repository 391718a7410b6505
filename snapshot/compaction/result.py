"""What comes of a compaction: the conversation to send, the archive to keep, and the account of both."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from snapshot.compaction.alike import differing
from snapshot.compaction.archive import Archive, Changed
from snapshot.compaction.candidate import Candidate
from snapshot.compaction.context import Context
from snapshot.compaction.drawing import drawn
from snapshot.compaction.ladder import without_pages
from snapshot.compaction.report import Report
from snapshot.compaction.splice import Given, InPlace
from snapshot.compaction.usage import ContextUsage
from snapshot.messages import Message, Transcript
from snapshot.requests.cache_marks import CacheMark
from snapshot.source.source import slice_of

__all__ = ["Compaction", "blank_report", "made", "stayed", "with_projection"]


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
        return replace(made(candidate, self.transcript, report), _given=self._given)


def blank_report(context: Context, usage: ContextUsage, before: int) -> Report:
    """The report of a conversation of which nothing is done yet."""
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


def stayed(
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


def with_projection(report: Report, projection: Candidate | None) -> Report:
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


def made(candidate: Candidate, full: Transcript, report: Report) -> Compaction:
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
