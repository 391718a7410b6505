"""An archive's content: what a compaction replaced, so that nothing is lost and all can be made again.

It holds the messages of the middle, the source text they print as, from which any later pass renders, for
another reader too, and what stands as text beside the pages. It can be searched, looked up by page or
message, and put back in place of the pages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import Any, Self

from snapshot.compaction.paged_part import PagedPart, listed_pages, stored_count, stored_spans
from snapshot.compaction.statements import Statement
from snapshot.compaction.window import Window, window_of
from snapshot.errors import ArchiveError
from snapshot.messages import Message, Transcript
from snapshot.pages.layout import layout_shape
from snapshot.serialization import from_json, to_json
from snapshot.source.marks import first_marks
from snapshot.source.repeats import fold_chapters, original_span
from snapshot.source.run_marks import with_whole_runs
from snapshot.source.source import Source, source_of

__all__ = [
    "ALSO",
    "CLOSING",
    "OPENING",
    "STILL_COUNT",
    "WORDS",
    "Archived",
    "Changed",
    "Found",
    "PagedPart",
    "Refusal",
]

OPENING = "== ARCHIVE OF EARLIER MESSAGES =="
"""First line of the text that leads the pages in a request."""
CLOSING = "== END OF ARCHIVE =="
"""First line of the text that follows them."""
ALSO = "From here on the pages also say:"
"""First line of what is told of marks where a page first has them."""

SCHEMA = "snapshot-pages/archive/4"
WORDS = 4
"""Version of the words that an archive is made with."""
STILL_COUNT = 4
"""The version from which on earlier requests may still count, messages that left view have numbers, ends of
lines, blanks and foreign signs are explained only where they occur, and what cannot be read is got again."""
_FORMER_SCHEMA = "snapshot-pages/archive/1"
_SCHEMAS = (SCHEMA, "snapshot-pages/archive/3", "snapshot-pages/archive/2", _FORMER_SCHEMA)

# Longest text that a search shows around what it found.
_AROUND = 80


@dataclass(frozen=True, slots=True)
class Found:
    """A place in the archive: half-open span of source text, page (from 1), and the text around it."""

    start: int
    stop: int
    page: int
    text: str


@dataclass(frozen=True, slots=True)
class Changed:
    """A message outside the middle that stands in the request with parts replaced.

    Attributes:
        number: its number in the whole conversation, from 0.
        original: the message as it was, but for redacted secrets.
        sent: the message as it is sent, with marks for its pages; None in archives of the former version.
    """

    number: int
    original: Message
    sent: Message | None


@dataclass(frozen=True, slots=True)
class Refusal:
    """What is known of a request that a provider refused, all in tokens.

    Attributes:
        tokens: what the provider counted.
        whole: what the whole history was estimated at.
        sent: what the request was estimated at.
        answer: what the one that was given back was estimated at.
    """

    tokens: int
    whole: int
    sent: int
    answer: int


@dataclass(frozen=True)
class Archived:
    """What was compacted.

    Attributes:
        head: messages of the conversation before the middle.
        messages: the middle, as it was, but for redacted secrets; none where only single parts were replaced.
        format: format of the conversation.
        layout: name of the layout that its pages were last set in.
        pages: half-open spans of source text on the pages, in order; what is not on them was left out.
        printed_pages: half-open spans of the printed text, in which earlier lines are said once, on the
            pages; () where they were set of the source text itself.
        first_reference: number of the first page (from 1) that refers to earlier lines; 0 for none.
        runs: version of the marks that are printed in place of runs of random characters; 0 where these stand
            on the pages themselves, and references are only to lines with the same numbers before them.
        tiers: name of the layout of each page.
        prices: tokens of each page.
        sizes: bytes of each page's file, as they were counted; () where they were not.
        starts: numbers (from 0) of the pages at which setting began anew; () where each layout's pages
            follow.
        chapters: offsets of source text at which a chapter begins, but for the first: nothing that is printed
            behind one refers to what stands before, so that older ones can leave and no page changes.
        ways: how each page is read, "rows", "columns" or "lines"; () where all are read row by row.
        reasoning: whether the source text has what the model thought.
        summary: the summary that stands in the request in place of pages, "" if pages do.
        statements: words that stand as text beside the pages.
        outline: what stands in place of the oldest text that no page shows, "" for nothing.
        facts: the factsheet.
        ledger: the live state.
        focus: what the caller wants kept in view.
        changed: messages outside the middle that stand in the request with parts replaced.
        parts: parts of these that stand on pages of their own, or are clipped.
        tail: tokens of what stayed word for word behind the middle when this was made.
        words: which version of our own words the request has; see `snapshot.compaction.former_words`.
        refusal: the refusal that it was made for, where the provider named figures; None for others.
        stale: a layout of its pages is no longer as it was when they were set, or is not told: `set_anew` in
            `compaction.pagination` sets them as they are now.
    """

    head: int
    messages: tuple[Message, ...]
    format: str
    layout: str = ""
    pages: tuple[tuple[int, int], ...] = ()
    printed_pages: tuple[tuple[int, int], ...] = ()
    first_reference: int = 0
    runs: int = 0
    tiers: tuple[str, ...] = ()
    prices: tuple[int, ...] = ()
    sizes: tuple[int, ...] = ()
    starts: tuple[int, ...] = ()
    chapters: tuple[int, ...] = ()
    ways: tuple[str, ...] = ()
    reasoning: bool = False
    summary: str = ""
    statements: tuple[Statement, ...] = ()
    outline: str = ""
    facts: str = ""
    ledger: str = ""
    focus: str = ""
    changed: tuple[Changed, ...] = ()
    parts: tuple[PagedPart, ...] = ()
    tail: int = 0
    words: int = WORDS
    refusal: Refusal | None = None
    stale: bool = False
    former_schema: bool = field(default=False, repr=False, compare=False)

    def __repr__(self) -> str:
        what = f"{len(self.pages)} pages" if self.pages else "a summary" if self.summary else "single parts"
        return f"<Archive {self.id}: {len(self.messages)} messages, {what}>"

    @property
    def boundary(self) -> int:
        """Number of the first message that the compaction left verbatim."""
        return self.head + len(self.messages)

    @property
    def light(self) -> bool:
        """Whether only single parts were replaced, and all messages are still in the conversation."""
        return not self.messages

    @cached_property
    def source(self) -> Source:
        """The source text of the middle."""
        return source_of(Transcript(self.messages, self.format or "archive"), reasoning=self.reasoning)

    @cached_property
    def printed(self) -> Source:
        """The text that the pages are set of: the source text, with references to what they have shown
        before."""
        if not self.printed_pages:
            return self.source
        return fold_chapters(self.source, (self.pages[0][0], *self.chapters), runs=bool(self.runs))

    @cached_property
    def in_view(self) -> Window:
        """The end of the printed text that holds all pages."""
        if not self.printed_pages:
            return Window(0, self.source)
        first = self.pages[0][0]
        window = window_of(self.source, first, runs=bool(self.runs))
        if not window.start:
            return Window(0, self.printed)
        starts = [at - window.start for at in (first, *self.chapters)]
        return Window(window.start, fold_chapters(window.source, starts, runs=bool(self.runs)))

    @cached_property
    def shown_marks(self) -> tuple[dict[str, int], dict[str, int]]:
        """Where marks that want a note first stand in the printed text, by the note's name: on the first
        page, and on those behind it."""
        spans = self.printed_pages or self.pages
        if not spans:
            return {}, {}
        (start, stop), end = spans[0], spans[-1][1]
        text, runs, before = self.in_view.source.text, bool(self.runs), self.in_view.start
        first, others = (
            _first_marks(text[a - before : b - before], runs, self.words < STILL_COUNT)
            for a, b in ((start, stop), (stop, end))
        )
        return {name: at + start for name, at in first.items()}, {
            name: at + stop for name, at in others.items()
        }

    @property
    def referred(self) -> tuple[tuple[int, int], ...]:
        """Half-open spans of source text that a page refers to instead of showing them."""
        at = self.in_view.start
        return tuple(
            (one.original_start + at, one.original_stop + at) for one in self.in_view.source.references
        )

    @cached_property
    def id(self) -> str:
        """A short name that depends on the content alone."""
        digest = sha256(self.source.text.encode("utf-8", "surrogatepass"))
        for item in self.changed:
            digest.update(repr((item.number, item.original)).encode("utf-8", "surrogatepass"))
        for part in self.parts:
            digest.update(part.text.encode("utf-8", "surrogatepass"))
        return digest.hexdigest()[:12]

    # --- looking things up

    @property
    def listed(self) -> tuple[tuple[int, int, str], ...]:
        """Half-open span of the printed text and name of the layout of each page."""
        return listed_pages(self.printed_pages or self.pages, self.tiers)

    def text(self, start: int = 0, stop: int | None = None) -> str:
        """Source text of a half-open span."""
        return self.source.text[start:stop]

    @cached_property
    def _part_pages(self) -> tuple[tuple[Source, tuple[int, int]], ...]:
        found: list[tuple[Source, tuple[int, int]]] = []
        for part in self.parts:
            source = part.source
            found += [(source, span) for span in part.pages or ((0, len(source.text)),)]
        return tuple(found)

    @property
    def page_count(self) -> int:
        """All pages: those of the middle, then those of single parts."""
        return len(self.pages) + len(self._part_pages)

    def page(self, number: int) -> str:
        """Source text on page `number`, from 1: pages of the middle first, then those of single parts."""
        if not 1 <= number <= self.page_count:
            raise ArchiveError(f"the archive has pages 1 to {self.page_count}, not {number}")
        if number <= len(self.pages):
            return self.text(*self.pages[number - 1])
        source, (start, stop) = self._part_pages[number - len(self.pages) - 1]
        return source.text[start:stop]

    def message(self, number: int) -> str:
        """Source text of message `number` of the conversation, from 1, as the live state names it."""
        at = number - 1 - self.head
        if 0 <= at < len(self.messages):
            return self.text(*self.source.spans[at])
        for item in self.changed:
            if item.number == number - 1:
                whole = Transcript((item.original,), self.format or "archive")
                return source_of(whole, reasoning=self.reasoning).text
        there = (
            f"messages {self.head + 1} to {self.boundary}" if self.messages else "parts of single messages"
        )
        raise ArchiveError(f"the archive has {there}, not {number}: all others stand in the conversation")

    def run(self, number: int, message: int | None = None) -> str:
        """The run of random characters that mark `number` on the pages stands for, from 1.

        Args:
            number: of the run.
            message: number of the message, from 1, on whose page the mark is: large parts of single messages
                have numbers of their own. It may be left out where the number is one run's alone.
        """
        middle = range(self.head + 1, self.boundary + 1)
        places = [("its pages", self.printed.runs)] if message is None or message in middle else []
        for part in self.parts:
            if message in (None, part.message + 1):
                places.append((f"pages in message {part.message + 1}", part.printed.runs))
        found = {runs[number - 1]: where for where, runs in places if 1 <= number <= len(runs)}
        if len(found) == 1:
            return next(iter(found))
        if found:
            several = " and ".join(found.values())
            raise ArchiveError(
                f"there are several runs {number}, on {several}: give the `message` as well "
                f"({middle.start} for its pages), or search for the first characters"
            )
        there = " and ".join(f"runs 1 to {len(runs)} on {where}" for where, runs in places if runs)
        raise ArchiveError(f"the archive has {there or 'no runs of random characters'}, not {number}")

    def search(self, words: str, *, most: int = 20) -> tuple[Found, ...]:
        """Places where `words` stand, without regard to case, in order."""
        places: list[Found] = []
        pattern = re.compile(re.escape(words), re.IGNORECASE)
        for source, printed, page_at in self._sources() if words else ():
            for match in pattern.finditer(source.text):
                start, stop = match.span()
                start, stop = with_whole_runs(printed, start, stop)
                text = source.text[max(0, start - _AROUND) : stop + _AROUND]
                places.append(Found(match.start(), match.end(), page_at(match.start()), text))
                if len(places) == most:
                    return tuple(places)
        return tuple(places)

    def _sources(self) -> Iterator[tuple[Source, Source, Any]]:
        """Each text of the archive, as it is and as it is printed, with what tells the page of an offset in
        it."""
        yield self.source, self.printed if self.runs else self.source, self.page_at
        number = len(self.pages)
        for part in self.parts:
            spans = part.pages or ((0, len(part.text)),)

            def page_at(offset: int, spans: Any = spans, before: int = number) -> int:
                inside = (n for n, (start, stop) in enumerate(spans, before + 1) if start <= offset < stop)
                return next(inside, 0)

            yield part.source, part.printed, page_at
            number += len(spans)
        if not self.parts and self.changed:
            whole = Transcript(tuple(item.original for item in self.changed), self.format or "archive")
            source = source_of(whole, reasoning=self.reasoning)
            yield source, source, _on_no_page

    def page_at(self, offset: int) -> int:
        """Page that shows the character at `offset`; 0 where it was left out."""
        for number, (start, stop) in enumerate(self.pages, 1):
            if start <= offset < stop:
                return number
        return 0

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
                "printed_pages": [list(span) for span in self.printed_pages],
                "first_reference": self.first_reference,
                **({"runs": self.runs} if self.runs else {}),
                "tiers": list(self.tiers),
                "prices": list(self.prices),
                "sizes": list(self.sizes),
                "starts": list(self.starts),
                "chapters": list(self.chapters),
                **({"ways": list(self.ways)} if self.ways else {}),
                "shapes": {} if self.stale else self._shapes(),
                "reasoning": self.reasoning,
                "summary": self.summary,
                "statements": [[s.offset, s.label, s.text, s.pinned, s.whole] for s in self.statements],
                "outline": self.outline,
                "facts": self.facts,
                "ledger": self.ledger,
                "focus": self.focus,
                "changed": [
                    [item.number, to_json(item.original), to_json(item.sent) if item.sent else None]
                    for item in self.changed
                ],
                "tail": self.tail,
                "words": self.words,
                "refusal": list(astuple(self.refusal)) if self.refusal else None,
                "parts": [part.stored() for part in self.parts],
                "messages": [to_json(message) for message in self.messages],
                "source_sha256": sha256(self.source.text.encode("utf-8", "surrogatepass")).hexdigest(),
            }
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The archive that `to_json` wrote, in this version or an earlier one.

        Raises:
            ArchiveError: not such text, damaged, or of a newer version.
        """
        try:
            value = json.loads(text)
            schema = value.get("schema")
        except (ValueError, AttributeError, RecursionError) as error:
            raise ArchiveError(f"not an archive: {error}") from error
        if schema not in _SCHEMAS:
            raise ArchiveError(f"the archive's schema is {schema!r}, this version reads {SCHEMA!r}")
        try:
            archive = cls._of(value)
            if any(len(item.pages) != len(item.tiers) for item in (archive, *archive.parts)):
                raise ValueError("not every page has a layout")
            if archive.ways and len(archive.ways) != len(archive.pages):
                raise ValueError("not every page says how it is read")
            digest = sha256(archive.source.text.encode("utf-8", "surrogatepass")).hexdigest()
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise ArchiveError(f"the archive is damaged: {error!r}") from error
        if digest != value.get("source_sha256"):
            raise ArchiveError("the archive is damaged: its text is not the one that was stored")
        if not archive._prints_its_pages():
            raise ArchiveError("the archive is damaged: its pages are not those of its text")
        if archive._shapes() != value.get("shapes", {}):
            archive = replace(archive, stale=True)
        return archive._without_light_middle()

    def _shapes(self) -> dict[str, str]:
        """What the layouts of its pages are now, by name: face, size, columns of text."""
        names = {name for item in (self, *self.parts) for name in item.tiers}
        return {name: layout_shape(name) for name in sorted(names)}

    def _prints_its_pages(self) -> bool:
        """Whether the spans of printed text are those of the pages."""
        return all(
            tuple(original_span(item.printed, *span) for span in item.printed_pages) == item.pages
            for item in (self, *self.parts)
            if item.printed_pages
        )

    @classmethod
    def _of(cls, value: Mapping[str, Any]) -> Self:
        return cls(
            head=stored_count(value["head"]),
            messages=tuple(from_json(message) for message in value["messages"]),
            format=str(value["format"]),
            layout=str(value["layout"]),
            pages=stored_spans(value["pages"]),
            printed_pages=stored_spans(value.get("printed_pages", ())),
            first_reference=stored_count(value.get("first_reference", 0)),
            runs=stored_count(value.get("runs", 0)),
            tiers=tuple(map(str, value["tiers"])),
            prices=tuple(map(stored_count, value.get("prices", ()))),
            sizes=tuple(map(stored_count, value.get("sizes", ()))),
            starts=tuple(map(stored_count, value.get("starts", ()))),
            chapters=tuple(map(stored_count, value.get("chapters", ()))),
            ways=tuple(map(str, value.get("ways", ()))),
            reasoning=bool(value["reasoning"]),
            summary=str(value["summary"]),
            statements=tuple(
                Statement(stored_count(offset), str(label), str(words), bool(pinned), all(whole))
                for offset, label, words, pinned, *whole in value.get("statements", ())
            ),
            outline=str(value.get("outline", "")),
            facts=str(value.get("facts", "")),
            ledger=str(value.get("ledger", "")),
            focus=str(value.get("focus", "")),
            changed=tuple(
                Changed(stored_count(number), from_json(original), from_json(sent) if sent else None)
                for number, original, sent in value.get("changed", ())
            ),
            tail=stored_count(value.get("tail", 0)),
            words=stored_count(value.get("words", 1)),
            refusal=Refusal(*map(stored_count, value["refusal"])) if value.get("refusal") else None,
            parts=tuple(map(PagedPart.of, value.get("parts", ()))),
            former_schema=value["schema"] == _FORMER_SCHEMA,
        )

    def _without_light_middle(self) -> Self:
        """An archive of the former version that replaced single parts had all messages around them as
        well."""
        if not self.former_schema or self.pages or self.summary:
            return self
        changed = tuple(Changed(at, message, None) for at, message in enumerate(self.messages, self.head))
        return replace(self, messages=(), changed=changed, former_schema=False)


@lru_cache(maxsize=8)  # a compaction asks for the same pages several times, each time of another archive
def _first_marks(text: str, runs: bool, former: bool) -> dict[str, int]:
    return first_marks(text, runs=runs, former=former)


def _on_no_page(_offset: int) -> int:
    return 0
