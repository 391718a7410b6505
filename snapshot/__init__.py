"""Long agent conversations as dense pages that vision models read for a fraction of the tokens.

    import snapshot

    transcript = snapshot.load("session.jsonl")
    for page in snapshot.render(transcript, model="claude-opus-4-8"):
        page.png, page.width, page.height, page.start, page.stop, page.chars, page.tokens

Importing this package imports nothing heavy: NumPy, FreeType and numba come when something is rendered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snapshot.errors import (
        FontError,
        LayoutError,
        OutputError,
        PageError,
        SnapshotError,
        TranscriptError,
    )
    from snapshot.layout import Layout, layout_for
    from snapshot.messages import Transcript
    from snapshot.pages import Page, render
    from snapshot.source import Source, source_of
    from snapshot.transcripts import load

__version__ = "0.1.0"

_HOMES = {
    "FontError": "errors",
    "Layout": "layout",
    "LayoutError": "errors",
    "OutputError": "errors",
    "Page": "pages",
    "PageError": "errors",
    "SnapshotError": "errors",
    "Source": "source",
    "Transcript": "messages",
    "TranscriptError": "errors",
    "layout_for": "layout",
    "load": "transcripts",
    "render": "pages",
    "source_of": "source",
}

__all__ = [
    "FontError",
    "Layout",
    "LayoutError",
    "OutputError",
    "Page",
    "PageError",
    "SnapshotError",
    "Source",
    "Transcript",
    "TranscriptError",
    "layout_for",
    "load",
    "render",
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
