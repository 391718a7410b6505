"""Every error a caller can meet.

SnapshotError
├── TranscriptError   a file that no reader could take in
├── LayoutError       an unknown model or layout, or a broken layout file
├── FontError         a face that cannot be found, opened or fitted into its cell
├── PageError         a page that does not read back, or a manifest that does not fit its pages
├── OutputError       a folder that cannot be written to, or holds what is not ours
├── ArchiveError      an archive that is damaged, of a newer version, or of another conversation
├── SessionError      a store or a session that cannot be used as asked
│   ├── StaleCompaction   the branch has changed since the compaction was planned; nothing was written
│   ├── NotSent           a message that waited for a compaction which did not come to its end
│   ├── SessionBusy       something runs that must not be disturbed: a compaction, a turn, an open call
│   └── SessionDamaged    what is stored is damaged or newer, so that it is read-only
├── ToolTableError    a file of tool meanings for the ledger that cannot be read, or has mistakes
├── NotOverflow       an error that is no overflow, so there is nothing to recover from
├── SummarizerRequired  only a summary would fit, and the caller gave no way to make one
└── CannotFit         even fully compacted, the request is too large

Each message is one line: what is wrong, where, and what to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from snapshot.messages import Message

__all__ = [
    "ArchiveError",
    "CannotFit",
    "FontError",
    "LayoutError",
    "NotOverflow",
    "NotSent",
    "OutputError",
    "PageError",
    "SessionBusy",
    "SessionDamaged",
    "SessionError",
    "SnapshotError",
    "StaleCompaction",
    "SummarizerRequired",
    "ToolTableError",
    "TranscriptError",
]


class SnapshotError(Exception):
    """Base of all errors that this package raises on purpose."""


class TranscriptError(SnapshotError):
    """A transcript could not be read.

    Attributes:
        path: the file as the caller named it, or None for bytes in memory.
        line: line number, from 1, or None where the input has no lines.
        byte: byte offset from the start of the input, or None.
    """

    def __init__(
        self, what: str, *, path: str | None = None, line: int | None = None, byte: int | None = None
    ) -> None:
        self.what, self.path, self.line, self.byte = what, path, line, byte
        where = [path or "input"]
        if line is not None:
            where.append(f"line {line}")
        if byte is not None:
            where.append(f"byte {byte}")
        super().__init__(f"{', '.join(where)}: {what}")


class LayoutError(SnapshotError):
    """A model or layout is not known, or a layout file breaks its schema."""


class FontError(SnapshotError):
    """A face cannot be found, opened, or fitted into its cell."""


class PageError(SnapshotError):
    """Pixels or a manifest that cannot be what this package wrote."""


class OutputError(SnapshotError):
    """The place to write to is unusable; nothing there was changed."""


class ArchiveError(SnapshotError):
    """An archive that is damaged, of a newer version, or of another conversation."""


class SessionError(SnapshotError):
    """A store or a session that cannot be used as asked; nothing was changed."""


class StaleCompaction(SessionError):
    """The branch has changed since the compaction was planned; nothing was written.

    Attributes:
        leaf: id of the node that the branch ends with now, "" if it is empty.
        revision: the branch's revision now.
    """

    def __init__(self, what: str, *, leaf: str, revision: int) -> None:
        self.leaf, self.revision = leaf, revision
        super().__init__(what)


class NotSent(SessionError):
    """A message waited for a compaction that failed or was cancelled; it was not sent.

    Attributes:
        draft: the message, as it was.
    """

    def __init__(self, what: str, *, draft: Message) -> None:
        self.draft = draft
        super().__init__(what)


class SessionBusy(SessionError):
    """Something runs that must not be disturbed: a compaction, a turn, an open call."""


class SessionDamaged(SessionError):
    """What is stored is damaged, or of a newer version: it can be read, and not be written to."""


class ToolTableError(SnapshotError):
    """A file that says what tools mean cannot be read, or has mistakes.

    Attributes:
        mistakes: one line for each: the file, where in it, what is wrong and what may be meant.
    """

    def __init__(self, mistakes: Iterable[str]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(self.mistakes))


class NotOverflow(SnapshotError):
    """The provider's error says something else than that the request is too large.

    Attributes:
        kind: what it says instead ("rate limit", "quota", "image limit", …).
    """

    def __init__(self, what: str, *, kind: str) -> None:
        self.kind = kind
        super().__init__(what)


class SummarizerRequired(SnapshotError):
    """Only a summary would fit, or the reader cannot see, and no `summarize` was given."""


class CannotFit(SnapshotError):
    """Even fully compacted, the request is too large.

    Attributes:
        smallest: estimated tokens of the smallest request there is.
        limit: tokens it must not exceed.
    """

    def __init__(self, what: str, *, smallest: int, limit: int) -> None:
        self.smallest, self.limit = smallest, limit
        super().__init__(what)
