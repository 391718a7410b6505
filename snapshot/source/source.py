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
import threading
from operator import is_

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
from snapshot.parts.characters import strict_text
from snapshot.parts.exact_json import members
from snapshot.parts.kinds import Sealed, family_of, pieces
from snapshot.source.marks import ELIDED, FIELD, SCOPE
from snapshot.source.payloads import payloads
from snapshot.source.repeats import fold_repeats
from snapshot.source.text import Elision, Lineage, Source, slice_of

__all__ = ["Elision", "Source", "forget", "slice_of", "source_of", "strict_text"]

# Conversations that were written lately and are kept; those of so few messages are not worth it.
_MOST, _FEW = 4, 16


def source_of(
    transcript: Transcript, *, reasoning: bool = True, repeats: bool = False, runs: bool = False
) -> Source:
    """The source text of `transcript`.

    A transcript of the format "text" is a document, not a conversation: it is its text alone.

    Args:
        transcript: what to print.
        reasoning: include what the model thought.
        repeats: print references in place of blocks of lines that were shown before (see `fold_repeats`).
        runs: print marks in place of runs of random characters (see `snapshot.source.run_marks`).
    """
    source = _written(transcript, reasoning=reasoning)
    if repeats:
        return fold_repeats(source, runs=runs)
    if runs:
        from snapshot.source.run_marks import with_run_marks

        return with_run_marks(source)
    return source


def _written(transcript: Transcript, *, reasoning: bool) -> Source:
    if transcript.format == "text":
        writer = _Writer()
        for message in transcript.messages:
            for part in message.parts:
                if isinstance(part, Text):
                    writer.content(part.text)
            writer.end_message()
        return writer.source()
    return _lately.written(transcript.messages, reasoning)


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
        self._source: Source | None = None
        self._lineage = Lineage()

    def source(self) -> Source:
        """What was put together so far."""
        if self._source is None or self._pieces:
            text = "".join((self._source.text if self._source else "", *self._pieces))
            self._pieces = []
            self._source = Source(
                text, tuple(self._marks), tuple(self._spans), tuple(self._elisions), lineage=self._lineage
            )
        return self._source

    def message(self, message: Message, *, reasoning: bool) -> None:
        for part in message.parts:
            if reasoning or not isinstance(part, Reasoning):
                self._part(message.role, part)
        self.end_message()

    def end_message(self) -> None:
        """All of a message was put."""
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
        self._put(f"{_one_line(media_type)}, {source or f'{size} bytes'}")
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
            case Opaque(kind):
                if family_of(part) != "sealed":
                    self._mark(SCOPE)
                    self._put(f"{role} {_one_line(kind)}\n")
                    self._opaque(part)
                    self._put("\n")

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
            case Opaque(kind):
                self._put(f"{_one_line(kind)} ")
                self._opaque(part)

    def _opaque(self, part: Opaque) -> None:
        """What a part says, and marks in place of what is encrypted."""
        for piece in pieces(part):
            if isinstance(piece, Sealed):
                self._elide(piece.what, piece.size)
            else:
                self.content(piece)

    def _call(self, call: ToolCall) -> None:
        self._numbered += 1
        if call.id:
            self._calls[call.id] = self._numbered
        self._mark(SCOPE)
        self._put(f"call {self._numbered} {_one_line(call.name)}")
        found = members(call.arguments or "{}")
        for name, value, raw in [("", call.arguments, "")] if found is None else found:
            self._mark(FIELD)
            if raw:  # numbers and equal keys as they were written
                self._put(f"{_one_line(name)}:")
                self.content(raw)
            elif isinstance(value, str):
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


def _one_line(text: str) -> str:
    """Names and types come from outside too: what would break the entry's first line is a blank."""
    return " ".join(text.split())


class _Lately:
    """The last conversations that were written: one that goes on is written from where it ended.

    A conversation that is written again is the same `Source`.
    """

    def __init__(self) -> None:
        self._known: list[tuple[tuple[Message, ...], bool, _Writer]] = []  # the newest last
        self._lock = threading.Lock()

    def written(self, messages: tuple[Message, ...], reasoning: bool) -> Source:
        known = None
        if len(messages) >= _FEW:
            with self._lock:
                for entry in reversed(self._known):
                    if entry[1] == reasoning and _begins(messages, entry[0]):
                        self._known.remove(entry)  # it is this call's alone while it is written to
                        known = entry
                        break
        seen, _, writer = known or ((), reasoning, _Writer())
        for message in messages[len(seen) :]:
            writer.message(message, reasoning=reasoning)
        source = writer.source()
        if len(messages) >= _FEW:
            with self._lock:
                self._known = [*self._known, (messages, reasoning, writer)][-_MOST:]
        return source


def _begins(messages: tuple[Message, ...], seen: tuple[Message, ...]) -> bool:
    return len(seen) <= len(messages) and (seen is messages or all(map(is_, seen, messages)))


_lately = _Lately()


def forget() -> None:
    """Forget what was looked at lately."""
    _lately.__init__()
