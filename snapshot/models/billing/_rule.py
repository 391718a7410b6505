"""What every billing rule can say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Protocol

__all__ = ["BillingRule", "Rule"]


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


class Rule:
    """What most rules have in common: any small image is unresized, and the arithmetic is whole numbers."""

    __slots__ = ()
    flat: ClassVar[bool] = False

    def native_sizes(self, side: int) -> Iterator[tuple[int, int]] | None:  # noqa: ARG002
        """See `BillingRule.native_sizes`."""
        return None

    def steady(self, width: int, height: int) -> bool:  # noqa: ARG002
        """See `BillingRule.steady`."""
        return True
