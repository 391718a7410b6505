"""Compressed input: gzip and Zstandard, unpacked as a stream, with a bound on what comes out."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, BinaryIO, cast

from snapshot.errors import TranscriptError

__all__ = ["binary_kind", "unpacked"]

# Logs shrink to a fifth or a twentieth, repetitive ones to a hundredth; what gives more than both of
# these is made to fill a memory.
_FREE = 1 << 28  # bytes that any input may unpack to
_RATIO = 200

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
# What people hand over by mistake; none of it holds a conversation as text.
_BINARIES = {
    b"PK\x03\x04": "a zip archive; unpack it, and name the transcript in it (in exports conversations.json)",
    b"%PDF-": "a PDF; a transcript is text or JSON",
    b"\x89PNG\r\n\x1a\n": "a PNG image; `snapshot read` takes the folder of pages",
    b"\xff\xd8\xff": "a JPEG image; a transcript is text or JSON",
    b"GIF8": "a GIF image; a transcript is text or JSON",
    b"SQLite format 3\0": "an SQLite database; export the conversation as JSON first",
    b"\xfd7zXZ\0": "packed by xz; unpack it first (`xz -d`)",
    b"BZh": "packed by bzip2; unpack it first (`bzip2 -d`)",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive; unpack it, and name the transcript in it",
    b"\x7fELF": "a program; a transcript is text or JSON",
}


def binary_kind(start: bytes) -> str:
    """What a file that starts so is, and what to do about it; "" if it may be text."""
    known = next((what for magic, what in _BINARIES.items() if start.startswith(magic)), "")
    return (
        known
        if known and (len(start) <= 3 or not start.isascii() or b"\0" in start or b"%PDF" in start)
        else ""
    )


def unpacked(
    stream: BinaryIO, size: int, error: Callable[[str], TranscriptError], broken: Callable[[str], None]
) -> BinaryIO:
    """`stream`, or what it holds in compressed form.

    Args:
        stream: at its start, and seekable.
        size: bytes in it.
        error: makes an error about this input.
        broken: is told of damage; if it does not raise, the text ends there.

    Raises:
        TranscriptError: Zstandard, and no module that reads it. While it is read: more than any honest
            input unpacks to.
    """
    start = stream.read(4)
    stream.seek(0)
    if start.startswith(_GZIP):
        packed = _Packed(stream, gzip.GzipFile(fileobj=stream), "gzip", (zlib.error,))
    elif start.startswith(_ZSTD):
        zstd = zstd_module()
        if zstd is None:
            raise error(
                "packed by Zstandard, which this Python cannot read: "
                "pip install 'snapshot-pages[zstd]', or unpack it first (`zstd -d`)"
            )
        packed = _Packed(stream, zstd.ZstdFile(stream), "zstd", (zstd.ZstdError,))
    else:
        return stream
    return cast(
        BinaryIO, io.BufferedReader(_Bounded(packed, max(_FREE, _RATIO * size), error, broken), 1 << 16)
    )


@dataclass(frozen=True, slots=True)
class _Packed:
    """A file, what unpacks it, the name of its tool, and the errors that mean damage."""

    outer: BinaryIO
    inner: Any
    tool: str
    faults: tuple[type[Exception], ...]


def zstd_module() -> Any:
    """The module that the standard library has from Python 3.14 on, or its backport, or None."""
    try:
        return import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    except ImportError:
        return None


class _Bounded(io.RawIOBase):
    """What is unpacked, until it is more than `limit` bytes."""

    def __init__(
        self,
        packed: _Packed,
        limit: int,
        error: Callable[[str], TranscriptError],
        broken: Callable[[str], None],
    ) -> None:
        super().__init__()
        self._packed, self._error, self._broken = packed, error, broken
        self._limit = self._left = limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        tool = self._packed.tool
        try:
            data = self._packed.inner.read1(len(buffer))  # what came before a fault is not lost
        except (OSError, EOFError, *self._packed.faults) as fault:
            what = "ends too early" if isinstance(fault, EOFError) else f"is damaged ({fault})"
            self._broken(f"its {tool} data {what}; get the whole file, or salvage what is left of it")
            return 0
        self._left -= len(data)
        if self._left < 0:
            raise self._error(
                f"it unpacks to more than {self._limit >> 20} MiB, over {_RATIO} times its size, as no log "
                f"does: a decompression bomb? If it is none, unpack it first (`{tool} -d`)"
            )
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._packed.inner.close()
        self._packed.outer.close()
        super().close()
