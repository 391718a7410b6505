"""Chapters: runs of pages that do not refer to what stands before them.

A page may say "as 80 lines up" of what an older page shows, so the oldest pages could not leave without a
change to others. Nothing refers from one chapter to another: the oldest leave whole, and those that stay are
the same, byte for byte.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from snapshot.compaction.page_room import Room
from snapshot.compaction.pagination import Pagination, Stretch, denser, measured
from snapshot.pages.layout import Layout
from snapshot.pages.render import PageSpan, Typesetter
from snapshot.source.repeats import fold_chapters, folded_offset, original_span
from snapshot.source.source import Source

__all__ = ["CHAPTERS", "Setter", "without_chapters"]

CHAPTERS = 3
"""A chapter is this part of the pages that there is room for."""
# The share of the pages that must stay, and of the room that must be free where no chapter more can go: else
# all are set anew instead.
_LEAST_KEPT, _LEAST_MARGIN = 0.3, 0.15
# Characters that are set to see where a chapter ends, for each cell of its pages and one more.
_PROBE = 1.1


class Setter:
    """Sets a source text, chapter by chapter.

    Args:
        source: the text.
        repeats: whether references are printed in place of lines that were shown before.
        runs: whether marks are, in place of runs of random characters; only with `repeats`.
        chapter: pages of a chapter; 0: there are none.
    """

    def __init__(self, source: Source, *, repeats: bool, chapter: int, runs: bool = False) -> None:
        self.source, self.repeats, self.chapter, self.runs = source, repeats, chapter, runs
        self._printed: dict[tuple[int, tuple[int, ...]], Source] = {}

    def printed(self, visible_from: int, chapters: tuple[int, ...] = ()) -> Source:
        """The text that is printed, without references to what stands before `visible_from`, or before the
        chapter that they stand in."""
        if not self.repeats:
            return self.source
        key = visible_from, chapters
        if key not in self._printed:
            self._printed[key] = fold_chapters(self.source, (visible_from, *chapters), runs=self.runs)
        return self._printed[key]

    def set(self, plan: Sequence[tuple[Layout, int]], left_out: int) -> Pagination:
        """The text from `left_out` on.

        Args:
            plan: layouts, each with the offset of source text up to which it goes.
            left_out: the first character that is shown.
        """
        return self._set(plan, Pagination((), left_out), left_out, 0)

    def continued(self, former: Pagination, layout: Layout) -> Pagination:
        """The pages of `former` but for the last, and the text behind them."""
        *before, last = former.stretches
        kept = (*before, Stretch(last.layout, last.pages[:-1])) if len(last.pages) > 1 else tuple(before)
        begin = max((former.left_out, *former.chapters))
        filled = sum(begin <= start for start, _ in former.spans[:-1])
        end = former.pages[-2].stop
        return self._set([(layout, len(self.source.text))], replace(former, stretches=kept), end, filled)

    def _set(self, plan: Sequence[tuple[Layout, int]], kept: Pagination, at: int, filled: int) -> Pagination:
        """Pages behind those that are kept.

        Args:
            plan: see `set`.
            kept: pages that stay; what they are printed of is not looked at.
            at: offset of printed text at which they end.
            filled: how many of them are of the last chapter.
        """
        stretches, chapters, left_out = list(kept.stretches), kept.chapters, kept.left_out
        printed = self.printed(left_out, chapters)
        for layout, end in plan:
            while (stop := folded_offset(printed, end)) > at:
                # A look at no more than the chapter may hold tells whether it ends.
                probe = at + int(_PROBE * layout.capacity * (max(0, self.chapter - filled) + 1))
                pages = Typesetter(layout).measure(printed, at, min(stop, probe))
                edge = self._edge(printed, at, pages, filled)
                if edge is None and probe < stop:
                    pages = Typesetter(layout).measure(printed, at, stop)
                    edge = self._edge(printed, at, pages, filled)
                if edge is None:
                    stretches.append(Stretch(layout, pages))
                    at, filled = stop, filled + len(pages)
                    break
                if edge > at:
                    stretches.append(measured(printed, layout, at, edge))
                chapters = (*chapters, original_span(printed, edge, edge)[0])
                printed = self.printed(left_out, chapters)
                at, filled = edge, 0
        return Pagination(tuple(stretches), left_out, printed=printed, chapters=chapters)

    def _edge(self, printed: Source, at: int, pages: Sequence[PageSpan], filled: int) -> int | None:
        """Where the chapter ends that goes on at `at`, and the next one begins; None: behind these pages, or
        not at all. No reference is cut in two."""
        if not self.chapter or filled + len(pages) <= self.chapter:
            return None
        if filled >= self.chapter and _outside(printed, at) == at:
            return at
        edge = _outside(printed, pages[max(self.chapter - filled, 1) - 1].stop)
        return edge if at < edge < pages[-1].stop else None


def _outside(printed: Source, offset: int) -> int:
    """The offset itself, or the start of the reference that it is in the middle of."""
    repeats = printed.repeats
    place = bisect_left(repeats, offset, key=lambda repeat: repeat.start) - 1
    return repeats[place].start if place >= 0 and offset < repeats[place].stop else offset


def without_chapters(setter: Setter, pagination: Pagination, room: Room, roomy: Room) -> Iterator[Pagination]:
    """The pages without their oldest chapters, as few as leave so much of the room free as `roomy` does; what
    stays is the same byte for byte, or at least but for its older chapters, which are denser.

    Where hardly a page would stay then, it is one chapter more, as long as some room is free; nothing where
    that is no way either.
    """
    fair = room.with_margin(_LEAST_MARGIN)
    best: Pagination | None = None
    for number in range(len(pagination.chapters) + 1):
        left = _from_chapter(setter, pagination, number)
        if left.tokens < _LEAST_KEPT * pagination.tokens:
            break
        for tried in (left, _with_dense_chapters(left)):
            if tried is not None and tried.tokens <= roomy.tokens and (counted := roomy.counted(tried)).fits:
                yield counted
                return
        if (counted := fair.counted(left)).fits:
            best = counted
    if best is not None:
        yield best


def _from_chapter(setter: Setter, pagination: Pagination, number: int) -> Pagination:
    """The pages from a chapter on (from 0): the same ones, of the text that is printed without the others."""
    if not number:
        return pagination
    border, rest = pagination.chapters[number - 1], pagination.chapters[number:]
    begin = folded_offset(pagination.printed, border)
    stretches: list[Stretch] = []
    for stretch in pagination.stretches:
        pages = tuple(
            PageSpan(page.start - begin + border, page.stop - begin + border, page.tokens)
            for page in stretch.pages
            if page.start >= begin
        )
        if pages:
            stretches.append(Stretch(stretch.layout, pages))
    return Pagination(tuple(stretches), border, printed=setter.printed(border, rest), chapters=rest)


def _with_dense_chapters(pagination: Pagination) -> Pagination | None:
    """The pages with all chapters but the last in the denser layout; None where there is none, or they are
    so already."""
    if not pagination.chapters:
        return None
    printed = pagination.printed
    edges = [folded_offset(printed, offset) for offset in (pagination.left_out, *pagination.chapters)]
    dense = denser(pagination.stretches[-1].layout)
    older = [stretch for stretch in pagination.stretches if stretch.pages[0].start < edges[-1]]
    if dense is None or all(stretch.layout.name == dense.name for stretch in older):
        return None
    stretches = [measured(printed, dense, start, stop) for start, stop in pairwise(edges)]
    stretches += pagination.stretches[len(older) :]
    return replace(pagination, stretches=tuple(stretches), sizes=())
