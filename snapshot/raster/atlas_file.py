"""The atlas of a face as bytes that are kept from one run to the next: drawing it takes longer than a page.

The name of an entry is a digest of all that decides the pixels: the face's fonts and sizes, the code that
draws them, the FreeType library with its settings, and Python's tables of characters. Where one of these
cannot be told, nothing is kept.
"""

from __future__ import annotations

import importlib.util
import os
import struct
import unicodedata
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from snapshot._cache import digest, keep, kept
from snapshot.raster.face import Face

__all__ = ["DRAWN_BY", "keep_glyphs", "kept_glyphs"]

_FORM = b"atlas 1"  # another number where what an entry looks like changes
_PACKAGE = Path(__file__).resolve().parents[1]
_LIBRARIES = ("libfreetype", "freetype.dll", "freetype-")  # what the names of its files begin with
_HEAD = struct.Struct("<IHH")

DRAWN_BY = (
    "raster/atlas.py", "raster/atlas_file.py", "raster/box_drawing.py", "raster/face.py",
    "raster/freetype_face.py", "raster/glyph_text.py", "raster/mark_drawing.py", "source/marks.py",
    "typeset/shaped.py",
)  # fmt: skip
"""The modules that a face's own glyphs come from, and the order in which they get their numbers."""


def kept_glyphs(face: Face) -> tuple[NDArray[np.uint8], NDArray[np.int32]] | None:
    """Ink and code points of a face's own glyphs, as `Atlas` has them, from an earlier run; else None."""
    name = _name(face)
    entry = name and kept(name)
    if not entry:
        return None
    count, width, height = _HEAD.unpack_from(entry)
    codes = np.frombuffer(entry, "<i4", count, _HEAD.size).astype(np.int32)
    ink = np.frombuffer(entry, np.uint8, count * width * height, _HEAD.size + 4 * count)
    return ink.reshape(count, height, width), codes


def keep_glyphs(face: Face, ink: NDArray[np.uint8], codes: NDArray[np.int32]) -> None:
    """Keep the glyphs of a face for later runs, where that is possible."""
    name = _name(face)
    if name:
        head = _HEAD.pack(len(ink), *face.cell)
        keep(name, head + codes.astype("<i4").tobytes() + np.ascontiguousarray(ink).tobytes())


def _name(face: Face) -> str:
    """The name of the entry for a face; "" where what decides its pixels cannot be told."""
    drawing = _drawing()
    return digest((_FORM, drawing, face.digest.encode())) if drawing else ""


@cache
def _drawing() -> bytes:
    """A digest of what draws glyphs: code, library and tables of characters; nothing where one is unknown."""
    spec = importlib.util.find_spec("freetype")
    folders = spec.submodule_search_locations if spec else None
    libraries = sorted(
        path
        for folder in folders or ()
        for path in Path(folder).iterdir()
        if path.name.startswith(_LIBRARIES)
    )
    if not folders or not libraries:
        return b""  # a library of the system's, which tells its version only once it is loaded
    wrapper = Path(folders[0], "__init__.py")
    try:
        parts = [path.read_bytes() for path in (*(_PACKAGE / name for name in DRAWN_BY), wrapper, *libraries)]
    except OSError:
        return b""
    settings = os.environ.get("FREETYPE_PROPERTIES", "")
    return digest((unicodedata.unidata_version.encode(), os.fsencode(settings), *parts)).encode()
