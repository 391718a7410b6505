"""The rows of one agent's history in a conversation: nodes, branches, labels, archives.

Nothing here decides anything; what may be written, and when, is in `snapshot.session.history`. Bytes of
images and files stand apart under their digest, so that pages which a later compaction keeps are there once.
"""

from __future__ import annotations

import json
import secrets
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from snapshot.errors import ArchiveError, SessionDamaged, SessionError
from snapshot.messages import Message
from snapshot.serialization import from_json, to_json
from snapshot.session.checkpoint import Checkpoint
from snapshot.session.database import Database
from snapshot.session.tree import Branch, Kind, Label, Node, jump_of

if TYPE_CHECKING:
    from snapshot.compaction import Archive

__all__ = ["Rows", "now"]

_NODE = "seq, id, parent, depth, jump, checkpoint, kind, role, time"
_TYPES = (int, str, int | None, int, int, int | None, str, str, str)
_UP = f"""
WITH RECURSIVE up AS (
  SELECT * FROM nodes WHERE seq = ?
  UNION ALL
  SELECT n.* FROM up JOIN nodes n ON n.seq = up.parent
  WHERE n.seq < up.seq AND n.conversation = up.conversation AND up.depth > ?
)
SELECT {_NODE} FROM up
"""


def _node(row: tuple[Any, ...]) -> Node:
    """The node of a row. The file's columns take values of any type, so that a damaged one may have others.

    Raises:
        SessionDamaged: a column has a value of another type.
    """
    for name, value, wanted in zip(_NODE.split(", "), row, _TYPES, strict=True):
        if not isinstance(value, wanted):
            raise SessionDamaged(
                f"node {row[1]!r}: its {name} is {value!r:.40}; see `snapshot session check`"
            )
    return Node(*row)


