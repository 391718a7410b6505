"""What counts say and what they do not: bounds of a share, pairs, ranks, and how far an offline reader
foretells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, log, sqrt

import numpy as np
from numpy.typing import NDArray

__all__ = ["Calibration", "Cells", "bounds", "calibrated", "paired", "spearman"]

_Z = 1.2816
"""Of a one-sided bound of 90 %."""


def bounds(right: int, of: int) -> tuple[float, float]:
    """Wilson's bounds of a share: with 90 % each, it is not below the first and not above the second."""
    if not of:
        return 0.0, 1.0
    share, square = right / of, _Z * _Z
    middle = share + square / (2 * of)
    around = _Z * sqrt(share * (1 - share) / of + square / (4 * of * of))
    # Against the last digit of a float: all of 192 is a bound of 1.
    return max(0.0, (middle - around) / (1 + square / of)), min(1.0, (middle + around) / (1 + square / of))


def paired(one: Sequence[bool], other: Sequence[bool]) -> tuple[int, int, float]:
    """What two arms made of the same strings: right in the first alone, in the second alone, and how likely
    so uneven a split is where both are alike (McNemar's exact test, two-sided)."""
    first = sum(a and not b for a, b in zip(one, other, strict=True))
    second = sum(b and not a for a, b in zip(one, other, strict=True))
    count = first + second
    tail = sum(comb(count, number) for number in range(min(first, second) + 1)) / 2**count
    return first, second, min(1.0, 2 * tail)


def _ranks(values: Sequence[float]) -> NDArray[np.float64]:
    """Ranks from 0; equal values share theirs."""
    data = np.asarray(values, np.float64)
    return np.array([(data < value).sum() + ((data == value).sum() - 1) / 2 for value in data])


def spearman(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Spearman's correlation of ranks; None where either has no order."""
    left, right = _ranks(one), _ranks(other)
    if len(left) < 3 or np.ptp(left) == 0 or np.ptp(right) == 0:
        return None
    return float(np.corrcoef(left, right)[0, 1])


@dataclass(frozen=True, slots=True)
class Cells:
    """Strings of one kind in one arm: of how many the model and the offline reader got how many right."""

    right: int
    of: int
    offline_right: int
    offline_of: int
    area: int
    columns: int


@dataclass(frozen=True, slots=True)
class Calibration:
    """logit P(exact) = a + b · logit(offline recall) + c · log(pixels per character) + d · log(columns).

    Attributes:
        coefficients: of what could be told apart: "a", "b", "c" and "d"; b near 0 says that the offline
            reader
            foretells nothing.
        errors: standard errors of these, as if all strings were independent.
    """

    coefficients: dict[str, float]
    errors: dict[str, float]


def calibrated(cells: Sequence[Cells]) -> Calibration | None:
    """The fit over arms and kinds; None where nothing varies.

    By Newton's method, with a weak pull to 0 that keeps it finite where all strings were right.
    """
    cells = [cell for cell in cells if cell.of and cell.offline_of]
    if not cells:
        return None
    recall = [(cell.offline_right + 0.5) / (cell.offline_of + 1) for cell in cells]
    columns = {
        "b": [log(share / (1 - share)) for share in recall],
        "c": [log(cell.area) for cell in cells],
        "d": [log(cell.columns) for cell in cells],
    }
    names = [name for name, values in columns.items() if np.ptp(values) > 1e-9]
    if not names:
        return None
    # Centred, so that the pull does not depend on the units; the constant is put back at the end.
    means = {name: float(np.mean(columns[name])) for name in names}
    design = np.column_stack(
        [np.ones(len(cells)), *(np.asarray(columns[name]) - means[name] for name in names)]
    )
    right = np.array([cell.right for cell in cells], np.float64)
    of = np.array([cell.of for cell in cells], np.float64)
    pull = np.diag([1e-3] + [1e-2] * len(names))
    weights = np.zeros(design.shape[1])
    hessian = pull
    for _ in range(100):
        chance = 1 / (1 + np.exp(-np.clip(design @ weights, -30, 30)))
        hessian = design.T @ (design * (of * chance * (1 - chance))[:, None]) + pull
        step = np.linalg.solve(hessian, design.T @ (right - of * chance) - pull @ weights)
        # No leap further than the logistic is bent.
        step *= min(1.0, 2.0 / max(1e-12, float(np.abs(step).max())))
        weights += step
        if np.abs(step).max() < 1e-9:
            break
    errors = np.sqrt(np.diag(np.linalg.inv(hessian)))
    found = dict(zip(names, weights[1:].tolist(), strict=True))
    constant = float(weights[0]) - sum(found[name] * means[name] for name in names)
    return Calibration(
        {"a": constant, **found}, dict(zip(("a", *names), (float(error) for error in errors), strict=True))
    )
