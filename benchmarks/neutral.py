"""The neutral reader: it reads every cell of a known grid by itself, and no face was drawn by it.

A perceptron of two hidden layers that sees a window of 2 × 1.4 cells at 16 × 20 pixels, and beside it how
the ink of the whole page is spread over a row's height, which tells where capitals, small letters and the
baseline stand. It knows no language and no face of the contest: `benchmarks.train_neutral` trains it on
ordinary fonts. NumPy and Pillow are all it takes.

It reads printable ASCII and the blank, nothing else. What a cell holds beside (marks) is read as some letter,
and the caller leaves it out.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from snapshot.legibility.resized import ASCII

__all__ = ["SEEN", "WEIGHTS", "NeutralReader", "features", "page_profile", "read", "windows"]

WEIGHTS = Path(__file__).resolve().parent / "samples" / "neutral.npz"
SEEN = 16, 20
"""Width and height in pixels at which a window is seen: near what a 9×16 cell has at full size."""
_WINDOW = 2.0, 1.4  # cells
_BATCH = 4096

Floats = NDArray[np.float32]


def windows(page: Image.Image, cell: tuple[float, float], centres: NDArray[np.floating]) -> NDArray[np.uint8]:
    """The windows round the centres of some cells, shape (cells, 20, 16), grey values.

    Args:
        page: dark on white.
        cell: width and height of a cell in pixels, which need not be whole.
        centres: shape (cells, 2): x and y in pixels.
    """
    across, down = _WINDOW[0] * cell[0] / 2, _WINDOW[1] * cell[1] / 2
    left, top = round(across) + 1, round(down) + 1
    padded = Image.new("L", (page.width + 2 * left, page.height + 2 * top), 255)
    padded.paste(page, (left, top))
    found = np.empty((len(centres), SEEN[1], SEEN[0]), np.uint8)
    for window, (x, y) in zip(found, centres.tolist(), strict=True):
        box = x + left - across, y + top - down, x + left + across, y + top + down
        window[:] = np.asarray(padded.resize(SEEN, Image.Resampling.BICUBIC, box))
    return found


def page_profile(page: NDArray[np.uint8], rows: int) -> Floats:
    """How the ink of a page of so many rows is spread over the height of one, shape (20,); its sum is 1."""
    ink = (255 - page.astype(np.float32)).sum(1)
    edges = (np.arange(rows * SEEN[1]) * (len(ink) / (rows * SEEN[1]))).astype(int)
    spread = np.add.reduceat(ink, edges).reshape(rows, SEEN[1]).sum(0)
    return (spread / max(float(spread.sum()), 1.0)).astype(np.float32)


def features(seen: NDArray[np.uint8], profile: Floats) -> Floats:
    """What the perceptron is given: windows without their mean and contrast, and the page's profile.

    Args:
        seen: shape (cells, 20, 16).
        profile: shape (20,), or (cells, 20) where the windows are of several pages.
    """
    ink = (255 - seen.reshape(len(seen), -1).astype(np.float32)) / 255
    ink = (ink - ink.mean(1, keepdims=True)) / (ink.std(1, keepdims=True) + 0.05)
    return np.concatenate((ink, np.broadcast_to(profile * 20 - 1, (len(seen), SEEN[1]))), 1)


@cache
def _weights() -> tuple[Floats, ...]:
    """Weights and offsets of the three layers, in turn."""
    with np.load(WEIGHTS) as stored:
        return tuple(stored[name].astype(np.float32) for name in sorted(stored.files))


def read(page: NDArray[np.uint8], cell: tuple[int, int]) -> str:
    """The text of a page of grey values, for `snapshot trial score --reader benchmarks.neutral:read`."""
    rows, columns = page.shape[0] // cell[1], page.shape[1] // cell[0]
    whole = page[: rows * cell[1], : columns * cell[0]]
    return "\n".join(NeutralReader().read(whole, rows, columns))


class NeutralReader:
    """The reader with the weights that come with the benchmarks."""

    def read(self, page: NDArray[np.uint8], rows: int, columns: int) -> list[str]:
        """The rows of a page of grey values whose grid is known, a character for each cell."""
        height, width = page.shape
        cell = width / columns, height / rows
        y, x = np.mgrid[:rows, :columns].reshape(2, -1) + 0.5
        seen = windows(Image.fromarray(page), cell, np.stack((x * cell[0], y * cell[1]), 1))
        profile = page_profile(page, rows)
        found: list[int] = []
        for start in range(0, len(seen), _BATCH):
            found += self._labels(features(seen[start : start + _BATCH], profile))
        text = "".join(ASCII[label] for label in found)
        return [text[at : at + columns] for at in range(0, len(text), columns)]

    @staticmethod
    def _labels(given: Floats) -> list[int]:
        one, one_off, two, two_off, three, three_off = _weights()
        hidden = np.maximum(np.maximum(given @ one + one_off, 0) @ two + two_off, 0)
        return (hidden @ three + three_off).argmax(1).tolist()
