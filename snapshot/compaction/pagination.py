"""Which pages a text becomes, within what the request has room for.

At best all of it in the layout's own cells. If that is too much, its oldest part is set in the reader's
denser layout; only where even that is too much is the oldest left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise

from snapshot.errors import LayoutError
from snapshot.pages.layout import Layout, layout_for
from snapshot.pages.render import PageSpan, Typesetter
from snapshot.source.source import Source

__all__ = ["Pagination", "Stretch", "paginate"]

# Where pages have to be left out, so many go that the goal is met, or this share of the room is free: else
# the next request would have to leave out more.
_LEAST_FREE = 0.5
# Shares of the clear pages that become dense, one after the other.
_DENSE_SHARES = (0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Pages of one layout that follow each other; their spans are offsets in the whole source."""

    layout: Layout
    pages: tuple[PageSpan, ...]


@dataclass(frozen=True, slots=True)
class Pagination:
    """The pages to be rendered.

    Attributes:
        stretches: in order of the source.
        left_out: characters at the start of the source that no page shows.
        fits: whether pages and tokens are within what was allowed.
    """

    stretches: tuple[Stretch, ...]
    left_out: int = 0
    fits: bool = True

    @property
    def pages(self) -> tuple[PageSpan, ...]:
        """All pages, in order."""
        return tuple(page for stretch in self.stretches for page in stretch.pages)

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """Half-open span of source text on each page."""
        return tuple((page.start, page.stop) for page in self.pages)

    @property
    def tokens(self) -> int:
        """What the pages cost."""
        return sum(page.tokens for page in self.pages)

    @property
    def dense(self) -> int:
        """Pages of the denser layout."""
        return sum(len(item.pages) for item in self.stretches if item.layout.name.endswith("/dense"))

    @property
    def starts(self) -> tuple[int, ...]:
        """Number (from 0) of the page at which each stretch begins."""
        counts = [len(stretch.pages) for stretch in self.stretches if stretch.pages]
        return tuple(accumulate(counts[:-1], initial=0)) if counts else ()

    @property
    def tiers(self) -> tuple[str, ...]:
        """Name of each page's layout."""
        return tuple(stretch.layout.name for stretch in self.stretches for _ in stretch.pages)

    @classmethod
    def of(
        cls,
        source: Source,
        archive_pages: Sequence[tuple[int, int, str]],
        prices: Sequence[int] = (),
        starts: Sequence[int] = (),
    ) -> Pagination:
        """The pages that an archive lists.

        Args:
            source: the archive's source text.
            archive_pages: span and layout of each page.
            prices: tokens of each; none where the archive does not say: pages that may be partial are
                measured.
            starts: numbers of the pages at which a stretch begins; none: where the layout changes.
        """
        stretches: list[Stretch] = []
        for first, last in pairwise((*_starts(archive_pages, starts), len(archive_pages))):
            own = layout_for(name=archive_pages[first][2])
            spans = [
                PageSpan(start, stop, prices[number] if number < len(prices) else own.tokens)
                for number, (start, stop, _) in enumerate(archive_pages[first:last], first)
            ]
            if not prices:
                spans[-1:] = _measured(source, own, spans[-1].start, spans[-1].stop).pages
            stretches.append(Stretch(own, tuple(spans)))
        return cls(tuple(stretches), archive_pages[0][0] if archive_pages else len(source.text))


def paginate(
    source: Source,
    layout: Layout,
    *,
    most_pages: int,
    most_tokens: int,
    goal_tokens: int | None = None,
    former: Pagination | None = None,
) -> Pagination:
    """The pages of `source` for `layout`'s reader.

    Args:
        source: the text.
        layout: its layout at best legibility.
        most_pages: pages that the request has room for.
        most_tokens: tokens that they may cost.
        goal_tokens: tokens that they should cost: the oldest part becomes denser where that reaches it.
        former: span and layout of each page of an earlier compaction that this one continues; all but the
            last stay as they are, so that the provider's prompt cache holds.
    """
    goal = most_tokens if goal_tokens is None else min(goal_tokens, most_tokens)
    if former is not None and len(former.pages) > 1:
        return _continued(source, layout, former, most_pages=most_pages, most_tokens=most_tokens, goal=goal)
    clear = _measured(source, layout, 0, len(source.text))
    best = Pagination((clear,), fits=_fits((clear,), most_pages, most_tokens))
    if best.fits and best.tokens <= goal:
        return best
    dense = _denser(layout)
    if dense is not None:
        for share in _DENSE_SHARES:
            edge = round(share * len(clear.pages))
            wanted = goal if best.fits else most_tokens
            last = share == _DENSE_SHARES[-1] and not best.fits
            if edge < 1 or not (last or _may_reach(clear, edge, dense, wanted)):
                continue
            older = _measured(source, dense, 0, clear.pages[edge - 1].stop)
            stretches = (older, Stretch(layout, clear.pages[edge:]))
            found = Pagination(stretches, fits=_fits(stretches, most_pages, most_tokens))
            if found.fits and found.tokens <= goal:
                return found
            if not best.fits:
                best = found
    if best.fits:
        return best
    return _without_oldest((best, Pagination((clear,))), most_pages, (_roomy(most_tokens, goal), most_tokens))


