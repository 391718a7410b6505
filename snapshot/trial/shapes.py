"""Pages of the shapes that other tools send, drawn with a free face of this package.

What is known of another tool's page is numbers: its size, the cell of a character, and the box that a letter
is drawn in. `peers` of the layout files has them. A letter of Fira Code is made as wide and as high as the
box, which stands in the middle of its cell; marks and words are those of this package. So what a trial
compares is the shape, in the same text and the same hand.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from snapshot._resources import locate
from snapshot.errors import FontError
from snapshot.models.profile import ModelProfile
from snapshot.raster.face import Face, load_face
from snapshot.raster.freetype_face import FreeTypeFace

__all__ = ["peer_shapes", "shape_face", "shape_name"]

_BASE = "fira-9x16"
_SIGNS = ("drawn-8x18", "drawn-8x17", "drawn-8x16", "drawn-8x14", "drawn-7x14", "drawn-5x8")
"""Drawings of marks without letters, from large to small."""


def shape_name(page: tuple[int, int], cell: tuple[int, int], box: tuple[int, int] | None = None) -> str:
    """What the arm of a shape is called: "1932x1932@11x16", and "-8x13" behind it where a letter's box is
    smaller than its cell."""
    name = f"{page[0]}x{page[1]}@{cell[0]}x{cell[1]}"
    return name if box in (None, cell) else f"{name}-{box[0]}x{box[1]}"


def peer_shapes(reader: ModelProfile) -> tuple[str, ...]:
    """Names of the shapes that other tools send a reader, in the order of its layout file."""
    return tuple(
        dict.fromkeys(
            shape_name((peer.width, peer.height), peer.cell, peer.box)
            for peer in reader.peers
            if peer.cell is not None
        )
    )


@lru_cache(maxsize=32)
def shape_face(cell: tuple[int, int], box: tuple[int, int] | None = None) -> Face:
    """Fira Code as large as `box`, in the middle of a cell.

    Args:
        cell: width and height in pixels.
        box: what the letters fill of it; the whole cell by default.

    Raises:
        FontError: the box is larger than the cell, or the cell smaller than any marks that are drawn.
    """
    box = box or cell
    if box[0] > cell[0] or box[1] > cell[1]:
        raise FontError(f"a box of {box[0]}x{box[1]} does not fit a cell of {cell[0]}x{cell[1]}")
    signs = next((name for name in _SIGNS if _fits(name, cell)), None)
    if signs is None:
        raise FontError(f"no marks are drawn for a cell of {cell[0]}x{cell[1]} pixels: the smallest is 5x8")
    base = replace(load_face(_BASE), fallback=(), missing=(), drawn=locate("fonts") / f"{signs}.txt")
    size, baseline = FreeTypeFace(replace(base, cell=box, pixel_size=(0, 0), baseline=0)).fit(stretch=True)
    name = f"Fira Code, {box[0]}x{box[1]}" + ("" if box == cell else f" in {cell[0]}x{cell[1]}")
    return replace(base, name=name, cell=cell, pixel_size=size, baseline=baseline + (cell[1] - box[1]) // 2)


def _fits(name: str, cell: tuple[int, int]) -> bool:
    width, height = map(int, name.rpartition("-")[2].split("x"))
    return width <= cell[0] and height <= cell[1]
