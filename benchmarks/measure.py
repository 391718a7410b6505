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
from random import Random
from typing import Any

import numpy as np

import snapshot
from snapshot.costs.content_kinds import classes_of
from snapshot.pages.layout import layout_for
from snapshot.pages.render import Typesetter
from snapshot.raster.atlas import Atlas
from snapshot.raster.compress import Compressor
from snapshot.source.source import Source, source_of

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "tests" / "data" / "example.claude-stream.jsonl"
REAL = ROOT.parent / "shared" / "transcripts"
PACKAGES = ("numpy", "numba", "deflate", "isal", "pillow", "freetype-py", "wcwidth")


_SCRIPTS = {
    "CJK": "在这个例子中我们将展示如何使用工具来压缩长的对话模型可以阅读页面上的小字并且费用更低"
    "以后再说明为什么"
    "読み込みに失敗しましたもう一度お試しください設定ファイルを確認する한국어문장도있습니다다음줄에서계속합니다",
    "Devanagari": "यह एक उदाहरण है जिसमें हम दिखाते हैं कि लंबी बातचीत को कैसे छोटा किया जाए "
    "मॉडल पृष्ठों पर छोटे अक्षर पढ़ सकता है और लागत कम होती है फिर वह अगले चरण में वही प्रश्न दोबारा पूछता है",
    "Arabic": "هذا مثال يوضح كيفية ضغط المحادثات الطويلة يمكن للنموذج قراءة الحروف الصغيرة على الصفحات "
    "بتكلفة أقل "
    "ثم يسأل السؤال نفسه مرة أخرى في الخطوة التالية (12.5%)",
    "emoji": "done ✅ build 🚀 fix 🐛 in 3 files 👩‍🚀 tests pass 👍🏽 ok - ⚠️ warn: retry ❌ failed 🔥 of 7",
}


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


def least(
    work: Callable[[], object], *, runs: int = 5, seconds: float = 2.0, warm: bool = False
) -> tuple[float, float]:
    """Least processor and wall seconds of `work`, after one run that is not counted unless it is `warm`.

    It is run at most `runs` times, and no more than twice once `seconds` have passed.
    """
    if not warm:
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


@cache
def by_class(chars: int) -> dict[str, str]:
    """That many characters of each class of text: those of the transcripts, and of scripts of other kinds."""
    found = classes_of(snapshot.load(path) for path in transcripts())
    # Words in an order of chance: a sentence over and over would be compressed to nothing.
    for name, sample in _SCRIPTS.items():
        pieces, joint = (list(sample), "") if name == "CJK" else (sample.split(), " ")
        random = Random(1)
        lines = (joint.join(random.choices(pieces, k=random.randint(6, 24))) for _ in range(chars // 8))
        found[name] = "\n".join(lines)
    return {name: (text * (chars // len(text) + 1))[:chars] for name, text in found.items()}


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


class Former(Variant):
    """The default of 0.1 for Claude's upper tier, as it was: 9×16 cells, no filters, libdeflate 6."""

    def __init__(self) -> None:
        super().__init__(2, 9)

    def atlas(self, source: Source) -> Atlas:
        """The glyphs that `source` needs; they stand on no line, so that no row of pixels is filtered."""
        atlas = super().atlas(source)
        return replace(atlas, face=replace(atlas.face, baseline=0))

    def compressor(self, profile: str) -> Compressor:
        """What compressed the pages of a profile."""
        compressor = super().compressor(profile)
        return replace(compressor, level=6) if profile == "default" else compressor


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
