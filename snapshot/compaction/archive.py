"""The archive: what a compaction replaced, kept so that nothing is lost and everything can be made again.

It holds the messages of the middle and the source text they print as, from which any later pass renders,
for another reader too. It can be searched, looked up by page or message, and put back in place of the pages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Any

from snapshot.errors import ArchiveError
from snapshot.messages import Message, Part, Text, Transcript
from snapshot.serialization import from_json, to_json
from snapshot.source.source import Source, source_of

__all__ = ["CLOSING", "OPENING", "Archive", "Found"]

SCHEMA = "snapshot-pages/archive/1"

OPENING = "== ARCHIVE OF EARLIER MESSAGES =="
"""First line of the text that leads the pages in a request."""
CLOSING = "== END OF ARCHIVE =="
"""First line of the text that follows them."""

# Longest text that a search shows around what it found.
_AROUND = 80


@dataclass(frozen=True, slots=True)
class Found:
    """A place in the archive: half-open span of source text, page (from 1), and the text around it."""

    start: int
    stop: int
    page: int
    text: str


@dataclass(frozen=True)
class Archive:
    """What was compacted.

    Attributes:
        head: messages of the conversation before the middle.
        messages: the middle, as it was, but for redacted secrets.
        format: format of the conversation.
        layout: name of the layout that its pages were last set in.
        pages: half-open spans of source text on the pages, in order; "" was left out where they do not
            follow each other.
        tiers: name of the layout of each page.
        reasoning: whether the source text has what the model thought.
        summary: the summary that stands in the request in place of pages, "" if pages do.
    """

    head: int
    messages: tuple[Message, ...]
    format: str
    layout: str = ""
    pages: tuple[tuple[int, int], ...] = ()
    tiers: tuple[str, ...] = ()
    reasoning: bool = False
    summary: str = ""

    @property
    def boundary(self) -> int:
        """Number of the first message that the compaction left verbatim."""
        return self.head + len(self.messages)

    @property
    def light(self) -> bool:
        """Whether only single parts were replaced, and the messages are still in the conversation."""
        return not self.pages and not self.summary

    @cached_property
    def source(self) -> Source:
        """The source text of the middle."""
        return source_of(Transcript(self.messages, self.format or "archive"), reasoning=self.reasoning)

    @cached_property
    def id(self) -> str:
        """A short name that depends on the content alone."""
        return sha256(self.source.text.encode("utf-8", "surrogatepass")).hexdigest()[:12]

    # --- looking things up

    def text(self, start: int = 0, stop: int | None = None) -> str:
        """Source text of a half-open span."""
        return self.source.text[start:stop]

    def page(self, number: int) -> str:
        """Source text on page `number`, from 1."""
        if not 1 <= number <= len(self.pages):
            raise ArchiveError(f"the archive has pages 1 to {len(self.pages)}, not {number}")
        return self.text(*self.pages[number - 1])

    def message(self, number: int) -> str:
        """Source text of message `number` of the middle, from 1."""
        if not 1 <= number <= len(self.messages):
            raise ArchiveError(f"the archive has messages 1 to {len(self.messages)}, not {number}")
        return self.text(*self.source.spans[number - 1])

    def search(self, words: str, *, most: int = 20) -> tuple[Found, ...]:
        """Places where `words` stand, without regard to case, in order."""
        found = []
        for match in re.finditer(re.escape(words), self.source.text, re.IGNORECASE) if words else ():
            start, stop = max(0, match.start() - _AROUND), match.end() + _AROUND
            found.append(
                Found(match.start(), match.end(), self.page_at(match.start()), self.text(start, stop))
            )
            if len(found) == most:
                break
        return tuple(found)

    def page_at(self, offset: int) -> int:
        """Page that shows the character at `offset`; 0 where it was left out."""
        for number, (start, stop) in enumerate(self.pages, 1):
            if start <= offset < stop:
                return number
        return 0

    def tool(self, api: str) -> dict[str, Any]:
        """A tool definition for `api`, with which a model asks for exact text; `answer` serves it."""
        name = "read_archive"
        description = (
            "Exact text of the archive of earlier messages, of which you see pages as images. Give `page` "
            "for the text of a page, or `search` to find words."
        )
        schema = {
            "type": "object",
            "properties": {
                "page": {"type": "integer", "description": "number of a page, from 1"},
                "search": {"type": "string", "description": "words to find"},
            },
        }
        if api == "anthropic":
            return {"name": name, "description": description, "input_schema": schema}
        if api == "gemini":
            return {
                "functionDeclarations": [{"name": name, "description": description, "parameters": schema}]
            }
        if api == "openai-responses":
            return {"type": "function", "name": name, "description": description, "parameters": schema}
        if api == "openai":
            function = {"name": name, "description": description, "parameters": schema}
            return {"type": "function", "function": function}
        raise ArchiveError(
            f"no tool definition for {api!r}: known are anthropic, openai, openai-responses, gemini"
        )

    def answer(self, arguments: Mapping[str, Any]) -> str:
        """The result of a call of `tool`; a wrong call gets a sentence that says what is right."""
        try:
            if arguments.get("page") is not None:
                return self.page(int(arguments["page"]))
            if arguments.get("search"):
                found = self.search(str(arguments["search"]))
                return "\n".join(f"page {item.page}: {item.text}" for item in found) or "not found"
        except (ArchiveError, ValueError, TypeError) as error:
            return str(error)
        return "give `page` or `search`"

    # --- undoing

    def restore(self, transcript: Transcript) -> Transcript:
        """The conversation with the archived messages in place of their pages; a full one is itself.

        Raises:
            ArchiveError: the conversation has pages of an archive, but they cannot be told from the rest.
        """
        if self.light:
            return self._unlightened(transcript)
        found = list(_marked(transcript.messages))
        if not found:
            return transcript
        (at, part), (end, last) = found[0], found[-1]
        if len(found) != 2 or (at, part) >= (end, last):
            raise ArchiveError(
                "the archive in the conversation has no clear start and end; give the full history"
            )
        opening, closing = transcript.messages[at], transcript.messages[end]
        before = _cut(opening, opening.parts[:part])
        after = _cut(closing, closing.parts[last + 1 :])
        head, tail = transcript.messages[:at], transcript.messages[end + 1 :]
        return replace(transcript, messages=(*head, *before, *self.messages, *after, *tail))

    def _unlightened(self, transcript: Transcript) -> Transcript:
        """The conversation with the parts that were elided or dropped."""
        there = transcript.messages[self.head : self.boundary]
        if [message.role for message in there] != [message.role for message in self.messages]:
            raise ArchiveError("the archive is of another conversation: its messages are not there")
        if there == self.messages:
            return transcript
        kept = (*transcript.messages[: self.head], *self.messages, *transcript.messages[self.boundary :])
        return replace(transcript, messages=kept)

    # --- storing

    def to_json(self) -> str:
        """The archive as JSON text."""
        return json.dumps(
            {
                "schema": SCHEMA,
                "head": self.head,
                "format": self.format,
                "layout": self.layout,
                "pages": [list(span) for span in self.pages],
                "tiers": list(self.tiers),
                "reasoning": self.reasoning,
                "summary": self.summary,
                "messages": [to_json(message) for message in self.messages],
                "source_sha256": sha256(self.source.text.encode("utf-8", "surrogatepass")).hexdigest(),
            }
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> Archive:
        """The archive that `to_json` wrote.

        Raises:
            ArchiveError: not such text, damaged, or of a newer version.
        """
        try:
            value = json.loads(text)
            found = value.get("schema")
        except (ValueError, AttributeError, RecursionError) as error:
            raise ArchiveError(f"not an archive: {error}") from error
        if found != SCHEMA:
            raise ArchiveError(f"the archive's schema is {found!r}, this version reads {SCHEMA!r}")
        try:
            archive = cls(
                head=value["head"],
                messages=tuple(from_json(message) for message in value["messages"]),
                format=value["format"],
                layout=value["layout"],
                pages=tuple((start, stop) for start, stop in value["pages"]),
                tiers=tuple(value["tiers"]),
                reasoning=value["reasoning"],
                summary=value["summary"],
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ArchiveError(f"the archive is damaged: {error!r}") from error
        digest = sha256(archive.source.text.encode("utf-8", "surrogatepass")).hexdigest()
        if digest != value.get("source_sha256"):
            raise ArchiveError("the archive is damaged: its text is not the one that was stored")
        return archive


def _marked(messages: Sequence[Message]) -> Iterator[tuple[int, int]]:
    """Message and part of each opening or closing text."""
    for at, message in enumerate(messages):
        if message.role == "user":
            for place, part in enumerate(message.parts):
                if isinstance(part, Text) and part.text.startswith((OPENING + "\n", CLOSING + "\n")):
                    yield at, place


def _cut(message: Message, parts: Sequence[Part]) -> tuple[Message, ...]:
    return (replace(message, parts=tuple(parts), raw=()),) if parts else ()
