"""Recovery from an overflow: the provider's error is classified, and the conversation made to fit.

Nothing is sent from here. What the error's figures say corrects the estimate, so that one pass is enough;
what comes back is smaller than what was refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Unpack

from snapshot.compaction.archive import Archive, Refusal
from snapshot.compaction.assemble import archive_messages
from snapshot.compaction.body import body_bytes
from snapshot.compaction.boundaries import repair
from snapshot.compaction.compact import (
    Correction,
    compacted,
    drafted,
    profile_of,
    transcript_of,
    with_tools,
)
from snapshot.compaction.estimate import Estimator
from snapshot.compaction.options import Options, Settings, spell_out_settings
from snapshot.compaction.places import is_place
from snapshot.compaction.projection import part_pages
from snapshot.compaction.replaced import attachments, with_content, with_parts
from snapshot.compaction.result import Compaction
from snapshot.compaction.usage import context_usage
from snapshot.errors import CannotFit, NotOverflow
from snapshot.messages import File, Image, Message, Text, ToolResult, Transcript
from snapshot.models.profile import ModelProfile
from snapshot.pages.layout import layout_for
from snapshot.recovery.classify import ErrorClass, classify_error

__all__ = ["recover"]

# A request that was rejected although it was estimated to fit took at least so much more than the window.
_AT_LEAST = 1.02
# An estimate is corrected by a factor within these bounds: figures beyond them are about something else.
_LEAST, _MOST = 0.5, 4.0
# Shares of the window that what stands beside the messages may take, as the figures have it: one after the
# other, should the messages have no room. Nothing makes it smaller.
_SHARES_BESIDE = (1.0, 0.5, 0.0)
# Shares of what was refused that a request may take where figures help no more.
_SHARES_BELOW = (0.6, 0.3)
# Refusals of which tokens are not the measure.
_COUNTED = ("images", "documents", "bytes")
# Figures below this share of what a history is estimated at are not of that history.
_NEAR = 0.8
# Share of the window that what stands beside the messages hardly exceeds.
_MOST_BESIDE = 0.5
# A request of which the messages take a small share of the window by estimate, and which is too large where
# they take twice that, is not made to fit by fewer of them.
_TINY, _DOUBLE = 0.05, 2
# What is sent beside the messages is named where it takes more than this part of the window.
_MUCH_BESIDE = 4
# Of a limit on bytes that the error does not name, what is used.
_ROOM = 0.9


@spell_out_settings
def recover(
    conversation: Transcript | Sequence[Any] | Mapping[str, Any],
    error: object,
    *,
    model: str,
    archive: Archive | None = None,
    draft: Transcript | Sequence[Any] = (),
    provider: str = "",
    options: Options | None = None,
    **settings: Unpack[Settings],
) -> Compaction:
    """Make a conversation fit that the provider has just rejected as too large.

    Args:
        conversation: what was sent, or the whole history of it: see `snapshot.compact`.
        error: the exception of an official SDK, the body of the answer, or both status and body in a
            mapping; text will do.
        model: id of the model.
        archive: what an earlier compaction gave.
        draft: messages of the rejected request that are not in the conversation.
        provider: who answered, where the error alone does not tell.
        options: settings; those by name win. `help(snapshot.Options)` says what each means. Unless `digest`
            is False, the offline digest stands where nothing else makes the request fit.

    Returns:
        A conversation that takes less than the one that was refused, its archive, and a report.

    Raises:
        NotOverflow: the error says something else, and sending less is no cure.
        CannotFit: nothing that is smaller would be safe.
        SummarizerRequired, LayoutError, ArchiveError, SnapshotError: as `snapshot.compact`.

    Example:
        >>> try:
        ...     client.messages.create(model=model, max_tokens=4096, messages=messages)
        ... except anthropic.BadRequestError as error:
        ...     done = snapshot.recover(messages, error, model=model)
    """
    chosen = with_tools(conversation, model, (options or Options()).changed(settings))
    reader = profile_of(model, chosen)
    sent = _Sent.of(conversation, archive, drafted(draft), reader, chosen)
    window = chosen.window or reader.window
    cause = classify_error(error, provider=provider, window=window or None, sent=sent.tokens() or None)
    if not (cause.overflow or cause.curable_by_less):
        if cause.cause_unknown:
            what = (
                f"the error names no cause that is known ({cause.text[:200] or 'it is empty'}); "
                "compact makes the request smaller all the same"
            )
        else:
            what = f"this is no overflow but {cause.kind}: {cause.text[:200]}"
        raise NotOverflow(what, kind=cause.kind)
    sent = sent.that_fits(cause, window)
    plain = Estimator(reader)
    refused = plain.messages(sent.messages) + sent.page_tokens

    def made(corrected: Options, correction: Correction) -> Compaction:
        return compacted(
            conversation,
            model=model,
            archive=archive,
            trigger="target",
            draft=draft,
            options=corrected,
            correction=correction,
        )

    failure: CannotFit | None = None
    if cause.kind not in _COUNTED and _is_hopeless(cause, sent, window):
        raise _cannot_fit(None, cause, sent, window)
    for corrected, correction in _corrections(chosen, cause, sent, reader):
        try:
            done = made(corrected, correction)
        except CannotFit as cannot:
            failure = cannot
            continue
        # An estimate that weighs text anew may find large pages smaller than a little text.
        if cause.kind in _COUNTED or plain.messages(done.transcript.messages) < refused:
            return _remembered(done, cause, sent)
    raise _cannot_fit(failure, cause, sent, window)


@dataclass(frozen=True, slots=True)
class _Sent:
    """What the rejected request held.

    Attributes:
        messages: its messages, without the pages that stood in place of others.
        pages, page_tokens: these pages, and what they took.
        whole: the full history.
        estimator: corrected by the usage that was reported.
        sure: whether that is certain.
        former: what the archive knows of the refusal before.
        own: what the archive's form of it is estimated at, where it may have been sent.
        form: "whole", or "projected" where an archive's pages or summary stood for a part of it.
    """

    messages: tuple[Message, ...]
    pages: int
    page_tokens: int
    whole: tuple[Message, ...]
    estimator: Estimator
    form: Literal["whole", "projected"]
    sure: bool = True
    former: Refusal | None = None
    own: int = 0

    @classmethod
    def of(
        cls,
        conversation: Any,
        archive: Archive | None,
        draft: tuple[Message, ...],
        reader: ModelProfile,
        options: Options,
    ) -> _Sent:
        """What was most likely sent: what was given, or what its archive made of it."""
        transcript = transcript_of(conversation)
        given = (*transcript.messages, *draft)
        full = archive.restore(transcript) if archive is not None else transcript
        whole = (*full.messages, *draft)
        estimator = context_usage(repair(whole)[0], reader, overhead=options.overhead).estimator
        if archive is None:
            return cls(given, 0, 0, whole, estimator, "whole")
        if full is not transcript:
            return cls(given, 0, 0, whole, estimator, "projected")
        # The full history: what was sent of it is, if anything, what the archive left, with what stands in
        # place of the rest: pages or a summary, the text beside them, lines in place of large parts.
        messages = list(repair(full.messages)[0])
        for item in archive.changed:
            if item.sent is not None and item.number < len(messages):
                messages[item.number] = _without_places(item.sent)
        words = (
            replace(message, parts=tuple(part for part in message.parts if isinstance(part, Text)))
            for message in archive_messages(archive)
        )
        left = (
            messages if archive.light else (*messages[: archive.head], *words, *messages[archive.boundary :])
        )
        prices = archive.prices or tuple(layout_for(name=name).tokens for name in archive.tiers)
        prices += tuple(page.tokens for part in archive.parts for page in part_pages(part).pages)
        made = cls((*left, *draft), len(prices), sum(prices), whole, estimator, "projected", sure=False)
        return replace(made, former=archive.refusal, own=made.tokens())

    def tokens(self) -> int:
        """What it was estimated to take."""
        return self.estimator.messages(self.messages) + self.page_tokens

    def as_whole(self) -> _Sent:
        """The full history as it is."""
        return replace(self, messages=self.whole, pages=0, page_tokens=0, form="whole")

    def that_fits(self, cause: ErrorClass, window: int) -> _Sent:
        """Itself, or the full history as it is, where the error's figures are rather of that.

        They have to be near it, and so large that what the archive left cannot have them: it went out with
        tools that nobody told of, most likely, but these hardly fill half of a window. Where the archive was
        made for a refusal, the figures then and now tell: of what came back then, or of the history again.
        """
        real = _requested(cause, 0)
        if self.sure or not real:
            return self
        whole = self.as_whole()
        own, other = self.tokens(), whole.tokens()
        if (former := self.former) is not None:
            grown = other - former.whole
            answer = former.answer + grown
            beside = max(0, former.tokens - former.sent)
            of_answer = min(abs(real - answer), abs(real - answer - beside))
            return self if of_answer < abs(real - former.tokens - grown) else whole
        nearer = max(real, other) * own < max(real, own) * other and real * 2 > other + own
        beside = real - own
        return whole if nearer and real >= _NEAR * other and beside > _MOST_BESIDE * window else self


def _without_places(message: Message) -> Message:
    """The message without the marks of its pages, which are counted apart."""
    parts = (
        with_content(part, [item for item in part.content if not is_place(item)])
        if isinstance(part, ToolResult)
        else part
        for part in message.parts
        if not is_place(part)
    )
    return with_parts(message, tuple(parts))


def _remembered(done: Compaction, cause: ErrorClass, sent: _Sent) -> Compaction:
    """The compaction whose archive knows what was refused, for the next time that this is not enough."""
    real = _requested(cause, 0)
    if done.archive is None or not real:
        return done
    answer = sent.estimator.messages(done.transcript.messages)
    refusal = Refusal(real, sent.as_whole().tokens(), sent.own or sent.tokens(), answer)
    return replace(done, archive=replace(done.archive, refusal=refusal))


def _is_hopeless(cause: ErrorClass, sent: _Sent, window: int) -> bool:
    """Whether hardly anything was sent of the conversation, so that to send less of it is no cure."""
    real, own = _requested(cause, 0), sent.tokens() - sent.estimator.overhead
    return own < _TINY * window and (not real or real - _DOUBLE * own >= window)


def _cannot_fit(failure: CannotFit | None, cause: ErrorClass, sent: _Sent, window: int) -> CannotFit:
    """Why nothing smaller than what was refused is left, and what to do."""
    own = sent.tokens()
    smallest, limit = (failure.smallest, failure.limit) if failure is not None else (own, window)
    why = str(failure) if failure is not None else "fewer messages are no cure"
    real = _requested(cause, 0)
    beside = (real or 0) - own + sent.estimator.overhead
    if not real or beside > window // _MUCH_BESIDE:
        said = f"the provider counted {real:,} tokens" if real else "the request was refused"
        fills = f"fills about {beside:,}" if real else "must fill most"
        why = (
            f"{said}, the messages take about {own:,} of {window:,}: what is sent beside them (tools, system "
            f"text) {fills} of the window; send fewer tools or a shorter system text, or take a model with a "
            f"larger window; {why}"
        )
    return CannotFit(why, smallest=smallest, limit=limit)


def _requested(cause: ErrorClass, window: int) -> int | None:
    """Tokens that the request had, as the error says it."""
    if cause.prompt:
        return cause.prompt
    if cause.unit == "tokens" and cause.requested:
        return cause.requested
    if cause.unit == "tokens" and cause.excess is not None and window:
        return window + cause.excess
    return None


def _corrections(
    options: Options, cause: ErrorClass, sent: _Sent, reader: ModelProfile
) -> Iterator[tuple[Options, Correction]]:
    """Settings and correction by what the error says about limits and the size of the request; then others
    that leave more room, should these leave none."""
    if cause.kind in _COUNTED:
        yield _corrected(options, cause, sent, reader)
        return
    seen: list[tuple[Options, Correction]] = []
    *shares, nothing = (_corrected_tokens(options, cause, sent, reader, share) for share in _SHARES_BESIDE)
    # Before all is blamed on the text: whatever it was, much less of it.
    changed, plain = nothing
    less = ((changed, replace(plain, scale=1.0, below=share)) for share in _SHARES_BELOW)
    for found in (*shares, *less, nothing):
        if found not in seen:
            yield found
            seen.append(found)


def _corrected(
    options: Options, cause: ErrorClass, sent: _Sent, reader: ModelProfile
) -> tuple[Options, Correction]:
    """Settings and correction where too many or too large things were sent."""
    known = {**reader.limits, **options.limits}
    last_resort = options.digest is not False
    shown = attachments(sent.messages)
    if cause.kind in ("images", "documents"):
        # Sides, bytes and patches are for pages to keep; the caller's own images are dropped like any.
        kind, key = (
            (Image, "images_per_request") if cause.kind == "images" else (File, "documents_per_request")
        )
        count = sum(isinstance(item, kind) for item in shown) + (sent.pages if kind is Image else 0)
        stated = cause.limit if cause.unit == cause.kind else None
        limit = min(stated if stated is not None else count // 2, max(0, count - 1), known.get(key, count))
        limits = {**options.limits, key: limit}
        return replace(options, limits=limits), Correction(forced=True, last_resort=last_resort)
    size = body_bytes(sent.messages)
    if cause.limit and cause.unit == "bytes":
        # What was sent beside the messages counts as well. The ladder leaves a margin of its own.
        room = cause.limit - max(0, (cause.requested or 0) - size)
    else:
        room = int(_ROOM * known.get("request_bytes", 0))
    # A body within the limit that is known was too large all the same: half of it is tried.
    limits = {**options.limits, "request_bytes": room if 0 < room < size else max(1, size // 2)}
    return replace(options, limits=limits), Correction(forced=True, last_resort=last_resort)


def _corrected_tokens(
    options: Options, cause: ErrorClass, sent: _Sent, reader: ModelProfile, share: float
) -> tuple[Options, Correction]:
    """Settings and correction where there are too many tokens.

    At most `share` of the window is taken for what stands beside the messages, if nobody knows how much that
    is and pages or images stand in them.
    """
    window = options.window or reader.window
    if cause.unit == "tokens" and cause.limit:
        window = min(window, cause.limit) if window else cause.limit
    requested = _requested(cause, window)
    # Only text is estimated: what is sent beside the messages, and images, cost what they cost.
    estimator = sent.estimator
    images = sum(estimator.image(item) for item in attachments(sent.messages) if isinstance(item, Image))
    fixed = estimator.overhead + images + sent.page_tokens
    text = estimator.messages(sent.messages) - estimator.overhead - images
    real = requested or int(window * _AT_LEAST)
    changed = replace(options, window=window)
    correction = Correction(forced=True, last_resort=options.digest is not False, refused=sent.form)
    if fixed > estimator.overhead:
        # Most of such a request is no text, so the text alone cannot be blamed for the difference.
        real = min(real, int(_MOST * (fixed + text)))
        beside = min(max(0, real - fixed - text), max(0, int(share * window) - estimator.overhead))
        changed = replace(changed, overhead=estimator.overhead + beside)
        scale = max(1.0, (real - fixed - beside) / text) if text > 0 else 1.0
    else:
        scale = (real - fixed) / text if text > 0 else 1.0
        if requested is None:
            scale = max(scale, 1.0)
    return changed, replace(correction, scale=min(max(scale, _LEAST), _MOST))
