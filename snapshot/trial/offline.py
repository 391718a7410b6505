"""Offline readers on the pages of a trial: whether what costs nothing foretells what the model did."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from snapshot.errors import SnapshotError
from snapshot.legibility.ocr import Recogniser, cut_rows, has_ocr, has_tesseract, tesseract
from snapshot.trial.results import ArmResult, Results
from snapshot.trial.texts import EXACT, Kind
from snapshot.typeset.columns import GUTTER

__all__ = ["OfflineReader", "Recalls", "offline_readers", "recalls"]

OfflineReader: TypeAlias = Callable[[NDArray[np.uint8], ArmResult], str]
"""The text of a page of grey values, or of one of its columns, in whatever lines."""
Recalls: TypeAlias = dict[tuple[str, Kind], tuple[int, int]]
"""Strings read and strings asked for, by letter of an arm and kind."""

_STRIP = 88  # cells that the recogniser is given at once
_BLANK = re.compile(r"\s+")


def offline_readers(own: Sequence[str] = (), *, installed: bool = True) -> dict[str, OfflineReader]:
    """The offline readers that there are, by name.

    Args:
        installed: those of the extra `ocr`, and Tesseract.
        own: readers of the caller's, `MODULE:FUNCTION` each: a function that takes a page of grey values
            (uint8, shape (height, width)) and the width and height of a cell in pixels, and gives its text.

    Raises:
        SnapshotError: one of these cannot be imported.
    """
    found: dict[str, OfflineReader] = {name: _own_reader(name) for name in own}
    if installed and has_tesseract():
        found["tesseract"] = lambda page, arm: tesseract(page, page.shape[0] // arm.cell[1])
    if installed and has_ocr():
        reader = Recogniser()
        found["PP-OCR"] = lambda page, arm: _recognised(reader, page, arm)
    return found


def _own_reader(name: str) -> OfflineReader:
    module, _, function = name.partition(":")
    try:
        read = getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise SnapshotError(f"{name}: is no reader MODULE:FUNCTION ({error})") from error
    return lambda page, arm: str(read(page, arm.cell))


def _recognised(reader: Recogniser, page: NDArray[np.uint8], arm: ArmResult) -> str:
    width, height = arm.cell
    rows = page.shape[0] // height
    strips = [
        row[:, start : start + _STRIP * width]
        for row in cut_rows(page[: rows * height], rows)
        for start in range(0, row.shape[1], _STRIP * width)
    ]
    return "".join(reader.read([np.ascontiguousarray(strip) for strip in strips if strip.shape[1] >= width]))


def recalls(
    results: Results,
    reader: OfflineReader,
    *,
    pages: int = 1,
    seen: Callable[[int, int], None] | None = None,
) -> Recalls:
    """What an offline reader makes of the exact strings on the first pages of each arm.

    Args:
        results: the trial.
        reader: who reads.
        pages: how many pages of each arm.
        seen: is told of each page read, with their number.

    Raises:
        SnapshotError: a page is missing or damaged, or the reader fails.
    """
    found: Recalls = {}
    count = 0
    for arm in results.arms:
        for page in range(1, min(pages, len(results.texts)) + 1):
            images = [
                part for path in _files(results.folder, arm, page) for part in _columns(_grey(path), arm)
            ]
            if not images:
                continue
            read = _BLANK.sub("", "".join(reader(image, arm) for image in images))
            for question in results.texts[page - 1].questions:
                if question.kind in EXACT and question.answer is not None:
                    right, of = found.get((arm.letter, question.kind), (0, 0))
                    found[arm.letter, question.kind] = right + (question.answer in read), of + 1
            count += 1
            if seen is not None:
                seen(count, pages * len(results.arms))
    return found


def _files(folder: Path, arm: ArmResult, page: int) -> Sequence[Path]:
    return sorted((folder / "pages").glob(f"{arm.letter}{page}-*.png"))


def _columns(page: NDArray[np.uint8], arm: ArmResult) -> list[NDArray[np.uint8]]:
    """The columns of text of a page, from the left one to the right one: where they stand is told."""
    count = arm.text_columns or arm.flow_columns
    width = arm.columns * arm.cell[0]
    lefts = (number * (arm.columns + GUTTER) * arm.cell[0] for number in range(count))
    return [np.ascontiguousarray(page[:, left : left + width]) for left in lefts] if count > 1 else [page]


def _grey(path: Path) -> NDArray[np.uint8]:
    from PIL import Image

    try:
        with Image.open(io.BytesIO(path.read_bytes())) as image:
            return np.asarray(image.convert("L"), np.uint8)
    except (OSError, ValueError, SyntaxError) as error:
        raise SnapshotError(f"{path}: cannot be read as an image ({error})") from error
