"""The snapshot rung: the middle as pages, if that is worth it and there is room for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

from snapshot.compaction import elide_rung
from snapshot.compaction.archive import Archive
from snapshot.compaction.assemble import FACTS_LEAD, SHORT, Statement, archive_message, statements_of
from snapshot.compaction.context import Context
from snapshot.compaction.pagination import Pagination, paginate
from snapshot.compaction.summary.kept_fields import resources_of
from snapshot.facts.factsheet import Factsheet, factsheet
from snapshot.messages import Image, Message, Text, ToolResult
from snapshot.pages.layout import Layout, layout_for
from snapshot.pages.render import Page

__all__ = ["Snapshot", "body_bytes", "image_parts", "images_over", "over_limits", "project", "take_snapshot"]

# Shares of the goal that the user's own words and the factsheet may take beside the pages.
_STATEMENTS, _FACTS = 0.15, 0.05
# A drawn page takes about a quarter of its raw bits; what is reckoned with is more.
_BYTES_PER_BIT = 0.4 / 8
_BITS = 2
_NO_FACTS = Factsheet("", (), 0, 0)
# Of a provider's limit on the body and on images, what is used.
_MARGIN = 20


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A middle to be set as pages.

    Attributes:
        archive: the middle.
        pagination: its pages, measured and not yet drawn.
        statements: the user's words that stay beside them.
        facts: the factsheet.
        after: estimated tokens of the request.
        dropped: images to be dropped from the tail, so that the request may have pages at all.
        break_even: requests after which it pays, counting the cache; None if not asked.
    """

    archive: Archive
    pagination: Pagination
    statements: tuple[Statement, ...]
    facts: Factsheet
    after: int
    dropped: int = 0
    break_even: int | None = None

    def messages(self, job: Context) -> tuple[Message, ...]:
        """The conversation to send; draws the pages."""
        pages: list[Page] = []
        for page in self.pagination.render(self.archive.source, threads=job.options.threads):
            pages.append(page)
            if job.options.progress is not None:
                job.options.progress(len(pages), len(self.archive.pages))
        message = archive_message(
            pages,
            self.archive.pages,
            self.statements,
            left_out=self.pagination.left_out,
            facts=self.facts.text,
            focus=job.options.focus,
            detail=job.reader.detail,
            reasoning=job.options.reasoning,
        )
        head = self.archive.head
        rest = _lighter((*job.messages[:head], *job.messages[self.archive.boundary :]), head, self.dropped)
        return (*rest[:head], message, *rest[head:])


def take_snapshot(job: Context, goal: int) -> tuple[Snapshot | None, str]:
    """The snapshot with the longest tail that is within the goal, or else the nearest to it; and what it is.

    Where there is none, the reason why.
    """
    layout = layout_for(job.model, name=job.options.layout)
    best: Snapshot | None = None
    why = "there is nothing between head and tail"
    seen: set[int] = set()
    for share in (1.0, 0.5, 0.25, 0.0):
        cut = job.cuts(int(job.capacity.tail * share))
        if cut in seen or cut <= job.head:
            continue
        seen.add(cut)
        found, reason = _at(job, layout, cut, goal)
        if found is None:
            why = reason
            continue
        if best is None or _worse(best, goal) > _worse(found, goal):
            best = found
        if _worse(found, goal) == (0, 0):
            break
    if best is None:
        return None, why
    best = _with_facts(job, best)
    pagination = best.pagination
    left = f", {pagination.left_out:,} characters left out" if pagination.left_out else ""
    return best, f"{len(pagination.pages)} pages for {len(best.archive.source.text):,} characters{left}"


def project(job: Context) -> Snapshot | None:
    """The conversation as an earlier compaction has it, its boundary where it was; None if there is none."""
    if job.former is None or not job.former.pages:
        return None
    layout = layout_for(name=job.former.layout)
    found, _ = _at(job, layout, job.former.boundary, job.capacity.goal)
    return _with_facts(job, found) if found is not None else None


