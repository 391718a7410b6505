"""Images of pages, drawn when they are first asked for: what was drawn before is not drawn again.

Bytes are counted on drawn pages, since no rule tells them: random characters take ten times the bytes of
blank lines. What is drawn to be counted is there to be sent.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

from snapshot.pages.layout import Layout
from snapshot.pages.render import PageSpan, Typesetter
from snapshot.source.source import Source

__all__ = ["Stretch", "base64_bytes", "most_bytes", "page_images", "page_sizes"]

_MOST_BYTES = 64 << 20
_MOST_SIZES = 1 << 16
# Characters of the line that a page begins or ends in, on which its pixels may depend: it is the longest line
# that a terminal may have written over.
_CONTEXT, _NEXT = 1 << 16, 16
# Characters behind a full page that are set with it, to see where it ends, and pages drawn in one go.
_BEHIND = 1 << 12
_AT_ONCE = 16
_BITS = 2  # of a pixel, at most
_FRAME = 1 << 10  # bytes of a PNG beside its pixels, with room to spare


@dataclass(frozen=True, slots=True)
class Stretch:
    """Pages of one layout that follow each other; their spans are offsets in the text they are set of."""

    layout: Layout
    pages: tuple[PageSpan, ...]


class _Drawn:
    """Images of pages by what they show, the last used ones, and the bytes of many more; for all threads."""

    def __init__(self) -> None:
        self._pngs: OrderedDict[bytes, bytes] = OrderedDict()
        self._sizes: OrderedDict[bytes, int] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: bytes) -> bytes | None:
        with self._lock:
            png = self._pngs.get(key)
            if png is not None:
                self._pngs.move_to_end(key)
            return png

    def size(self, key: bytes) -> int | None:
        with self._lock:
            return self._sizes.get(key)

    def put(self, key: bytes, png: bytes) -> None:
        with self._lock:
            self._sizes[key] = len(png)
            if len(self._sizes) > _MOST_SIZES:
                self._sizes.popitem(last=False)
            if key in self._pngs:
                return
            self._pngs[key] = png
            self._bytes += len(png)
            while self._bytes > _MOST_BYTES:
                _, old = self._pngs.popitem(last=False)
                self._bytes -= len(old)


_DRAWN = _Drawn()


def base64_bytes(size: int) -> int:
    """Characters of base64 for so many bytes."""
    return -(-size // 3) * 4


def most_bytes(layout: Layout) -> int:
    """The bytes of a page in base64, whatever it shows: as if its pixels could not be compressed."""
    raw = layout.height * (1 + -(-layout.width * _BITS // 8))
    return base64_bytes(raw + raw // 1000 + _FRAME)


def page_images(source: Source, stretch: Stretch, *, threads: int | None = None) -> Iterator[bytes]:
    """The PNG files of the pages of a stretch of `source`, in order."""
    for first in range(0, len(stretch.pages), _AT_ONCE):
        yield from _images(source, stretch, first, min(first + _AT_ONCE, len(stretch.pages)), threads)


def page_sizes(
    source: Source, stretch: Stretch, first: int = 0, last: int | None = None, *, threads: int | None = None
) -> list[int]:
    """The bytes of the files of the pages `first` to `last` (half-open) of a stretch."""
    last = len(stretch.pages) if last is None else last
    sizes: list[int] = []
    for begin in range(first, last, _AT_ONCE):
        end = min(begin + _AT_ONCE, last)
        known = [_DRAWN.size(_key(source, stretch, number)) for number in range(begin, end)]
        if all(size is not None for size in known):
            sizes += [size for size in known if size is not None]
        else:
            sizes += map(len, _images(source, stretch, begin, end, threads))
    return sizes


def _images(source: Source, stretch: Stretch, first: int, last: int, threads: int | None) -> list[bytes]:
    """The files of the pages `first` to `last` (half-open): those that are known, and the rest drawn."""
    keys = [_key(source, stretch, number) for number in range(first, last)]
    found = [_DRAWN.get(key) for key in keys]
    at = 0
    while at < len(found):
        if found[at] is not None:
            at += 1
            continue
        end = at + 1
        while end < len(found) and found[end] is None:
            end += 1
        for number, png in enumerate(_draw(source, stretch, first + at, first + end, threads), at):
            found[number] = png
            _DRAWN.put(keys[number], png)
        at = end
    return [png for png in found if png is not None]


def _draw(source: Source, stretch: Stretch, first: int, last: int, threads: int | None) -> list[bytes]:
    pages = stretch.pages
    wanted = [(page.start, page.stop) for page in pages[first:last]]
    end = pages[-1].stop
    # A full page ends where the next one begins, so that a little of that is set as well; also where the next
    # one is of another stretch: the last page that is kept stays as it was, to the filling of its last row.
    behind = len(source.text) if last == len(pages) else pages[last].stop
    if pages[last - 1].tokens < stretch.layout.tokens:
        behind = end  # it is not full
    setter = Typesetter(stretch.layout)
    found: list[bytes] = []
    for stop in (min(behind, wanted[-1][1] + _BEHIND), end):
        left = wanted[len(found) :]
        drawn = setter.pages(source, start=left[0][0], stop=stop, threads=threads)
        for page, span in zip(drawn, left, strict=False):
            if (page.start, page.stop) != span:
                break
            found.append(page.png)
        if len(found) == len(wanted):
            return found
    raise AssertionError("pages are set where they were measured")


def _key(source: Source, stretch: Stretch, number: int) -> bytes:
    """What the pixels of a page depend on: its text with the lines that it begins and ends in, its marks and
    its layout. Whether it is full follows from these.
    """
    page, text, layout = stretch.pages[number], source.text, stretch.layout
    begin = max(0, page.start - _CONTEXT)
    begin = max(begin, text.rfind("\n", begin, page.start) + 1)
    end = text.find("\n", max(page.start, page.stop - 1), page.stop + _CONTEXT)
    # What is behind the line tells whether an entry ends with it, and what had no room in its row.
    end = min(len(text), (page.stop + _CONTEXT if end < 0 else end + 1) + _NEXT)
    low, high = bisect_left(source.marks, begin), bisect_left(source.marks, end)
    facts = (
        layout.name,
        layout.face,
        layout.width,
        layout.height,
        layout.text_columns,
        layout.flow_columns,
        page.start - begin,
        page.stop - begin,
        [mark - begin for mark in source.marks[low:high]],
    )
    digest = sha256(repr(facts).encode())
    digest.update(text[begin:end].encode("utf-8", "surrogatepass"))
    return digest.digest()
