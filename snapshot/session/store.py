"""A workspace's sessions: conversations and their agents, in one file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

from snapshot.errors import SessionDamaged, SessionError
from snapshot.messages import Diagnostic, Message
from snapshot.session.database import Database
from snapshot.session.history import History, named
from snapshot.session.integrity import check
from snapshot.session.rows import Rows, now
from snapshot.session.tree import Node

__all__ = ["Conversation", "Store"]


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation's agent, at a glance.

    Attributes:
        name, agent: whose history it is.
        format: transcript format that its messages came in.
        created, changed: when, ISO 8601; `changed` is "" for an empty one.
        branch: the current branch.
        branches, messages, checkpoints: how many there are.
    """

    name: str
    agent: str
    format: str
    created: str
    changed: str
    branch: str
    branches: int
    messages: int
    checkpoints: int


class Store:
    """A store, which is also a context manager that closes it. Use one in each thread."""

    def __init__(self, path: str | Path, *, write: bool = True, create: bool = False) -> None:
        """Open the store at `path`; `create` makes it if it is not there.

        Raises:
            SessionError: it is not there, or no session store.
            SessionDamaged: it is damaged beyond reading.
        """
        self.database = Database(Path(path), write=write, create=create)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: object, trace: TracebackType | None) -> None:
        self.close()

    @property
    def path(self) -> Path:
        """The file."""
        return self.database.path

    @property
    def read_only(self) -> str:
        """Why nothing can be written, "" if it can."""
        return self.database.read_only

    def close(self) -> None:
        """Close it."""
        self.database.close()

    def conversations(self) -> tuple[Conversation, ...]:
        """All conversations and agents, the one that changed last first."""
        found = self.database.run(
            "SELECT CAST(c.name AS TEXT), CAST(c.agent AS TEXT), CAST(c.format AS TEXT), "
            "CAST(c.created AS TEXT), CAST(coalesce("
            "(SELECT time FROM nodes WHERE conversation = c.key ORDER BY seq DESC LIMIT 1), '') AS TEXT), "
            "CAST(c.branch AS TEXT), (SELECT count(*) FROM branches WHERE conversation = c.key), "
            "(SELECT count(*) FROM nodes WHERE conversation = c.key AND kind = 'message'), "
            "(SELECT count(*) FROM nodes WHERE conversation = c.key AND kind = 'checkpoint') "
            "FROM conversations c "
            "ORDER BY (SELECT max(seq) FROM nodes WHERE conversation = c.key) DESC, c.key"
        )
        return tuple(Conversation(*row) for row in found)

    def history(self, name: str, agent: str = "main") -> History:
        """The history of an agent in a conversation.

        Raises:
            SessionError: there is none.
        """
        found = self.database.run(
            "SELECT key, CAST(format AS TEXT) FROM conversations WHERE name = ? AND agent = ?", name, agent
        )
        if not found:
            known = self.database.run(
                "SELECT CAST(name AS TEXT), CAST(agent AS TEXT) FROM conversations ORDER BY key DESC LIMIT 6"
            )
            names = ", ".join(f"{a}/{b}" if b != "main" else a for a, b in known) or "no conversations yet"
            raise SessionError(f"{self.path}: no conversation {name!r} of agent {agent!r}; there are {names}")
        return History(Rows(self.database, found[0][0]), name, agent, found[0][1])

    def create(
        self,
        name: str,
        agent: str = "main",
        *,
        model: str = "",
        format: str = "",  # noqa: A002 - as in `Transcript`
        messages: Sequence[Message] = (),
    ) -> History:
        """A new history with a branch "main", and with `messages` in it, all in one transaction.

        Raises:
            SessionError: it is there already, or the messages do not make a conversation.
        """
        with self.database.writing():
            rows = self.start(name, agent, format=format)
            history = History(rows, name, agent, format)
            rows.put_branch("main", history.extend(None, messages), model=model)
        return history

    def start(
        self,
        name: str,
        agent: str = "main",
        *,
        format: str = "",  # noqa: A002 - as in `Transcript`
        branch: str = "main",
        created: str = "",
        origin: str = "",
    ) -> Rows:
        """The rows of a new history, without a branch yet, within a transaction of the caller's."""
        named("conversation", name)
        named("agent", agent)
        if self.database.run("SELECT 1 FROM conversations WHERE name = ? AND agent = ?", name, agent):
            raise SessionError(
                f"there is a conversation {name!r} of agent {agent!r} already; take another name"
            )
        key = self.database.value(
            "INSERT INTO conversations (name, agent, format, created, branch, origin) "
            "VALUES (?, ?, ?, ?, ?, ?) RETURNING key",
            *(name, agent, format, created or now(), branch, origin),
        )
        return Rows(self.database, key)

    def duplicate(self, source: History, name: str, *, agent: str = "", branch: str = "") -> History:
        """A new conversation with a copy of a branch's path, under new ids; with its labels and checkpoints.

        Neither ever shows what is added to the other.
        """
        if source.read_only:
            raise SessionDamaged(f"{source.name} is read-only: {source.read_only}")
        with self.database.writing():
            found, leaf = source.rows.branch(branch or source.current)
            rows = self.start(name, agent or source.agent, format=source.format)
            copies: dict[str, Node] = {}
            last: Node | None = None
            for node in source.rows.walk(leaf) if leaf else ():
                if node.kind == "checkpoint":
                    checkpoint = source.rows.checkpoint(node, archive=True)
                    if checkpoint.first_kept:
                        checkpoint = replace(checkpoint, first_kept=copies[checkpoint.first_kept].id)
                    assert last is not None
                    last = rows.put_checkpoint(last, checkpoint, time=node.time)
                else:
                    body = source.rows.body(node)  # as it is: bytes stand apart, under the same digest
                    last = rows.put(last, node.kind, body, role=node.role, time=node.time)
                copies[node.id] = last
            rows.put_branch("main", last, model=found.model)
            for label in source.labels():
                if label.node in copies:
                    rows.put_label(label.name, copies[label.node], label.note)
        return History(rows, name, agent or source.agent, source.format)

    def check(self) -> list[tuple[str, list[Diagnostic]]]:
        """What is wrong, by history as "NAME/AGENT"; with the file itself, by ""."""
        found = [("", [Diagnostic("file", str(self.path), note) for note in self._file_damage()])]
        for name, agent, key in self.database.run("SELECT name, agent, key FROM conversations ORDER BY key"):
            with self.database.reading():
                found.append((f"{name}/{agent}", check(Rows(self.database, key))))
        return found

    def _file_damage(self) -> list[str]:
        told = [row[0] for row in self.database.run("PRAGMA integrity_check(10)")]
        newer = [self.read_only] if "schema" in self.read_only else []
        return newer + [line for line in told if line != "ok"]
