"""Whole processes: how soon a command is done, and how much memory one needs at its peak."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Row, text_of

__all__ = ["cold_start", "memory", "process"]

# A small process between: a child's peak counts from what its parent held when it was born.
_LAUNCHER = """
import os, sys, time
begun = time.perf_counter()
null = os.open(os.devnull, os.O_WRONLY)
files = [(os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)]
child = os.posix_spawn(sys.executable, [sys.executable, *sys.argv[1:]], os.environ, file_actions=files)
_, status, used = os.wait4(child, 0)
assert status == 0, status
print(used.ru_utime + used.ru_stime, time.perf_counter() - begun, used.ru_maxrss / 1024)
"""

_RENDER = """
import sys, snapshot
size, folder = int(sys.argv[1]), sys.argv[2]
lines = ("def read(path, limit=100):\\n    return [row.strip() for row in open(path)][:limit]\\n"
         "The quick brown fox jumps over 13 lazy dogs; 0x7f3a, /usr/lib, a != b.\\n")
text = lines * (size // len(lines))
if folder:
    from pathlib import Path
    from snapshot.pages.folder import write
    from snapshot.pages.layout import layout_for
    from snapshot.pages.render import Typesetter
    from snapshot.source.source import Source
    write(Path(folder), Source(text), Typesetter(layout_for("claude-opus-4-8")))
else:
    for page in snapshot.render(text, model="claude-opus-4-8"):
        pass
"""


def process(arguments: list[str], runs: int, **environment: str) -> tuple[float, float, float]:
    """Least processor and wall seconds, and the peak in megabytes, of a Python process."""
    settings = {**os.environ, **environment}
    settings.pop("PYTHONDONTWRITEBYTECODE", None)
    found = []
    for _ in range(runs):
        command = [sys.executable, "-S", "-c", _LAUNCHER, *arguments]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=settings)
        found.append([float(value) for value in done.stdout.split()])
    cpu, wall, peak = zip(*found, strict=True)
    return min(cpu), min(wall), max(peak)


def cold_start(runs: int) -> Iterator[Row]:
    """Commands beside the bare interpreter and the import of NumPy; what they take more, in CPU seconds.

    Modules are compiled by the first of several runs, as an installer does it once.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "session.txt"
        file.write_text(text_of(200_000), encoding="utf-8")
        render = ["-m", "snapshot", "render", str(file), "-o", str(Path(folder) / "pages")]
        verify = ["-m", "snapshot", "verify", str(Path(folder) / "pages")]
        kept = str(Path(folder) / "kept")  # filled by the first of several runs
        bare, numpy = "python -c pass", "python -c 'import numpy'"
        cases = (
            (bare, ["-c", "pass"], "", kept),
            (numpy, ["-c", "import numpy"], "", kept),
            ("snapshot --help", ["-m", "snapshot", "--help"], bare, kept),
            ("snapshot render, nothing kept", render, numpy, "off"),
            ("snapshot render", render, numpy, kept),
            ("snapshot verify", verify, numpy, kept),
        )
        done: dict[str, float] = {}
        for name, arguments, beside, cache in cases:
            cpu, wall, _ = process(
                arguments, runs, SNAPSHOT_CACHE=cache, PYTHONPYCACHEPREFIX=str(Path(folder) / "compiled")
            )
            done[name] = cpu
            chars = 200_000 if arguments in (render, verify) else 0
            more = cpu - done[beside] if beside else None
            said = f"CPU s more than {beside}" if beside else ""
            yield Row("process", name, chars, cpu, wall, more, said)


def memory(sizes: tuple[int, ...]) -> Iterator[Row]:
    """Peaks of processes that render ASCII text of those sizes, the text included; the ratio is in MB."""
    for size in sizes:
        for kind in ("render", "folder.write"):
            with tempfile.TemporaryDirectory() as folder:
                cpu, wall, peak = process(["-c", _RENDER, str(size), folder if "." in kind else ""], 1)
            yield Row("memory", kind, size, cpu, wall, peak, "MB at the peak")
