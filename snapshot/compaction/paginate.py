"""Which pages a text becomes, within what the request has room for.

At best all of it in the layout's own cells. If that is too much, its oldest part is set in the reader's
denser layout; only where even that is too much is the oldest left out. Pages of an earlier compaction stay as
they are, and go chapter by chapter. Room is counted in pages, in tokens, and in bytes of pages as they are
drawn.

What stood before may be said once: pages are then set of the folded text, in which nothing refers to what is
left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import groupby

from snapshot.compaction.chapters import CHAPTERS, Setter, without_chapters
from snapshot.compaction.page_images import base64_bytes, page_sizes
from snapshot.compaction.page_room import Room
from snapshot.compaction.pagination import Pagination, denser
from snapshot.compaction.window import window_at
from snapshot.pages.layout import Layout, layout_for
from snapshot.source.repeats import original_span
from snapshot.source.source import Source

__all__ = ["Paginator", "paginate"]

# Where pages have to go, so many do that this share of the room is free: else the next request would have to
# leave out more; less where there is no room for two pages.
_MARGIN, _LEAST_MARGIN = 0.5, 0.2
# Shares of the clear pages that become dense, one after the other.
_DENSE_SHARES = (0.25, 0.5, 0.75, 1.0)
# Share of a page's characters that a shorter one has to show to be worth an image.
_SHORTEST = 0.1
_TRIES = 8
# Characters in which a line is looked for that such a page can begin with.
_NEAR = 400


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
    runs: bool = False,
    threads: int | None = None,
) -> Pagination:
    """The pages of `source` for `layout`'s reader: the arguments are those of `Paginator` and `within`."""
    # A part of a message has no chapters: it is set once.
    pages = min(most_pages, most_tokens // layout.tokens) if repeats or former is not None else 0
    paginator = Paginator(
        source, layout, room=pages, former=former, repeats=repeats, runs=runs, threads=threads
    )
    return paginator.within(
        most_pages=most_pages, most_tokens=most_tokens, most_bytes=most_bytes, goal_tokens=goal_tokens
    )


class Paginator:
    """The pages of one text for one reader, within rooms of any size: what is set for one serves the others.

    Args:
        source: the text.
        layout: the reader's layout at best legibility.
        room: pages that there is room for, of which a chapter is a part; 0: there are no chapters.
        former: pages of an earlier compaction that these continue; all but the last stay as they are, so
            that the provider's prompt cache holds.
        repeats: print references in place of blocks of lines that were shown before.
        runs: print marks in place of runs of random characters; only with `repeats`.
        threads: pages drawn at once.
    """

    def __init__(
        self,
        source: Source,
        layout: Layout,
        *,
        room: int,
        former: Pagination | None = None,
        repeats: bool = False,
        runs: bool = False,
        threads: int | None = None,
    ) -> None:
        self._layout, self._threads = layout, threads
        # What is set are offsets in the part of the text that the former pages are of.
        self._window = window_at(source, former.start if former is not None else 0)
        self._former = former and former.seen_from(0)
        chapter = max(1, room // CHAPTERS) if room else 0
        self._setter = Setter(self._window.source, repeats=repeats, runs=runs, chapter=chapter)
        # Where there is no room for two pages, all is set anew each time: less is kept free.
        self._margin = _MARGIN if room > 1 else _LEAST_MARGIN

    @cached_property
    def _continued(self) -> Pagination | None:
        """All pages, those of an earlier compaction as they were but for the last; None where there are
        none."""
        former = self._former
        if former is None or len(former.pages) < 2:
            return None
        return self._setter.continued(former, self._layout)

    @cached_property
    def _clear(self) -> Pagination:
        """All that is in view, set in the layout's own cells."""
        start = self._former.left_out if self._former else 0
        return self._setter.set([(self._layout, len(self._setter.source.text))], start)

    def within(
        self,
        *,
        most_pages: int,
        most_tokens: int,
        most_bytes: int | None = None,
        goal_tokens: int | None = None,
    ) -> Pagination:
        """The pages that a room has place for.

        Args:
            most_pages: pages that the request has room for.
            most_tokens: tokens that they may cost.
            most_bytes: bytes that their files may have in base64; None: any.
            goal_tokens: tokens that they should cost: the oldest part becomes denser where that reaches it.
        """
        goal = most_tokens if goal_tokens is None else min(goal_tokens, most_tokens)
        room = Room(most_pages, most_tokens, most_bytes, self._threads)
        return self._within(room, goal).seen_from(self._window.start)

    def _within(self, room: Room, goal: int) -> Pagination:
        setter, former = self._setter, self._former
        roomy = room.with_margin(self._margin)
        continued = self._continued
        if continued is not None:
            if (counted := room.counted(continued)).fits:
                return counted
            for pagination in without_chapters(setter, continued, room, roomy):
                return pagination
        seen = [
            room.counted(pagination)
            for pagination in _until(_settings(setter, self._clear, self._layout, room, goal), room, goal)
        ]
        # What was sent before changes in any case: then it is for more than once.
        fitting = [one for one in seen if one.fits and (former is None or roomy.has(one))]
        if fitting:
            return fitting[-1] if fitting[-1].tokens <= goal else fitting[0]
        first = replace(room, tokens=max(goal, roomy.tokens)) if former is None else roomy
        return _without_oldest(setter, (seen[-1], *seen[:-1][:1]), (first, room))


def _until(tried: Iterator[Pagination], room: Room, goal: int) -> Iterator[Pagination]:
    """What is tried, up to the first that has room and meets the goal."""
    for pagination in tried:
        yield pagination
        if pagination.tokens <= goal and room.counted(pagination).fits:
            return


def _settings(
    setter: Setter, clear: Pagination, layout: Layout, room: Room, goal: int
) -> Iterator[Pagination]:
    """What is in view in the layout's own cells, then more and more of its oldest part denser."""
    yield clear
    fits = room.counted(clear).fits
    dense = denser(layout)
    if dense is None:
        return
    spans = clear.spans
    for share in _DENSE_SHARES:
        edge = round(share * len(spans))
        last = share == _DENSE_SHARES[-1] and not fits
        if edge < 1 or not (last or _may_reach(clear, edge, layout, dense, goal if fits else room.tokens)):
            continue
        found = setter.set([(dense, spans[edge - 1][1]), (layout, len(setter.source.text))], clear.left_out)
        yield found
        fits = fits or room.counted(found).fits


def _may_reach(clear: Pagination, edge: int, layout: Layout, dense: Layout, goal: int) -> bool:
    """Whether the goal can be met with the first `edge` pages dense; an estimate by what full pages hold."""
    own = layout.capacity / layout.tokens
    older = sum(page.tokens for page in clear.pages[:edge]) * own / (dense.capacity / dense.tokens)
    return older * 0.98 + sum(page.tokens for page in clear.pages[edge:]) <= goal


# --- leaving out


def _without_oldest(setter: Setter, choices: Sequence[Pagination], rooms: Sequence[Room]) -> Pagination:
    """The first pagination that has a page in the first room that fits one, the oldest left out; where bytes
    are short, the one that shows most, since denser pages may have more of them for a character.

    What is left of the room is for a shorter page; where no page has room at all, that is the only one.
    """
    for room in rooms:
        best: Pagination | None = None
        for pagination in choices:
            if best is not None and room.surely(pagination):
                break
            cut = _newest(setter, pagination, room)
            if cut.pages:
                found = _with_shorter_page(setter, pagination, cut, room)
                best = found if best is None or found.left_out < best.left_out else best
        if best is not None:
            return best
    source = setter.source
    nothing = Pagination((), len(source.text), fits=False, printed=source)
    for pagination in choices:
        found = _with_shorter_page(setter, pagination, nothing, rooms[-1])
        if found.pages:
            return found
    return nothing


def _newest(setter: Setter, pagination: Pagination, room: Room) -> Pagination:
    """The newest pages that there is room for, set anew where they would refer to what is left out."""
    source = setter.source
    cut = room.newest(pagination)
    if not setter.repeats:
        return cut
    for _ in range(_TRIES):
        if not cut.pages or cut.left_out == pagination.left_out:
            return cut
        # With more of it said in full there may be room for less.
        visible_from = original_span(cut.printed, cut.left_out, cut.left_out)[0]
        pagination = _set_anew(setter, cut, visible_from)
        cut = room.newest(pagination)
    return Pagination((), len(source.text), fits=False, printed=source)


def _set_anew(
    setter: Setter, pagination: Pagination, visible_from: int, *, lead: Layout | None = None
) -> Pagination:
    """The pages of a pagination with no reference to what stands before `visible_from`, the first character
    that they show; and what stands between it and them in the layout `lead`.
    """
    plan: list[tuple[Layout, int]] = []
    for layout, group in groupby(pagination.stretches, key=lambda stretch: stretch.layout):
        *_, last = group
        plan.append((layout, original_span(pagination.printed, last.pages[-1].stop, last.pages[-1].stop)[0]))
    if lead is not None:
        plan.insert(0, (lead, pagination.left_out))
    return setter.set(plan, visible_from)


def _with_shorter_page(setter: Setter, pagination: Pagination, cut: Pagination, room: Room) -> Pagination:
    """The pages of `cut`, led by a shorter one with as much of what they leave out as there is room for.

    Args:
        setter: sets the text.
        pagination: all pages.
        cut: the newest ones; its `left_out` counts source text.
        room: what they may take together.
    """
    source = setter.source
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
        led = room.counted(_set_anew(setter, cut, begin, lead=layout))
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
