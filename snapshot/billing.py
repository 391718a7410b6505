"""What an image costs, in tokens, and the size it is seen in: the providers' rules as small frozen types.

A rule answers two questions about an image of `width` × `height` pixels:

* `preprocess(width, height)`: the size the encoder sees after the provider's own resize. Where it differs
  from what was sent, glyphs were resampled.
* `tokens(width, height)`: the input tokens billed.

Rules are named in `layouts/*.toml` and built by `rule_from`; a new one is a class in `RULES`. The vectors
that hold them to the token are in `tests/data/billing_vectors.json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from math import ceil, floor, isqrt, sqrt
from typing import ClassVar, Protocol

from snapshot.errors import LayoutError

__all__ = ["RULES", "BillingRule", "BudgetedPatches", "Grid", "PaddedPatches", "rule_from"]


class BillingRule(Protocol):
    """What every rule can say. `flat` is true where a smaller image costs no less."""

    flat: ClassVar[bool]

    def preprocess(self, width: int, height: int) -> tuple[int, int]:
        """Size in pixels that the encoder sees."""
        ...

    def tokens(self, width: int, height: int) -> int:
        """Input tokens billed for the image."""
        ...


@dataclass(frozen=True, slots=True)
class PaddedPatches:
    """Anthropic: ceil(w/patch) · ceil(h/patch) tokens, after a fit under an edge cap and a token cap.

    The fit keeps the aspect and takes the largest long edge whose padded edges and tokens are within
    the caps; the short edge is rounded to the nearest pixel. Source: Anthropic's vision documentation
    (2026-07), where the resize is given as reference code.

    Attributes:
        patch: side of a patch in pixels.
        max_edge: cap on either edge, padded up to whole patches, in pixels.
        max_tokens: cap on the tokens of one image.
    """

    flat: ClassVar[bool] = False
    patch: int
    max_edge: int
    max_tokens: int

    def _patches(self, width: int, height: int) -> tuple[int, int]:
        return -(-width // self.patch), -(-height // self.patch)

    def _fits(self, width: int, height: int) -> bool:
        across, down = self._patches(width, height)
        return max(across, down) * self.patch <= self.max_edge and across * down <= self.max_tokens

    def preprocess(self, width: int, height: int) -> tuple[int, int]:
        """Size in pixels after the fit."""
        if self._fits(width, height):
            return width, height
        long, short = max(width, height), min(width, height)

        def sized(edge: int) -> tuple[int, int]:
            other = max(1, floor(Fraction(edge * short, long) + Fraction(1, 2)))
            return (edge, other) if width >= height else (other, edge)

        low, high = 1, long
        while low < high:
            middle = (low + high + 1) // 2
            if self._fits(*sized(middle)):
                low = middle
            else:
                high = middle - 1
        return sized(low)

    def tokens(self, width: int, height: int) -> int:
        """Patches after the fit."""
        across, down = self._patches(*self.preprocess(width, height))
        return across * down


@dataclass(frozen=True, slots=True)
class BudgetedPatches:
    """OpenAI, patch-billed models: ceil(patches · multiplier), after a side limit and a patch budget.

    Source: OpenAI's guide to images and vision (2026-10). First the image is fitted into `max_side`
    (never enlarged). Over budget it is scaled by s = √(patch²·budget / (w·h)) and then by the factor
    that makes one side a whole number of patches. The guide says the result may differ by one token.

    Attributes:
        patch: side of a patch in pixels.
        budget: patches an image may have before it is scaled down.
        max_side: largest side in pixels.
        multiplier: tokens per patch, as a decimal string ("1.2"), so that it stays exact.
    """

    flat: ClassVar[bool] = False
    patch: int
    budget: int
    max_side: int
    multiplier: str

    def preprocess(self, width: int, height: int) -> tuple[int, int]:
        """Size in pixels within the side limit and the budget."""
        long = max(width, height)
        if long > self.max_side:
            width = max(1, width * self.max_side // long)
            height = max(1, height * self.max_side // long)
        if -(-width // self.patch) * -(-height // self.patch) <= self.budget:
            return width, height
        scale = sqrt(self.patch**2 * self.budget / (width * height))
        across, down = width * scale / self.patch, height * scale / self.patch
        # A side under one patch cannot be made whole by shrinking it.
        scale *= min((floor(x) / x for x in (across, down) if x >= 1), default=1.0)
        # The aim is a whole number of patches: what floating point leaves below it must not lose one.
        return max(1, floor(width * scale + 1e-6)), max(1, floor(height * scale + 1e-6))

    def tokens(self, width: int, height: int) -> int:
        """Patches times the multiplier, rounded up."""
        seen = self.preprocess(width, height)
        patches = -(-seen[0] // self.patch) * -(-seen[1] // self.patch)
        return ceil(patches * Fraction(self.multiplier))


@dataclass(frozen=True, slots=True)
class Grid:
    """Gemini 3: every image becomes a grid of about `budget` tokens, whatever its size.

    tokens = ⌊√(budget·w/h)⌋ · ⌊√(budget·h/w)⌋. Derived from measured bills (2026-07); the unit of 48
    pixels is the open Gemma 4 processor's and not confirmed for the service.

    Attributes:
        budget: tokens an image may have at the chosen media resolution.
        unit: side of the square that one token stands for, in pixels.
    """

    flat: ClassVar[bool] = True
    budget: int
    unit: int

    def _cells(self, width: int, height: int) -> tuple[int, int]:
        # ⌊√x⌋ = isqrt(⌊x⌋), so no floating point decides a token.
        across = max(1, isqrt(self.budget * width // height))
        return across, max(1, isqrt(self.budget * height // width))

    def preprocess(self, width: int, height: int) -> tuple[int, int]:
        """Size in pixels of the whole grid: small images are enlarged to it."""
        across, down = self._cells(width, height)
        return across * self.unit, down * self.unit

    def tokens(self, width: int, height: int) -> int:
        """Cells of the grid."""
        across, down = self._cells(width, height)
        return across * down


RULES: dict[str, type[PaddedPatches | BudgetedPatches | Grid]] = {
    "padded-patches": PaddedPatches,
    "budgeted-patches": BudgetedPatches,
    "grid": Grid,
}


def rule_from(table: Mapping[str, object], where: str) -> BillingRule:
    """The rule that a `billing` table of a layout file describes; `where` names the table in errors.

    Raises:
        LayoutError: an unknown rule, or a parameter that is missing, unknown or of the wrong type.
    """
    name = table.get("rule")
    kind = RULES.get(name) if isinstance(name, str) else None
    if kind is None:
        raise LayoutError(f"{where}: rule is {name!r}, known rules are {', '.join(RULES)}")
    wanted = {item.name: str if item.type == "str" else int for item in fields(kind)}
    given = {key: value for key, value in table.items() if key != "rule"}
    for key in wanted.keys() | given.keys():
        if key not in wanted or key not in given:
            problem = "is not a parameter of" if key not in wanted else "is missing for"
            raise LayoutError(f"{where}: {key} {problem} {name} (it takes {', '.join(wanted)})")
        if type(given[key]) is not wanted[key]:
            raise LayoutError(f"{where}: {key} is {given[key]!r}, it must be of type {wanted[key].__name__}")
    return kind(**given)  # type: ignore[arg-type]
