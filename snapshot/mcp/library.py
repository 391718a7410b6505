"""Exact texts by their pages: archives in a file, a folder or a store, and folders of pages.

What is there is looked up at each question, since a conversation goes on while it is asked about.
"""

from __future__ import annotations

import re
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from snapshot import Archive, ArchiveError, SnapshotError
from snapshot._files import read_regular
from snapshot.pages.folder import read_source
from snapshot.pages.manifest import MANIFEST, load_manifest

__all__ = ["Book", "Hit", "Library"]

_MOST_BYTES = 1 << 29
_AROUND = 80
# Application ids of the databases that hold archives: a session store's and a proxy's, with what lists them.
_STORES = {
    0x534E4150: (
        "SELECT c.name, a.data FROM archives a JOIN nodes n ON n.seq = a.node "
        "JOIN conversations c ON c.key = n.conversation ORDER BY a.node DESC"
    ),
    0x534E5058: "SELECT conversation, data FROM archives ORDER BY made DESC",
}


@dataclass(frozen=True, slots=True)
class Hit:
    """A place where words stand: page (0: on none), and the text around them."""

    page: int
    text: str


class Text(Protocol):
    """What is asked of an archive, or of a folder of pages."""

    @property
    def page_count(self) -> int:
        """How many pages there are."""
        ...

    def page(self, number: int) -> str:
        """The text of a page, from 1."""
        ...

    def message(self, number: int) -> str:
        """The text of a message, by its number in the conversation, from 1."""
        ...

    def run(self, number: int, message: int | None, /) -> str:
        """The run of random characters that a mark on a page stands for, by its number, from 1, and that of
        the message which the page stands in."""
        ...

    def hits(self, words: str, most: int) -> Iterator[Hit]:
        """Places where words stand."""
        ...


@dataclass(frozen=True, slots=True)
class Book:
    """A text with the name it is asked for by."""

    name: str
    text: Text


class _Archived:
    """An archive's text."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    @property
    def page_count(self) -> int:
        return self._archive.page_count

    def page(self, number: int) -> str:
        return self._archive.page(number)

    def message(self, number: int) -> str:
        return self._archive.message(number)

    def run(self, number: int, message: int | None, /) -> str:
        return self._archive.run(number, message)

    def hits(self, words: str, most: int) -> Iterator[Hit]:
        for found in self._archive.search(words, most=most):
            yield Hit(found.page, found.text)


class _Folder:
    """The text of a folder of pages."""

    def __init__(self, folder: Path) -> None:
        manifest = load_manifest(folder)
        self._source = read_source(folder, manifest)
        self._text = self._source.text
        self._runs = manifest.source.runs
        self._spans = [(entry.start, entry.stop) for entry in manifest.pages]

    @property
    def page_count(self) -> int:
        return len(self._spans)

    def page(self, number: int) -> str:
        if not 1 <= number <= len(self._spans):
            raise ArchiveError(f"there are pages 1 to {len(self._spans)}, not {number}")
        start, stop = self._spans[number - 1]
        return self._text[start:stop]

    def message(self, number: int) -> str:
        raise ArchiveError(f"a folder of pages does not tell message {number} from others: ask for a page")

    def run(self, number: int, _message: int | None, /) -> str:
        if not 1 <= number <= len(self._runs):
            raise ArchiveError(
                f"the pages have {len(self._runs)} runs of random characters, not run {number}"
            )
        return self._runs[number - 1]

    def hits(self, words: str, most: int) -> Iterator[Hit]:
        for match in re.finditer(re.escape(words), self._text, re.IGNORECASE):
            at = match.start()
            page = next((n for n, (start, stop) in enumerate(self._spans, 1) if start <= at < stop), 0)
            yield Hit(page, self._text[max(0, at - _AROUND) : match.end() + _AROUND])
            most -= 1
            if not most:
                return
        for number, run in enumerate(self._runs, 1):
            if words.lower() in run.lower():
                yield Hit(self._page_of(number), f"run {number}: {run}")
                most -= 1
                if not most:
                    return

    def _page_of(self, run: int) -> int:
        """The first page with the mark of a run; 0 where its lines are said by a reference."""
        at = self._source.place_of_run(run)
        return next((n for n, (start, stop) in enumerate(self._spans, 1) if start <= at < stop), 0)


class Library:
    """All texts at a path: an archive, a folder of pages or of archives, or a store.

    Args:
        path: where they are.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def books(self) -> list[Book]:
        """The texts, the newest first.

        Raises:
            SnapshotError: there is nothing of the kind.
        """
        path = self._path
        try:
            if path.is_dir():
                return self._in_folder()
            if not path.exists():
                raise SnapshotError(f"{path}: there is nothing")
            with path.open("rb") as file:
                head = file.read(100)
            if head.startswith(b"SQLite format 3\0"):
                return self._in_store(int.from_bytes(head[68:72], "big"))
            return [_book(path)]
        except OSError as error:
            raise SnapshotError(f"{path}: cannot be read ({error.strerror or error})") from error

    def _in_folder(self) -> list[Book]:
        if (self._path / MANIFEST).is_file():
            return [Book(self._path.name or "pages", _Folder(self._path))]
        found: list[Book] = []
        for path in sorted(self._path.iterdir(), key=lambda item: item.stat().st_mtime, reverse=True):
            try:
                if path.is_dir() and (path / MANIFEST).is_file():
                    found.append(Book(path.name, _Folder(path)))
                elif path.suffix == ".json" and path.is_file():
                    found.append(_book(path))
            except SnapshotError:
                continue  # other files may stand beside them
        if not found:
            raise SnapshotError(f"{self._path}: no archive in it, and no pages")
        return found

    def _in_store(self, application: int) -> list[Book]:
        listing = _STORES.get(application)
        if listing is None:
            raise SnapshotError(f"{self._path}: a database, but no store of sessions, and no proxy's")
        uri = f"file:{quote(str(self._path.absolute()))}?mode=ro"
        try:
            with closing(sqlite3.connect(uri, uri=True, timeout=10)) as connection:
                rows = connection.execute(listing).fetchall()
        except sqlite3.Error as error:
            raise SnapshotError(f"{self._path}: cannot be read ({error})") from error
        found: list[Book] = []
        for name, data in rows:
            try:
                archive = _unpacked(data)
            except (ArchiveError, zlib.error):
                continue
            found.append(Book(f"{name}/{archive.id}", _Archived(archive)))
        if not found:
            raise SnapshotError(f"{self._path}: no archive in it")
        return found


def _book(path: Path) -> Book:
    archive = _parsed(read_regular(path, most=_MOST_BYTES))
    return Book(archive.id, _Archived(archive))


@lru_cache(maxsize=32)
def _parsed(data: bytes) -> Archive:
    return Archive.from_json(data)


@lru_cache(maxsize=32)
def _unpacked(data: bytes) -> Archive:
    return Archive.from_json(zlib.decompress(data))
