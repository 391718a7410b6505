"""Files wherever they are: local ones as such, those of object stores by Daft's readers."""

from __future__ import annotations

import io
import os
import re
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from snapshot.batch.packages import daft

__all__ = ["is_url", "local_copy", "open_url", "replaced"]

_URL = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_BUFFER = 1 << 20


def is_url(path: str) -> bool:
    """Whether a path is that of an object store, and not of this machine."""
    return _URL.match(path) is not None


class _Remote(io.RawIOBase):
    """A file of Daft's as one of Python's: read and sought in."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self._inner = inner

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        data: bytes = self._inner.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        return self._inner.seek(offset, whence)

    def tell(self) -> int:
        return self._inner.tell()


@contextmanager
def open_url(path: str) -> Generator[BinaryIO]:
    """A file to read bytes from, by its path or URL.

    Raises:
        OSError: it cannot be opened.
    """
    if not is_url(path):
        with Path(path).open("rb") as file:
            yield file
        return

    try:
        opened = daft().File(path).open()
        inner = opened.__enter__()
    except OSError:
        raise
    except Exception as error:  # each store has errors of its own
        raise OSError(f"{type(error).__name__}: {error}") from error
    try:
        with io.BufferedReader(_Remote(inner), _BUFFER) as file:
            yield cast(BinaryIO, file)
    finally:
        opened.__exit__(None, None, None)


@contextmanager
def local_copy(path: str) -> Generator[str]:
    """The path of a local file: the file itself, or a copy as long as the block runs.

    Raises:
        OSError: it cannot be read.
    """
    if not is_url(path):
        yield path
        return
    with tempfile.NamedTemporaryFile(prefix="snapshot-") as copy:
        with open_url(path) as file:
            shutil.copyfileobj(file, copy, _BUFFER)
        copy.flush()
        yield copy.name


@contextmanager
def replaced(path: Path) -> Generator[Path]:
    """The path of a new file beside `path`, which takes its place once the block has run.

    Raises:
        OSError: the folder cannot be written to.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
