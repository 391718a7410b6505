"""Trees of rows that name their parents, as files have them: with gaps, and perhaps with circles."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from typing import TypeVar

__all__ = ["along", "anchors", "mended", "outward", "way"]

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


def mended(parents: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The tree without circles, and the ids that lost their parent: of each circle the first one."""
    safe = dict(parents)
    places = {one: place for place, one in enumerate(parents)}
    done: set[str] = set()
    cut: list[str] = []
    for one in parents:
        trail: dict[str, None] = {}
        at = one
        while at in safe and at not in done:
            if at in trail:
                steps = list(trail)
                first = min(steps[steps.index(at) :], key=places.__getitem__)
                safe[first] = ""
                cut.append(first)
                break
            trail[at] = None
            at = safe[at]
        done.update(trail)
    return safe, cut


def outward(ids: Iterable[str], parents: Mapping[str, str]) -> list[str]:
    """`ids` and all that is above them, parents before their children."""
    order: dict[str, None] = {}
    for one in ids:
        order.update(dict.fromkeys(reversed(way(one, parents, ends=order))))
    return list(order)


def anchors(ids: Iterable[str], parents: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """For each of `ids` the nearest of them above it ("": none), and for all the root of its tree."""
    own = dict.fromkeys(ids)
    nearest: dict[str, str] = {}
    roots: dict[str, str] = {}
    for one in outward(own, parents):
        above = parents.get(one, "")
        nearest[one] = above if above in own else nearest.get(above, "")
        roots[one] = roots.get(above, one)
    return {one: nearest[one] for one in own if one in nearest}, roots
