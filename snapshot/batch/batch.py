"""A whole batch: list, divide, make what is missing, assemble."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from snapshot._files import reason
from snapshot.batch.engine import Task, choose_runner, made_parts
from snapshot.batch.folders import Folder, folder_of, joined, split_url
from snapshot.batch.inputs import CHUNK, Chunk, Input, chunks_of, inputs_of
from snapshot.batch.output import SUFFIXES, assemble, clear, parts_in
from snapshot.batch.parts import Job, fingerprint_in, fingerprinted, paths_in
from snapshot.batch.storage import is_url
from snapshot.errors import OutputError, SnapshotError

__all__ = ["Outcome", "run_batch"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a batch came to.

    Attributes:
        inputs: their number; `made` of them were worked on, the rows of `kept` were there already.
        errors: inputs with an error in their rows.
        parts: the paths or URLs of all parts, in the order of their inputs.
    """

    inputs: int
    made: int = 0
    kept: int = 0
    errors: int = 0
    parts: tuple[str, ...] = ()


def run_batch(
    job: Job,
    named: Sequence[str],
    output: str,
    *,
    runner: str = "native",
    processes: int | None = None,
    chunk: int = CHUNK,
    progress: Callable[[Outcome], None] = lambda _: None,
) -> Outcome:
    """Do `job` with every input, and leave the rows at `output`.

    A file ending in `.parquet`, `.jsonl` or `.csv` is assembled from parts, which stay in a folder beside it
    (`OUTPUT.parts`) for the next run; any other output is the folder of parts.

    Args:
        job: what to do; its folder and fingerprint are set here.
        named: paths, globs and URLs.
        output: a file or folder, of this machine or as a URL.
        runner: see `snapshot.batch.engine.choose_runner`.
        processes: how many work at once; by default as many as there are processors.
        chunk: inputs of a part, on average.
        progress: told of every part.

    Raises:
        SnapshotError: nothing is there to read, no engine, or a part could not be written.
        OutputError: the output cannot be written, or another run writes it.
    """
    beside, name = split_url(output)
    one_file = Path(name).suffix in SUFFIXES
    where = joined(beside, f"{name}.parts" if one_file else name)
    folder = folder_of(where)
    found = choose_runner(runner)
    own = [joined(beside, name), where, job.settings.get("pages")]
    inputs = [item for item in inputs_of(named, column=job.column) if not _within(item.at, own)]
    if not inputs:
        raise SnapshotError(f"{', '.join(named)}: no file is there but what the batch itself has written")
    try:
        with folder.exclusive():
            job = fingerprinted(replace(job, folder=where))
            done, parts = _made(
                job, folder, inputs, processes=processes or found, chunk=chunk, progress=progress
            )
            if one_file:
                assemble(job.action, folder, parts, folder_of(beside), name)
            return done
    except BlockingIOError as error:
        raise OutputError(
            f"{folder}: another run writes there; wait for it, or name another output"
        ) from error
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written to ({reason(error)})") from error


def _within(path: str, places: Iterable[str | None]) -> bool:
    """Whether a path or URL is one of these, or below one."""
    if is_url(path):
        return any(f"{path}/".startswith(f"{place.rstrip('/')}/") for place in places if place)
    local = Path(os.path.abspath(path))  # noqa: PTH100 - links stay what they are
    return any(local.is_relative_to(place) for place in places if place and not is_url(place))


def _made(
    job: Job,
    folder: Folder,
    inputs: Sequence[Input],
    *,
    processes: int,
    chunk: int,
    progress: Callable[[Outcome], None],
) -> tuple[Outcome, list[str]]:
    """What came of all parts, and their names."""
    chunks = list(chunks_of(inputs, chunk))
    names = [part.name(job.fingerprint) for part in chunks]
    done = Outcome(len(inputs), parts=tuple(folder.at(name) for name in names))
    progress(done)
    for told in made_parts(job, _tasks(folder, chunks, names, job.fingerprint), processes):
        done = replace(
            done,
            made=done.made + told["made"],
            kept=done.kept + told["kept"],
            errors=done.errors + told["errors"],
        )
        progress(done)
    clear(folder, names)
    return done, names


def _tasks(folder: Folder, chunks: Sequence[Chunk], names: Sequence[str], fingerprint: str) -> list[Task]:
    """The parts to make. Those of another division of the inputs give their rows to the new ones."""
    there = set(parts_in(folder))
    stale = [name for name in sorted(there - set(names)) if fingerprint_in(folder, name) == fingerprint]
    held = {path: name for name in stale for path in paths_in(folder, name)}
    return [
        Task(
            name,
            part.inputs,
            ()
            if name in there or not held
            else sorted({held[item.path] for item in part.inputs if item.path in held}),
        )
        for part, name in zip(chunks, names, strict=True)
    ]
