"""Session trees of pi and omp, taken in with every entry and its id, and written again.

The form is JSON Lines: a header, then entries with `id` and `parentId`. An entry keeps its JSON, so what came
from such a file goes back as it came. What is never sent (changes of the model, labels) is an event here.
Single messages are read and written by `snapshot.transcripts`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain, count
from secrets import token_hex
from typing import Any

from snapshot.errors import SessionError, TranscriptError
from snapshot.messages import Diagnostic, Message, Text, Transcript
from snapshot.requests.tool_pairing import OpenCalls
from snapshot.session.checkpoint import Checkpoint
from snapshot.session.rows import Rows, now
from snapshot.session.store import Store
from snapshot.session.tree import Node, misplaced, on_path
from snapshot.session.view import View
from snapshot.transcripts import dump, load
from snapshot.transcripts.io.json_values import escaped, parse

__all__ = ["is_pi", "read_pi", "write_pi"]

_HEADER = {"type": "session", "version": 3, "id": "one"}
_MADE = "null"  # origin of a node that stands in no pi file: a result where a call never got one


def _value(line: str | bytes) -> Any:
    """What a line of JSON holds, numbers with their digits. Raises `ValueError` or `RecursionError`."""
    return parse(line if isinstance(line, str) else line.decode("utf-8", "surrogatepass"))


def is_pi(data: bytes) -> bool:
    """Whether it is such a file."""
    try:
        first = _value(data.lstrip(b"\xef\xbb\xbf \r\n").split(b"\n", 1)[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and first.get("type") == "session" and "id" in first


def read_pi(store: Store, data: bytes, name: str, agent: str = "main") -> list[Diagnostic]:
    """Take a file in as a new conversation; what in it was not as it should be.

    Every entry is a node with its id; the last one is where branch "main" ends, other ends are branches
    "branch-1" and so on.

    Raises:
        SessionError: the conversation is there already, or nothing in the file can be read.
    """
    found: list[Diagnostic] = []
    entries = list(_entries(data, found))
    if not entries or entries[0].get("type") != "session":
        raise SessionError("not a session of pi: its first line is no header")
    header, *entries = entries
    with store.database.writing():
        rows = store.start(name, agent, format="pi", origin=escaped(header))
        reader = _Reader(rows, found)
        for number, entry in enumerate(entries, 2):
            reader.take(entry, f"line {number}")
        reader.finish()
    return found


def write_pi(view: View) -> bytes:
    """A history as such a file, the whole tree in it."""
    origin = view.rows.database.value("SELECT origin FROM conversations WHERE key = ?", view.rows.key)
    header = {"type": "session", "version": 3, "id": view.name, "timestamp": now(), "cwd": ""}
    lines = [origin or escaped(header)]
    last: dict[int, str | None] = {}  # id of the entry that a node ends with
    for node in view.rows.nodes():
        parent = last.get(node.parent) if node.parent is not None else None
        origin = view.rows.origin(node)
        if origin == _MADE:
            last[node.seq] = parent
            continue
        last[node.seq] = node.id
        if origin:
            lines.append(origin)
            continue
        for entry in _written(view, node):
            frame = {"type": entry.pop("type"), "id": node.id, "parentId": parent, "timestamp": node.time}
            if last[node.seq] == parent:
                frame["id"] = f"{node.id}-{len(lines)}"
            lines.append(escaped(frame | entry))
            parent = last[node.seq] = frame["id"]
    lines += _closing(view, last)
    return ("\n".join(lines) + "\n").encode()


def _closing(view: View, last: dict[int, str | None]) -> Iterator[str]:
    """Entries that say what no node does: labels that were set here, and where the current branch ends.

    The entry that stands last in a file is where its session goes on.
    """
    leaf = view.rows.branch(view.current)[1]
    parent = last.get(leaf.seq) if leaf else None
    at_end = leaf is None or not last or next(reversed(last)) == leaf.seq
    for number, entry in enumerate(_new_labels(view, last), 1):
        frame = {"type": "label", "id": f"label-{number}-{token_hex(4)}", "parentId": parent}
        yield escaped(frame | {"timestamp": now(), **entry})
        parent, at_end = frame["id"], True
    if not at_end:
        frame = {"type": "custom", "id": f"leaf-{token_hex(4)}", "parentId": parent, "timestamp": now()}
        yield escaped({**frame, "customType": "snapshot-pages/leaf"})


def _new_labels(view: View, last: dict[int, str | None]) -> Iterator[dict[str, str | None]]:
    """What the labels of the tree are now and its label entries do not say: set anew, or taken away."""
    said: dict[str, str] = {}
    for node in view.rows.nodes():
        origin = view.rows.origin(node)
        entry = _value(origin) if origin and '"label"' in origin else {}
        if entry.get("type") == "label":
            said.pop(str(entry.get("targetId")), None)
            if entry.get("label"):
                said[str(entry["targetId"])] = str(entry["label"])
    ids = {node.id: last.get(node.seq) for node in view.rows.nodes()}
    there = {target: label.name for label in view.labels() if (target := ids.get(label.node))}
    for target, name in there.items():
        if target not in said or not _means(name, said[target]):
            yield {"targetId": target, "label": name}
    for target in (said.keys() - there.keys()) & set(ids.values()):
        yield {"targetId": target, "label": None}


def _means(name: str, label: str) -> bool:
    """Whether a label here is that of an entry, but for the number that tells it from another one."""
    return name == label or (name.startswith(f"{label} ") and name[len(label) + 1 :].isdigit())


# --- reading


def _entries(data: bytes, found: list[Diagnostic]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            entry = _value(line)
        except (ValueError, RecursionError):
            entry = None
        if isinstance(entry, dict):
            yield entry
        else:
            found.append(Diagnostic("torn-line", f"line {number}", "no JSON object; left out"))


class _Reader:
    """Entries into rows, one by one."""

    def __init__(self, rows: Rows, found: list[Diagnostic]) -> None:
        self._rows, self._found = rows, found
        self._nodes: dict[str, Node] = {}
        self._waiting: dict[int, Counter[str]] = {}
        self._followed: set[int] = set()
        self._labels: dict[int, str] = {}  # by the number of the node: one for each, the newest
        self._last: Node | None = None
        self._model = ""

    def take(self, entry: dict[str, Any], where: str) -> None:
        node_id = str(entry.get("id", ""))
        parent = self._last
        if "parentId" in entry:
            parent = self._nodes.get(str(entry["parentId"]))
            if parent is None and entry["parentId"] is not None:
                self._odd("missing-parent", where, "what it follows is not in the file; it starts a tree")
        if node_id in self._nodes:
            self._odd("duplicate-id", where, f"a second entry {node_id!r}; it has a new id")
            node_id = ""
        given = {"node_id": node_id, "origin": escaped(entry), "time": str(entry.get("timestamp") or "")}
        self._model = str(entry.get("modelId") or self._model)
        node = self._put(entry, parent, given, where)
        if parent is not None:
            self._followed.add(parent.seq)
        self._nodes[node_id or node.id] = self._last = node

    def finish(self) -> None:
        self._rows.put_branch("main", self._last, model=self._model)
        taken: set[str] = set()
        for seq, label in self._labels.items():
            # Two entries may have one label there; here a label names one node.
            again = (f"{label} {number}" for number in count(2))
            name = next(name for name in chain((label,), again) if name not in taken)
            taken.add(name)
            self._rows.put_label(name, self._rows.get(seq), "")
        ends = [
            node for node in self._nodes.values() if node.seq not in self._followed and node != self._last
        ]
        for number, node in enumerate(ends, 1):
            self._rows.put_branch(f"branch-{number}", node, model=self._model)

    def _put(self, entry: dict[str, Any], parent: Node | None, given: dict[str, str], where: str) -> Node:
        kind = entry.get("type")
        if kind == "compaction" and parent is not None:
            return self._still(
                parent, self._rows.put_checkpoint(parent, self._checkpoint(entry, parent), **given)
            )
        message = _message(entry)
        if message is not None:
            self._model = (
                str(entry.get("message", {}).get("model") or self._model)
                if kind == "message"
                else self._model
            )
            waiting = self._waiting.get(parent.seq, Counter[str]()) if parent else Counter[str]()
            if message.role != "tool" and waiting:
                parent = self._rows.put_message(parent, OpenCalls(waiting).closing(), origin=_MADE)
                self._odd("open-call", where, "a call before it has no result; it has one that says so")
                waiting = Counter[str]()
            pairing = OpenCalls(Counter(waiting))
            wrong = [*misplaced(message), *(what for _, what in pairing.take(message))]
            if not wrong:
                node = self._rows.put_message(
                    parent,
                    message,
                    kind="synthesis" if kind == "branch_summary" else "message",
                    **given,
                )
                if pairing.open:
                    self._waiting[node.seq] = pairing.open
                return node
            self._odd("not-sent", where, f"kept, but never sent: {wrong[0]}")
        node = self._still(parent, self._rows.put(parent, "event", given["origin"], **given))
        target = self._nodes.get(str(entry.get("targetId")))
        if kind == "label" and target is not None:
            label = entry.get("label")
            self._labels.pop(target.seq, None)  # none, or an empty one, takes the former away
            if label:
                self._labels[target.seq] = str(label)
        return node

    def _checkpoint(self, entry: dict[str, Any], parent: Node) -> Checkpoint:
        lead = [Message("user", (Text(str(entry.get("summary") or "")),))]
        first = self._nodes.get(str(entry.get("firstKeptEntryId")))
        kept = entry.get("retainedTail")
        if isinstance(kept, list):
            said = [_message({"type": "message", "message": item}) for item in kept]
            lead += [message for message in said if message is not None]
            first = None
        elif first is not None and not on_path(first, parent, self._rows.get):
            first = None
        return Checkpoint("summary", first.id if first else "", tuple(lead), self._model)

    def _still(self, parent: Node | None, node: Node) -> Node:
        """What was open before a node that says nothing is open still."""
        if parent is not None and parent.seq in self._waiting:
            self._waiting[node.seq] = self._waiting[parent.seq]
        return node

    def _odd(self, kind: str, where: str, note: str) -> None:
        self._found.append(Diagnostic(kind, where, note))


def _message(entry: dict[str, Any]) -> Message | None:
    """What an entry says to the model, None for nothing."""
    if entry.get("type") not in ("message", "branch_summary", "custom_message"):
        return None
    alone = b"\n".join(escaped(item).encode() for item in (_HEADER, {**entry, "parentId": None}))
    try:
        return next(iter(load(alone, format="pi", as_sent=True).messages), None)
    except TranscriptError:
        return None


# --- writing


def _written(view: View, node: Node) -> Iterator[dict[str, Any]]:
    """A node as entries, without their frame."""
    if node.kind == "checkpoint":
        checkpoint = view.rows.checkpoint(node)
        words = [part.text for message in checkpoint.lead for part in message.parts if isinstance(part, Text)]
        entry = {"type": "compaction", "summary": "\n\n".join(words), "tokensBefore": checkpoint.before}
        yield entry | (
            {"firstKeptEntryId": checkpoint.first_kept} if checkpoint.first_kept else {"retainedTail": []}
        )
    elif node.kind == "event":
        event = _value(view.rows.body(node))
        yield {"type": "model_change", "provider": "", "modelId": event.get("model", "")}
    elif node.kind == "synthesis":
        words = [part.text for part in view.rows.message(node).parts if isinstance(part, Text)]
        yield {"type": "branch_summary", "fromId": "", "summary": "\n".join(words)}
    else:
        dumped = dump(Transcript((view.rows.message(node),), "pi"), "pi").data
        for line in dumped.splitlines()[1:]:
            entry = _value(line)
            yield {key: entry[key] for key in ("type", "message") if key in entry}
