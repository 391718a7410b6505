"""How full the window is: the provider's own count where it is known, an estimate for the rest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from snapshot.compaction.estimate import Estimator
from snapshot.compaction.tally import Report, Tally
from snapshot.messages import Message
from snapshot.models.profile import ModelProfile

__all__ = ["ContextUsage", "context_usage", "usage_of"]


@dataclass(frozen=True, slots=True)
class ContextUsage:
    """How full the window is.

    Attributes:
        tokens: the figure to go by.
        estimator: the estimator, corrected by what the provider reported.
        basis: one sentence on where the figure comes from.
    """

    tokens: int
    estimator: Estimator
    basis: str


# Below this share of the estimate, a single report is of a shorter conversation than this one: the history
# was compacted before it was sent, or other tools stood between. Several that rise together are believed
# down to the second share: some texts (runs of blanks, of one sign) take far fewer tokens than estimated.
_SHORTER, _LEAST = 1 / 2, 1 / 8
_AGREEING = 3
# A report above the estimate may be of other text beside this one, as long as a window could hold it.
_LARGER = 2.0
# Between these factors the slope of two reports tells what text really takes.
_STEEPEST = 4.0


def usage_of(tally: Tally, *, overhead: int | None = None) -> ContextUsage:
    """How full the window is after the messages of a tally.

    The newest usage that the provider reported (cache reads and writes included), the tokens of its answer,
    and an estimate of what came after it; without usage, or where it cannot be of these messages, an estimate
    of the whole. What the newest report counts beyond the messages before it is taken for tool definitions
    and other overhead, unless `overhead` is given. Reports raise the estimate of single parts and never lower
    it: what is underestimated is refused by the provider, the other way is safe.
    """
    reader, reports = tally.reader, tally.reports
    plain = Estimator(reader, overhead=overhead or 0)
    total = tally.plain_tokens()
    if not reports:
        return ContextUsage(plain.overhead + total, plain, "estimated: no usage was reported")
    newest = reports[-1]
    ratio = newest.input / max(1, (overhead or 0) + newest.estimate)
    if not _is_of_this(reports, overhead or 0, reader):
        note = f"estimated: reported usage is {ratio:.2f} of what the text takes, so not of it"
        return ContextUsage(plain.overhead + total, plain, note)
    scale = _scale(reports, overhead)
    if overhead is None:
        overhead = max(0, newest.input - newest.shown - round(newest.text * scale))
    estimator = replace(plain, scale=scale, overhead=overhead)
    shown = tally.shown_tokens(newest.at + 1)
    after = shown + round((tally.plain_tokens(newest.at + 1) - shown) * scale)
    answer = newest.output or estimator.message(tally.messages[newest.at])
    tokens = newest.input + answer + after
    since = f", and an estimate of {after:,} since" if after else ""
    return ContextUsage(tokens, estimator, f"reported by the provider{since}")


def _is_of_this(reports: Sequence[Report], overhead: int, reader: ModelProfile) -> bool:
    """Whether the newest report can be of the messages before it."""
    newest = reports[-1]
    ratio = newest.input / max(1, overhead + newest.estimate)
    if ratio >= 1:
        # Sums over a whole session are larger than any window.
        return ratio <= _LARGER or newest.input <= (reader.window or newest.input)
    if newest.input >= _SHORTER * (overhead + newest.estimate - newest.documents):
        return True
    last = reports[-_AGREEING:]
    rising = all(one.input <= other.input for one, other in pairwise(last))
    shares = [one.input / max(1, overhead + one.estimate) for one in last]
    return len(last) == _AGREEING and rising and min(shares) >= _LEAST and max(shares) <= 2 * min(shares)


def _scale(reports: Sequence[Report], overhead: int | None) -> float:
    """The factor on the estimate of text; at least 1.

    With a known overhead, the newest report alone says it. Without, what text takes and what stands beside it
    are told apart by the growth since a report on at most half as much text.
    """
    newest = reports[-1]
    if overhead is not None:
        beside = overhead + newest.shown
        return max(1.0, (newest.input - beside) / newest.text) if newest.text else 1.0
    older = next((report for report in reports if report.text <= newest.text // 2), None)
    if older is None or newest.text <= older.text:
        return 1.0
    slope = ((newest.input - newest.shown) - (older.input - older.shown)) / (newest.text - older.text)
    if not 1.0 < slope <= _STEEPEST:
        return 1.0
    # Nothing beside the text takes less than nothing.
    return max(1.0, min(slope, (newest.input - newest.shown) / newest.text))


def context_usage(
    messages: Iterable[Message], reader: ModelProfile, *, overhead: int | None = None
) -> ContextUsage:
    """How full the window is after `messages`, see `usage_of`."""
    tally = Tally(reader)
    tally.follow(tuple(messages))
    return usage_of(tally, overhead=overhead)
