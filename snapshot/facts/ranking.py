"""Which exact strings of a source text deserve a place beside its pages, the most important first.

How likely a string is needed next (`use`), weighed by how badly models misread its kind (of hexadecimal
digits most readers get none right at small cells, and what they give instead is plausible), for the tokens it
takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from snapshot.facts.patterns import KINDS, Fact, Kind, strings_in
from snapshot.facts.survey import Survey, survey_of
from snapshot.source.source import Source

__all__ = ["Ranked", "Ranking", "ranking", "ranking_of"]

# How badly a kind is misread: random characters give no context to correct by, numbers a little, paths and
# hosts consist of words, names are words altogether.
_RISK: dict[Kind, float] = {
    "named": 9.0,
    "hash": 2.0, "uuid": 2.0, "identifier": 1.8, "ip": 1.6, "url": 1.4, "path": 1.5, "mail": 1.4,
    "version": 1.0, "number": 0.3, "host": 1.0, "time": 0.2, "name": 1.0,
}  # fmt: skip
_RISKS = np.array([_RISK[kind] for kind in KINDS])
_NAME = KINDS.index("name")
# What a string is worth more that has a look-alike in the same text, and if one of the two is spoken of.
_TWIN, _TWIN_ASKED = 2.0, 8.0
# Tokens of separator and page that each string takes beside its own.
_AROUND = 2.0


class Ranked(NamedTuple):
    """A string in a ranking: what it is, and its number there; -1 where it is a caller's own."""

    text: str
    kind: Kind
    number: int


class Ranking:
    """Exact strings by importance.

    Args:
        items: all that deserve a place, the most important first.
        offsets: all places of the survey that count, ascending.
        numbers: of the string that stands there.
        size: strings of the survey.
    """

    def __init__(
        self, items: list[Ranked], offsets: NDArray[np.int64], numbers: NDArray[np.int64], size: int
    ) -> None:
        self.items = items
        # String by string; small numbers are sorted in linear time.
        order = np.argsort(numbers.astype(np.min_scalar_type(size)), kind="stable")
        self._offsets = offsets[order]
        self._stops = np.cumsum(np.bincount(numbers, minlength=size)).tolist()

    def offsets(self, item: Ranked) -> tuple[int, ...]:
        """Where a string stands in the text, ascending."""
        start = self._stops[item.number - 1] if item.number else 0
        return tuple(self._offsets[start : self._stops[item.number]].tolist())

    def facts(self) -> list[Fact]:
        """All of them, with their places."""
        return [Fact(item.text, item.kind, self.offsets(item)) for item in self.items]


def ranking_of(
    source: Source, tail: Sequence[str] = (), *, exclude: Iterable[str] = (), names: bool = True
) -> Ranking:
    """The strings of the source that deserve a place beside its pages.

    Args:
        source: the text on the pages.
        tail: texts that stand beside them: what is in them is left out.
        exclude: strings that are listed already.
        names: whether names count that consist of words.
    """
    there = frozenset[str]().union(*map(strings_in, tail))
    if names:
        with survey_of(source) as survey:
            return ranking(survey, there, exclude)
    survey = Survey(names=False)
    survey.follow(source)
    return ranking(survey, there, exclude, names=False)


def ranking(
    survey: Survey, there: Iterable[str] = (), exclude: Iterable[str] = (), *, names: bool = True
) -> Ranking:
    """The strings of a survey that deserve a place; `there` are those that stand beside the pages."""
    numbers, texts, traits = survey.finder.numbers, survey.finder.texts, survey.traits
    size, kinds = len(texts), survey.finder.kinds()

    def among(strings: Iterable[str]) -> NDArray[np.bool_]:
        found = np.zeros(size, bool)
        found[[numbers[text] for text in strings if text in numbers]] = True
        return found

    counted = survey.news > 0
    offsets, places = survey.finder.places.offsets[counted], survey.finder.places.numbers[counted]
    news, last = np.zeros(size), np.full(size, -1)
    np.maximum.at(news, places, survey.news[counted])
    last[places] = offsets  # of several, the last one stays
    listed = (last >= 0) & ~among(exclude)
    spelled = listed & (kinds != _NAME)
    if not names:
        listed = spelled
    looks, beside = traits.looks, among(there)
    alike = spelled & (np.bincount(looks[spelled], minlength=size)[looks] > 1)
    asked = np.isin(looks, looks[alike & beside])
    twin = np.where(alike, np.where(asked, _TWIN_ASKED, _TWIN), 1.0)
    chosen = np.flatnonzero(listed & (alike | ~beside))
    fresh = survey.fresh[counted]
    worth = survey.uses.scores(offsets[fresh], places[fresh], numbers)
    worth *= _RISKS[kinds] * twin
    worth /= np.sqrt(traits.sizes / 3 + _AROUND)
    worth *= news
    # Of equals the one that stood last, and of these by the alphabet.
    names_of = [texts[at] for at in chosen.tolist()]
    keys = zip((-worth[chosen]).tolist(), (-last[chosen]).tolist(), names_of, chosen.tolist(), strict=True)
    order = np.array([at for *_, at in sorted(keys)], np.int64)
    items = [
        Ranked(texts[at], KINDS[kind], at)
        for at, kind in zip(order.tolist(), kinds[order].tolist(), strict=True)
    ]
    return Ranking(items, offsets, places, size)
