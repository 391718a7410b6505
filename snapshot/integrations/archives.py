"""Where archives are kept between calls: in memory, or in an SQLite file.

An archive is found by what it replaced: its key is that of the last message that the compaction changed, in
the chain of messages (`snapshot.compaction.chain`). So no conversation needs a name, none gets another's
archive, and one that branches off goes on from the same pages.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from os import PathLike

from snapshot.compaction import Archive
from snapshot.errors import SnapshotError

__all__ = ["Archives", "SqliteArchives"]

_ASKED = 500  # keys that one statement names
_SECONDS = 10  # to wait for another process


class Archives:
    """Archives in memory, those that were not asked for longest dropped first.

    Args:
        most: how many are kept.
    """

    def __init__(self, most: int = 256) -> None:
        self._most = most
        self._held: OrderedDict[str, Archive] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, keys: Sequence[str]) -> Archive | None:
        """The archive of the longest of these beginnings (shortest first), None where there is none."""
        with self._lock:
            for key in reversed(keys):
                if key in self._held:
                    self._held.move_to_end(key)
                    return self._held[key]
        return None

    def keep(self, key: str, archive: Archive) -> None:
        """Keep an archive under the beginning that it replaced."""
        with self._lock:
            self._held[key] = archive
            self._held.move_to_end(key)
            while len(self._held) > self._most:
                self._held.popitem(last=False)


class SqliteArchives(Archives):
    """Archives in an SQLite file, for processes that come and go and for several workers at once.

    Args:
        path: of the file; it is made where it is not there, for its owner alone to read.
        most: how many are kept.

    Raises:
        SnapshotError: the file cannot be opened, or is no such file.
    """

    def __init__(self, path: str | PathLike[str], most: int = 10_000) -> None:
        super().__init__(most)
        self._path = str(path)
        with self._opened() as database:
            database.execute("pragma journal_mode = wal")
            database.execute(
                "create table if not exists archives (key text primary key, body text not null, "
                "used integer not null default (unixepoch()))"
            )
        _for_owner(self._path)

    def find(self, keys: Sequence[str]) -> Archive | None:
        """As `Archives.find`."""
        with self._opened() as database:
            for stop in range(len(keys), 0, -_ASKED):
                some = keys[max(0, stop - _ASKED) : stop]
                marks = ",".join("?" * len(some))
                rows = database.execute(f"select key from archives where key in ({marks})", some).fetchall()
                there = {key for (key,) in rows}
                found = next((key for key in reversed(some) if key in there), None)
                if found is not None:
                    database.execute("update archives set used = unixepoch() where key = ?", (found,))
                    query = "select body from archives where key = ?"
                    row = database.execute(query, (found,)).fetchone()
                    return None if row is None else Archive.from_json(row[0])
        return None

    def keep(self, key: str, archive: Archive) -> None:
        """As `Archives.keep`."""
        with self._opened() as database:
            database.execute(
                "insert or replace into archives (key, body) values (?, ?)", (key, archive.to_json())
            )
            database.execute(
                "delete from archives where key in "
                "(select key from archives order by used desc, rowid desc limit -1 offset ?)",
                (self._most,),
            )

    @contextmanager
    def _opened(self) -> Generator[sqlite3.Connection]:
        """A connection of one thread's own, its work committed at the end."""
        try:
            with closing(sqlite3.connect(self._path, timeout=_SECONDS)) as database, database:
                yield database
        except sqlite3.Error as error:
            raise SnapshotError(f"{self._path}: {error}; name another file for archives") from error


def _for_owner(path: str) -> None:
    from pathlib import Path

    file = Path(path)
    if file.is_file():
        file.chmod(0o600)
