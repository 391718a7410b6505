"""Files that were created, changed, moved, deleted or read, each under one name."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
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


# Files that were touched since the last look, up to which each finds its place in the list by itself; changes
# that are known of each.
_FEW, _CHANGES = 256, 8


@dataclass(slots=True)
class _File:
    path: str
    number: int  # of all files, in the order in which they were first named
    change: Change = ""
    changed: int = 0
    created: int = 0
    read: int = 0
    source: str = ""
    changes: tuple[int, ...] = ()

    def change_at(self, number: int) -> None:
        """It was changed there."""
        self.changed = max(self.changed, number)
        if number not in self.changes:
            self.changes = tuple(sorted((*self.changes, number)))[-_CHANGES:]


class Files:
    """The files of a conversation."""

    def __init__(self) -> None:
        self._files: dict[str, _File] = {}
        self._count = 0
        self.newest_change = 0
        # By the name in its folder, files with an absolute path; by relative path, which of them end with it.
        self._absolute: dict[str, list[_File]] = {}
        self._ends_with: dict[str, list[_File]] = {}
        # What is told of each path, and all of that, those touched last first; paths that something happened
        # to since are to be looked at again.
        self._rows: dict[str, _Row] = {}
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
        file.change_at(number)
        self.newest_change = max(self.newest_change, number)

    def moved(self, old: str, new: str, number: int) -> None:
        """A file has another path now."""
        before, after = self._file(old), self._file(new)
        if before is None or after is None or before is after:
            return
        self._gone(before)
        after.change, after.source = "moved", before.path
        after.created, after.read = before.created, max(before.read, after.read)
        after.changes = tuple(sorted({*before.changes, *after.changes}))[-_CHANGES:]
        after.change_at(number)
        self.newest_change = max(self.newest_change, number)

    def perhaps(self, path: str, number: int) -> None:
        """A command may have changed a file, which is no news of one that was changed."""
        if (file := self._file(path)) and file.change in ("", "listed", "perhaps"):
            file.change, file.changed = "perhaps", number
            self.newest_change = max(self.newest_change, number)

    def listed(self, path: str, number: int) -> None:
        """Git names a file as changed; who changed it, and when, is not known."""
        if (file := self._file(path)) and file.change in ("", "perhaps"):
            file.change, file.changed = "listed", number

    def read(self, path: str, number: int) -> None:
        """A file was read, whole or in part."""
        if file := self._file(_RANGE.sub("", path)):
            file.read = max(file.read, number)

    def states(self) -> tuple[FileState, ...]:
        """Every file once, those touched last first; a relative path is the absolute one that ends with
        it."""
        touched, self._touched = self._touched, set()
        before = [self._rows.pop(path) for path in touched if path in self._rows]
        told = {path: _row(path, files) for path in touched if (files := self._told_as(path))}
        self._rows |= told
        if len(touched) > _FEW:
            self._sorted = sorted(self._rows.values())
        else:
            for row in before:
                del self._sorted[bisect_left(self._sorted, row[:2])]
            for row in told.values():
                insort(self._sorted, row)
        return tuple(state for _, _, state in self._sorted)

    def _told_as(self, path: str) -> list[_File]:
        """The files that are told under a path, in the order in which they were first named: itself, and
        relative ones that end no other absolute path."""
        file = self._files.get(path)
        if file is None or (not path.startswith("/") and len(self._ends_with.get(path, ())) == 1):
            return []
        if not path.startswith("/"):
            return [file]
        relative = (self._files[end] for end in _ends(path) if self._ends_with.get(end) == [file])
        return sorted([file, *relative], key=lambda one: one.number)

    def _new(self, path: str) -> _File:
        self._count += 1
        file = self._files[path] = _File(path, self._count)
        name = posixpath.basename(path)
        if not path.startswith("/"):
            end = "/" + path
            if same := [other for other in self._absolute.get(name, ()) if other.path.endswith(end)]:
                self._ends_with[path] = same
        else:
            self._absolute.setdefault(name, []).append(file)
            for end in _ends(path):
                if end in self._files:
                    self._ends_with.setdefault(end, []).append(file)
                    self._touch(end)
        return file

    def _gone(self, file: _File) -> None:
        path = file.path
        self._touch(path)
        del self._files[path]
        if not path.startswith("/"):
            self._ends_with.pop(path, None)
            return
        self._absolute[posixpath.basename(path)].remove(file)
        for end in _ends(path):
            if end in self._ends_with:
                self._ends_with[end].remove(file)
                self._touch(end)

    def _touch(self, path: str) -> None:
        self._touched.add(path)
        self._touched.update(file.path for file in self._ends_with.get(path, ()))

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
        file = self._files.get(name) or self._new(name)
        self._touch(name)
        return file


_Row: TypeAlias = tuple[int, int, FileState]
"""What a list of files is sorted by: the message that one was touched in last, the newest first, and its
number; and the file."""


def _row(path: str, files: Sequence[_File]) -> _Row:
    """Files that are the same, as one."""
    state: FileState | None = None
    for file in files:
        one = FileState(path, file.change, file.changed, file.created, file.read, file.source, file.changes)
        state = one if state is None else _joined(state, one)
    assert state is not None
    return -state.message, files[0].number, state


def _ends(path: str) -> Iterator[str]:
    """The relative paths that an absolute one ends with."""
    at = path.find("/")
    while at >= 0:
        yield path[at + 1 :]
        at = path.find("/", at + 1)


def _joined(first: FileState, second: FileState) -> FileState:
    # What git lists is no news of a file whose change was seen.
    newer = second if second.changed >= first.changed else first
    for one, other in ((first, second), (second, first)):
        if one.change in ("listed", "perhaps") and other.change not in ("", "listed", "perhaps"):
            newer = other
    return FileState(
        first.path, newer.change, newer.changed, max(first.created, second.created), max(first.read,
        second.read), newer.source, tuple(sorted({*first.changes, *second.changes}))[-_CHANGES:],
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
