"""The input of a reader: text, whatever it was packed in, with places that a person can find again."""

from __future__ import annotations

import codecs
import io
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import BinaryIO

from snapshot.errors import TranscriptError
from snapshot.transcripts.io.folder import session_in
from snapshot.transcripts.io.harness import Rules
from snapshot.transcripts.io.json_values import JsonObject, parse, prepare
from snapshot.transcripts.io.salvage import salvaged
from snapshot.transcripts.io.unpack import unpacked
from snapshot.transcripts.io.western import western

__all__ = ["MISSING", "TEXT_HINT", "Sample", "Source"]

MISSING = object()  # null is a JSON document too

# UTF-32 first: its little-endian mark starts with that of UTF-16.
_WIDE = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# JSON without a mark is told by its zeros (RFC 4627, section 3).
_WIDE_JSON = re.compile(rb"(?P<le>[\[{]\0[^\0]\0)|(?P<be>\0[\[{]\0[^\0])")
_BLANK = " \t\r\n\0"  # NUL: a power loss leaves runs of them in front of what was written later
_JSON_START = re.compile(r"\[?\s*(?:\{\s*(?:\"|\}|$)|$)")
_TRANSCRIPT_KEY = re.compile(
    r'"role"\s*:\s*"(?:user|assistant|system|developer|tool)"|"session_?[iI]d"|"ATIF-v'
)
_LITERALS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
_TORN_TOKEN = re.compile(r"(?:[.eE][+-]?\d*|-|\\(?:u[0-9a-fA-F]{0,3})?)?")
TEXT_HINT = 'insist on the format "text" to take it as a plain document'


def _encoding(start: bytes) -> str:
    """The encoding of a text that starts so, "" for UTF-8 and all that is like ASCII."""
    marked = next((name for mark, name in _WIDE if start.startswith(mark)), "")
    bare = _WIDE_JSON.fullmatch(start)
    return marked or (f"utf-16-{bare.lastgroup}" if bare else "")


