"""The file that keeps archives: SQLite with a write-ahead log, which several processes share.

What is in it: archives (with credentials redacted, see `snapshot.redaction`), figures of conversations, and
windows that providers named. Headers, keys and requests never are.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snapshot import Archive, ArchiveError, SnapshotError

__all__ = ["FIGURES", "ArchiveRow", "Kept", "Store"]

_APPLICATION, _VERSION = 0x534E5058, 1  # "SNPX", so that another program's file is told from ours
_PATIENCE = 30.0  # seconds to wait for another process's transaction
_PARSED = 64  # archives kept in memory
_CONTINUED = 8  # archives kept that go on from one first archive: of the last compactions and branches
_DAY = 86_400.0

FIGURES = ("requests", "compacted", "compactions", "refusals", "before", "after", "least_usd", "most_usd")
"""What is counted of a conversation: requests, those that went out compacted, compactions, refusals for size,
tokens before and after (of compacted ones), and USD saved at the price of a cached and of a new token."""

_COLUMNS = ", ".join(
    f"{name} {'REAL' if 'usd' in name else 'INTEGER'} NOT NULL DEFAULT 0" for name in FIGURES
)

_TABLES = f"""
CREATE TABLE conversations (
  id TEXT PRIMARY KEY, api TEXT NOT NULL, model TEXT NOT NULL, title TEXT NOT NULL DEFAULT '',
  began REAL NOT NULL, latest REAL NOT NULL,
  {_COLUMNS}
) WITHOUT ROWID;
CREATE TABLE archives (
  key TEXT PRIMARY KEY, root TEXT NOT NULL, conversation TEXT NOT NULL, messages INTEGER NOT NULL,
  origin TEXT NOT NULL, pages INTEGER NOT NULL, made REAL NOT NULL, used REAL NOT NULL, data BLOB NOT NULL
);
CREATE INDEX archives_by_root ON archives (root, messages);
CREATE INDEX archives_by_origin ON archives (origin, made);
CREATE INDEX archives_by_conversation ON archives (conversation, made);
CREATE TABLE windows (
  host TEXT NOT NULL, model TEXT NOT NULL, window INTEGER NOT NULL, learned REAL NOT NULL,
  PRIMARY KEY (host, model)
) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Kept:
    """An archive of a conversation, and the key of the first one that it goes on from."""

    archive: Archive
    origin: str


@dataclass(frozen=True, slots=True)
class ArchiveRow:
    """An archive as it is listed: key, conversation, messages it was made from, pages, when (Unix time)."""

    key: str
    conversation: str
    messages: int
    pages: int
    made: float


