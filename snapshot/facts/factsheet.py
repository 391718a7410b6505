"""The factsheet: exact strings that are likely to be needed and that a vision model misreads, as text.

`find` knows them by their form. The sheet takes what its budget has room for, what matters first
(`ranking`). What the request has as text already is not said again, nor what stands whole in a longer string
of the sheet.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from snapshot.facts.patterns import Fact, find, parts_of
from snapshot.facts.ranking import Ranked, ranking_of
from snapshot.models.tokens import Pieces, most_tokens, text_tokens
from snapshot.source.source import Source, strict_text

if TYPE_CHECKING:
    from snapshot.models.profile import ModelProfile

__all__ = ["Fact", "Factsheet", "factsheet", "find", "ranked_facts"]

_HEAD = (
    "Exact strings, spelled as they are (pN: on the Nth image). "
    "Where a page looks different, trust this list."
)
_HEAD_UNPAGED = "Exact strings, spelled as they are."
_NO_PAGE = "no page"
# Pages that a line names; more are a plus sign.
_PAGES = 3
# A single string may take this share of the budget, so that one long URL does not displace fifty hashes.
_SHARE = 4


@dataclass(frozen=True, slots=True)
class Factsheet:
    """Exact strings as text.

    Attributes:
        text: what travels beside the pages; "" where there is nothing to say or no room.
        facts: what is in it, in order of importance.
        left_out: strings that would have deserved a place but found no room.
        tokens: estimated tokens of `text`.
    """

    text: str
    facts: tuple[Fact, ...]
    left_out: int
    tokens: int


def factsheet(
    source: Source,
    pages: Sequence[tuple[int, int]],
    *,
    tail: str | Sequence[str],
    budget: int,
    reader: ModelProfile,
    keep: Sequence[str] = (),
    referred: Sequence[tuple[int, int]] = (),
    exclude: Iterable[str] = (),
) -> Factsheet:
    """The factsheet of `source`.

    Args:
        source: the source text that the pages were made of.
        pages: half-open spans of source text, in order, page 1 first. A string that stands on none of
            them (its stretch was left out) is listed under "no page". Empty: there are no pages.
        tail: what the request has as text besides, such as the verbatim end of the conversation, as one text
            or in pieces. What stands there is left out; but of look-alikes both are listed, since each is
            taken for the other.
        budget: estimated tokens that the sheet may take.
        reader: whose tokens they are.
        keep: strings that come first, whatever they look like, in the order given. Those that the budget
            has no room for are left out and counted, as everything is.
        referred: half-open spans of source text, in order, that a page does not show but refers to: a string
            is told to stand where it is shown.
        exclude: strings that are listed elsewhere, if at all.
    """
    kept = [strict_text(text)[0] for text in dict.fromkeys(keep) if text]
    ranking = ranking_of(source, (tail,) if isinstance(tail, str) else tail, exclude={*kept, *exclude})
    ranked = [Ranked(text, "named", -1) for text in kept] + ranking.items

    def places(item: Ranked) -> tuple[int, ...]:
        return _occurrences(source.text, item.text) if item.kind == "named" else ranking.offsets(item)

    # What is too long for its share goes behind everything else, in the same order.
    share = max(1, budget // _SHARE)
    # What so many characters cost at most answers for most strings without counting.
    sure = bisect_right(range(1, 1 + 100 * share), share, key=lambda chars: most_tokens(chars, reader))
    long = (fact for fact in ranked if len(fact.text) > sure and fact.kind != "named")
    far = [fact for fact in long if text_tokens(fact.text, reader) > share]
    if far:
        behind = {id(fact) for fact in far}
        ranked = [*(fact for fact in ranked if id(fact) not in behind), *far]
    ranked = _without_parts(ranked)
    head = _HEAD if pages else _HEAD_UNPAGED
    labels = _Labels(pages, referred, places)
    size = _Size(head, labels, budget, reader)
    count = size.count(ranked)
    # What stands in a string that came later made room for others.
    inner = _told_by(ranked[:count])
    chosen = [fact for fact in ranked[:count] if fact.text not in inner or fact.kind == "named"]
    rest = [fact for fact in ranked[count:] if fact.text not in inner]
    ranked = chosen + rest
    count = size.count(ranked)
    text = _print(head, ranked[:count], labels)
    facts = tuple(Fact(item.text, item.kind, places(item)) for item in ranked[:count])
    return Factsheet(text, facts, len(ranked) - count, text_tokens(text, reader) if text else 0)


def _at_most(budget: int, reader: ModelProfile) -> int:
    """How many strings a sheet has room for at most: one takes three characters, with what parts it."""
    return int(budget * reader.chars_per_token / 3) + 1 if budget > 0 else 0


class _Size:
    """How many facts have room: tokens of what `_print` gives, counted fact by fact."""

    def __init__(self, head: str, labels: _Labels, budget: int, reader: ModelProfile) -> None:
        self._labels, self._most = labels, _at_most(budget, reader)
        self._pieces = pieces = Pieces(reader)
        # Hundredths of a token: of the head with the newline behind it, and all that there is room for.
        self._head, self._room = pieces.inside(head) + pieces.between(head[-1], "\n"), pieces.room(budget)
        self._end_of_head = head[-1]
        # Of each line by itself, and each text within a line, with a newline behind it.
        self._lines: dict[str, int] = {}
        self._texts: dict[str, int] = {}

    def count(self, ranked: Sequence[Ranked]) -> int:
        """How many of the facts have room. Each makes the text dearer, so the first without room ends it."""
        between, total = self._pieces.between, self._head
        ends: dict[str, str] = {}  # last characters of lines with labels
        end, last = self._end_of_head, ""
        most = ranked[: self._most]
        for number, fact in enumerate(most):
            line, label = self._labels.line(fact)
            before = ends.get(label)
            if line or before is None:
                total += self._line(line or f"{label}: " * bool(label) + fact.text)
            else:
                total += between(before, ",") - between(before, "\n") + self._text(fact.text)
            if line:
                end = line[-1]
            else:
                ends[label] = fact.text[-1]
                last = label if before is None else last
            if total - between(ends[last] if ends else end, "\n") > self._room:
                return number
        return len(most)

    def _line(self, line: str) -> int:
        known = self._lines.get(line)
        if known is None:
            pieces = self._pieces
            known = pieces.between("\n", line[0]) + pieces.inside(line) + pieces.between(line[-1], "\n")
            self._lines[line] = known
        return known

    def _text(self, text: str) -> int:
        known = self._texts.get(text)
        if known is None:
            pieces = self._pieces
            known = pieces.between(",", " ") + pieces.between(" ", text[0])
            known += pieces.inside(text) + pieces.between(text[-1], "\n")
            self._texts[text] = known
        return known


def ranked_facts(source: Source, *, names: bool = True) -> list[Fact]:
    """The exact strings of the source that deserve a place beside its pages, the most important first.

    Args:
        source: the text on the pages.
        names: whether names count that consist of words.
    """
    return ranking_of(source, names=names).facts()


def _without_parts(facts: Sequence[Ranked]) -> list[Ranked]:
    """The facts without those that stand in one that comes before them: `self.pool` tells `pool` as well."""
    kept: list[Ranked] = []
    told: set[str] = set()
    for fact in facts:
        if fact.text not in told or fact.kind == "named":
            kept.append(fact)
            told |= parts_of(fact.text)
    return kept


def _told_by(facts: Sequence[Ranked]) -> set[str]:
    return {part for fact in facts for part in parts_of(fact.text)}


def _occurrences(text: str, wanted: str) -> tuple[int, ...]:
    found: list[int] = []
    at = text.find(wanted)
    while at >= 0:
        found.append(at)
        at = text.find(wanted, at + len(wanted))
    return tuple(found)


class _Labels:
    """The label of each fact, made when it is asked for."""

    def __init__(
        self,
        pages: Sequence[tuple[int, int]],
        referred: Sequence[tuple[int, int]],
        places: Callable[[Ranked], tuple[int, ...]],
    ) -> None:
        self._places = places
        self._pages, self._starts = pages, [start for start, _ in pages]
        self._referred, self._refers = referred, [start for start, _ in referred]
        self._known: dict[str, tuple[str, str]] = {}

    def line(self, fact: Ranked) -> tuple[str, str]:
        """The line that a fact stands on by itself, or "", and else its label: it shares a line with others.

        What has a comma, or would break a line, which only a caller's own does, stands alone; the latter in
        quotes.
        """
        known = self._known.get(fact.text)
        if known is None:
            label, text = self._label(fact), fact.text
            if len(text.splitlines()) > 1 or text != text.strip():
                known = f"{label}: " * bool(label) + json.dumps(text, ensure_ascii=False), label
            elif ", " in text:
                known = f"{label}: " * bool(label) + text, label
            else:
                known = "", label
            self._known[fact.text] = known
        return known

    def _label(self, fact: Ranked) -> str:
        """The pages that a fact stands on, the last ones if they are many: `p2`, `p1,3-4`, `p7,8,9+`.

        Of a name, which stands in many places, it is the last page alone.
        """
        pages, starts = self._pages, self._starts
        if not pages:
            return ""
        found: dict[int, str] = {}
        over: dict[int, str] = {}  # places over the edge of a page, named where there is none beside
        low = len(starts)  # the page that was told last: others on it say no more
        for at in reversed(self._places(fact)):
            if (low < len(starts) and at >= starts[low]) or (self._refers and self._is_referred(at)):
                continue
            first = bisect_right(starts, at) - 1
            if first < 0:
                break
            if at >= pages[first][1]:
                continue
            # A string over the edge of a page begins on one and ends on the next.
            last = max(first, bisect_right(starts, at + len(fact.text) - 1) - 1)
            if first == last:
                found[first + 1] = f"{first + 1}"
                low = first
            else:
                over.setdefault(first + 1, f"{first + 1}-{last + 1}")
            if len(found) > _PAGES or fact.kind == "name":
                break
        found = found or over
        if not found:
            return _NO_PAGE
        named = sorted(sorted(found)[-_PAGES:])
        return "p" + ",".join(found[number] for number in named) + ("+" if len(found) > _PAGES else "")

    def _is_referred(self, at: int) -> bool:
        number = bisect_right(self._refers, at) - 1
        return number >= 0 and at < self._referred[number][1]


def _print(head: str, facts: Sequence[Ranked], labels: _Labels) -> str:
    """One line for each set of pages, in order of the first fact on it."""
    lines: dict[str, list[str]] = {}
    alone: list[str] = []
    for fact in facts:
        line, label = labels.line(fact)
        if line:
            alone.append(line)
        else:
            lines.setdefault(label, []).append(fact.text)
    body = [f"{label}: " * bool(label) + ", ".join(texts) for label, texts in lines.items()]
    return "\n".join([head, *alone, *body]) if facts else ""
