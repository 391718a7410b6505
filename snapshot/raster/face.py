"""Faces: what a font is made from, as `fonts/*.toml` or a font file of the user's says it.

A face file names a font package (or `path`), the axes of a variable font, the pixel size, the hinting and,
for a main face, the cell, the baseline, the number of grey levels, the file of drawn glyphs and the faces
that help out. A helper's file may hold several faces (`members`, which share its keys) and sizes for a cell
of so many rows (`rows`; in other cells they go with the height), and say how its letters are set (`shaped`,
`joins`: see `Face`).
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from snapshot._resources import locate
from snapshot._toml import parse_toml
from snapshot.errors import FontError
from snapshot.source.marks import DRAWING

__all__ = ["Face", "can_shape", "cell_of", "extra_of", "load_face", "shipped_faces"]

_HINTINGS = ("light", "normal", "none", "mono")
_KEYS = {
    "title", "package", "file", "path", "licence", "extra", "axes", "pixel_size", "hinting", "cell",
    "baseline", "levels", "drawn", "fallback", "scripts", "shaped", "joins", "members", "rows",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Face:
    """A font at one size, fitted to one cell.

    Attributes:
        name: name of the face file, or the file name of a user's font.
        path: the font file.
        axes: design coordinates of a variable font.
        pixel_size: horizontal and vertical pixels per em; 0, 0: a bitmap font's own strike.
        hinting: "light", "normal", "none" or "mono" (which also turns grey off).
        cell: width and height of the cell in pixels.
        baseline: pixel rows above the baseline.
        levels: ink levels, 2, 4 or 16, paper included.
        drawn: file of drawn glyphs, which win over the outlines.
        behind: a main face that is asked for all that this one lacks, before those that help out.
        fallback: faces asked in turn for what a text needs and this one lacks, on the same cell.
        shaped: its characters are clusters, set by a shaping library; else each is a glyph of its own.
        joins: its letters have a stroke in common, which must reach the edges of the cell.
        missing: script and extra of each fallback that is not installed: ("CJK", "cjk").
        marks: how marks are drawn, `snapshot.source.marks.DRAWING` or a former way.
    """

    name: str
    path: Path
    axes: tuple[float, ...]
    pixel_size: tuple[int, int]
    hinting: str
    cell: tuple[int, int]
    baseline: int
    levels: int = 4
    drawn: Path | None = None
    behind: Face | None = None
    fallback: tuple[Face, ...] = ()
    shaped: bool = False
    joins: bool = False
    missing: tuple[tuple[str, str], ...] = ()
    marks: int = DRAWING

    @property
    def digest(self) -> str:
        """SHA-256 over the font files and all that decides the pixels made from them."""
        sha = hashlib.sha256()
        for part in (self.axes, self.pixel_size, self.hinting, self.cell, self.baseline, self.levels):
            sha.update(repr(part).encode())
        if self.shaped:
            sha.update(repr((self.shaped, self.joins)).encode())
        if self.drawn and self.marks > 1:
            sha.update(f"marks {self.marks}".encode())
        for path in (self.path, self.drawn):
            sha.update(path.read_bytes() if path else b"-")
        for face in (*([self.behind] if self.behind else []), *self.fallback):
            sha.update(face.digest.encode())
        return sha.hexdigest()


def load_face(name: str) -> Face:
    """The face that `fonts/NAME.toml` describes, with those of its fallbacks that are installed.

    A name may be a path without `.toml` too: the files that such a face names are beside it.

    Raises:
        FontError: no such face file, an error in it, or its font is not installed.
    """
    return _loaded(name, can_shape())


@lru_cache(maxsize=32)
def _loaded(name: str, shapes: bool) -> Face:
    table = _read(name)
    try:
        cell, baseline, levels = tuple(table["cell"]), table["baseline"], table["levels"]
        face = _fitted(name, table, cell=cell, levels=levels)
    except (KeyError, TypeError, ValueError) as error:
        raise FontError(f"fonts/{name}.toml: {error!r} is missing or of the wrong type") from error
    folder = (locate("fonts") / name).parent
    drawn = folder / table["drawn"] if "drawn" in table else None
    fallback, missing = [], []
    for helper in table.get("fallback", ()):
        other = helper if folder == locate("fonts") else str(folder / helper)
        for member, described in _members(other, _read(other)):
            if _font_file(member, described) is None or (described.get("shaped") and not shapes):
                missing += [(script, described["extra"]) for script in described["scripts"]]
            else:
                fallback.append(_fitted(member, described, cell=cell, levels=levels))
    return replace(face, baseline=baseline, drawn=drawn, fallback=tuple(fallback), missing=tuple(missing))


def can_shape() -> bool:
    """Whether the shaping library is installed, which draws clusters."""
    return importlib.util.find_spec("uharfbuzz") is not None


def _members(name: str, table: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The faces of a face file with their names: itself, or its members, with its keys and their own."""
    if "members" not in table:
        yield name, table
    for member in table.get("members", ()):
        yield f"{name}/{member['scripts'][0].lower()}", {**table, **member}


