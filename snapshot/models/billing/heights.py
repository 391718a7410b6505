"""The height of a page that is not full."""

from __future__ import annotations

from functools import lru_cache

from snapshot.models.billing._rule import BillingRule

__all__ = ["fitted_height"]


@lru_cache(maxsize=4096)
def fitted_height(rule: BillingRule, width: int, needed: int, full: int) -> int:
    """The cheapest height in pixels from `needed` to `full` at which a page this wide is not resized.

    Of equal ones the lowest. `full` is taken where none is, and where `needed` is above it.
    """
    best: tuple[int, int] | None = None
    shrinks = rule.native_sizes(0) is None
    for height in range(needed, full + 1):
        if rule.preprocess(width, height) != (width, height) or not rule.steady(width, height):
            continue
        if shrinks:
            return height
        price = rule.tokens(width, height), height
        if best is None or price < best:
            best = price
    return full if best is None else best[1]
