"""The third rung: the middle as pages, if that is worth it and there is room for them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from math import ceil
from typing import ClassVar

from snapshot.compaction.archive import Archive
from snapshot.compaction.archived import WORDS
from snapshot.compaction.assemble import archive_messages, left_out_text
from snapshot.compaction.beside import FACTS, Beside, facts_of, live_state, statements_for
from snapshot.compaction.candidate import Candidate, Step
from snapshot.compaction.context import Context
from snapshot.compaction.image_rung import without
from snapshot.compaction.limits import bytes_left, page_room
from snapshot.compaction.page_images import base64_bytes, most_bytes, page_sizes
from snapshot.compaction.paginate import Paginator
from snapshot.compaction.pagination import Pagination
from snapshot.compaction.summary.offline import Digested, digest
from snapshot.compaction.verbatim import fitted
from snapshot.pages.layout import Layout, layout_for, layout_ways
from snapshot.source.run_marks import VERSION

__all__ = ["PageRung"]

# Share of the safe input that an outline of what left view may take.
_OUTLINE = 0.04
_LEAST_OUTLINE = 128
# Share of the safe input that a conversation with pages must have free when it is compacted again.
_FREE = 0.18
# What stands word for word must leave room for this part of a page's rows, or of the safe input where that is
# more.
_LOW = 4
# Bytes of a body that a token of a factsheet takes, and a character of what stands beside the pages, at most;
# and the share of the body that is kept for the factsheet at most.
_BYTES_A_TOKEN, _BYTES_A_CHARACTER, _FACTS_IN_BODY = 6, 6, 0.1


@dataclass(frozen=True, slots=True)
class PageRung:
    """Sets the middle as pages, and parts of head and tail that are larger than the room.

    Attributes:
        layout: name of a layout in place of the model's own.
        reasoning: print what the model thought.
    """

    name: ClassVar[str] = "snapshot"
    layout: str | None = None
    reasoning: bool = False

    def apply(self, candidate: Candidate, goal: int) -> Step:
        """The candidate with pages in place of its middle."""
        context = candidate.context
        if not context.reader.vision and self.layout is None:
            why = "cannot see images" if context.reader.blind else "is not known, so it gets no pages"
            return Step(None, f"{context.model} {why}")
        layout = layout_for(context.model, name=self.layout, like=context.options.like or None)
        whole, given = candidate.tokens, candidate
        candidate = fitted(candidate, _verbatim_room(context, layout), layout)
        if candidate.cut <= context.head:
            if candidate.parts:
                return Step(candidate, f"{len(candidate.parts)} large parts on pages in their place")
            if candidate is not given:
                return Step(candidate, "documents are dropped: there is no room for them")
            return Step(None, "there is nothing between head and tail")
        archive = Archive(
            context.head,
            context.archived[context.head : candidate.cut],
            context.format,
            layout.name,
            reasoning=self.reasoning,
            focus=context.options.focus,
            # What is gone on with keeps its words, so that what was sent stays as it is.
            words=context.former.words if context.former and context.former.pages else WORDS,
        )
        if not archive.source.text:
            return Step(None, "there is nothing between head and tail")
        return self._paged(candidate, archive, layout, goal, whole)

    def _paged(self, candidate: Candidate, archive: Archive, layout: Layout, goal: int, whole: int) -> Step:
        context = candidate.context
        room, dropped = page_room(context, candidate.head, candidate.tail, layout)
        if room <= 0:
            return Step(None, "the provider's limit on images leaves no room for a page")
        if dropped:
            candidate = without(candidate, dropped)
        archive = replace(archive, statements=statements_for(context, archive), ledger=live_state(context))
        candidate = _with_pages(candidate, archive, layout, room, goal)
        if candidate.pagination is None:
            return Step(None, "there is no room for a page")
        pagination = candidate.pagination
        if _too_large(context, pagination):
            return Step(None, "a page has more bytes than the provider takes of an image")
        candidate = _with_facts(candidate, whole)
        if candidate.tokens >= whole:
            pages = candidate.tokens - context.cost((*candidate.head, *candidate.tail))
            text = whole - context.cost((*candidate.head, *candidate.tail))
            return Step(None, f"not worth it: {pages:,} tokens as pages, {text:,} as text")
        break_even = _break_even(context, whole, candidate.tokens)
        cache = context.options.cache
        late = cache is not None and break_even is not None and break_even > cache.turns
        if cache is not None and late and whole <= context.budget.safe:
            why = f"not worth it: pays only after {break_even} requests, {cache.turns} are to come"
            return Step(None, why)
        left = f", {pagination.left_out:,} characters left out" if pagination.left_out else ""
        count = len(pagination.pages)
        note = f"{count} page{'s' * (count != 1)} for {len(archive.source.text):,} characters{left}"
        return Step(replace(candidate, break_even=break_even), note)


def _with_pages(candidate: Candidate, archive: Archive, layout: Layout, room: int, goal: int) -> Candidate:
    """The candidate with pages in its middle's place, in what is safe; no pagination where none fits."""
    context = candidate.context
    former = _pages_to_keep(context.former, layout)
    around = replace(candidate, archive=replace(archive, pages=((0, 0),), tiers=("",)), pagination=None)
    fixed = around.tokens - context.mark_tokens + _facts_room(context)
    most = context.budget.safe - fixed
    source = archive.source
    # Pages from before references were printed go on without.
    repeats = former is None or bool(context.former and context.former.printed_pages)
    runs = repeats if former is None or context.former is None else bool(context.former.runs)
    body = bytes_left(context, around.undrawn)
    if body is not None:
        body -= min(_BYTES_A_TOKEN * _facts_room(context), int(_FACTS_IN_BODY * max(0, body)))

    paginator = Paginator(
        source,
        layout,
        room=max(0, min(room, most // layout.tokens)),
        former=former,
        repeats=repeats,
        runs=runs,
        threads=context.options.threads,
    )

    def paged(most_tokens: int, goal_tokens: int | None, beside: str = "") -> Pagination:
        return paginator.within(
            most_pages=room,
            most_tokens=most_tokens,
            most_bytes=None if body is None else max(0, body - _BYTES_A_CHARACTER * len(beside)),
            goal_tokens=goal_tokens,
        )

    pagination = paged(most, goal - fixed)
    # What the tail has beyond its share goes on pages next time, which gives about half of it back.
    beyond = max(0, context.after[candidate.cut] - context.budget.tail)
    crowded = min(most, int((1 - _FREE) * context.budget.safe) + beyond // 2 - fixed)
    if former is not None and pagination.tokens > crowded > 0:
        # Pages have filled the window: without room, every few requests would be compacted again.
        pagination = paged(crowded, goal - fixed)
    if pagination.left_out:
        # What stands in place of the oldest needs room as well.
        known = context.former if former is not None and former.left_out == pagination.left_out else None
        outline = known.outline if known is not None else _outline(context, archive, pagination)
        archive = replace(archive, outline=outline)
        beside = left_out_text(archive, pagination.left_out)
        line = context.estimator.text(beside)
        if pagination.tokens + line > most or pagination.sizes:
            pagination = paged(most - line, None, beside)
    if not pagination.pages:
        return candidate
    archive = replace(
        archive,
        pages=pagination.spans,
        printed_pages=pagination.printed_spans if repeats else (),
        first_reference=pagination.first_reference,
        runs=VERSION if runs else 0,
        tiers=pagination.tiers,
        prices=tuple(page.tokens for page in pagination.pages),
        sizes=pagination.sizes,
        starts=pagination.starts,
        chapters=pagination.chapters,
        ways=layout_ways(pagination.tiers),
    )
    return replace(candidate, archive=archive, pagination=pagination)


def _too_large(context: Context, pagination: Pagination) -> bool:
    """Whether a page is larger than the provider's limit on a single image. No page of a shipped layout can
    be larger than what its providers allow; a caller's own limit may be anything."""
    most = context.limits.get("image_bytes")
    return most is not None and any(
        most_bytes(stretch.layout) > most
        and any(
            base64_bytes(size) > most
            for size in page_sizes(pagination.printed, stretch, threads=context.options.threads)
        )
        for stretch in pagination.stretches
    )


def _bytes_of(pagination: Pagination) -> int:
    """Bytes of the pages in base64; the most that they can have where nobody had to count them."""
    if pagination.sizes:
        return sum(map(base64_bytes, pagination.sizes))
    return sum(most_bytes(stretch.layout) * len(stretch.pages) for stretch in pagination.stretches)


def _verbatim_room(context: Context, layout: Layout) -> int:
    """Tokens that head and tail may take, so that what is beside the pages and a page have room: a low one
    where the window is small."""
    lead = context.cost(archive_messages(Archive(0, context.messages[:1], "")))
    lead -= context.estimator.overhead
    low = layout.billing.tokens(layout.width, layout.page_height(max(1, layout.rows // _LOW)))
    page = min(layout.tokens, max(low, context.budget.safe // _LOW))
    reserve = lead + _facts_room(context) + page
    least = context.estimator.overhead + sum(context.costs[: context.head]) + context.after[context.last_cut]
    return max(context.budget.safe - reserve, min(context.budget.safe // 2, least))


def _facts_room(context: Context) -> int:
    return int(FACTS * context.budget.goal)


def _with_facts(candidate: Candidate, whole: int) -> Candidate:
    """The candidate with its factsheet, unless that would make it dearer than the text."""
    context, archive = candidate.context, candidate.archive
    assert archive is not None
    room = bytes_left(context, candidate.undrawn)
    if room is not None and candidate.pagination is not None:
        room = max(0, room - _bytes_of(candidate.pagination)) // _BYTES_A_TOKEN
    sheet: Beside = facts_of(context, archive, context.messages[candidate.cut :], most=room)
    if not sheet.text:
        return candidate
    more = replace(
        candidate,
        archive=replace(archive, facts=sheet.text),
        facts=sheet.count,
        facts_left_out=sheet.left_out,
    )
    return (
        more
        if more.tokens < whole
        and more.tokens <= max(candidate.tokens, context.budget.safe)
        and (candidate.over_limits or not more.over_limits)
        else candidate
    )


def _outline(context: Context, archive: Archive, pagination: Pagination) -> str:
    """An outline of the messages that no page shows whole."""
    budget = max(_LEAST_OUTLINE, int(_OUTLINE * context.budget.safe))
    spans, left_out = archive.source.spans, pagination.left_out
    gone = min(
        bisect_left(spans, left_out, key=lambda span: span[0]),
        bisect_right(spans, left_out, key=lambda span: span[1]),
    )
    if not gone:
        return ""
    messages, turn = archive.messages[:gone], context.turn_at(archive.head)
    return digest(
        messages,
        budget=int(budget / context.estimator.scale),
        reader=context.reader,
        first_turn=turn,
        beside=frozenset(item.text for item in archive.statements),
        known=context.history.built(("left view", archive.head, turn), lambda: Digested(turn), messages),
    )


def _pages_to_keep(former: Archive | None, layout: Layout) -> Pagination | None:
    """Pages of an earlier compaction, if they were for the same reader."""
    if former is None or former.layout != layout.name or not former.pages:
        return None
    view = former.in_view
    listed = [(start - view.start, stop - view.start, name) for start, stop, name in former.listed]
    chapters = [at - view.start for at in former.chapters]
    found = Pagination.of(view.source, listed, former.prices, former.starts, chapters)
    return found.seen_from(view.start)


def _break_even(context: Context, before: int, after: int) -> int | None:
    """Requests after which the pages have paid for the cache that they break.

    The next request writes the new prefix into the cache, where the old one would have been read from it;
    each one after that reads a shorter prefix.
    """
    cache = context.options.cache
    if cache is None:
        return None
    cost = after * cache.write - before * cache.read
    saved = (before - after) * cache.read
    return max(1, ceil(cost / saved)) if saved > 0 else 1 << 30
