"""Neural readers of pages: PP-OCR's small recogniser, and Tesseract where it is installed.

The recogniser's weights (PP-OCRv6, Apache-2.0) come inside the `rapidocr` wheel and are run by onnxruntime
alone; nothing is fetched. Rows are cut by the page's known grid, so what is measured is reading and not
finding. `pip install 'snapshot-pages[ocr]'` brings both.

What it can say: which glyphs are taken for which, and which of two faces survives a resize better, at
factors of .75 and below (undegraded, nearly everything is read). What it cannot say: how well a vision model
reads. It enlarges each row to 48 pixels, has a strong model of text lines, sees no spacing between rows, and
reads no backtick in any face.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snapshot.errors import SnapshotError

__all__ = ["FACTORS", "Recogniser", "cut_rows", "has_ocr", "has_tesseract", "shrunk", "tesseract"]

FACTORS = (1.0, 0.75, 0.6, 0.5, 0.4)
"""Shrink factors at which faces are compared: 0.7 and 0.555 are what providers do to oversized pages."""

_MODEL = "models/PP-OCRv6_rec_small.onnx"
_HEIGHT = 48
_BATCH = 8
_TESSERACT_ROW = 34  # pixels: a glyph box of about 28, which it was trained on


def has_ocr() -> bool:
    """Whether what the extra `ocr` brings is installed."""
    return all(importlib.util.find_spec(name) for name in ("rapidocr", "onnxruntime", "rapidfuzz"))


def has_tesseract() -> bool:
    """Whether there is a `tesseract` to call."""
    return which("tesseract") is not None


def shrunk(page: NDArray[np.uint8], factor: float) -> NDArray[np.uint8]:
    """A page of grey values as a provider's resize by `factor` leaves it."""
    from snapshot.legibility.resized import resampled

    height, width = page.shape
    return resampled(page, (max(1, round(width * factor)), max(1, round(height * factor))))


def cut_rows(page: NDArray[np.uint8], rows: int) -> list[NDArray[np.uint8]]:
    """The page in as many strips of equal height; a strip may be a pixel higher than another."""
    edges = np.linspace(0, page.shape[0], rows + 1).round().astype(int)
    return [page[top:bottom] for top, bottom in pairwise(edges.tolist())]


class Recogniser:
    """PP-OCR's small recogniser, on one thread.

    Raises:
        SnapshotError: the extra is not installed, or its model is another one.
    """

    def __init__(self) -> None:
        if not has_ocr():
            raise SnapshotError("no recogniser here: pip install 'snapshot-pages[ocr]'")
        self._session, self._input, self._chars = _opened()

    def read(self, strips: Sequence[NDArray[np.uint8]]) -> list[str]:
        """The text of each strip of grey values, a row of text each."""
        texts = [""] * len(strips)
        order = sorted(range(len(strips)), key=lambda at: strips[at].shape[1] / strips[at].shape[0])
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            for at, text in zip(batch, self._batch([strips[at] for at in batch]), strict=True):
                texts[at] = text
        return texts

    def _batch(self, strips: list[NDArray[np.uint8]]) -> list[str]:
        tiles = [_tile(strip) for strip in strips]
        width = -(-max(tile.shape[1] for tile in tiles) // 32) * 32
        images = np.ones((len(tiles), 3, _HEIGHT, width), np.float32)
        for image, tile in zip(images, tiles, strict=True):
            image[:, :, : tile.shape[1]] = tile / 127.5 - 1
        best = self._session.run(None, {self._input: images})[0].argmax(axis=2)
        # Connectionist temporal classification: class 0 is no character, and repeated classes are one.
        new = np.diff(best, axis=1, prepend=0) != 0
        return [
            "".join(self._chars[code] for code in row[fresh & (row > 0)].tolist())
            for row, fresh in zip(best, new, strict=True)
        ]


def _tile(strip: NDArray[np.uint8]) -> NDArray[np.float32]:
    """A strip at the height that the model wants."""
    from PIL import Image

    height, width = strip.shape
    size = max(8, round(width * _HEIGHT / height)), _HEIGHT
    return np.asarray(Image.fromarray(strip).resize(size, Image.Resampling.BICUBIC), np.float32)


@cache
def _opened() -> tuple[Any, str, list[str]]:
    """The session, the name of its input, and its characters by class."""
    import onnxruntime  # type: ignore[import-not-found]

    spec = importlib.util.find_spec("rapidocr")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    path = Path(spec.submodule_search_locations[0]) / _MODEL
    if not path.exists():
        raise SnapshotError(f"rapidocr has no {_MODEL}: pip install 'snapshot-pages[ocr]' pins one that has")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    characters = session.get_modelmeta().custom_metadata_map["character"].splitlines()
    return session, session.get_inputs()[0].name, ["", *characters, " "]


def tesseract(
    page: NDArray[np.uint8], rows: int, *, segmentation: int = 6, weights: Path | None = None
) -> str:
    """What Tesseract reads on a page of grey values with so many rows of text.

    The page is enlarged so that glyphs have the size it was trained on.

    Args:
        page: uint8 grey values, shape (height, width).
        rows: rows of text on it.
        segmentation: Tesseract's mode of page segmentation: 6 takes the page for one block of text, 3 looks
            for columns and blocks itself.
        weights: a file `NAME.traineddata` in place of those installed for English.

    Raises:
        SnapshotError: it is not installed, or fails.
    """
    from PIL import Image

    if not has_tesseract():
        raise SnapshotError("no tesseract here: install it, or do without its second opinion")
    factor = _TESSERACT_ROW * rows / page.shape[0]
    size = round(page.shape[1] * factor), round(page.shape[0] * factor)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.png"
        Image.fromarray(page).resize(size, Image.Resampling.LANCZOS).save(path, compress_level=1)
        command = ["tesseract", str(path), "-", "--psm", str(segmentation), "--dpi", "300"]
        if weights is not None:
            command += ["--tessdata-dir", str(weights.parent), "-l", weights.stem]
        environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}
        done = subprocess.run(command, capture_output=True, check=False, env=environment)
    if done.returncode:
        raise SnapshotError(f"tesseract failed: {done.stderr.decode('utf-8', 'replace').strip()[-200:]}")
    return done.stdout.decode("utf-8", "replace")
