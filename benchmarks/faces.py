"""Who takes part in the contest: faces on cells, of other tools, of outline fonts, and the toolkit's own."""

from __future__ import annotations

import importlib.util
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.lab_glyphs import GlyphSet, atlas_glyphs, drawn_glyphs, font_glyphs
from snapshot._resources import locate
from snapshot.errors import SnapshotError

__all__ = ["Candidate", "candidates", "matters", "named", "shape_name"]

_MISC = Path("/usr/share/fonts/X11/misc")
_TRUETYPE = Path("/usr/share/fonts/truetype")
_FIRA_CELLS = ((6, 12), (7, 13), (7, 14), (8, 14), (8, 15), (8, 16), (9, 16), (9, 18), (10, 18), (11, 16))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A face on a cell.

    Attributes:
        name: what the table calls it.
        group: "peer" (what other tools use), "outline" or "own" (a face of `fonts/`).
        load: opens it; raises SnapshotError where it cannot.
    """

    name: str
    group: str
    load: Callable[[], GlyphSet]


def shape_name(glyphs: str, cell: tuple[int, int]) -> str:
    """What a face on a cell is called."""
    return f"{glyphs}, {cell[0]}×{cell[1]}"


_JUDGED = (
    "drawn-", "fira-", "JetBrains Mono, 9×16", "X.org 8x13, 8×16", "X.org 8x13, 8×22", "X.org 8x13, 11×16",
    "Spleen 5x8", "Fira Code 500, 7×13", "Fira Code 500, 7×14", "Fira Code 500, 8×14", "Fira Code 500, 8×15",
    "DejaVu Sans Mono, 7×14", "DejaVu Sans Mono, 9×16",
)  # fmt: skip


def matters(name: str) -> bool:
    """Whether the independent readers judge a candidate: own faces, peers' shapes, what might be next."""
    return name.startswith(_JUDGED)


def candidates() -> Iterator[Candidate]:
    """Everybody in the contest."""
    for font, cell in (
        ("5x8", (5, 8)), ("6x12", (6, 12)), ("8x13", (8, 13)), ("8x13", (8, 16)), ("8x13", (8, 22)),
        ("8x13", (11, 16)),
    ):  # fmt: skip
        yield _font(f"X.org {font}", "peer", _MISC / f"{font}.pcf.gz", cell, levels=2)
    for font, cell in (("spleen-5x8", (5, 8)), ("spleen-6x12", (6, 12)), ("spleen-8x16", (8, 16))):
        yield _font(font.replace("spleen-", "Spleen "), "peer", _MISC / f"{font}.pcf.gz", cell, levels=2)
    jetbrains = _TRUETYPE / "jetbrains-mono" / "JetBrainsMono-Regular.ttf"
    yield _font("JetBrains Mono", "peer", jetbrains, (9, 16), levels=16)
    fira = _packaged("fontpkg_fira_code")
    for cell in _FIRA_CELLS:
        yield _font("Fira Code 500", "outline", fira, cell, axes=(500.0,))
    yield _font("Fira Code 400", "outline", fira, (8, 16), axes=(400.0,))
    for levels in (2, 16):
        yield _font("Fira Code 500", "outline", fira, (8, 16), axes=(500.0,), levels=levels)
    source = _packaged("fontpkg_source_code_pro")
    dejavu = _TRUETYPE / "dejavu" / "DejaVuSansMono.ttf"
    for cell in ((7, 14), (8, 16), (9, 16), (11, 16)):
        yield _font("Source Code Pro 500", "outline", source, cell, axes=(500.0,))
        yield _font("DejaVu Sans Mono", "outline", dejavu, cell)
    for path in sorted(locate("fonts").glob("*.toml")):
        if "cell" in tomllib.loads(path.read_text(encoding="utf-8")):
            yield named(str(path))


def named(text: str) -> Candidate:
    """The candidate of an option: a file of drawn glyphs, a face file, or FONT@WIDTHxHEIGHT.

    Raises:
        SnapshotError: what stands behind the @ is no cell.
    """
    name, _, size = text.partition("@")
    path = Path(name)
    width, _, height = size.partition("x")
    if size and not (width.isdigit() and height.isdigit()):
        raise SnapshotError(f"{text}: {size!r} is no cell; write {name}@9x16")
    cell = (int(width), int(height)) if size else None
    if path.suffix == ".txt":
        return Candidate(path.stem, "own", lambda: drawn_glyphs(path, cell))
    if path.suffix == ".toml":
        return Candidate(path.stem, "own", lambda: _face_file(path))
    return _font(path.stem, "outline", path, cell or (8, 16))


def _face_file(path: Path) -> GlyphSet:
    from snapshot.raster.atlas import atlas_for
    from snapshot.raster.face import load_face

    return atlas_glyphs(atlas_for(load_face(str(path.resolve().with_suffix("")))), path.stem)


def _font(
    name: str,
    group: str,
    path: Path | None,
    cell: tuple[int, int],
    *,
    axes: tuple[float, ...] = (),
    levels: int = 4,
) -> Candidate:
    """A font file on a cell: peers' outlines as they are, all others stretched to fill it."""

    def load() -> GlyphSet:
        if path is None or not path.exists():
            raise SnapshotError("not installed")
        stretch = group == "outline"
        return font_glyphs(path, cell, axes=axes, levels=levels, stretch=stretch, name=name)

    shades = {2: ", 1 bit", 4: "", 16: ", 16 levels"}[levels] if group == "outline" else ""
    return Candidate(shape_name(name, cell) + shades, group, load)


def _packaged(package: str) -> Path | None:
    """The upright font file of a package, or None where it is not installed."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    found = sorted(Path(spec.submodule_search_locations[0]).rglob("*.ttf"))
    return next((path for path in found if "Italic" not in path.name), None)
