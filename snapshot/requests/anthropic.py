"""Requests to Anthropic's Messages API: `messages`, and `system` where the transcript begins with such words.

Messages of one role in a row become one. What the system says later on keeps its place and role where the
model takes that, and the place is one that it takes; otherwise it stands there as the user's, labelled. A
transcript that does not begin with the user gets a few words of the user in front.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from snapshot.messages import (
    File,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Transcript,
)
from snapshot.models.profile import ModelProfile
from snapshot.parts.characters import is_blank
from snapshot.parts.kinds import KINDS, kind_of
from snapshot.requests.fallback_text import (
    NO_OUTPUT,
    OPENER,
    arguments_of,
    base64_of,
    blank,
    clean,
    from_system,
    in_words,
    is_mistyped,
    is_sealed,
    is_url,
    media_type_of,
    name_of,
    value_of,
    words_of,
)
from snapshot.requests.steps import Step, plan

__all__ = ["FORMATS", "write"]

FORMATS = frozenset({"anthropic", "claude-session", "claude-stream"})

_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_THOUGHTS = tuple(kind.name for kind in KINDS if kind.api == "anthropic" and "thinking" in kind.name)
# Blocks that the reader knows: where one is opaque all the same, it is damaged, or in a wrong place.
_READ = tuple(kind.name for kind in KINDS if kind.api == "anthropic" and not kind.whole)
Blocks = list[dict[str, Any]]


def write(transcript: Transcript, reader: ModelProfile | None = None) -> dict[str, Any]:
    """The body parts `system` (only if there is one) and `messages`.

    Where no reader is given, messages of the system keep their place if they came so.
    """
    own = transcript.format in FORMATS
    steps = plan(transcript, FORMATS, _is_sound)
    lead = next((n for n, step in enumerate(steps) if not _is_system(step.message)), len(steps))
    messages: list[dict[str, Any]] = []
    for number, step in enumerate(steps[lead:], lead):
        if _keeps_role(steps, number, messages, reader):
            content = _content(step.message) if step.message.raw else list(_blocks(step.message, own))
            _say(messages, "system", content)
            continue
        _say(messages, *_spoken(step, own))
        for results in step.results:
            if results.raw:
                _say(messages, "user", _content(results))
            else:
                _say(messages, "user", [_result(p, own) for p in results.parts if isinstance(p, ToolResult)])
    messages = _settled(messages)
    if not messages or messages[0]["role"] != "user":
        messages.insert(0, {"role": "user", "content": OPENER})
    system = _system([step.message for step in steps[:lead]], own)
    return clean({"system": system, "messages": messages} if system else {"messages": messages})


def _keeps_role(
    steps: list[Step], number: int, messages: list[dict[str, Any]], reader: ModelProfile | None
) -> bool:
    """Whether the system may speak here: behind the user's turn, before the assistant's or nothing, in text
    alone. Its messages that follow each other become one."""
    message = steps[number].message
    takes = bool(message.raw) if reader is None else reader.midway_system
    if not takes or not _is_system(message) or not messages or messages[-1]["role"] == "assistant":
        return False
    following = next((step.message for step in steps[number:] if not _is_system(step.message)), None)
    if following is not None and following.role != "assistant":
        return False
    texts = [part for part in message.parts if not blank(part)]
    return all(isinstance(part, Text) for part in texts)


def _settled(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages without thoughts at the end of one, and citations of what is not in the request."""
    documents = _documents(messages)
    settled: list[dict[str, Any]] = []
    for message in messages:
        content = message["content"]
        if isinstance(content, list):
            blocks = [_cited(block, documents) for block in content]
            while blocks and blocks[-1]["type"] in _THOUGHTS:
                blocks.pop()
            content = content if blocks == content else blocks
        _say(settled, message["role"], content)
    return settled


