"""Rules that make one grid of every image, whatever its size."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import ceil, floor, isqrt
from typing import ClassVar

from snapshot.models.billing._rule import Extra, Number, Rule, Side
from snapshot.models.billing.patches import whole_patches

__all__ = ["ClosestGrid", "Grid"]


class Grid(Rule, frozen=True, tag="grid"):
    """Gemini 3: every image becomes a grid of about `budget` tokens, whatever its size.

    tokens = ⌊√(budget·w/h)⌋ · ⌊√(budget·h/w)⌋. Derived from measured bills (2026-07); the unit of 48
    pixels is the open Gemma 4 processor's and not confirmed for the service.

    Attributes:
        budget: tokens an image may have at the chosen media resolution.
        unit: side of the square that one token stands for, in pixels.
    """

    flat: ClassVar[bool] = True
    budget: Number
    unit: Side

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

    def native_sizes(self, side: int) -> Iterator[tuple[int, int]]:
        """Sizes that equal the whole grid made of them."""
        return whole_patches(self, self.unit, side)

    def steady(self, width: int, height: int) -> bool:
        """Whether the grid is the same with one token less to spend: ⌊√x⌋ is then far from its edge."""
        return self._cells(width, height) == Grid(self.budget - 1, self.unit)._cells(width, height)


class ClosestGrid(Rule, frozen=True, tag="closest-grid"):
    """Meta Muse: the grid of whole patches, at most `max_tokens`, whose aspect is closest to the image's.

    Of the four grids around the ideal one (w/patch by h/patch, or that scaled into the cap), the one with the
    least |h/w − rows/columns|; tokens = rows · columns + extra. Source: `smart_resize` of the open Muse
    processor (transformers 5.24.0), the two extra tokens from its defaults.

    Attributes:
        patch: side of a patch in pixels.
        max_tokens: most patches of one image.
        extra: tokens around the patches.
    """

    patch: Side
    max_tokens: Number
    extra: Extra

    def preprocess(self, width: int, height: int) -> tuple[int, int]:
        """Size in pixels of the grid."""
        down, across = height / self.patch, width / self.patch
        if down * across > self.max_tokens:
            ratio = across / down
            down = (self.max_tokens / ratio) ** 0.5
            across = down * ratio
        around = set(product((floor(down), ceil(down)), (floor(across), ceil(across))))
        grids = sorted(
            grid for grid in around if min(grid) >= 1 and grid[0] * grid[1] <= self.max_tokens
        ) or [(max(1, round(down)), max(1, round(across)))]
        rows, columns = min(grids, key=lambda grid: abs(grid[0] / grid[1] - height / width))
        return columns * self.patch, rows * self.patch

    def tokens(self, width: int, height: int) -> int:
        """Patches of the grid and what goes around them."""
        wide, high = self.preprocess(width, height)
        return wide // self.patch * (high // self.patch) + self.extra

    def native_sizes(self, side: int) -> Iterator[tuple[int, int]]:
        """Whole patches, within the cap."""
        return whole_patches(self, self.patch, side)
