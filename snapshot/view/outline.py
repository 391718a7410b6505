"""The outline of a view: what each entry on the pages is, and a few of its words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

from snapshot.source.marks import FIELD, SCOPE
from snapshot.view.content import Kind, PageBlock
from snapshot.view.harmless import in_a_line

__all__ = ["Entry", "entries_of", "snippet"]

_MOST = 90  # characters of a snippet
_HEAD = 200  # characters in which the first line of an entry ends
_SPOKEN: dict[str, Kind] = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "thinking": "thinking",
    "call": "call",
    "result": "result",
    "error": "error",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry on the pages.

    Attributes:
        page: the page on which it starts, by its number in the view.
        offset: where it starts in the page's text.
        head: length of its first line, as far as the page has it.
        kind: who speaks.
        title: its first line without the mark.
        words: a few of its words, in a line.
    """

    page: int
    offset: int
    head: int
    kind: Kind
    title: str
    words: str


def entries_of(pages: Sequence[PageBlock]) -> Iterator[Entry]:
    """The entries that start on pages, in order."""
    for _, group in groupby(pages, key=lambda page: page.stream):
        yield from _entries(list(group))


def _entries(pages: Sequence[PageBlock]) -> Iterator[Entry]:
    """The entries on pages that follow each other; a first line may go on to the next page."""
    text = "".join(page.text for page in pages)
    begins = list(accumulate((len(page.text) for page in pages), initial=0))
    marks = [
        (begin + mark, number)
        for number, (page, begin) in enumerate(zip(pages, begins, strict=False))
        for mark in page.marks
    ]
    stop = len(text)
    found: list[Entry] = []
    following = stop  # the mark behind the one that is looked at
    for at, number in reversed(marks):
        if text[at] == SCOPE:
            newline = text.find("\n", at, at + _HEAD)
            end = newline if newline >= 0 else min(at + _HEAD, len(text))
            if following < len(text) and text[following] == FIELD:
                end = min(end, following)
            title = in_a_line(text[at + 1 : end], _MOST)
            kind = _SPOKEN.get(title.partition(" ")[0], "other")
            head = min(end, begins[number + 1]) - at
            words = snippet(text[end : min(stop, end + 4 * _MOST)])
            found.append(Entry(pages[number].number, at - begins[number], head, kind, title, words))
            stop = at
        following = at
    yield from reversed(found)


def snippet(text: str) -> str:
    """A few words of a text, in a line."""
    return in_a_line(text.lstrip("\n" + FIELD), _MOST)
