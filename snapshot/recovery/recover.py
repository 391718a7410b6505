"""Recovery from an overflow: the provider's error is recognised, and the conversation made to fit.

Nothing is sent from here. What the error's figures say corrects the estimate, so that one pass is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from snapshot.compaction.archive import Archive
from snapshot.compaction.boundaries import repair
from snapshot.compaction.conductor import Compaction, compact, transcript_of
from snapshot.compaction.estimate import occupancy
from snapshot.compaction.options import Options
from snapshot.compaction.snapshots import body_bytes, image_parts
from snapshot.errors import NotOverflow
from snapshot.layout import layout_for, reader_for
from snapshot.messages import Message, Transcript
from snapshot.recovery.classify import ErrorClass, classify_error

__all__ = ["recover"]

# A request that was rejected although it was estimated to fit took at least so much more than the window.
_AT_LEAST = 1.02
# An estimate is corrected by a factor within these bounds: figures beyond them are about something else.
_LEAST, _MOST = 0.5, 4.0
# Of a limit on bytes that the error does not name, what is used.
_ROOM = 0.9


def recover(
    conversation: Transcript | Sequence[Any] | dict[str, Any],
    error: object,
    *,
    model: str,
    archive: Archive | None = None,
    draft: Sequence[Message] = (),
    provider: str = "",
    options: Options | None = None,
    **changes: Any,
) -> Compaction:
    """Make a conversation fit that the provider has just rejected as too large.

    Args:
        conversation: what was sent: see `compact`.
        error: the exception of an official SDK, the body of the answer, or both status and body in a
            mapping; text will do.
        model: id of the model.
        archive: what an earlier compaction gave.
        draft: messages of the rejected request that are not in the conversation.
        provider: who answered, where the error alone does not tell.
        options: settings; `changes` are settings by name, and win.

    Raises:
        NotOverflow: the error says something else, and sending less is no cure.
        CannotFit, SummarizerRequired, LayoutError, ArchiveError: as `compact`.
    """
    verdict = classify_error(error, provider=provider)
    if not (verdict.overflow or verdict.curable_by_less):
        if verdict.cause_unknown:
            what = (
                f"the error names no cause that is known ({verdict.text[:200] or 'it is empty'}); "
                "compact makes the request smaller all the same"
            )
        else:
            what = f"this is no overflow but {verdict.kind}: {verdict.text[:200]}"
        raise NotOverflow(what, kind=verdict.kind)
    settings = replace(options or Options(), **changes)
    return compact(
        conversation,
        model=model,
        archive=archive,
        trigger="target",
        draft=draft,
        options=_corrected(settings, verdict, _Sent.of(conversation, archive, draft), model),
    )


@dataclass(frozen=True, slots=True)
class _Sent:
    """What the rejected request held.

    Attributes:
        messages: its messages, without the pages of `tiers`.
        tiers: layout of each page that stood in place of other messages.
        whole: the full history, from which the estimator takes its corrections.
    """

    messages: tuple[Message, ...]
    tiers: tuple[str, ...]
    whole: tuple[Message, ...]

    @classmethod
    def of(cls, conversation: Any, archive: Archive | None, draft: Sequence[Message]) -> _Sent:
        transcript = transcript_of(conversation)
        sent = (*transcript.messages, *draft)
        if archive is None:
            return cls(sent, (), sent)
        full = archive.restore(transcript)
        whole = (*full.messages, *draft)
        if archive.light or full is not transcript:
            return cls(sent, (), whole)
        # The full history: what was sent of it is what the archive left, and its pages.
        return cls((*whole[: archive.head], *whole[archive.boundary :]), archive.tiers, whole)


def _corrected(settings: Options, verdict: ErrorClass, sent: _Sent, model: str) -> Options:
    """The settings with what the error says about limits and the size of the request."""
    limits = dict(settings.limits)
    reader = reader_for(model)
    if verdict.kind == "images":
        # Sides, bytes and patches are for pages to keep; the caller's own images are dropped like any.
        images = len(image_parts(sent.messages)) + len(sent.tiers)
        stated = verdict.limit if verdict.unit == "images" else None
        limits["images_per_request"] = min(stated or images // 2, limits.get("images_per_request", images))
        return replace(settings, limits=limits)
    if verdict.kind == "bytes":
        size = body_bytes(sent.messages)
        stated = verdict.limit if verdict.unit == "bytes" else None
        if stated:
            # What was sent beside the messages counts as well. The ladder leaves a margin of its own.
            known = stated - max(0, (verdict.requested or 0) - size)
        else:
            known = int(_ROOM * (limits.get("request_bytes") or reader.limits.get("request_bytes", 0)))
        # A body within the limit that is known was too large all the same: half of it is tried.
        limits["request_bytes"] = known if 0 < known < size else size // 2
        return replace(settings, limits=limits)
    window = settings.window or reader.window
    if verdict.unit == "tokens" and verdict.limit:
        window = min(window, verdict.limit) if window else verdict.limit
    requested = verdict.prompt or (verdict.requested if verdict.unit == "tokens" else None)
    if requested is None and verdict.excess is not None and verdict.unit == "tokens":
        requested = window + verdict.excess
    # Only text is estimated: what is sent beside the messages, and images, cost what they cost.
    estimator = occupancy(repair(sent.whole)[0], reader, overhead=settings.overhead).estimator
    images = sum(map(estimator.image, image_parts(sent.messages)))
    pages = sum(layout_for(name=name).tokens for name in sent.tiers)
    text = estimator.messages(sent.messages) - estimator.overhead - images
    real = (requested or int(window * _AT_LEAST)) - estimator.overhead - images - pages
    if images or pages:
        # Most of such a request is no text, so the text alone cannot be blamed for the difference.
        more = max(0, real - text)
        return replace(settings, window=window, overhead=estimator.overhead + more)
    scale = real / text if text > 0 else 1.0
    if requested is None:
        scale = max(scale, 1.0)
    return replace(settings, window=window, scale=min(max(scale, _LEAST), _MOST))
