"""One agent's history, to be looked at: paths, projections, and where a branch may be cut."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from snapshot.errors import SessionDamaged, SessionError
from snapshot.messages import Diagnostic, Message, Transcript
from snapshot.requests.tool_pairing import OpenCalls
from snapshot.session.checkpoint import Checkpoint, for_reader, suits
from snapshot.session.integrity import structure
from snapshot.session.rows import Rows
from snapshot.session.tree import Branch, Label, Node, misplaced, problems

__all__ = ["Projection", "View"]


@dataclass(frozen=True, slots=True)
class Projection:
    """What a branch is for the model.

    Attributes:
        model, format: as in a transcript.
        lead: what stands for all that is not kept: a checkpoint's head, pages or summary.
        kept: the messages that follow word for word, each with its node's id.
        checkpoint: id of the checkpoint that the lead is of, "" for none.
        made_for: id of the model that its pages are for, "" where there are none.
    """

    model: str
    format: str
    lead: tuple[Message, ...] = ()
    kept: tuple[tuple[str, Message], ...] = ()
    checkpoint: str = ""
    made_for: str = ""

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the messages that are kept."""
        return tuple(node for node, _ in self.kept)

    @property
    def transcript(self) -> Transcript:
        """The conversation to send: no orphan result, no open call but at its end."""
        from snapshot.compaction.boundaries import repair

        messages = (*self.lead, *(message for _, message in self.kept))
        return Transcript(repair(messages)[0], self.format, self.model)


