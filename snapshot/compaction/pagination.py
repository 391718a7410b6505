"""Which pages a text becomes, within what the request has room for.

At best all of it in the layout's own cells. If that is too much, its oldest part is set in the reader's
denser layout; only where even that is too much is the oldest left out. Room is counted in pages, in tokens,
and in bytes of pages as they are drawn.

What stood before may be said once: pages are then set of the folded text, in which nothing refers to what is
left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby, pairwise
from typing import TypeVar

from snapshot.compaction.archived import WORDS, Archived, PagedPart
from snapshot.compaction.page_images import Stretch, base64_bytes, most_bytes, page_sizes
from snapshot.errors import LayoutError
from snapshot.pages.layout import Layout, layout_for, layout_ways
from snapshot.pages.render import PageSpan, Typesetter
from snapshot.source.repeats import fold_repeats, folded_offset, original_span
from snapshot.source.source import Source

__all__ = ["Pagination", "Stretch", "denser", "paginate", "set_anew"]

_A = TypeVar("_A", bound=Archived)

# Where pages have to be left out, so many go that the goal is met, or this share of the room is free: else
# the next request would have to leave out more.
_LEAST_FREE = 0.5
# Shares of the clear pages that become dense, one after the other.
_DENSE_SHARES = (0.25, 0.5, 0.75, 1.0)
# Pages of a stretch that are drawn to estimate the bytes of all.
_SAMPLE = 6
# Pages whose bytes are counted at once where the oldest may have to go.
_AT_ONCE = 8
# Share of a page's characters that a shorter one has to show to be worth an image.
_SHORTEST = 0.1
_TRIES = 8
# Characters in which a line is looked for that such a page can begin with.
_NEAR = 400
_EMPTY = Source("")


@dataclass(frozen=True, slots=True)
class Pagination:
    """The pages to be rendered.

    Attributes:
        stretches: in order of the source; spans are offsets in `printed`.
        left_out: characters at the start of the source that no page shows; they are not folded.
        fits: whether pages, tokens and bytes are within what was allowed.
        printed: the text that the pages are set of: the source text, or that with references in it.
        sizes: bytes of each page's file; () where nobody had to count them.
    """

    stretches: tuple[Stretch, ...]
    left_out: int = 0
    fits: bool = True
    printed: Source = _EMPTY
    sizes: tuple[int, ...] = ()

    @property
    def pages(self) -> tuple[PageSpan, ...]:
        """All pages, in order."""
        return tuple(page for stretch in self.stretches for page in stretch.pages)

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """Half-open span of source text on each page: references are what they stand for."""
        return tuple(original_span(self.printed, page.start, page.stop) for page in self.pages)

    @property
    def printed_spans(self) -> tuple[tuple[int, int], ...]:
        """Half-open span of `printed` on each page."""
        return tuple((page.start, page.stop) for page in self.pages)

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
        repeats = self.printed.repeats
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
    ) -> Pagination:
        """The pages that an archive lists.

        Args:
            source: the text that they were set of.
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
        left_out = archive_pages[0][0] if archive_pages else len(source.text)
        return cls(tuple(stretches), left_out, printed=source)