class Source:
    """What a reader reads: an input that is opened as often as it is needed, and never held as a whole.

    Attributes:
        path: the file as the caller named it, or None for bytes in memory.
        as_sent: whether what the model is sent is wanted, where a log has compactions, not all that was said.
        salvage: whether a document that ends too early is read up to there, in place of an error.
        harness: a caller's rules of how a harness's words are told, each with the formats they are for.
        skipped: bytes of the input in front of its text; None where offsets in the text are not those
            of the input, because it is compressed, or UTF-16 or UTF-32.
        bad_byte: offset in the input of the first byte that is no character, or None; known for what
            was read so far.
        recoded: numbers of the lines that were Windows-1252 and are read as that.
        odd: what is wrong with the input as a whole: kind, place, note.
        cut: where a document ends that was salvaged, or None; known once it was parsed.
        rows: for each message that was read, the places (from 0) of the items it came from in their list,
            where the format is one of lists; known once it was read.
        invented: how many ids of calls were made up; before it is read, in what stands in front of it.
    """

    def __init__(
        self,
        opened: Callable[[], BinaryIO],
        path: str | None = None,
        *,
        as_sent: bool = False,
        salvage: bool = False,
        harness: Sequence[tuple[frozenset[str], Rules]] = (),
    ) -> None:
        self.path, self.as_sent, self.salvage, self.harness = path, as_sent, salvage, harness
        self.bad_byte: int | None = None
        self.skipped: int | None = 0
        self.recoded: dict[int, None] = {}
        self.odd: list[tuple[str, str, str]] = []
        self.cut: TranscriptError | None = None
        self.rows: tuple[tuple[int, ...], ...] = ()
        self.invented = 0
        self._opened = opened
        self._wide: bytes | None = None
        self._behind = self._length = 0  # bytes of the mark in front of the text, and of the text
        with self._stream() as stream:
            start = stream.read(4)
            encoding = _encoding(start)
            data = start + stream.read() if encoding else b""
            if encoding:
                self.skipped = None
            elif start.startswith(codecs.BOM_UTF8):
                self.skipped = None if self.skipped is None else len(codecs.BOM_UTF8)
                self._behind = len(codecs.BOM_UTF8)
        if encoding:
            try:
                text = data.decode(encoding)
            except UnicodeDecodeError as error:
                self.bad_byte = error.start
                text = data.decode(encoding, errors="replace")
            # A wide mark inside stays U+FEFF; the first one is gone.
            self._wide = text.encode("utf-8", "replace")

    @classmethod
    def open(
        cls,
        source: str | os.PathLike[str] | bytes,
        *,
        as_sent: bool = False,
        salvage: bool = False,
        harness: Sequence[tuple[frozenset[str], Rules]] = (),
    ) -> Source:
        """Take in a file, or bytes. Raises `TranscriptError` where there is nothing to read."""
        made = partial(cls, as_sent=as_sent, salvage=salvage, harness=harness)
        if isinstance(source, bytes):
            return made(lambda: io.BytesIO(source))
        path = os.fspath(source)
        try:
            if Path(path).is_dir():
                found = session_in(Path(path))
                if found is None:
                    raise IsADirectoryError
                if isinstance(found, bytes):
                    return made(lambda: io.BytesIO(found), path)
                path = os.fspath(found)
            if Path(path).exists() and not Path(path).is_file():  # a pipe gives what is in it only once
                data = Path(path).read_bytes()
                return made(lambda: io.BytesIO(data), path)
            return made(lambda: Path(path).open("rb"), path)
        except FileNotFoundError:
            what = "no such file; check the path"
        except IsADirectoryError:
            what = "this is a folder, and none that a known tool keeps a session in; name a transcript file"
        except PermissionError:
            what = "no permission to read it; check its mode and owner"
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            what = f"cannot be read ({getattr(error, 'strerror', None) or error})"
        raise TranscriptError(what, path=path)

    @classmethod
    def holding(cls, document: object) -> Source:
        """An input that is already parsed: plain dictionaries, lists, strings and numbers."""
        source = cls(io.BytesIO)
        vars(source)["_parsed"] = (document, None)
        return source

    def _stream(self) -> BinaryIO:
        """The bytes of the text, in UTF-8 unless they are damaged."""
        if self._wide is not None:
            return io.BytesIO(self._wide)
        raw = self._opened()
        size = raw.seek(0, io.SEEK_END)
        raw.seek(0)
        prepare(size)
        try:
            stream = unpacked(raw, size, self.error, self._broken)
        except TranscriptError:
            raw.close()
            raise
        if stream is not raw:
            self.skipped = None
        stream.read(self._behind)
        return stream

    def _broken(self, what: str) -> None:
        if not self.salvage:
            raise self.error(what)
        odd = ("truncated", "the end", f"{what.split(';', maxsplit=1)[0]}; read up to there")
        if odd not in self.odd:  # the input is opened more than once
            self.odd.append(odd)

    @property
    def start(self) -> bytes:
        """The first bytes, to tell what kind of file this is."""
        with self._stream() as stream:
            return stream.read(16)

    def lines(self) -> Iterator[tuple[int, int, str]]:
        """Each line with its number and its offset in the text's bytes; lines end at LF only."""
        with self._stream() as stream:
            at = 0
            for number, line in enumerate(stream, 1):
                yield number, at, self._decoded(line, at, number)
                at += len(line)

    def text(self) -> str:
        """The whole text. It is read anew each time."""
        with self._stream() as stream:
            data = stream.read()
        self._length = len(data)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            return "".join(text for _, _, text in self.lines())

    def is_blank(self) -> bool:
        """Whether there is not a single character but blanks."""
        return all(not line or line.isspace() for _, _, line in self.lines())

    def _decoded(self, data: bytes, at: int, number: int) -> str:
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            if (text := western(data)) is not None:
                self.recoded[number] = None
                return text
            if self.bad_byte is None:
                self.bad_byte = at + error.start + (self.skipped or 0)
            return data.decode("utf-8", errors="replace")

    def byte(self, at: int) -> int | None:
        """Offset in the input of offset `at` in the text's bytes."""
        return None if self.skipped is None else at + self.skipped

    def line_name(self, line: int, at: int) -> str:
        """The name of a place: line number, and byte where it is known."""
        byte = self.byte(at)
        return f"line {line}" if byte is None else f"line {line}, byte {byte}"

    def error(self, what: str, *, line: int | None = None, at: int | None = None) -> TranscriptError:
        """An error about this input, `at` an offset in the text's bytes."""
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
        if not self._may_be_document():
            return MISSING, None
        # U+FFFD at the end is half a character: part of what a cut has left.
        whole = self.text()
        text = whole.strip(_BLANK).rstrip("\ufffd")
        try:
            return parse(text), None
        except RecursionError:
            return MISSING, self.error(f"JSON is nested too deeply to be a transcript; {TEXT_HINT}")
        except json.JSONDecodeError as error:
            damage = self._diagnose(whole, text, error)
            readable = text if _is_cut(text, error) else text[: error.pos]
        saved = salvaged(readable) if damage and self.salvage else None
        if damage is None or saved is None:
            return MISSING, damage
        self.cut = damage
        what, number = damage.what.split(";")[0], saved.records
        note = f"{what}; complete records before it: {number}, which are kept; record {number + 1} is lost"
        self.odd.append(("truncated", "the end" if damage.byte is None else f"byte {damage.byte}", note))
        return saved.document, None

    def _may_be_document(self) -> bool:
        """Whether reading it as one JSON value is worth a try: not if it is prose, or JSON Lines."""
        filled = (text for text in (line.strip(_BLANK) for _, _, line in self.lines()) if text)
        first = next(filled, "")
        if not first.startswith(("{", "[")):
            return False
        second = next(filled, "")
        # The first line of a log may be torn; a document's may be unfinished.
        unfinished = not second.startswith("{") or first.endswith(("[", "{", ",", ":"))
        is_log = second and (_starts_with_json(first) or (not unfinished and _starts_with_json(second)))
        return not is_log

    def _diagnose(self, whole: str, text: str, error: json.JSONDecodeError) -> TranscriptError | None:
        # Extra data: JSON Lines, or prose behind a value.
        if error.msg == "Extra data" or not _JSON_START.match(text):
            return None
        if _is_cut(text, error):
            what = (
                "the JSON ends in the middle of a value; get the whole file, salvage what is whole of it, or "
            )
            return self.error(what + TEXT_HINT, at=self._length)
        if not _TRANSCRIPT_KEY.search(text, 0, 1 << 16):
            return None
        front = whole[: whole.index(text[0]) + error.pos]
        line = front.count("\n") + 1
        known = self.bad_byte is None and not self.recoded
        at = len(front.encode("utf-8", "surrogatepass")) if known else None
        return self.error(f"not valid JSON: {error.msg}; repair it, or {TEXT_HINT}", line=line, at=at)


def _starts_with_json(text: str) -> bool:
    """Whether `text` is a JSON value, whatever stands behind it."""
    try:
        parse(text)
    except RecursionError:
        return False
    except json.JSONDecodeError as error:
        return error.msg.startswith("Extra data")
    return True


def _is_cut(text: str, error: json.JSONDecodeError) -> bool:
    """Whether the parser failed because `text` ends too early, not because of what stands in it."""
    if error.msg.startswith("Unterminated string"):
        return True
    rest = text[error.pos :].rstrip() if len(text) - error.pos < 32 else "too long for a token"
    return any(word.startswith(rest) for word in _LITERALS) or bool(_TORN_TOKEN.fullmatch(rest))


@dataclass(frozen=True, slots=True)
class Sample:
    """What a reader judges by: the whole as one JSON value (or MISSING), and the first rows.

    Rows are the JSON objects of the first lines, or of the array that the document is. `text` is the start
    of an input that is no document, whole lines of it.
    """

    document: object
    rows: tuple[JsonObject, ...]
    text: str = ""
