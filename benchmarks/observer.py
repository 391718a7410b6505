"""A reader that is nothing but eyesight: the best linear reader of patches, to compare cells by.

Vision models cut an image into patches of 28 or 32 pixels and see each through a projection that was never
made for glyphs. The observer sees each patch through fixed random projections (an orthonormal basis of fewer
dimensions than pixels) with white noise, knows all glyphs and the noise, does not know what stands in
neighbouring cells (their glyphs are drawn at random, so they are noise with the glyphs' covariance), and
decides by the smallest Mahalanobis distance. Cells are placed at several phases of the patch grid.

What it can say: which of two cells, or of two drawings of one character, leaves more for such eyes. It puts
the cells of X.org's fonts into the order of published paid trials, padding included. What it cannot say: how
well a model reads; and nothing between faces or ways of rendering, since white noise rewards contrast (over
38 fonts it runs against what neural readers do). So compare within one face only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.lab_glyphs import GlyphSet

__all__ = ["Observed", "observe"]

_BLANKS = 0.16
"""Share of cells that are blank, in text."""
_TRIALS = 4000


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """What the observer makes of a glyph set.

    Attributes:
        accuracy: share of characters it names rightly, each as likely as any other.
        confusion: float64, shape (characters, characters): how often the row's is named the column's.
        chars: the characters, without the blank.
    """

    accuracy: float
    confusion: NDArray[np.float64]
    chars: str

    def confused(self, most: int) -> tuple[tuple[str, str, float], ...]:
        """The pairs that are taken for each other most: what stood there, what was named, how often."""
        wrong = self.confusion.copy()
        np.fill_diagonal(wrong, 0)
        order = np.argsort(-wrong, axis=None, kind="stable")[:most]
        pairs = [divmod(int(at), len(self.chars)) for at in order]
        return tuple((self.chars[a], self.chars[b], float(wrong[a, b])) for a, b in pairs if wrong[a, b])


def observe(
    glyphs: GlyphSet,
    *,
    patch: int = 28,
    projections: int = 196,
    noise: float = 0.3,
    phases: int = 12,
    seed: int = 1,
) -> Observed:
    """Let the observer read each glyph among unknown neighbours.

    Args:
        glyphs: the face on its cell.
        patch: side of a patch in pixels: 28 or 32.
        projections: dimensions that are seen of each patch.
        noise: standard deviation of the noise in each of them; full ink is 1.
        phases: places of the cell on the patch grid that are tried.
        seed: of projections, phases and noise.
    """
    rng = np.random.default_rng(seed)
    cells = (glyphs.ink[1:] / 255).astype(np.float32)
    count, height, width = cells.shape
    spread = _spread(cells)
    basis, _ = np.linalg.qr(rng.standard_normal((patch * patch, projections)))
    eye = _Eye(basis.T.reshape(projections, patch, patch).astype(np.float32))
    confusion = np.zeros((count, count))
    for top, left in rng.integers(patch, size=(phases, 2)).tolist():
        down, across = -(-(top + height) // patch), -(-(left + width) // patch)
        blur = np.eye(projections * down * across, dtype=np.float32) * np.float32(noise**2)
        for y in range(top - -(-top // height) * height, down * patch, height):
            for x in range(left - -(-left // width) * width, across * patch, width):
                if (y, x) != (top, left):
                    seen = eye.sees(spread, y, x, down, across)
                    blur += seen @ seen.T
        white = np.linalg.solve(np.linalg.cholesky(blur), eye.sees(cells, top, left, down, across)).T
        # Noise across all directions in which no two glyphs differ decides nothing: only their span counts.
        places = np.linalg.qr((white - white.mean(axis=0)).T)[1].T
        truth = rng.integers(count, size=_TRIALS)
        seen = places[truth] + rng.standard_normal((_TRIALS, places.shape[1])).astype(np.float32)
        named = ((places**2).sum(axis=1) - 2 * seen @ places.T).argmin(axis=1)
        np.add.at(confusion, (truth, named), 1)
    accuracy = float(np.trace(confusion) / confusion.sum())
    return Observed(
        accuracy, confusion / np.maximum(1, confusion.sum(axis=1, keepdims=True)), glyphs.chars[1:]
    )


class _Eye:
    """Projections of patches: float32, shape (projections, patch, patch)."""

    def __init__(self, basis: NDArray[np.float32]) -> None:
        self._basis = basis

    def sees(
        self, pieces: NDArray[np.float32], top: int, left: int, down: int, across: int
    ) -> NDArray[np.float32]:
        """Pieces of ink at one place, as `down` by `across` patches see them, a column for each piece."""
        projections, patch, _ = self._basis.shape
        _, height, width = pieces.shape
        seen = np.zeros((down, across, projections, len(pieces)), np.float32)
        for row in range(max(0, top // patch), min(down, -(-(top + height) // patch))):
            for column in range(max(0, left // patch), min(across, -(-(left + width) // patch))):
                y0, y1 = max(top, row * patch), min(top + height, (row + 1) * patch)
                x0, x1 = max(left, column * patch), min(left + width, (column + 1) * patch)
                part = self._basis[
                    :, y0 - row * patch : y1 - row * patch, x0 - column * patch : x1 - column * patch
                ]
                inside = pieces[:, y0 - top : y1 - top, x0 - left : x1 - left]
                seen[row, column] = part.reshape(projections, -1) @ inside.reshape(len(pieces), -1).T
        return seen.reshape(-1, len(pieces))


def _spread(cells: NDArray[np.float32]) -> NDArray[np.float32]:
    """Images whose outer products sum up to the covariance of a random cell: shape (rank, height, width)."""
    count = len(cells)
    flat = cells.reshape(count, -1)
    weight = (1 - _BLANKS) / count
    mean = weight * flat.sum(axis=0)
    rows = np.concatenate(((flat - mean) * np.sqrt(weight), -mean[None] * np.sqrt(_BLANKS)))
    _, scales, directions = np.linalg.svd(rows, full_matrices=False)
    kept = scales > 1e-4 * scales[0]
    return (directions[kept] * scales[kept, None]).astype(np.float32).reshape(-1, *cells.shape[1:])
