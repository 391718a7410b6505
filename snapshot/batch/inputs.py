"""What a batch reads: files, archives of sessions and tables with a column of messages, listed and divided.

Local folders are walked here; globs and object stores are listed by Daft. The sorted list is divided into
chunks whose ends depend on the names alone, so that a new file changes only the chunk that it falls into.
"""

from __future__ import annotations

import json
import os
import re
import stat
import tarfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from snapshot.batch.packages import daft, filesystems, parquet
from snapshot.batch.storage import is_googles, open_url, store_of
from snapshot.errors import SnapshotError

__all__ = ["CHUNK", "Chunk", "Input", "chunks_of", "inputs_of"]

CHUNK = 16
"""Inputs of a chunk, on average."""
_LARGE = 32 << 20  # bytes from which an input is a chunk by itself; a chunk of others has no more either
_ROWS_FOR_ONE = 16
_URL = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_GLOB = re.compile(r"[*?\[]")
_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.zst", ".tar.bz2", ".tar.xz")
_TABLES = (".parquet", ".jsonl", ".ndjson", ".json")


class Input(NamedTuple):
    """An input.

    Attributes:
        path: what rows call it, and what it is sorted by.
        size: its bytes, as far as they are known.
        kind: "file", "zip", "tar", "parquet" or "lines".
        at: the path or URL of the file that it is, or is in.
        key: its place there: a member's name, a row's number from 0, or the offset of its line.
    """

    path: str
    size: int
    kind: str
    at: str
    key: str | int | None = None


class Chunk(NamedTuple):
    """Inputs that are worked on together, in one process."""

    inputs: tuple[Input, ...]

    def name(self, fingerprint: str) -> str:
        """The name of the file with its rows, under settings of that fingerprint."""
        told = json.dumps([fingerprint, *(item.path for item in self.inputs)])
        return f"part-{sha256(told.encode('ascii')).hexdigest()[:24]}.parquet"


def inputs_of(named: Sequence[str], *, column: str | None = None) -> list[Input]:
    """The inputs that paths, globs and URLs name, sorted and each once.

    Args:
        named: files, folders, globs, and the same as URLs of object stores.
        column: the name of a column: tables are then read row by row, and the rows' messages are in it.

    Raises:
        SnapshotError: a name that nothing is found for, or a table or archive that cannot be opened.
    """
    found: dict[str, Input] = {}
    for name in named:
        files = list(_files(name))
        if not files:
            raise SnapshotError(f"{name}: no file is there")
        for file in files:
            for item in _opened(file, column):
                found[item.path] = item
    return [found[path] for path in sorted(found)]


def chunks_of(inputs: Iterable[Input], size: int = CHUNK) -> Iterator[Chunk]:
    """The inputs in chunks of `size` on average, twice that at most; a large one is a chunk by itself."""
    held: list[Input] = []
    total = 0
    for item in inputs:
        # A chunk of a Parquet table has to read past all rows before it in its row group.
        several = size * (_ROWS_FOR_ONE if item.kind == "parquet" else 1)
        if held and (total + item.size > _LARGE or len(held) >= 2 * several):
            yield Chunk(tuple(held))
            held, total = [], 0
        held.append(item)
        total += item.size
        if _ends(item.path, several):
            yield Chunk(tuple(held))
            held, total = [], 0
    if held:
        yield Chunk(tuple(held))