def cell_of(name: str) -> tuple[int, int]:
    """Width and height in pixels of the cell of the face `fonts/NAME.toml`; opens no font."""
    width, height = _read(name)["cell"]
    return width, height


def shipped_faces() -> frozenset[str]:
    """Names of the face files that come with the package."""
    return frozenset(path.stem for path in locate("fonts").iterdir() if path.suffix == ".toml")


def extra_of(name: str) -> str:
    """The extra of the package that brings a helping face, by the name it has as `Face`; "" for any other."""
    try:
        return _read(name.partition("/")[0]).get("extra", "")
    except FontError:
        return ""


@lru_cache(maxsize=32)
def _read(name: str) -> dict[str, Any]:
    folder = locate("fonts")
    try:
        table = parse_toml((folder / f"{name}.toml").read_text(encoding="utf-8"))
    except FileNotFoundError:
        known = ", ".join(sorted(path.stem for path in folder.glob("*.toml")))
        raise FontError(f"no face {name}: fonts/ has {known}") from None
    except ValueError as error:
        raise FontError(f"fonts/{name}.toml: {error}") from error
    if unknown := table.keys() - _KEYS:
        raise FontError(
            f"fonts/{name}.toml: unknown key {min(unknown)}; known are {', '.join(sorted(_KEYS))}"
        )
    return table


def _font_file(name: str, table: dict[str, Any]) -> Path | None:
    """The font file, or None where the package that brings it is not installed."""
    if "path" in table:
        path = Path(table["path"])
        return path if path.exists() else None
    folder = _package_folder(table["package"])
    if folder is None:
        return None
    path = folder / table["file"]
    if not path.exists():
        raise FontError(f"fonts/{name}.toml: package {table['package']} has no {table['file']}")
    return path


@lru_cache(maxsize=32)
def _package_folder(package: str) -> Path | None:
    """The folder of an installed package, which is not imported."""
    spec = importlib.util.find_spec(package)
    return Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else None


def _fitted(name: str, table: dict[str, Any], *, cell: tuple[int, int], levels: int) -> Face:
    path = _font_file(name, table)
    if path is None:
        raise FontError(f"fonts/{name}.toml: its font is not installed: reinstall snapshot-pages")
    if table["hinting"] not in _HINTINGS:
        raise FontError(f"fonts/{name}.toml: hinting is {table['hinting']!r}, allowed are {_HINTINGS}")
    # A helper's sizes may be those for a cell of so many rows, and go with the height of the cell.
    scale = cell[1] / table.get("rows", cell[1])
    across, down = (round(size * scale) for size in table["pixel_size"])
    axes = tuple(float(value) for value in table.get("axes", ()))
    return Face(
        name,
        path,
        axes,
        (across, down),
        table["hinting"],
        cell,
        round(table["baseline"] * scale),
        levels,
        shaped=table.get("shaped", False),
        joins=table.get("joins", False),
    )
