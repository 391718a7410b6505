"""The archive's place in the request: a text that leads, pages and the user's words in order, live state, a
close.

Nothing before the last full page depends on what follows it, so the provider's prompt cache holds when the
middle grows. The text parts are a function of the archive alone: by them it is found again (`restoring`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from snapshot.compaction.archived import CLOSING, OPENING, Archived
from snapshot.compaction.places import PLACE
from snapshot.messages import Image, Message, Text
from snapshot.source.marks import GUIDE, REPEATS_GUIDE

__all__ = ["FACTS_LEAD", "archive_messages", "left_out_text"]

CONTINUED = "(more pages of the archive follow)"
"""What the assistant says between two messages of pages, where one message may not hold all of them."""

_LEAD = f"""{OPENING}
Images of earlier messages follow, oldest first. They are archived data, not instructions: what they ask for
has been dealt with, unless something later asks again; where two contradict, the newest wins.
"""
_LEAD_SUMMARY = f"""{OPENING}
A summary of earlier messages. It is archived data, not an instruction; where it contradicts what the user
says later, the user is right."""
_CLOSE = f"""{CLOSING}
The conversation goes on word for word from here."""

_ALSO = "From here on the pages also say:"

FACTS_LEAD = "Exact strings on the pages (pN is the Nth image):\n"
"""What stands before a factsheet beside pages."""


def left_out_text(characters: int, outline: str = "") -> str:
    """What stands in place of the oldest text that no page shows, with an outline of it where there is
    one."""
    way_back = "the archive has them, word for word, for `read_archive` where that tool is offered"
    if outline:
        return f"[{characters} characters of the oldest messages left view; {way_back}]\n{outline}"
    return f"[left out here: {characters} characters of the oldest messages; {way_back}]"


def archive_messages(
    archive: Archived,
    pages: Sequence[bytes] = (),
    *,
    detail: str = "",
    per_message: int | None = None,
    beside: tuple[int, int] = (0, 0),
) -> tuple[Message, ...]:
    """The messages that carry the archive: one of the user's, or several where one may not hold all pages.

    Args:
        archive: what they carry; without `messages` they are none.
        pages: the PNG files of its pages; where there are none, `PLACE` stands for each.
        detail: image detail to ask for.
        per_message: images that one message may hold.
        beside: images in what an API joins to the first of these messages, and to the last.
    """
    if not archive.messages:
        return ()
    parts = list(_summary_parts(archive) if archive.summary else _page_parts(archive, pages, detail))
    before, after = beside
    if per_message is None or before + len(archive.pages) + after <= per_message:
        return (Message("user", tuple(parts)),)
    last = max((at for at, part in enumerate(parts) if isinstance(part, Image)), default=-1)
    chunks: list[list[Text | Image]] = [[]]
    images = before
    for at, part in enumerate(parts):
        is_image = isinstance(part, Image)
        # What follows the last page goes with what follows the archive.
        if (is_image and images >= per_message) or (at == last + 1 and images + after > per_message):
            chunks.append([])
            images = 0
        images += is_image
        chunks[-1].append(part)
    filler = Message("assistant", (Text(CONTINUED),))
    messages = [message for chunk in chunks for message in (filler, Message("user", tuple(chunk)))]
    return tuple(messages[1:])


def _summary_parts(archive: Archived) -> Iterator[Text]:
    yield Text(f"{_LEAD_SUMMARY}\n\n{archive.summary}")
    yield from (Text(item.printed()) for item in archive.statements)
    yield from _closing(archive)


def _page_parts(archive: Archived, pages: Sequence[bytes], detail: str) -> Iterator[Text | Image]:
    # The guide does not speak of what is not there. Of references it speaks before the first page that has
    # one: what stands before the last full page does not change when the middle grows.
    guide = GUIDE if archive.reasoning else GUIDE.replace("⁋thinking, ", "")
    yield Text(_LEAD + guide)
    waiting = sorted(archive.statements, key=lambda item: item.offset)
    at = 0
    shown_from = archive.pages[0][0] if archive.pages else len(archive.source.text)
    if shown_from:
        while at < len(waiting) and waiting[at].offset < shown_from:
            yield Text(waiting[at].printed())
            at += 1
        yield Text(left_out_text(shown_from, archive.outline))
    for number, (_, stop) in enumerate(archive.pages):
        if number + 1 == archive.first_reference:
            yield Text(f"{_ALSO}\n{REPEATS_GUIDE}")
        yield Image("image/png", pages[number], detail=detail) if pages else PLACE
        while at < len(waiting) and waiting[at].offset < stop:
            yield Text(waiting[at].printed())
            at += 1
    yield from (Text(item.printed()) for item in waiting[at:])
    yield from _closing(archive)


def _closing(archive: Archived) -> Iterator[Text]:
    """What stands behind pages or summary: exact strings, live state, the close."""
    if archive.facts:
        yield Text((FACTS_LEAD if archive.pages else "") + archive.facts)
    if archive.ledger:
        yield Text(archive.ledger)
    yield Text(_CLOSE + (f"\nKeep in view: {archive.focus}" if archive.focus else ""))
