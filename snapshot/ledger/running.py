"""What was started and runs on: agents, background shells, jobs; each with its handle."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from snapshot.ledger.commands import Line
from snapshot.ledger.state import Handle

__all__ = ["Running", "Started"]


@dataclass(slots=True)
class Started:
    """A thing that was started; `line` is its command line, where it has one."""

    handle: Handle
    line: Line | None = None
    shown: bool = True
    ended: bool = False


class Running:
    """Everything that was started, by handle."""

    def __init__(self) -> None:
        self._all: dict[str, Started] = {}

    def start(self, handle: Handle, line: Line | None = None, *, shown: bool = True) -> None:
        """Something runs; one that was started before under the same handle, and has ended, runs again."""
        before = self._all.pop(handle.id, None)
        if before and not before.ended:
            handle = before.handle
            line = before.line
        self._all[handle.id] = Started(handle, line, shown)

    def end(self, ids: Iterable[str]) -> list[Started]:
        """These have ended; those of them that ran until now."""
        found: list[Started] = []
        for id_ in ids:
            started = self._all.get(id_)
            if started and not started.ended:
                started.ended = True
                found.append(started)
        return found

    def runs(self, id_: str) -> bool:
        """Whether this handle is known and has not ended."""
        return id_ in self._all and not self._all[id_].ended

    def handles(self) -> tuple[Handle, ...]:
        """What still runs, in the order of its start."""
        return tuple(started.handle for started in self._all.values() if not started.ended)
