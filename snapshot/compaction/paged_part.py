"""One large part of a message that stands on pages of its own, in the place where it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

from snapshot.messages import Message, Text, Transcript
from snapshot.source.run_marks import with_run_marks
from snapshot.source.source import Source, source_of

__all__ = ["PagedPart", "listed_pages", "stored_count", "stored_spans"]


@dataclass(frozen=True, slots=True)
class PagedPart:
    """One part of a message that stays where it is, of which the bulk stands on pages, or is left out.

    Attributes:
        message: number of the message in the whole conversation, from 0.
        part: number of the part in it.
        text: its text, whole.
        pages: half-open spans of it on the pages, in order; () where it was clipped for a reader without
            vision.
        tiers: name of the layout of each page.
        starts: numbers (from 0) of the pages at which setting began anew; () where each layout's pages
            follow.
        printed_pages: half-open spans of the printed text on the pages; () where they were set of the text
            itself.
        runs: version of the marks that are printed in place of runs of random characters, numbered in each
            part from 1; 0 where these stand on the pages themselves.
    """

    message: int
    part: int
    text: str
    pages: tuple[tuple[int, int], ...] = ()
    tiers: tuple[str, ...] = ()
    starts: tuple[int, ...] = ()
    printed_pages: tuple[tuple[int, int], ...] = ()
    runs: int = 0

    @property
    def source(self) -> Source:
        """Its text as a document."""
        return _document(self.text)

    @property
    def printed(self) -> Source:
        """The text that the pages are set of."""
        return _marked(self.text) if self.runs else self.source

    @property
    def listed(self) -> tuple[tuple[int, int, str], ...]:
        """Half-open span of the printed text and name of the layout of each page."""
        return listed_pages(self.printed_pages or self.pages, self.tiers)

    def stored(self) -> dict[str, Any]:
        """What an archive's JSON has of it."""
        marked = {"printed_pages": list(map(list, self.printed_pages)), "runs": self.runs}
        return {
            "message": self.message,
            "part": self.part,
            "text": self.text,
            "pages": list(map(list, self.pages)),
            "tiers": list(self.tiers),
            "starts": list(self.starts),
            **(marked if self.runs else {}),
        }

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Self:
        """The part that was stored.

        Raises:
            KeyError, TypeError, ValueError: it is not one.
        """
        return cls(
            stored_count(value["message"]),
            stored_count(value["part"]),
            str(value["text"]),
            stored_spans(value["pages"]),
            tuple(map(str, value["tiers"])),
            tuple(map(stored_count, value.get("starts", ()))),
            stored_spans(value.get("printed_pages", ())),
            stored_count(value.get("runs", 0)),
        )


@lru_cache(maxsize=8)  # a compaction asks for the same texts several times
def _document(text: str) -> Source:
    return source_of(Transcript((Message("user", (Text(text),)),), "text"))


@lru_cache(maxsize=8)
def _marked(text: str) -> Source:
    return with_run_marks(_document(text))


def listed_pages(spans: Sequence[tuple[int, int]], tiers: Sequence[str]) -> tuple[tuple[int, int, str], ...]:
    """Half-open span and name of the layout of each page.

    Raises:
        ValueError: not every page has a layout.
    """
    return tuple((start, stop, name) for (start, stop), name in zip(spans, tiers, strict=True))


def stored_count(value: Any) -> int:
    """A count, or an offset, as an archive's JSON has it.

    Raises:
        ValueError: it is none.
    """
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is no number of a message or character")
    return value


def stored_spans(value: Any) -> tuple[tuple[int, int], ...]:
    """Half-open spans as an archive's JSON has them.

    Raises:
        ValueError, TypeError: they are none.
    """
    return tuple((stored_count(start), stored_count(stop)) for start, stop in value)
