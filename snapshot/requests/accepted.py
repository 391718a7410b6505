"""How far a list of messages is known to be accepted by an API: a longer one is checked by what is new."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from snapshot.requests._flatten import LISTS, Piece, pieces_of
from snapshot.requests.check import check

__all__ = ["Accepted"]

_SPEAKS = ("assistant", "model")
# What stands in front of the newest messages in place of those that are known.
_LEAD = {"role": "user", "content": "."}
_LEADS: dict[str, dict[str, Any]] = {"gemini": {"role": "user", "parts": [{"text": "."}]}}


class Accepted:
    """The beginning of a list that was found to be accepted, and the ids in it.

    It ends where an answer of the assistant's begins behind messages of others, and every call in it has its
    result in it. Rules look at the message before and the one behind, which were looked at in the same check,
    or at ids, which are kept here: so the list is accepted if what follows is, and repeats none of the ids.

    Whoever keeps it must see to it that the beginning has not changed since.

    Args:
        api: one of `snapshot.requests.APIS`.

    Attributes:
        count: messages in the beginning; 0 where nothing is known.
    """

    def __init__(self, api: str) -> None:
        self.api = api
        self.count = 0
        self._ids: set[tuple[str, str]] = set()

    def accepts(self, messages: Sequence[Any], beside: Mapping[str, Any]) -> bool:
        """Whether `check` has nothing to say of a list that begins as it did.

        Args:
            messages: the whole list, as plain data.
            beside: what a body says beside it.
        """
        key = LISTS[self.api]
        rest = list(messages[self.count :])
        lead = [_LEADS.get(self.api, _LEAD)] if self.count else []
        if not check({key: [*lead, *rest], **beside}, self.api):
            pieces = pieces_of({key: rest}, self.api) if rest else []
            ids = {one for piece in pieces for one in _ids_of(piece)}
            if self._ids.isdisjoint(ids):
                self._go_on(pieces)
                return True
        return bool(self.count) and not check({key: list(messages), **beside}, self.api)

    def _go_on(self, pieces: Sequence[Piece]) -> None:
        """Take in what was found to be accepted, as far as nothing behind it can change that."""
        waiting: set[str] = set()
        at, role, size = 0, "", 0
        for number, piece in enumerate(pieces):
            if piece.at != at:
                if at and not waiting and piece.role in _SPEAKS and role not in _SPEAKS:
                    size = number
                at, role = piece.at, piece.role
            if piece.kind == "call":
                waiting.add(piece.id)
            elif piece.kind == "result":
                waiting.discard(piece.id)
        if size:
            self._ids.update(one for piece in pieces[:size] for one in _ids_of(piece))
            self.count += pieces[size].at - 1


def _ids_of(piece: Piece) -> list[tuple[str, str]]:
    """The ids of a piece that no other one may have, each with what it is an id of."""
    of_pair = [(piece.kind, piece.id)] if piece.id and piece.kind in ("call", "result") else []
    return [*of_pair, ("item", piece.item)] if piece.item else of_pair
