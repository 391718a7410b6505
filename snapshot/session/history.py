"""One agent's history in a conversation: a tree to which is only ever added, and branches that point into it.

What is sent is a projection: the newest checkpoint on a branch, and the messages from its first kept one on.
Going back, trying again and editing move a branch's pointer; what is left behind stays in the tree.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from snapshot.errors import SessionBusy, SessionDamaged, SessionError, StaleCompaction
from snapshot.messages import Message, Text, ToolCall
from snapshot.session.checkpoint import Checkpoint, Prepared, prepare
from snapshot.session.tree import Branch, Label, Node, misplaced, on_path
from snapshot.session.view import View

if TYPE_CHECKING:
    from snapshot.compaction.options import Options, Trigger

__all__ = ["NAME", "History", "Plan", "named"]

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
"""Names of conversations, agents and branches: also good as names of files."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a compaction was planned on: the branch as it was, and the newest checkpoint on it."""

    branch: Branch
    checkpoint: str


class History(View):
    """The history of `agent` in the conversation `name`.

    Methods that take a branch take the current one where none is named. Every writing method is one
    transaction. All raise `SessionError` for what cannot be, and where something is written
    `SessionDamaged` if the history is damaged.
    """

    # --- adding

    def append(
        self,
        messages: Sequence[Message],
        *,
        branch: str = "",
        after: str | None = None,
        format: str | None = None,  # noqa: A002 - as in `Transcript`
    ) -> Branch:
        """Add messages, best a whole turn, in one transaction; the branch with them.

        Args:
            messages: in order. A result needs its call before it, and nothing but results may follow an
                open call; only at the end may calls stay open.
            branch: where to.
            after: id of the leaf that the caller knows, "" for none. Where others have added behind it, the
                messages do not follow what their author never saw: they are siblings of it, on a new branch,
                which is returned.
            format: format that they came in; of another than the history's, `raw` is not kept.
        """
        with self._writing():
            found, leaf = self.rows.branch(branch or self.current)
            if after is not None and found.leaf != after:
                known = self.rows.find(after) if after else None
                if not self._only_silent(known, leaf):
                    found, leaf = replace(found, name=self._free_name(found.name)), known
            if format not in (None, self.format):
                messages = [replace(message, raw=()) for message in messages]
            leaf = self.extend(leaf, messages)
            if messages:
                self.rows.put_branch(found.name, leaf, model=found.model)
            return self.rows.branch(found.name)[0]

    def set_model(self, model: str, *, branch: str = "") -> Branch:
        """Speak with another model from here on."""
        with self._writing():
            found, leaf = self.rows.branch(branch or self.current)
            if found.model != model:
                event = json.dumps({"type": "model", "model": model})
                leaf = self.rows.put(leaf, "event", event) if leaf else None
                self.rows.put_branch(found.name, leaf, model=model)
            return self.rows.branch(found.name)[0]

    # --- moving about

    def switch(self, branch: str) -> Branch:
        """Make another branch the current one."""
        with self._writing():
            found, _ = self.rows.branch(branch)
            self._make_current(branch)
            return found

    def set_branch(self, name: str, *, at: str = "") -> Branch:
        """Make a branch that ends with the node `at` (the current leaf), or move one there."""
        named("branch", name)
        with self._writing():
            current, leaf = self.rows.branch(self.current)
            if at:
                leaf = self.rows.find(at)
                self._refuse_open(leaf)
            models = {branch.name: branch.model for branch in self.rows.branches()}
            self.rows.put_branch(name, leaf, model=models.get(name, current.model))
            return self.rows.branch(name)[0]

    def retry(self, at: str = "", *, branch: str = "") -> Branch:
        """Go back to a user's message, the newest or the one at or before `at`, to have it answered again."""
        with self._writing():
            found, leaf = self.rows.branch(branch or self.current)
            said = self._user_at(leaf, at)
            self.rows.put_branch(found.name, said, model=found.model)
            return self.rows.branch(found.name)[0]

    def edit(self, at: str, new: str | Message, *, branch: str = "") -> Branch:
        """Say something else in place of the user's message `at`, which leaves the branch with all after it.

        Args:
            at: id of the message.
            new: the words, or the whole message; words alone leave images and files where they are.
            branch: a branch that it is on.
        """
        with self._writing():
            found, leaf = self.rows.branch(branch or self.current)
            old = self.rows.find(at)
            if self._user_at(leaf, at).seq != old.seq:
                raise SessionError(f"{old.id} is not a user's message; edit the one it answers")
            if isinstance(new, str):
                parts = [part for part in self.rows.message(old).parts if not isinstance(part, Text)]
                new = Message("user", (Text(new), *parts))
            if new.role != "user":
                raise SessionError(f"a user's message is replaced by one of role {new.role}")
            parent = self.rows.get(old.parent) if old.parent is not None else None
            self.rows.put_branch(found.name, self.extend(parent, (new,)), model=found.model)
            return self.rows.branch(found.name)[0]

    def fork(self, at: str, name: str = "") -> Branch:
        """A new branch, made the current one, that goes on from a finished answer of the assistant."""
        with self._writing():
            node = self.rows.find(at)
            if node.kind != "message" or node.role != "assistant":
                what = node.kind if node.kind != "message" else f"message of role {node.role}"
                raise SessionError(f"{node.id} is a {what}: fork from an answer of the assistant")
            if any(isinstance(part, ToolCall) for part in self.rows.message(node).parts):
                raise SessionError(f"{node.id} is not a finished answer: it calls tools; take one after them")
            taken = {branch.name for branch in self.rows.branches()}
            name = name or self._free_name("fork")
            named("branch", name)
            if name in taken:
                raise SessionError(f"there is a branch {name!r} already")
            self.rows.put_branch(name, node, model=self.rows.branch(self.current)[0].model)
            self._make_current(name)
            return self.rows.branch(name)[0]

    # --- labels

    def label(self, name: str, *, at: str = "", note: str = "") -> Label:
        """Name a node: `at`, or where the current branch is, but for calls that are open there."""
        if not name.strip() or len(name) > 80 or not name.isprintable():
            raise SessionError(f"label {name!r}: take one line of 80 characters at most")
        with self._writing():
            leaf = self.rows.find(at) if at else self._clean(self.rows.branch(self.current)[1])
            if leaf is None:
                raise SessionError("there is nothing to label yet")
            self.rows.put_label(name, leaf, note)
            return Label(name, leaf.id, note)

    def rewind(self, label: str, synthesis: str = "", *, branch: str = "") -> Branch:
        """Go back to a label on the branch, and keep what was found on the way that is left.

        Args:
            label: its name.
            synthesis: what the model is to know of that way, "" for nothing.
            branch: the branch.
        """
        with self._writing():
            found, leaf = self.rows.branch(branch or self.current)
            target = next((item for item in self.rows.labels() if item.name == label), None)
            if target is None:
                known = ", ".join(item.name for item in self.rows.labels())
                raise SessionError(f"no label {label!r}" + (f"; there are {known}" if known else ""))
            node = self.rows.find(target.node)
            if not on_path(node, leaf, self.rows.get):
                raise SessionError(
                    f"label {label!r} is not on branch {found.name}: switch to one that has it"
                )
            node = self._clean(node)
            if synthesis:
                note = Message("user", (Text(f"[found on a way that was left]\n{synthesis}"),))
                node = self.rows.put_message(node, note, kind="synthesis")
            self.rows.put_branch(found.name, node, model=found.model)
            return self.rows.branch(found.name)[0]

    # --- compaction

    def plan(self, branch: str = "") -> Plan:
        """Note what a compaction would start from, without a lock.

        Raises:
            SessionBusy: a call is open.
        """
        with self.rows.database.reading():
            found, leaf = self.rows.branch(branch or self.current)
            if open_now := self._group(leaf).open:
                raise SessionBusy(
                    f"call {next(iter(open_now))!r} is open: nothing is compacted until it ends"
                )
            newest = leaf.checkpoint if leaf else None
            return Plan(found, self.rows.get(newest).id if newest is not None else "")

    def commit(self, plan: Plan, checkpoint: Checkpoint) -> Branch:
        """Add the checkpoint if nothing has changed since the plan; all or nothing.

        One that says just what the newest one says, with nothing new since, is not added again.

        Raises:
            StaleCompaction: the branch is not what it was, or the boundary would move back.
        """
        with self._writing():
            found, leaf = self.rows.branch(plan.branch.name)

            def stale(why: str) -> StaleCompaction:
                return StaleCompaction(
                    f"branch {found.name} {why}; nothing was written: plan the compaction again",
                    leaf=found.leaf,
                    revision=found.revision,
                )

            if leaf is None or found.leaf != plan.branch.leaf or found.revision != plan.branch.revision:
                raise stale("has changed since the compaction was planned")
            if self._group(leaf).open:
                raise stale("has an open call")
            if checkpoint.first_kept:
                kept = self.rows.find(checkpoint.first_kept)
                above = self.rows.get(kept.parent) if kept.parent is not None else None
                if not on_path(kept, leaf, self.rows.get) or self._group(above).open:
                    raise stale("does not have the boundary, or could not be cut there")
            former = self.rows.get(leaf.checkpoint) if leaf.checkpoint is not None else None
            if former is not None:
                before = self.rows.checkpoint(former)
                if self._boundary(leaf, checkpoint) < self._boundary(former, before):
                    raise stale("was compacted farther already, and the boundary never moves back")
                if _same(before, checkpoint) and self._only_silent(former, leaf):
                    return found  # one checkpoint for one boundary
            node = self.rows.put_checkpoint(leaf, checkpoint)
            self.rows.put_branch(found.name, node, model=found.model)
            return self.rows.branch(found.name)[0]

    def prepare(
        self,
        plan: Plan,
        *,
        model: str = "",
        trigger: Trigger = "target",
        draft: Sequence[Message] = (),
        options: Options | None = None,
        **changes: Any,
    ) -> Prepared:
        """Compact what was planned on, writing nothing; see `snapshot.session.checkpoint.prepare`."""
        with self.rows.database.reading():
            former, fixed = None, 0
            leaf = self.rows.find(plan.branch.leaf) if plan.branch.leaf else None
            nodes = self.rows.walk(leaf) if leaf else []
            path = self._messages(nodes)
            if plan.checkpoint:
                node = self.rows.find(plan.checkpoint)
                former = self.rows.checkpoint(node, archive=True)
                depth = self._boundary(node, former)
                before = {item.id for item in nodes if item.depth < depth}
                fixed = sum(node_id in before for node_id, _ in path)
        if self.damage:
            raise SessionDamaged(f"{self.name}: not compacted: {self.read_only}")
        model = model or plan.branch.model
        if not model:
            raise SessionError("name the model that the compaction is for")
        return prepare(
            path,
            model=model,
            format=self.format,
            former=former,
            fixed=fixed,
            trigger=trigger,
            draft=draft,
            options=options,
            **changes,
        )

    def compact(self, *, branch: str = "", **settings: Any) -> Prepared:
        """Plan, prepare (which takes `settings`) and commit."""
        plan = self.plan(branch)
        prepared = self.prepare(plan, **settings)
        if prepared.checkpoint is not None:
            self.commit(plan, prepared.checkpoint)
        return prepared

    # --- inside

    def _writing(self) -> Any:
        if self.damage:
            raise SessionDamaged(
                f"{self.name} is read-only: {self.read_only}; `snapshot session salvage` repairs a copy"
            )
        return self.rows.database.writing()

    def _only_silent(self, node: Node | None, leaf: Node | None) -> bool:
        """Whether `leaf` is `node`, or behind it with nothing between them that is sent."""
        if leaf is None or (node is not None and not on_path(node, leaf, self.rows.get)):
            return leaf is node
        depth = node.depth + 1 if node is not None else 0
        return not any(
            item.kind in ("message", "synthesis")
            for item in self.rows.walk(leaf, depth)
            if item.depth >= depth
        )

    def _free_name(self, stem: str) -> str:
        """A name of a branch that there is not: the stem and a number."""
        taken = {branch.name for branch in self.rows.branches()}
        stem = stem[:70]
        return next(free for n in range(1, len(taken) + 2) if (free := f"{stem}-{n}") not in taken)

    def _make_current(self, branch: str) -> None:
        self.rows.database.run("UPDATE conversations SET branch = ? WHERE key = ?", branch, self.rows.key)

    def _refuse_open(self, leaf: Node) -> None:
        if waiting := self._group(leaf).open:
            raise SessionError(
                f"call {next(iter(waiting))!r} is open at {leaf.id}: take the node before, or its last result"
            )

    def _user_at(self, leaf: Node | None, at: str) -> Node:
        """The user's message at or before `at` (or the leaf), which has to be on the path."""
        start = self.rows.find(at) if at else leaf
        if start is None or not on_path(start, leaf, self.rows.get):
            raise SessionError(f"{at or 'the branch'} has no message of the user's on this branch")
        for node in self.rows.ascend(start):
            if node.kind == "message" and node.role == "user":
                return node
        raise SessionError(f"no message of the user's at or before {start.id}")

    def extend(self, leaf: Node | None, messages: Sequence[Message]) -> Node | None:
        """Add messages behind `leaf`, within a transaction of the caller's; the last node."""
        pairing = self._group(leaf)
        for number, message in enumerate(messages, 1):
            wrong = [*misplaced(message), *(what for _, what in pairing.take(message))]
            if wrong:
                raise SessionError(f"message {number} of {len(messages)} cannot be added: {wrong[0]}")
            leaf = self.rows.put_message(leaf, message)
        return leaf


def _same(one: Checkpoint, other: Checkpoint) -> bool:
    """Whether two checkpoints say the same of the same boundary."""
    return (one.kind, one.first_kept, one.lead, one.model) == (
        other.kind,
        other.first_kept,
        other.lead,
        other.model,
    )


def named(what: str, name: str) -> str:
    """`name`, if it can be one.

    Raises:
        SessionError: it cannot.
    """
    if not NAME.fullmatch(name):
        raise SessionError(f"{what} {name!r}: take letters, digits, '.', '_' and '-', 80 at most")
    return name