class Store:
    """The file, for all threads of a process: each has a connection of its own.

    Args:
        path: the file; it is made, with its folder, if it is not there.
        keep_days: days that an archive is kept after its last use.

    Raises:
        SnapshotError: it cannot be opened, or is another program's.
    """

    def __init__(self, path: str | Path, *, keep_days: int = 30) -> None:
        self.path = Path(path)
        self._keep = keep_days * _DAY
        self._local = threading.local()
        self._lock = threading.Lock()
        self._open: list[sqlite3.Connection] = []
        self._parsed: OrderedDict[tuple[str, float], Archive] = OrderedDict()
        try:
            self._make()
            found = self._connection.execute("PRAGMA application_id").fetchone()[0]
            version = self._connection.execute("PRAGMA user_version").fetchone()[0]
        except (OSError, sqlite3.Error) as error:
            self.close()
            reason = getattr(error, "strerror", None) or error
            raise SnapshotError(f"{self.path}: cannot be used to keep archives ({reason})") from error
        if found != _APPLICATION or version != _VERSION:
            self.close()
            what = "is of another version" if found == _APPLICATION else "is not a proxy's store"
            raise SnapshotError(f"{self.path}: {what}; name another file")

    @property
    def _connection(self) -> sqlite3.Connection:
        made = getattr(self._local, "connection", None)
        if made is None:
            made = sqlite3.connect(
                self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
            )
            # What is committed survives the process; a power cut may cost the last second, and no damage.
            made.execute("PRAGMA synchronous = NORMAL")
            self._local.connection = made
            with self._lock:
                self._open.append(made)
        return made

    def _make(self) -> None:
        """Make the file if it is not there, the user's alone; whoever comes first fills it."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        with self.path.open("rb") as file:
            if file.read(16) not in (b"", b"SQLite format 3\0"):
                raise sqlite3.DatabaseError("file is not a database")
        connection = self._connection
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return
        for _ in range(100):  # the mode needs the file to itself for a moment
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                break
            except sqlite3.OperationalError:
                time.sleep(0.02)
        with self._writing():
            if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                for statement in _TABLES.split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                connection.execute(f"PRAGMA user_version = {_VERSION}")

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            for connection in self._open:
                connection.close()
            self._open.clear()

    @contextmanager
    def _writing(self) -> Generator[sqlite3.Connection]:
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    # --- archives

    def knows(self, root: str) -> bool:
        """Whether any conversation with this beginning has an archive."""
        found = self._connection.execute("SELECT 1 FROM archives WHERE root = ? LIMIT 1", (root,))
        return found.fetchone() is not None

    def find(self, root: str, chain: Sequence[str]) -> Kept | None:
        """The newest archive of a conversation, by the keys of its messages."""
        rows = self._connection.execute(
            "SELECT key, messages, origin, made, used FROM archives WHERE root = ? AND messages <= ? "
            "ORDER BY messages DESC, made DESC",
            (root, len(chain)),
        ).fetchall()
        for key, messages, origin, made, used in rows:
            if chain[messages - 1] == key:
                archive = self._parse(key, made)
                if archive is not None:
                    if time.time() - used > _DAY:
                        with self._writing() as connection:
                            connection.execute(
                                "UPDATE archives SET used = ? WHERE key = ?", (time.time(), key)
                            )
                    return Kept(archive, origin)
        return None

    def archive(self, key: str) -> Archive | None:
        """The archive with this key."""
        row = self._connection.execute("SELECT made FROM archives WHERE key = ?", (key,)).fetchone()
        return None if row is None else self._parse(key, row[0])

    def _parse(self, key: str, made: float) -> Archive | None:
        with self._lock:
            known = self._parsed.get((key, made))
            if known is not None:
                self._parsed.move_to_end((key, made))
                return known
        row = self._connection.execute(
            "SELECT data FROM archives WHERE key = ? AND made = ?", (key, made)
        ).fetchone()
        if row is None:
            return None
        try:
            archive = Archive.from_json(zlib.decompress(row[0]))
        except (ArchiveError, zlib.error):
            return None  # as good as lost: the same pages come from the same history
        self._remember(key, made, archive)
        return archive

    def _remember(self, key: str, made: float, archive: Archive) -> None:
        with self._lock:
            self._parsed[key, made] = archive
            while len(self._parsed) > _PARSED:
                self._parsed.popitem(last=False)

    def put(
        self,
        root: str,
        conversation: str,
        chain: Sequence[str],
        archive: Archive,
        *,
        origin: str = "",
        again: bool = False,
    ) -> Archive:
        """Keep the archive of a conversation; the one that is kept.

        `origin` is that of the archive which it goes on from. Another process may have been first with the
        same messages: then its archive stays, unless `again` says that the one which was there was refused.
        """
        now = time.time()
        data = zlib.compress(archive.to_json().encode("utf-8", "surrogatepass"), 1)
        key, origin = chain[-1], origin or chain[-1]
        row = (key, root, conversation, len(chain), origin, archive.page_count, now, now, data)
        with self._writing() as connection:
            verb = "REPLACE" if again else "IGNORE"
            added = connection.execute(
                f"INSERT OR {verb} INTO archives VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row
            ).rowcount
            connection.execute(
                "DELETE FROM archives WHERE used < ? OR (origin = ? AND key NOT IN (SELECT key FROM "
                "archives WHERE origin = ? ORDER BY made DESC LIMIT ?))",
                (now - self._keep, origin, origin, _CONTINUED),
            )
        if not added:
            return self.archive(key) or archive
        self._remember(key, now, archive)
        return archive

    # --- windows that providers named

    def window(self, host: str, model: str) -> int:
        """Tokens of the window that a provider named within the last day, 0 for none."""
        row = self._connection.execute(
            "SELECT window FROM windows WHERE host = ? AND model = ? AND learned > ?",
            (host, model, time.time() - _DAY),
        ).fetchone()
        return row[0] if row else 0

    def learn(self, host: str, model: str, window: int) -> None:
        """Remember the window that a provider named."""
        with self._writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO windows VALUES (?, ?, ?, ?)", (host, model, window, time.time())
            )

    # --- figures

    def count(self, figures: Mapping[tuple[str, str, str, str], Mapping[str, float]]) -> None:
        """Add to what is counted, for each id, API, model and title (the first that is not "" stays)."""
        if not figures:
            return
        now = time.time()
        names = ", ".join(FIGURES)
        added = ", ".join(f"{name} = {name} + excluded.{name}" for name in FIGURES)
        marks = ", ".join("?" * len(FIGURES))
        with self._writing() as connection:
            connection.executemany(
                f"INSERT INTO conversations (id, api, model, title, began, latest, {names}) "
                f"VALUES (?, ?, ?, ?, ?, ?, {marks}) ON CONFLICT (id) DO UPDATE SET {added}, "
                "model = excluded.model, latest = excluded.latest, "
                "title = CASE title WHEN '' THEN excluded.title ELSE title END",
                [
                    (*who, now, now, *(counted.get(name, 0) for name in FIGURES))
                    for who, counted in figures.items()
                ],
            )

    def conversations(self, *, most: int = 200) -> list[dict[str, Any]]:
        """The latest conversations, each with its figures."""
        names = ("id", "api", "model", "title", "began", "latest", *FIGURES)
        rows = self._connection.execute(
            f"SELECT {', '.join(names)} FROM conversations ORDER BY latest DESC LIMIT ?", (most,)
        )
        return [dict(zip(names, row, strict=True)) for row in rows]

    def totals(self) -> dict[str, float]:
        """The figures of all conversations together, and their number as "conversations"."""
        sums = ", ".join(f"coalesce(sum({name}), 0)" for name in FIGURES)
        row = self._connection.execute(f"SELECT count(*), {sums} FROM conversations").fetchone()
        return dict(zip(("conversations", *FIGURES), row, strict=True))

    def archives(self, conversation: str) -> list[ArchiveRow]:
        """The archives of a conversation, the newest first."""
        rows = self._connection.execute(
            "SELECT key, conversation, messages, pages, made FROM archives WHERE conversation = ? "
            "ORDER BY made DESC",
            (conversation,),
        )
        return [ArchiveRow(*row) for row in rows]
