"""What every billing rule can say, and the bounds of the figures that rules are made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, Protocol

from msgspec import Meta, Struct

__all__ = ["BillingRule", "Decimals", "Extra", "Number", "Rule", "Side", "Tiles", "whole"]


def whole(low: int, high: int) -> Meta:
    """The bounds of a whole number, in a form that says itself what is allowed."""
    return Meta(ge=low, le=high, description=f"a whole number from {low:,} to {high:,}")


Side = Annotated[int, whole(1, 100_000)]
"""Pixels of a side."""
Number = Annotated[int, whole(1, 10**12)]
"""Tokens, patches or pixels of an area."""
Extra = Annotated[int, whole(0, 10**6)]
"""Tokens that come on top."""
Tiles = Annotated[int, whole(1, 1000)]
"""Tiles of an image; all grids of so many are tried."""
Decimals = Annotated[
    str,
    Meta(
        pattern=r"^(?=.*[1-9])[0-9]{1,6}(\.[0-9]{1,6})?$",
        description='a number above 0 as text, as in "1.2"',
    ),
]
"""A factor that must stay exact."""


class BillingRule(Protocol):
    """What every rule can say. `flat` is true where a smaller image costs (about) as much."""

    flat: ClassVar[bool]

    def preprocess(self, width: int, height: int) -> tuple[int, int]:
        """Size in pixels that the encoder sees; where it differs from the image's, glyphs are resampled."""
        ...

    def tokens(self, width: int, height: int) -> int:
        """Input tokens billed for the image."""
        ...

    def native_sizes(self, side: int) -> Iterator[tuple[int, int]] | None:
        """Sizes in pixels, no side above `side`, that come through unresized, where only a few do.

        None where whatever is smaller than an unresized image is unresized too, and costs no more.
        """
        ...

    def steady(self, width: int, height: int) -> bool:
        """Whether no rounding error in the provider's arithmetic can change how the image is seen."""
        ...


class Rule(Struct, frozen=True, forbid_unknown_fields=True, tag_field="rule"):
    """What most rules have in common: any small image is unresized, and the arithmetic is whole numbers.

    A rule's tag is its name in layout files, its fields are the parameters there, and their types the bounds.
    """

    flat: ClassVar[bool] = False

    def native_sizes(self, side: int) -> Iterator[tuple[int, int]] | None:  # noqa: ARG002
        """See `BillingRule.native_sizes`."""
        return None

    def steady(self, width: int, height: int) -> bool:  # noqa: ARG002
        """See `BillingRule.steady`."""
        return True
