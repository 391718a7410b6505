"""Pairs calls and results that have no ids, as old and exported conversations have them."""

from __future__ import annotations

from collections import defaultdict, deque

from snapshot.transcripts.reading.build import Ids

__all__ = ["Pairing"]


class Pairing:
    """Gives ids to calls without one, and to each result that of its call: by name, else by order."""

    def __init__(self, ids: Ids) -> None:
        self._ids = ids
        self._open: set[str] = set()
        self._queues: defaultdict[str, deque[str]] = defaultdict(deque)  # by name, and all under ""

    def call(self, name: str) -> str:
        """An id for a new call of `name`."""
        call_id = self._ids.invent("function_call")
        self._open.add(call_id)
        for key in {name, ""}:
            self._queues[key].append(call_id)
        return call_id

    def answer(self, name: str) -> str:
        """The id of the call that a result of `name` answers; "" if no call is open."""
        for key in (name, ""):
            queue = self._queues[key]
            while queue:
                call_id = queue.popleft()
                if call_id in self._open:  # not yet answered through its other queue
                    self._open.remove(call_id)
                    return call_id
        return ""
