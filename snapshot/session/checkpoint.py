"""Checkpoints: what a compaction leaves in the tree, and the one way from the tree into compaction.

A checkpoint says what is sent in place of everything before its first kept message: the head word for word,
and the pages or the summary. The pages are stored as they were drawn, so that what the provider has cached
stays so; any further compaction starts from the messages and from the archive, never from pages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from snapshot.errors import LayoutError, SnapshotError
from snapshot.messages import Message, Transcript
from snapshot.serialization import from_json, to_json

if TYPE_CHECKING:
    from snapshot.compaction import Archive, Options, Report
    from snapshot.compaction.options import Trigger

__all__ = ["Checkpoint", "CheckpointKind", "Prepared", "for_reader", "prepare", "suits"]

CheckpointKind: TypeAlias = Literal["snapshot", "summary", "elision"]
"""Pages; a summary; or only single results and images replaced by a line."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A compaction, as it stands in the tree.

    Attributes:
        kind: what it made of the middle.
        first_kept: id of the message that the verbatim part starts with; "": with what comes after it.
        lead: what is sent in place of all that is before.
        model: id of the model that it was made for.
        before, after: estimated tokens of the request.
        redactions: credentials replaced, by kind.
        archive: the archive, None where there is none.
    """

    kind: CheckpointKind
    first_kept: str
    lead: tuple[Message, ...]
    model: str = ""
    before: int = 0
    after: int = 0
    redactions: tuple[tuple[str, int], ...] = ()
    archive: Archive | None = None

    def to_json(self, *, put: Callable[[bytes], str]) -> dict[str, Any]:
        """The checkpoint without its archive as a JSON object; `put` as for `serialization.to_json`."""
        return {
            "kind": self.kind,
            "first_kept": self.first_kept,
            "lead": [to_json(message, put=put) for message in self.lead],
            "model": self.model,
            "before": self.before,
            "after": self.after,
            "redactions": dict(self.redactions),
        }

    @classmethod
    def from_json(cls, value: Any, *, get: Callable[[str], bytes], archive: Archive | None) -> Checkpoint:
        """The checkpoint that `to_json` gave, with its archive.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: it is none.
        """
        return cls(
            kind=value["kind"],
            first_kept=value["first_kept"],
            lead=tuple(from_json(item, get=get) for item in value["lead"]),
            model=value["model"],
            before=value["before"],
            after=value["after"],
            redactions=tuple((kind, count) for kind, count in value["redactions"].items()),
            archive=archive,
        )


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a compaction found: its report, and the checkpoint to be committed, None for a no-op."""

    report: Report
    checkpoint: Checkpoint | None


def suits(checkpoint: Checkpoint, model: str) -> bool:
    """Whether a model may be sent what leads a checkpoint.

    Pages of another shape it may misread, and one without vision refuses them. Where nothing is known of a
    model, nothing is held against them.
    """
    from snapshot.models.ids import profile_for
    from snapshot.pages.layout import layout_for

    if checkpoint.kind != "snapshot" or checkpoint.model == model:
        return True
    try:
        profile_for(model)
    except LayoutError:
        return True
    try:
        return layout_for(checkpoint.model).name == layout_for(model).name
    except LayoutError:
        return False


def for_reader(
    path: Sequence[tuple[str, Message]],
    former: Checkpoint,
    *,
    model: str,
    format: str,  # noqa: A002 - as in `Transcript`
) -> Checkpoint | None:
    """A checkpoint in place of `former`, for a model that it does not suit; None where all may go as it is.

    The arguments are as for `prepare`. It depends on what was before the checkpoint alone, so it stays
    the same while the conversation grows.
    """
    try:
        return prepare(path, model=model, format=format, former=former, digest=True).checkpoint
    except SnapshotError:
        return None  # as text it loses nothing, and the next compaction says what is wrong


def prepare(
    path: Sequence[tuple[str, Message]],
    *,
    model: str,
    format: str,  # noqa: A002 - as in `Transcript`
    former: Checkpoint | None = None,
    fixed: int = 0,
    trigger: Trigger = "target",
    draft: Sequence[Message] = (),
    options: Options | None = None,
    **changes: Any,
) -> Prepared:
    """Compact a path; pure, like compaction itself.

    Args:
        path: all messages from the root to the leaf, each with its node's id.
        model, trigger, draft, options, changes: as for `snapshot.compact`.
        format: format of the conversation.
        former: the newest checkpoint on the path.
        fixed: number of the message in `path` that its verbatim part starts with: that never moves back.

    Raises: what `snapshot.compact` raises.
    """
    from snapshot.compaction import compact
    from snapshot.compaction.boundaries import groups, repair
    from snapshot.models.ids import profile_for

    # A node's id travels as the message's own, which compaction hands through.
    own = {node: message.id for node, message in path}
    whole = repair([replace(message, id=node) for node, message in path])[0]
    archive = former.archive if former is not None else None
    if former is not None and archive is not None:
        if archive.light:
            archive = None  # what it replaced stands in the tree
        elif not suits(former, model):
            archive = None  # another reader wants other pages, of everything
            if profile_for(model).vision:
                trigger = "manual"
    done = compact(
        Transcript(whole, format, model),
        model=model,
        archive=archive,
        trigger=trigger,
        draft=draft,
        options=options,
        **changes,
    )
    sent, whole = done.transcript.messages, repair((*whole, *draft))[0]
    if done.report.no_op or done.archive is None or sent == whole:
        return Prepared(done.report, None)
    same = 0
    while same < min(len(sent), len(whole)) and sent[-1 - same] == whole[-1 - same]:
        same += 1
    # Everything that differs is before the first kept message, and a group is never cut.
    still = {node for node, _ in path[fixed:]}
    boundary = next((n for n, message in enumerate(whole) if message.id in still), len(whole) - len(draft))
    least = max(len(whole) - same, boundary)
    start = next((group.start for group in groups(whole) if group.start >= least), len(whole))
    lead = sent[: len(sent) - (len(whole) - start)]
    checkpoint = Checkpoint(
        kind="summary" if done.archive.summary else "snapshot" if done.archive.pages else "elision",
        first_kept=whole[start].id if start < len(whole) and whole[start].id in own else "",
        lead=tuple(replace(message, id=own.get(message.id, message.id)) for message in lead),
        model=model,
        before=done.report.before,
        after=done.report.after,
        redactions=tuple(done.report.redactions.items()),
        archive=done.archive,
    )
    if former is not None and (checkpoint.lead, checkpoint.first_kept) == (former.lead, former.first_kept):
        return Prepared(replace(done.report, no_op="nothing is new since the last compaction"), None)
    return Prepared(done.report, checkpoint)
