"""ChatGPT's data export: conversations, each a tree of nodes under `mapping`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from snapshot.messages import (
    File,
    Image,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Transcript,
)
from snapshot.transcripts.io import jsonl
from snapshot.transcripts.io.json_values import JsonObject, as_list, as_object, as_text, compact, type_name
from snapshot.transcripts.io.source import MISSING, Sample, Source
from snapshot.transcripts.reading.build import Builder, role_of
from snapshot.transcripts.reading.pairing import Pairing
from snapshot.transcripts.reading.parents import along, anchors, mended, way
from snapshot.transcripts.reading.parts import ANY_FILE, ANY_IMAGE, read_opaque
from snapshot.transcripts.reading.threads import Conversation, Detection, Thread, title_of

NAME = "chatgpt-export"


def detect(sample: Sample) -> Detection | None:
    """How sure it is that this is such an export."""
    found = _conversations(list(sample.rows) if sample.document is MISSING else sample.document)
    if not found:
        return None
    return Detection(
        NAME,
        0.98,
        f"{len(found)} conversations with a mapping of nodes" if len(found) > 1 else "a mapping of nodes",
    )


def threads(source: Source) -> Sequence[Thread]:
    """A thread for each conversation, and one for each of its other leaves: answers and edits that were left.

    A conversation is the way from its current node to the root. Its leaves have ids "CONVERSATION:NODE".
    """
    if source.damage is not None:
        raise source.damage
    document = source.document
    if document is MISSING:
        document = [row for _, row in jsonl.rows(source)]
    made: list[Thread] = []
    taken: set[str] = set()
    for number, conversation in enumerate(_conversations(document), 1):
        name = as_text(conversation.get("conversation_id") or conversation.get("id")) or str(number)
        if name in taken:
            name = f"{name}#{number}"
        taken.add(name)
        made += _leaves(source, name, conversation)
    if not made:
        raise source.error("no conversation in it: expected objects with a `mapping` of nodes")
    return made


def _conversations(document: object) -> list[JsonObject]:
    listed = as_list(document)
    several = [document] if listed is None else listed
    return [
        one
        for one in map(as_object, several)
        if one is not None and as_object(one.get("mapping")) is not None
    ]


def _leaves(source: Source, name: str, conversation: JsonObject) -> Iterator[Thread]:
    mapping = as_object(conversation["mapping"]) or {}
    nodes = {key: node for key, value in mapping.items() if (node := as_object(value)) is not None}
    # `children` may be left out everywhere, so the tree is what `parent` says.
    parents, notes = _parents(nodes, as_text(conversation.get("current_node")))
    inner = set(parents.values())
    leaves = [key for key in nodes if key not in inner and _message(nodes[key])]
    current = as_text(conversation.get("current_node"))
    if current not in nodes:
        current = leaves[-1] if leaves else next(reversed(nodes), "")
    own = {key: (int(bool(_message(node))), _asked(_message(node))) for key, node in nodes.items()}
    told = along(parents, own, lambda above, here: (above[0] + here[0], above[1] or here[1]))

    def thread(leaf: str) -> Thread:
        said, words = told.get(leaf, (0, ""))
        main = leaf == current
        stamp = conversation.get("update_time") if main else _message(nodes[leaf]).get("create_time")
        title = as_text(conversation.get("title")) or title_of(words)
        found = Conversation(name if main else f"{name}:{leaf}", title, said, _time(stamp), main)

        def read() -> Transcript:
            path = [step for step in reversed(way(leaf, parents)) if step in nodes]
            found = [notes[step] for step in path if step in notes]
            return _read(source, conversation, [nodes[step] for step in path], found)

        return Thread(found, read)

    yield thread(current)
    for leaf in leaves:
        if leaf != current:
            yield thread(leaf)


def _parents(
    nodes: Mapping[str, JsonObject], current: str
) -> tuple[dict[str, str], dict[str, tuple[str, str, str]]]:
    """The tree, and what was wrong with the parents of nodes.

    Where a parent is missing, a node follows the only end of the rest, if the rest has only one. A circle is
    cut where the way from the current node would enter it again.
    """
    given = {key: as_text(node.get("parent")) for key, node in nodes.items()}
    steps = way(current, given)
    around = steps[-1:] if steps and given.get(steps[-1], "") in steps else []
    linked, cut = mended(given | dict.fromkeys(around, ""))
    cut += around
    notes = {
        key: ("circle", f"node {key}", "the parent of a node leads back to it; read from here on")
        for key in cut
    }
    torn = [key for key, parent in linked.items() if parent and parent not in nodes]
    inner = set(linked.values())
    _, roots = anchors(linked, linked)
    what = "read from here on"
    if len(torn) == 1 and not cut:
        missing = linked[torn[0]]
        ends = [one for one in nodes if one not in inner and roots[one] != missing]
        if len(ends) == 1:
            linked[torn[0]], what = ends[0], "it follows what is left before it"
    for key in torn:
        notes[key] = "no-parent", f"node {key}", f"the node before it is not in the file; {what}"
    return linked, notes


def _asked(message: JsonObject) -> str:
    """The user's words in a message."""
    content = as_object(message.get("content")) or {}
    return _words(content.get("parts")) if _author(message) == "user" else ""