def _documents(messages: list[dict[str, Any]]) -> int:
    """How many documents a request holds, those in results included."""
    found = 0
    todo: list[Any] = [message["content"] for message in messages]
    while todo:
        item = todo.pop()
        if isinstance(item, list):
            todo += item
        elif isinstance(item, dict):
            found += item.get("type") == "document"
            if item.get("type") == "tool_result":
                todo.append(item.get("content"))
    return found


def _cited(block: dict[str, Any], documents: int) -> dict[str, Any]:
    """The block without citations that name a document by a number that there is none of."""
    citations = block.get("citations")
    if block["type"] != "text" or not isinstance(citations, list) or not citations:
        return block
    numbers = [item.get("document_index") for item in citations if isinstance(item, dict)]
    if all(number is None or (isinstance(number, int) and number < documents) for number in numbers):
        return block
    return {key: value for key, value in block.items() if key != "citations"}


def _is_system(message: Message) -> bool:
    """Notes that a harness makes in the user's name are the system's, but go back as they were sent."""
    return message.role == "system" and all(raw.get("role") == "system" for raw in message.raw)


def _system(messages: list[Message], own: bool) -> str | Blocks:
    contents = [_content(m) if m.raw else list(_blocks(m, own)) for m in messages]
    if len(contents) == 1 and (messages[0].raw or len(contents[0]) != 1):
        return contents[0]
    blocks = [block for content in contents for block in _as_blocks(content)]
    return blocks[0]["text"] if len(blocks) == 1 else blocks


def _spoken(step: Step, own: bool) -> tuple[str, str | Blocks]:
    message = step.message
    role = "assistant" if message.role == "assistant" else "user"
    if _is_system(message):
        message = from_system(message)
    return role, _content(message) if message.raw else list(_blocks(message, own))


def _content(message: Message) -> str | Blocks:
    """The content of a message as it came."""
    if len(message.raw) == 1:
        return message.raw[0]["content"]
    return [block for raw in message.raw for block in _as_blocks(raw["content"])]


def _as_blocks(content: str | Blocks) -> Blocks:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _say(messages: list[dict[str, Any]], role: str, content: str | Blocks) -> None:
    """Add content, to the last message if that is of the same role."""
    if all(block["type"] in _THOUGHTS for block in _as_blocks(content)):  # thoughts alone are refused
        return
    if messages and messages[-1]["role"] == role:
        content = [*_as_blocks(messages.pop()["content"]), *_as_blocks(content)]
    messages.append({"role": role, "content": content})


def _blocks(message: Message, own: bool) -> Iterator[dict[str, Any]]:
    for part in message.parts:
        if not blank(part):
            yield from _block(message.role, part, own)


def _block(role: str, part: Part, own: bool) -> Iterator[dict[str, Any]]:
    match part:
        case Reasoning(text, signature):
            if own and signature and role == "assistant":
                yield {"type": "thinking", "thinking": text, "signature": signature}
        case ToolCall():
            yield {"type": "tool_use", "id": part.id, "name": name_of(part), "input": arguments_of(part)}
        case ToolResult():
            pass  # stands in a step's results
        case Image() | File() if role == "user":
            yield _shown(part, own)
        case Opaque() if own and _has_place(part.kind, role) and (block := _known(part)):
            yield block
        case Opaque() if is_sealed(part):
            pass
        case Text() | Image() | File() | Opaque():
            yield {"type": "text", "text": in_words(part)}


def _has_place(kind: str, role: str) -> bool:
    """Whether a block of this type may stand in a message of this role, or in a result of the user's."""
    known = kind_of("anthropic", kind)
    return role == "assistant" or (role == "user" and (known is None or known.family == "note"))


def _known(part: Opaque) -> dict[str, Any] | None:
    """A block of this API that only the reader did not know; None for what is broken, or no block."""
    if part.kind in _READ:
        return None
    block = value_of(part.json)
    return block if isinstance(block, dict) and block.get("type") == part.kind else None


