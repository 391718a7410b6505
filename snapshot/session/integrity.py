"""What is wrong with a stored history: `structure` when it is opened, `check` when it is asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from snapshot.errors import SessionError
from snapshot.messages import Diagnostic
from snapshot.requests.tool_pairing import OpenCalls
from snapshot.session.tree import KINDS, ROLES, Node, jump_of, misplaced
from snapshot.transcripts.io.json_values import parse

if TYPE_CHECKING:
    from snapshot.session.rows import Rows

__all__ = ["check", "structure"]

_ROLES = ", ".join(f"'{role}'" for role in ("", *ROLES))
_KINDS = ", ".join(f"'{kind}'" for kind in KINDS)
_STRUCTURE = f"""
SELECT n.id, n.parent, n.seq, p.seq, n.kind, n.role FROM nodes n
LEFT JOIN nodes p ON p.seq = n.parent AND p.conversation = n.conversation
WHERE n.conversation = ? AND (
  (n.parent IS NOT NULL AND p.seq IS NULL) OR n.parent >= n.seq OR n.depth <> coalesce(p.depth + 1, 0)
  OR n.kind NOT IN ({_KINDS}) OR n.role NOT IN ({_ROLES}))
ORDER BY n.seq
"""
_TEXTS, _NUMBERS = ("id", "kind", "role", "time", "body", "origin"), ("seq", "depth", "jump")
_TYPES = f"""
SELECT CAST(n.id AS TEXT) FROM nodes n WHERE n.conversation = ? AND (
  {" OR ".join(f"typeof(n.{name}) <> 'text'" for name in _TEXTS)}
  OR {" OR ".join(f"typeof(n.{name}) <> 'integer'" for name in _NUMBERS)}
  OR typeof(n.parent) NOT IN ('integer', 'null') OR typeof(n.checkpoint) NOT IN ('integer', 'null'))
ORDER BY n.seq
"""
_NO_LEAF = """
SELECT b.name FROM branches b LEFT JOIN nodes n ON n.seq = b.leaf AND n.conversation = b.conversation
WHERE b.conversation = ? AND b.leaf IS NOT NULL AND n.seq IS NULL
"""
# While this index is there, no two nodes of a history have one id.
_UNIQUE = "SELECT count(*) FROM pragma_index_list('nodes') WHERE \"unique\" AND origin = 'u'"
# Not by that index, which would not know of two.
_TWICE = "SELECT id FROM nodes NOT INDEXED WHERE conversation = ? GROUP BY id HAVING count(*) > 1"


def structure(rows: Rows) -> list[Diagnostic]:
    """What is wrong with how nodes and branches hang together; their contents are not looked at."""
    found = [
        Diagnostic("wrong-type", node_id, "one of its columns has a value of another type")
        for (node_id,) in rows.database.run(_TYPES, rows.key)
    ]
    if found:
        return found  # by which nothing more can be compared
    for node_id, parent, seq, parent_seq, kind, role in rows.database.run(_STRUCTURE, rows.key):
        if parent is not None and parent >= seq:
            found.append(Diagnostic("cycle", node_id, "it follows itself, or a node that is younger"))
        elif parent is not None and parent_seq is None:
            found.append(Diagnostic("missing-parent", node_id, "the node that it follows is missing"))
        elif kind not in KINDS:
            found.append(
                Diagnostic("unknown-kind", node_id, f"kind {kind!r}, which this version does not know")
            )
        elif role not in ROLES and role:
            found.append(Diagnostic("impossible-role", node_id, f"role {role!r}, which there is none of"))
        else:
            found.append(Diagnostic("wrong-depth", node_id, "its depth is not one more than its parent's"))
    for (name,) in rows.database.run(_NO_LEAF, rows.key):
        found.append(Diagnostic("missing-leaf", name, "the node that the branch ends with is missing"))
    if not rows.database.value(_UNIQUE):
        found += _duplicates(rows)
    return found


def check(rows: Rows) -> list[Diagnostic]:
    """Everything that is wrong with a history: structure, contents, calls and results on every branch."""
    found = structure(rows)
    if any(diagnostic.kind == "wrong-type" for diagnostic in found):
        return found
    found += [diagnostic for diagnostic in _duplicates(rows) if diagnostic not in found]
    nodes: dict[int, Node] = {}
    waiting: dict[int, Counter[str]] = {}  # open calls after a node, where there are any
    for node in rows.nodes():
        nodes[node.seq] = node
        parent = nodes.get(node.parent) if node.parent is not None else None
        found += [Diagnostic("wrong-column", node.id, what) for what in _columns(node, parent, nodes)]
        still = waiting.get(parent.seq, Counter[str]()) if parent else Counter[str]()
        try:
            if node.kind in ("message", "synthesis"):
                message = rows.message(node)
                pairing = OpenCalls(Counter(still))
                wrong = [("impossible-role", what) for what in misplaced(message)] + pairing.take(message)
                found += [Diagnostic(kind, node.id, what) for kind, what in wrong]
                still = pairing.open
            elif node.kind == "checkpoint":
                found += [Diagnostic("checkpoint", node.id, what) for what in _checkpoint(rows, node, nodes)]
            else:
                parse(rows.body(node))
        except (SessionError, ValueError, RecursionError) as error:
            found.append(Diagnostic("unreadable", node.id, str(error)))
        if still:
            waiting[node.seq] = still
    return found


def _duplicates(rows: Rows) -> list[Diagnostic]:
    twice = rows.database.run(_TWICE, rows.key)
    return [Diagnostic("duplicate-id", node_id, "two nodes have this id") for (node_id,) in twice]


def _columns(node: Node, parent: Node | None, nodes: dict[int, Node]) -> Iterator[str]:
    """What is wrong with what a node says of its ancestors, where these are there."""
    if parent is None:
        if node.parent is None and node.jump != node.seq:
            yield "its jump is not its own"
        return
    middle = nodes.get(parent.jump)
    farther = nodes.get(middle.jump) if middle else None
    if middle is None or farther is None or node.jump != jump_of(parent, middle, farther):
        yield "its jump does not lead where it should"
    if node.checkpoint != (node.seq if node.kind == "checkpoint" else parent.checkpoint):
        yield "it names another checkpoint than its parent does"


def _checkpoint(rows: Rows, node: Node, nodes: dict[int, Node]) -> Iterator[str]:
    checkpoint = rows.checkpoint(node, archive=True)
    if checkpoint.first_kept:
        seq: int | None = node.parent
        kept = rows.find(checkpoint.first_kept)
        while seq is not None and seq in nodes and seq > kept.seq:
            seq = nodes[seq].parent
        if seq != kept.seq:
            yield "its first kept message is not on its path"
