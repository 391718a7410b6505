"""A part: the rows of one chunk of inputs as one Parquet file, written whole or not at all.

The part is the unit of resuming. A part that is there keeps the rows of every input whose content hash is
the same; only the others are made. What is written depends on the inputs and the settings alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import tarfile
import tempfile
import zipfile
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from snapshot._files import reason
from snapshot.batch.folders import Folder, folder_of
from snapshot.batch.inputs import Input
from snapshot.batch.packages import arrow, parquet
from snapshot.batch.rows import Origin, Row, Source, error_row, origin_of, rows_of
from snapshot.batch.schemas import schema_of
from snapshot.batch.storage import local_copy, open_url
from snapshot.errors import OutputError

__all__ = ["FINGERPRINT", "Job", "fingerprint_in", "fingerprinted", "make_part", "paths_in"]

FINGERPRINT = b"snapshot-batch"
"""The key in a part's metadata that holds the fingerprint of its settings."""
_LAYOUTS = "SNAPSHOT_LAYOUTS"
_GROUP = 8 << 20  # bytes of rows from which a row group is written
_ROWS = 64  # rows of a table that are in memory at once
_AGAIN = ("MemoryError", "OSError", "PermissionError", "FileNotFoundError", "TimeoutError", "ConnectionError")
"""Errors of the moment: their inputs are tried again."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is done with every input.

    Attributes:
        action: one of `snapshot.batch.schemas.ACTIONS`.
        models: model ids; empty for each transcript's own.
        settings: those of the action's function, values that JSON can hold.
        column: the tables' column of messages.
        folder: the path or URL of where parts are.
        layouts: folders of layout files of one's own, as the environment names them.
        fingerprint: a hash of what rows depend on beside their inputs, see `fingerprinted`.
    """

    action: str
    models: tuple[str, ...]
    settings: Mapping[str, Any]
    column: str | None = None
    folder: str = ""
    layouts: str = ""
    fingerprint: str = ""


def fingerprinted(job: Job) -> Job:
    """The job with its fingerprint: a hash of action, settings, rules, layouts and version."""
    from snapshot import __version__

    layouts = os.environ.get(_LAYOUTS, "")
    told = {
        "version": __version__,
        "action": job.action,
        "models": job.models,
        "column": job.column,
        "settings": job.settings,
        "layouts": [
            _digest(path)
            for folder in layouts.split(os.pathsep)
            if folder
            for path in sorted(Path(folder).glob("*.toml"))
        ],
        "rules": [_digest(Path(path)) for path in job.settings.get("redaction_rules") or ()],
    }
    data = json.dumps(told, sort_keys=True).encode("ascii")
    return replace(job, layouts=layouts, fingerprint=hashlib.sha256(data).hexdigest())


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def make_part(
    job: Job,
    name: str,
    inputs: Sequence[Input],
    former: Sequence[str] = (),
    wanted: Callable[[], bool] = lambda: True,
) -> dict[str, Any]:
    """Make the part `name`, or leave it as it is where nothing in it is to do.

    Args:
        job: what to do.
        name: file name of the part.
        inputs: its inputs, in their order.
        former: names of other parts that may hold rows of these inputs.
        wanted: asked before the part takes its place: False leaves everything as it was.

    Returns:
        `inputs`, `made`, `kept`: their number, how many were worked on, how many kept; `errors`: how many of
        them are errors; `failed`: why the part could not be written, "" if it was.
    """
    if job.layouts:
        os.environ[_LAYOUTS] = job.layouts  # a process of a cluster has an environment of its own
    folder = folder_of(job.folder)
    old = _Former(folder, (name, *former), job)
    told: dict[str, Any] = {"inputs": len(inputs), "made": 0, "kept": 0, "errors": 0, "failed": ""}
    if old.holds(name, [item.path for item in inputs]) and all(
        old.has(item, source, job) for item, source in _sources(inputs, job.column)
    ):
        return {**told, "kept": len(inputs), "errors": old.errors}
    try:
        with _Part(folder, name, job) as part:
            for item, source in _sources(inputs, job.column):
                rows, was_kept = _rows(job, item, source, old)
                told["kept" if was_kept else "made"] += 1
                _refuse_unwritten(rows)
                told["errors"] += any(row["error"] is not None for row in rows)
                part.add(rows)
            if not wanted():
                raise InterruptedError("the run that this part is for has ended")
    except OutputError as error:
        told["failed"] = str(error)
    except OSError as error:
        told["failed"] = f"{folder.at(name)}: cannot be written to ({reason(error)})"
    return told


def _rows(job: Job, item: Input, source: Source | Exception, old: _Former) -> tuple[list[Row], bool]:
    """The rows of an input, and whether they were there already."""
    if isinstance(source, Exception):
        return [error_row(job.action, Origin(item.path), source)], False
    try:
        origin = origin_of(source, item.path)
    except Exception as error:
        return [error_row(job.action, Origin(item.path), error)], False
    kept = old.rows(origin, job)
    if kept is not None:
        return kept, True
    models = None if job.action == "convert" else job.models
    return rows_of(job.action, source, models, job.settings, origin=origin), False


