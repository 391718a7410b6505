"""Transcripts from files, bytes and lists of messages: finds the format by the content, calls its reader."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Sequence
from typing import Protocol, TypeAlias, cast

from snapshot.errors import TranscriptError
from snapshot.messages import Transcript
from snapshot.transcripts.io.harness import Rules, read_rules
from snapshot.transcripts.io.json_values import plain
from snapshot.transcripts.io.jsonl import sample
from snapshot.transcripts.io.source import MISSING, TEXT_HINT, Sample, Source
from snapshot.transcripts.io.unpack import binary_kind
from snapshot.transcripts.reading.threads import Conversation, Detection, Thread, choose, one_thread
from snapshot.transcripts.reading.unknown import unread
from snapshot.transcripts.registry import FORMATS, FROM_TEXT, unknown_format

__all__ = [
    "Read", "Rows", "conversations", "detect", "detected", "from_messages", "load", "read", "with_rows"
]  # fmt: skip

Rows: TypeAlias = tuple[tuple[int, ...], ...]
Read: TypeAlias = tuple[Transcript, Rows, int]
"""A transcript, the places of its messages in their list, and how many ids of calls had to be made up."""


_FORMATS = "snapshot.transcripts.formats"
_TOO_DEEP = "JSON is nested too deeply to be a transcript"


class _Reader(Protocol):
    """What the module of a format offers."""

    NAME: str

    def detect(self, sample: Sample, /) -> Detection | None:
        """How sure the reader is that this is its format, and why; None: it is not."""
        ...


class _Single(_Reader, Protocol):
    """The module of a format that holds one conversation."""

    def read(self, source: Source, /) -> Transcript:
        """The transcript. Raises `TranscriptError` where the input cannot be this format."""
        ...


class _Several(_Reader, Protocol):
    """The module of a format that holds several conversations, or more views of one than one."""

    def threads(self, source: Source, /) -> Sequence[Thread]:
        """The conversations in the input. Raises `TranscriptError` where it cannot be this format."""
        ...


def load(
    source: str | os.PathLike[str] | bytes,
    *,
    format: str | None = None,  # noqa: A002 - the word that the command line uses too
    conversation: str | None = None,
    as_sent: bool = False,
    salvage: bool = False,
    harness: str | os.PathLike[str] | None = None,
) -> Transcript:
    """The transcript in a file, or in bytes. Both may be compressed, by gzip or Zstandard.

    Args:
        source: path of the file, or the content itself as bytes.
        format: one of `FORMATS`, to insist on it; None to go by the content. What fits no format is
            a document and read as "text", but for JSON: that of an unknown kind is refused.
        conversation: id of one of the `conversations`, or its start. None for the only one, or the main
            one where others belong to it: subagents, branches. An export of several leaves no such choice.
        as_sent: whether to give what the model is sent from the last compaction on, the summary in place
            of what it stands for, as the harness that wrote the file does. By default the whole history
            is given, to the last word.
        salvage: whether a document that ends too early is read up to its last complete message, with an
            diagnostic that says where it ends. Logs of lines are always read so.
        harness: a TOML file that says how words of a harness are told from a person's, in the form of
            `snapshot/transcripts/io/harness.toml`; it is asked before the built-in rules.

    Raises:
        TranscriptError: no such file, nothing in it, an unknown `format` or `conversation`, several
            conversations and no choice, or an input that is damaged in a way that leaves nothing to read.
    """
    rules = () if harness is None else read_rules(harness)
    taken = _taken(source, format, as_sent=as_sent, salvage=salvage, rules=rules)
    try:
        threads = _threads(_reader_of(taken, format), taken)
        return choose(taken, threads, conversation).read()
    except RecursionError:
        raise taken.error(_TOO_DEEP) from None


def conversations(
    source: str | os.PathLike[str] | bytes,
    *,
    format: str | None = None,  # noqa: A002 - as in `load`
    salvage: bool = False,
) -> tuple[Conversation, ...]:
    """The conversations in a file, or in bytes, in the order of the file; arguments as for `load`.

    Raises:
        TranscriptError: as `load` does.
    """
    taken = _taken(source, format, salvage=salvage)
    try:
        threads = _threads(_reader_of(taken, format), taken)
        return tuple(thread.conversation for thread in threads if thread.listed)
    except RecursionError:
        raise taken.error(_TOO_DEEP) from None


def detect(source: str | os.PathLike[str] | bytes) -> tuple[Detection, ...]:
    """The formats that a file, or bytes, may have, the likeliest first; a damaged document by what is whole.

    Raises:
        TranscriptError: no such file, nothing in it, or a file of a kind that holds no text.
    """
    taken = _taken(source, None, salvage=True)
    try:
        return _detected(taken)
    except RecursionError:
        raise taken.error(_TOO_DEEP) from None


def _taken(
    source: str | os.PathLike[str] | bytes,
    name: str | None,
    *,
    as_sent: bool = False,
    salvage: bool,
    rules: Sequence[tuple[frozenset[str], Rules]] = (),
) -> Source:
    if name is not None and name not in FORMATS:
        raise TranscriptError(
            unknown_format(name), path=None if isinstance(source, bytes) else os.fspath(source)
        )
    taken = Source.open(source, as_sent=as_sent, salvage=salvage, harness=rules)
    if taken.is_blank():
        what = taken.odd[0][2] if taken.odd else "it is empty"
        raise taken.error(f"{what}; nothing to read")
    binary = "" if name else binary_kind(taken.start)
    if binary:
        raise taken.error(f"this is {binary}")
    return taken


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
    return with_rows(value, format=format)[0]


def with_rows(
    value: object,
    *,
    format: str | None = None,  # noqa: A002 - as in `load`
) -> tuple[Transcript, Rows]:
    """What `from_messages` gives, and each message's places (from 0) in the list that it was read from.

    One item may be several messages (results and words of the user), several items one (results of one
    batch); what stands beside the list has no place.
    """
    return read(value, format=format)[:2]


def read(
    value: object,
    *,
    format: str | None = None,  # noqa: A002 - as in `load`
    invented: int = 0,
) -> Read:
    """What `with_rows` gives, and how many ids were made up; of a list in front of which that many were."""
    if format is not None and format not in FORMATS:
        raise TranscriptError(unknown_format(format))
    try:
        taken = Source.holding(_copied(value))
        taken.invented = invented
        name = format or ("anthropic" if value == [] else _detected(taken)[0].format)
        reader = _reader(name)
        if name == "text":
            known = ", ".join(name for name in FORMATS if name != "text")
            raise TranscriptError(f"not a list of messages of a known format: {known}")
        transcript = choose(taken, _threads(reader, taken), None).read()
        return transcript, taken.rows, taken.invented
    except RecursionError:
        raise TranscriptError(_TOO_DEEP) from None


def detected(value: object) -> Detection | None:
    """The format that a provider's messages in memory most likely have; None where they have none."""
    found = _detected(Source.holding(_copied(value)))
    return found[0] if found else None


