"""Every error a caller can meet.

SnapshotError
├── TranscriptError   a file that no reader could take in
├── LayoutError       an unknown model or layout, or a broken layout file
├── FontError         a face that cannot be found, opened or fitted into its cell
├── PageError         a page that does not read back, or a manifest that does not fit its pages
├── OutputError       a folder that cannot be written to, or holds what is not ours
├── ArchiveError      an archive that is damaged, of a newer version, or of another conversation
├── NotOverflow       an error that is no overflow, so there is nothing to recover from
├── SummarizerRequired  only a summary would fit, and the caller gave no way to make one
└── CannotFit         even fully compacted, the request is too large

Each message is one line: what is wrong, where, and what to do.
"""

from __future__ import annotations

__all__ = [
    "ArchiveError",
    "CannotFit",
    "FontError",
    "LayoutError",
    "NotOverflow",
    "OutputError",
    "PageError",
    "SnapshotError",
    "SummarizerRequired",
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