class View:
    """The history of `agent` in the conversation `name`, as it is stored.

    Methods that take a branch take the current one where none is named.

    Attributes:
        name, agent: whose it is.
        format: transcript format that its messages came in.
        damage: what was found wrong so far; if anything was, the history is read-only.
    """

    def __init__(self, rows: Rows, name: str, agent: str, format: str) -> None:  # noqa: A002
        self.rows, self.name, self.agent, self.format = rows, name, agent, format
        self.damage: list[Diagnostic] = []
        self._remade: dict[tuple[str, str], Checkpoint | None] = {}
        try:
            with rows.database.reading():
                self.damage += structure(rows)
        except SessionDamaged as error:
            self._found("damaged", "file", str(error))

    # --- looking

    @property
    def current(self) -> str:
        """Name of the current branch."""
        statement = "SELECT branch FROM conversations WHERE key = ?"
        return str(self.rows.database.value(statement, self.rows.key))

    @property
    def read_only(self) -> str:
        """Why nothing can be written, "" if it can."""
        if self.damage:
            more = f" (and {len(self.damage) - 1} more)" if len(self.damage) > 1 else ""
            return f"{self.damage[0].where}: {self.damage[0].note}{more}"
        return self.rows.database.read_only

    def branch(self, name: str = "") -> Branch:
        """A branch as it is now."""
        return self.rows.branch(name or self.current)[0]

    def branches(self) -> tuple[Branch, ...]:
        """All branches, by name."""
        return self.rows.branches()

    def labels(self) -> tuple[Label, ...]:
        """All labels, by name."""
        return self.rows.labels()

    def path(self, branch: str = "", *, at: str = "") -> tuple[tuple[str, Message], ...]:
        """Every message from the root to a branch's leaf (or to the node `at`), each with its node's id."""
        with self.rows.database.reading():
            leaf = self._leaf(branch, at)
            return self._messages(self._walk(leaf)) if leaf else ()

    def project(self, branch: str = "", *, at: str = "", most: int = 0) -> Projection:
        """What is sent of a branch, or of the path to the node `at`.

        Pages that were made for another reader than the branch's model are not sent: what stands in their
        place is made anew, as a compaction would, and kept with this view. Nothing is written.

        Args:
            branch, at: which path.
            most: with so many messages behind the checkpoint at most, the newest; cut where none is open.
        """
        with self.rows.database.reading():
            leaf = self._leaf(branch, at)
            model = self.rows.branch(branch or self.current)[0].model
            if leaf is None:
                return Projection(model, self.format)
            lead: tuple[Message, ...] = ()
            made_for, start, node = "", 0, None
            if leaf.checkpoint is not None:
                try:
                    node = self.rows.get(leaf.checkpoint)
                    checkpoint = self._suiting(node, model)
                    if checkpoint is not None:
                        lead = checkpoint.lead
                        made_for = checkpoint.model if checkpoint.kind == "snapshot" else ""
                        start = self._boundary(node, checkpoint)
                except (SessionDamaged, SessionError) as error:
                    node = None
                    self._found("checkpoint", leaf.id, f"its checkpoint cannot be read: {error}")
            if most and leaf.depth - start >= most:
                start, lead = self._clean_below(leaf, leaf.depth - most + 1), ()
            kept = self._messages(self._walk(leaf, start))
        if node is None or not lead:
            return Projection(model, self.format, kept=kept)
        return Projection(model, self.format, lead, kept, node.id, made_for)

    # --- inside

    def _found(self, kind: str, where: str, note: str) -> None:
        diagnostic = Diagnostic(kind, where, note)
        if diagnostic not in self.damage:
            self.damage.append(diagnostic)

    def _leaf(self, branch: str, at: str) -> Node | None:
        return self.rows.find(at) if at else self.rows.branch(branch or self.current)[1]

    def _walk(self, leaf: Node, depth: int = 0) -> list[Node]:
        """The path to a leaf from `depth` on; where the file is damaged, what of it can still be read."""
        try:
            return self.rows.walk(leaf, depth)
        except SessionDamaged as error:
            self._found("damaged", "file", str(error))
        found: list[Node] = []
        with suppress(SessionDamaged):
            for node in self.rows.ascend(leaf):
                found.append(node)
                if node.depth <= depth:
                    break
        return found[::-1]

    def _messages(self, nodes: Sequence[Node]) -> tuple[tuple[str, Message], ...]:
        """The messages of nodes that follow each other; damage is noted, and left out."""
        found: list[tuple[str, Message]] = []
        for node in nodes:
            if node.kind in ("message", "synthesis"):
                try:
                    found.append((node.id, self.rows.message(node)))
                except SessionDamaged as error:
                    self._found("unreadable", node.id, str(error))
        if found and found[0][1].role != "tool":
            for diagnostic in problems(found):
                self._found(diagnostic.kind, diagnostic.where, diagnostic.note)
        good = [(node_id, message) for node_id, message in found if not any(misplaced(message))]
        return tuple(good)

    def _suiting(self, node: Node, model: str) -> Checkpoint | None:
        """The checkpoint in a node for a model, whoever it was made for; None where all may go as it is."""
        checkpoint = self.rows.checkpoint(node)
        if suits(checkpoint, model):
            return checkpoint
        if (node.id, model) not in self._remade:
            whole = self.rows.checkpoint(node, archive=True)
            path = self._messages(self._walk(node))
            self._remade[node.id, model] = for_reader(path, whole, model=model, format=self.format)
        return self._remade[node.id, model]

    def _boundary(self, node: Node, checkpoint: Checkpoint) -> int:
        """Depth that a checkpoint's verbatim part starts at; `node` is its own, or the leaf before it."""
        return self.rows.find(checkpoint.first_kept).depth if checkpoint.first_kept else node.depth + 1

    def _group(self, leaf: Node | None) -> OpenCalls:
        """The calls that are open after `leaf`."""
        group: list[Message] = []
        for node in self.rows.ascend(leaf):
            if node.kind in ("message", "synthesis"):
                group.append(self.rows.message(node))
                if node.role != "tool":
                    break
        return OpenCalls.after(reversed(group))

    def _clean(self, leaf: Node | None) -> Node | None:
        """The nearest node at or above `leaf` after which no call is open."""
        for node in self.rows.ascend(leaf):
            if not self._group(node).open:
                return node
        return None

    def _clean_below(self, leaf: Node, depth: int) -> int:
        """Depth of the first group that starts at `depth` or later on the path to `leaf`."""
        for node in self.rows.walk(leaf, depth):
            if node.kind in ("message", "synthesis") and node.role in ("user", "assistant"):
                return node.depth
        return leaf.depth
