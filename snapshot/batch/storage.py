"""Files wherever they are: local ones as such, those of object stores by Daft's readers.

Google's store is read by Arrow: Daft's reader knows one address and one list of authorities alone, so that it
cannot be tried against a server of one's own.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, cast

from snapshot.batch.packages import daft, filesystems

__all__ = ["GOOGLES", "STORES", "is_googles", "is_url", "local_copy", "open_url", "store_of"]

GOOGLES = ("gs", "gcs")
"""Names of Google's store in URLs."""
STORES = ("s3", "s3a", *GOOGLES)
"""Names in URLs of the object stores that are written to."""

_URL = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_BUFFER = 1 << 20


def is_url(path: str) -> bool:
    """Whether a path is that of an object store, and not of this machine."""
    return _URL.match(path) is not None


def is_googles(path: str) -> bool:
    """Whether a path is a URL of Google's store."""
    return path.partition("://")[0].lower() in GOOGLES and is_url(path)


def store_of(url: str) -> tuple[Any, str]:
    """Arrow's file system for a URL of one of `STORES`, and the path in it.

    Credentials are those that the store's own library finds: in the environment, in files of the user's, or
    from the machine.
    """
    scheme, _, path = url.partition("://")
    return _store(scheme.lower() in GOOGLES, path.partition("/")[0]), path


@cache
def _store(googles: bool, bucket: str) -> Any:
    said = os.environ.get
    if googles:
        # As all of Google's libraries have it: who names a server to practise on has nobody to sign in to.
        return filesystems().GcsFileSystem(anonymous="CLOUD_STORAGE_EMULATOR_ENDPOINT" in os.environ)
    endpoint = said("AWS_ENDPOINT_URL_S3") or said("AWS_ENDPOINT_URL")
    region = said("AWS_REGION") or said("AWS_DEFAULT_REGION")
    if not region and not endpoint:
        with suppress(OSError):
            region = filesystems().resolve_s3_region(bucket)
    return filesystems().S3FileSystem(region=region, endpoint_override=endpoint)


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
    if is_googles(path):
        store, inside = store_of(path)
        with store.open_input_file(inside) as file:
            yield cast(BinaryIO, file)
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
