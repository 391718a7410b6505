"""What was worked out before, in the user's cache folder: it only saves time, and may be deleted any time.

An entry is named by a digest of all that it follows from, so that it is never stale, and begins with the
digest of its own content, so that one that is torn or damaged counts as absent. It is written beside its name
and moved there: processes that do it at once put the same in its place. Where no folder can be written to, or
it is another user's, nothing is kept and everything works.

Entries are parsed tables of the package and of layout files, and glyphs of faces: nothing of a conversation.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

__all__ = ["ENVIRONMENT", "digest", "folder", "keep", "kept"]

ENVIRONMENT = "SNAPSHOT_CACHE"
"""The environment variable that names the folder; empty or "off": nothing is kept."""

_MOST, _FEWER = 256, 192  # entries of a full folder, and those that are left of them
_FULL = 1 << 26  # bytes of a full folder; half of them are left
_LARGEST = 1 << 24  # bytes of an entry
_DIGEST = 32  # bytes
_BINARY = getattr(os, "O_BINARY", 0)


def digest(parts: Iterable[bytes]) -> str:
    """The name of what follows from these parts: SHA-256 in hexadecimal, each part told from the next."""
    sha = sha256()
    for part in parts:
        sha.update(len(part).to_bytes(8, "little"))
        sha.update(part)
    return sha.hexdigest()


def folder() -> Path | None:
    """The folder of the entries, whether it is there or not; None where nothing is to be kept."""
    named = os.environ.get(ENVIRONMENT)
    if named is not None:
        return Path(named) if named and named != "off" else None
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")  # noqa: PTH111 - Path raises where there is no home
    else:
        base = os.environ.get("XDG_CACHE_HOME", "")
        if not os.path.isabs(base):  # noqa: PTH117 - as the XDG specification has it
            base = os.path.expanduser("~/.cache")  # noqa: PTH111
    return Path(base, "snapshot-pages") if os.path.isabs(base) else None  # noqa: PTH117


def kept(name: str) -> bytes | None:
    """The entry of this name, as it was given to `keep`; None where there is none that can be trusted."""
    where = folder()
    if where is None:
        return None
    try:
        handle = os.open(
            where / name, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        )
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            if found.st_size > _LARGEST or not _is_ours(found):
                return None
            data = file.read()
    except (OSError, ValueError):
        return None
    content = data[_DIGEST:]
    return content if data[:_DIGEST] == sha256(content).digest() else None


def keep(name: str, data: bytes) -> None:
    """Keep an entry where that is possible; what fails is no matter."""
    where = folder()
    if where is None or len(data) > _LARGEST - _DIGEST:
        return
    part = where / f".{name}.{os.getpid()}.{threading.get_ident()}.part"
    try:
        if not _made(where):
            return
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o600)
    except (OSError, ValueError):
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(sha256(data).digest())
            file.write(data)
        part.replace(where / name)
    except OSError:
        with suppress(OSError):
            part.unlink()
    else:
        _tidy(where)


def _made(where: Path) -> bool:
    """Whether the folder is there, made now or before, and ours. Nothing is made in another user's folder."""
    if where.is_dir():
        return _is_ours(where.stat())
    above = next(parent for parent in where.parents if parent.exists())
    if not _is_ours(above.stat()):
        return False
    where.mkdir(mode=0o700, parents=True, exist_ok=True)
    return True


def _is_ours(found: os.stat_result) -> bool:
    """Whether it is this user's, and no one else may write to it."""
    return os.name != "posix" or (found.st_uid == os.geteuid() and not found.st_mode & 0o022)


def _tidy(where: Path) -> None:
    """Take the oldest entries away where they have become many, and parts that their process left behind."""
    with suppress(OSError), os.scandir(where) as found:
        ages = [(entry.stat(follow_symlinks=False), entry.path) for entry in found]
        count, size = len(ages), sum(about.st_size for about, _ in ages)
        if count <= _MOST and size <= _FULL:
            return
        for about, path in sorted(ages, key=lambda age: age[0].st_mtime):
            if count <= _FEWER and 2 * size <= _FULL:
                return
            with suppress(OSError):
                os.unlink(path)  # noqa: PTH108
            count, size = count - 1, size - about.st_size
