"""What the benchmarks share: clocks, texts, settings of any depth and cell width, facts of the machine."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import snapshot
from snapshot.pages.layout import layout_for
from snapshot.pages.render import Typesetter
from snapshot.raster.atlas import Atlas
from snapshot.source.source import Source, source_of

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "tests" / "data" / "example.claude-stream.jsonl"
REAL = ROOT.parent / "shared" / "transcripts"
PACKAGES = ("numpy", "numba", "deflate", "isal", "pillow", "freetype-py", "wcwidth")


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement.

    Attributes:
        stage: what was done; the first word groups rows.
        variant: with which settings.
        chars: characters that were worked on; bytes where the stage reads files.
        cpu, wall: seconds, the least of several runs.
        ratio: how it compares with `against`; more is better unless `against` says "bytes" or "cost".
        against: what the ratio is over.
    """

    stage: str
    variant: str
    chars: int
    cpu: float
    wall: float
    ratio: float | None = None
    against: str = ""

    @property
    def rate(self) -> float:
        """Million characters in a second of one processor."""
        return self.chars / max(self.cpu, 1e-9) / 1e6

    def stored(self) -> dict[str, Any]:
        """The row for a file of results."""
        return asdict(self)


def least(work: Callable[[], object], *, runs: int = 5, seconds: float = 2.0) -> tuple[float, float]:
    """Least processor and wall seconds of `work`, after one run that is not counted.

    It is run at least twice and at most `runs` times, and no more once `seconds` have passed.
    """
    work()
    cpu = wall = float("inf")
    begun = time.perf_counter()
    for run in range(runs):
        used, passed = time.process_time(), time.perf_counter()
        work()
        cpu, wall = min(cpu, time.process_time() - used), min(wall, time.perf_counter() - passed)
        if run and time.perf_counter() - begun > seconds:
            break
    return cpu, wall


@cache
def transcripts() -> tuple[Path, ...]:
    """Real transcripts where they are kept beside the repository, else the example in it."""
    return tuple(sorted(REAL.glob("*.json*"))) or (EXAMPLE,)


@cache
def text_of(chars: int) -> str:
    """That many characters of source text of real transcripts, repeated as needed."""
    text = "".join(source_of(snapshot.load(path)).text for path in transcripts())
    return (text * (chars // len(text) + 1))[:chars]


def ascii_of(chars: int) -> str:
    """The same with a question mark for what is not ASCII."""
    return text_of(chars).encode("ascii", "replace").decode("ascii")


def mixed_of(chars: int) -> str:
    """Scripts, emoji, combining marks and wide characters, a third of it outside ASCII."""
    text = "Zażółć gęślą jaźń — Съешь же ещё этих 🚀 cafe\u0301\n    12 → x\n"
    return (text * (chars // len(text) + 1))[:chars]


class Variant(Typesetter):
    """The layout of Claude's upper tier with another cell width or bit depth than its own.

    One bit is the four-level atlas cut at half ink: the same work as for a face of two levels.
    """

    def __init__(self, depth: int, width: int) -> None:
        dense = width == 8
        layout = layout_for(name="claude-high/dense" if dense else "claude-high")
        if not dense:  # the cell that rows of earlier results have
            layout = replace(layout, face="fira-9x16", cell=(9, 16), width=1764, height=1904)
        super().__init__(layout)
        self.depth = depth
        self.name = f"{depth} bit, {width}×{layout.cell[1]}"
        if depth == 4:
            self.face = replace(self.face, levels=16)
        if width not in (8, 9):
            across, down = self.face.pixel_size
            cell = (width, layout.cell[1])
            self.face = replace(self.face, cell=cell, pixel_size=(across * width // 9, down))
            self.layout = replace(layout, cell=cell, width=layout.width // width * width)
        self._cut: Atlas | None = None

    def atlas(self, source: Source) -> Atlas:
        """The glyphs that `source` needs, at this depth."""
        atlas = super().atlas(source)
        if self.depth > 1:
            return atlas
        if self._cut is None:
            ink = (atlas.ink > 1).astype(np.uint8)
            self._cut = replace(atlas, ink=ink, face=replace(atlas.face, levels=2))
        return self._cut


def machine() -> dict[str, Any]:
    """Facts that results depend on."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = None
    return {
        "processor": _processor(),
        "processors": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "snapshot": snapshot.__version__,
        "packages": versions,
        "text": "real transcripts" if transcripts() != (EXAMPLE,) else "the repository's example",
    }


def _processor() -> str:
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor()
