"""Exact strings of a source text and their uses: when the text grows, only what is new is looked at."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager

from snapshot.facts.patterns import Fact, Finder
from snapshot.facts.use import Uses
from snapshot.source.source import Source
from snapshot.source.text import whole_messages

__all__ = ["Survey", "forget", "survey_of"]

# Characters at the end of a text that are looked at: what stands before them hardly counts, by its age.
_NEWEST = 1 << 21
# Characters that are looked at in one go: bounds memory.
_AT_ONCE = 1 << 18
# Texts that were looked at lately and are kept; those of so few characters are not worth it.
_MOST, _FEW = 4, 1 << 13


class Survey:
    """The exact strings of a source text, and what occurrences of them are worth.

    Of a text of more than 2 million characters it is that of the newest ones, from the start of a message on.

    Attributes:
        source: the text.
        facts: its exact strings, names among them, in no certain order.
        uses: what occurrences are worth.
    """

    def __init__(self) -> None:
        self.source = Source("")
        self.facts: list[Fact] = []
        self.uses = Uses()
        self._finder = Finder(names=True)

    def follow(self, source: Source) -> None:
        """Look at what is new in a source that begins with the one before."""
        if source is self.source:
            return
        text, known = source.text, len(self.source.text)
        first = _first(source)
        if known < first:  # nothing of what is known counts any longer
            self.uses, self._finder = Uses(), Finder(names=True)
            known = first
            self._finder.skip(first)
        for start, stop in _pieces(source, known):
            self._finder.feed(text[start:stop])
            low, high = bisect_left(source.marks, start), bisect_left(source.marks, stop)
            self.uses.feed(text, start, stop, source.marks[low:high])
        self.facts = self._finder.some(first)
        self.uses.weigh(first)
        self.source = source

    def leads_to(self, source: Source) -> bool:
        """Whether a source goes on with an entry where this one ended."""
        own = self.source.text
        at = len(own)
        if source is self.source or not at:
            return True
        if source.lineage is not None and source.lineage is self.source.lineage:
            return len(source.text) >= at
        if not own.endswith("\n") or not source.text.startswith(own):
            return False
        place = bisect_left(source.marks, at)
        ended = at == len(source.text)
        return source.marks[: len(self.source.marks)] == self.source.marks and (
            ended or (place < len(source.marks) and source.marks[place] == at)
        )


def _first(source: Source) -> int:
    """Offset from which on a text is looked at."""
    wanted = len(source.text) - _NEWEST
    if wanted <= 0:
        return 0
    at = bisect_left(source.spans, wanted, key=lambda span: span[0])
    return source.spans[at][0] if at < len(source.spans) else 0


def _pieces(source: Source, start: int) -> list[tuple[int, int]]:
    """Half-open spans of text from an offset on, each of whole messages."""
    length = len(source.text)
    if not source.marks:  # a document, not a conversation
        return [(start, length)] if start < length else []
    return list(whole_messages(source, start, _AT_ONCE))


class _Lately:
    """The last texts that were looked at; one is one call's alone while it is in use."""

    def __init__(self) -> None:
        self._known: list[Survey] = []  # the newest last
        self._lock = threading.Lock()

    @contextmanager
    def of(self, source: Source) -> Generator[Survey]:
        survey = Survey()
        worth_it = len(source.text) >= _FEW
        if worth_it:
            with self._lock:
                known = next((one for one in reversed(self._known) if one.leads_to(source)), None)
                if known is not None:
                    self._known.remove(known)
                    survey = known
        survey.follow(source)
        yield survey
        if worth_it:
            with self._lock:
                self._known = [*self._known, survey][-_MOST:]


_lately = _Lately()


def forget() -> None:
    """Forget what was looked at lately."""
    _lately.__init__()


def survey_of(source: Source) -> AbstractContextManager[Survey]:
    """A look at a source; at one that goes on from a source before, only at what is new."""
    return _lately.of(source)
