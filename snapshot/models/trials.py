"""What is publicly known of how readers read: published trials as rows, and what they let one expect.

A row of `trials` in a layout file:

* `model`: id as `model_key` writes it; with a `*` at the end the trial also stands for models whose ids begin
  so (another version, a lighter one), and that it was not made with them is said
* `cell`: width and height of a character's cell in pixels, as the model saw it; `glyphs`: the face that
  stood in it ("5x8 pixel font, spaced" is that face with blank pixels around it)
* `what`: "exact" (values copied without an error), "hashes" (the same of hexadecimal digits), "questions"
  (answers about the text, by score), "gist" (simple questions about it)
* `right` and `of`, or `score` from 0 to 1; `wrong`: how many were answered wrongly and not left out
* `columns`: cells in a row; `page`: width and height of the page in pixels; where the source says so
* `as_of`: month; `source`: who published it
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from snapshot.models.schema import TrialTable, convert

__all__ = ["FLOOR", "Expected", "Trial", "as_wide", "expected", "trial_from", "widest_read"]

FLOOR = 0.7
"""Recall below which a cell is not legible: all that published trials call so are above it."""

_WHAT = ("exact", "questions", "gist", "hashes")
_UNCOUNTED = 20
"""Answers that a published score without their number counts for."""
_AS_WIDE = 20
"""A row is as long as another if it is longer by no more than one cell in so many."""
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
    wrong: int | None = None
    columns: int = 0
    page: tuple[int, int] | None = None

    @property
    def weight(self) -> int:
        """How much it counts beside others: its answers, or `_UNCOUNTED` where only a score is published."""
        return self.of or _UNCOUNTED

    @property
    def area(self) -> int:
        """Pixels per character."""
        return self.cell[0] * self.cell[1]

    def is_of(self, model: str) -> bool:
        """Whether it was made with the very model of that key, and not with one whose id only begins it."""
        return model == self.model.rstrip("*-")

    def fits(self, model: str) -> bool:
        """Whether it stands for the model of that key: made with it, or with one whose id begins its own."""
        if self.model.endswith("*"):
            return model.startswith(self.model[:-1])
        return model == self.model

    def __str__(self) -> str:
        name, (width, height) = self.model.rstrip("*-"), self.cell
        said = f"{self.right} of {self.of}" if self.of else f"{self.score:.3g} of"
        wrong = "" if self.wrong is None else f", {self.wrong} wrong"
        where = f", {self.columns} columns" if self.columns else ""
        shape = f"{width}×{height} ({self.glyphs}{where})"
        return f"{name} on {shape}: {said} {_SAYS[self.what]}{wrong} ({self.as_of})"


def trial_from(table: TrialTable | Mapping[str, Any], where: str = "") -> Trial:
    """The trial that a table of a layout file describes; `where` names it in errors.

    Raises:
        LayoutError: a key is missing, unknown or of the wrong type, or there is no score from 0 to 1.
    """
    row = table if isinstance(table, TrialTable) else convert(table, TrialTable, where)
    right, of = row.right or 0, row.of or 0
    score = right / of if row.score is None else row.score
    return Trial(
        row.model, row.cell, row.glyphs, row.what, score, row.as_of, row.source, right, of,
        row.wrong, row.columns or 0, row.page,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Expected:
    """What trials let one expect.

    Attributes:
        recall: from 0 to 1.
        basis: a sentence on where it comes from.
        trials: the rows it was taken from.
        at_least: nothing so large was tried, so it may well be more.
        answers: how many answers stand behind it; 0 where only scores are published.
        borrowed: nobody tried the very model, so it is taken from others of the same reader.
        worst: the trial of least score at these cells, of whatever was asked.
        columns: cells of a row as it is to be read; 0 where that was not asked.
        widest: the trial with the longest rows that were read; None where none says how long they were.
    """

    recall: float
    basis: str
    trials: tuple[Trial, ...]
    at_least: bool = False
    answers: int = 0
    borrowed: bool = False
    worst: Trial | None = None
    columns: int = 0
    widest: Trial | None = None

    def doubt(self, floor: float) -> str:
        """Why a recall above the floor is no promise, in a few words; "" where nothing speaks against it."""
        said = ["nobody published a trial of this very model"] if self.borrowed else []
        if self.at_least and self.recall < floor:
            said.append("nothing so large was tried, so whether it is above the floor is not known")
        if self.worst is not None and self.worst.score < floor <= self.recall:
            said.append(f"but {self.worst}")
        if self.columns and self.widest is None:
            said.append(
                f"how long rows may be is not known: no trial says so, and these have {self.columns} cells"
            )
        elif self.widest is not None and not as_wide(self.columns, self.widest.columns):
            said.append(f"rows of {self.columns} cells are longer than any that were read ({self.widest})")
        return "; ".join(said)


@dataclass(frozen=True, slots=True)
class _At:
    """What was tried at one area: the rows that count, their score together, and the worst of all rows."""

    rows: tuple[Trial, ...]
    score: float
    worst: Trial

    def __str__(self) -> str:
        return " and ".join(map(str, self.rows))


def as_wide(columns: int, read: int) -> bool:
    """Whether rows of `columns` cells are no longer than `read`, but for one cell in twenty."""
    return columns * _AS_WIDE <= read * (_AS_WIDE + 1)


def widest_read(trials: Sequence[Trial], floor: float = FLOOR) -> Trial | None:
    """The trial with the longest rows of those that were read; None where none of them says its columns.

    Rows were read if the trials of a model at one cell and width together are not below the floor, those of
    hashes by themselves; gist counts where the model was asked nothing else at that cell (see `expected`).
    """
    found: list[Trial] = []
    at_cell = {(trial.model, trial.area) for trial in trials if trial.what in ("exact", "questions")}
    groups: dict[tuple[str, int, int, bool], list[Trial]] = {}
    for trial in trials:
        if trial.columns and (trial.what != "gist" or (trial.model, trial.area) not in at_cell):
            key = trial.model, trial.area, trial.columns, trial.what == "hashes"
            groups.setdefault(key, []).append(trial)
    for rows in groups.values():
        if _pooled(rows).score >= floor:
            found.append(max(rows, key=lambda row: row.score))
    return max(found, key=lambda row: (row.columns, row.score), default=None)


def expected(
    trials: Sequence[Trial], model: str, area: float, *, hashes: bool = False, columns: int = 0
) -> Expected | None:
    """The recall that published trials let one expect of characters of so many pixels.

    Area is what orders the cells of every published sweep, so recall goes by it alone; whether rows so long
    were ever read stands beside it. A trial at this area is taken as it is; between two, recall is
    interpolated; below the smallest it falls in proportion to the area; above the largest it stays. The
    model's own trials count alone; only where it has none do those of its nearest siblings (a `*` stands for
    it), and only without such those of the others, and that is said. At one
    area exact values and questions count by the number of answers, and gist, which says little of reading,
    only where neither was asked. The worst row of any kind is named.

    Args:
        trials: of one reader.
        model: key of the model.
        area: pixels of a cell as the model sees it, after any resize.
        hashes: of hexadecimal digits, which models read worse than anything else.
        columns: cells of a row as it is read, of the page or of one of its columns; 0: do not ask how long.

    Returns:
        None where nobody has published a trial.
    """
    asked = [trial for trial in trials if (trial.what == "hashes") == hashes]
    own = [trial for trial in asked if trial.is_of(model)]
    near = [trial for trial in asked if trial.fits(model)]
    found = _recall(own or near or asked, area, borrowed=not own)
    if found is None or not columns:
        return found
    if own:
        known = [trial for trial in trials if trial.is_of(model)]
    else:
        known = [trial for trial in trials if trial.fits(model)] if near else trials
    return replace(found, columns=columns, widest=widest_read(known))


def _recall(trials: Sequence[Trial], area: float, *, borrowed: bool) -> Expected | None:
    by_area: dict[int, list[Trial]] = {}
    for trial in trials:
        by_area.setdefault(trial.area, []).append(trial)
    if not by_area:
        return None
    areas = sorted(by_area)
    # A cell a hundredth smaller is the same cell.
    below = max((found for found in areas if found <= area * 1.01), default=None)
    above = min((found for found in areas if found > area * 1.01), default=None)
    said = "of others of its kind, " if borrowed else ""
    if below is None:
        assert above is not None
        least = _pooled(by_area[above])
        says = f"{said}smaller than the smallest tried: {least}"
        return _expected(least.score * area / above, says, (least,), borrowed=borrowed)
    low = _pooled(by_area[below])
    if above is None or below >= area * 0.99:
        same = below >= area * 0.99
        says = f"{said}{low}" if same else f"{said}larger than the largest tried: {low}"
        return _expected(low.score, says, (low,), at_least=not same, borrowed=borrowed)
    high = _pooled(by_area[above])
    recall = low.score + (high.score - low.score) * (area - below) / (above - below)
    says = f"{said}between two that were tried: {low}; {high}"
    return _expected(recall, says, (low, high), borrowed=borrowed)


def _pooled(rows: Sequence[Trial]) -> _At:
    """What was tried at one area, taken together by the number of answers."""
    counted = [row for row in rows if row.what != "gist"] or [*rows]
    score = counted[0].score
    if len(counted) > 1:
        score = sum(row.score * row.weight for row in counted) / sum(row.weight for row in counted)
    return _At(tuple(counted), score, min(rows, key=lambda row: (row.score, -row.weight)))


def _expected(
    recall: float, basis: str, at: tuple[_At, ...], *, at_least: bool = False, borrowed: bool = False
) -> Expected:
    rows = tuple(row for one in at for row in one.rows)
    # Of two areas the larger: what fails at the smaller one is in the interpolation already.
    return Expected(recall, basis, rows, at_least, sum(row.of for row in rows), borrowed, at[-1].worst)
