"""Files: written whole or not at all, never in place of what is no file; read within bounds; locked."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "exclusive",
    "new_folder",
    "read_regular",
    "reason",
    "same_file",
    "write_atomic",
    "written_together",
]

LOCK = ".lock.part"
"""Name of the lock file in a folder: no more than a part, should it ever stay behind."""

_PATIENCE = 10.0  # seconds to wait for somebody to read from a pipe


def reason(error: OSError) -> str:
    """Why the system refused, in its own words: Arrow has others, which name no place either."""
    return os.strerror(error.errno) if error.errno else str(error)


def write_atomic(folder: Path, name: str, data: bytes, *, replace: bool = False, mode: int = 0o600) -> None:
    """Write a file whole or not at all. A name that tells its content is not written again."""
    path = folder / name
    if not replace and _holds(path, data):
        return
    temporary = _part(folder, data, mode)
    try:
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _part(folder: Path, data: bytes, mode: int) -> Path:
    """A new file with `data`, on the disk, under a name that nobody takes for a result."""
    temporary = _part_name(folder)
    handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(mode)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def _part_name(folder: Path) -> Path:
    return folder / f".{os.urandom(8).hex()}.part"


def _holds(path: Path, data: bytes) -> bool:
    """Whether a file, and no link to one, holds just these bytes."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size == len(data) and path.read_bytes() == data


@contextmanager
def written_together(outputs: Sequence[tuple[Path, bytes]]) -> Iterator[None]:
    """Write files that belong together: all of them, or, where one fails or the block does, none.

    A link is followed, and what it leads to is written. A device, pipe or open descriptor is written to as
    it is. A file is written whole or not at all, and keeps its permissions; a new one is the user's alone.

    All are on the disk under other names before the first gets its own, so that a full disk changes nothing;
    what stood in their places is kept until the block has run.

    Raises:
        OSError: one is a folder, or cannot be written; `filename` says which.
        ValueError: no path can be so.
    """
    staged: list[_Staged] = []
    through: list[tuple[Path, bool, bytes]] = []
    try:
        for path, data in outputs:
            with _naming(path):
                found = _found(path)
                if found is not None and not stat.S_ISREG(found.st_mode):
                    through.append((path, stat.S_ISFIFO(found.st_mode), data))
                    continue
                target, mode = _target(path, found)
                staged.append(_Staged(path, target, _part(target.parent, data, mode)))
        for one in staged:
            with _naming(one.path):
                one.put()
        for path, is_pipe, data in through:
            with _naming(path):
                _write_through(path, is_pipe, data)
        yield
    except BaseException:
        for one in reversed(staged):
            one.undo()
        raise
    for one in staged:
        one.settle()


@dataclass(slots=True)
class _Staged:
    """A file that is written, and not yet, or not for good, in its place.

    Attributes:
        path: the place as it was asked for.
        target: the same, links followed.
        part: the file's name until it is in its place.
        former: where the file that stood there is kept.
        placed: whether it is in its place.
    """

    path: Path
    target: Path
    part: Path
    former: Path | None = None
    placed: bool = False

    def put(self) -> None:
        """Put it in its place."""
        if self.target.exists():
            former = _part_name(self.target.parent)
            try:
                os.link(self.target, former)
            except OSError:  # a file system without links: for a moment, nothing stands there
                self.target.rename(former)
            self.former = former
        self.part.replace(self.target)
        self.placed = True

    def undo(self) -> None:
        """Put back what stood there. As much of it as can be done is done."""
        with suppress(OSError):
            self.part.unlink(missing_ok=True)
        with suppress(OSError):
            if self.former is not None:
                self.former.replace(self.target)
                self.former.unlink(missing_ok=True)  # two links to one file: nothing was moved
            elif self.placed:
                self.target.unlink(missing_ok=True)

    def settle(self) -> None:
        """Keep what stood there no longer."""
        if self.former is not None:
            with suppress(OSError):
                self.former.unlink(missing_ok=True)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Errors name the path that was asked for, and no temporary one."""
    try:
        yield
    except OSError as error:
        raise type(error)(error.errno, error.strerror or str(error), str(path)) from error


@contextmanager
def new_folder(folder: Path, mode: int = 0o777) -> Iterator[None]:
    """Make a folder and those above it that are not there; none is left that is empty, should the block fail.

    Args:
        folder: the one that is wanted.
        mode: permissions of those that are made, less what the user's mask takes.

    Raises:
        OSError: it cannot be made, or is a file.
    """
    made: list[Path] = []
    try:
        for one in (*reversed(folder.parents), folder):
            if not one.exists():
                with suppress(FileExistsError):  # somebody else was quicker: it is theirs
                    one.mkdir(mode)
                    made.append(one)
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "is a file", str(folder))
        yield
    except BaseException:
        for one in reversed(made):
            with suppress(OSError):  # others have put something there
                one.rmdir()
        raise


def _found(path: Path) -> os.stat_result | None:
    """What stands at a path, links followed; None: nothing.

    Raises:
        IsADirectoryError: a folder does.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, "is a folder; name a file", str(path))
    return found


def _target(path: Path, found: os.stat_result | None) -> tuple[Path, int]:
    """Where a file really goes, and its permissions: those of the one there, or the user's alone.

    Raises:
        IsADirectoryError: the path names no file.
    """
    target = Path(os.path.realpath(path))
    if not target.name:
        raise IsADirectoryError(errno.EISDIR, "is a folder; name a file", str(path))
    return target, 0o600 if found is None else stat.S_IMODE(found.st_mode)


def _write_through(path: Path, is_pipe: bool, data: bytes) -> None:
    """Write to a device or pipe as it is."""
    with os.fdopen(_opened(path, is_pipe), "wb", buffering=0) as file:
        left = memoryview(data)
        while left:
            left = left[file.write(left) :]


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
