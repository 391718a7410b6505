"""Source text: a transcript as one readable string, from which pages are rendered at every pass.

Every part of a message is an entry, led by a mark and a few words:

    ⁋user
    Fix the parser.
    ⁋call 1 Bash‣command=pytest -q
    ⁋result 1
    3 failed

Calls are numbered through the transcript, so that results name theirs in two or three characters. The
arguments of a call follow as fields: `‣name=text` for a string, as it is and without escapes, `‣name:JSON`
for anything else. Base64 payloads and the bytes of images become `✂image/png, 2600 bytes✂`.

The three marks are real only at the offsets listed in `Source.marks`. The same characters in a message's
own words are content, and page text prints them as code points: nothing can forge an entry.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from snapshot.messages import (
    File,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Transcript,
)
from snapshot.source.marks import ELIDED, FIELD, SCOPE
from snapshot.source.payloads import payloads

__all__ = ["SEALED", "Elision", "Source", "slice_of", "source_of", "strict_text"]

_SURROGATE = re.compile("[\ud800-\udfff]")


# Parts that say nothing to anybody but the provider: encrypted, and no words.
SEALED = ("redacted_thinking", "compaction")


@dataclass(frozen=True, slots=True)
class Elision:
    """Something that source text only names: where its mark starts, what it is, how many bytes it had."""

    offset: int
    media_type: str
    size: int


@dataclass(frozen=True, slots=True)
class Source:
    """Source text with its structure.

    Attributes:
        text: the text. It may hold lone surrogates, where the transcript did.
        marks: offsets of the characters that are marks and no content, ascending.
        spans: half-open span of each message of the transcript, in order; they partition `text`.
        elisions: what was replaced by its description.
    """

    text: str
    marks: tuple[int, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()
    elisions: tuple[Elision, ...] = ()


def slice_of(source: Source, start: int, stop: int) -> Source:
    """The half-open span of a source as a source of its own; spans and elisions are left behind."""
    low, high = bisect_left(source.marks, start), bisect_left(source.marks, stop)
    return Source(source.text[start:stop], tuple(mark - start for mark in source.marks[low:high]))


def source_of(transcript: Transcript, *, reasoning: bool = True) -> Source:
    """The source text of `transcript`.

    A transcript of the format "text" is a document, not a conversation: it is its text alone.

    Args:
        transcript: what to print.
        reasoning: include what the model thought.
    """
    writer = _Writer()
    if transcript.format == "text":
        for message in transcript.messages:
            for part in message.parts:
                if isinstance(part, Text):
                    writer.content(part.text)
            writer.end_message()
        return writer.source()
    for message in transcript.messages:
        writer.message(message, reasoning=reasoning)
    return writer.source()


def strict_text(text: str) -> tuple[str, int]:
    """The text with U+FFFD for each lone surrogate, which no valid UTF-8 holds; how many there were."""
    return _SURROGATE.subn("\ufffd", text)


class _Writer:
    """Puts the pieces of source text together and keeps count of where they stand."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._marks: list[int] = []
        self._spans: list[tuple[int, int]] = []
        self._elisions: list[Elision] = []
        self._calls: dict[str, int] = {}
        self._numbered = 0
        self._begin = 0

    def source(self) -> Source:
        return Source("".join(self._pieces), tuple(self._marks), tuple(self._spans), tuple(self._elisions))

    def message(self, message: Message, *, reasoning: bool) -> None:
        for part in message.parts:
            if reasoning or not isinstance(part, Reasoning):
                self._part(message.role, part)
        self.end_message()

    def end_message(self) -> None:
        self._spans.append((self._begin, self._length))
        self._begin = self._length

    def content(self, text: str) -> None:
        """Words that are not ours, payloads replaced."""
        end = 0
        for payload in payloads(text):
            self._put(text[end : payload.start])
            self._elide(payload.media_type, payload.size)
            end = payload.stop
        self._put(text[end:])

    def _put(self, text: str) -> None:
        if text:
            self._pieces.append(text)
            self._length += len(text)

    def _mark(self, mark: str) -> None:
        self._marks.append(self._length)
        self._put(mark)

    def _elide(self, media_type: str, size: int, source: str = "") -> None:
        self._elisions.append(Elision(self._length, media_type, size))
        self._mark(ELIDED)
        self._put(f"{media_type}, {source or f'{size} bytes'}")
        self._mark(ELIDED)

    def _entry(self, head: str, body: str) -> None:
        """An entry of one text; it ends with a newline, whatever the text ends with."""
        self._mark(SCOPE)
        self._put(head + "\n")
        self.content(body)
        self._put("\n")

    def _part(self, role: str, part: Part) -> None:
        match part:
            case Text(text, refusal):
                if text.strip() or refusal:
                    self._entry(f"{role} refuses" if refusal else role, text)
            case Reasoning(text):
                if text.strip():
                    self._entry("thinking", text)
            case ToolCall():
                self._call(part)
            case ToolResult():
                self._result(part)
            case Image() | File():
                self._mark(SCOPE)
                self._put(f"{role} ")
                self._attachment(part)
                self._put("\n")
            case Opaque(kind, text):
                if kind not in SEALED:
                    self._entry(f"{role} {_one_line(kind)}", text)

    def _attachment(self, part: Image | File | Opaque) -> None:
        match part:
            case Image(media_type, data, source):
                self._elide(media_type, len(data), "" if data else _one_line(source))
            case File(name, media_type, data, text, source):
                self._put(f"file {_one_line(name)} ")
                if text:
                    self._put("\n")
                    self.content(text)
                else:
                    self._elide(media_type, len(data), "" if data else _one_line(source))
            case Opaque(kind, text):
                self._put(f"{_one_line(kind)} ")
                self.content(text)

    def _call(self, call: ToolCall) -> None:
        self._numbered += 1
        if call.id:
            self._calls[call.id] = self._numbered
        self._mark(SCOPE)
        self._put(f"call {self._numbered} {_one_line(call.name)}")
        for name, value in _arguments(call.arguments):
            self._mark(FIELD)
            if isinstance(value, str):
                self._put(f"{_one_line(name)}=")
                self.content(value)
            else:
                self._put(f"{_one_line(name)}:")
                self.content(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
        self._put("\n")

    def _result(self, result: ToolResult) -> None:
        number = self._calls.get(result.call_id)
        self._mark(SCOPE)
        self._put(f"{'error' if result.is_error else 'result'} {'?' if number is None else number}\n")
        for part in result.content:
            if isinstance(part, Text):
                self.content(part.text)
            else:
                self._attachment(part)
        if not any(not isinstance(part, Text) or part.text.strip() for part in result.content):
            self._mark(ELIDED)
            self._put("no output")
            self._mark(ELIDED)
        self._put("\n")


def _arguments(text: str) -> Iterator[tuple[str, Any]]:
    """Name and value of each argument; one nameless text where the arguments are no JSON object."""
    try:
        values = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        values = None
    if isinstance(values, dict):
        yield from values.items()
    else:
        yield "", text


def _one_line(text: str) -> str:
    """Names and types come from outside too: what would break the entry's first line is a blank."""
    return " ".join(text.split())
