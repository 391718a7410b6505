"""`dump`: a transcript as a file of any format, with a list of what that format cannot hold."""

from __future__ import annotations

import importlib
import importlib.util
from collections import Counter
from dataclasses import dataclass
from typing import cast

from snapshot.errors import SnapshotError
from snapshot.messages import Transcript

__all__ = ["Dumped", "Loss", "dump"]


@dataclass(frozen=True, slots=True)
class Loss:
    """Something that the target cannot hold.

    Attributes:
        kind: a short stable word: "reasoning", "signature", "image", "usage", "order", …
        where: number of the message in the transcript, from 1; 0 for what belongs to the whole.
        what: what is lost and what stands in its place, for a person; the same words for equal losses.
    """

    kind: str
    where: int
    what: str


@dataclass(frozen=True, slots=True)
class Dumped:
    """A transcript as the bytes of a file, and what is not in them."""

    data: bytes
    losses: tuple[Loss, ...] = ()

    def grouped(self) -> list[tuple[Loss, int]]:
        """The first loss of each sort with the number of its sort, in order of appearance."""
        counts = Counter((loss.kind, loss.what) for loss in self.losses)
        first = {(loss.kind, loss.what): loss for loss in reversed(self.losses)}
        return [(first[key], count) for key, count in counts.items()]


def dump(
    transcript: Transcript,
    format: str,  # noqa: A002 - as in `load`
) -> Dumped:
    """The transcript in the form of `format`.

    Every message is read back by the reader of that format before it counts as written: what reads back
    otherwise is in `losses`, and what is not in `losses` reads back the same. Ids that a format must have and
    the transcript has not are made up. To send a conversation to a provider use `snapshot.requests`: a dump
    keeps orphans and diagnostics, which providers refuse.

    Raises:
        SnapshotError: an unknown format, or one that has no writer.
    """
    from snapshot.transcripts.registry import FORMATS, unknown_format
    from snapshot.transcripts.round_trip import Writer, written

    if format not in FORMATS:
        raise SnapshotError(unknown_format(format))
    name = f"snapshot.transcripts.writing.{format.replace('-', '_')}"
    if importlib.util.find_spec(name) is None:
        raise SnapshotError(f"the format {format!r} can be read and not written; choose another one")
    losses: list[Loss] = []

    def tell(kind: str, where: int, what: str) -> None:
        losses.append(Loss(kind, where, what))

    module = importlib.import_module(name)
    try:
        if hasattr(module, "write"):
            data = module.write(transcript, tell)
        else:
            data = written(transcript, cast(Writer, module), format, tell)
    except RecursionError:
        raise SnapshotError(f"something in it is nested too deeply to be written as {format}") from None
    return Dumped(data, tuple(sorted(losses, key=lambda loss: loss.where)))
