"""A conversation as an earlier compaction has it: what its archive says, and what came after it word for
word."""

from __future__ import annotations

from dataclasses import replace

from snapshot.compaction.archived import PagedPart
from snapshot.compaction.beside import facts_of, live_state, statements_for
from snapshot.compaction.candidate import Candidate
from snapshot.compaction.context import Context
from snapshot.compaction.pagination import Pagination
from snapshot.pages.layout import layout_for

__all__ = ["part_pages", "projected"]


def projected(context: Context) -> Candidate | None:
    """The whole conversation with what the former archive replaced in its place, as it was sent.

    None where there is no archive, or its pages were made for another reader: they have to be made anew.
    """
    former = context.former
    if former is None or former.boundary > len(context.messages):
        return None
    if former.layout and not _same_reader(context, former.layout):
        return None
    messages = list(context.messages)
    for item in former.changed:
        if item.sent is not None and item.number < len(messages):
            messages[item.number] = item.sent
    pages = (
        Pagination.of(former.source, former.listed, former.prices, former.starts) if former.pages else None
    )
    if former.former_schema and not former.light:
        # It does not say what stood beside its pages.
        former = replace(former, statements=statements_for(context, former), former_schema=False)
        former = replace(former, ledger=live_state(context))
        if pages is not None:
            former = replace(former, prices=tuple(page.tokens for page in pages.pages))
        former = replace(former, facts=facts_of(context, former, context.messages[former.boundary :]).text)
    return Candidate(
        context,
        tuple(messages),
        context.cut() if former.light else former.boundary,
        former,
        pages,
        former.parts,
        tuple(map(part_pages, former.parts)),
    )


def part_pages(part: PagedPart) -> Pagination:
    """The pages that a large part stands on."""
    if not part.pages:
        return Pagination(())
    return Pagination.of(part.printed, part.listed, starts=part.starts)


def _same_reader(context: Context, layout: str) -> bool:
    """Whether pages of a layout are what the reader at hand would get."""
    if not context.reader.vision and context.options.layout is None:
        return False
    options = context.options
    return layout_for(context.model, name=options.layout, like=options.like or None).name == layout
