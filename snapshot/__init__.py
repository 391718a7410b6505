"""Long agent conversations as dense pages that vision models read for a fraction of the tokens.

    import snapshot

    transcript = snapshot.load("session.jsonl")
    for page in snapshot.render(transcript, model="claude-opus-4-8"):
        page.png, page.width, page.height, page.start, page.stop, page.chars, page.tokens

    smaller = snapshot.compact(messages, model="claude-opus-4-8", window=200_000)
    smaller.request("anthropic"), smaller.archive, smaller.report

Importing this package imports nothing heavy: NumPy, FreeType and numba come when something is rendered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapshot._lazy import lazy_names
from snapshot._version import __version__ as __version__

if TYPE_CHECKING:
    from snapshot.compaction import (
        Archive,
        CacheEconomics,
        Compaction,
        Edit,
        Options,
        Report,
        RungReport,
        acompact,
        compact,
    )
    from snapshot.compaction.options import Settings
    from snapshot.errors import (
        ArchiveError,
        CannotFit,
        FontError,
        LayoutError,
        NotOverflow,
        OutputError,
        PageError,
        SnapshotError,
        SummarizerRequired,
        TranscriptError,
    )
    from snapshot.messages import Message, Text, Transcript
    from snapshot.models.profile import ModelProfile, Price
    from snapshot.pages.layout import Layout, layout_for
    from snapshot.pages.render import Page, render
    from snapshot.recovery import ErrorClass, arecover, classify_error, recover
    from snapshot.redaction import Redactor
    from snapshot.requests import request
    from snapshot.source.source import Source, source_of
    from snapshot.transcripts import dump, from_messages, load

_HOMES = {
    "Archive": "compaction",
    "ArchiveError": "errors",
    "CacheEconomics": "compaction",
    "CannotFit": "errors",
    "Compaction": "compaction",
    "Edit": "compaction",
    "ErrorClass": "recovery",
    "FontError": "errors",
    "Layout": "pages.layout",
    "LayoutError": "errors",
    "Message": "messages",
    "ModelProfile": "models.profile",
    "NotOverflow": "errors",
    "Options": "compaction",
    "OutputError": "errors",
    "Page": "pages.render",
    "PageError": "errors",
    "Price": "models.profile",
    "Redactor": "redaction",
    "Report": "compaction",
    "RungReport": "compaction",
    "Settings": "compaction.options",
    "SnapshotError": "errors",
    "Source": "source.source",
    "SummarizerRequired": "errors",
    "Text": "messages",
    "Transcript": "messages",
    "TranscriptError": "errors",
    "acompact": "compaction",
    "arecover": "recovery",
    "classify_error": "recovery",
    "compact": "compaction",
    "dump": "transcripts",
    "from_messages": "transcripts",
    "layout_for": "pages.layout",
    "load": "transcripts",
    "recover": "recovery",
    "render": "pages.render",
    "request": "requests",
    "source_of": "source.source",
}

__all__ = [
    "Archive",
    "ArchiveError",
    "CacheEconomics",
    "CannotFit",
    "Compaction",
    "Edit",
    "ErrorClass",
    "FontError",
    "Layout",
    "LayoutError",
    "Message",
    "ModelProfile",
    "NotOverflow",
    "Options",
    "OutputError",
    "Page",
    "PageError",
    "Price",
    "Redactor",
    "Report",
    "RungReport",
    "Settings",
    "SnapshotError",
    "Source",
    "SummarizerRequired",
    "Text",
    "Transcript",
    "TranscriptError",
    "acompact",
    "arecover",
    "classify_error",
    "compact",
    "dump",
    "from_messages",
    "layout_for",
    "load",
    "recover",
    "render",
    "request",
    "source_of",
]


__getattr__, __dir__ = lazy_names(__name__, _HOMES)
