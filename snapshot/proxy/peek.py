"""The beginning of a stream: whether it is an answer, or an error that came after a status of success."""

from __future__ import annotations

import json
import zlib
from importlib import import_module
from typing import Any, Literal, cast

__all__ = ["Peek", "decoded"]

_MOST = 1 << 16  # bytes that are looked at
# Events that come before the provider has read the request.
_WAITING = frozenset({"response.created", "response.in_progress", "response.queued", "ping"})


class Peek:
    """Looks at the first events of a stream of events.

    Attributes:
        error: the event that says an error, None if there is none.
    """

    def __init__(self, encoding: str) -> None:
        self.error: Any = None
        self._text = b""
        self._encoding = encoding
        self._unpack = zlib.decompressobj(wbits=47) if encoding in ("gzip", "deflate") else None

    def feed(self, chunk: bytes) -> Literal["wait", "answer", "error"]:
        """What is known after one more chunk of the stream."""
        if self._unpack is not None:
            try:
                chunk = self._unpack.decompress(chunk, _MOST)
            except zlib.error:
                return "answer"
        elif self._encoding not in ("", "identity"):
            return "answer"
        self._text += chunk
        *events, _ = self._text.replace(b"\r\n", b"\n").split(b"\n\n")
        for event in events:
            verdict = self._judge(event)
            if verdict != "wait":
                return verdict
        return "wait" if len(self._text) < _MOST and _is_event(self._text) else "answer"

    def _judge(self, event: bytes) -> Literal["wait", "answer", "error"]:
        lines = [line[5:].strip() for line in event.split(b"\n") if line.startswith(b"data:")]
        if not lines:  # a comment, or a name alone
            return "wait"
        try:
            value = json.loads(b"\n".join(lines))
        except (ValueError, RecursionError):
            return "answer"
        if not isinstance(value, dict):
            return "answer"
        given = cast("dict[str, Any]", value)
        kind = given.get("type")
        if kind in ("error", "response.failed") or (isinstance(given.get("error"), dict) and kind is None):
            self.error = given.get("response") if kind == "response.failed" else given
            return "error"
        return "wait" if kind in _WAITING else "answer"


def _is_event(text: bytes) -> bool:
    return text.lstrip()[:1] not in (b"{", b"[")


def decoded(data: bytes, encoding: str, most: int) -> bytes | None:
    """A body without its content encoding; None where that is not known, or it holds more than `most`."""
    if encoding in ("", "identity"):
        return data
    if encoding in ("gzip", "x-gzip", "deflate"):
        unpack = zlib.decompressobj(wbits=47)
        try:
            plain = unpack.decompress(data, most)
        except zlib.error:
            return None
        return plain if unpack.eof else None
    if encoding == "zstd":
        return _zstd(data, most)
    return None


def _zstd(data: bytes, most: int) -> bytes | None:
    for name in ("compression.zstd", "backports.zstd"):  # the standard library's, from Python 3.14 on
        try:
            unpack: Any = import_module(name).ZstdDecompressor()
            break
        except ImportError:
            continue
    else:
        return None
    try:
        plain = unpack.decompress(data, most)
    except Exception:  # ZstdError, of whichever of the two modules
        return None
    return plain if unpack.eof else None