def _refuse_unwritten(rows: Sequence[Row]) -> None:
    """Stop where a page could not be written: that is no fault of the input."""
    for row in rows:
        if row["error_kind"] == OutputError.__name__:
            raise OutputError(row["error"])


class _Part:
    """A part that is being written: rows come, row groups go."""

    def __init__(self, folder: Folder, name: str, job: Job) -> None:
        self._schema = schema_of(job.action).with_metadata({FINGERPRINT: job.fingerprint.encode("ascii")})
        self._place = folder.replaced(name)
        self._writer: Any = None
        self._held: list[Row] = []
        self._bytes = 0

    def __enter__(self) -> _Part:

        # Statistics and dictionaries are of no use for pages, and cost their size again.
        self._writer = parquet().ParquetWriter(
            self._place.__enter__(), self._schema, compression="zstd", write_page_index=False
        )
        return self

    def __exit__(self, *raised: Any) -> None:
        try:
            if raised[0] is None:
                self._flush()
            self._writer.close()
        except BaseException as error:
            self._place.__exit__(type(error), error, error.__traceback__)
            raise
        self._place.__exit__(*raised)

    def add(self, rows: Sequence[Row]) -> None:
        """Take rows, and write those held once they are many bytes."""
        for row in rows:
            self._held.append(row)
            self._bytes += sum(len(value) for value in row.values() if isinstance(value, str | bytes)) + 200
            if self._bytes >= _GROUP:
                self._flush()

    def _flush(self) -> None:

        if self._held:
            self._writer.write_table(arrow().Table.from_pylist(self._held, schema=self._schema))
            self._held, self._bytes = [], 0


class _Former:
    """The rows that parts hold already, by input; read a part at a time, when they are asked for."""

    def __init__(self, folder: Folder, names: Sequence[str], job: Job) -> None:
        self._folder = folder
        self._at: dict[tuple[str, str], tuple[str, list[int]]] = {}
        self._order: dict[str, list[str]] = {}
        self._open: tuple[str, Any] | None = None
        self.errors = 0
        for name in names:
            if fingerprint_in(folder, name) == job.fingerprint:
                self._index(name)

    def _index(self, name: str) -> None:
        with self._folder.open(name) as file:
            table = parquet().read_table(file, columns=["path", "sha256", "error_kind"]).to_pylist()
        self._order[name] = list(dict.fromkeys(row["path"] for row in table))
        self.errors += len({row["path"] for row in table if row["error_kind"] is not None})
        again = {row["path"] for row in table if row["error_kind"] in _AGAIN}
        found: dict[tuple[str, str], tuple[str, list[int]]] = {}
        for number, row in enumerate(table):
            if row["sha256"] is not None and row["path"] not in again:
                found.setdefault((row["path"], row["sha256"]), (name, []))[1].append(number)
        self._at = {**found, **self._at}

    def holds(self, name: str, paths: Sequence[str]) -> bool:
        """Whether the part `name` has the rows of just these inputs, in their order."""
        return self._order.get(name) == [_shown(path) for path in paths]

    def has(self, item: Input, source: Source | Exception, job: Job) -> bool:
        """Whether the rows of an input are there, for the content that it has now."""
        if isinstance(source, Exception):
            return False
        try:
            origin = origin_of(source, item.path)
        except Exception:
            return False
        if job.settings.get("pages") is not None:
            return self.rows(origin, job) is not None
        return (_shown(origin.path), origin.sha256 or "") in self._at

    def rows(self, origin: Origin, job: Job) -> list[Row] | None:
        """The rows of an input; None where there are none for its content, or a page of them has gone."""

        found = self._at.get((_shown(origin.path), origin.sha256 or ""))
        if found is None:
            return None
        name, numbers = found
        if self._open is None or self._open[0] != name:
            with self._folder.open(name) as file:
                self._open = (name, parquet().read_table(file))
        rows: list[Row] = self._open[1].slice(numbers[0], len(numbers)).to_pylist()
        folder = job.settings.get("pages")
        if folder is not None:
            files = [row["file"] for row in rows]
            if not all(files) or not folder_of(folder).has(files):
                return None
        return rows


def _shown(path: str) -> str:
    """A path as rows have it."""
    return path if path.isascii() else path.encode("utf-8", "backslashreplace").decode("utf-8")


def fingerprint_in(folder: Folder, name: str) -> str | None:
    """The fingerprint that a part was made under; None where it is none, or is damaged."""
    try:
        with folder.open(name) as file:
            metadata: Mapping[bytes, bytes] = parquet().read_schema(file).metadata or {}
    except (OSError, arrow().ArrowException):
        return None
    value = metadata.get(FINGERPRINT)
    return None if value is None else value.decode("ascii", "replace")


