"""What pages may take: their number, their tokens, and their bytes as they are drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from snapshot.compaction.page_images import base64_bytes, most_bytes, page_sizes
from snapshot.compaction.pagination import Pagination, Stretch
from snapshot.pages.render import PageSpan

__all__ = ["Room"]

# Pages of a stretch that are drawn to estimate the bytes of all.
_SAMPLE = 6
# Pages whose bytes are counted at once where the oldest may have to go.
_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Room:
    """What the pages may take: their number, tokens, and bytes in base64 (None: as many as they have)."""

    pages: int
    tokens: int
    bytes: int | None
    threads: int | None

    def has(self, pagination: Pagination) -> bool:
        """Whether there is room for a pagination, its bytes estimated by a few of its pages."""
        if not self.may_have(pagination.pages):
            return False
        return self.surely(pagination) or self._estimate(pagination) <= (self.bytes or 0)

    def may_have(self, pages: Sequence[PageSpan]) -> bool:
        """Whether there is room for so many pages, of so many tokens, whatever their bytes."""
        return len(pages) <= self.pages and sum(page.tokens for page in pages) <= self.tokens

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

    def with_margin(self, share: float) -> Room:
        """The room of which a share is free."""
        most = None if self.bytes is None else int((1 - share) * self.bytes)
        return replace(
            self, pages=int((1 - share) * self.pages), tokens=int((1 - share) * self.tokens), bytes=most
        )

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
