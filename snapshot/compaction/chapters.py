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
from snapshot.compaction.pagination import Pagination, Stretch, denser
from snapshot.pages.layout import Layout
from snapshot.pages.render import PageSpan, Typesetter
from snapshot.source.repeats import fold_chapters, fold_repeats, folded_offset, original_span
from snapshot.source.source import Source
from snapshot.source.text import beginning_of

__all__ = ["CHAPTERS", "Setter", "without_chapters"]

CHAPTERS = 2
"""A chapter is this part of the pages that there is room for: the smaller, the less leaves at once beyond
what has to, and the more is said again that an earlier chapter has said. Half of the room is freed at a time,
so more parts would gain nothing."""
# What has to stay, as a share of the pages or of their room, and the share of the room that must be free
# where no chapter more can go: else all are set anew instead.
_LEAST_KEPT, _LEAST_MARGIN = 0.3, 0.15
# Characters that are thought to stand on a page before one was set, for each of its cells; and the part of a
# page that is set behind a chapter to see that it ends.
_CHARS, _BEHIND = 1.1, 0.15
# Characters of the source that are folded in one go for a chapter, at least.
_LEAST_REACH = 1 << 16
# Characters for each cell of a denser page, where pages are not set to see whether they have room.
_LEAST_FILLED = 0.95


class Setter:
    """Sets a source text, chapter by chapter. What was set once is known: rooms of any size ask for it.

    Args:
        source: the text.
        repeats: whether references are printed in place of lines that were shown before.
        runs: whether marks are, in place of runs of random characters; only with `repeats`.
        chapter: pages of a chapter; 0: there are none.
    """

    def __init__(self, source: Source, *, repeats: bool, chapter: int, runs: bool = False) -> None:
        self.source, self.repeats, self.chapter, self.runs = source, repeats, chapter, runs
        self._printed: dict[tuple[int, tuple[int, ...]], Source] = {}
        # By name: a reader's layouts have different ones.
        self._typesetters: dict[str, Typesetter] = {}
        self._known: dict[tuple[object, ...], Pagination] = {}
        # Characters that a chapter had of the source, as it was the last time.
        self._reach = 0
        # Characters on a page, as it was the last time.
        self._chars: dict[str, float] = {}

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
        key = *((layout.name, end) for layout, end in plan), left_out
        if key not in self._known:
            self._known[key] = self._set(plan, Pagination((), left_out), left_out, 0)
        return self._known[key]

    def continued(self, former: Pagination, layout: Layout) -> Pagination:
        """The pages of `former` but for the last, and the text behind them."""
        kept = len(former.pages) - 1
        begin = max((former.left_out, *former.chapters))
        filled = sum(begin <= start for start, _ in former.spans[:kept])
        pagination = replace(former, stretches=_first(former.stretches, kept))
        end = former.pages[kept - 1].stop
        return self._set([(layout, len(self.source.text))], pagination, end, filled)

    def measured(self, printed: Source, layout: Layout, start: int, stop: int) -> tuple[PageSpan, ...]:
        """The pages of a half-open span of a printed text."""
        if layout.name not in self._typesetters:
            self._typesetters[layout.name] = Typesetter(layout)
        return self._typesetters[layout.name].measure(printed, start, stop)

    def _set(self, plan: Sequence[tuple[Layout, int]], kept: Pagination, at: int, filled: int) -> Pagination:
        """Pages behind those that are kept.

        Args:
            plan: see `set`.
            kept: pages that stay.
            at: offset of printed text at which they end.
            filled: how many of them are of the last chapter.
        """
        stretches, chapters, left_out = list(kept.stretches), kept.chapters, kept.left_out
        # A chapter is set of its own text, in which what stands before it is not folded.
        start = max((left_out, *chapters))
        alone, length = self._alone(start)
        shift = folded_offset(kept.printed, start) - start if chapters and self.repeats else 0
        at -= shift
        for layout, end in plan:
            while (stop := folded_offset(alone, min(end, length))) > at or length < end:
                pages, edge = self._up_to_edge(alone, layout, at, stop, filled) if stop > at else ((), None)
                if edge is None and length < end:
                    alone, length = self._alone(start, 2 * (length - start))
                    continue
                if edge is None:
                    stretches.append(Stretch(layout, _moved(pages, shift)))
                    at, filled = stop, filled + len(pages)
                    break
                if edge > at:
                    whole = bisect_left(pages, edge, key=lambda page: page.stop) + 1
                    if pages[whole - 1].stop != edge:
                        pages, whole = self.measured(alone, layout, at, edge), None
                    stretches.append(Stretch(layout, _moved(pages[:whole], shift)))
                former, start = start, original_span(alone, edge, edge)[0]
                self._reach = 3 * (start - former) // 2
                chapters = (*chapters, start)
                shift = edge + shift - start if self.repeats else 0
                alone, length = self._alone(start)
                at, filled = start if self.repeats else edge, 0
        printed = self.printed(left_out, chapters)
        return Pagination(tuple(stretches), left_out, printed=printed, chapters=chapters)

    def _alone(self, start: int, reach: int = 0) -> tuple[Source, int]:
        """The text with references to what stands from an offset on, and to nothing before; and up to which
        offset: the end of a message at least `reach` characters further on, or as many as a chapter may have.

        To fold all that follows for each chapter anew would take the square of the time.
        """
        if not self.repeats:
            return self.source, len(self.source.text)
        reach = max(reach, _LEAST_REACH, self._reach)
        part = beginning_of(self.source, start + reach) if self.chapter else self.source
        return fold_repeats(part, visible_from=start, runs=self.runs), len(part.text)

    def _up_to_edge(
        self, printed: Source, layout: Layout, at: int, stop: int, filled: int
    ) -> tuple[tuple[PageSpan, ...], int | None]:
        """The pages from `at` on, to where they tell that the chapter ends, and where that is; to `stop` and
        None where it does not."""
        pages: tuple[PageSpan, ...] = ()
        probe = at
        while True:
            chars = self._chars.get(layout.name, _CHARS * layout.capacity)
            missing = self.chapter - filled - max(0, len(pages) - 1) + _BEHIND
            begin = pages[-1].start if pages else at
            probe = max(begin + int(missing * chars), probe + int(_BEHIND * chars)) if self.chapter else stop
            probe = min(stop, probe)
            pages = self.measured(printed, layout, at, probe)
            if len(pages) > 1:
                self._chars[layout.name] = (pages[-1].start - at) / (len(pages) - 1)
            edge = self._edge(printed, at, pages, filled)
            if edge is not None or probe == stop:
                return pages, edge

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


