"""A repaired copy of a damaged store, in a new file; the damaged one is only read.

What can be read is kept under its id. A node that cannot be read is left out, and those behind it follow
what it followed; where that is not known either, they start a tree of their own. Calls without a result get
one that says so, results without a call go. Nothing of this is silent.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from types import UnionType
from typing import Any

from snapshot.errors import ArchiveError, SessionDamaged, SessionError, SnapshotError
from snapshot.messages import Diagnostic
from snapshot.requests.tool_pairing import OpenCalls
from snapshot.serialization import from_json
from snapshot.session.checkpoint import Checkpoint
from snapshot.session.database import Database, private_folder
from snapshot.session.history import NAME
from snapshot.session.rows import Rows, now
from snapshot.session.store import Store
from snapshot.session.tree import ROLES, Node, misplaced, on_path
from snapshot.transcripts.io.json_values import parse

__all__ = ["salvage"]

_TABLES: dict[str, dict[str, type | UnionType]] = {
    "conversations": {
        "key": int,
        "name": str,
        "agent": str,
        "format": str,
        "created": str,
        "branch": str,
        "origin": str,
    },
    "nodes": {
        "seq": int,
        "conversation": int,
        "id": str,
        "parent": int | None,
        "kind": str,
        "role": str,
        "time": str,
        "body": str,
        "origin": str,
    },
    "branches": {"conversation": int, "name": str, "leaf": int | None, "model": str},
    "labels": {"conversation": int, "name": str, "node": int, "note": str},
}


def salvage(source: Path, target: Path) -> list[Diagnostic]:
    """Write what can be read of the store `source` to `target`, a new file; what was repaired.

    Raises:
        SessionError: `target` is there already, or nothing can be read.
    """
    if os.path.lexists(target):
        raise SessionError(f"{target}: is there already; name a new file")
    private_folder(target.absolute().parent)
    found: list[Diagnostic] = []
    with tempfile.TemporaryDirectory(prefix=".", suffix=".part", dir=target.absolute().parent) as folder:
        part = Path(folder) / "new"
        with (
            closing(Database(_whole(source, Path(folder), found), write=False)) as old,
            Store(part, create=True) as store,
            store.database.writing(),
        ):
            _copy(old, store, found)
        part.replace(target)
    return found


def _whole(source: Path, folder: Path, found: list[Diagnostic]) -> Path:
    """The file itself, or where it was cut off, a copy that is as long as it says, without which SQLite
    opens nothing."""
    try:
        with source.open("rb") as file:
            head = file.read(100)
            size = file.seek(0, os.SEEK_END)
    except OSError:
        return source
    page = int.from_bytes(head[16:18], "big")
    whole = (65536 if page == 1 else page) * int.from_bytes(head[28:32], "big")
    if not head.startswith(b"SQLite format 3") or size >= whole:
        return source
    found.append(Diagnostic("truncated", str(source), f"{whole - size:,} bytes are missing at its end"))
    copy = folder / "old"
    for suffix in ("", "-wal"):
        if source.with_name(source.name + suffix).exists():
            shutil.copyfile(source.with_name(source.name + suffix), f"{copy}{suffix}")
    os.truncate(copy, whole)
    return copy


def _copy(old: Database, store: Store, found: list[Diagnostic]) -> None:
    tables = {table: list(_rows_of(old, table, found)) for table in _TABLES}
    blobs = dict(_blobs(old, found))
    known = {row["key"] for row in tables["conversations"]}
    for key in sorted({row["conversation"] for row in tables["nodes"]} - known):
        found.append(Diagnostic("missing-conversation", str(key), f"its name is lost; it is lost-{key} now"))
        lost = {"name": f"lost-{key}", "agent": "main", "format": "", "branch": "main"}
        tables["conversations"].append({"key": key, **lost, "created": now(), "origin": ""})
    for entry in tables["conversations"]:
        mine = {
            table: [row for row in tables[table] if row["conversation"] == entry["key"]]
            for table in ("nodes", "branches", "labels")
        }
        rows = store.start(**{name: entry[name] for name in entry if name != "key"})
        copy = _Copy(old, rows, blobs, f"{entry['name']}/{entry['agent']}", found)
        for row in sorted(mine["nodes"], key=lambda row: row["seq"]):
            copy.node(row)
        copy.pointers(entry["branch"], mine["branches"], mine["labels"])


@dataclass(slots=True)
class _Copy:
    """One history on its way into the new file.

    Attributes:
        new: by the number of an old node, what stands for it now; None for nothing.
        waiting: open calls after a new node, where there are any.
        parents: numbers of new nodes that something follows.
        cut: whether something lost what it followed.
    """

    old: Database
    rows: Rows
    blobs: dict[str, bytes]
    name: str
    found: list[Diagnostic]
    new: dict[int, Node | None] = field(default_factory=dict)
    ids: set[str] = field(default_factory=set)
    waiting: dict[int, Counter[str]] = field(default_factory=dict)
    parents: set[int] = field(default_factory=set)
    made: list[Node] = field(default_factory=list)
    cut: bool = False

    def node(self, row: dict[str, Any]) -> None:
        """Copy a node, or say why not."""
        parent: Node | None = None
        if row["parent"] is not None:
            if row["parent"] >= row["seq"] or row["parent"] not in self.new:
                self._say("missing-parent", row, "what it followed is gone; a tree of its own starts with it")
                self.cut = True
            parent = self.new.get(row["parent"]) if row["parent"] < row["seq"] else None
        self.new[row["seq"]] = parent  # what stands for it if it is left out
        try:
            made = self._made(row, parent)
        except (SnapshotError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            self._say("unreadable", row, f"left out: it cannot be read ({error})")
            return
        if made is not None:
            self.new[row["seq"]] = made

    def pointers(self, current: str, branches: list[dict[str, Any]], labels: list[dict[str, Any]]) -> None:
        """Copy branches and labels; a branch whose end is gone takes the newest node."""
        named = {row["name"] for row in branches}
        if current not in named:
            self.found.append(Diagnostic("missing-branch", self.name, f"branch {current} is gone; made anew"))
            branches = [*branches, {"name": current, "leaf": -1 if self.made else None, "model": ""}]
        leaves = {row["name"]: self.new.get(row["leaf"]) for row in branches}
        ends = {leaf.seq for leaf in leaves.values() if leaf}
        loose = [node for node in self.made if node.seq not in self.parents and node.seq not in ends]
        for row in branches:
            leaf = leaves[row["name"]]
            if leaf is None and row["leaf"] is not None:
                self._say("missing-leaf", row | {"id": row["name"]}, "its end is gone; it has another")
                leaf = loose.pop() if loose else next(reversed(self.made), None)
            self.rows.put_branch(row["name"], leaf, model=row["model"])
        for number, node in enumerate(loose if self.cut else (), 1):
            self.rows.put_branch(f"recovered-{number}", node, model="")
        for row in labels:
            node = self.new.get(row["node"])
            if node is None:
                self._say("label", row | {"id": row["name"]}, "dropped: what it names is gone")
            else:
                self.rows.put_label(row["name"], node, row["note"])

    def _made(self, row: dict[str, Any], parent: Node | None) -> Node | None:
        node_id = row["id"]
        if node_id in self.ids:
            self._say("duplicate-id", row, "a second node with this id; it has a new one")
            node_id = ""
        given = {"node_id": node_id, "origin": row["origin"]}
        if row["kind"] == "checkpoint":
            if parent is None:
                raise ValueError("it has nothing to stand behind")
            made = self._checkpoint(row, parent, given)
        elif row["kind"] == "event":
            parse(row["body"])
            made = self.rows.put(parent, "event", row["body"], time=row["time"], **given)
        elif row["kind"] in ("message", "synthesis"):
            return self._message(row, parent, given)
        else:
            raise ValueError(f"kind {row['kind']!r} is unknown")
        return self._follows(parent, made)

    def _message(self, row: dict[str, Any], parent: Node | None, given: dict[str, str]) -> Node | None:
        message = from_json(json.loads(row["body"]), get=lambda name: self._bytes(row, name))
        if message.role not in ROLES:
            raise ValueError(f"its role {message.role!r} is none")
        if any(misplaced(message)):
            kept = tuple(
                part for part in message.parts if not any(misplaced(replace(message, parts=(part,))))
            )
            self._say("impossible-role", row, f"{len(message.parts) - len(kept)} parts of it left out")
            message = replace(message, parts=kept, raw=())
        waiting = self.waiting.get(parent.seq, Counter[str]()) if parent else Counter[str]()
        if message.role != "tool" and waiting:
            closing = OpenCalls(waiting).closing()
            parent = self._follows(parent, self.rows.put_message(parent, closing))
            count = len(closing.parts)
            self._say("open-call", row, f"{count} calls before it had no result; they have one that says so")
            waiting = Counter[str]()
        pairing = OpenCalls(Counter(waiting))
        if pairing.take(message):
            whole, message = len(message.parts), OpenCalls(waiting).answers_in(message)
            left_out = whole - len(message.parts)
            self._say("orphan-result", row, f"{left_out} results without a call left out")
            if not message.parts:
                return None
        made = self.rows.put_message(parent, message, kind=row["kind"], time=row["time"], **given)
        if pairing.open:
            self.waiting[made.seq] = pairing.open
        return self._follows(parent, made)

    def _checkpoint(self, row: dict[str, Any], parent: Node, given: dict[str, str]) -> Node:
        """The checkpoint, read by the rules of the old file and written by those of the new one."""
        from snapshot.compaction import Archive

        archive = None
        try:
            data = self.old.value("SELECT data FROM archives WHERE node = ?", row["seq"])
            archive = Archive.from_json(zlib.decompress(data)) if data else None
        except (ArchiveError, SessionDamaged, zlib.error) as error:
            self._say("archive", row, f"its archive is left out: {error}")
        checkpoint = Checkpoint.from_json(json.loads(row["body"]), get=self._page, archive=archive)
        if checkpoint.first_kept and not (
            checkpoint.first_kept in self.ids
            and on_path(self.rows.find(checkpoint.first_kept), parent, self.rows.get)
        ):
            raise ValueError("its first kept message is not before it")
        return self.rows.put_checkpoint(parent, checkpoint, time=row["time"], **given)

    def _follows(self, parent: Node | None, made: Node) -> Node:
        if parent is not None:
            self.parents.add(parent.seq)
            if made.kind in ("event", "checkpoint") and parent.seq in self.waiting:
                self.waiting[made.seq] = self.waiting[parent.seq]
        self.ids.add(made.id)
        self.made.append(made)
        return made

    def _page(self, name: str) -> bytes:
        if name not in self.blobs:
            raise ValueError("one of its pages is gone")
        return self.blobs[name]

    def _bytes(self, row: dict[str, Any], name: str) -> bytes:
        if name not in self.blobs:
            self._say("bytes", row, "the bytes of an image or file in it are gone")
        return self.blobs.get(name, b"")

    def _say(self, kind: str, row: dict[str, Any], note: str) -> None:
        self.found.append(Diagnostic(kind, f"{self.name} {row['id']}", note))


def _rows_of(old: Database, table: str, found: list[Diagnostic]) -> Iterator[dict[str, Any]]:
    """The rows of a table that can be read and make sense."""
    types = _TABLES[table]
    for row in _read(old, table, ", ".join(types), found):
        value = dict(zip(types, row, strict=True))
        named_well = table != "conversations" or all(NAME.fullmatch(str(name)) for name in row[1:3])
        if all(isinstance(item, kind) for item, kind in zip(row, types.values(), strict=True)) and named_well:
            yield value
        else:
            found.append(Diagnostic("garbage", table, f"row {row[0]!r} makes no sense; left out"))


def _blobs(old: Database, found: list[Diagnostic]) -> Iterator[tuple[str, bytes]]:
    for digest, data in _read(old, "blobs", "digest, data", found):
        if isinstance(data, bytes) and sha256(data).hexdigest() == digest:
            yield f"sha256:{digest}", data


def _read(old: Database, table: str, columns: str, found: list[Diagnostic]) -> list[Any]:
    """All rows of a table; where the file is damaged, those that can be had one by one."""
    try:
        return old.run(f"SELECT {columns} FROM {table}")
    except SessionDamaged:
        found.append(Diagnostic("file", table, "part of the table cannot be read"))
    if table not in ("nodes", "conversations"):
        return []
    rows: list[Any] = []
    key = "seq" if table == "nodes" else "key"
    for number in range(1, _highest(old, table, key) + 1):
        with suppress(SessionDamaged):
            rows += old.run(f"SELECT {columns} FROM {table} WHERE {key} = ?", number)
    return rows


def _highest(old: Database, table: str, key: str) -> int:
    """The highest number in a table, from whatever knows one."""
    highest = 0
    for statement in (
        f"SELECT max({key}) FROM {table}",
        "SELECT max(leaf) FROM branches",
        "SELECT max(seq) FROM nodes INDEXED BY nodes_in_order",
        "SELECT max(conversation) FROM branches",
    ):
        with suppress(SessionDamaged):
            highest = max(highest, old.value(statement) or 0)
    return highest
