"""Exact strings of a source text and their uses: when the text grows, only what is new is looked at."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager

import numpy as np
from numpy.typing import NDArray

from snapshot.facts.everyday import is_hyphened, news_in, places_of_number
from snapshot.facts.forms import LONG_NUMBER
from snapshot.facts.patterns import Finder, Places, look
from snapshot.facts.use import Uses
from snapshot.source.marks import ELIDED
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

    Args:
        names: whether names count that consist of words; without them the whole text is looked at.

    Attributes:
        source: the text.
        finder: its exact strings, and where they stand.
        uses: what occurrences are worth.
        news: of each place, the share of the string's worth that is left as a model may spell it right
            without being told; 0 where it stands for nothing (a number of a line, a size told by us).
        fresh: of each place, whether the string counts there, which it does once in an entry.
        traits: what is known of each string by itself.
    """

    def __init__(self, *, names: bool = True) -> None:
        self.source = Source("")
        self._names = names
        self._clear()

    def _clear(self) -> None:
        self.uses, self.finder, self.traits = Uses(), Finder(names=self._names), _Traits()
        self.news, self.fresh = np.zeros(0), np.zeros(0, bool)

    def follow(self, source: Source) -> None:
        """Look at what is new in a source that begins with the one before."""
        if source is self.source:
            return
        text, known = source.text, len(self.source.text)
        first = _first(source) if self._names else 0
        if known < first:  # nothing of what is known counts any longer
            self._clear()
            known = first
            self.finder.skip(first)
        inside = _elided(source, known)
        for start, stop in _pieces(source, known):
            new = self.finder.feed(text[start:stop])
            low, high = bisect_left(source.marks, start), bisect_left(source.marks, stop)
            self.uses.feed(text, start, stop, source.marks[low:high])
            self.traits.follow(self.finder.texts)
            self._judge(text, new, inside)
        self.finder.forget(first)
        self.traits.follow(self.finder.texts)
        gone = len(self.news) - len(self.finder.places.offsets)
        self.news, self.fresh = self.news[gone:].copy(), self.fresh[gone:].copy()
        self.uses.weigh(first)
        self.source = source

    def _judge(self, text: str, new: Places, inside: NDArray[np.int64]) -> None:
        """What each of the new places stands for."""
        offsets, numbers = new.offsets, new.numbers
        news = self.traits.news[numbers]
        if len(inside):
            before = np.searchsorted(inside[:, 0], offsets, "right") - 1
            news[(before >= 0) & (offsets < inside[before, 1])] = 0
        # A number of a line is another after the next edit.
        at = np.flatnonzero(self.traits.short[numbers])
        counted = set(places_of_number(text, offsets[at].tolist()))
        news[[place for place, offset in zip(at.tolist(), offsets[at].tolist(), strict=True)
              if offset not in counted]] = 0  # fmt: skip
        for place in np.flatnonzero(self.traits.hyphened[numbers] & (news > 0)).tolist():
            news[place] = news_in(self.finder.texts[int(numbers[place])], text, (int(offsets[place]),))
        alive = np.flatnonzero(news > 0)
        fresh = np.zeros(len(news), bool)
        fresh[alive[self.uses.once(offsets[alive], numbers[alive])]] = True
        self.news, self.fresh = np.concatenate((self.news, news)), np.concatenate((self.fresh, fresh))

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


class _Traits:
    """What is known of each string by itself, by its number.

    Attributes:
        sizes: its characters.
        looks: the same number for all that look alike.
        news: the share of its worth that is left where it stands as a word among others.
        short: whether it may be the number of a line.
        hyphened: whether it may be a word of a language, unless it stands as code has it.
    """

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._numbers: dict[str, int] = {}
        self.sizes = self.looks = np.zeros(0, np.int64)
        self.news, self.short, self.hyphened = np.zeros(0), np.zeros(0, bool), np.zeros(0, bool)

    def follow(self, texts: list[str]) -> None:
        """Take in the strings that are new in a list; all of them, where it is another list."""
        if texts is not self._texts:
            self.__init__()
            self._texts = texts
        new = texts[len(self.sizes) :]
        if not new:
            return
        looks = [self._numbers.setdefault(look(text), len(self._numbers)) for text in new]
        self.sizes = np.concatenate((self.sizes, [len(text) for text in new]))
        self.looks = np.concatenate((self.looks, looks))
        self.news = np.concatenate((self.news, [news_in(text, "", ()) for text in new]))
        short = [len(text) < LONG_NUMBER and text.isdigit() for text in new]
        self.short = np.concatenate((self.short, short))
        self.hyphened = np.concatenate((self.hyphened, [is_hyphened(text) for text in new]))


def _elided(source: Source, known: int) -> NDArray[np.int64]:
    """Half-open spans from one ✂ to the next, from an offset on, as rows: the sizes there are ours."""
    low = bisect_left(source.elisions, known, key=lambda item: item.offset)
    starts = [item.offset for item in source.elisions[low:]]
    spans = [(at, max(at, source.text.find(ELIDED, at + 1))) for at in starts]
    return np.array(spans, np.int64).reshape(-1, 2)


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
