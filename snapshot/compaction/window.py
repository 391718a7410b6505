"""The end of a source text that pages show: what left view long ago is neither folded, set nor copied again.

A run that was compacted many times has pages of its newest part alone. They are set of a source that begins
with a message at or before the first page; all that is printed there is as it is in the whole.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

from snapshot.pages.prepared import may_have_clusters
from snapshot.source.run_marks import numbered_runs
from snapshot.source.text import Lineage, Source

__all__ = ["Window", "window_at", "window_of"]

# A window begins with the message at a multiple of so many characters: it seldom moves, since what is known
# of one serves for the text that goes on, and not for another window.
_STEP = 1 << 19
_MOST = 4


@dataclass(frozen=True, slots=True)
class Window:
    """The end of a source text as a source of its own, and the offset at which it begins."""

    start: int
    source: Source


def window_of(source: Source, offset: int, *, runs: bool) -> Window:
    """The window on what stands from an offset on; all of the source, where less would be printed otherwise.

    Args:
        source: source text without references.
        offset: the first character in view.
        runs: whether runs of random characters are printed as marks, which are numbered through the whole.
    """
    at = bisect_right(source.spans, offset // _STEP * _STEP, key=lambda span: span[0]) - 1
    start = source.spans[at][0] if at > 0 and offset >= _STEP else 0
    whole = Window(0, source)
    if not start or source.lineage is None or source.text[start - 1] != "\n":
        return whole
    if runs and any(run.start < start for run in numbered_runs(source)[:1]):
        return whole
    return window_at(source, start) if _is_plain(source, source.lineage, start) else whole


def window_at(source: Source, start: int) -> Window:
    """The window that begins at an offset, that of a message."""
    return _lately.of(source, start) if start else Window(0, source)


# Up to where the text of a lineage was looked at, and whether no character there may be one of a cluster.
_plain: WeakKeyDictionary[Lineage, tuple[int, bool]] = WeakKeyDictionary()


def _is_plain(source: Source, lineage: Lineage, stop: int) -> bool:
    """Whether what stands before an offset has no clusters of characters: a font draws only so many different
    ones, the first of the whole text."""
    known, plain = _plain.get(lineage, (0, True))
    if not plain or stop <= known:
        return plain
    # Piece by piece: no copy of all that left view.
    pieces = (source.text[at : min(at + _STEP, stop)] for at in range(known, stop, _STEP))
    plain = not any(map(may_have_clusters, pieces))
    _plain[lineage] = stop, plain
    return plain


class _Lately:
    """The last windows: a compaction asks for the same one several times."""

    def __init__(self) -> None:
        self._known: list[tuple[Source, Window]] = []  # the newest last
        self._lineages: WeakKeyDictionary[Lineage, dict[int, Lineage]] = WeakKeyDictionary()

    def of(self, source: Source, start: int) -> Window:
        for given, window in reversed(self._known):
            if given is source and window.start == start:
                return window
        marks = bisect_left(source.marks, start)
        spans = bisect_left(source.spans, start, key=lambda span: span[0])
        elisions = bisect_left(source.elisions, start, key=lambda elision: elision.offset)
        lineage = source.lineage
        window = Window(
            start,
            Source(
                source.text[start:],
                tuple(mark - start for mark in source.marks[marks:]),
                tuple((begin - start, end - start) for begin, end in source.spans[spans:]),
                tuple(replace(one, offset=one.offset - start) for one in source.elisions[elisions:]),
                lineage=lineage and self._lineages.setdefault(lineage, {}).setdefault(start, Lineage()),
            ),
        )
        self._known = [*self._known, (source, window)][-_MOST:]
        return window


_lately = _Lately()


def forget() -> None:
    """Forget what was looked at lately."""
    _lately.__init__()