def _copied(value: object) -> object:
    try:
        return plain(value)
    except TypeError as error:
        raise TranscriptError(str(error)) from None


def _reader(name: str) -> _Reader:
    module = importlib.import_module(f"{_FORMATS}.{name.replace('-', '_')}")
    return cast(_Reader, module)


def _threads(reader: _Reader, source: Source) -> Sequence[Thread]:
    if hasattr(reader, "threads"):
        return cast(_Several, reader).threads(source)
    return one_thread(cast(_Single, reader).read(source))


def _detected(source: Source) -> tuple[Detection, ...]:
    first = sample(source)
    found = (reader.detect(first) for reader in map(_reader, _possible(first)))
    return tuple(sorted(filter(None, found), key=lambda one: one.confidence, reverse=True))


def _possible(sample: Sample) -> Iterator[str]:
    """The formats that a sample may have by what it begins with; only their readers are imported."""
    is_json = sample.document is not MISSING or bool(sample.rows)
    for name in FORMATS:
        if name == "text" or (bool(sample.text) if name in FROM_TEXT else is_json):
            yield name


def _reader_of(source: Source, name: str | None) -> _Reader:
    best = name or _detected(source)[0].format
    damage = source.damage or source.cut
    if best == "text" and name is None:
        if damage is not None:
            raise damage
        if seen := unread(source):
            raise source.error(f"{seen} that no reader knows; {TEXT_HINT}")
    return _reader(best)
