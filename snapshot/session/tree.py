"""The session tree: its nodes, and what can be said of them without a store.

Every node knows the one it follows. Nodes are only ever added, and each is younger than its parent, so a
stored tree in which a parent is not older than its child is damaged; a cycle is nothing else.

A node also knows one ancestor farther up, its `jump`, chosen so that any ancestor is found in a number of
steps that grows with the logarithm of the depth (E. W. Myers, "An applicative random-access stack", 1983).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from snapshot.messages import Diagnostic, Message, Reasoning, Role, ToolCall, ToolResult
from snapshot.requests.tool_pairing import OpenCalls

__all__ = [
    "KINDS",
    "ROLES",
    "Branch",
    "Kind",
    "Label",
    "Node",
    "ancestor_at",
    "jump_of",
    "misplaced",
    "on_path",
    "open_calls",
    "problems",
]

Kind: TypeAlias = Literal["message", "checkpoint", "synthesis", "event"]
"""A message; a compaction; what was found on a way that was left, told to the model; and what is recorded
but never sent, such as a change of the model."""

KINDS: tuple[str, ...] = get_args(Kind)
ROLES: tuple[str, ...] = get_args(Role)


@dataclass(frozen=True, slots=True)
class Node:
    """A node as it is stored.

    Attributes:
        seq: its number in the store; a parent's is always lower.
        id: its name, unique in its conversation and agent.
        parent: `seq` of the node that it follows; None at a root.
        depth: number of its ancestors.
        jump: `seq` of the ancestor to jump to; its own at a root.
        checkpoint: `seq` of the newest checkpoint on the path that ends with it; None if there is none.
        kind, role: what it is, and who speaks in it ("" where nobody does).
        time: when it was written, ISO 8601.
    """

    seq: int
    id: str
    parent: int | None
    depth: int
    jump: int
    checkpoint: int | None
    kind: Kind
    role: str
    time: str


@dataclass(frozen=True, slots=True)
class Branch:
    """A named pointer into the tree.

    Attributes:
        name: its name.
        leaf: id of the node that it ends with, "" while it is empty.
        revision: rises whenever what the branch holds changes, and never falls.
        model: id of the model that is spoken with on it, "" if that is not known.
    """

    name: str
    leaf: str
    revision: int
    model: str = ""


@dataclass(frozen=True, slots=True)
class Label:
    """A name for a node, and what is to be remembered of it."""

    name: str
    node: str
    note: str = ""


# --- ancestors


def jump_of(parent: Node, jump: Node, farther: Node) -> int:
    """`jump` of a node behind `parent`, whose own jump leads to `jump`, and that one's to `farther`."""
    even = parent.depth - jump.depth == jump.depth - farther.depth
    return farther.seq if even else parent.seq


def ancestor_at(node: Node, depth: int, get: Callable[[int], Node]) -> Node | None:
    """The ancestor of `node` (or itself) at `depth`; None below it. `get` gives a node by `seq`."""
    if not 0 <= depth <= node.depth:
        return None
    while node.depth > depth:
        jump = get(node.jump)
        if depth <= jump.depth < node.depth:
            node = jump
        else:
            assert node.parent is not None
            node = get(node.parent)
    return node


def on_path(node: Node, leaf: Node | None, get: Callable[[int], Node]) -> bool:
    """Whether `node` is `leaf` or one of its ancestors."""
    found = leaf and ancestor_at(leaf, node.depth, get)
    return found is not None and found.seq == node.seq


# --- calls and results


def open_calls(messages: Sequence[Message]) -> tuple[str, ...]:
    """Ids of the calls that wait for a result after `messages`."""
    return tuple(OpenCalls.after(messages).open)


def misplaced(message: Message) -> Iterator[str]:
    """What a message of its role cannot hold, in words; an impossible role among them."""
    if message.role not in ROLES:
        yield f"role {message.role!r}, which there is none of: {', '.join(ROLES)}"
        return
    for part in message.parts:
        if isinstance(part, ToolCall | Reasoning) and message.role != "assistant":
            what = "call" if isinstance(part, ToolCall) else "thought"
            yield f"a {what} in a message of role {message.role}"
        elif isinstance(part, ToolResult) and message.role != "tool":
            yield f"a result in a message of role {message.role}"


def problems(messages: Iterable[tuple[str, Message]]) -> list[Diagnostic]:
    """What is wrong in a path of messages, each with its id."""
    pairing = OpenCalls.after()
    found: list[Diagnostic] = []
    for where, message in messages:
        found += [Diagnostic("impossible-role", where, what) for what in misplaced(message)]
        found += [Diagnostic(kind, where, what) for kind, what in pairing.take(message)]
    return found
