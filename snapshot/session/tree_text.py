"""The tree of a history as lines for a terminal: branches, checkpoints, labels, and what follows what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from snapshot.errors import SessionDamaged
from snapshot.messages import Message, Text, ToolCall, ToolResult
from snapshot.session.tree import Node
from snapshot.session.view import View
from snapshot.transcripts.io.json_values import as_object, parse

__all__ = ["Line", "draw", "summary"]

_WORDS = 60


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the drawing.

    Attributes:
        frame: the lines that join it to the others.
        node: the node, None where `count` nodes are left out.
        words: what it says, in short.
        names: branches that end here, the current one first.
        labels: its labels.
        current: whether the current branch ends here.
        on_path: whether it is on the current branch.
        count: nodes that are left out here.
    """

    frame: str
    node: Node | None
    words: str = ""
    names: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    current: bool = False
    on_path: bool = False
    count: int = 0


def draw(view: View, *, every: bool = False) -> Iterator[Line]:
    """Draw the tree, the root first.

    Args:
        view: the history.
        every: draw every node; else what a user's message was answered with is left out, but for its last
            node and for those with a name, a checkpoint or a fork.
    """
    nodes = list(view.rows.nodes())
    there = {node.seq for node in nodes}
    children: dict[int | None, list[Node]] = {}
    for node in nodes:
        older = node.parent in there and node.parent is not None and node.parent < node.seq
        children.setdefault(node.parent if older else None, []).append(node)
    names: dict[str, list[str]] = {}
    current = view.current
    for branch in sorted(view.branches(), key=lambda branch: branch.name != current):
        names.setdefault(branch.leaf, []).append(branch.name)
    labels: dict[str, list[str]] = {}
    for label in view.labels():
        labels.setdefault(label.node, []).append(label.name)
    leaf = next((node for node in nodes if current in names.get(node.id, ())), None)
    path = {node.seq for node in view.rows.walk(leaf)} if leaf else set()

    def shown(node: Node) -> bool:
        following = children.get(node.seq, [])
        turn_ends = len(following) != 1 or following[0].role == "user" or node.parent is None
        return (
            every
            or turn_ends
            or node.role == "user"
            or node.kind != "message"
            or node.id in {*names, *labels}
        )

    # An own stack: a history is deeper than Python's. The branch that is current stays in the first column.
    todo = [(root, "", "") for root in reversed(_ordered(children.get(None, []), path))]
    while todo:
        node, first, rest = todo.pop()
        skipped = 0
        while True:
            if shown(node):
                if skipped:
                    yield Line(f"{rest}┊ ", None, count=skipped)
                    skipped = 0
                yield Line(
                    frame=f"{first}{'●' if node.seq in path else '○'} ",
                    node=node,
                    words=_words(view, node),
                    names=tuple(names.get(node.id, ())),
                    labels=tuple(labels.get(node.id, ())),
                    current=leaf is not None and node.seq == leaf.seq,
                    on_path=node.seq in path,
                )
                first = rest
            else:
                skipped += 1
            following = _ordered(children.get(node.seq, []), path)
            if len(following) != 1:
                break
            node = following[0]
        # The last one goes straight on; those before it turn off.
        if following:
            todo.append((following[-1], rest, rest))
            todo += [(other, f"{rest}├─", f"{rest}│ ") for other in reversed(following[:-1])]


def _ordered(nodes: list[Node], path: set[int]) -> list[Node]:
    """Siblings by age, the one on the current branch last."""
    return sorted(nodes, key=lambda node: (node.seq in path, node.seq))


def _words(view: View, node: Node) -> str:
    try:
        if node.kind == "checkpoint":
            checkpoint = view.rows.checkpoint(node)
            cost = f", {checkpoint.before:,} → {checkpoint.after:,} tokens" if checkpoint.before else ""
            return f"{checkpoint.kind}, kept from {checkpoint.first_kept or 'here'}{cost}"
        if node.kind == "event":
            event = as_object(parse(view.rows.body(node))) or {}
            said = (str(event[key]) for key in ("type", "model", "modelId", "label") if event.get(key))
            return _shortened(" ".join(said))
        message = view.rows.message(node)
        return summary(_without_lead(message) if node.kind == "synthesis" else message)
    except (SessionDamaged, ValueError, RecursionError) as error:
        return f"unreadable: {error}"


def _without_lead(message: Message) -> Message:
    """A synthesis without the line that tells the model what it is, and without the tags around it."""
    parts = list(message.parts)
    if parts and isinstance(parts[0], Text):
        _, _, text = parts[0].text.partition("\n")
        text = text.strip().removeprefix("<summary>").removesuffix("</summary>")
        parts[0] = Text(text) if text.strip() else parts[0]
    return replace(message, parts=tuple(parts))


def summary(message: Message) -> str:
    """A message in a few words, on one line."""
    words, calls, results, others = [], [], 0, 0
    for part in message.parts:
        if isinstance(part, Text):
            words.append(part.text)
        elif isinstance(part, ToolCall):
            calls.append(part.name)
        elif isinstance(part, ToolResult):
            results += 1
            words += [item.text for item in part.content if isinstance(item, Text)]
        else:
            others += 1
    said = _shortened(" ".join(words))
    if calls:
        said = f"[calls {', '.join(calls)}] {said}"
    elif results > 1:
        said = f"[{results} results] {said}"
    return said.strip() or (f"[{others} other parts]" if others else "[empty]")


def _shortened(text: str) -> str:
    """One line without control characters, cut to length."""
    line = " ".join(text[: 20 * _WORDS].split())
    line = "".join(char if char.isprintable() else "·" for char in line)
    return line if len(line) <= _WORDS else line[: _WORDS - 1] + "…"
