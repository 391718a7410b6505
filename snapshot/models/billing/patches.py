"""Rules that bill by the patch: a square of pixels that the encoder makes one token of."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil, floor, sqrt

from snapshot.models.billing._rule import BillingRule, Decimals, Extra, Number, Rule, Side

__all__ = ["BudgetedPatches", "KimiPatches", "PaddedPatches", "RoundedPatches", "RowPatches", "whole_patches"]


class PaddedPatches(Rule, frozen=True, tag="padded-patches"):
    """Anthropic: ceil(w/patch) · ceil(h/patch) tokens, after a fit under an edge cap and a token cap.

    The fit keeps the aspect and takes the largest long edge whose padded edges and tokens are within
    the caps; the short edge is rounded to the nearest pixel. Source: Anthropic's vision documentation
    (2026-07), where the resize is given as reference code.

    Attributes:
        patch: side of a patch in pixels.
        max_edge: cap on either edge, padded up to whole patches, in pixels.
        max_tokens: cap on the tokens of one image.
    """

    patch: Side
    max_edge: Side
    max_tokens: Number

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


class BudgetedPatches(Rule, frozen=True, tag="budgeted-patches"):
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

    patch: Side
    budget: Number
    max_side: Side
    multiplier: Decimals

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


class RowPatches(Rule, frozen=True, tag="row-patches"):
    """Mistral: (⌈w/patch⌉ + 1) · ⌈h/patch⌉ tokens: every row of patches ends with a break.

    A longer side over `max_side` makes both sides round(side · max_side / longest). Source: the image
    encoder of mistral_common 1.13.1. Mistral's documentation counts without the row break.

    Attributes:
        patch: side of a patch in pixels.
        max_side: largest side in pixels.
    """

    patch: Side
    max_side: Side

    def preprocess(self, width: int, height: int) -> tuple[int, int]:
        """Size in pixels within the side limit, before its padding to whole patches."""
        long = max(width, height)
        if long <= self.max_side:
            return width, height
        ratio = long / self.max_side
        return max(1, round(width / ratio)), max(1, round(height / ratio))

    def tokens(self, width: int, height: int) -> int:
        """Patches and row breaks."""
        seen = self.preprocess(width, height)
        return ((seen[0] - 1) // self.patch + 2) * ((seen[1] - 1) // self.patch + 1)


class RoundedPatches(Rule, frozen=True, tag="rounded-patches"):
    """Qwen-VL and GLM-4.xV: sides are rounded to whole patches, so only whole patches come unresized.

    Over `max_tokens` patches: β = √(w·h / (max_tokens·patch²)), sides ⌊side/β/patch⌋·patch; below
    `min_tokens`: β = √(min_tokens·patch² / (w·h)), sides ⌈side·β/patch⌉·patch. Source: `smart_resize` of the
    open processors (transformers 5.24.0); DashScope documents the same with two tokens more.

    Attributes:
        patch: side of a patch in pixels.
        max_tokens: most patches of one image.
        min_tokens: fewest patches of one image.
        extra: tokens around the patches.
    """

    patch: Side
    max_tokens: Number
    min_tokens: Number
    extra: Extra

    def preprocess(self, width: int, height: int) -> tuple[int, int]:
        """Size in pixels, whole patches."""
        patch = self.patch
        wide, high = (max(1, round(side / patch)) for side in (width, height))
        if wide * high > self.max_tokens:
            beta = sqrt(width * height / (self.max_tokens * patch * patch))
            wide, high = (max(1, floor(side / beta / patch)) for side in (width, height))
        elif wide * high < self.min_tokens:
            beta = sqrt(self.min_tokens * patch * patch / (width * height))
            wide, high = (ceil(side * beta / patch) for side in (width, height))
        return wide * patch, high * patch

    def tokens(self, width: int, height: int) -> int:
        """Patches and what goes around them."""
        wide, high = self.preprocess(width, height)
        return wide // self.patch * (high // self.patch) + self.extra

    def native_sizes(self, side: int) -> Iterator[tuple[int, int]]:
        """Whole patches, within the caps."""
        return whole_patches(self, self.patch, side)


class KimiPatches(Rule, frozen=True, tag="kimi-patches"):
    """Kimi K2.5 and later: ⌈w/28⌉ · ⌈h/28⌉ tokens for a patch of 14, after a fit; never enlarged.

    Scale = min(1, √(max_patches / (⌊w/patch⌋·⌊h/patch⌋)), max_side/w, max_side/h), sides truncated, then
    padded to two patches. Source: `navit_resize` of the open processor (transformers 5.24.0). Moonshot's own
    documentation calls the count dynamic and names an endpoint for it.

    Attributes:
        patch: side of a patch in pixels; a token is two by two of them.
        max_patches: most patches of one image.
        max_side: largest side in pixels.
    """

    patch: Side
    max_patches: Number
    max_side: Side

    def preprocess(self, width: int, height: int) -> tuple[int, int]:
        """Size in pixels after the fit, before its padding."""
        patches = max(1, width // self.patch) * max(1, height // self.patch)
        scale = min(1.0, sqrt(self.max_patches / patches), self.max_side / width, self.max_side / height)
        return max(1, int(width * scale)), max(1, int(height * scale))

    def tokens(self, width: int, height: int) -> int:
        """Squares of two by two patches, the last of a side padded."""
        seen, square = self.preprocess(width, height), 2 * self.patch
        return -(-seen[0] // square) * -(-seen[1] // square)


def whole_patches(rule: BillingRule, patch: int, side: int) -> Iterator[tuple[int, int]]:
    """Sizes in whole patches that `rule` leaves as they are, no side above `side`."""
    for width in range(patch, side + 1, patch):
        for height in range(patch, side + 1, patch):
            if rule.preprocess(width, height) == (width, height):
                yield width, height
