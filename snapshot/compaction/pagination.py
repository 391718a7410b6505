"""Which pages the middle becomes, within what the request has room for.

At best all of it in the layout's own cells. If that is too many pages or tokens, the middle of the middle is
set in the reader's denser layout and the edges stay clear. Only then is the oldest left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from snapshot.errors import LayoutError
from snapshot.pages.layout import Layout, layout_for
from snapshot.pages.render import Page, PageSpan, Typesetter
from snapshot.source.source import Source

__all__ = ["Pagination", "paginate"]


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
    def tokens(self) -> int:
        """What the pages cost."""
        return sum(page.tokens for page in self.pages)

    @property
    def dense(self) -> int:
        """Pages of the denser layout."""
        return sum(len(item.pages) for item in self.stretches if item.layout.name.endswith("/dense"))

    @property
    def tiers(self) -> tuple[str, ...]:
        """Name of each page's layout."""
        return tuple(stretch.layout.name for stretch in self.stretches for _ in stretch.pages)

    def render(self, source: Source, *, threads: int | None = None) -> Iterator[Page]:
        """Draw the pages, in order."""
        for stretch in self.stretches:
            if stretch.pages:
                yield from Typesetter(stretch.layout).pages(
                    source, start=stretch.pages[0].start, stop=stretch.pages[-1].stop, threads=threads
                )


def paginate(
    source: Source,
    layout: Layout,
    *,
    most_pages: int,
    most_tokens: int,
    leave_out: bool,
    former: Sequence[tuple[int, int, str]] = (),
) -> Pagination:
    """The pages of `source` for `layout`'s reader.

    Args:
        source: the middle.
        layout: its layout at best legibility.
        most_pages: pages that the request has room for.
        most_tokens: tokens that they may cost.
        leave_out: leave out the oldest pages if nothing else makes them fit.
        former: span and layout of each page of an earlier compaction that this one continues; all but the
            last stay as they are, so that the provider's prompt cache holds.
    """
    clear = _measured(source, layout, 0, len(source.text))
    if _fits((clear,), most_pages, most_tokens) and all(name == layout.name for _, _, name in former):
        return Pagination((clear,))
    best = Pagination((clear,), fits=False)
    dense = _denser(layout)
    if len(former) > 1:
        best = _continued(source, layout, former, most_pages=most_pages, most_tokens=most_tokens)
    elif dense is not None and len(clear.pages) > 2:
        edge = len(clear.pages) // 4
        while edge >= 1:
            first, last = clear.pages[:edge], clear.pages[-edge:]
            inner = _measured(source, dense, first[-1].stop, last[0].start)
            stretches = (Stretch(layout, first), inner, Stretch(layout, last))
            best = Pagination(stretches, fits=_fits(stretches, most_pages, most_tokens))
            if best.fits:
                return best
            edge //= 2
    return _without_oldest(best, most_pages, most_tokens) if leave_out else best


def _continued(
    source: Source,
    layout: Layout,
    former: Sequence[tuple[int, int, str]],
    *,
    most_pages: int,
    most_tokens: int,
) -> Pagination:
    """The full pages of `former`, and what is new in the layout's own cells if that fits, else dense."""
    kept: list[Stretch] = []
    for name, group in groupby(former[:-1], key=lambda page: page[2]):
        own = layout if name == layout.name else layout_for(name=name)
        pages = tuple(PageSpan(start, stop, own.tokens) for start, stop, _ in group)
        kept.append(Stretch(own, pages))
    start, end = former[0][0], former[-2][1]
    best: Pagination | None = None
    for tier in (layout, _denser(layout)):
        if tier is not None:
            stretches = (*kept, _measured(source, tier, end, len(source.text)))
            best = Pagination(stretches, start, _fits(stretches, most_pages, most_tokens))
            if best.fits:
                break
    assert best is not None
    return best


def _measured(source: Source, layout: Layout, start: int, stop: int) -> Stretch:
    return Stretch(layout, Typesetter(layout).measure(source, start, stop))


def _denser(layout: Layout) -> Layout | None:
    try:
        dense = layout_for(name=f"{layout.reader.name}/dense")
    except LayoutError:
        return None
    return dense if dense.name != layout.name else None


def _fits(stretches: tuple[Stretch, ...], most_pages: int, most_tokens: int) -> bool:
    pages = [page for stretch in stretches for page in stretch.pages]
    return len(pages) <= most_pages and sum(page.tokens for page in pages) <= most_tokens


def _without_oldest(pagination: Pagination, most_pages: int, most_tokens: int) -> Pagination:
    pages = pagination.pages
    count, tokens = len(pages), pagination.tokens
    gone = 0
    while gone < count and (count - gone > most_pages or tokens > most_tokens):
        tokens -= pages[gone].tokens
        gone += 1
    left_out = pages[gone - 1].stop if gone else pagination.left_out
    stretches = []
    for stretch in pagination.stretches:
        kept = stretch.pages[min(gone, len(stretch.pages)) :]
        gone -= len(stretch.pages) - len(kept)
        if kept:
            stretches.append(Stretch(stretch.layout, kept))
    return Pagination(tuple(stretches), left_out, True)