def _ends(path: str, size: int) -> bool:
    """Whether a chunk ends with an input: of as many as `size` one does, by its name."""
    digest = sha256(path.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") % size == 0


def _files(name: str) -> Iterator[Input]:
    if _URL.match(name) and not name.startswith("file://"):
        yield from _listed(name)
        return
    name = name.removeprefix("file://")
    try:
        status = Path(name).stat()
    except (OSError, ValueError):
        if _GLOB.search(name):
            yield from _listed(name)
            return
        if os.path.lexists(name):  # a link to nowhere is an input like another, which cannot be read
            yield Input(name, 0, "file", name)
        return
    if stat.S_ISDIR(status.st_mode):
        yield from _walked(Path(name))
    else:
        yield Input(name, status.st_size, "file", name)


def _walked(folder: Path) -> Iterator[Input]:
    """The files of a folder and of those in it, but for hidden ones; a folder that cannot be read, too."""
    unread: list[str] = []
    for root, folders, files in os.walk(folder, onerror=lambda error: unread.append(error.filename)):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if not name.startswith("."):
                path = Path(root, name)
                try:
                    size = path.stat().st_size
                except OSError:
                    size = 0
                yield Input(str(path), size, "file", str(path))
    for name in unread:
        yield Input(name, 0, "file", name)


def _listed(name: str) -> Iterator[Input]:
    """What Daft lists for a glob or URL, or Arrow for one of Google's store."""
    if is_googles(name):
        yield from _at_google(name)
        return
    listed = name if _GLOB.search(name) or Path(name).suffix else f"{name.rstrip('/')}/**"
    try:
        rows = list(daft().from_glob_path(listed).iter_rows())
    except FileNotFoundError:
        return
    except Exception as error:  # each store has errors of its own
        raise SnapshotError(f"{name}: {' '.join(str(error).split())[:300]}") from error
    for row in rows:
        path: str = row["path"]
        local = path.removeprefix("file://")
        if Path(local).name.startswith(".") or path.endswith("/") or (local != path and Path(local).is_dir()):
            continue
        yield Input(local, row["size"] or 0, "file", local)


def _at_google(name: str) -> Iterator[Input]:
    scheme, _, path = name.partition("://")
    fixed = _GLOB.split(path, maxsplit=1)[0]
    globbed = fixed != path
    below = fixed.rpartition("/")[0] if globbed else path.rstrip("/")
    pattern = re.compile(_as_regex(path) if globbed else re.escape(below) + "(?:/.*)?", re.DOTALL)
    files = filesystems()
    try:
        store, _ = store_of(name)
        found = [store.get_file_info(below)]
        if not found[0].is_file:
            found = store.get_file_info(files.FileSelector(below, recursive=True, allow_not_found=True))
    except (OSError, ValueError) as error:
        raise SnapshotError(f"{name}: {' '.join(str(error).split())[:300]}") from error
    for item in found:
        if item.is_file and pattern.fullmatch(item.path) and not item.base_name.startswith("."):
            url = f"{scheme}://{item.path}"
            yield Input(url, item.size or 0, "file", url)


def _as_regex(glob: str) -> str:
    """A glob as a regular expression: `**/` is any folders, `*` and `?` stay within a name."""
    signs = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(
        signs.get(part) or (re.sub(r"^\[!", "[^", part) if part[0] == "[" else re.escape(part))
        for part in re.findall(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]]*\]|[^*?\[]+|\[", glob)
    )


def _opened(file: Input, column: str | None) -> Iterator[Input]:
    """The inputs in a file: of archives the members, of tables the rows, else itself."""
    low = file.at.lower()
    if column is not None and low.endswith(_TABLES):
        kind, listed = ("parquet", _parquet_rows) if low.endswith(".parquet") else ("lines", _line_rows)
    elif low.endswith(_ARCHIVES):
        kind, listed = ("zip" if low.endswith(".zip") else "tar"), _members
    else:
        yield file
        return
    try:
        yield from listed(file)
    except Exception:  # whatever a damaged one raises, who reads it raises again: that is its row
        yield file._replace(kind=kind)


def _members(file: Input) -> list[Input]:
    with open_url(file.at) as stream:
        if file.at.lower().endswith(".zip"):
            with zipfile.ZipFile(stream) as archive:
                found = [
                    (item.filename, item.file_size, "zip") for item in archive.infolist() if not item.is_dir()
                ]
        else:
            with tarfile.open(fileobj=stream) as archive:
                found = [(item.name, item.size, "tar") for item in archive if item.isfile()]
    return [
        Input(f"{file.path}/{name}", size, kind, file.at, name)
        for name, size, kind in found
        if not any(part.startswith(".") or part == "__MACOSX" for part in Path(name).parts)
    ]


def _parquet_rows(file: Input) -> list[Input]:

    with open_url(file.at) as stream:
        rows = parquet().ParquetFile(stream).metadata.num_rows
    size = file.size // max(1, rows)
    return [Input(f"{file.path}#{row:09d}", size, "parquet", file.at, row) for row in range(rows)]


def _line_rows(file: Input) -> list[Input]:
    found: list[Input] = []
    offset = row = 0
    with open_url(file.at) as stream:
        for line in stream:
            if line.strip():
                found.append(Input(f"{file.path}#{row:09d}", len(line), "lines", file.at, offset))
                row += 1
            offset += len(line)
    return found
