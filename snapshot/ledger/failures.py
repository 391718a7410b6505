"""Calls that failed and did not succeed since."""

from __future__ import annotations

from collections.abc import Sequence

from snapshot.ledger.state import Failure

__all__ = ["Failures"]

_MOST = 200  # failures that are kept, the newest


class Failures:
    """Open failures; each is known by the keys of its call, and one success under any of them resolves it."""

    def __init__(self) -> None:
        self._open: dict[int, tuple[Failure, tuple[str, ...]]] = {}
        self._by_key: dict[str, int] = {}
        self._count = 0

    def add(self, failure: Failure, keys: Sequence[str]) -> None:
        """A call failed; an older failure of the same call is told no more."""
        self.resolve(keys)
        self._count += 1
        self._open[self._count] = (failure, tuple(keys))
        for key in keys:
            self._by_key[key] = self._count
        if len(self._open) > _MOST:
            self._forget(next(iter(self._open)))

    def resolve(self, keys: Sequence[str]) -> None:
        """What is known by these keys has succeeded, or is told anew."""
        for key in keys if self._by_key else ():
            if (number := self._by_key.get(key)) is not None:
                self._forget(number)

    def newest_first(self) -> tuple[Failure, ...]:
        """The open failures."""
        return tuple(failure for failure, _ in reversed(self._open.values()))

    def _forget(self, number: int) -> None:
        _, keys = self._open.pop(number)
        for key in keys:
            if self._by_key.get(key) == number:
                del self._by_key[key]