def _moved(pages: Sequence[PageSpan], by: int) -> tuple[PageSpan, ...]:
    """Pages with their spans so many characters further on."""
    if not by:
        return tuple(pages)
    return tuple(PageSpan(page.start + by, page.stop + by, page.tokens) for page in pages)


def _first(stretches: Sequence[Stretch], number: int) -> tuple[Stretch, ...]:
    """The first pages of stretches."""
    found: list[Stretch] = []
    for stretch in stretches:
        if number > 0:
            found.append(Stretch(stretch.layout, stretch.pages[:number]))
        number -= len(stretch.pages)
    return tuple(found)


def without_chapters(setter: Setter, pagination: Pagination, room: Room, roomy: Room) -> Iterator[Pagination]:
    """The pages without their oldest chapters, as few as leave so much of the room free as `roomy` does; what
    stays is the same byte for byte, or at least but for its older chapters, which are denser.

    Where hardly a page would stay then, it is one chapter more, as long as some room is free; nothing where
    that is no way either.
    """
    fair = room.with_margin(_LEAST_MARGIN)
    best: int | None = None
    least = _LEAST_KEPT * min(pagination.tokens, roomy.tokens)
    for number in range(len(pagination.chapters) + 1):
        # What chapters take is known before they are cut off.
        pages = _pages_from(pagination, number)
        if sum(page.tokens for page in pages) < least:
            break
        if roomy.may_have(pages) and (left := roomy.counted(_from_chapter(setter, pagination, number))).fits:
            yield left
            return
        if _may_be_dense(pagination, number, roomy):
            dense = _with_dense_chapters(setter, _from_chapter(setter, pagination, number))
            if dense is not None and (counted := roomy.counted(dense)).fits:
                yield counted
                return
        if fair.may_have(pages):
            best = number
    if best is not None and (left := fair.counted(_from_chapter(setter, pagination, best))).fits:
        yield left


def _pages_from(pagination: Pagination, number: int) -> Sequence[PageSpan]:
    """The pages of the chapters from one on (from 0)."""
    if not number:
        return pagination.pages
    begin = folded_offset(pagination.printed, pagination.chapters[number - 1])
    return [page for page in pagination.pages if page.start >= begin]


def _may_be_dense(pagination: Pagination, number: int, room: Room) -> bool:
    """Whether the chapters from one on may have room with all but the last denser; by what full pages
    hold."""
    if number >= len(pagination.chapters):
        return False
    dense = denser(pagination.stretches[-1].layout)
    if dense is None:
        return False
    begin = folded_offset(pagination.printed, pagination.chapters[number - 1]) if number else 0
    last = folded_offset(pagination.printed, pagination.chapters[-1])
    older = sum(page.stop - page.start for page in pagination.pages if begin <= page.start < last)
    newest = sum(page.tokens for page in pagination.pages if page.start >= last)
    return _LEAST_FILLED * older / dense.capacity * dense.tokens + newest <= room.tokens


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


def _with_dense_chapters(setter: Setter, pagination: Pagination) -> Pagination | None:
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
    stretches = [
        Stretch(dense, setter.measured(printed, dense, start, stop)) for start, stop in pairwise(edges)
    ]
    stretches += pagination.stretches[len(older) :]
    return replace(pagination, stretches=tuple(stretches), sizes=())
