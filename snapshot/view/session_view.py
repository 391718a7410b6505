"""The view of a conversation: compacted for its model, as it would be sent."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

from snapshot.compaction import Archive, Compaction, compact
from snapshot.compaction.boundaries import repair
from snapshot.compaction.estimate import Estimator
from snapshot.compaction.options import Options, Settings
from snapshot.compaction.usage import context_usage
from snapshot.messages import Transcript
from snapshot.models.ids import profile_for
from snapshot.models.profile import ModelProfile
from snapshot.view.content import View
from snapshot.view.request_view import has_pages_of, view_of_request

__all__ = ["view_of_archive", "view_of_conversation"]


def view_of_conversation(
    transcript: Transcript,
    *,
    model: str,
    title: str,
    archive: Archive | None = None,
    **settings: Unpack[Settings],
) -> View:
    """The view of a conversation: as it is, where it has the pages of `archive`, else compacted for `model`.

    What needs no compaction by its size is compacted all the same, to be looked at.

    Args:
        transcript: the conversation. What it says is shown: credentials must be redacted before.
        model: id of the model that will read it.
        title: what to call it.
        archive: of an earlier compaction.
        settings: of the compaction, see `snapshot.Options`.

    Raises:
        SnapshotError: as `snapshot.compact` does.
    """
    profile = profile_for(model)
    if archive is not None and has_pages_of(transcript, archive):
        return view_of_request(transcript, archive, profile, title=title, model=model)
    if archive is None:  # what is sent is repaired
        transcript = replace(transcript, messages=repair(transcript.messages)[0])
    options = Options(redact=False).changed(settings)
    done = _compacted(transcript, model, archive, options)
    estimator = _estimator(transcript, archive, profile, options)
    report = done.report
    notes = [*report.notes, *([report.no_op] if report.no_op and not report.pages else [])]
    for label, counts in (
        ("characters that no page shows", report.folded),
        ("characters printed as code points, for want of a glyph", report.code_points),
    ):
        if counts:
            notes.append(f"{label}: {', '.join(f'{count:,} {kind}' for kind, count in counts.items())}")
    return view_of_request(
        done.transcript, done.archive, profile, title=title, model=model, estimator=estimator, notes=notes
    )


def _compacted(transcript: Transcript, model: str, archive: Archive | None, options: Options) -> Compaction:
    """The conversation compacted, for want of need by hand."""
    done = compact(transcript, model=model, archive=archive, options=options)
    if not done.report.no_op or done.report.pages:
        return done
    by_hand = compact(transcript, model=model, archive=archive, trigger="manual", options=options)
    return by_hand if by_hand.archive is not None else done


def _estimator(
    transcript: Transcript, archive: Archive | None, profile: ModelProfile, options: Options
) -> Estimator:
    """What counted the tokens for the compaction."""
    whole = archive.restore(transcript) if archive is not None else transcript
    messages = repair(whole.messages)[0]
    return context_usage(messages, profile, overhead=options.overhead).estimator


def view_of_archive(archive: Archive, *, model: str, title: str) -> View:
    """The view of an archive alone: what it puts into a request, its pages drawn again.

    Args:
        archive: its pages are drawn in the layouts that it names.
        model: id of the model that looks at them.
        title: what to call it.

    Raises:
        SnapshotError: a layout or a face is not here.
    """
    from snapshot.compaction.assemble import archive_messages
    from snapshot.compaction.page_images import page_images
    from snapshot.compaction.pagination import Pagination, set_anew

    profile = profile_for(model)
    archive = set_anew(archive)
    pages: list[bytes] = []
    if archive.pages:
        pagination = Pagination.of(archive.printed, archive.listed, archive.prices, archive.starts)
        pages = [png for stretch in pagination.stretches for png in page_images(archive.printed, stretch)]
    messages = archive_messages(archive, pages)
    view = view_of_request(Transcript(messages, "archive"), archive, profile, title=title, model=model)
    note = "the archive alone: name the request beside it to see what stands around the pages"
    return replace(view, notes=(note, *view.notes))