def paths_in(folder: Folder, name: str) -> list[str]:
    """The inputs that a part has rows of."""
    with folder.open(name) as file:
        return list(dict.fromkeys(parquet().read_table(file, columns=["path"])["path"].to_pylist()))


# --- reading the inputs of a chunk


def _sources(inputs: Sequence[Input], column: str | None) -> Iterator[tuple[Input, Source | Exception]]:
    """Each input with its content, as bytes, a path or messages; or the error that it gave."""
    at = 0
    while at < len(inputs):
        kind, place = inputs[at].kind, inputs[at].at
        stop = at
        while stop < len(inputs) and inputs[stop].kind == kind and inputs[stop].at == place:
            stop += 1
        together = inputs[at:stop]
        at = stop
        if kind == "file":
            for item in together:
                with _file(item) as source:
                    yield item, source
            continue
        left = list(together)
        try:
            reader = _READERS[kind](place, together, column or "")
            for item, source in reader:
                left.remove(item)
                yield item, source
        except Exception as error:  # whatever a damaged archive or table raises
            for item in left:
                yield item, error


@contextmanager
def _file(item: Input) -> Generator[Source | Exception]:
    copy = local_copy(item.at)
    try:
        path: Source | Exception = copy.__enter__()
    except Exception as error:  # each store has errors of its own
        yield error
        return
    try:
        yield path
    finally:
        copy.__exit__(None, None, None)


def _zip(place: str, inputs: Sequence[Input], _column: str) -> Iterator[tuple[Input, Source | Exception]]:
    with open_url(place) as stream, zipfile.ZipFile(stream) as archive:
        for item in inputs:
            try:
                with archive.open(str(item.key)) as member, _spilled(member) as path:
                    yield item, path
            except (
                OSError,
                EOFError,
                RuntimeError,
                NotImplementedError,
                KeyError,
                zipfile.BadZipFile,
            ) as error:
                yield item, error


def _tar(place: str, inputs: Sequence[Input], _column: str) -> Iterator[tuple[Input, Source | Exception]]:
    """Members in the order of the list; one pass, since the whole may be compressed."""
    wanted = {item.key: item for item in inputs}
    found: dict[str, Path] = {}
    with tempfile.TemporaryDirectory(prefix="snapshot-") as folder:
        with open_url(place) as stream, tarfile.open(fileobj=stream) as archive:
            for member in archive:
                if member.name in wanted and (opened := archive.extractfile(member)) is not None:
                    path = Path(folder, str(len(found)))
                    with path.open("wb") as out:
                        while data := opened.read(1 << 20):
                            out.write(data)
                    found[member.name] = path
                    if len(found) == len(wanted):
                        break
        for item in inputs:
            yield item, found.get(str(item.key)) or FileNotFoundError("no longer in the archive")


@contextmanager
def _spilled(stream: Any) -> Generator[Path]:
    """A stream as a file, as long as the block runs."""
    with tempfile.NamedTemporaryFile(prefix="snapshot-") as copy:
        while data := stream.read(1 << 20):
            copy.write(data)
        copy.flush()
        yield Path(copy.name)


def _parquet(place: str, inputs: Sequence[Input], column: str) -> Iterator[tuple[Input, Source | Exception]]:

    with open_url(place) as stream:
        file = parquet().ParquetFile(stream)
        if column not in file.schema_arrow.names:
            raise ValueError(f"no column {column!r}: {', '.join(file.schema_arrow.names)}")
        ahead = deque(inputs)
        first = 0
        for group in range(file.num_row_groups):
            stop = first + file.metadata.row_group(group).num_rows
            if ahead and int(ahead[0].key or 0) < stop:
                at = first
                # A few rows at a time: a row group can be as large as the table.
                for batch in file.iter_batches(_ROWS, row_groups=[group], columns=[column]):
                    while ahead and int(ahead[0].key or 0) < at + batch.num_rows:
                        item = ahead.popleft()
                        yield item, _messages(batch.column(0)[int(item.key or 0) - at].as_py())
                    at += batch.num_rows
                    if not ahead or int(ahead[0].key or 0) >= stop:
                        break
            first = stop
        for item in ahead:
            yield item, ValueError("no longer in the table")


def _lines(place: str, inputs: Sequence[Input], column: str) -> Iterator[tuple[Input, Source | Exception]]:
    with open_url(place) as stream:
        for item in inputs:
            stream.seek(int(item.key or 0))
            try:
                row = json.loads(stream.readline())
                if not isinstance(row, dict) or column not in row:
                    raise ValueError(f"no key {column!r} in the line")
                yield item, _messages(row[column])
            except (ValueError, RecursionError) as error:
                yield item, error


def _messages(value: Any) -> Source | Exception:
    """A cell as messages; text and bytes are taken for the content of a file."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes | list | dict):
        return cast(Source, value)
    return ValueError("no messages: the cell is empty" if value is None else "no messages in the cell")


_READERS = {"zip": _zip, "tar": _tar, "parquet": _parquet, "lines": _lines}
