"""The threads in a Claude Code session: the main one, and one for each branch that was left by going back.

A thread is in the order of the file, which is that of time. Parallel calls fan out in the tree, so a walk
along parents would lose some: a row is on another branch only if a person's words lead to it that are not on
the way to the thread's last row. All of it is linear in the rows; the rows of a branch are put together when
it is read.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from snapshot.transcripts.formats._claude_code import Row
from snapshot.transcripts.io.json_values import as_text
from snapshot.transcripts.reading.parents import anchors, outward
from snapshot.transcripts.reading.threads import first_words, title_of

__all__ = ["Branch", "branches_of", "told"]


@dataclass(slots=True)
class Branch:
    """A thread: its own rows by their numbers, and where it leaves the one it comes from.

    Attributes:
        id: uuid of the words that it starts with, "" for the main thread.
        above: the thread it was left from, None for the main one.
        cutoff: number of the last row of that one that it goes on from.
        leaf: number of the row it ends with.
        numbers: of its own rows, in the order of the file.
        counts: distinct messages up to each of them.
        title, titled: the first words of a person in it, and the number of their row (-1: none).
        time: of its last row that has one.
    """

    id: str
    above: Branch | None
    cutoff: int
    leaf: int
    numbers: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    title: str = ""
    titled: int = -1
    time: str = ""

    @property
    def messages(self) -> int:
        """How many messages the whole thread has."""
        return self.counts[-1] if self.counts else self._before()

    def rows(self, rows: Sequence[Row]) -> list[Row]:
        """The rows of the whole thread, in the order of the file."""
        pieces: list[list[int]] = [self.numbers]
        branch, cutoff = self, self.cutoff
        while branch.above is not None:
            branch = branch.above
            pieces.append(branch.numbers[: bisect_right(branch.numbers, cutoff)])
            cutoff = min(cutoff, branch.cutoff) if branch.above else cutoff
        return [rows[number] for piece in reversed(pieces) for number in piece]

    def settle(self, rows: Sequence[Row]) -> None:
        """Count and name, once the numbers are known; those of the thread above come first."""
        seen: set[str] = set()
        before = self._before()
        for number in self.numbers:
            row = rows[number]
            if row.kind != "boundary":
                seen.add((as_text(row.message.get("id")) if row.kind == "assistant" else "") or row.uuid)
                if self.titled < 0 and row.is_prompt:
                    words = row.words or first_words(row.message)
                    self.titled, self.title = number, title_of(words)
            self.counts.append(before + len(seen))
            self.time = row.time or self.time
        above = self.above
        if above is not None and 0 <= above.titled <= self.cutoff:
            self.titled, self.title = above.titled, above.title

    def _before(self) -> int:
        if self.above is None:
            return 0
        place = bisect_right(self.above.numbers, self.cutoff)
        return self.above.counts[place - 1] if place else self.above._before()


def branches_of(rows: Sequence[Row], parents: Mapping[str, str]) -> tuple[Branch, list[Branch]]:
    """The main thread, that of the last row that nothing follows, and the others in the order of their ends.

    `parents` is a tree without circles, of these rows and all others of the file.
    """
    numbers: dict[str, int] = {}  # where an id comes again, its first row counts
    for number, row in enumerate(rows):
        if row.uuid:
            numbers.setdefault(row.uuid, number)
    nearest, roots = anchors(numbers, parents)
    inner = set(nearest.values())
    leaves = [number for uuid, number in numbers.items() if uuid not in inner]
    last = leaves[-1] if leaves else len(rows) - 1
    root = roots.get(rows[last].uuid, "") if rows else ""
    order = outward(numbers, nearest)
    ends = {uuid: number if uuid not in inner else -1 for uuid, number in numbers.items()}
    for uuid in reversed(order):
        above = nearest.get(uuid, "")
        if above:
            ends[above] = max(ends[above], ends[uuid])
    main = Branch("", None, -1, last)
    homes: dict[str, Branch] = {}
    highest: dict[str, int] = {}  # the last row on the way to each
    made: list[Branch] = []
    for uuid in order:
        number, above = numbers[uuid], nearest.get(uuid, "")
        home = homes.get(above, main)
        if above and roots[uuid] == root and rows[number].is_prompt and ends[uuid] != home.leaf:
            home = Branch(uuid, home, highest[above], ends[uuid])
            made.append(home)
        homes[uuid] = home
        highest[uuid] = max(number, highest.get(above, -1))
    for number, row in enumerate(rows):
        homes.get(row.uuid, main).numbers.append(number)
    for branch in (main, *made):
        branch.settle(rows)
    return main, sorted(made, key=lambda branch: branch.numbers[-1])


def told(branches: Sequence[Branch], rows: Sequence[Row], most: int = 20) -> Iterator[tuple[str, str, str]]:
    """Oddities that name the branches, the first few each by its id."""
    for branch in branches[:most]:
        note = f'a branch that was left again; read it as conversation "{branch.id}"'
        yield "branch", rows[branch.numbers[0]].where, note
    for branch in branches[most:]:
        yield "branch", rows[branch.numbers[0]].where, "a branch that was left again; conversations list it"
