"""Sessions that an agent keeps in a database: listed, and given in the form of its export.

A session in a database is named `FILE#ID`. The one form that is known is opencode's: tables `session`,
`message` and `part`, the latter two with a column of JSON. Databases are opened read-only.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from snapshot.errors import SnapshotError
from snapshot.transcripts.io.json_values import escaped, parse, plain

__all__ = ["Row", "exported", "rows_of"]

_WAIT = 2.0  # seconds for a writer to come to an end


@dataclass(frozen=True, slots=True)
class Row:
    """A session in a database: its name (`FILE#ID`), its id, the time of its last change in seconds."""

    name: str
    id: str
    time: float


def rows_of(path: Path) -> Iterator[Row]:
    """The sessions of a database; none where it is damaged, or no database of a known form."""
    try:
        with closing(_opened(path)) as store:
            for key, time in store.execute("SELECT id, time_updated FROM session"):
                yield Row(f"{path}#{key}", str(key), float(time or 0) / 1000)
    except (sqlite3.Error, ValueError):
        return


def size_of(name: str) -> tuple[int, bytes]:
    """Bytes of a session's JSON in the database, and the first of them; 0 where it cannot be read."""
    found = _split(name)
    if found is None:
        return 0, b""
    path, key = found
    try:
        with closing(_opened(path)) as store:
            size = 0
            for table in ("message", "part"):
                row = store.execute(f"SELECT sum(length(data)) FROM {table} WHERE session_id = ?", (key,))
                size += row.fetchone()[0] or 0
            first = store.execute(
                "SELECT data FROM message WHERE session_id = ? ORDER BY time_created, id LIMIT 2", (key,)
            ).fetchall()
            folder = store.execute("SELECT directory FROM session WHERE id = ?", (key,)).fetchone()
    except sqlite3.Error:
        return 0, b""
    head = escaped({"directory": str(folder[0]) if folder else ""})
    return size, "\n".join((head, *(str(row[0]) for row in first))).encode("utf-8", "replace")


def exported(name: str) -> bytes | None:
    """The session `FILE#ID` as opencode exports it; None where `name` is no such thing.

    Raises:
        SnapshotError: the database cannot be read, or has no such session.
    """
    found = _split(name)
    if found is None:
        return None
    path, key = found
    try:
        with closing(_opened(path)) as store:
            info = _session(store, key)
            parts: dict[str, list[object]] = {}
            for row in store.execute(
                "SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY time_created, id", (key,)
            ):
                value = {"id": row[0], "messageID": row[1], "sessionID": key, **_value(row[2])}
                parts.setdefault(str(row[1]), []).append(value)
            messages = [
                {
                    "info": {"id": row[0], "sessionID": key, **_value(row[1])},
                    "parts": parts.get(str(row[0]), []),
                }
                for row in store.execute(
                    "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", (key,)
                )
            ]
    except sqlite3.Error as error:
        raise SnapshotError(f"{path}: {error}") from error
    return escaped(plain({"info": info, "messages": messages})).encode()


def _session(store: sqlite3.Connection, key: str) -> dict[str, object]:
    store.row_factory = sqlite3.Row
    row = store.execute("SELECT * FROM session WHERE id = ?", (key,)).fetchone()
    store.row_factory = None
    if row is None:
        raise SnapshotError(f"no session {key!r} in this database; `snapshot sessions` lists them")
    columns = dict(zip(row.keys(), tuple(row), strict=True))
    time = {"created": columns.get("time_created"), "updated": columns.get("time_updated")}
    found: dict[str, object] = {"id": key, "time": time}
    found |= {name: columns[name] for name in ("title", "directory") if columns.get(name)}
    if columns.get("revert"):  # where the user went back to: what follows is not sent
        found["revert"] = _value(columns["revert"])
    return found


def _value(text: object) -> dict[str, object]:
    """What a column of JSON holds; one that is damaged is told as such, and the others are read."""
    try:
        value = parse(str(text))
    except (ValueError, RecursionError):
        value = None
    return cast("dict[str, object]", value) if isinstance(value, dict) else {"type": "unreadable row"}


def _opened(path: Path) -> sqlite3.Connection:
    # A path is percent-encoded by `as_uri`, so that no sign in it is taken for a part of the URI.
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=_WAIT)


def _split(name: str) -> tuple[Path, str] | None:
    file, mark, key = name.rpartition("#")
    if not mark or not key or not file.endswith(".db"):
        return None
    path = Path(file)
    return (path, key) if path.is_file() else None
