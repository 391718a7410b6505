"""The provider's prompt cache: what of a request it reads, what it writes, and what all of it costs."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from snapshot.models.profile import ModelProfile, Price

__all__ = ["Billed", "PromptCache"]

# What is assumed where the provider does not publish it: five minutes, 1,024 tokens.
_LIFETIME, _MINIMUM = 300, 1024
_MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class Billed:
    """Input tokens of a request as they are billed, and USD for it with its output; None: no price known."""

    read: int
    written: int
    fresh: int
    usd: Decimal | None


@dataclass(frozen=True, slots=True)
class PromptCache:
    """The prompt cache of one model.

    Places that may be marked for it are taken to be enough: behind what is sent beside the messages, behind
    the last full page, at the end of the request.

    Attributes:
        price: the model's prices; without one for reading there is no cache, without one for writing the
            provider writes for nothing.
        lifetime: seconds that a prefix stays after its last use.
        minimum: tokens of the shortest prefix that is kept.
    """

    price: Price | None
    lifetime: int
    minimum: int

    @classmethod
    def of(cls, reader: ModelProfile) -> PromptCache:
        """The cache as the layout file knows it."""
        known = getattr(reader, "cache", None)
        return cls(
            reader.price,
            getattr(known, "lifetime", 0) or _LIFETIME,
            getattr(known, "minimum", 0) or _MINIMUM,
        )

    def billed(self, prompt: int, output: int, *, shared: int, gap: float, writes: bool = True) -> Billed:
        """What a request is billed.

        Args:
            prompt: its input tokens.
            output: tokens of the answer.
            shared: tokens of the prefix that it has in common with the request before.
            gap: seconds since that.
            writes: whether what is new is written into the cache.
        """
        price = None if self.price is None else self.price.at(prompt)
        # A cache is not known to be missing where no price is known: tokens are counted all the same.
        cached = price is None or price.cache_read is not None
        read = shared if cached and gap <= self.lifetime and shared >= self.minimum else 0
        writes = (
            writes and cached and prompt >= self.minimum and (price is None or price.cache_write is not None)
        )
        written = prompt - read if writes else 0
        fresh = prompt - read - written
        return Billed(
            read, written, fresh, None if price is None else _usd(price, read, written, fresh, output)
        )


def _usd(price: Price, read: int, written: int, fresh: int, output: int) -> Decimal | None:
    if price.output is None:
        return None
    total = fresh * price.input + output * price.output
    total += read * (price.cache_read or 0) + written * (price.cache_write or 0)
    return total / _MILLION
