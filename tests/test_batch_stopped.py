"""`snapshot batch` broken off or killed: nobody waits, nothing is lost, the bytes are the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.batch import copies, renamed
from snapshot.batch.packages import parquet
from tests.batch_runs import EXAMPLE, MODEL, ROOT, RUN, batch, killed_at_random, start_of

pytestmark = pytest.mark.batch


def test_a_long_transcript_holds_up_nobody(tmp_path):
    """The first input takes far longer than all others; they are done before it is."""
    folder = tmp_path / "runs"
    copies(folder, [EXAMPLE], 40)
    row = RUN.read_bytes().splitlines(keepends=True)
    with (folder / "a-long-one.jsonl").open("wb") as file:
        for number in range(170):
            file.write(renamed(b"".join(row[1:]), number))
    output = tmp_path / "out"
    batch(folder, "--do", "convert", "--to", "anthropic", "-o", output, "--processes", "2", "--chunk", "4")
    ended = {path: path.stat().st_mtime for path in output.glob("part-*.parquet")}
    last = max(ended, key=ended.__getitem__)

    assert set(parquet().read_table(last, columns=["path"])["path"].to_pylist()) == {
        str(folder / "a-long-one.jsonl")
    }


def test_a_process_that_is_lost_is_one_line(tmp_path):
    copies(tmp_path / "runs", [RUN], 60)
    output = tmp_path / "out"
    arguments = (tmp_path / "runs", "--do", "cost", "-m", MODEL, "--chunk", "2", "-o", output)
    process = subprocess.Popen(
        [sys.executable, "-m", "snapshot", "batch", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while process.poll() is None and not list(output.glob("part-*")):
        time.sleep(0.05)
    os.kill(next(children_of(process.pid)), signal.SIGKILL)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 2, said
    assert "came to an end" in said.splitlines()[-1]
    assert "Traceback" not in said
    told = batch(*arguments)
    assert told["kept"] > 0
    assert told["made"] + told["kept"] == 60


def children_of(parent):
    """The processes that a process has started."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            yield int(path.parent.name)


@pytest.mark.slow
def test_two_thousand_with_twenty_broken(tmp_path):
    small = tmp_path / "small.jsonl"
    small.write_bytes(start_of(EXAMPLE, 8))
    copies(tmp_path / "runs", [small], 2000, broken=20)
    told = batch(
        tmp_path / "runs", "--do", "inspect", "-m", MODEL, "-o", tmp_path / "out.parquet", timeout=900
    )
    assert (told["inputs"], told["errors"]) == (2000, 20)

    table = parquet().read_table(tmp_path / "out.parquet", columns=["path", "error", "messages"])
    assert table.num_rows == len(set(table["path"].to_pylist())) == 2000
    assert table["error"].null_count == 1980
    assert table["messages"].null_count == 20


@pytest.mark.slow
def test_killed_at_any_moment_it_is_resumed_to_the_same_bytes(tmp_path):
    copies(tmp_path / "runs", [EXAMPLE, RUN], 60, broken=5)
    arguments = (tmp_path / "runs", "--do", "cost", "-m", MODEL, "--chunk", "3", "-o")
    start = time.monotonic()
    batch(*arguments, tmp_path / "whole.parquet")
    took = time.monotonic() - start
    output = tmp_path / "killed.parquet"
    whole = (tmp_path / "whole.parquet").read_bytes()
    assert killed_at_random(
        arguments, output, took, 10, lambda: not output.exists() or output.read_bytes() == whole
    )
    told = batch(*arguments, output)
    assert told["inputs"] == told["made"] + told["kept"] == 60
    assert output.read_bytes() == whole
    parts = [Path(f"{tmp_path}/{name}.parquet.parts") for name in ("whole", "killed")]
    contents = [{path.name: path.read_bytes() for path in folder.glob("part-*")} for folder in parts]
    assert contents[0] == contents[1]
