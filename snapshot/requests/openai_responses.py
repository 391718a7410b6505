"""Requests to OpenAI's Responses API: `input`, with what the system says as items of the developer.

Items that came from this API keep their ids, and reasoning stands before what it led to. Where an item had to
be built anew, all of its message are, without ids and without the reasoning: half of them would be refused.
Words of the assistant without an id are the text of a message: blocks of output text are the service's own,
which have an id and a status.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from snapshot.messages import File, Image, Message, Opaque, Part, Text, ToolCall, ToolResult, Transcript
from snapshot.models.profile import ModelProfile
from snapshot.parts.characters import is_blank
from snapshot.requests.fallback_text import (
    NO_OUTPUT,
    OPENER,
    arguments_text,
    blank,
    clean,
    data_url,
    in_words,
    is_mistyped_url,
    is_sealed,
    is_url,
    media_type_of,
    name_of,
    words_of,
)
from snapshot.requests.steps import Step, plan

__all__ = ["FORMATS", "write"]

FORMATS = frozenset({"codex", "openai-responses"})

_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_ROLES = {"system": "developer"}
Item = dict[str, Any]


def write(transcript: Transcript, _reader: ModelProfile | None = None) -> dict[str, Any]:
    """The body part `input`."""
    own = transcript.format in FORMATS
    items: list[Item] = []
    seen: set[str] = set()
    for planned in plan(transcript, FORMATS, _is_sound):
        step = _alike(_once(planned, seen))
        came = _settled(step.message.raw)
        came = list(_in_text(came)) if transcript.format == "codex" else came
        items += came or _spoken(step.message, own)
        for results in step.results:
            items += results.raw or [_output(p, own) for p in results.parts if isinstance(p, ToolResult)]
    return clean({"input": items or [_message("user", [{"type": "input_text", "text": OPENER}])]})


def _once(step: Step, seen: set[str]) -> Step:
    """The step as it came only if no item in it has the id of an earlier one: the service refuses two."""
    raw = [*step.message.raw, *(item for message in step.results for item in message.raw)]
    ids = [item_id for item in raw if isinstance(item_id := item.get("id"), str) and item_id]
    if len(set(ids)) < len(ids) or not seen.isdisjoint(ids):
        results = tuple(replace(message, raw=()) for message in step.results)
        return Step(replace(step.message, raw=()), results)
    seen.update(ids)
    return step


def _alike(step: Step) -> Step:
    """Calls of the built-in tools answered by outputs of their own kind, or all of them as functions."""
    calls = [item for item in step.message.raw if item.get("call_id")]
    if all(item.get("type") == "function_call" for item in calls) or all(m.raw for m in step.results):
        return step
    results = tuple(replace(message, raw=()) for message in step.results)
    return Step(replace(step.message, raw=()), results)


def _settled(raw: tuple[Item, ...]) -> list[Item]:
    """Items as they came, but for reasoning that led to nothing."""
    items = list(raw)
    while items and items[-1].get("type") == "reasoning":
        items.pop()
    return items


def _in_text(items: list[Item]) -> Iterator[Item]:
    """Items as a log keeps them: what the assistant said has lost its ids there."""
    for item in items:
        content = item.get("content")
        blocks = content if isinstance(content, list) else []
        texts = [block.get("text") for block in blocks if block.get("type") == "output_text"]
        if item.get("role") != "assistant" or item.get("id") or not texts or len(texts) < len(blocks):
            yield item
        else:
            yield from ({"type": "message", "role": "assistant", "content": text} for text in texts)


def _message(role: str, content: list[dict[str, Any]]) -> Item:
    return {"type": "message", "role": _ROLES.get(role, role), "content": content}


def _spoken(message: Message, own: bool) -> Iterator[Item]:
    """Messages and calls in their order."""
    if message.role != "assistant":
        content = [
            block for part in message.parts if not blank(part) for block in _block(message.role, part, own)
        ]
        if content:
            yield _message(message.role, content)
        return
    for part in message.parts:
        match part:
            case ToolCall():
                yield {
                    "type": "function_call",
                    "call_id": part.id,
                    "name": name_of(part),
                    "arguments": arguments_text(part),
                }
            case Opaque() if is_sealed(part):
                pass
            case Text() | Image() | File() | Opaque() if not blank(part):
                yield {"type": "message", "role": "assistant", "content": in_words(part)}


def _block(role: str, part: Part, own: bool) -> Iterator[dict[str, Any]]:
    match part:
        case Image() | File() if role == "user":
            yield _shown(part, own)
        case Opaque() if is_sealed(part):
            pass
        case Text() | Image() | File() | Opaque():
            yield {"type": "input_text", "text": in_words(part)}


def _shown(part: Image | File, own: bool) -> dict[str, Any]:
    """An image or document; words about it where the API does not take it."""
    place = {}
    detail = {}
    if isinstance(part, Image):
        kind, keys = media_type_of(part), ("image_url", "image_url")
        detail = {"detail": part.detail} if part.detail else {}
        fits = kind in _IMAGES
    else:
        kind, keys = part.media_type, ("file_data", "file_url")
        fits = kind == "application/pdf" and not part.text
    if part.data and fits:
        name = {"filename": part.name or "document.pdf"} if isinstance(part, File) else {}
        place = {**name, keys[0]: data_url(kind, part.data)}
    elif not part.data and is_url(part.source):
        place = {keys[1]: part.source}
    elif not part.data and own and part.source:
        place = {"file_id": part.source}
    if not place:
        return {"type": "input_text", "text": in_words(part)}
    return {"type": "input_image" if isinstance(part, Image) else "input_file", **place, **detail}


def _output(result: ToolResult, own: bool) -> Item:
    texts, shown = words_of(result, mark_error=True)
    output: str | list[dict[str, Any]] = texts[0] if texts else NO_OUTPUT
    if shown or len(texts) > 1:
        output = [{"type": "input_text", "text": text} for text in texts]
        output += [_shown(part, own) for part in shown]
    return {"type": "function_call_output", "call_id": result.call_id, "output": output}


def _is_sound(message: Message) -> bool:
    """Whether the service takes a message's items as they came."""
    calls = [part.id for part in message.parts if isinstance(part, ToolCall)]
    results = [part.call_id for part in message.parts if isinstance(part, ToolResult)]
    named: list[object] = []
    for item in message.raw:
        kind = item.get("type", "message")
        if not isinstance(kind, str):
            return False
        if kind == "message":
            if not _is_sound_content(item.get("content"), message.role):
                return False
        elif kind.endswith(("_call", "_output")) and (item.get("call_id") or kind.startswith("local_shell")):
            named.append(item.get("call_id") or item.get("id"))
            if kind in ("function_call", "custom_tool_call") and not item.get("name"):
                return False
            if kind == "function_call" and not isinstance(item.get("arguments"), str):
                return False
            if kind == "function_call_output" and item.get("output") is None:
                return False
    damaged = any(isinstance(p, Opaque) and p.kind in ("input_image", "input_file") for p in message.parts)
    return named == calls + results and all(named) and not damaged


def _is_sound_content(content: Any, role: str) -> bool:
    if isinstance(content, str):
        return not is_blank(content)
    if not isinstance(content, list) or not content:
        return False
    kinds = ("output_text", "refusal", "input_text", "text") if role != "user" else None
    return all(
        isinstance(block, dict)
        and isinstance(block.get("type"), str)
        and (not kinds or block["type"] in kinds)
        and not is_mistyped_url(block.get("image_url"))
        for block in content
    )