def now() -> str:
    """The time, ISO 8601 in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Rows:
    """The rows with the key `key`. All writing has to stand within `database.writing()`."""

    def __init__(self, database: Database, key: int) -> None:
        self.database, self.key = database, key

    # --- nodes

    def get(self, seq: int) -> Node:
        """The node with this number.

        Raises:
            SessionDamaged: there is none, though another one says so.
        """
        found = self.database.run(f"SELECT {_NODE} FROM nodes WHERE seq = ?", seq)
        if not found:
            raise SessionDamaged(
                f"{self.database.path}: node number {seq} is missing; see `snapshot session check`"
            )
        return _node(found[0])

    def find(self, name: str) -> Node:
        """The node with this id, or the only one whose id starts so.

        Raises:
            SessionError: there is none, or there are several.
        """
        select = f"SELECT {_NODE} FROM nodes WHERE conversation = ? AND id"
        found = self.database.run(f"{select} = ?", self.key, name)
        if not found and name:
            found = self.database.run(
                f"{select} >= ? AND id < ? LIMIT 3", self.key, name, name + "\U0010ffff"
            )
        if not found:
            raise SessionError(f"no message {name!r} in this history; `snapshot session tree` shows the ids")
        if len(found) > 1:
            ids = ", ".join(row[1] for row in found)
            raise SessionError(f"{name!r} is the start of several ids ({ids}): write one more letter")
        return _node(found[0])

    def walk(self, leaf: Node, depth: int = 0) -> list[Node]:
        """The path to `leaf` from its ancestor at `depth` on, that one included.

        Where the path is broken, what is behind the break.
        """
        return [_node(row) for row in self.database.run(_UP, leaf.seq, depth)][::-1]

    def ascend(self, node: Node | None) -> Iterator[Node]:
        """The node, its parent, and so on."""
        while node is not None:
            yield node
            older = node.parent is not None and node.parent < node.seq
            node = self.get(node.parent) if older and node.parent is not None else None

    def nodes(self) -> Iterator[Node]:
        """All nodes, the oldest first."""
        statement = f"SELECT {_NODE} FROM nodes WHERE conversation = ? ORDER BY seq"
        for row in self.database.run(statement, self.key):
            yield _node(row)

    def body(self, node: Node) -> str:
        """JSON of what the node holds."""
        return self.database.value("SELECT body FROM nodes WHERE seq = ?", node.seq)

    def origin(self, node: Node) -> str:
        """JSON of the entry that the node was imported from, "" for none."""
        return self.database.value("SELECT origin FROM nodes WHERE seq = ?", node.seq)

    def message(self, node: Node) -> Message:
        """The message in a node.

        Raises:
            SessionDamaged: it cannot be read.
        """
        try:
            return from_json(json.loads(self.body(node)), get=self._blob)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise SessionDamaged(f"node {node.id} cannot be read ({error!r})") from error

    def put_message(
        self,
        parent: Node | None,
        message: Message,
        *,
        kind: Kind = "message",
        node_id: str = "",
        time: str = "",
        origin: str = "",
    ) -> Node:
        """Add a message."""
        body = json.dumps(to_json(message, put=self._put_blob))
        time = time or message.time
        return self.put(parent, kind, body, role=message.role, node_id=node_id, time=time, origin=origin)

    def put(
        self,
        parent: Node | None,
        kind: Kind,
        body: str,
        *,
        role: str = "",
        node_id: str = "",
        time: str = "",
        origin: str = "",
    ) -> Node:
        """Add a node of any kind behind `parent`."""
        # Nothing else writes within a writing transaction, so the number is not taken before it is used.
        seq = self.database.value("SELECT coalesce(max(seq), 0) + 1 FROM nodes")
        jump, checkpoint = seq, None
        if parent is not None:
            middle = self.get(parent.jump)
            jump, checkpoint = jump_of(parent, middle, self.get(middle.jump)), parent.checkpoint
        node = Node(
            seq=seq,
            id=node_id or secrets.token_hex(6),
            parent=parent.seq if parent else None,
            depth=parent.depth + 1 if parent else 0,
            jump=jump,
            checkpoint=seq if kind == "checkpoint" else checkpoint,
            kind=kind,
            role=role,
            time=time or now(),
        )
        self.database.run(
            f"INSERT INTO nodes (conversation, {_NODE}, body, origin) VALUES (?{', ?' * 11})",
            *(self.key, node.seq, node.id, node.parent, node.depth, node.jump, node.checkpoint),
            *(node.kind, node.role, node.time, body, origin),
        )
        return node

    # --- checkpoints

    def checkpoint(self, node: Node, *, archive: bool = False) -> Checkpoint:
        """The checkpoint in a node; `archive` loads its archive as well.

        Raises:
            SessionDamaged: it cannot be read.
        """
        try:
            kept = self._archive(node) if archive else None
            return Checkpoint.from_json(json.loads(self.body(node)), get=self._blob, archive=kept)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, zlib.error) as error:
            raise SessionDamaged(f"checkpoint {node.id} cannot be read ({error!r})") from error
        except ArchiveError as error:
            raise SessionDamaged(f"checkpoint {node.id}: {error}") from error

    def put_checkpoint(
        self, parent: Node, checkpoint: Checkpoint, *, node_id: str = "", time: str = "", origin: str = ""
    ) -> Node:
        """Add a checkpoint, with its archive."""
        body = json.dumps(checkpoint.to_json(put=self._put_blob))
        node = self.put(parent, "checkpoint", body, node_id=node_id, time=time, origin=origin)
        if checkpoint.archive is not None:
            data = zlib.compress(checkpoint.archive.to_json().encode("ascii"))
            self.database.run("INSERT INTO archives VALUES (?, ?)", node.seq, data)
        return node

    def _archive(self, node: Node) -> Archive | None:
        from snapshot.compaction import Archive

        data = self.database.value("SELECT data FROM archives WHERE node = ?", node.seq)
        return Archive.from_json(zlib.decompress(data)) if data is not None else None

    # --- branches and labels

    def branch(self, name: str) -> tuple[Branch, Node | None]:
        """A branch and its leaf, None while it is empty.

        Raises:
            SessionError: there is none of this name.
        """
        found = self.database.run(
            "SELECT leaf, CAST(revision AS INTEGER), CAST(model AS TEXT) FROM branches "
            "WHERE conversation = ? AND name = ?",
            *(self.key, name),
        )
        if not found:
            known = ", ".join(branch.name for branch in self.branches())
            raise SessionError(f"no branch {name!r}; there are {known}")
        at, revision, model = found[0]
        leaf = self.get(at) if at is not None else None
        return Branch(name, leaf.id if leaf else "", revision, model), leaf

    def branches(self) -> tuple[Branch, ...]:
        """All branches, by name."""
        found = self.database.run(
            "SELECT CAST(b.name AS TEXT), CAST(coalesce(n.id, '') AS TEXT), CAST(b.revision AS INTEGER), "
            "CAST(b.model AS TEXT) FROM branches b "
            "LEFT JOIN nodes n ON n.seq = b.leaf WHERE b.conversation = ? ORDER BY b.name",
            self.key,
        )
        return tuple(Branch(*row) for row in found)

    def put_branch(self, name: str, leaf: Node | None, *, model: str) -> None:
        """Make a branch, or move it; its revision rises if it ends elsewhere then."""
        self.database.run(
            "INSERT INTO branches VALUES (?, ?, ?, 1, ?) ON CONFLICT DO UPDATE "
            "SET revision = revision + (leaf IS NOT excluded.leaf), leaf = excluded.leaf, "
            "model = excluded.model",
            *(self.key, name, leaf.seq if leaf else None, model),
        )

    def labels(self) -> tuple[Label, ...]:
        """Labels whose node is there, by name."""
        found = self.database.run(
            "SELECT CAST(l.name AS TEXT), CAST(n.id AS TEXT), CAST(l.note AS TEXT) "
            "FROM labels l JOIN nodes n ON n.seq = l.node WHERE l.conversation = ? ORDER BY l.name",
            self.key,
        )
        return tuple(Label(*row) for row in found)

    def put_label(self, name: str, node: Node, note: str) -> None:
        """Set a label."""
        self.database.run("INSERT OR REPLACE INTO labels VALUES (?, ?, ?, ?)", self.key, name, node.seq, note)

    # --- bytes

    def _put_blob(self, data: bytes) -> str:
        digest = sha256(data).hexdigest()
        self.database.run("INSERT OR IGNORE INTO blobs VALUES (?, ?)", digest, data)
        return f"sha256:{digest}"

    def _blob(self, name: str) -> bytes:
        digest = name.removeprefix("sha256:")
        data = self.database.value("SELECT data FROM blobs WHERE digest = ?", digest)
        if data is None or sha256(data).hexdigest() != digest:
            raise ValueError(f"the bytes {digest[:12]} are missing or damaged")
        return data
