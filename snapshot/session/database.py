"""The file that a workspace's sessions are in: SQLite, write-ahead log, one writer at a time.

Several processes may have it open. Whoever writes takes the writer's place first (`BEGIN IMMEDIATE`), so that
two that read before they write wait for each other and never lock each other out. A transaction that is not
over when its process dies never happened. The files are the user's alone.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from snapshot.errors import SessionDamaged, SessionError

__all__ = ["SCHEMA_VERSION", "Database", "private_folder"]

SCHEMA_VERSION = 1
_APPLICATION = 0x534E4150  # "SNAP", so that another program's file is told from ours
_MAGIC, _HEADER = b"SQLite format 3\0", 100  # what a file starts with, and the bytes of its header
_PATIENCE = 30.0  # seconds to wait for another process's transaction

_TABLES = """
CREATE TABLE conversations (
  key INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  agent TEXT NOT NULL,
  format TEXT NOT NULL,
  created TEXT NOT NULL,
  branch TEXT NOT NULL,
  origin TEXT NOT NULL DEFAULT '',
  UNIQUE (name, agent)
);
CREATE TABLE nodes (
  seq INTEGER PRIMARY KEY,
  conversation INTEGER NOT NULL REFERENCES conversations,
  id TEXT NOT NULL,
  parent INTEGER REFERENCES nodes,
  depth INTEGER NOT NULL,
  jump INTEGER NOT NULL,
  checkpoint INTEGER REFERENCES nodes,
  kind TEXT NOT NULL,
  role TEXT NOT NULL,
  time TEXT NOT NULL,
  body TEXT NOT NULL,
  origin TEXT NOT NULL DEFAULT '',
  UNIQUE (conversation, id)
);
CREATE INDEX nodes_in_order ON nodes (conversation, seq, kind);
CREATE TABLE branches (
  conversation INTEGER NOT NULL REFERENCES conversations,
  name TEXT NOT NULL,
  leaf INTEGER REFERENCES nodes,
  revision INTEGER NOT NULL,
  model TEXT NOT NULL,
  PRIMARY KEY (conversation, name)
) WITHOUT ROWID;
CREATE TABLE labels (
  conversation INTEGER NOT NULL REFERENCES conversations,
  name TEXT NOT NULL,
  node INTEGER NOT NULL REFERENCES nodes,
  note TEXT NOT NULL,
  PRIMARY KEY (conversation, name)
) WITHOUT ROWID;
CREATE TABLE archives (node INTEGER PRIMARY KEY REFERENCES nodes, data BLOB NOT NULL);
CREATE TABLE blobs (digest TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;
"""


class Database:
    """A connection. Use one in each thread.

    Attributes:
        path: the file.
        read_only: why nothing can be written, "" if it can.
    """

    def __init__(self, path: Path, *, write: bool = True, create: bool = False) -> None:
        """Open `path`; `create` makes it, and its folder, if it is not there.

        Raises:
            SessionError: it is not there, not a store, or cannot be opened.
        """
        self.path = path
        self.read_only = "" if write else "it was opened for reading"
        if create:
            _make(path)
        try:
            _refuse_foreign(path)
            if write and path.stat().st_mode & 0o077:
                path.chmod(0o600)
        except OSError as error:
            raise SessionError(f"{path}: cannot be opened ({error.strerror})") from error
        try:
            self._connection = self._connect(write)
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise self._told(error) from error
        try:
            self._take_in()
        except BaseException:
            self.close()
            raise

    def _connect(self, write: bool) -> sqlite3.Connection:
        uri = f"file:{quote(str(self.path.absolute()))}?mode={'rw' if write else 'ro'}"
        connection = sqlite3.connect(uri, uri=True, timeout=_PATIENCE, isolation_level=None)
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except BaseException as error:
            connection.close()
            # Where not even the log's index can be made, what is in the file itself can be read.
            if write or not isinstance(error, sqlite3.OperationalError):
                raise
            connection = sqlite3.connect(f"{uri}&immutable=1", uri=True, isolation_level=None)
        return connection

    def _take_in(self) -> None:
        version = self.value("PRAGMA user_version")
        if version > SCHEMA_VERSION:
            self.read_only = f"its schema is version {version}, this version writes {SCHEMA_VERSION}"
        self.run("PRAGMA synchronous = FULL")  # the last completed turn survives a power cut, too

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction that writes: all of it, or on any error nothing.

        Raises:
            SessionDamaged: the store is read-only.
        """
        if self.read_only:
            raise SessionDamaged(f"{self.path}: read-only: {self.read_only}")
        self.run("BEGIN IMMEDIATE")
        try:
            yield
            self.run("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self.run("ROLLBACK")
            raise

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Several reads that see one state, whatever others write meanwhile."""
        if self._connection.in_transaction:
            yield
            return
        self.run("BEGIN")
        try:
            yield
        finally:
            self.run("ROLLBACK")

    def run(self, statement: str, *values: object) -> list[Any]:
        """Execute a statement; its rows, as tuples.

        Raises:
            SessionError: another process has been writing all the time, or the disk is full.
            SessionDamaged: the file is damaged.
        """
        try:
            return self._connection.execute(statement, values).fetchall()
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise self._told(error) from error

    def value(self, statement: str, *values: object) -> Any:
        """The first column of the first row, None where there is none."""
        return next((row[0] for row in self.run(statement, *values)), None)

    def _told(self, error: sqlite3.DatabaseError | UnicodeDecodeError) -> SessionError:
        """The library's error in one line; one that quotes a damaged name cannot be decoded."""
        if isinstance(error, sqlite3.OperationalError):
            if "locked" in str(error) or "busy" in str(error):
                return SessionError(f"{self.path}: another process has been writing for too long; try again")
            return SessionError(f"{self.path}: cannot be used ({error})")
        return SessionDamaged(
            f"{self.path}: not a session store, or damaged ({error}); "
            "`snapshot session salvage` writes what can be read to a new file"
        )


def _refuse_foreign(path: Path) -> None:
    """Look at a file's header before anything is done to it: what is no store of ours is left as it is.

    SQLite itself would change another program's database: end its transactions, and take in its log.

    Raises:
        SessionError: it is not there, or no session store.
        OSError: it cannot be read.
    """
    if not path.is_file():
        if path.exists():
            raise SessionError(f"{path}: is no file; name the file of a store")
        raise SessionError(f"{path}: no such store; `snapshot session import` makes one")
    with path.open("rb") as file:
        header = file.read(_HEADER)
    if not header.startswith(_MAGIC) or len(header) < _HEADER:
        raise SessionDamaged(
            f"{path}: not a session store, or damaged (file is not a database); "
            "`snapshot session salvage` writes what can be read to a new file"
        )
    if int.from_bytes(header[68:72], "big") != _APPLICATION:
        raise SessionError(f"{path}: a database, but not a session store; name another file")


def private_folder(path: Path) -> None:
    """Make a folder that is the user's alone, and those above it that are not there."""
    for folder in (*reversed(path.parents), path):
        if not folder.exists():
            folder.mkdir(mode=0o700, exist_ok=True)


def _make(path: Path) -> None:
    """Make the file if it is not there. Whoever comes first makes it, whole, and the others take that one."""
    try:
        if path.is_dir():
            raise SessionError(f"{path}: is a folder; name a file for the store")
        if path.exists():
            return
        private_folder(path.parent)
        handle, name = tempfile.mkstemp(prefix=".", suffix=".part", dir=path.parent)  # the user's alone
        os.close(handle)
        try:
            with closing(sqlite3.connect(name, isolation_level=None)) as connection:
                connection.execute("PRAGMA journal_mode = MEMORY")
                connection.executescript(_TABLES)
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
                # Last, so that all is in the file itself and nothing in a log that is left behind.
                connection.execute("PRAGMA journal_mode = WAL")
            try:
                os.link(name, path)
            except FileExistsError:
                pass
            except OSError:  # a file system without links
                Path(name).replace(path)
        finally:
            for suffix in ("", "-wal", "-shm"):
                Path(name + suffix).unlink(missing_ok=True)
    except (OSError, ValueError, sqlite3.DatabaseError) as error:
        raise SessionError(f"{path}: cannot be made ({getattr(error, 'strerror', None) or error})") from error
