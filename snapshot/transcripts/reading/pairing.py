"""Ids for calls and results that have none, as old and exported conversations have them."""

from __future__ import annotations

from snapshot.requests.tool_pairing import NamelessCalls
from snapshot.transcripts.reading.build import Ids

__all__ = ["Pairing"]


class Pairing(NamelessCalls):
    """Calls that the transcript's own `Ids` name."""

    def __init__(self, ids: Ids) -> None:
        super().__init__(lambda: ids.invent("function_call"))
