"""The page that holds most characters per billed token: found by trying every size there is.

The objective, in this order:

1. most cells per billed token, compared as fractions: what a reader pays for one character;
2. of equal ones the most cells: fewer images, and limits count images;
3. of equal ones the least area, then the squarer page, and the wider of two turned ones.

Where trials say how long the rows were that a reader read, its page is the best one with rows no longer than
those (but for one cell in twenty), if it is hardly dearer (`page_for`): a narrower page, or one in columns.

A page counts only if it has `FEWEST_CELLS` cells (a cheaper character is no gain in thirty images), if the
provider neither resizes nor refuses it, and if no rounding in the provider's arithmetic could (`steady`).
Partial pages need no condition of their own: `fitted_height` gives each the cheapest height that comes
through unresized, and the full height is always one.

The search is exact. Where a smaller image is unresized and no dearer (`native_sizes` is None), the least
size of so many columns and rows is the best with them, so those are all that is tried, up to the first that
is resized; elsewhere every unresized size is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

from snapshot.models.billing import BillingRule
from snapshot.models.trials import as_wide
from snapshot.typeset.columns import column_width

__all__ = [
    "FEWEST_CELLS",
    "LARGEST_SIDE",
    "LEAST_LINE",
    "MOST_DEARER",
    "Answer",
    "Bounds",
    "bounds_of",
    "explain",
    "line_columns",
    "page_for",
    "solve",
]

LARGEST_SIDE = 2000
"""Pixels of a side that every known route takes (Claude's limit where a request has many images)."""

FEWEST_CELLS = 2500
"""Cells of the smallest page that is worth an image: about a screen of a terminal."""

LEAST_LINE = 50
"""Cells of the narrowest column of lines: most lines of code are shorter."""

MOST_DEARER = Fraction(3, 100)
"""Tokens more for each character that rows of the length that was read may cost."""

_FEWEST_COLUMNS, _MOST_IN_COLUMNS = 20, 6
_SHORT = 84
"""Cells of the rows that most readers were tried with; shorter ones tear more words for no known gain."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a page may be: longest side, pixels in all, and long side over short side; 0 is any."""

    side: int = LARGEST_SIDE
    pixels: int = 0
    aspect: int = 0

    def allow(self, width: int, height: int) -> bool:
        """Whether a page of that size is within them."""
        return (
            max(width, height) <= self.side
            and (not self.pixels or width * height <= self.pixels)
            and (not self.aspect or max(width, height) <= self.aspect * min(width, height))
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """The best page: its size in pixels, cells, billed tokens, and columns of flowing text."""

    width: int
    height: int
    columns: int
    rows: int
    tokens: int
    count: int = 1

    @property
    def row_width(self) -> int:
        """Cells of a row as it is read."""
        return column_width(self.columns, self.count)

    @property
    def cells(self) -> int:
        """Characters that fit, if each takes a cell."""
        return self.row_width * self.count * self.rows

    @property
    def per_token(self) -> Fraction:
        """Cells per billed token."""
        return Fraction(self.cells, self.tokens)

    def _rank(self) -> tuple[int, int, int, int]:
        return self.cells, -self.width * self.height, -abs(self.width - self.height), self.width

    def beats(self, other: Answer) -> bool:
        """Whether this one is better by the objective."""
        # Cross-multiplied: thousands of fractions would take most of the time.
        mine, theirs = self.cells * other.tokens, other.cells * self.tokens
        return mine > theirs or (mine == theirs and self._rank() > other._rank())


def bounds_of(limits: Mapping[str, int], bounds: tuple[int, str] | None = None) -> Bounds:
    """The bounds that a reader's limits set on a page, and those of its layout file."""
    sides = [limits[key] for key in ("max_side", "max_side_many") if key in limits]
    own = LARGEST_SIDE if bounds is None else bounds[0]
    return Bounds(min([own, *sides]), limits.get("max_pixels", 0), limits.get("max_aspect", 0))


@cache
def solve(
    rule: BillingRule, cell: tuple[int, int], bounds: Bounds, read: int = 0, counts: tuple[int, ...] = (1,)
) -> Answer | None:
    """The best page for a rule, a cell in pixels and bounds; None where no page of `FEWEST_CELLS` fits.

    Args:
        rule, cell, bounds: of the reader.
        read: cells of the longest rows that were read; 0 for any length.
        counts: numbers of columns that text may flow in.
    """
    best: Answer | None = None
    for width, height in _sizes(rule, cell, bounds.side):
        columns, rows = width // cell[0], height // cell[1]
        if columns < _FEWEST_COLUMNS or columns * rows < FEWEST_CELLS or not bounds.allow(width, height):
            continue
        fitting = [count for count in counts if not read or _as_read(column_width(columns, count), read)]
        tokens = rule.tokens(width, height) if fitting else 0
        for count in fitting:
            answer = Answer(width, height, columns, rows, tokens, count)
            if answer.cells < FEWEST_CELLS or answer.row_width < _FEWEST_COLUMNS:
                continue
            if (best is None or answer.beats(best)) and rule.steady(width, height):
                best = answer
    return best


def page_for(
    rule: BillingRule, cell: tuple[int, int], bounds: Bounds, read: int, *, columns: bool = False
) -> Answer | None:
    """The page of a reader that was tried: the best there is, unless its rows are longer than those that were
    read and pages with rows of that length cost at most `MOST_DEARER` more.

    Args:
        rule, cell, bounds: of the reader.
        read: cells of the longest rows that were read; 0 where nobody says.
        columns: whether text is to stand in columns at any rate: fewer images, for hosts that count them.
    """
    best = solve(rule, cell, bounds)
    if best is None or not read or as_wide(best.columns, read):
        return best
    near = solve(rule, cell, bounds, read, tuple(range(2 if columns else 1, _MOST_IN_COLUMNS + 1)))
    affordable = near is not None and near.per_token * (1 + MOST_DEARER) >= best.per_token
    return near if affordable else best


def _as_read(columns: int, read: int) -> bool:
    """Whether rows are no longer than those that were read, nor shorter than those of most trials."""
    return as_wide(columns, read) and as_wide(min(read, _SHORT), columns)


def explain(rule: BillingRule, cell: tuple[int, int], bounds: Bounds) -> tuple[str, ...]:
    """Why the best page is no better: the bounds that bind, each found by solving without it.

    Where none does, the page is held by the rule itself.
    """
    best = solve(rule, cell, bounds)
    if best is None:
        return ("no page fits",)
    wider = {
        f"no side over {bounds.side} px": replace(bounds, side=bounds.side + bounds.side // 4),
        f"no more than {bounds.pixels:,} px": replace(bounds, pixels=0),
        f"no side over {bounds.aspect} times the other": replace(bounds, aspect=0),
    }
    reasons = []
    for reason, other in wider.items():
        freed = None if other == bounds else solve(rule, cell, other)
        if freed is not None and freed.beats(best):
            gain = (
                ""
                if freed.per_token == best.per_token
                else f", {float(freed.per_token / best.per_token - 1):.1%} more"
            )
            reasons.append(f"{reason} (else {freed.width}×{freed.height}{gain})")
    if best.width % cell[0] == 0 and best.height % cell[1] == 0:
        whole = "whole cells, no pixel left over"
    else:
        whole = (
            f"{best.width % cell[0]} and {best.height % cell[1]} px left over, for a size that is not resized"
        )
    return (*(reasons or ["no bound of the page: the rule's own caps"]), whole)


def line_columns(columns: int) -> int:
    """How many columns of lines a page of `columns` cells across takes, each `LEAST_LINE` cells at the least.

    More and narrower columns hold more, since most lines are short, until most of them wrap: measured by
    `benchmarks.lines`.
    """
    count = 1
    while column_width(columns, count + 1) >= LEAST_LINE:
        count += 1
    return count


def _sizes(rule: BillingRule, cell: tuple[int, int], side: int) -> Iterator[tuple[int, int]]:
    native = rule.native_sizes(side)
    if native is not None:
        yield from native
        return
    for width in range(_FEWEST_COLUMNS * cell[0], side + 1, cell[0]):
        heights = range(cell[1], side + 1, cell[1])
        unresized = (height for height in heights if rule.preprocess(width, height) == (width, height))
        # The smallest may be enlarged; whatever is larger than one that is scaled down is scaled down too.
        lowest = next(unresized, side + 1)
        for height in range(lowest, side + 1, cell[1]):
            if height > lowest and rule.preprocess(width, height) != (width, height):
                break
            yield width, height
