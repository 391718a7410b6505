"""What an image costs, in tokens, and the size it is seen in: the providers' rules as small frozen types.

A rule answers two questions about an image of `width` × `height` pixels:

* `preprocess(width, height)`: the size the encoder sees after the provider's own resize. Where it differs
  from what was sent, glyphs were resampled. Padding with paper is no resize.
* `tokens(width, height)`: the input tokens billed.

Rules are named in `layouts/*.toml` by their tags; a new one is a class in `AnyRule`. The vectors that hold
them to the token are in `tests/data/billing_vectors.json`.
"""

from __future__ import annotations

from typing import TypeAlias, get_args

from snapshot.models.billing._rule import BillingRule
from snapshot.models.billing.areas import FittedImage, PerArea, PerAspect, PerImage
from snapshot.models.billing.fits import BudgetFit
from snapshot.models.billing.grids import ClosestGrid, Grid
from snapshot.models.billing.patches import (
    BudgetedPatches,
    KimiPatches,
    PaddedPatches,
    RoundedPatches,
    RowPatches,
)
from snapshot.models.billing.tiles import CanvasTiles, CroppedTiles, FittedTiles, ShortSideTiles

__all__ = [
    "RULES",
    "AnyRule",
    "BillingRule",
    "BudgetFit",
    "BudgetedPatches",
    "CanvasTiles",
    "ClosestGrid",
    "CroppedTiles",
    "FittedImage",
    "FittedTiles",
    "Grid",
    "KimiPatches",
    "PaddedPatches",
    "PerArea",
    "PerAspect",
    "PerImage",
    "RoundedPatches",
    "RowPatches",
    "ShortSideTiles",
]

AnyRule: TypeAlias = (
    PaddedPatches
    | BudgetedPatches
    | RowPatches
    | RoundedPatches
    | KimiPatches
    | BudgetFit
    | Grid
    | ClosestGrid
    | ShortSideTiles
    | CroppedTiles
    | CanvasTiles
    | FittedTiles
    | PerArea
    | PerAspect
    | PerImage
    | FittedImage
)
"""A rule of a layout file, told apart by its tag."""

RULES: dict[str, type[AnyRule]] = {str(kind.__struct_config__.tag): kind for kind in get_args(AnyRule)}
"""The rules by their names in layout files."""
