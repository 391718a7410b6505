"""What an image costs, in tokens, and the size it is seen in: the providers' rules as small frozen types.

A rule answers two questions about an image of `width` × `height` pixels:

* `preprocess(width, height)`: the size the encoder sees after the provider's own resize. Where it differs
  from what was sent, glyphs were resampled. Padding with paper is no resize.
* `tokens(width, height)`: the input tokens billed.

Rules are named in `layouts/*.toml` and built by `rule_from`; a new one is a class in `RULES`. The vectors
that hold them to the token are in `tests/data/billing_vectors.json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from snapshot.errors import LayoutError
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
    "rule_from",
]

RULES: dict[str, type[Any]] = {
    "padded-patches": PaddedPatches,
    "budgeted-patches": BudgetedPatches,
    "row-patches": RowPatches,
    "rounded-patches": RoundedPatches,
    "kimi-patches": KimiPatches,
    "budget-fit": BudgetFit,
    "grid": Grid,
    "closest-grid": ClosestGrid,
    "short-side-tiles": ShortSideTiles,
    "cropped-tiles": CroppedTiles,
    "canvas-tiles": CanvasTiles,
    "fitted-tiles": FittedTiles,
    "per-area": PerArea,
    "per-aspect": PerAspect,
    "per-image": PerImage,
    "fitted-image": FittedImage,
}
_TYPES = {"int": "a whole number", "str": 'text, as in "1.2"', "tuple[int, ...]": "a list of whole numbers"}


def rule_from(table: Mapping[str, object], where: str) -> BillingRule:
    """The rule that a `billing` table of a layout file describes; `where` names the table in errors.

    Raises:
        LayoutError: an unknown rule, or a parameter that is missing, unknown or of the wrong type.
    """
    name = table.get("rule")
    kind = RULES.get(name) if isinstance(name, str) else None
    if kind is None:
        raise LayoutError(f"{where}: rule is {name!r}, known rules are {', '.join(RULES)}")
    wanted = {item.name: str(item.type) for item in fields(kind)}
    given = {key: value for key, value in table.items() if key != "rule"}
    for key in dict.fromkeys([*wanted, *given]):
        if key not in wanted or key not in given:
            problem = "is not a parameter of" if key not in wanted else "is missing for"
            raise LayoutError(f"{where}: {key} {problem} {name} (it takes {', '.join(wanted)})")
        value = given[key]
        if not _is(value, wanted[key]):
            raise LayoutError(f"{where}: {key} is {value!r}, it must be {_TYPES[wanted[key]]}")
        if isinstance(value, list):
            given[key] = tuple(value)
    return kind(**given)


def _is(value: object, wanted: str) -> bool:
    if wanted == "tuple[int, ...]":
        return isinstance(value, list) and all(type(item) is int and item > 0 for item in value)
    if wanted == "int":
        return type(value) is int and value >= 0
    return type(value) is str