def _result(result: ToolResult, own: bool) -> dict[str, Any]:
    texts, _ = words_of(result, mark_error=False)
    content: str | Blocks
    if all(
        isinstance(part, Text) or (isinstance(part, Opaque) and is_sealed(part)) for part in result.content
    ):
        content = texts[0] if len(texts) == 1 else [{"type": "text", "text": text} for text in texts]
    else:
        content = [block for part in result.content if not blank(part) for block in _block("user", part, own)]
    block = {"type": "tool_result", "tool_use_id": result.call_id, "content": content or NO_OUTPUT}
    return block | ({"is_error": True} if result.is_error else {})


def _shown(part: Image | File, own: bool) -> dict[str, Any]:
    """An image or document; words about it where the API does not take it."""
    kind = "image" if isinstance(part, Image) else "document"
    media_type = media_type_of(part) if isinstance(part, Image) else part.media_type
    source: dict[str, Any] | None = None
    title = {}
    if isinstance(part, File):
        title = {"title": part.name} if part.name else {}
        if part.text.strip():
            source = {"type": "text", "media_type": "text/plain", "data": part.text}
    if source is None and part.data:
        if media_type in (_IMAGES if kind == "image" else ("application/pdf",)):
            source = {"type": "base64", "media_type": media_type, "data": base64_of(part.data)}
    elif source is None and is_url(part.source):
        source = {"type": "url", "url": part.source}
    elif source is None and own and part.source:
        source = {"type": "file", "file_id": part.source}
    if source is None:
        return {"type": "text", "text": in_words(part)}
    return {"type": kind, "source": source, **title}


def _is_sound(message: Message) -> bool:
    """Whether the service takes a message as it came."""
    calls = [part.id for part in message.parts if isinstance(part, ToolCall)]
    results = [part.call_id for part in message.parts if isinstance(part, ToolResult)]
    used: list[object] = []
    answered: list[object] = []
    for raw in message.raw:
        content, role = raw.get("content"), raw.get("role")
        speaks = (role == "assistant") == (message.role == "assistant")
        if role not in ("user", "assistant", "system") or not speaks or not content:
            return False
        if isinstance(content, str):
            if is_blank(content):
                return False
            continue
        if not isinstance(content, list) or not all(_is_sound_block(block, role) for block in content):
            return False
        used += [block.get("id") for block in content if block["type"] == "tool_use"]
        answered += [block.get("tool_use_id") for block in content if block["type"] == "tool_result"]
    damaged = any(isinstance(part, Opaque) and part.kind in ("image", "document") for part in message.parts)
    return used == calls and answered == results and not damaged and all(calls)


def _is_sound_block(block: Any, role: str) -> bool:
    if not isinstance(block, dict):
        return False
    user, assistant = role == "user", role == "assistant"
    match block.get("type"):
        case "text":
            sound = isinstance(block.get("text"), str) and not is_blank(block["text"])
        case "image" | "document":
            sound = user and _is_sound_source(block["type"], block.get("source"))
        case "thinking":
            sound = assistant and all(isinstance(block.get(key), str) for key in ("thinking", "signature"))
        case "tool_use":
            sound = assistant and isinstance(block.get("input"), dict) and bool(block.get("name"))
        case "tool_result":
            sound = user and _is_sound_result(block)
        case kind:
            sound = isinstance(kind, str) and _has_place(kind, role)
    return sound


def _is_sound_source(kind: str, source: Any) -> bool:
    """Whether an image has a type that the service takes, and is what it is said to be."""
    if not isinstance(source, dict):
        return False
    if kind != "image" or source.get("type") != "base64":
        return True
    said = source.get("media_type")
    return said in _IMAGES and not is_mistyped(said, source.get("data"))


def _is_sound_result(block: dict[str, Any]) -> bool:
    content = block.get("content")
    if block.get("is_error") and not content:  # a failure without words is refused
        return False
    listed = [] if content is None or isinstance(content, str) else content
    return isinstance(listed, list) and all(_is_sound_block(inner, "user") for inner in listed)
