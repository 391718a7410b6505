"""What tests of `snapshot batch` share: the command, small transcripts, and what is killed or waited for."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time

import pytest

from benchmarks.batch import copies
from tests.conftest import HERE

ROOT = HERE.parent
RUN = HERE / "data" / "ytt-start.claude-stream.jsonl"
EXAMPLE = HERE / "data" / "example.claude-stream.jsonl"
MODEL = "claude-opus-4-8"
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}


def command(*arguments, **more):
    """Run the command line; what it prints, as text."""
    return subprocess.run(
        [sys.executable, "-m", "snapshot", "batch", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT), **QUIET, **more.pop("env", {})},
        capture_output=True,
        text=True,
        timeout=more.pop("timeout", 280),
        **more,
    )


def batch(*arguments, **more):
    """The account of a batch that must come to its end."""
    done = command(*arguments, "--json", **more)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return json.loads(done.stdout)


def lines(path):
    """The rows of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def start_of(run, messages):
    """The first lines of a run: a transcript that takes little time."""
    return b"".join(run.read_bytes().splitlines(keepends=True)[:messages])


@pytest.fixture
def runs(tmp_path):
    """A folder with small transcripts, 3 of 30 broken."""
    small = tmp_path / "small.jsonl"
    small.write_bytes(start_of(EXAMPLE, 8))
    copies(tmp_path / "runs", [small], 30, broken=3)
    return tmp_path / "runs"


def killed_at_random(arguments, output, took, times, holds=lambda: True):
    """Start a batch that takes so many seconds and kill it; how often it was not yet done."""
    moments = random.Random(17)
    killed = 0
    for _ in range(times):
        process = subprocess.Popen(
            [sys.executable, "-m", "snapshot", "batch", *map(str, arguments), str(output)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        time.sleep(moments.uniform(0.02, 0.6) * took)
        killed += process.poll() is None
        # Half of the times with all its processes, half alone: those that it started then go on for a while.
        if moments.random() < 0.5 and process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()
        assert holds()
    return killed


def wait_for(port, process):
    """Wait until somebody answers at a port of this machine, or the process has ended."""
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert process.poll() is None, "Ray has ended"
        time.sleep(0.2)
    raise AssertionError("Ray did not start")
