"""Reading a page that was resized: the nearest glyph of each cell, by one who knows face, grid and filter.

A resize is linear: two matrices, one for rows and one for columns, which Pillow itself gives away when it
resizes an identity. So what each glyph looks like at each cell's own sub-pixel phase is known exactly, and
distances to all glyphs at all phases come out of a few matrix products. Neighbouring cells are taken to be
blank: what they bleed into a cell is the noise that this reader has to live with.

What it can say: a cell that it misreads is gone; no reader without a language can tell it any more. What it
cannot say: that a model reads the rest. It knows the face to the last pixel, sees without noise and never
looks at a cell twice as large as it is: it reads sizes that no model does. So its recall is an upper bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["ASCII", "Nearest", "read_as_sent", "read_resized", "resampled", "resize_matrix"]

ASCII = "".join(map(chr, range(32, 127)))
"""The blank and what has ink in ASCII."""


def resampled(page: NDArray[np.uint8], size: tuple[int, int], how: str = "lanczos") -> NDArray[np.uint8]:
    """Grey values as a provider's resize leaves them: Pillow's, by "lanczos" (the default) or "bicubic".

    Which filter a closed provider uses is not known; the open processors (Qwen, GLM, Kimi) use bicubic.

    Args:
        page: uint8 grey values, shape (height, width).
        size: the new width and height.
        how: the filter.
    """
    from PIL import Image

    if size == (page.shape[1], page.shape[0]):
        return page
    kinds = {"lanczos": Image.Resampling.LANCZOS, "bicubic": Image.Resampling.BICUBIC}
    return np.asarray(Image.fromarray(page).resize(size, kinds[how]))


_AT_ONCE = 128  # glyphs whose distances are in memory at a time


@dataclass(frozen=True, slots=True, eq=False)
class Nearest:
    """What the reader makes of each cell; all arrays have the shape (rows, columns).

    Attributes:
        first: number of the nearest glyph.
        second: number of the next.
        margin: how much farther the second is, as the root mean square over the cell's pixels; 255 is all
            the way from paper to full ink.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    margin: NDArray[np.float64]


def resize_matrix(before: int, after: int, how: str = "lanczos") -> NDArray[np.float32]:
    """The weights by which `before` pixels become `after`: shape (after, before).

    Pillow's own: a resized identity matrix, without rounding.
    """
    from PIL import Image

    kinds = {"lanczos": Image.Resampling.LANCZOS, "bicubic": Image.Resampling.BICUBIC}
    identity = Image.fromarray(np.eye(before, dtype=np.float32))
    return np.asarray(identity.resize((after, before), kinds[how])).T.copy()


def read_resized(
    page: NDArray[np.uint8],
    seen: tuple[int, int],
    ink: NDArray[np.uint8],
    grid: tuple[int, int],
    how: str = "lanczos",
) -> Nearest:
    """Resize a page and read it.

    Args:
        page: grey values before the resize, shape (height, width).
        seen: width and height after it.
        ink: the glyphs that may stand in a cell, shape (glyphs, cell height, cell width), 255 is full ink.
        grid: rows and columns of the page.
        how: the filter, see `resampled`.
    """
    count, height, width = ink.shape
    rows, columns = grid
    left = np.float32(255) - resampled(page, seen, how)
    down = _own(resize_matrix(page.shape[0], seen[1], how), height, rows)
    across = _own(resize_matrix(page.shape[1], seen[0], how), width, columns)
    # |seen - template|² = |seen|² - 2 seen · template + |template|²; the first is the same for all glyphs.
    back = (down.T @ left @ across)[: rows * height, : columns * width]
    cells = back.reshape(rows, height, columns, width).swapaxes(1, 2).reshape(rows * columns, -1)
    by_row, by_column = _squares(down, height, rows), _squares(across, width, columns)
    best = np.full((2, rows * columns), np.inf, np.float32)
    names = np.zeros((2, rows * columns), np.int64)
    for start in range(0, count, _AT_ONCE):
        some = ink[start : start + _AT_ONCE].astype(np.float32)
        distances = np.float32(-2) * (some.reshape(len(some), -1) @ cells.T)
        for at, glyph in enumerate(some):
            rowwise = (by_row @ glyph).reshape(rows, -1)
            columnwise = (glyph @ by_column).reshape(columns, -1)
            distances[at] += (rowwise @ columnwise.T).reshape(-1)
        least, places = _two_least(distances)
        best, among = _two_least(np.concatenate((best, least)))
        places = np.minimum(start + places, count - 1)
        names = np.take_along_axis(np.concatenate((names, places)), among, 0)
    pixels = max(1.0, height * width * seen[0] * seen[1] / (page.shape[0] * page.shape[1]))
    margin = np.sqrt(np.maximum(0, best[1] - best[0]) / pixels)
    return Nearest(names[0].reshape(grid), names[1].reshape(grid), margin.reshape(grid))


def read_as_sent(standing: NDArray[np.int64], ink: NDArray[np.uint8]) -> Nearest:
    """What `read_resized` makes of a page that is not resized at all, from the glyphs alone.

    Each cell is then its glyph to the last pixel, so that distances are those between glyphs.

    Args:
        standing: number of the glyph that stands in each cell, shape (rows, columns).
        ink: the glyphs that may stand in a cell, no two alike, as `read_resized` takes them.
    """
    flat = ink.reshape(len(ink), -1).astype(np.float64)  # sums of products of bytes are exact in it
    squares = (flat * flat).sum(axis=1)
    distances = squares[:, None] + squares - 2 * (flat @ flat.T)
    np.fill_diagonal(distances, np.inf)
    second = distances.argmin(axis=0)
    margin = np.sqrt(distances[second, np.arange(len(ink))] / flat.shape[1])
    return Nearest(standing, second[standing], margin[standing])


def _two_least(values: NDArray[np.floating]) -> tuple[NDArray[np.floating], NDArray[np.int64]]:
    """The two least values of each column, and their rows; of equal ones the first. Overwrites `values`."""
    if len(values) == 1:
        values = np.concatenate((values, np.full_like(values, np.inf)))
    least, places = [], []
    for _ in range(2):
        row = values.argmin(axis=0)[None]
        least.append(np.take_along_axis(values, row, 0))
        places.append(row)
        np.put_along_axis(values, row, np.inf, 0)
    return np.concatenate(least), np.concatenate(places)


def _own(weights: NDArray[np.float32], size: int, count: int) -> NDArray[np.float32]:
    """Weights without those that reach into another cell: a resized pixel is its centre's cell's."""
    after, before = weights.shape
    owner = ((np.arange(after) + 0.5) * before / after // size).astype(int)
    source = np.arange(before) // size
    inside = (owner[:, None] == source[None]) & (source < count)[None]
    return np.where(inside, weights, np.float32(0))


def _squares(own: NDArray[np.float32], size: int, count: int) -> NDArray[np.float32]:
    """For each cell the products of its weights with each other: shape (count, size, size)."""
    parts = (own[:, at * size : (at + 1) * size] for at in range(count))
    return np.stack([part.T @ part for part in parts])
