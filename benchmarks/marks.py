"""What readers make of line numbers, line ends and names beside marks, on pages as they are sent.

    python -m benchmarks.marks                                   # the default faces, Tesseract as installed
    python -m benchmarks.marks --weights best.traineddata        # other weights beside it
    python -m benchmarks.marks --neutral --ocr                   # readers that are told where cells are
    python -m benchmarks.marks --transcript RUN.jsonl --whole    # a recorded run, whole pages
    python -m benchmarks.marks --weights best.traineddata --write    # … kept in benchmarks/results/ and docs/
    python -m benchmarks.marks --only PP-OCR --ocr --drawing 2 --write   # one reader measured anew, or later

Text is numbered code as agents' tools print it (`cat -n`, Claude Code's Read of today and of before), code
and log lines, by seed from modules of the standard library; nothing that marks were drawn by. Pages are set
with marks as they are drawn now, and as they were before (`snapshot.source.marks.DRAWING`), at the full width
of a default layout. Tesseract finds the rows by itself. Its best weights are not Debian's: they come as
`@tesseract.js-data/eng` from npm, in `4.0.0_best_int`.

What is counted: `numbers`, line numbers that are read with no other digit stuck to them; `ends`, line ends at
which anything but a letter or digit is read between the line and the next one; `seen`, those at which that is
more than a blank; `names`, words of four and more characters beside a mark that are read whole, and `inner`
those beside none. What was read is aligned with what stood there by edit distance, marks being one unknown
character each, so that a count looks at its own place on the page.

Two more counts say what a reader is like, so that the others are not held against it alone: `figures`, line
numbers whose own figures are read, whatever is stuck to them, and `gaps`, blanks of one cell between letters
or digits at which anything but one of these is read: one that reads those has a sign for a blank.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import snapshot
from benchmarks.fresh import code_lines, log_line
from benchmarks.neutral import read as by_cells
from snapshot.legibility.ocr import Recogniser, cut_rows, tesseract
from snapshot.pages.layout import Layout, layout_for
from snapshot.pages.readback import PageReader
from snapshot.pages.render import Page, Typesetter
from snapshot.source import marks
from snapshot.source.source import Source, source_of

__all__ = [
    "FACES",
    "READERS",
    "Counts",
    "Marked",
    "counted",
    "kept",
    "main",
    "marked_pages",
    "numbered_text",
    "table",
]

SEEDS = (71, 72)
FACES = {
    "fira-8x18": "claude-high",
    "fira-8x17": "kimi",
    "fira-8x16": "glm-4v",
    "fira-8x14": "gemini-3.6",
    "fira-7x14": "claude-fable",
}
"""The faces of the default layouts, and a reader that has each."""
_ROWS = 32
_FORMS = ("{:>6}\t{}", "{}\t{}", "{:>6}→{}", "{}\t{}", "{:>6}\t{}", "{1}")
_STRIP = 88  # cells that the recogniser is given at once
RESULTS = Path(__file__).resolve().parent / "results" / "marks.json"
DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "legibility.md"
READERS = ("Tesseract", "Tesseract best", "neutral reader", "PP-OCR")
"""The readers whose results are kept. Two find the rows by themselves; the others are told the grid."""
_PLACE = re.compile(r"(?<=<!-- marks -->\n).*?(?=<!-- /marks -->)", re.DOTALL)
_FOLD = str.maketrans("“”‘’—–", "\"\"''--")
_NUMBERED = re.compile(rf"[{marks.DIGITS} ]*(\d+)[{marks.TAB}→]", re.ASCII)
_WORD = re.compile(rf"[^\s{marks.PAGE_MARKS}→]{{4,}}")
_LEADING = re.compile(rf"[{marks.DIGITS}{marks.TAB} ]*")
_APART = re.compile("[^0-9A-Za-z]")
_SLACK = 5  # characters round its place in which a number may be found: alignment is not exact beside errors

_GAP = re.compile("(?<=[0-9A-Za-z]) (?=[0-9A-Za-z])")
_HEADS = (
    "face", "marks", "cells a thousand characters", "bytes of them", "reader", "line numbers", "line ends",
    "seen", "names", "other words", "figures", "gaps",
)  # fmt: skip

Reads = Callable[[NDArray[np.uint8], Layout], str]


@dataclass(frozen=True, slots=True)
class Counts:
    """How many of what stood there were read, each as (read, of)."""

    numbers: tuple[int, int] = (0, 0)
    ends: tuple[int, int] = (0, 0)
    seen: tuple[int, int] = (0, 0)
    names: tuple[int, int] = (0, 0)
    inner: tuple[int, int] = (0, 0)
    figures: tuple[int, int] = (0, 0)
    gaps: tuple[int, int] = (0, 0)

    def __add__(self, other: Counts) -> Counts:
        return Counts(*((a[0] + b[0], a[1] + b[1]) for a, b in zip(self.all, other.all, strict=True)))

    @property
    def all(self) -> tuple[tuple[int, int], ...]:
        """The pairs, in order."""
        return self.numbers, self.ends, self.seen, self.names, self.inner, self.figures, self.gaps

    @property
    def shares(self) -> tuple[float, ...]:
        """Of each, the share that was read."""
        return tuple(read / max(1, of) for read, of in self.all)


def numbered_text(seed: int, lines: int) -> str:
    """Short stretches of code in each of the forms in which tools print line numbers, and log lines."""
    rng = random.Random(f"marks {seed}")
    code = [line for line in code_lines(rng, lines + 40) if line.strip()]
    found: list[str] = []
    while len(found) < lines:
        at, first = rng.randrange(len(code) - 20), rng.randrange(1, 900)
        form = _FORMS[len(found) // 20 % len(_FORMS)]
        stretch = code[at : at + rng.randrange(8, 20)]
        stretch.insert(len(stretch) // 2, "")  # an empty line has a number too
        found += [form.format(first + number, line) for number, line in enumerate(stretch)]
        found += [log_line(rng) for _ in range(2)]
    return "\n".join(found[:lines])


def marked_pages(
    source: Source, face: str, drawing: int, *, rows: int | None = None
) -> Iterator[tuple[Page, NDArray[np.uint8], str, Layout]]:
    """The pages of a source for the reader of a face, with what stands on each.

    Args:
        source: the text.
        face: one of `FACES`.
        drawing: how marks are drawn.
        rows: of a page, where it is not to be a whole one.

    Yields:
        The page, its grey values, its page text, and its layout.
    """
    layout = layout_for(name=FACES[face])
    if rows is not None:
        layout = replace(layout, height=rows * layout.cell[1])
    setting = Typesetter(replace(layout, face=face))
    setting.face = replace(setting.face, marks=drawing)
    reader = PageReader(setting.layout, setting.atlas(source))
    for page in setting.pages(source, threads=1):
        cells = reader.cells(page.png)
        yield page, cells.grey, cells.page_text, setting.layout


def counted(stood: str, read: str) -> Counts:
    """What of a page text was read.

    Args:
        stood: the page text.
        read: what a reader says stands on the page, in whatever lines.
    """
    read = "".join(read.splitlines()).translate(_FOLD)
    place = _aligned(stood, read)
    counts = Counts()
    lines = [match.span() for match in re.finditer(f"[^{marks.NEWLINE}]+", stood)]
    for start, stop in lines:
        if number := _NUMBERED.match(stood, start, stop):
            low, high = place(number.start(1)), place(number.end(1))
            around = read[max(0, low - _SLACK) : high + _SLACK]
            free = re.search(rf"(?<![0-9]){number[1]}(?![0-9])", around) is not None
            counts += Counts(numbers=(free, 1), figures=(number[1] in around, 1))
        for word in _WORD.finditer(stood, start, stop):
            low, high = place(word.start()), place(word.end())
            whole = word[0] in re.sub(r"\s", "", read[max(0, low - _SLACK) : high + _SLACK])
            beside = not (
                stood[word.start() - 1 : word.start()] + stood[word.end() : word.end() + 1]
            ).isascii()
            counts += Counts(names=(whole, 1)) if beside else Counts(inner=(whole, 1))
    for (start, stop), (following, _) in pairwise(lines):
        begins = _LEADING.match(stood, following)
        last = start + len(stood[start:stop].rstrip(" ")) - 1
        if begins is None or begins.end() >= len(stood) or last < start:
            continue
        if not (stood[last] + stood[begins.end()]).isascii():
            continue
        between = read[place(last) + 1 : place(begins.end())]
        apart = _APART.search(between) is not None
        counts += Counts(ends=(apart, 1), seen=(re.search(r"[^0-9A-Za-z\s]", between) is not None, 1))
    gaps = [read[place(gap.start() - 1) + 1 : place(gap.end())] for gap in _GAP.finditer(stood)]
    return counts + Counts(gaps=(sum(map(bool, map(_APART.search, gaps))), len(gaps)))


def _aligned(stood: str, read: str) -> Callable[[int], int]:
    """Where in `read` is what stands at an offset of `stood`; blanks are not looked at."""
    from rapidfuzz.distance import Levenshtein  # type: ignore[import-not-found]

    kept = [at for at, char in enumerate(stood) if char != " "]
    found = [at for at, char in enumerate(read) if char != " "]
    one = "".join(stood[at] if stood[at].isascii() else "\x01" for at in kept)
    other = "".join(read[at] for at in found)
    pairs = np.zeros(len(one) + 1, np.int64)
    for step in Levenshtein.opcodes(one, other):
        size = step.src_end - step.src_start
        pairs[step.src_start : step.src_end] = np.minimum(step.dest_start + np.arange(size), step.dest_end)
    pairs[-1] = len(other)
    ends = [*found, len(read)]
    # A blank stands where the next character does.
    following = np.searchsorted(kept, np.arange(len(stood) + 1))
    return lambda at: ends[int(pairs[following[at]])]


def _by_rows(reader: Recogniser) -> Reads:
    def read(grey: NDArray[np.uint8], layout: Layout) -> str:
        width = _STRIP * layout.cell[0]
        strips = [
            np.ascontiguousarray(row[:, at : at + width])
            for row in cut_rows(grey, grey.shape[0] // layout.cell[1])
            for at in range(0, row.shape[1] - layout.cell[0], width)
        ]
        return "".join(reader.read(strips))

    return read


def _readers(weights: list[Path], *, neutral: bool, ocr: bool) -> dict[str, Reads]:
    def whole(path: Path | None) -> Reads:
        return lambda grey, layout: tesseract(grey, grey.shape[0] // layout.cell[1], weights=path)

    found = {"Tesseract": whole(None)} | {f"Tesseract {path.stem}": whole(path) for path in weights}
    if neutral:
        found["neutral reader"] = lambda grey, layout: by_cells(grey, layout.cell)
    return found | ({"PP-OCR": _by_rows(Recogniser())} if ocr else {})


@dataclass(frozen=True, slots=True)
class Marked:
    """What a reader made of the pages of a face.

    Attributes:
        face: its name.
        drawing: how marks are drawn, 1 (before) or 2 (now).
        cells, bytes: of a thousand characters.
        reader: who read.
        counts: what of it was read.
    """

    face: str
    drawing: int
    cells: float
    bytes: float
    reader: str
    counts: Counts

    @property
    def stored(self) -> dict[str, Any]:
        """The result for a file."""
        names = [field.name for field in fields(Counts)]
        return {
            "face": self.face,
            "drawing": self.drawing,
            "reader": self.reader,
            "cells": round(self.cells, 1),
            "bytes": round(self.bytes),
            **{name: list(pair) for name, pair in zip(names, self.counts.all, strict=True) if pair[1]},
        }


def kept() -> list[Marked]:
    """The kept results, in order."""
    names = [field.name for field in fields(Counts)]
    return [
        Marked(
            item["face"], item["drawing"], item["cells"], item["bytes"], item["reader"],
            Counts(**{name: (item[name][0], item[name][1]) for name in names if name in item}),
        )
        for item in json.loads(RESULTS.read_text(encoding="utf-8"))["results"]
    ]  # fmt: skip


def table(results: Iterable[Marked]) -> str:
    """The table of the document."""
    lines = ["| " + " | ".join(_HEADS) + " |", "|" + "---|" * len(_HEADS)]
    return "".join(f"{line}\n" for line in (*lines, *map(_line, results)))


def _line(found: Marked) -> str:
    drawn = "now" if found.drawing == marks.DRAWING else "before"
    costs = [f"{found.cells:,.0f}", f"{found.bytes:,.0f}"]
    shares = [
        f"{share:.3f}" if of else "–"
        for share, (_, of) in zip(found.counts.shares, found.counts.all, strict=True)
    ]
    return "| " + " | ".join([f"`{found.face}`", drawn, *costs, found.reader, *shares]) + " |"


def _measured(
    sources: list[Source], face: str, drawing: int, readers: dict[str, Reads], arguments: argparse.Namespace
) -> Iterator[Marked]:
    """What each reader makes of the pages of all texts, and what these cost."""
    taken: list[tuple[Page, NDArray[np.uint8], str, Layout]] = []
    for source in sources:
        pages = marked_pages(source, face, drawing, rows=None if arguments.whole else arguments.rows)
        taken += islice(pages, arguments.skip, arguments.skip + arguments.pages)
    chars = sum(page.chars for page, *_ in taken)
    cells = sum(page.height // layout.cell[1] * layout.columns for page, *_, layout in taken)
    size = sum(len(page.png) for page, *_ in taken)
    for name, reads in readers.items():
        counts = sum((counted(stood, reads(grey, layout)) for _, grey, stood, layout in taken), Counts())
        yield Marked(face, drawing, 1000 * cells / chars, 1000 * size / chars, name, counts)


def _keep(found: list[Marked]) -> None:
    """Put results in the place of those of the same face, drawing and reader, and make the table anew."""
    merged = {
        (item.face, item.drawing, item.reader): item
        for item in [*(kept() if RESULTS.exists() else []), *found]
    }
    keys = [(face, drawing, reader) for face in FACES for drawing in (1, 2) for reader in READERS]
    order = [merged[key] for key in keys if key in merged]
    keep = {"schema": "snapshot-pages/marks/1", "results": [item.stored for item in order]}
    RESULTS.write_text(json.dumps(keep, indent=1) + "\n", encoding="utf-8")
    text = DOCUMENT.read_text(encoding="utf-8")
    DOCUMENT.write_text(_PLACE.sub(lambda _: table(order), text), encoding="utf-8")


def main() -> None:
    """Measure, print, and keep on request."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.marks", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--faces", default=",".join(FACES), help="some of them, parted by commas")
    parser.add_argument("--weights", metavar="FILE", type=Path, action="append", default=[])
    parser.add_argument("--neutral", action="store_true", help="ask the neutral reader too, cell by cell")
    parser.add_argument("--ocr", action="store_true", help="ask PP-OCR too, on rows cut by the grid")
    parser.add_argument("--transcript", metavar="FILE", type=Path, help="in place of the text by seed")
    parser.add_argument("--rows", type=int, default=_ROWS, help="of a page")
    parser.add_argument("--whole", action="store_true", help="pages as high as they are sent")
    parser.add_argument("--pages", type=int, default=1, help="pages of each text")
    parser.add_argument(
        "--skip", type=int, default=0, help="pages at the start of each text that are not read"
    )
    parser.add_argument("--only", metavar="READER", default="", help="part of the names of those to ask")
    parser.add_argument(
        "--drawing",
        type=int,
        choices=range(1, marks.DRAWING + 1),
        help="marks as then drawn; by default each",
    )
    parser.add_argument(
        "--write", action="store_true", help="keep the results, and the table in docs/legibility.md"
    )
    arguments = parser.parse_args()
    if arguments.write and arguments.transcript:
        parser.error("--write keeps results of the text by seed, which anybody can measure again")
    if arguments.transcript:
        sources = [source_of(snapshot.load(arguments.transcript))]
    else:
        sources = [Source(numbered_text(seed, 2000)) for seed in SEEDS]
    readers = _readers(arguments.weights, neutral=arguments.neutral, ocr=arguments.ocr)
    readers = {name: reads for name, reads in readers.items() if arguments.only in name}
    print(table([]), end="", flush=True)
    drawings = [arguments.drawing] if arguments.drawing else range(1, marks.DRAWING + 1)
    for face in arguments.faces.split(","):
        for drawing in drawings:
            for item in _measured(sources, face, drawing, readers, arguments):
                print(_line(item), flush=True)
                if arguments.write:
                    _keep([item])


if __name__ == "__main__":
    main()