def _worse(snapshot: Snapshot, goal: int) -> tuple[int, int]:
    """What speaks against a snapshot: first what it leaves out, then by how much it misses the goal."""
    return snapshot.pagination.left_out, max(0, snapshot.after - goal)


def _at(job: Context, layout: Layout, cut: int, goal: int) -> tuple[Snapshot | None, str]:
    """The snapshot with the tail starting at message `cut`."""
    middle = job.archived[job.head : cut]
    archive = Archive(job.head, middle, job.format, layout.name, reasoning=job.options.reasoning)
    source = archive.source
    if not source.text:
        return None, "there is nothing between head and tail"
    head, tail = job.messages[: job.head], job.messages[cut:]
    statements = _statements(job, archive, goal)
    limits = {**job.reader.limits, **job.options.limits}
    room, dropped = _room(limits, (*head, *tail), layout)
    if room <= 0:
        return None, "the provider's limit on images leaves no room for a page"
    rest = _lighter((*head, *tail), job.head, dropped)

    def without_pages(left_out: int, said: Sequence[Statement] = statements) -> int:
        """What all of the request but its pages and its factsheet takes."""
        focus, reasoning = job.options.focus, job.options.reasoning
        around = archive_message(
            (), (), said, left_out=left_out, facts="", focus=focus, detail="", reasoning=reasoning
        )
        return job.cost((around, *rest))

    facts_budget = int(_FACTS * job.capacity.goal) + job.estimator.text(FACTS_LEAD)
    pagination = paginate(
        source,
        layout,
        most_pages=room,
        most_tokens=max(0, job.capacity.safe - without_pages(len(source.text)) - facts_budget),
        leave_out=job.options.summarize is None,
        former=_pages_to_keep(job.former, layout),
    )
    spans = tuple((page.start, page.stop) for page in pagination.pages)
    archive = replace(archive, pages=spans, tiers=pagination.tiers)
    if not spans:
        return None, "there is no room for a page"
    after = without_pages(pagination.left_out) + pagination.tokens
    before = job.cost(job.messages)
    if after >= before:
        pages, text = after - without_pages(0, ()), before - job.cost((*head, *tail))
        return None, f"not worth it: {pages:,} tokens as pages, {text:,} as text"
    break_even = _break_even(job, before, after)
    cache = job.options.cache
    if (
        cache is not None
        and break_even is not None
        and break_even > cache.turns
        and before <= job.capacity.safe
    ):
        return None, f"not worth it: pays only after {break_even} requests, {cache.turns} are to come"
    return Snapshot(archive, pagination, statements, _NO_FACTS, after, dropped, break_even), ""


def _with_facts(job: Context, snapshot: Snapshot) -> Snapshot:
    """The snapshot with its factsheet, unless that would make it dearer than the text."""
    archive = snapshot.archive
    facts = factsheet(
        archive.source,
        archive.pages,
        tail="\n".join(_words(job.messages[archive.boundary :])),
        budget=int(_FACTS * job.capacity.goal / job.estimator.scale),
        reader=job.reader,
        keep=[value for _, value in resources_of(archive.messages, job.options.keep_fields)],
    )
    after = snapshot.after + (job.estimator.text(FACTS_LEAD + facts.text) if facts.text else 0)
    if after >= job.cost(job.messages):
        return snapshot
    return replace(snapshot, facts=facts, after=after)


def _pages_to_keep(former: Archive | None, layout: Layout) -> tuple[tuple[int, int, str], ...]:
    """Pages of an earlier compaction, if they were for the same reader."""
    if former is None or not former.pages or former.layout != layout.name:
        return ()
    return tuple((start, stop, name) for (start, stop), name in zip(former.pages, former.tiers, strict=True))


