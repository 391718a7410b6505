"""Files written whole or not at all, for the user alone."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

__all__ = ["write_atomic"]


def write_atomic(folder: Path, name: str, data: bytes, *, replace: bool = False) -> None:
    """Write a file whole or not at all. A name that tells its content is not written again."""
    path = folder / name
    if not replace and path.exists() and path.stat().st_size == len(data) and path.read_bytes() == data:
        return
    handle, temporary = tempfile.mkstemp(prefix=".", suffix=".part", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o600)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
