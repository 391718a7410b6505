"""Which pages show a text: their spans, layouts and prices, before anything is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby, pairwise
from typing import TypeVar

from snapshot.compaction.archived import WORDS, Archived, PagedPart
from snapshot.compaction.page_images import Stretch
from snapshot.errors import LayoutError
from snapshot.pages.layout import Layout, layout_for, layout_ways
from snapshot.pages.render import PageSpan, Typesetter
from snapshot.source.repeats import original_span
from snapshot.source.source import Source

__all__ = ["Pagination", "Stretch", "denser", "measured", "set_anew"]

_A = TypeVar("_A", bound=Archived)
_EMPTY = Source("")


@dataclass(frozen=True, slots=True)
class Pagination:
    """The pages to be rendered.

    Attributes:
        stretches: in order of the source; spans are offsets in `printed`.
        start: offset in the whole source text at which `printed` begins (see `window`). All offsets but those
            of `stretches` and `printed` are of the whole.
        left_out: characters at the start of the source that no page shows; they are not folded.
        fits: whether pages, tokens and bytes are within what was allowed.
        printed: the text that the pages are set of: the source text, or that with references in it.
        sizes: bytes of each page's file; () where nobody had to count them.
        chapters: offsets of source text at which a chapter begins, but for the first: a page begins there,
            and nothing behind refers to what stands before.
    """

    stretches: tuple[Stretch, ...]
    left_out: int = 0
    fits: bool = True
    printed: Source = _EMPTY
    sizes: tuple[int, ...] = ()
    chapters: tuple[int, ...] = ()
    start: int = 0

    @property
    def pages(self) -> tuple[PageSpan, ...]:
        """All pages, in order."""
        return tuple(page for stretch in self.stretches for page in stretch.pages)

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """Half-open span of source text on each page: references are what they stand for."""
        at = self.start
        spans = (original_span(self.printed, page.start, page.stop) for page in self.pages)
        return tuple((start + at, stop + at) for start, stop in spans)

    @property
    def printed_spans(self) -> tuple[tuple[int, int], ...]:
        """Half-open span of `printed` on each page."""
        at = self.start
        return tuple((page.start + at, page.stop + at) for page in self.pages)

    def seen_from(self, start: int) -> Pagination:
        """The same, with offsets of a whole in which `printed` begins at an offset."""
        by = start - self.start
        chapters = tuple(at + by for at in self.chapters)
        return replace(self, left_out=self.left_out + by, chapters=chapters, start=start) if by else self

    @property
    def tokens(self) -> int:
        """What the pages cost."""
        return sum(page.tokens for page in self.pages)

    @property
    def dense(self) -> int:
        """Pages of the denser layout."""
        return sum(len(item.pages) for item in self.stretches if item.layout.name.endswith("dense"))

    @property
    def starts(self) -> tuple[int, ...]:
        """Number (from 0) of the page at which each stretch begins."""
        counts = [len(stretch.pages) for stretch in self.stretches if stretch.pages]
        return tuple(accumulate(counts[:-1], initial=0)) if counts else ()

    @property
    def tiers(self) -> tuple[str, ...]:
        """Name of each page's layout."""
        return tuple(stretch.layout.name for stretch in self.stretches for _ in stretch.pages)

    @property
    def first_reference(self) -> int:
        """Number (from 1) of the first page with a reference to earlier lines; 0 for none."""
        repeats = self.printed.references
        if not repeats:
            return 0
        return next((at for at, page in enumerate(self.pages, 1) if repeats[0].start < page.stop), 0)

    @classmethod
    def of(
        cls,
        source: Source,
        archive_pages: Sequence[tuple[int, int, str]],
        prices: Sequence[int] = (),
        starts: Sequence[int] = (),
        chapters: Sequence[int] = (),
    ) -> Pagination:
        """The pages that an archive lists.

        Args:
            source: the text that they were set of.
            archive_pages: span and layout of each page.
            prices: tokens of each; none where the archive does not say: pages that may be partial are
                measured.
            starts: numbers of the pages at which a stretch begins; none: where the layout changes.
            chapters: offsets of source text at which a chapter begins.
        """
        stretches: list[Stretch] = []
        for first, last in pairwise((*_starts(archive_pages, starts), len(archive_pages))):
            own = layout_for(name=archive_pages[first][2])
            spans = [
                PageSpan(start, stop, prices[number] if number < len(prices) else own.tokens)
                for number, (start, stop, _) in enumerate(archive_pages[first:last], first)
            ]
            if not prices:
                spans[-1:] = measured(source, own, spans[-1].start, spans[-1].stop).pages
            stretches.append(Stretch(own, tuple(spans)))
        left_out = archive_pages[0][0] if archive_pages else len(source.text)
        return cls(tuple(stretches), left_out, printed=source, chapters=tuple(chapters))


def measured(source: Source, layout: Layout, start: int, stop: int) -> Stretch:
    """The pages of a half-open span of a text."""
    return Stretch(layout, Typesetter(layout).measure(source, start, stop))


def set_anew(archive: _A) -> _A:
    """The archive with its pages set as their layouts are now, if those have changed (`Archived.stale`).

    They are other pages, and so are the words that speak of them.
    """
    if not archive.stale:
        return archive
    parts = tuple(_part_anew(part) for part in archive.parts)
    archive = replace(archive, parts=parts, stale=False, words=WORDS)
    if not archive.pages:
        return archive
    pages = _anew(archive.printed, archive.listed, archive.starts)
    return replace(
        archive,
        pages=pages.spans,
        printed_pages=pages.printed_spans if archive.printed_pages else (),
        first_reference=pages.first_reference,
        tiers=pages.tiers,
        prices=tuple(page.tokens for page in pages.pages),
        sizes=(),
        starts=pages.starts,
        ways=layout_ways(pages.tiers),
    )


def _part_anew(part: PagedPart) -> PagedPart:
    if not part.pages:
        return part
    pages = _anew(part.printed, part.listed, part.starts)
    return replace(
        part,
        pages=pages.spans,
        printed_pages=pages.printed_spans if part.printed_pages else (),
        tiers=pages.tiers,
        starts=pages.starts,
    )


def _anew(source: Source, listed: Sequence[tuple[int, int, str]], starts: Sequence[int]) -> Pagination:
    """The text of listed pages in the same layouts, page by page as they are now."""
    edges = (*_starts(listed, starts), len(listed))
    stretches = tuple(
        measured(source, layout_for(name=listed[first][2]), listed[first][0], listed[last - 1][1])
        for first, last in pairwise(edges)
    )
    return Pagination(stretches, listed[0][0], printed=source)


def _starts(pages: Sequence[tuple[int, int, str]], starts: Sequence[int]) -> Sequence[int]:
    """Numbers of the pages at which stretches begin: as they are told, else where the layout changes."""
    if starts:
        return starts
    lengths = [len(list(group)) for _, group in groupby(pages, key=lambda page: page[2])]
    return tuple(accumulate(lengths[:-1], initial=0)) if lengths else ()


def denser(layout: Layout) -> Layout | None:
    """The layout with smaller cells that the oldest pages are set in; None where there is none."""
    own = layout.name.partition("/")[2]
    try:
        dense = layout_for(name=f"{layout.reader.name}/{'columns-dense' if own == 'columns' else 'dense'}")
    except LayoutError:
        return None
    return dense if dense.name != layout.name else None
