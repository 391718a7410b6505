"""What is publicly known of how readers read: published trials as rows, and what they let one expect.

A row of `trials` in a layout file:

* `model`: id as `model_key` writes it, `*` at the end stands for anything
* `cell`: width and height of a character's cell in pixels, as the model saw it; `glyphs`: what stood in it
* `what`: "exact" (values copied without an error), "hashes" (the same of hexadecimal digits), "questions"
  (answers about the text, by score), "gist" (simple questions about it)
* `right` and `of`, or `score` from 0 to 1
* `as_of`: month; `source`: who published it
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from snapshot.models.schema import TrialTable, convert

__all__ = ["Expected", "Trial", "expected", "trial_from"]

_WHAT = ("exact", "questions", "gist", "hashes")
_SAYS = {"exact": "exact values", "questions": "questions", "gist": "gist questions", "hashes": "hashes"}


@dataclass(frozen=True, slots=True)
class Trial:
    """A published trial; the fields are those of the layout file, `score` is `right` over `of` there."""

    model: str
    cell: tuple[int, int]
    glyphs: str
    what: str
    score: float
    as_of: str
    source: str
    right: int = 0
    of: int = 0

    @property
    def area(self) -> int:
        """Pixels per character."""
        return self.cell[0] * self.cell[1]

    def fits(self, model: str) -> bool:
        """Whether it was made with the model of that key."""
        if self.model.endswith("*"):
            return model.startswith(self.model[:-1])
        return model == self.model

    def __str__(self) -> str:
        name, (width, height) = self.model.rstrip("*-"), self.cell
        said = f"{self.right} of {self.of}" if self.of else f"{self.score:.3g} of"
        return f"{name} on {width}×{height} ({self.glyphs}): {said} {_SAYS[self.what]} ({self.as_of})"


def trial_from(table: TrialTable | Mapping[str, Any], where: str = "") -> Trial:
    """The trial that a table of a layout file describes; `where` names it in errors.

    Raises:
        LayoutError: a key is missing, unknown or of the wrong type, or there is no score from 0 to 1.
    """
    row = table if isinstance(table, TrialTable) else convert(table, TrialTable, where)
    right, of = row.right or 0, row.of or 0
    score = right / of if row.score is None else row.score
    return Trial(row.model, row.cell, row.glyphs, row.what, score, row.as_of, row.source, right, of)


@dataclass(frozen=True, slots=True)
class Expected:
    """What trials let one expect.

    Attributes:
        recall: from 0 to 1.
        basis: a sentence on where it comes from.
        trials: the rows it was taken from.
        at_least: nothing so large was tried, so it may well be more.
    """

    recall: float
    basis: str
    trials: tuple[Trial, ...]
    at_least: bool = False


def expected(trials: Sequence[Trial], model: str, area: float, *, hashes: bool = False) -> Expected | None:
    """The recall that published trials let one expect of characters of so many pixels.

    Area is what orders the cells of every published sweep, so it is all that counts here. A trial at this
    area is taken as it is; between two, recall is interpolated; below the smallest it falls in proportion to
    the area; above the largest it stays. Of several at one area those of the model itself come first, then
    exact values before questions before gist, then the worst.

    Args:
        trials: of one reader.
        model: key of the model.
        area: pixels of a cell as the model sees it, after any resize.
        hashes: of hexadecimal digits, which models read worse than anything else.

    Returns:
        None where nobody has published a trial.
    """
    by_area: dict[int, Trial] = {}
    for trial in sorted(
        (trial for trial in trials if (trial.what == "hashes") == hashes),
        key=lambda trial: (not trial.fits(model), _WHAT.index(trial.what), trial.score),
    ):
        by_area.setdefault(trial.area, trial)
    if not by_area:
        return None
    areas = sorted(by_area)
    # A cell a hundredth smaller is the same cell.
    below = max((found for found in areas if found <= area * 1.01), default=None)
    above = min((found for found in areas if found > area * 1.01), default=None)
    if below is None:
        assert above is not None
        least = by_area[above]
        return Expected(least.score * area / above, f"smaller than the smallest tried: {least}", (least,))
    low = by_area[below]
    if above is None or below >= area * 0.99:
        same = below >= area * 0.99
        said = str(low) if same else f"larger than the largest tried: {low}"
        return Expected(low.score, said, (low,), at_least=not same)
    high = by_area[above]
    recall = low.score + (high.score - low.score) * (area - below) / (above - below)
    return Expected(recall, f"between two that were tried: {low}; {high}", (low, high))
