"""Marks that stand in a request for pages which are not drawn yet."""

from __future__ import annotations

from typing import Final

from snapshot.messages import Image, Part

__all__ = ["PLACE", "is_place", "place"]

_MARK = "\0page"
PLACE: Final = Image("image/png", source=_MARK)
"""Stands for a page of the middle that is not drawn."""


def place(number: int) -> Image:
    """What stands for a page of part `number` (from 0) that is not drawn."""
    return Image("image/png", source=f"{_MARK} of part {number}")


def is_place(part: Part) -> bool:
    """Whether a part stands for a page that is not drawn."""
    return isinstance(part, Image) and part.source.startswith(_MARK)
