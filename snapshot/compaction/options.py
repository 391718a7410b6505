"""What a caller can say about a compaction, with defaults that scale with the model's window."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from snapshot.errors import SnapshotError

if TYPE_CHECKING:
    from snapshot.compaction.summary.prompted import SummaryRequest
    from snapshot.redaction import Redactor

__all__ = ["RUNGS", "CacheEconomics", "Options", "Trigger"]

RUNGS = ("elide", "images", "snapshot", "summarize")
"""The rungs of the ladder, cheapest first."""

Trigger = Literal["target", "manual", "after-turn", "preflight"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheEconomics:
    """What the prompt cache makes of a change at the front of the prompt.

    Attributes:
        turns: requests that are still to come, as far as the caller knows.
        read: price of a cached token, as a share of the input price.
        write: price of writing a token into the cache, as a share of the input price.
    """

    turns: int
    read: float = 0.1
    write: float = 1.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Settings of a compaction.

    Attributes:
        window: tokens of the model's context window; 0: what the layout file knows.
        max_output: tokens that the answer may take; 0: what the layout file knows, or an eighth.
        target: what to come down to: a share of the safe input up to 1, or tokens.
        tail: share of the target that the verbatim tail may take.
        rungs: the rungs to use, of `RUNGS`.
        pins: numbers of messages (from 0) that stay word for word.
        protect: names of tools whose results are never elided.
        focus: what the compaction should keep in view, for summaries and the reading guide.
        keep_fields: names of fields of tool results that must survive.
        summarize: makes a summary; `snapshot.summarizers` has some.
        digest: take the offline digest where only a summary would do and none can be made.
        layout: name of a layout in place of the model's own; also insists on pages for an unknown reader.
        reasoning: print what the model thought on the pages.
        redact: replace credentials before anything is archived or rendered; or a redactor of one's own.
        overhead: tokens of tool definitions and the like; None: from what the provider reported.
        limits: limits in place of the layout file's, by name.
        cache: economics of the prompt cache, if they are to count.
        pending: an approval is pending, so the conversation is not stable.
        scale: factor on estimates, from a rejected request.
        threads: pages made at once.
        progress: called with the pages that are drawn and their total; what it raises ends the compaction.
    """

    window: int = 0
    max_output: int = 0
    target: float = 0.5
    tail: float = 0.3
    rungs: tuple[str, ...] = RUNGS
    pins: frozenset[int] = frozenset()
    protect: frozenset[str] = frozenset()
    focus: str = ""
    keep_fields: tuple[str, ...] = ()
    summarize: Callable[[SummaryRequest], str] | None = None
    digest: bool = False
    layout: str | None = None
    reasoning: bool = False
    redact: bool | Redactor = True
    overhead: int | None = None
    limits: Mapping[str, int] = field(default_factory=dict)
    cache: CacheEconomics | None = None
    pending: bool = False
    scale: float = 1.0
    threads: int | None = None
    progress: Callable[[int, int], None] | None = None

    def __post_init__(self) -> None:
        if unknown := [name for name in self.rungs if name not in RUNGS]:
            raise SnapshotError(f"unknown rung {unknown[0]!r}: there are {', '.join(RUNGS)}")
        if not self.target > 0:
            raise SnapshotError(f"target is {self.target}, it must be a share up to 1 or a number of tokens")
        if not 0 <= self.tail < 1:
            raise SnapshotError(f"tail is {self.tail}, it must be a share from 0 to below 1")


@dataclass(frozen=True, slots=True)
class Budget:
    """How many tokens a request may have.

    Attributes:
        window: the model's context window.
        safe: what the input may take, so that the answer and a margin of error fit as well.
        goal: what to come down to.
        tail: what the verbatim tail may take of it.
    """

    window: int
    safe: int
    goal: int
    tail: int

    @classmethod
    def of(cls, options: Options, window: int, max_output: int) -> Budget:
        """All from the window: the answer takes up to a quarter, errors of estimate a fiftieth of it."""
        answer = min(max_output or window // 8, window // 4)
        safe = max(1, window - answer - window // 50)
        goal = int(options.target * safe) if options.target <= 1 else min(int(options.target), safe)
        return cls(window, safe, goal, int(options.tail * goal))
