"""Faces × cells × grey levels beside what other tools use: how well each is read, and what it costs.

    python -m benchmarks.contest                        # all of them, printed as a table
    python -m benchmarks.contest --write                # … and kept in benchmarks/results/
    python -m benchmarks.contest --face fonts/my.txt    # one's own: drawn, a face file, or FONT@9x16
    python -m benchmarks.contest --only fira --no-ocr   # some of them, without the neural reader

Needs `snapshot-pages[ocr]`; without it, and with --no-ocr, the observer alone compares cells. Fonts of
other tools come from Debian's packages (xfonts-base, fonts-spleen, fonts-jetbrains-mono, fonts-dejavu-core): what is
not installed is skipped, and said. Reading error is the mean character error rate at 0.6 and 0.5 of a page's
size: undegraded, nearly everything is read, and the order at those factors is that of published trials.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # four times quicker than with threads, on small matrices

import argparse
import importlib.util
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.reading import COLUMNS, rows
from snapshot.errors import SnapshotError
from snapshot.legibility.glyphs import GlyphSet, atlas_glyphs, drawn_glyphs, font_glyphs
from snapshot.legibility.observer import observe
from snapshot.legibility.ocr import FACTORS, Recogniser, cut_rows, has_ocr, shrunk
from snapshot.legibility.score import Reading, compared

STRESS = (0.6, 0.5)
"""Factors at which reading error is taken."""
_MISC = Path("/usr/share/fonts/X11/misc")
_TRUETYPE = Path("/usr/share/fonts/truetype")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A face on a cell.

    Attributes:
        name: what the table calls it.
        group: "peer", "outline" or "drawn".
        load: opens it; raises SnapshotError where it cannot.
    """

    name: str
    group: str
    load: Callable[[], GlyphSet]


@dataclass(frozen=True, slots=True)
class Result:
    """What was measured of a candidate: the observer's accuracy, and a reading at each factor."""

    name: str
    group: str
    cell: tuple[int, int]
    observer: float
    readings: dict[float, Reading]

    @property
    def area(self) -> int:
        """Pixels per character."""
        return self.cell[0] * self.cell[1]

    @property
    def error(self) -> float | None:
        """Mean character error rate at the factors of `STRESS`."""
        found = [self.readings[factor].error_rate for factor in STRESS if factor in self.readings]
        return sum(found) / len(found) if found else None


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
    fira = _packaged("fontpkg_fira_code", "FiraCode*.ttf")
    for cell in ((6, 12), (7, 13), (7, 14), (8, 14), (8, 15), (8, 16), (9, 16), (9, 18), (10, 18), (11, 16)):
        yield _font("Fira Code 500", "outline", fira, cell, axes=(500.0,), stretch=True)
    yield _font("Fira Code 400", "outline", fira, (8, 16), axes=(400.0,), stretch=True)
    for levels in (2, 16):
        yield _font("Fira Code 500", "outline", fira, (8, 16), axes=(500.0,), stretch=True, levels=levels)
    source = _packaged("fontpkg_source_code_pro", "*Roman*.ttf", "SourceCode*.ttf")
    for cell in ((7, 14), (8, 16), (11, 16)):
        yield _font("Source Code Pro 500", "outline", source, cell, axes=(500.0,), stretch=True)
    dejavu = _TRUETYPE / "dejavu" / "DejaVuSansMono.ttf"
    for cell in ((7, 14), (8, 16), (11, 16)):
        yield _font("DejaVu Sans Mono", "outline", dejavu, cell, stretch=True)
    from snapshot.resources import locate

    for path in sorted(locate("fonts").glob("*.txt")):
        yield Candidate(path.stem, "drawn", lambda path=path: drawn_glyphs(path))


def named(text: str) -> Candidate:
    """The candidate of an option: a file of drawn glyphs, a face file, or FONT@WIDTHxHEIGHT."""
    name, _, size = text.partition("@")
    path = Path(name)
    cell: tuple[int, int] | None = None
    if size:
        width, _, height = size.partition("x")
        cell = (int(width), int(height))
    if path.suffix == ".txt":
        return Candidate(path.stem, "drawn", lambda: drawn_glyphs(path, cell))
    if path.suffix == ".toml":
        return Candidate(path.stem, "drawn", lambda: _face_file(path))
    return _font(path.stem, "outline", path, cell or (8, 16), stretch=True)


