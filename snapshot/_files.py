"""Files: written whole or not at all, never in place of what is no file; read within bounds; locked."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["exclusive", "read_regular", "same_file", "write_atomic", "write_output"]

LOCK = ".lock.part"
"""Name of the lock file in a folder: no more than a part, should it ever stay behind."""

_PATIENCE = 10.0  # seconds to wait for somebody to read from a pipe


def write_atomic(folder: Path, name: str, data: bytes, *, replace: bool = False, mode: int = 0o600) -> None:
    """Write a file whole or not at all. A name that tells its content is not written again."""
    path = folder / name
    if not replace and _holds(path, data):
        return
    temporary = folder / f".{os.urandom(8).hex()}.part"
    handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(mode)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _holds(path: Path, data: bytes) -> bool:
    """Whether a file, and no link to one, holds just these bytes."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size == len(data) and path.read_bytes() == data


def write_output(path: Path, data: bytes) -> None:
    """Write what a person asked to have at `path`.

    A link is followed, and what it leads to is written. A device, pipe or open descriptor is written to as
    it is. A file is written whole or not at all, and keeps its permissions; a new one is the user's alone.

    Raises:
        OSError: it is a folder, or cannot be written.
        ValueError: no path can be so.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        found = None
    if found is not None and stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, "is a folder; name a file", str(path))
    if found is not None and not stat.S_ISREG(found.st_mode):
        handle = _opened(path, stat.S_ISFIFO(found.st_mode))
        with os.fdopen(handle, "wb", buffering=0) as file:
            left = memoryview(data)
            while left:
                left = left[file.write(left) :]
        return
    target = Path(os.path.realpath(path))
    if not target.name:
        raise IsADirectoryError(errno.EISDIR, "is a folder; name a file", str(path))
    mode = 0o600 if found is None else stat.S_IMODE(found.st_mode)
    write_atomic(target.parent, target.name, data, replace=True, mode=mode)


def _opened(path: Path, is_pipe: bool) -> int:
    """A descriptor that writes to a device or pipe. A pipe that nobody reads yet is waited for a while."""
    flags = os.O_WRONLY | getattr(os, "O_NOCTTY", 0)
    if not is_pipe:
        return os.open(path, flags)
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            handle = os.open(path, flags | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            if time.monotonic() > deadline:
                raise OSError(errno.ENXIO, "nobody reads from this pipe", str(path)) from error
            time.sleep(0.05)
        else:
            os.set_blocking(handle, True)
            return handle


def same_file(one: Path, other: Path) -> bool:
    """Whether two paths lead to the same thing on disk; False where either is not there."""
    try:
        return one.samefile(other)
    except (OSError, ValueError):
        return False


def read_regular(path: Path, *, most: int) -> bytes:
    """The content of a file, which has to be a file: no device or pipe, and of `most` bytes at most.

    Raises:
        OSError: it is not there, none, larger, or cannot be read.
        ValueError: no path can be so.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, "is a folder", str(path))
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "is no file", str(path))
        data = file.read(min(found.st_size, most) + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"is larger than {most:,} bytes", str(path))
    return data


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Hold `folder` against other processes that do the same, as long as the block runs.

    The lock is the system's own, on a file in the folder: it ends with its process, however that ends. Where
    the file system knows no locks, nothing is held.

    Raises:
        BlockingIOError: another process holds it.
        OSError: the folder cannot be written to.
    """
    path = folder / LOCK
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        try:
            _lock(handle)
            # Whoever held it before may have taken the file away in between: that lock holds nobody off.
            if _is_at(handle, path):
                break
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
    try:
        yield
    finally:
        if os.name == "posix":
            path.unlink(missing_ok=True)  # while it is held, so that nobody's lock is taken away
            os.close(handle)
        else:
            os.close(handle)
            with suppress(OSError):  # somebody else has it open already
                path.unlink(missing_ok=True)


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _lock(handle: int) -> None:
    try:
        if os.name == "posix":
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # pyright: ignore[reportAttributeAccessIssue]
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK):
            raise BlockingIOError(errno.EWOULDBLOCK, "another process holds it") from error
