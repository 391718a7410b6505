"""Pages of a candidate, drawn: what was drawn before is not drawn again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256

from snapshot.compaction.candidate import Candidate
from snapshot.compaction.pagination import Pagination, Stretch
from snapshot.compaction.places import is_place, place
from snapshot.compaction.replaced import with_content, with_parts
from snapshot.messages import Image, Message, Part, ToolResult
from snapshot.pages.render import Page, Typesetter
from snapshot.source.source import Source, slice_of

__all__ = ["drawn"]

_MOST_BYTES = 64 << 20


class _Drawn:
    """Pages by what they show, the last used ones; bounded, for all threads."""

    def __init__(self) -> None:
        self._pages: OrderedDict[tuple[str, bytes], Page] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: tuple[str, bytes]) -> Page | None:
        with self._lock:
            page = self._pages.get(key)
            if page is not None:
                self._pages.move_to_end(key)
            return page

    def put(self, key: tuple[str, bytes], page: Page) -> None:
        with self._lock:
            if key in self._pages:
                return
            self._pages[key] = page
            self._bytes += len(page.png)
            while self._bytes > _MOST_BYTES:
                _, old = self._pages.popitem(last=False)
                self._bytes -= len(old.png)


_DRAWN = _Drawn()


def drawn(candidate: Candidate) -> tuple[Message, ...]:
    """The messages to send, with all pages drawn."""
    context, archive = candidate.context, candidate.archive
    total = sum(len(stretch.pages) for stretch in candidate.stretches)
    done = 0

    def tell() -> None:
        nonlocal done
        done += 1
        if context.options.progress is not None:
            context.options.progress(done, total)

    messages = candidate.messages
    for number, (part, pagination) in enumerate(
        zip(candidate.parts, candidate.part_paginations, strict=True)
    ):
        pages = _pages(pagination, part.source, context.options.threads, tell)
        messages = _put(messages, place(number), [page.png for page in pages], context.reader.detail)
    if archive is None or archive.light:
        return messages
    pages = []
    if candidate.pagination is not None:
        pages = _pages(candidate.pagination, archive.source, context.options.threads, tell)
    return (*messages[: context.head], *candidate.frame(pages), *messages[candidate.cut :])


def _pages(
    pagination: Pagination, source: Source, threads: int | None, tell: Callable[[], None]
) -> list[Page]:
    pages: list[Page] = []
    for stretch in pagination.stretches:
        for page in _stretch_pages(stretch, source, threads):
            pages.append(page)
            tell()
    return pages


def _stretch_pages(stretch: Stretch, source: Source, threads: int | None) -> Iterator[Page]:
    """The pages of a stretch: those from the first on that are known, and the rest drawn.

    A page's pixels depend on the text of the stretch up to its end, and on nothing behind it.
    """
    if not stretch.pages:
        return
    start, name = stretch.pages[0].start, stretch.layout.name
    digest = sha256()
    keys: list[tuple[str, bytes]] = []
    for span in stretch.pages:
        piece = slice_of(source, span.start, span.stop)
        digest.update(piece.text.encode("utf-8", "surrogatepass"))
        digest.update(repr((span.stop - span.start, piece.marks)).encode())
        keys.append((name, digest.digest()))
    known = [_DRAWN.get(key) for key in keys]
    if all(page is not None for page in known):
        yield from (page for page in known if page is not None)
        return
    drawn_now = Typesetter(stretch.layout).pages(
        source, start=start, stop=stretch.pages[-1].stop, threads=threads
    )
    for key, page in zip(keys, drawn_now, strict=True):
        _DRAWN.put(key, page)
        yield page


def _put(messages: Sequence[Message], mark: Image, pngs: Sequence[bytes], detail: str) -> tuple[Message, ...]:
    """The messages with images in place of the marks, in their order."""
    left = iter(pngs)

    def shown(item: Part) -> Part:
        if is_place(item) and isinstance(item, Image) and item.source == mark.source:
            return Image("image/png", next(left), detail=detail)
        return item

    out: list[Message] = []
    for message in messages:
        parts: list[Part] = []
        for part in message.parts:
            if isinstance(part, ToolResult) and any(map(is_place, part.content)):
                parts.append(with_content(part, [shown(item) for item in part.content]))
            else:
                parts.append(shown(part))
        out.append(with_parts(message, parts))
    return tuple(out)
