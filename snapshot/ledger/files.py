"""Files that were created, changed, moved, deleted or read, each under one name."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from snapshot.ledger.lines import one_line
from snapshot.ledger.state import Change, FileState

__all__ = ["Files", "patched"]

_PATH = 400
_RANGE = re.compile(r":\d+(?:-\d+)?$")
_PATCHED = re.compile(
    r"^\*\*\* (?P<verb>Add|Update|Delete|Move)(?: File)?(?: to)?: (?P<path>[^\r\n]{1,400})\r?$", re.M
)
_DIFFED = re.compile(r"^--- (?P<old>[^\t\r\n]{1,400})[^\n]*\n\+\+\+ (?P<new>[^\t\r\n]{1,400})", re.M)


# Files that were touched since the last look, up to which each finds its place in the list by itself.
_FEW = 256


@dataclass(slots=True)
class _File:
    path: str
    number: int  # of all files, in the order in which they were first named
    change: Change = ""
    changed: int = 0
    created: int = 0
    read: int = 0
    source: str = ""


class Files:
    """The files of a conversation."""

    def __init__(self) -> None:
        self._files: dict[str, _File] = {}
        self._count = 0
        self.newest_change = 0
        # Only files of one name in its folder can be the same, so what is known of them is kept by that name:
        # the files, what they are together, and all of that in one list: those touched last first. Names
        # that something happened to since are to be looked at again.
        self._named: dict[str, list[_File]] = {}
        self._rows: dict[str, list[_Row]] = {}
        self._sorted: list[_Row] = []
        self._touched: set[str] = set()

    def changed(self, path: str, how: Change, number: int) -> None:
        """A file was created, written, edited or deleted."""
        if (file := self._file(path)) is None:
            return
        file.change = "created" if how == "edited" and file.created == number else how
        if how == "created":
            file.created = number
        elif how == "deleted":
            file.created = 0
        file.changed = max(file.changed, number)
        self.newest_change = max(self.newest_change, number)

    def moved(self, old: str, new: str, number: int) -> None:
        """A file has another path now."""
        before, after = self._file(old), self._file(new)
        if before is None or after is None or before is after:
            return
        self._files.pop(before.path, None)
        self._named[posixpath.basename(before.path)].remove(before)
        after.change, after.source = "moved", before.path
        after.created, after.read = before.created, max(before.read, after.read)
        after.changed = max(after.changed, number)
        self.newest_change = max(self.newest_change, number)

    def listed(self, path: str, number: int) -> None:
        """Git names a file as changed; who changed it, and when, is not known."""
        if (file := self._file(path)) and not file.change:
            file.change, file.changed = "listed", number

    def read(self, path: str, number: int) -> None:
        """A file was read, whole or in part."""
        if file := self._file(_RANGE.sub("", path)):
            file.read = max(file.read, number)

    def states(self) -> tuple[FileState, ...]:
        """Every file once, those touched last first; a relative path is the absolute one that ends with
        it."""
        touched, self._touched = self._touched, set()
        before = {name: self._rows.pop(name, []) for name in touched}
        for name in touched:
            self._rows[name] = _rows(self._named[name])
        if len(touched) > _FEW:
            self._sorted = sorted(row for rows in self._rows.values() for row in rows)
        else:
            for name in touched:
                for row in before[name]:
                    del self._sorted[bisect_left(self._sorted, row[:2])]
                for row in self._rows[name]:
                    insort(self._sorted, row)
        return tuple(state for _, _, state in self._sorted)

    def _file(self, path: str) -> _File | None:
        name = one_line(path, _PATH)
        # Folders, patterns and addresses are no files.
        if not name or name.endswith(("/", "…")) or "*" in name or "://" in name:
            return None
        while name.startswith("./"):
            name = name[2:]
        if name.startswith("/") and ("//" in name or "/." in name):
            name = posixpath.normpath(name)
        if name in ("", ".", ".."):
            return None
        last = posixpath.basename(name)
        self._touched.add(last)
        file = self._files.get(name)
        if file is None:
            self._count += 1
            file = self._files[name] = _File(name, self._count)
            self._named.setdefault(last, []).append(file)
        return file


_Row: TypeAlias = tuple[int, int, FileState]
"""What a list of files is sorted by: the message that one was touched in last, the newest first, and its
number; and the file."""


def _rows(files: Sequence[_File]) -> list[_Row]:
    """Files of one name in their folders, those that are the same as one."""
    absolute = [file for file in files if file.path.startswith("/")]
    merged: dict[str, tuple[int, FileState]] = {}
    for file in files:
        path = file.path
        if not path.startswith("/"):
            same = [other for other in absolute if other.path.endswith("/" + path)]
            path = same[0].path if len(same) == 1 else path
        state = FileState(path, file.change, file.changed, file.created, file.read, file.source)
        number, known = merged.get(path, (file.number, None))
        merged[path] = number, _joined(known, state)
    return [(-state.message, number, state) for number, state in merged.values()]


def _joined(first: FileState | None, second: FileState) -> FileState:
    if first is None:
        return second
    # What git lists is no news of a file whose change was seen.
    newer = second if second.changed >= first.changed else first
    for one, other in ((first, second), (second, first)):
        if one.change == "listed" and other.change:
            newer = other
    return FileState(
        first.path, newer.change, newer.changed, max(first.created, second.created), max(first.read,
        second.read), newer.source,
    )  # fmt: skip


def patched(text: str) -> list[tuple[Change, str, str]]:
    """What a patch does: the change, the path, and for a move the path before."""
    found: list[tuple[Change, str, str]] = []
    for match in _PATCHED.finditer(text):
        path = match["path"].strip()
        match match["verb"]:
            case "Add":
                found.append(("created", path, ""))
            case "Delete":
                found.append(("deleted", path, ""))
            case "Update":
                found.append(("edited", path, ""))
            case _ if found:
                found[-1] = ("moved", path, found[-1][1])
            case _:
                pass
    if found:
        return found
    for match in _DIFFED.finditer(text):
        old, new = (re.sub(r"^[ab]/", "", match[key].strip()) for key in ("old", "new"))
        if new == "/dev/null":
            found.append(("deleted", old, ""))
        elif old == "/dev/null":
            found.append(("created", new, ""))
        elif old != new:
            found.append(("moved", new, old))
        else:
            found.append(("edited", new, ""))
    return found