def _face_file(path: Path) -> GlyphSet:
    from snapshot.raster.atlas import atlas_for
    from snapshot.raster.face import load_face

    return atlas_glyphs(atlas_for(load_face(str(path.resolve().with_suffix(""))), 0), path.stem)


def _font(
    name: str,
    group: str,
    path: Path | None,
    cell: tuple[int, int],
    *,
    axes: tuple[float, ...] = (),
    levels: int = 4,
    stretch: bool = False,
) -> Candidate:
    def load() -> GlyphSet:
        if path is None or not path.exists():
            raise SnapshotError("not installed")
        return font_glyphs(path, cell, axes=axes, levels=levels, stretch=stretch, name=name)

    shades = {2: ", 1 bit", 4: "", 16: ", 16 levels"}[levels] if group == "outline" else ""
    return Candidate(f"{name}, {cell[0]}×{cell[1]}{shades}", group, load)


def _packaged(package: str, *patterns: str) -> Path | None:
    """The font file of a package, or None where it is not installed."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0])
    found = [
        path for pattern in patterns for path in sorted(folder.rglob(pattern)) if "Italic" not in path.name
    ]
    return found[0] if found else None


def measure(candidate: Candidate, *, reader: Recogniser | None, factors: tuple[float, ...]) -> Result:
    """Everything that is measured of a candidate.

    Raises:
        SnapshotError: it cannot be opened.
    """
    glyphs = candidate.load()
    readings: dict[float, Reading] = {}
    if reader is not None:
        text = rows()
        page = glyphs.page(text, COLUMNS)
        for factor in factors:
            readings[factor] = compared(text, reader.read(cut_rows(shrunk(page, factor), len(text))))
    return Result(candidate.name, candidate.group, glyphs.cell, observe(glyphs).accuracy, readings)


def line(result: Result) -> str:
    """A row of the printed table."""
    parts = [f"{result.name:<34}{result.area:>5}{result.observer:>9.3f}"]
    parts += [f"{reading.error_rate:>9.3f}/{reading.recall:.2f}" for reading in result.readings.values()]
    return "".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--face", action="append", default=[], help="a file of drawn glyphs, a face file, FONT@WxH"
    )
    parser.add_argument("--only", default="", help="part of the names of those to measure")
    parser.add_argument("--no-ocr", action="store_true", help="the observer alone")
    parser.add_argument("--factors", default=",".join(map(str, (1.0, *STRESS))), help="of " + str(FACTORS))
    parser.add_argument(
        "--confused", type=int, default=0, metavar="N", help="the N worst pairs at each factor"
    )
    arguments = parser.parse_args()
    reader = None
    if not arguments.no_ocr:
        if has_ocr():
            reader = Recogniser()
        else:
            print("no recogniser: pip install 'snapshot-pages[ocr]'; the observer alone", file=sys.stderr)
    factors = tuple(map(float, arguments.factors.split(",")))
    chosen = [named(text) for text in arguments.face] or [
        candidate for candidate in candidates() if arguments.only.lower() in candidate.name.lower()
    ]
    heads = "".join(f"{f'@{factor:g}':>14}" for factor in factors) if reader else ""
    print(f"{'face, cell':<34}{'px':>5}{'observer':>9}{heads}   (error rate/exact strings)")
    for candidate in chosen:
        begun = time.perf_counter()
        try:
            result = measure(candidate, reader=reader, factors=factors)
        except SnapshotError as error:
            print(f"{candidate.name:<34} skipped: {error}")
            continue
        print(f"{line(result)}   {time.perf_counter() - begun:.0f} s", flush=True)
        for factor, reading in result.readings.items():
            if arguments.confused:
                pairs = " ".join(
                    f"{a or '∅'}>{b or '∅'}:{n}" for a, b, n in reading.confused[: arguments.confused]
                )
                print(f"    @{factor:g}  {pairs}")


if __name__ == "__main__":
    main()