@dataclass(frozen=True, slots=True)
class _Room:
    """What the pages may take: their number, tokens, and bytes in base64 (None: as many as they have)."""

    pages: int
    tokens: int
    bytes: int | None
    threads: int | None

    def has(self, pagination: Pagination) -> bool:
        """Whether there is room for a pagination, its bytes estimated by a few of its pages."""
        pages = pagination.pages
        if len(pages) > self.pages or sum(page.tokens for page in pages) > self.tokens:
            return False
        return self.surely(pagination) or self._estimate(pagination) <= (self.bytes or 0)

    def counted(self, pagination: Pagination) -> Pagination:
        """The pagination, its pages counted and drawn where it matters; `fits` says whether there is room."""
        if not self.has(pagination):
            return replace(pagination, fits=False)
        if self.surely(pagination):
            return pagination
        sizes: list[int] = []
        for stretch in pagination.stretches:
            sizes += page_sizes(pagination.printed, stretch, threads=self.threads)
        fits = sum(map(base64_bytes, sizes)) <= (self.bytes or 0)
        return replace(pagination, sizes=tuple(sizes), fits=fits)

    def left(self, pagination: Pagination) -> int | None:
        """The bytes that are left beside a pagination; None where they need not be counted."""
        if self.bytes is None:
            return None
        if not pagination.sizes:
            return self.bytes - sum(self._sizes(pagination, weighed=True))
        return self.bytes - sum(map(base64_bytes, pagination.sizes))

    def newest(self, pagination: Pagination) -> Pagination:
        """The newest pages that there is room for."""
        pages = pagination.pages
        room, tokens, kept = self.bytes, 0, 0
        weighed = room is not None and not self.surely(pagination)
        for page, size in zip(reversed(pages), self._sizes(pagination, weighed=weighed), strict=True):
            tokens += page.tokens
            room = room - size if weighed and room is not None else room
            if kept == self.pages or tokens > self.tokens or (room is not None and room < 0):
                break
            kept += 1
        gone = len(pages) - kept
        if not gone:
            return replace(pagination, fits=True)
        left_out = pages[gone - 1].stop
        stretches: list[Stretch] = []
        for stretch in pagination.stretches:
            rest = stretch.pages[min(gone, len(stretch.pages)) :]
            gone -= len(stretch.pages) - len(rest)
            if rest:
                stretches.append(Stretch(stretch.layout, rest))
        return Pagination(tuple(stretches), left_out, fits=bool(stretches), printed=pagination.printed)

    def surely(self, pagination: Pagination) -> bool:
        """Whether the bytes have room whatever the pages show."""
        if self.bytes is None:
            return True
        return sum(most_bytes(one.layout) * len(one.pages) for one in pagination.stretches) <= self.bytes

    def _estimate(self, pagination: Pagination) -> int:
        total = 0.0
        for stretch in pagination.stretches:
            count = len(stretch.pages)
            picked = sorted({(2 * number + 1) * count // (2 * _SAMPLE) for number in range(_SAMPLE)})
            drawn = [
                base64_bytes(size)
                for number in picked
                for size in page_sizes(pagination.printed, stretch, number, number + 1, threads=1)
            ]
            total += sum(drawn) / max(1, len(drawn)) * count
        return int(total)

    def _sizes(self, pagination: Pagination, *, weighed: bool) -> Iterator[int]:
        """The bytes of each page in base64, the newest first, drawn as they are asked for."""
        for stretch in reversed(pagination.stretches):
            count = len(stretch.pages)
            if not weighed:
                yield from (0 for _ in range(count))
                continue
            for last in range(count, 0, -_AT_ONCE):
                first = max(0, last - _AT_ONCE)
                sizes = page_sizes(pagination.printed, stretch, first, last, threads=self.threads)
                yield from (base64_bytes(size) for size in reversed(sizes))


def paginate(
    source: Source,
    layout: Layout,
    *,
    most_pages: int,
    most_tokens: int,
    most_bytes: int | None = None,
    goal_tokens: int | None = None,
    former: Pagination | None = None,
    repeats: bool = False,
    threads: int | None = None,
) -> Pagination:
    """The pages of `source` for `layout`'s reader.

    Args:
        source: the text.
        layout: its layout at best legibility.
        most_pages: pages that the request has room for.
        most_tokens: tokens that they may cost.
        most_bytes: bytes that their files may have in base64; None: any.
        goal_tokens: tokens that they should cost: the oldest part becomes denser where that reaches it.
        former: pages of an earlier compaction that this one continues; all but the last stay as they are, so
            that the provider's prompt cache holds.
        repeats: print references in place of blocks of lines that were shown before.
        threads: pages drawn at once.
    """
    goal = most_tokens if goal_tokens is None else min(goal_tokens, most_tokens)
    room = _Room(most_pages, most_tokens, most_bytes, threads)
    ways = [_settings(source, layout, room, goal, former.left_out if former else 0, repeats=repeats)]
    if former is not None and len(former.pages) > 1:
        # Where its pages have no room as they are, denser ones come before leaving out: both end the cache.
        # Where even these have none, its newest pages stay.
        ways.insert(0, _continuations(source, layout, former, repeats=repeats))
    choices: tuple[Pagination, ...] = ()
    for tried in ways:
        seen = [room.counted(pagination) for pagination in _until(tried, room, goal)]
        choices = choices or (seen[-1], *seen[:-1][:1])
        fitting = [pagination for pagination in seen if pagination.fits]
        if fitting:
            return fitting[-1] if fitting[-1].tokens <= goal else fitting[0]
    roomy = max(goal, int(most_tokens * (1 - _LEAST_FREE)))
    rooms = (replace(room, tokens=roomy), room)
    return _without_oldest(source, choices, rooms, repeats=repeats)


def _until(tried: Iterator[Pagination], room: _Room, goal: int) -> Iterator[Pagination]:
    """What is tried, up to the first that has room and meets the goal."""
    for pagination in tried:
        yield pagination
        if pagination.tokens <= goal and room.counted(pagination).fits:
            return


def _settings(
    source: Source, layout: Layout, room: _Room, goal: int, start: int, *, repeats: bool
) -> Iterator[Pagination]:
    """The source from `start` on in the layout's own cells, then more and more of its oldest part denser."""
    printed = fold_repeats(source, visible_from=start) if repeats else source
    clear = _measured(printed, layout, start, len(printed.text))
    best = Pagination((clear,), start, printed=printed)
    yield best
    fits = room.counted(best).fits
    dense = denser(layout)
    if dense is None:
        return
    for share in _DENSE_SHARES:
        edge = round(share * len(clear.pages))
        last = share == _DENSE_SHARES[-1] and not fits
        if edge < 1 or not (last or _may_reach(clear, edge, dense, goal if fits else room.tokens)):
            continue
        older = _measured(printed, dense, start, clear.pages[edge - 1].stop)
        rest = (Stretch(layout, clear.pages[edge:]),) if edge < len(clear.pages) else ()
        found = Pagination((older, *rest), start, printed=printed)
        yield found
        fits = fits or room.counted(found).fits


def _may_reach(clear: Stretch, edge: int, dense: Layout, goal: int) -> bool:
    """Whether the goal can be met with the first `edge` pages dense; an estimate by what full pages hold."""
    own = clear.layout.capacity / clear.layout.tokens
    older = sum(page.tokens for page in clear.pages[:edge]) * own / (dense.capacity / dense.tokens)
    return older * 0.98 + sum(page.tokens for page in clear.pages[edge:]) <= goal


def _continuations(
    source: Source, layout: Layout, former: Pagination, *, repeats: bool
) -> Iterator[Pagination]:
    """The full pages of `former`, and what is new in the layout's own cells, then denser."""
    *before, last = former.stretches
    kept = [*before, Stretch(last.layout, last.pages[:-1])] if len(last.pages) > 1 else before
    printed = fold_repeats(source, visible_from=former.left_out) if repeats else source
    end = former.pages[-2].stop
    for own in (layout, denser(layout)):
        if own is not None:
            new = _measured(printed, own, end, len(printed.text))
            yield Pagination((*kept, new), former.left_out, printed=printed)


def _measured(source: Source, layout: Layout, start: int, stop: int) -> Stretch:
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
    listed = tuple((*span, name) for span, name in zip(part.pages, part.tiers, strict=True))
    pages = _anew(part.source, listed, part.starts)
    return replace(part, pages=pages.spans, tiers=pages.tiers, starts=pages.starts)


def _anew(source: Source, listed: Sequence[tuple[int, int, str]], starts: Sequence[int]) -> Pagination:
    """The text of listed pages in the same layouts, page by page as they are now."""
    edges = (*_starts(listed, starts), len(listed))
    stretches = tuple(
        _measured(source, layout_for(name=listed[first][2]), listed[first][0], listed[last - 1][1])
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


# --- leaving out


def _without_oldest(
    source: Source, choices: Sequence[Pagination], rooms: Sequence[_Room], *, repeats: bool
) -> Pagination:
    """The first pagination that has a page in the first room that fits one, the oldest left out; where bytes
    are short, the one that shows most, since denser pages may have more of them for a character.

    What is left of the room is for a shorter page; where no page has room at all, that is the only one.
    """
    for room in rooms:
        best: Pagination | None = None
        for pagination in choices:
            if best is not None and room.surely(pagination):
                break
            cut = _newest(source, pagination, room, repeats=repeats)
            if cut.pages:
                found = _with_shorter_page(source, pagination, cut, room, repeats=repeats)
                best = found if best is None or found.left_out < best.left_out else best
        if best is not None:
            return best
    nothing = Pagination((), len(source.text), fits=False, printed=source)
    for pagination in choices:
        found = _with_shorter_page(source, pagination, nothing, rooms[-1], repeats=repeats)
        if found.pages:
            return found
    return nothing


def _newest(source: Source, pagination: Pagination, room: _Room, *, repeats: bool) -> Pagination:
    """The newest pages that there is room for, set anew where they would refer to what is left out."""
    cut = room.newest(pagination)
    if not repeats:
        return cut
    for _ in range(_TRIES):
        if not cut.pages or cut.left_out == pagination.left_out:
            return cut
        # With more of it said in full there may be room for less.
        visible_from = original_span(cut.printed, cut.left_out, cut.left_out)[0]
        pagination = _set_anew(source, cut, visible_from, repeats=repeats)
        cut = room.newest(pagination)
    return Pagination((), len(source.text), fits=False, printed=source)


def _set_anew(
    source: Source, pagination: Pagination, visible_from: int, *, repeats: bool, lead: Layout | None = None
) -> Pagination:
    """The stretches of a pagination with no reference to what stands before `visible_from`, the first
    character that they show; and what stands between it and them as a stretch of the layout `lead`.
    """
    printed = fold_repeats(source, visible_from=visible_from) if repeats else source
    plan = [(one.layout, one.pages[-1].stop) for one in pagination.stretches]
    ends = [original_span(pagination.printed, stop, stop)[0] for _, stop in plan]
    layouts = [layout for layout, _ in plan]
    if lead is not None:
        layouts, ends = [lead, *layouts], [pagination.left_out, *ends]
    stretches: list[Stretch] = []
    start = visible_from
    for layout, end in zip(layouts, ends, strict=True):
        stop = folded_offset(printed, end)
        if stop > start:
            stretches.append(_measured(printed, layout, start, stop))
            start = stop
    return Pagination(tuple(stretches), visible_from, printed=printed)


def _with_shorter_page(
    source: Source, pagination: Pagination, cut: Pagination, room: _Room, *, repeats: bool
) -> Pagination:
    """The pages of `cut`, led by a shorter one with as much of what they leave out as there is room for.

    Args:
        source: the source text.
        pagination: all pages.
        cut: the newest ones; its `left_out` counts source text.
        room: what they may take together.
        repeats: see `paginate`.
    """
    spans, edge = pagination.spans, cut.left_out
    number = next((at for at in range(len(spans) - 1, -1, -1) if spans[at][0] < edge), None)
    if number is None or len(cut.pages) >= room.pages:
        return cut
    layout = layout_for(name=pagination.tiers[number])
    share = _share_with_room(layout, room.tokens - cut.tokens)
    bytes_left = room.left(cut)
    chars = edge - spans[number][0]
    for _ in range(_TRIES):
        if share < _SHORTEST:
            break
        begin = _line_start(source.text, edge - int(chars * share), edge)
        led = room.counted(_set_anew(source, cut, begin, repeats=repeats, lead=layout))
        if led.fits:
            return led
        ratio = 0.9
        if bytes_left is not None:
            size = sum(map(base64_bytes, page_sizes(led.printed, led.stretches[0], threads=room.threads)))
            ratio = 0.97 * bytes_left / size if size > bytes_left else ratio
        share *= ratio
    return cut


def _share_with_room(layout: Layout, tokens: int) -> float:
    """Share of a full page's rows that so many tokens have room for."""

    def price(rows: int) -> int:
        return layout.billing.tokens(layout.width, layout.page_height(rows))

    rows = layout.rows
    while rows and price(rows) > tokens:
        rows -= 1
    return rows / layout.rows


def _line_start(text: str, at: int, end: int) -> int:
    """The start of the first line that begins at `at` or behind it; `at` itself where none does soon."""
    found = text.find("\n", max(0, at - 1), min(end, at + _NEAR))
    return found + 1 if 0 <= found < end - 1 else at
