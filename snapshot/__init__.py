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

if TYPE_CHECKING:
    from snapshot.compaction import Archive, CacheEconomics, Compaction, Options, compact
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
    from snapshot.messages import Transcript
    from snapshot.pages.layout import Layout, layout_for
    from snapshot.pages.render import Page, render
    from snapshot.recovery import recover
    from snapshot.requests import request
    from snapshot.source.source import Source, source_of
    from snapshot.transcripts import dump, from_messages, load

__version__ = "0.1.0"

_HOMES = {
    "Archive": "compaction",
    "ArchiveError": "errors",
    "CacheEconomics": "compaction",
    "CannotFit": "errors",
    "Compaction": "compaction",
    "FontError": "errors",
    "Layout": "layout",
    "LayoutError": "errors",
    "NotOverflow": "errors",
    "Options": "compaction",
    "OutputError": "errors",
    "Page": "pages",
    "PageError": "errors",
    "SnapshotError": "errors",
    "Source": "source",
    "SummarizerRequired": "errors",
    "Transcript": "messages",
    "TranscriptError": "errors",
    "compact": "compaction",
    "dump": "transcripts",
    "from_messages": "transcripts",
    "layout_for": "layout",
    "load": "transcripts",
    "recover": "recovery",
    "render": "pages",
    "request": "requests",
    "source_of": "source",
}

__all__ = [
    "Archive",
    "ArchiveError",
    "CacheEconomics",
    "CannotFit",
    "Compaction",
    "FontError",
    "Layout",
    "LayoutError",
    "NotOverflow",
    "Options",
    "OutputError",
    "Page",
    "PageError",
    "SnapshotError",
    "Source",
    "SummarizerRequired",
    "Transcript",
    "TranscriptError",
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


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
