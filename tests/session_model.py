"""What a session is, in the simplest words: dictionaries in memory, walked from end to start each time."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

from snapshot.errors import StaleCompaction
from snapshot.messages import Message, Text, ToolCall, ToolResult
from snapshot.session import Checkpoint, Plan, Store


@dataclass
class Thing:
    """A node: what it follows, what it is."""

    parent: str
    kind: str
    message: Message | None = None
    first_kept: str = ""
    lead: tuple[Message, ...] = ()


@dataclass
class Model:
    """A history. Nodes have the ids that the store gave them."""

    things: dict[str, Thing] = field(default_factory=dict)
    leaves: dict[str, str] = field(default_factory=lambda: {"main": ""})
    revisions: dict[str, int] = field(default_factory=lambda: {"main": 1})
    labels: dict[str, str] = field(default_factory=dict)
    current: str = "main"

    def path(self, leaf: str) -> list[str]:
        found = []
        while leaf:
            found.append(leaf)
            leaf = self.things[leaf].parent
        return found[::-1]

    def said(self, leaf: str) -> list[str]:
        return [one for one in self.path(leaf) if self.things[one].message is not None]

    def messages(self, leaf: str) -> list[Message]:
        return self.messages_of(self.path(leaf))

    def messages_of(self, nodes: list[str]) -> list[Message]:
        return [message for one in nodes if (message := self.things[one].message) is not None]

    def open(self, leaf: str) -> list[str]:
        waiting: list[str] = []
        for message in self.messages(leaf):
            if message.role == "tool":
                for part in message.parts:
                    if isinstance(part, ToolResult):
                        waiting.remove(part.call_id)
            else:
                waiting = [part.id for part in message.parts if isinstance(part, ToolCall)]
        return waiting

    def checkpoint(self, leaf: str) -> str:
        return next((one for one in self.path(leaf)[::-1] if self.things[one].kind == "checkpoint"), "")

    def boundary(self, leaf: str) -> int:
        """Number on the path that the verbatim part starts at."""
        newest, path = self.checkpoint(leaf), self.path(leaf)
        if not newest:
            return 0
        kept = self.things[newest].first_kept
        return path.index(kept) if kept else path.index(newest) + 1

    def projection(self, leaf: str) -> tuple[list[str], list[Message]]:
        """Ids of what is kept, and all messages."""
        newest = self.checkpoint(leaf)
        lead = self.things[newest].lead if newest else ()
        kept = [one for one in self.path(leaf)[self.boundary(leaf) :] if self.things[one].message is not None]
        return kept, [*lead, *(m for one in kept if (m := self.things[one].message) is not None)]

    def move(self, branch: str, leaf: str) -> None:
        changed = self.leaves.get(branch, None) != leaf
        self.leaves[branch] = leaf
        self.revisions[branch] = self.revisions.get(branch, 0) + changed


_numbers = count(1)


def user(text: str = "Go on.") -> Message:
    return Message("user", (Text(text),))


def answer(text: str = "Done.") -> Message:
    return Message("assistant", (Text(text),))


def calling(*ids: str) -> Message:
    return Message("assistant", (Text("Looking."), *(ToolCall(one, "Read", "{}") for one in ids)))


def result(*ids: str) -> Message:
    return Message("tool", tuple(ToolResult(one, (Text(f"what {one} found"),)) for one in ids))


def turn(text: str = "Go on.", calls: int = 0) -> list[Message]:
    """A whole turn with so many parallel calls."""
    ids = [f"call_{next(_numbers)}" for _ in range(calls)]
    return [user(text), *([calling(*ids), result(*ids)] if ids else []), answer(f"Done with: {text}")]


def act(store: Store, marks: dict[str, str], plans: dict[str, tuple[Plan, str]], step: list) -> str:
    """Play a step of a scenario; what came of it."""
    actor, verb, more = step[0], step[1], step[2] if len(step) > 2 else {}
    history = store.history("photos")
    if verb == "plan":
        plans[actor] = history.plan(), marks[more["first_kept"]]
    elif verb == "commit":
        plan, kept = plans[actor]
        try:
            history.commit(plan, Checkpoint("summary", kept, (user("Sum."),), "claude-opus-4-8"))
        except StaleCompaction as error:
            now = history.branch()
            return "stale" if (error.leaf, error.revision) == (now.leaf, now.revision) else "stale itself"
        return "ok"
    elif verb == "append":
        call = more.get("call")
        history.append([calling(call) if call else Message(more["role"], (Text(more["text"]),))])
    elif verb == "edit":
        history.edit(marks[more["at"]], more["text"])
    elif verb == "retry":
        history.retry(marks[more["from"]])
    elif verb == "label":
        history.label(more["text"], at=marks[more["at"]])
    else:
        assert verb == "cancel"
        del plans[actor]
    return ""