def _message(node: JsonObject) -> JsonObject:
    return as_object(node.get("message")) or {}


def _author(message: JsonObject) -> str:
    return as_text((as_object(message.get("author")) or {}).get("role"))


def _time(value: object) -> str:
    """Seconds since 1970 as ISO 8601."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return as_text(value)
    try:
        return datetime.fromtimestamp(value, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return as_text(value)


def _read(
    source: Source,
    conversation: JsonObject,
    path: Sequence[JsonObject],
    notes: Iterable[tuple[str, str, str]],
) -> Transcript:
    builder = Builder(source)
    for note in notes:
        builder.odd(*note)
    reader = _Reader(builder, as_text(conversation.get("default_model_slug")))
    for number, node in enumerate(path, 1):
        message = _message(node)
        if message:
            reader.read(message, f"node {as_text(node.get('id')) or number}")
    reader.end_result()
    return builder.finish(NAME, reader.model, reader.extra_rows)


class _Reader:
    """Adds nodes to a conversation. A call has no id there: what its tool says next is its result."""

    def __init__(self, builder: Builder, model: str) -> None:
        self.model = model
        self.extra_rows: list[Opaque] = []
        self._builder = builder
        self._pairing = Pairing(builder.ids)
        self._result: _Result | None = None

    def read(self, message: JsonObject, where: str) -> None:
        """Add the message of the next node."""
        metadata = as_object(message.get("metadata")) or {}
        self.model = as_text(metadata.get("model_slug")) or self.model
        if message.get("weight") == 0:  # not sent to the model
            self.extra_rows.append(Opaque("weightless", compact(message)))
            return
        role = role_of(_author(message))
        if role is None:
            self.end_result()
            self._builder.add_unread(message, where=where, speaker="author")
            return
        parts = list(_parts(self._builder, message, where))
        if role == "tool":
            self._answer(message, parts, where)
            return
        self.end_result()
        recipient = as_text(message.get("recipient")) or "all"
        if role == "assistant" and recipient != "all":
            asked = "\n".join(part.text for part in parts if isinstance(part, Text))
            call = ToolCall(self._pairing.call(recipient), recipient, asked)
            parts = [*(part for part in parts if not isinstance(part, Text)), call]
        if role == "user" and metadata.get("is_visually_hidden_from_conversation") is True:
            role = "system"
        if not parts and role != "user":
            return
        # An answer may be spread over nodes: thoughts, words and calls of one turn.
        if role != "assistant" or not self._builder.extend(role, parts):
            message_id, time = as_text(message.get("id")), _time(message.get("create_time"))
            self._builder.add(role, parts, where=where, message_id=message_id, time=time)

    def _answer(self, message: JsonObject, parts: Sequence[Part], where: str) -> None:
        name = as_text((as_object(message.get("author")) or {}).get("name"))
        if self._result is None or self._result.name != name:
            self.end_result()
            message_id, time = as_text(message.get("id")), _time(message.get("create_time"))
            self._result = _Result(name, where, message_id, time)
        content = as_object(message.get("content")) or {}
        self._result.failed |= content.get("content_type") == "system_error"
        self._result.content += [part for part in parts if isinstance(part, Text | Image | File | Opaque)]

    def end_result(self) -> None:
        """Add the result that a tool has given so far."""
        done, self._result = self._result, None
        if done is not None:
            result = ToolResult(self._pairing.answer(done.name), tuple(done.content), done.failed)
            self._builder.add("tool", [result], where=done.where, message_id=done.id, time=done.time)


@dataclass(slots=True)
class _Result:
    """What a tool says, over several nodes."""

    name: str
    where: str
    id: str
    time: str
    content: list[Text | Image | File | Opaque] = field(default_factory=list)
    failed: bool = False


def _parts(builder: Builder, message: JsonObject, where: str) -> Iterator[Part]:
    content = as_object(message.get("content"))
    if content is None:
        if message.get("content") is not None:
            yield read_opaque(builder, message["content"], type_name(message["content"]), where)
        return
    kind = as_text(content.get("content_type"))
    if kind in ("text", "multimodal_text"):
        for value in as_list(content.get("parts")) or ():
            yield from _piece(builder, value, where)
    elif kind in _WORDS:
        words = "\n".join(filter(None, (as_text(content.get(key)) for key in _WORDS[kind])))
        if words:
            yield Text(words)
    elif kind == "tether_browsing_display":
        yield from _text(as_text(content.get("result")) or as_text(content.get("summary")))
    elif kind == "thoughts":
        for value in map(as_object, as_list(content.get("thoughts")) or ()):
            told = [as_text((value or {}).get(key)) for key in ("summary", "content")]
            yield Reasoning("\n".join(filter(None, told)))
    elif kind == "reasoning_recap":  # how long it thought
        yield Opaque(kind, compact(content))
    else:
        yield read_opaque(builder, content, kind or "untyped", where)


# Where the kinds of content that are words hold them.
_WORDS = {
    "code": ("text",),
    "execution_output": ("text",),
    "tether_quote": ("title", "url", "text"),
    "system_error": ("name", "text"),
    "user_editable_context": ("user_profile", "user_instructions"),
    "model_editable_context": ("model_set_context",),
}


def _text(words: str) -> Iterator[Part]:
    if words:
        yield Text(words)


def _piece(builder: Builder, value: object, where: str) -> Iterator[Part]:
    piece = as_object(value)
    if isinstance(value, str):
        yield from _text(value)
        return
    kind = as_text((piece or {}).get("content_type"))
    if piece is None:
        yield read_opaque(builder, value, type_name(value), where)
    elif kind == "image_asset_pointer":
        yield Image(ANY_IMAGE, source=as_text(piece.get("asset_pointer")))
    elif kind == "audio_transcription":
        yield from _text(as_text(piece.get("text")))
    elif kind == "audio_asset_pointer":
        yield File(
            "",
            f"audio/{as_text(piece.get('format')) or 'unknown'}",
            source=as_text(piece.get("asset_pointer")),
        )
    elif kind == "real_time_user_audio_video_asset_pointer":
        audio = as_object(piece.get("audio_asset_pointer")) or {}
        yield File("", ANY_FILE, source=as_text(audio.get("asset_pointer")))
    else:
        yield read_opaque(builder, piece, kind or "untyped", where)


def _words(value: object) -> str:
    return "\n".join(part for part in as_list(value) or () if isinstance(part, str))
