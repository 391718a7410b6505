"""The query: one row for each chunk of inputs, and a column that makes its part. Daft does the rest.

Daft's native runner is embedded and starts a process for each processor; its Ray runner is the same query on
a cluster. Neither keeps the order of rows: that would let one long transcript hold up all behind it.
"""

from __future__ import annotations

import json
import logging
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import astuple
from pathlib import Path
from typing import Any, NamedTuple

from snapshot.batch.inputs import Input
from snapshot.batch.packages import daft, ray
from snapshot.batch.parts import Job, make_part
from snapshot.errors import SnapshotError

__all__ = ["Task", "choose_runner", "made_parts"]


class Task(NamedTuple):
    """A part to make: its name, its inputs, and other parts that may hold rows of them."""

    name: str
    inputs: Sequence[Input]
    former: Sequence[str]


def choose_runner(runner: str) -> int:
    """Start Daft's runner, once in a process; the number of processors that it has.

    Args:
        runner: "native"; "ray" for the cluster of RAY_ADDRESS, or one of this machine; or the address of a
            cluster: `ray://HOST:PORT`, or `HOST:PORT` from within it.

    Raises:
        SnapshotError: Daft or Ray is not installed, or there is no cluster.
    """
    engine = daft()
    if runner == "native":
        _start(engine, "native", engine.set_runner_native)
        return _processors()
    cluster = ray()
    _reach(runner)
    try:
        if not cluster.is_initialized():
            address = None if runner == "ray" else runner
            cluster.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        found = int(cluster.cluster_resources().get("CPU", 1))
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise SnapshotError(f"--runner {runner}: {_line(error)}") from error
    _start(engine, "ray", lambda: engine.set_runner_ray(noop_if_initialized=True))
    return max(1, found)


def made_parts(job: Job, tasks: Sequence[Task], processes: int) -> Iterator[dict[str, Any]]:
    """Make the parts in as many processes; what `make_part` tells of each, as they come.

    Raises:
        SnapshotError: a part could not be written, or a process came to an end.
    """
    engine = daft()

    @engine.cls(use_process=True, max_concurrency=max(1, min(processes, len(tasks))))
    class Maker:
        """What a process of its own keeps from one part to the next."""

        def __init__(self, job: tuple[Any, ...]) -> None:
            self.job = Job(*job)
            self.parent = os.getppid()

        @engine.method.batch(return_dtype=engine.DataType.string(), batch_size=1)
        def make(self, tasks: Any) -> list[str]:
            return [json.dumps(_made(self.job, task, self.parent)) for task in tasks.to_pylist()]

    maker: Any = Maker(astuple(job))
    rows = engine.from_pydict({"task": [json.dumps(task) for task in tasks]})
    told = rows.select(maker.make(engine.col("task")).alias("told"))
    try:
        for row in told.iter_rows():
            part: dict[str, Any] = json.loads(row["told"])
            if part["failed"]:
                raise SnapshotError(part["failed"])
            yield part
    except SnapshotError:
        raise
    except Exception as error:  # of Daft or Ray; theirs have no common base
        raise SnapshotError(
            f"a process that made parts came to an end ({_line(error)}); what is done stays, "
            "and the same command goes on from there"
        ) from error


def _made(job: Job, task: str, parent: int) -> dict[str, Any]:
    name, inputs, former = json.loads(task)
    # Daft prints what its processes print, and standard output is the command's own.
    with Path(os.devnull).open("w") as sink, redirect_stdout(sink), redirect_stderr(sink):
        # A process whose run was killed may not write: another run may be on its way, with other settings.
        return make_part(job, name, [Input(*item) for item in inputs], former, lambda: os.getppid() == parent)


def _reach(runner: str) -> None:
    """Refuse an address that nobody answers at: Ray itself tries for minutes."""
    host, colon, port = runner.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise SnapshotError(f"--runner {runner}: nobody answers there ({error})") from error


def _start(engine: Any, kind: str, start: Callable[[], object]) -> None:
    """Start a runner of a kind; one of that kind that this process has already stays."""
    try:
        start()
    except RuntimeError as error:
        if engine.get_or_infer_runner_type() != kind:
            raise SnapshotError(f"this process has another runner already: {_line(error)}") from error
    # Rows in their order would be rows that wait for the longest of them.
    engine.set_execution_config(maintain_order=False)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:300]
