"""ChatGPT's data export: a conversation as a tree of one branch, with a node for each piece."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC
from typing import Any

from snapshot.messages import Image, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult, Transcript
from snapshot.transcripts.io.json_values import compact
from snapshot.transcripts.round_trip import instant
from snapshot.transcripts.writing.ids import keyed, made_up, named_once
from snapshot.transcripts.writing.json_text import value_of
from snapshot.transcripts.writing.units import Tell, Unit, answered, in_order, joined, settled

OWN: frozenset[str] = frozenset()
LINES = False
IDS = False
STRAYS = False


def units(transcript: Transcript, tell: Tell) -> Iterator[Unit]:
    """Calls with their results, which have no ids to be told by; what the assistant says in a row is one."""
    units = named_once(answered(joined(settled(transcript), tell)), tell, apart=True)
    return in_order(units, tell, by_name=True)


def rows(messages: Sequence[Message], names: dict[str, str]) -> list[Any]:
    """Messages of nodes; the first of each has its id."""
    found: list[Any] = []
    for message in messages:
        nodes = list(_nodes(message, names))
        stamp = instant(message.time)
        time = None if isinstance(stamp, str) else stamp.astimezone(UTC).timestamp()  # type: ignore[attr-defined]
        for number, node in enumerate(nodes):
            named = {"id": message.id} if message.id and number == 0 else {}
            found.append(
                {**named, "create_time": time, "status": "finished_successfully", "weight": 1.0, **node}
            )
    return found


def own(_messages: Sequence[Message]) -> list[Any] | None:
    """There is no such form."""
    return None


def document(rows: list[Any], model: str) -> Any:
    """The export of one conversation: a root, and each node the child of the one before it."""
    name = made_up("conversation", *(compact(row) for row in rows[:2]))
    root = made_up(name, "root")
    mapping: dict[str, Any] = {root: {"id": root, "message": None, "parent": None, "children": []}}
    last = root
    for key, row in zip(keyed(rows, "id", name), rows, strict=True):
        mapping[last]["children"] = [key]
        mapping[key] = {"id": key, "message": {**row, "id": key}, "parent": last, "children": []}
        last = key
    times = [row["create_time"] for row in rows if row["create_time"] is not None]
    return [
        {
            "title": None,
            "create_time": times[0] if times else None,
            "update_time": times[-1] if times else None,
            "mapping": mapping,
            "current_node": last,
            "conversation_id": name,
            **({"default_model_slug": model} if model else {}),
        }
    ]


def _nodes(message: Message, names: dict[str, str]) -> Iterator[dict[str, Any]]:
    if message.role == "tool":
        for number, result in enumerate(message.parts):
            if isinstance(result, ToolResult):
                if number:  # what one tool says in a row is one result, unless somebody else speaks
                    yield _node("assistant", {"content_type": "text", "parts": [""]})
                yield _node("tool", _told(result), name=names.get(result.call_id) or "unknown")
        return
    words: list[Part] = []
    for part in message.parts:
        if isinstance(part, Text | Image):
            words.append(part)
            continue
        if words:
            yield _node(message.role, _content(words))
            words = []
        yield _node(message.role, _single(part), recipient=part.name if isinstance(part, ToolCall) else "all")
    if words or not message.parts:
        yield _node(message.role, _content(words))


def _node(role: str, content: Any, *, name: str | None = None, recipient: str = "all") -> dict[str, Any]:
    author = {"role": role, "name": name, "metadata": {}}
    return {"author": author, "content": content, "metadata": {}, "recipient": recipient}


def _single(part: Part) -> Any:
    match part:
        case Reasoning(text):
            return {"content_type": "thoughts", "thoughts": [{"summary": "", "content": text}]}
        case ToolCall(_, _, arguments):
            return {"content_type": "code", "language": "unknown", "text": arguments}
        case Opaque(_, json):
            return value_of(json)
    return None


def _content(parts: Sequence[Part]) -> dict[str, Any]:
    if all(isinstance(part, Text) for part in parts):
        return {"content_type": "text", "parts": [part.text for part in parts if isinstance(part, Text)]}
    return {"content_type": "multimodal_text", "parts": [_piece(part) for part in parts]}


def _piece(part: Part) -> Any:
    match part:
        case Text(text):
            return text
        case Image(_, data, source) if not data:
            return {"content_type": "image_asset_pointer", "asset_pointer": source}
        case Opaque(_, json):
            return value_of(json)
    return None


def _told(result: ToolResult) -> dict[str, Any]:
    texts = [part.text for part in result.content if isinstance(part, Text)]
    if result.is_error:
        return {"content_type": "system_error", "name": "", "text": "\n".join(texts)}
    return _content(result.content)
