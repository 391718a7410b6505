"""A font file of the user's as a face."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from snapshot.raster.face import Face, can_shape
from snapshot.raster.freetype_face import FreeTypeFace

__all__ = ["user_face"]

_LATIN_LETTERS = range(ord("a"), ord("z") + 1)


# Size of a helping font of the user's, in cell heights: room for marks above and below.
_HELPER_SIZE = 0.75


def user_face(path: str | Path, like: Face) -> Face:
    """The face `like` with a font file of the user's.

    A font with Latin letters is set at the largest size that fits the cell, and `like` helps out behind it.
    One without them helps out itself, before the other helpers.

    Raises:
        FontError: the file is no font that FreeType opens, or no size of it fits.
    """
    path = Path(path)
    face = Face(
        name=path.name,
        path=path,
        axes=(),
        pixel_size=(0, 0),
        hinting="light",
        cell=like.cell,
        baseline=like.baseline,
        levels=like.levels,
        drawn=like.drawn,
        behind=replace(like, drawn=None, fallback=(), missing=()),
        fallback=like.fallback,
        missing=like.missing,
    )

    opened = FreeTypeFace(face)
    if not any(opened.index(code) for code in _LATIN_LETTERS):
        size = round(_HELPER_SIZE * like.cell[1])
        helper = Face(
            path.name,
            path,
            (),
            (size, size),
            "light",
            like.cell,
            like.baseline,
            like.levels,
            shaped=can_shape(),
        )
        return replace(like, fallback=(helper, *like.fallback))
    size, baseline = opened.fit()
    return replace(face, pixel_size=size, baseline=baseline)
