"""Trees of rows that name their parents, as files have them: with gaps, and perhaps with circles."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import TypeVar

__all__ = ["along", "way"]

_T = TypeVar("_T")


def way(start: str, parents: Mapping[str, str], ends: Container[str] = ()) -> list[str]:
    """`start`, its parent and so on: up to a root, to what has no parent here, or to before one of `ends`."""
    found: dict[str, None] = {}
    while start and start not in found and start not in ends:
        found[start] = None
        start = parents.get(start, "")
    return list(found)


def along(parents: Mapping[str, str], own: Mapping[str, _T], join: Callable[[_T, _T], _T]) -> dict[str, _T]:
    """For each of `own`, what `join` makes of all on the way from its root to it; each is joined once.

    Ids that have nothing of their own end a way.
    """
    made: dict[str, _T] = {}
    for one in own:
        steps = [step for step in way(one, parents, ends=made) if step in own]
        for step in reversed(steps):
            above = parents.get(step, "")
            made[step] = join(made[above], own[step]) if above in made else own[step]
    return made
