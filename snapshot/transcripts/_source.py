"""The input of a reader: bytes taken in once, as UTF-8, with places that a person can find again."""

from __future__ import annotations

import codecs
import json
import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from snapshot.errors import TranscriptError
from snapshot.transcripts._json import JsonObject, parse

__all__ = ["MISSING", "Sample", "Source"]

MISSING = object()  # null is a JSON document too

# UTF-32 first: its little-endian mark starts with that of UTF-16.
_WIDE = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_BLANK = " \t\r\n\0"  # NUL: a power loss leaves runs of them in front of what was written later
_JSON_START = re.compile(r"\[?\s*(?:\{\s*(?:\"|\}|$)|$)")
_TRANSCRIPT_KEY = re.compile(
    r'"role"\s*:\s*"(?:user|assistant|system|developer|tool)"|"session_?[iI]d"|"ATIF-v'
)
_LITERALS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
_TORN_TOKEN = re.compile(r"(?:[.eE][+-]?\d*|-|\\(?:u[0-9a-fA-F]{0,3})?)?")
_TEXT_HINT = 'insist on the format "text" to take it as a plain document'


class Source:
    """What a reader reads: `data` without its byte order mark, as UTF-8 unless bytes are damaged.

    Attributes:
        path: the file as the caller named it, or None for bytes in memory.
        data: the content.
        skipped: bytes of the input in front of `data`; None where offsets in `data` are not those
            of the input, because it was UTF-16 or UTF-32.
        bad_byte: offset in the input of the first byte that is no character, or None.
    """

    def __init__(self, data: bytes, path: str | None = None) -> None:
        self.path = path
        self.bad_byte: int | None = None
        self.skipped: int | None = 0
        self.size = len(data)
        wide = next((name for mark, name in _WIDE if data.startswith(mark)), "")
        if wide:
            self.skipped = None
            self.text = self._decode(data, wide)
            # A wide mark inside stays U+FEFF; the first one is gone.
            self.data = self.text.encode("utf-8")
            return
        if data.startswith(codecs.BOM_UTF8):
            self.skipped = len(codecs.BOM_UTF8)
            data = data[self.skipped :]
        self.data = data
        self.text = self._decode(data, "utf-8")

    def _decode(self, data: bytes, encoding: str) -> str:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError as error:
            self.bad_byte = error.start + (self.skipped or 0)
            return data.decode(encoding, errors="replace")

    @classmethod
    def open(cls, source: str | os.PathLike[str] | bytes) -> Source:
        """Take in a file, or bytes. Raises `TranscriptError` where there is nothing to read."""
        if isinstance(source, bytes):
            return cls(source)
        path = os.fspath(source)
        try:
            return cls(Path(path).read_bytes(), path)
        except FileNotFoundError:
            what = "no such file; check the path"
        except IsADirectoryError:
            what = "this is a folder; name a transcript file in it"
        except PermissionError:
            what = "no permission to read it; check its mode and owner"
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            what = f"cannot be read ({getattr(error, 'strerror', None) or error})"
        raise TranscriptError(what, path=path)

    @classmethod
    def holding(cls, document: object) -> Source:
        """An input that is already parsed: plain dictionaries, lists, strings and numbers."""
        source = cls(b"")
        vars(source)["_parsed"] = (document, None)
        return source

    def byte(self, at: int) -> int | None:
        """Offset in the input of offset `at` in `data`."""
        return None if self.skipped is None else at + self.skipped

    def line_name(self, line: int, at: int) -> str:
        """The name of a place: line number, and byte where it is known."""
        byte = self.byte(at)
        return f"line {line}" if byte is None else f"line {line}, byte {byte}"

    def error(self, what: str, *, line: int | None = None, at: int | None = None) -> TranscriptError:
        """An error about this input, `at` an offset in `data`."""
        return TranscriptError(what, path=self.path, line=line, byte=None if at is None else self.byte(at))

    @cached_property
    def document(self) -> object:
        """The whole input as one JSON value, or MISSING if it is not one."""
        return self._parsed[0]

    @property
    def damage(self) -> TranscriptError | None:
        """Why the input is not a JSON document, where it was meant to be one."""
        return self._parsed[1]

    @cached_property
    def _parsed(self) -> tuple[object, TranscriptError | None]:
        # U+FFFD at the end is half a character: part of what a cut has left.
        text = self.text.strip(_BLANK).rstrip("\ufffd")
        if not text.startswith(("{", "[")):
            return MISSING, None
        try:
            return parse(text), None
        except RecursionError:
            return MISSING, self.error(f"JSON is nested too deeply to be a transcript; {_TEXT_HINT}")
        except json.JSONDecodeError as error:
            return MISSING, self._diagnose(text, error)

    def _diagnose(self, text: str, error: json.JSONDecodeError) -> TranscriptError | None:
        # Extra data: JSON Lines, or prose behind a value.
        if error.msg == "Extra data" or not _JSON_START.match(text):
            return None
        if _is_cut(text, error):
            what = "the JSON ends in the middle of a value; get the whole file, or "
            return self.error(what + _TEXT_HINT, at=len(self.data))
        if not _TRANSCRIPT_KEY.search(text, 0, 1 << 16):
            return None
        front = self.text[: self.text.index(text[0]) + error.pos]
        line = front.count("\n") + 1
        at = len(front.encode("utf-8", "surrogatepass")) if self.bad_byte is None else None
        return self.error(f"not valid JSON: {error.msg}; repair it, or {_TEXT_HINT}", line=line, at=at)


def _is_cut(text: str, error: json.JSONDecodeError) -> bool:
    """Whether the parser failed because `text` ends too early, not because of what stands in it."""
    if error.msg.startswith("Unterminated string"):
        return True
    rest = text[error.pos :].rstrip() if len(text) - error.pos < 32 else "too long for a token"
    return any(word.startswith(rest) for word in _LITERALS) or bool(_TORN_TOKEN.fullmatch(rest))


@dataclass(frozen=True, slots=True)
class Sample:
    """What a reader judges by: the whole as one JSON value (or MISSING), and the first rows.

    Rows are the JSON objects of the first lines, or of the array that the document is.
    """

    document: object
    rows: tuple[JsonObject, ...]
