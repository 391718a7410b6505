"""GLM-5's fit, which pads to patches and searches the height: like Anthropic's, but with a floor."""

from __future__ import annotations

from math import ceil, floor, sqrt

from snapshot.models.billing._rule import Number, Rule, Side

__all__ = ["BudgetFit"]


class BudgetFit(Rule, frozen=True, tag="budget-fit"):
    """GLM-5: ⌈w/patch⌉ · ⌈h/patch⌉ tokens, padded, within `min_tokens` and `max_tokens`.

    Over the budget the height is searched by halves, the width ⌊w·height/h⌋; below it the image is enlarged.
    Source: the open GLM-5-next processor (transformers 5.24.0).

    Attributes:
        patch: side of a patch in pixels.
        min_tokens: fewest patches.
        max_tokens: most patches.
    """

    patch: Side
    min_tokens: Number
    max_tokens: Number

    def _canvas(self, width: int, height: int) -> tuple[int, int]:
        """Patches across and down."""
        patch = self.patch
        across, down = ceil(width / patch), ceil(height / patch)
        if across * down < self.min_tokens:
            scale = sqrt(self.min_tokens * patch * patch / (height * width))
            across, down = (ceil(max(1, ceil(side * scale)) / patch) for side in (width, height))
        if across * down > self.max_tokens:
            low, high, across, down = 1, height, 1, 1
            while low <= high:
                middle = (low + high) // 2
                columns = ceil(max(1, width * middle // height) / patch)
                rows = ceil(middle / patch)
                if columns * rows <= self.max_tokens:
                    across, down, low = columns, rows, middle + 1
                else:
                    high = middle - 1
        return across, down

    def preprocess(self, width: int, height: int) -> tuple[int, int]:
        """Size in pixels on the canvas, before its padding."""
        across, down = self._canvas(width, height)
        wide, high = across * self.patch, down * self.patch
        scale = min(high / height, wide / width)
        if height * width >= self.patch * self.patch * self.min_tokens:
            scale = min(1.0, scale)
        return max(1, min(wide, floor(width * scale))), max(1, min(high, floor(height * scale)))

    def tokens(self, width: int, height: int) -> int:
        """Patches of the canvas."""
        across, down = self._canvas(width, height)
        return across * down
