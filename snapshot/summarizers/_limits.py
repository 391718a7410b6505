"""What is known of the model that summarizes."""

from __future__ import annotations

from snapshot.compaction.summary.prompted import Summarize, Summarizer
from snapshot.errors import LayoutError
from snapshot.models.ids import profile_for

__all__ = ["limited"]


def limited(call: Summarize, model: str, *, window: int, max_output: int, like: str) -> Summarizer:
    """A summarizer with the limits of its model; those that are given win.

    Raises:
        LayoutError: `like` is no model that is known.
    """
    try:
        reader = profile_for(model, like=like or None)
    except LayoutError:
        if like:
            raise
        return Summarizer(call, window, max_output)
    return Summarizer(call, window or reader.window, max_output or reader.max_output, reader)