def _may_reach(clear: Stretch, edge: int, dense: Layout, goal: int) -> bool:
    """Whether the goal can be met with the first `edge` pages dense; an estimate by what full pages hold."""
    own = clear.layout.capacity / clear.layout.tokens
    older = sum(page.tokens for page in clear.pages[:edge]) * own / (dense.capacity / dense.tokens)
    return older * 0.98 + sum(page.tokens for page in clear.pages[edge:]) <= goal


def _continued(
    source: Source,
    layout: Layout,
    former: Pagination,
    *,
    most_pages: int,
    most_tokens: int,
    goal: int,
) -> Pagination:
    """The full pages of `former`, and what is new in the layout's own cells, or dense where that is too
    much."""
    *before, last = former.stretches
    kept = [*before, Stretch(last.layout, last.pages[:-1])] if len(last.pages) > 1 else before
    start, end = former.pages[0].start, former.pages[-2].stop
    clear = Pagination((*kept, _measured(source, layout, end, len(source.text))), start)
    if _fits(clear.stretches, most_pages, most_tokens) and clear.tokens <= goal:
        return clear
    dense = _denser(layout)
    best = clear
    if dense is not None:
        denser = Pagination((*kept, _measured(source, dense, end, len(source.text))), start)
        if not _fits(clear.stretches, most_pages, most_tokens) or denser.tokens <= goal:
            best = denser
    if _fits(best.stretches, most_pages, most_tokens):
        return best
    return _without_oldest((best, clear), most_pages, (_roomy(most_tokens, goal), most_tokens))


def _roomy(most_tokens: int, goal: int) -> int:
    return max(goal, int(most_tokens * (1 - _LEAST_FREE)))


def _measured(source: Source, layout: Layout, start: int, stop: int) -> Stretch:
    return Stretch(layout, Typesetter(layout).measure(source, start, stop))


def _starts(pages: Sequence[tuple[int, int, str]], starts: Sequence[int]) -> Sequence[int]:
    """Numbers of the pages at which stretches begin: as they are told, else where the layout changes."""
    if starts:
        return starts
    lengths = [len(list(group)) for _, group in groupby(pages, key=lambda page: page[2])]
    return tuple(accumulate(lengths[:-1], initial=0)) if lengths else ()


def _denser(layout: Layout) -> Layout | None:
    try:
        dense = layout_for(name=f"{layout.reader.name}/dense")
    except LayoutError:
        return None
    return dense if dense.name != layout.name else None


def _fits(stretches: tuple[Stretch, ...], most_pages: int, most_tokens: int) -> bool:
    pages = [page for stretch in stretches for page in stretch.pages]
    return len(pages) <= most_pages and sum(page.tokens for page in pages) <= most_tokens


def _without_oldest(choices: Sequence[Pagination], most_pages: int, rooms: Sequence[int]) -> Pagination:
    """The first pagination that has a page in the first room that fits one, the oldest left out."""
    for room in rooms:
        for pagination in choices:
            cut = _newest(pagination, most_pages, room)
            if cut.pages:
                return cut
    return Pagination((), fits=False)


def _newest(pagination: Pagination, most_pages: int, most_tokens: int) -> Pagination:
    """The newest pages that there is room for."""
    pages = pagination.pages
    count, tokens = len(pages), pagination.tokens
    gone = 0
    while gone < count and (count - gone > most_pages or tokens > most_tokens):
        tokens -= pages[gone].tokens
        gone += 1
    left_out = pages[gone - 1].stop if gone else pagination.left_out
    stretches: list[Stretch] = []
    for stretch in pagination.stretches:
        kept = stretch.pages[min(gone, len(stretch.pages)) :]
        gone -= len(stretch.pages) - len(kept)
        if kept:
            stretches.append(Stretch(stretch.layout, kept))
    return Pagination(tuple(stretches), left_out, fits=bool(stretches))
