"""One table of what every stage costs, beside its floor and its rivals, in one run.

    python -m benchmarks.speed                      # all of it, some minutes
    python -m benchmarks.speed --short --check      # what CI runs: a few rows, and floors for their ratios
    python -m benchmarks.speed --store FILE         # keep the results, for benchmarks.compare
    python -m benchmarks.speed --only former reader sent class    # what docs/speed.md has, of one run

Seconds are of processors, and the least of several runs; compare the rows of one run, not runs. The text is
that of real transcripts where they are kept beside the repository, else of the example in it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

from benchmarks import processes, stages
from benchmarks.measure import Row, machine

SCHEMA = "snapshot-pages/benchmark/1"

# Stage, part of the variant, part of "against", least and most. Generous: a shared machine is no clock.
FLOORS = (
    ("compress", "default", "zlib 6", 0.0, 1.03),
    ("compress", "small", "zlib 6", 0.0, 0.96),
    ("whole", "1 bit, 9×16, default, 1 thread", "compressor", 0.55, 1.6),
    ("whole", "2 bit, 9×16, default, 1 thread", "compressor", 0.55, 1.6),
    ("whole", "fast, 1 thread", "compressor", 0.35, 1.6),
    ("whole", "2 threads", "1 thread", 0.7, 9.0),
    ("size", "", "cost of", 0.4, 2.5),
    ("rival", "careful", "slower", 3.0, 1e9),
    ("rival", "naive", "slower", 10.0, 1e9),
    ("former", "default, numpy", "times as long", 1.3, 9.0),
    ("former", "default, numba", "times as long", 1.3, 9.0),
    ("former", "fast, numpy", "times as long", 1.1, 9.0),
    ("reader", "", "bytes", 2000.0, 7500.0),
    ("sent", "", "bytes", 1500.0, 7500.0),
    ("class", "code, default", "bytes", 2000.0, 8000.0),
    ("class", "CJK, default", "bytes", 5000.0, 30000.0),
    ("memory", "", "MB", 0.0, 500.0),
)


def groups(short: bool) -> dict[str, Callable[[], Iterator[Row]]]:
    """All measurements by the name of their stage, in the order of the table."""
    chars = 400_000 if short else 2_000_000
    counts = (20_000, 200_000, 2_000_000) if short else (20_000, 200_000, 2_000_000, 20_000_000)
    cells = [(1, 9), (2, 9)] if short else [(depth, width) for depth in (1, 2, 4) for width in (8, 9, 11)]
    return {
        "reading": stages.reading,
        "text": lambda: stages.text_stages(chars),
        "whole": lambda: (row for depth, width in cells for row in stages.wholes(depth, width, chars)),
        "size": lambda: stages.sizes(counts),
        "former": lambda: stages.beside_former(chars, 3 if short else 7),
        "reader": lambda: stages.readers(200_000 if short else 500_000),
        "sent": stages.sent,
        "class": lambda: stages.classes(100_000 if short else 500_000),
        "rival": lambda: stages.rivals(200_000 if short else 400_000),
        "start": lambda: processes.cold_start(3 if short else 7),
        "memory": lambda: processes.memory((2_000_000,) if short else (2_000_000, 100_000_000)),
    }


def line(row: Row) -> str:
    """A row of the table."""
    ratio = "" if row.ratio is None else f"{row.ratio:9.2f}  {row.against}"
    rate = f"{row.rate:9.2f}" if row.chars else f"{'':9}"
    return (
        f"{row.stage:16}{row.variant:46}{row.chars:>12,}{row.cpu:10.4f}{row.wall:10.4f}{rate}{ratio}".rstrip()
    )


def failures(measured: list[Row]) -> list[str]:
    """What is below its floor, a line each."""
    return [
        f"{row.stage} {row.variant}: {row.ratio:.2f} ({row.against}), allowed is {least} to {most}"
        for stage, variant, against, least, most in FLOORS
        for row in measured
        if row.stage == stage and variant in row.variant and against in row.against
        if row.ratio is not None and not least <= row.ratio <= most
    ]


def main() -> int:
    """Measure, print, store, check; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--short", action="store_true", help="few rows and small texts")
    parser.add_argument("--check", action="store_true", help="fail where a ratio is below its floor")
    parser.add_argument("--store", metavar="FILE", type=Path, help="write the results as JSON")
    parser.add_argument("--only", nargs="+", choices=[*groups(True)], help="these stages alone")
    arguments = parser.parse_args()
    facts = machine()
    print(
        f"{facts['processor']}, {facts['processors']} processors, {facts['system']}, Python {facts['python']}"
    )
    print(f"{'stage':16}{'variant':46}{'characters':>12}{'CPU s':>10}{'wall s':>10}{'M/CPU s':>9}    ratio")
    measured = []
    for name, measure in groups(arguments.short).items():
        for row in measure() if not arguments.only or name in arguments.only else ():
            measured.append(row)
            print(line(row), flush=True)
    if arguments.store:
        result = {
            "schema": SCHEMA,
            "date": date.today().isoformat(),
            "machine": facts,
            "rows": [row.stored() for row in measured],
        }
        arguments.store.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    found = failures(measured) if arguments.check else []
    for failure in found:
        print(failure, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
