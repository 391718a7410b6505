"""Where a batch writes: a folder of this machine, or one in an object store, by the same few deeds.

A file is whole or not there in both. On this machine it is written beside its name and moved; to an object
store it is sent from a file of this machine, and an object appears once all of it has arrived.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Generator, Iterable
from contextlib import AbstractContextManager, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from snapshot._files import LOCK, exclusive, write_atomic
from snapshot.batch.packages import arrow, filesystems
from snapshot.batch.storage import STORES, is_url, store_of
from snapshot.errors import SnapshotError

__all__ = ["Folder", "folder_of", "joined", "split_url"]

_CHUNK = 8 << 20


class Folder(Protocol):
    """A folder that is written to; errors are `OSError`."""

    def __str__(self) -> str: ...

    def at(self, name: str) -> str:
        """The path or URL of a file in it."""
        ...

    def names(self) -> list[str]:
        """The names of the files in it, sorted; not of those in folders below."""
        ...

    def has(self, names: Iterable[str]) -> bool:
        """Whether all of these files are there."""
        ...

    def open(self, name: str) -> AbstractContextManager[BinaryIO]:
        """A file to read from, anywhere in it."""
        ...

    def replaced(self, name: str) -> AbstractContextManager[Path]:
        """A new file of this machine, which is, or becomes, the file of that name once the block has run."""
        ...

    def keep(self, name: str, data: bytes) -> None:
        """Write a file whose name tells its content, if it is not there."""
        ...

    def remove(self, names: Iterable[str]) -> None:
        """Remove files, those that are there."""
        ...

    def clear(self, name: str) -> None:
        """Remove what killed runs left of a file half written; `*` in the name stands for anything."""
        ...

    def exclusive(self) -> AbstractContextManager[None]:
        """Hold it against other runs, as far as that is possible; `BlockingIOError` where one holds it."""
        ...


def folder_of(where: str) -> Folder:
    """The folder that a path or URL names.

    Raises:
        SnapshotError: a URL of something that cannot be written to.
    """
    return _Bucket(where) if is_url(where) else _Local(Path(where))


def split_url(where: str) -> tuple[str, str]:
    """A path or URL as its folder and the name in it."""
    if is_url(where):
        folder, _, name = where.rstrip("/").rpartition("/")
        return folder, name
    path = Path(where).absolute()
    return str(path.parent), path.name


def joined(folder: str, name: str) -> str:
    """The path or URL of a file in a folder."""
    return f"{folder}/{name}" if is_url(folder) else str(Path(folder, name))


class _Local:
    """A folder of this machine."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __str__(self) -> str:
        return str(self._path)

    def at(self, name: str) -> str:
        return str(self._path.absolute() / name)

    def names(self) -> list[str]:
        with suppress(FileNotFoundError):
            return sorted(path.name for path in self._path.iterdir())
        return []

    def has(self, names: Iterable[str]) -> bool:
        return all((self._path / name).is_file() for name in names)

    def open(self, name: str) -> AbstractContextManager[BinaryIO]:
        return (self._path / name).open("rb")

    @contextmanager
    def replaced(self, name: str) -> Generator[Path]:
        handle, made = tempfile.mkstemp(prefix=f".{name}.", suffix=".part", dir=self._path)
        os.close(handle)
        temporary = Path(made)
        try:
            yield temporary
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            temporary.chmod(0o644)
            temporary.replace(self._path / name)
        except BaseException:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise

    def keep(self, name: str, data: bytes) -> None:
        path = self._path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path.parent, path.name, data, mode=0o644)

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            (self._path / name).unlink(missing_ok=True)

    def clear(self, name: str) -> None:
        pattern = re.compile(r"\." + ".*".join(map(re.escape, name.split("*"))) + r"\..*\.part")
        self.remove(one for one in self.names() if one != LOCK and pattern.fullmatch(one))

    @contextmanager
    def exclusive(self) -> Generator[None]:
        self._path.mkdir(parents=True, exist_ok=True)
        with exclusive(self._path):
            yield


class _Bucket:
    """A folder in an object store, by Arrow's file systems and the credentials that they find."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        scheme, _, path = url.partition("://")
        if scheme.lower() not in STORES:
            raise SnapshotError(f"{url}: a batch writes to local paths, s3:// and gs://, not to {scheme}://")
        if not path.strip("/").partition("/")[0]:
            raise SnapshotError(f"{url}: names no bucket")
        try:
            self._store, self._path = store_of(self._url)
        except (OSError, ValueError, arrow().ArrowException) as error:
            raise SnapshotError(f"{url}: {_line(error)}") from error

    def __str__(self) -> str:
        return self._url

    def at(self, name: str) -> str:
        return f"{self._url}/{name}"

    def names(self) -> list[str]:
        listed = self._store.get_file_info(filesystems().FileSelector(self._path, allow_not_found=True))
        return sorted(item.base_name for item in listed if item.is_file and item.base_name)

    def has(self, names: Iterable[str]) -> bool:
        found = self._store.get_file_info([f"{self._path}/{name}" for name in names])
        return all(item.is_file for item in found)

    @contextmanager
    def open(self, name: str) -> Generator[BinaryIO]:
        with self._store.open_input_file(f"{self._path}/{name}") as file:
            yield cast(BinaryIO, file)

    @contextmanager
    def replaced(self, name: str) -> Generator[Path]:
        with tempfile.NamedTemporaryFile(prefix="snapshot-") as made:
            path = Path(made.name)
            yield path
            self._send(path, name)

    def keep(self, name: str, data: bytes) -> None:
        if self.has([name]):
            return
        with self.replaced(name) as path:
            path.write_bytes(data)

    def _send(self, path: Path, name: str) -> None:
        """Send a file. What is cut off never becomes an object: its upload is not completed."""
        where = f"{self._path}/{name}"
        with path.open("rb") as file, self._store.open_output_stream(where) as sent:
            shutil.copyfileobj(file, sent, _CHUNK)
        arrived = self._store.get_file_info(where).size
        if arrived != path.stat().st_size:
            raise OSError(
                f"{self.at(name)}: {path.stat().st_size:,} bytes were sent, and {arrived or 0:,} are there"
            )

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            with suppress(FileNotFoundError):
                self._store.delete_file(f"{self._path}/{name}")

    def clear(self, name: str) -> None:
        """Nothing: what was cut off is no object."""

    @contextmanager
    def exclusive(self) -> Generator[None]:
        """Object stores have no locks: runs of this user on this machine are held off, no others."""
        found = self._store.get_file_info(self._path.partition("/")[0])
        if found.type == filesystems().FileType.NotFound:
            raise FileNotFoundError(f"there is no bucket {found.path}")
        user = os.getuid() if hasattr(os, "getuid") else 0
        name = f"snapshot-batch-{user}-{sha256(self._url.encode()).hexdigest()[:24]}"
        lock = Path(tempfile.gettempdir(), name)
        lock.mkdir(mode=0o700, exist_ok=True)
        try:
            with exclusive(lock):
                yield
        finally:
            with suppress(OSError):
                lock.rmdir()


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]
