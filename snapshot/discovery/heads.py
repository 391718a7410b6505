"""What the beginning of a session says of it, without reading it: the folder, the model, the first words."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

__all__ = ["Head", "head_of"]

_HEAD = 1 << 16  # bytes that are read from the beginning of a file, and if need be from its end
_BASE64 = re.compile(rb"[A-Za-z0-9+/]{400,}")
_MODEL = re.compile(rb'"(?:model|modelId|modelID|model_slug|currentModel)"\s*:\s*"([^"\\\s<>]{2,120})"')
_BYTES_PER_TOKEN = 3.6  # of words and code, as files of these agents come to on the average


@dataclass(frozen=True, slots=True)
class Head:
    """What the first and last bytes of a session say.

    Attributes:
        project: the folder that the agent worked in, "" if it does not say.
        model: the id of a model, the first that is named; "" if none is.
        pictures: of the bytes that were read, the share that are base64: no words.
    """

    project: str
    model: str
    pictures: float

    def tokens(self, size: int, share: float) -> int:
        """A rough guess at the tokens of a session of `size` bytes, of which `share` are words."""
        return round(size * (1 - self.pictures) * share / _BYTES_PER_TOKEN)


def head_of(path: Path, keys: Iterable[str]) -> Head:
    """The head of a session's file, or of the first file in its folder; empty where it cannot be read."""
    file = _first(path)
    try:
        data, last = _ends(file) if file is not None else (b"", b"")
    except OSError:
        data = last = b""
    return head_in(data, last, keys)


def head_in(data: bytes, last: bytes, keys: Iterable[str]) -> Head:
    """The head of a session of which `data` is the beginning and `last` the end."""
    found = _MODEL.search(data) or _MODEL.search(last)
    model = found[1].decode("utf-8", "replace") if found else ""
    both = data + last
    pictures = sum(len(match[0]) for match in _BASE64.finditer(both)) / len(both) if both else 0.0
    return Head(_project(data, keys), model, pictures)


def _project(data: bytes, keys: Iterable[str]) -> str:
    for key in keys:
        found = re.search(rb'"' + re.escape(key.encode()) + rb'"\s*:\s*(?:\[\s*)?("(?:[^"\\]|\\.)*")', data)
        if found:
            try:
                text = json.loads(found[1])
            except ValueError:
                continue
            return unquote(text.removeprefix("file://")) if text.startswith("file://") else str(text)
    return ""


def _ends(path: Path) -> tuple[bytes, bytes]:
    with path.open("rb") as file:
        data = file.read(_HEAD)
        size = os.fstat(file.fileno()).st_size
        if size <= _HEAD:
            return data, b""
        file.seek(max(_HEAD, size - _HEAD))
        return data, file.read(_HEAD)


def _first(path: Path) -> Path | None:
    """The file itself, or of a folder the first by name."""
    try:
        if not path.is_dir():
            return path
        with os.scandir(path) as entries:
            names = [entry.name for entry in entries if entry.is_file()]
    except OSError:
        return None
    return path / min(names) if names else None
