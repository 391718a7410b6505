"""Faces × cells × grey levels beside what other tools use: how well each is read, and what it costs.

Independent readers judge (`benchmarks.judges`), on fresh text: a face becomes a default where they agree.
PP-OCR stands beside them: the faces of this package were drawn by its confusions, so it is no judge of them.

    python -m benchmarks.contest                        # all of them, printed as a table
    python -m benchmarks.contest --write                # … and kept in benchmarks/results/ and docs/
    python -m benchmarks.contest --only drawn --write   # some measured again, in the place of the old ones
    python -m benchmarks.contest --face fonts/my.txt    # one's own: drawn, a face file, or FONT@9x16
    python -m benchmarks.contest --only fira --no-ocr   # some of them, without the neural reader
    python -m benchmarks.contest --judges --write       # the judges alone, on the faces that matter
    python -m benchmarks.contest --marks --write        # they, on the page with marks alone, and its bytes
    python -m benchmarks.contest --bytes --write        # its bytes alone, as pages are made today: seconds

Needs `snapshot-pages[ocr]`; without it, and with --no-ocr, the observer alone compares cells. Fonts of
other tools come from Debian's packages (xfonts-base, fonts-spleen, fonts-jetbrains-mono, fonts-dejavu-core),
and Source Code Pro from `fontpkg-source-code-pro`: what is not installed is skipped, and said. Tesseract
(Debian's tesseract-ocr) judges where it is installed.

PP-OCR's reading error is its mean character error rate at 0.6 and 0.5 of a page's size: undegraded, it reads
nearly everything.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # four times quicker than with threads, on small matrices

import argparse
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.faces import Candidate, candidates, matters, named
from benchmarks.judges import FACTORS as JUDGED_AT
from benchmarks.judges import Judged, bytes_of, judged, with_marks
from benchmarks.measure import machine
from benchmarks.observer import observe
from benchmarks.reading import COLUMNS, rows
from snapshot.errors import SnapshotError
from snapshot.legibility.ocr import (
    FACTORS,
    Recogniser,
    cut_rows,
    has_ocr,
    shrunk,
)
from snapshot.legibility.score import Reading, compared

STRESS = (0.6, 0.5)
"""Factors at which reading error is taken."""
RESULTS = Path(__file__).resolve().parent / "results" / "contest.json"
_SEEDS = (11, 12)
_PAIRS = 12


@dataclass(frozen=True, slots=True)
class Result:
    """What was measured of a face on a cell.

    Attributes:
        name, group: the candidate's.
        cell: width and height in pixels.
        observer: accuracy of the observer of 28-pixel patches.
        readings: PP-OCR's by shrink factor; empty without it.
        judges: what independent readers made of fresh text.
        bytes: of a PNG for 1,000 cells of a transcript's page.
    """

    name: str
    group: str
    cell: tuple[int, int]
    observer: float
    readings: dict[float, Reading]
    judges: tuple[Judged, ...] = ()
    bytes: int = 0

    @property
    def area(self) -> int:
        """Pixels per character."""
        return self.cell[0] * self.cell[1]

    @property
    def error(self) -> float | None:
        """Mean character error rate at the factors of `STRESS`; None where it was not read there."""
        found = [self.readings[factor].error_rate for factor in STRESS if factor in self.readings]
        return sum(found) / len(found) if len(found) == len(STRESS) else None

    def stored(self) -> dict[str, Any]:
        """The result for a file."""
        return {
            "name": self.name,
            "group": self.group,
            "cell": list(self.cell),
            "observer": round(self.observer, 4),
            "error": None if self.error is None else round(self.error, 4),
            "bytes": self.bytes,
            "judges": [item.stored() for item in self.judges],
            "readings": [
                {
                    "factor": factor,
                    "error_rate": round(reading.error_rate, 4),
                    "chars": reading.chars,
                    "strings": reading.strings,
                    "exact": reading.exact,
                    "confused": [list(pair) for pair in reading.confused[:_PAIRS]],
                }
                for factor, reading in self.readings.items()
            ],
        }


def measure(
    candidate: Candidate,
    *,
    reader: Recogniser | None,
    factors: tuple[float, ...],
    judge: bool = False,
    shrink: tuple[float, ...] = JUDGED_AT,
) -> Result:
    """Everything that is measured of a candidate; with `judge` the independent readers are asked, about rows
    without marks at the factors of `shrink`.

    Raises:
        SnapshotError: it cannot be opened.
    """
    glyphs = candidate.load()
    text = rows(seeds=_SEEDS)
    page = glyphs.page(text, COLUMNS)
    readings: dict[float, Reading] = {}
    if reader is not None:
        for factor in factors:
            readings[factor] = compared(text, reader.read(cut_rows(shrunk(page, factor), len(text))))
    judges: tuple[Judged, ...] = ()
    size = 0
    if judge:
        marked = with_marks(glyphs)
        judges, size = tuple(judged(marked, factors=shrink)), bytes_of(marked)
    return Result(
        candidate.name, candidate.group, glyphs.cell, observe(glyphs).accuracy, readings, judges, size
    )


def kept() -> dict[str, Any]:
    """The kept results."""
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def _line(result: Result) -> str:
    """A row of the printed table."""
    parts = [f"{result.name:<32}{result.area:>5}{result.observer:>9.3f}"]
    if result.error is not None:
        parts.append(f"{result.error:>8.3f}")
    parts += [f"{reading.error_rate:>9.3f}/{reading.recall:.2f}" for reading in result.readings.values()]
    parts += [f"{item.reading.error_rate:>9.3f}/{item.reading.recall:.2f}" for item in result.judges]
    if result.bytes:
        parts.append(f"{result.bytes:>7}")
    return "".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.contest",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--face", action="append", default=[], help="a file of drawn glyphs, a face file, or FONT@WxH"
    )
    parser.add_argument("--only", default="", help="part of the names of those to measure")
    parser.add_argument("--no-ocr", action="store_true", help="without PP-OCR")
    parser.add_argument(
        "--judges", action="store_true", help="the independent readers alone, on the faces that matter"
    )
    parser.add_argument(
        "--marks", action="store_true", help="as --judges, and of them the page with marks alone"
    )
    parser.add_argument("--bytes", action="store_true", help="the bytes of the kept results alone")
    parser.add_argument(
        "--factors", default=",".join(map(str, (1.0, *STRESS))), help=f"of {FACTORS}, with commas"
    )
    parser.add_argument(
        "--confused", type=int, default=0, metavar="N", help="the N worst pairs at each factor"
    )
    parser.add_argument("--write", action="store_true", help="keep the results, their picture and tables")
    arguments = parser.parse_args()
    if arguments.bytes:
        _bytes_anew(keep=arguments.write)
        return
    if arguments.judges or arguments.marks:
        arguments.judges = arguments.no_ocr = True
    reader = None if arguments.no_ocr else _recogniser()
    factors = tuple(map(float, arguments.factors.split(","))) if reader else ()
    found: list[Result] = []
    heads = "".join(f"{f'@{factor:g}':>14}" for factor in factors)
    error = "   error" if set(STRESS) <= set(factors) else ""
    print(f"{'face, cell':<32}{'px':>5}{'observer':>9}{error}{heads}")
    try:
        chosen = [named(text) for text in arguments.face] or [*candidates()]
        if arguments.judges and not arguments.face:
            chosen = [candidate for candidate in chosen if matters(candidate.name)]
    except SnapshotError as failure:
        sys.exit(str(failure))
    for candidate in chosen:
        if arguments.only.lower() not in candidate.name.lower():
            continue
        begun = time.perf_counter()
        try:
            result = measure(
                candidate,
                reader=reader,
                factors=factors,
                judge=matters(candidate.name),
                shrink=() if arguments.marks else JUDGED_AT,
            )
        except SnapshotError as failure:
            print(f"{candidate.name:<32} skipped: {failure}")
            continue
        found.append(result)
        print(f"{_line(result)}  {time.perf_counter() - begun:.0f} s", flush=True)
        for factor, reading in result.readings.items():
            if arguments.confused:
                worst = reading.confused[: arguments.confused]
                print(f"    @{factor:g}  " + " ".join(f"{a or '∅'}>{b or '∅'}:{n}" for a, b, n in worst))
    if arguments.write:
        if not arguments.judges and any(result.error is None for result in found):
            sys.exit("nothing is kept: results without a reading error are not compared with others")
        _keep(found)


def _recogniser() -> Recogniser | None:
    """PP-OCR, or None with a line on standard error where it is not installed."""
    if has_ocr():
        return Recogniser()
    print("no neural reader: pip install 'snapshot-pages[ocr]'; the observer alone", file=sys.stderr)
    return None


def _bytes_anew(*, keep: bool) -> None:
    """Count the bytes of the kept results anew; those of a font that is not installed stay."""
    from benchmarks.trade import write

    stored = kept()
    faces = {candidate.name: candidate for candidate in candidates()}
    for item in stored["results"]:
        if not item["bytes"]:
            continue
        try:
            size = bytes_of(with_marks(faces[item["name"]].load()))
        except SnapshotError as failure:
            print(f"{item['name']:<32} stays {item['bytes']:,}: {failure}")
            continue
        print(f"{item['name']:<32}{item['bytes']:>7,} → {size:,}")
        item["bytes"] = size
    if keep:
        RESULTS.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        write()


def _keep(found: list[Result]) -> None:
    """Put results in the place of those of the same names, and make tables and picture anew."""
    from benchmarks.trade import write

    former = kept()["results"] if RESULTS.exists() else []
    merged = {item["name"]: item for item in former}
    for result in found:
        new = result.stored()
        old = merged.get(result.name, new)
        if not new["readings"]:  # PP-OCR was not asked: what it said stays
            new |= {key: old[key] for key in ("error", "readings")}
        if not new["judges"]:
            new |= {key: old.get(key, new[key]) for key in ("judges", "bytes")}
        else:  # of a judge that was asked about one text alone, what it said of the other stays
            judges = {
                (one["text"] == "marks", -one["factor"], one["reader"] != "tesseract"): one
                for one in (*old["judges"], *new["judges"])
            }
            new["judges"] = [judges[key] for key in sorted(judges)]
        merged[result.name] = new
    order = [candidate.name for candidate in candidates()]
    keep = {
        "schema": "snapshot-pages/contest/2",
        "machine": {
            **machine(),
            "text": "judges: benchmarks/fresh.py; PP-OCR: samples/reading.txt and exact strings by seed",
        },
        "stress": list(STRESS),
        "results": [merged[name] for name in order if name in merged],
    }
    RESULTS.write_text(json.dumps(keep, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    write()


if __name__ == "__main__":
    main()
