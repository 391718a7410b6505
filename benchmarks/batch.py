"""How `snapshot batch` scales: time on one process and on two, and memory, by the number of transcripts.

    python -m benchmarks.batch --copies 200 2000 --runs FOLDER --do cost

Copies of runs get ids of their own, so that no two are the same. Times of one run are to be compared with
each other only: the ratio is what counts. Beside it stands the ratio for processes that only count: more than
the machine has left for them nobody gets. `work` is the CPU time of the processes that made parts, `shared`
is that divided by the time of the busiest: by so much the work is shared, however busy the machine is.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RUNS = (ROOT / "tests/data/ytt-start.claude-stream.jsonl", ROOT / "tests/data/example.claude-stream.jsonl")
_IDS = re.compile(
    rb"\b(?:toolu_|msg_|call_|req_)[A-Za-z0-9]{6,}|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
)


def copies(folder: Path, runs: Sequence[Path], count: int, broken: int = 0) -> None:
    """Write `count` transcripts into a folder, each with ids of its own; `broken` of them cannot be read."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = [run.read_bytes() for run in runs]
    every = count // broken if broken else 0
    for number in range(count):
        path = folder / f"run-{number:06d}.jsonl"
        if every and number % every == every - 1:
            path.write_bytes(_damage(number // every))
        else:
            path.write_bytes(renamed(texts[number % len(texts)], number))


def renamed(text: bytes, number: int) -> bytes:
    """A transcript with other ids: of the same form, the same ones for the same ones."""

    def other(match: re.Match[bytes]) -> bytes:
        told = match[0]
        digest = hashlib.sha256(b"%d %s" % (number, told)).hexdigest().encode("ascii")
        if told[8:9] == b"-":
            return b"-".join((digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:32]))
        start = told[: told.index(b"_") + 1]
        return start + (digest * 2)[: len(told) - len(start)]

    return _IDS.sub(other, text)


def _damage(number: int) -> bytes:
    """Content that no reader takes: one of five kinds."""
    return (
        b"",
        b'[{"role": "user", "content": "cut off',
        b'{"weather": "fine", "wind": [1, 2, 3]}',
        b"SQLite format 3\0" + bytes(range(256)),
        b"\x1f\x8b\x08\x00 no gzip at all, and shorter than one",
    )[number % 5]


@dataclass(frozen=True, slots=True)
class Measured:
    """A run of the command.

    Attributes:
        seconds: how long it took.
        memory: the most that all its processes had in memory at once, in MiB.
        work: CPU seconds of each process that made parts.
        told: its account.
    """

    seconds: float
    memory: int
    work: tuple[float, ...]
    told: dict[str, Any]


def batch(folder: Path, output: Path, *options: str) -> Measured:
    """Run the command, and look at its processes while it runs."""
    command = [sys.executable, "-m", "snapshot", "batch", str(folder), "-o", str(output), "--json", *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    start = time.perf_counter()
    most = 0
    work: dict[int, float] = {}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, env=environment, start_new_session=True
    ) as process:
        while process.poll() is None:
            pids = list(_session(process.pid))
            most = max(most, sum(map(_resident, pids)))
            work.update({pid: seconds for pid in pids if pid != process.pid and (seconds := _cpu(pid)) > 0.5})
            time.sleep(0.2)
        assert process.stdout is not None
        told = process.stdout.read()
    if process.returncode:
        raise SystemExit(process.returncode)
    return Measured(time.perf_counter() - start, most >> 20, tuple(work.values()), json.loads(told))


def spun(processes: int, seconds: float = 3.0) -> int:
    """What so many processes of one session get done that only count: what the machine has left for them."""
    count = f"import time;t=time.perf_counter()+{seconds};n=0\nwhile time.perf_counter()<t:n+=1\nprint(n)"
    start = f"import subprocess as s,sys;c=[sys.executable,'-c',{count!r}]\n"
    start += f"p=[s.Popen(c,stdout=s.PIPE) for _ in range({processes})]\n"
    start += "print(sum(int(x.communicate()[0]) for x in p))"
    done = subprocess.run(
        [sys.executable, "-c", start], stdout=subprocess.PIPE, start_new_session=True, check=True
    )
    return int(done.stdout)


def _cpu(pid: int) -> float:
    """CPU seconds of a process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _session(leader: int) -> Iterator[int]:
    """The processes of a session, by its leader."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader:
            yield int(path.parent.name)


def _resident(pid: int) -> int:
    """Bytes that a process has in memory, its share of what several have."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def main() -> None:
    """Print a line for each number of copies and processes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--copies", type=int, nargs="+", default=[200])
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--runs", type=Path, help="a folder of transcripts to copy")
    parser.add_argument("--do", default="cost")
    parser.add_argument("-m", "--model", default="claude-opus-4-8")
    arguments = parser.parse_args()
    runs = RUNS if arguments.runs is None else tuple(sorted(arguments.runs.glob("*.json*")))
    heads = f"{'copies':>8}{'MB':>8}{'processes':>11}{'seconds':>9}{'MiB':>7}{'errors':>8}{'ratio':>7}"
    print(f"{heads}{'counting':>10}{'work':>8}{'shared':>8}  load")
    for count in arguments.copies:
        with tempfile.TemporaryDirectory() as home:
            copies(Path(home, "in"), runs, count)
            size = sum(path.stat().st_size for path in Path(home, "in").iterdir())
            first = counted = None
            for processes in arguments.processes:
                before = os.getloadavg()[0]
                spins = spun(processes)
                counted = counted or spins
                output = Path(home, f"out-{processes}.parquet")
                options = ("--do", arguments.do, "-m", arguments.model, "--processes", str(processes))
                run = batch(Path(home, "in"), output, *options)
                first = first or run.seconds
                load = f"{before:.1f} to {os.getloadavg()[0]:.1f}"
                figures = (
                    f"{run.seconds:>9.1f}{run.memory:>7,}{run.told['errors']:>8}{first / run.seconds:>7.2f}"
                )
                figures += (
                    f"{spins / counted:>10.2f}{sum(run.work):>8.1f}{sum(run.work) / max(run.work):>8.2f}"
                )
                print(f"{count:>8,}{size / 1e6:>8,.0f}{processes:>11}{figures}  {load}", flush=True)


if __name__ == "__main__":
    main()
