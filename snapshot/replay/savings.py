"""What pages would have saved a recorded run: the whole of it as text, and with the older part as pages."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from snapshot.compaction import Options
from snapshot.costs.costs import cost_of_source
from snapshot.messages import Transcript
from snapshot.pages.layout import layout_for
from snapshot.pages.render import Typesetter
from snapshot.replay.recording import Recording
from snapshot.replay.replay import Replay, replay
from snapshot.source.source import Source

__all__ = ["Savings", "savings_of"]

# Where the window never fills: from which share of the largest request on pages are tried, and down to which.
_TRIED, _DOWN_TO = 0.7, 0.35


@dataclass(frozen=True, slots=True)
class Savings:
    """What a run takes as text, what its text takes as pages, and what the whole run costs either way.

    Attributes:
        model: id of the model.
        layout: name of the pages' layout.
        window: the model's context window in tokens.
        chars: characters of all text in the run.
        text_tokens: what that takes as text, estimated as `render` and `compact` do.
        pages, page_tokens: what it is as pages, all of it: what `render` makes.
        pays_from: characters from which pages are cheaper than text; None where they never are.
        text: the run with everything as text; None where it has no requests, as a mere document has not.
        ours: the run with its older part as pages.
        threshold: tokens from which on the older part became pages.
        tried: whether that is a trial, since the run never fills nine tenths of its window.
    """

    model: str
    layout: str
    window: int
    chars: int
    text_tokens: int
    pages: int
    page_tokens: int
    pays_from: int | None
    text: Replay | None
    ours: Replay | None
    threshold: int = 0
    tried: bool = False

    @property
    def pays_from_tokens(self) -> int | None:
        """The same in tokens as text."""
        if self.pays_from is None:
            return None
        return round(self.pays_from * self.text_tokens / max(1, self.chars))

    @property
    def saved(self) -> Decimal | None:
        """USD that pages save the whole run, below 0 where they cost; None where one of both does not go
        through, or prices are not known."""
        text, ours = self.text, self.ours
        if text is None or ours is None or text.stopped is not None or ours.stopped is not None:
            return None
        return None if text.usd is None or ours.usd is None else text.usd - ours.usd

    def as_json(self) -> dict[str, Any]:
        """The savings as a JSON object; USD and shares as numbers."""
        saved = self.saved
        whole = None if self.text is None else self.text.usd
        return {
            "model": self.model,
            "layout": self.layout,
            "window": self.window,
            "chars": self.chars,
            "text_tokens": self.text_tokens,
            "pages": self.pages,
            "page_tokens": self.page_tokens,
            "pays_from_chars": self.pays_from,
            "pays_from_tokens": self.pays_from_tokens,
            "threshold": self.threshold or None,
            "threshold_is_a_trial": self.tried,
            "text": _run(self.text),
            "with_pages": _run(self.ours),
            "usd_saved": None if saved is None else float(saved),
            "share_saved": None if saved is None or not whole else round(float(saved / whole), 4),
        }


def _run(found: Replay | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "requests": len(found.requests),
        "compactions": found.compactions,
        "peak": found.peak,
        "usd": None if found.usd is None else float(found.usd),
        "stopped": found.stopped,
        "reason": found.reason or None,
    }


def savings_of(transcript: Transcript, source: Source, model: str, *, window: int = 0) -> Savings:
    """What pages would save a run.

    Args:
        transcript: the run.
        source: its source text, which the pages are made of.
        model: id of the model to bill it with.
        window: tokens of the context window; 0: the model's own.

    Raises:
        LayoutError: the model is not known, or cannot see.
        SnapshotError: its window is not known.
    """
    layout = layout_for(model)
    cost = cost_of_source(model, Typesetter(layout), "all", source, count=False)
    recording = Recording.of(transcript, model)
    text = ours = None
    threshold, tried = 0, False
    if recording.answers:
        text = replay(recording, policy="text", window=window)
        ours = replay(recording, policy="ours", window=window)
        threshold = round(0.9 * ours.safe)
        if not ours.compactions and ours.stopped is None:
            # What does not fill the window costs all the same: each request reads all that stands before.
            tried, threshold = True, round(_TRIED * text.peak)
            options = Options(threshold=max(2, threshold), target=max(2, round(_DOWN_TO * text.peak)))
            ours = replay(recording, policy="ours", window=window, options=options)
    return Savings(
        model,
        layout.name,
        window or (text.window if text is not None else layout.reader.window),
        cost.chars,
        cost.text_tokens,
        cost.pages,
        cost.page_tokens,
        cost.break_even,
        text,
        ours,
        threshold,
        tried,
    )
