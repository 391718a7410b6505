"""Transcripts from files, bytes and lists of messages: `load` and `from_messages` go by the content.

A format is one module: `NAME`, `detect(sample)` and `read(source)`, and one line in `FORMATS`; its writer is
a module of the same name in `writers`, found by `dump`.
"""

from __future__ import annotations

import importlib
import os
from typing import Protocol, cast

from snapshot.errors import TranscriptError
from snapshot.messages import Transcript
from snapshot.transcripts._dump import Dumped, Loss, dump
from snapshot.transcripts._json import plain
from snapshot.transcripts._jsonl import sample
from snapshot.transcripts._source import Sample, Source

__all__ = ["FORMATS", "Dumped", "Loss", "dump", "from_messages", "load"]

# Names of the formats, each with its module of the same name. Of two that are equally sure, the
# first one reads.
FORMATS = (
    "claude-stream",
    "claude-session",
    "anthropic",
    "openai-chat",
    "openai-responses",
    "gemini",
    "atif",
    "text",
)


_TOO_DEEP = "JSON is nested too deeply to be a transcript"


class _Reader(Protocol):
    """What the module of a format offers."""

    NAME: str

    def detect(self, sample: Sample, /) -> float:
        """How sure the reader is that this is its format, from 0 to 1."""
        ...

    def read(self, source: Source, /) -> Transcript:
        """The transcript. Raises `TranscriptError` where the input cannot be this format."""
        ...


def load(
    source: str | os.PathLike[str] | bytes,
    *,
    format: str | None = None,  # noqa: A002 - the word that the command line uses too
) -> Transcript:
    """The transcript in a file, or in bytes.

    Args:
        source: path of the file, or the content itself as bytes.
        format: one of `FORMATS`, to insist on it; None to go by the content. What fits no format is
            a document and read as "text", valid JSON as well.

    Raises:
        TranscriptError: no such file, nothing in it, an unknown `format`, or an input that is damaged
            in a way that leaves nothing to read.
    """
    if format is not None and format not in FORMATS:
        raise TranscriptError(
            unknown_format(format), path=None if isinstance(source, bytes) else os.fspath(source)
        )
    taken = Source.open(source)
    if not taken.text or taken.text.isspace():
        raise taken.error("it is empty: not a single character in it but blanks; nothing to read")
    try:
        reader = _reader(format) if format else _detected(taken)
        return reader.read(taken)
    except RecursionError:
        raise taken.error(_TOO_DEEP) from None


def from_messages(
    value: object,
    *,
    format: str | None = None,  # noqa: A002 - as in `load`
) -> Transcript:
    """The transcript in a provider's messages that are in memory: a list, or a request with such a list.

    Args:
        value: plain dictionaries, lists, strings and numbers. It is copied, never changed.
        format: one of `FORMATS`, to insist on it; None to go by the content. An empty list is an empty
            conversation.

    Raises:
        TranscriptError: no known format, an unknown `format`, or a value that is no plain data.
    """
    if format is not None and format not in FORMATS:
        raise TranscriptError(unknown_format(format))
    try:
        taken = Source.holding(_copied(value))
        reader = _reader(format or ("anthropic" if value == [] else _detected(taken).NAME))
        if reader.NAME == "text":
            known = ", ".join(name for name in FORMATS if name != "text")
            raise TranscriptError(f"not a list of messages of a known format: {known}")
        return reader.read(taken)
    except RecursionError:
        raise TranscriptError(_TOO_DEEP) from None


def _copied(value: object) -> object:
    try:
        return plain(value)
    except TypeError as error:
        raise TranscriptError(str(error)) from None


def _reader(name: str) -> _Reader:
    module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    return cast(_Reader, module)


def _detected(source: Source) -> _Reader:
    first = sample(source)
    best = max(map(_reader, FORMATS), key=lambda reader: reader.detect(first))
    if best.NAME == "text" and source.damage is not None:
        raise source.damage
    return best


def unknown_format(name: str) -> str:
    """What to say of a name that is no format's."""
    from difflib import get_close_matches

    near = get_close_matches(name.lower().replace("_", "-"), FORMATS, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ";"
    return f"unknown format {name!r}{hint} known formats: {', '.join(FORMATS)}"