def _statements(job: Context, archive: Archive, goal: int) -> tuple[Statement, ...]:
    """The user's words in the middle, the newest first as far as there is room; short ones always."""
    turn = 1 + sum(message.role == "user" for message in job.messages[: archive.head])
    pins = frozenset(pin - archive.head for pin in job.options.pins)
    found = statements_of(archive.messages, archive.source.spans, first_turn=turn, pins=pins)
    room = int(_STATEMENTS * max(goal, job.capacity.goal))
    kept: list[Statement] = []
    for item in reversed(found):
        cost = job.estimator.text(item.text)
        if len(item.text) <= SHORT or "pinned" in item.label or cost <= room:
            kept.append(item)
            room -= cost
    return tuple(reversed(kept))


def images_over(job: Context, messages: Sequence[Message]) -> int:
    """How many of the oldest images must go for the provider's limits on images and on the body."""
    limits = {**job.reader.limits, **job.options.limits}
    images = image_parts(messages)
    count, body = limits.get("images_per_request"), limits.get("request_bytes")
    over = 0 if count is None else max(0, len(images) - (count - count // _MARGIN))
    if body is not None:
        left = body_bytes(messages) - (body - body // _MARGIN)
        left -= sum(len(image.data) * 4 // 3 for image in images[:over])
        while left > 0 and over < len(images):
            left -= len(images[over].data) * 4 // 3
            over += 1
    return over


def over_limits(job: Context, messages: Sequence[Message]) -> bool:
    """Whether the provider would refuse the messages for the number of their images, or for their bytes."""
    body = {**job.reader.limits, **job.options.limits}.get("request_bytes")
    too_long = body is not None and body_bytes(messages) > body - body // _MARGIN
    return too_long or images_over(job, messages) > 0


def body_bytes(messages: Sequence[Message]) -> int:
    """About the bytes of messages in a request: text, and images in base64."""
    text = sum(len(words) for words in _words(messages))
    return text + sum(len(image.data) * 4 // 3 for image in image_parts(messages))


def _room(limits: Mapping[str, int], rest: Sequence[Message], layout: Layout) -> tuple[int, int]:
    """Pages that the request has room for, and images of the rest that must go to make it."""
    count = limits.get("images_per_request")
    own = len(image_parts(rest))
    dropped = 0
    room = 1 << 30
    if count is not None:
        usable = count - count // _MARGIN
        if own >= usable:
            # One page at least: the oldest images make room for it.
            dropped = min(own, own - usable + 1) if usable else own
        room = usable - own + dropped
    body = limits.get("request_bytes")
    if body is not None:
        page = layout.width * layout.height * _BITS * _BYTES_PER_BIT * 4 / 3
        room = min(room, int((body - body // _MARGIN - body_bytes(rest)) / page))
    return room, dropped


def image_parts(messages: Sequence[Message]) -> list[Image]:
    """All images of messages, those in results included."""
    found: list[Image] = []
    for message in messages:
        for part in message.parts:
            inner = part.content if isinstance(part, ToolResult) else (part,)
            found += [item for item in inner if isinstance(item, Image)]
    return found


def _lighter(messages: tuple[Message, ...], head: int, dropped: int) -> tuple[Message, ...]:
    return elide_rung.drop_excess(messages, head, dropped).messages if dropped else messages


def _words(messages: Sequence[Message]) -> list[str]:
    """All text of messages, for what a tail mentions."""
    found: list[str] = []
    for message in messages:
        for part in message.parts:
            inner = part.content if isinstance(part, ToolResult) else (part,)
            found += [item.text for item in inner if isinstance(item, Text)]
            found += [getattr(part, "arguments", "")]
    return found


def _break_even(job: Context, before: int, after: int) -> int | None:
    """Requests after which the pages have paid for the cache that they break.

    The next request writes the new prefix into the cache, where the old one would have been read from it;
    each one after that reads a shorter prefix.
    """
    cache = job.options.cache
    if cache is None:
        return None
    cost = after * cache.write - before * cache.read
    saved = (before - after) * cache.read
    return max(1, ceil(cost / saved)) if saved > 0 else 1 << 30
