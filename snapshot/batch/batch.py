"""A whole batch: list, divide, make what is missing, assemble."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from snapshot._files import exclusive
from snapshot.batch.engine import Task, choose_runner, made_parts
from snapshot.batch.inputs import CHUNK, Chunk, Input, chunks_of, inputs_of
from snapshot.batch.output import SUFFIXES, assemble, clear, parts_in
from snapshot.batch.parts import Job, fingerprint_in, fingerprinted, paths_in
from snapshot.errors import OutputError

__all__ = ["Outcome", "run_batch"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a batch came to.

    Attributes:
        inputs: their number; `made` of them were worked on, the rows of `kept` were there already.
        errors: inputs with an error in their rows.
        parts: the paths of all parts, in the order of their inputs.
    """

    inputs: int
    made: int = 0
    kept: int = 0
    errors: int = 0
    parts: tuple[Path, ...] = ()


def run_batch(
    job: Job,
    named: Sequence[str],
    output: Path,
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
        output: a file or folder.
        runner: see `snapshot.batch.engine.choose_runner`.
        processes: how many work at once; by default as many as there are processors.
        chunk: inputs of a part, on average.
        progress: told of every part.

    Raises:
        SnapshotError: nothing is there to read, no engine, or a part could not be written.
        OutputError: the output cannot be written, or another run writes it.
    """
    one_file = output.suffix in SUFFIXES
    folder = output.with_name(f"{output.name}.parts") if one_file else output
    found = choose_runner(runner)
    inputs = inputs_of(named, column=job.column)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with exclusive(folder):
            job = fingerprinted(replace(job, folder=str(folder.absolute())))
            done = _made(job, inputs, processes=processes or found, chunk=chunk, progress=progress)
            if one_file:
                assemble(job.action, folder, [path.name for path in done.parts], output)
            return done
    except BlockingIOError as error:
        raise OutputError(
            f"{folder}: another run writes there; wait for it, or name another output"
        ) from error
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written to ({error.strerror or error})") from error


def _made(
    job: Job, inputs: Sequence[Input], *, processes: int, chunk: int, progress: Callable[[Outcome], None]
) -> Outcome:
    folder = Path(job.folder)
    chunks = list(chunks_of(inputs, chunk))
    names = [part.name(job.fingerprint) for part in chunks]
    done = Outcome(len(inputs), parts=tuple(folder / name for name in names))
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
    return done


def _tasks(folder: Path, chunks: Sequence[Chunk], names: Sequence[str], fingerprint: str) -> list[Task]:
    """The parts to make. Those of another division of the inputs give their rows to the new ones."""
    there = set(parts_in(folder))
    stale = [name for name in sorted(there - set(names)) if fingerprint_in(folder / name) == fingerprint]
    held = {path: name for name in stale for path in paths_in(folder / name)}
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
