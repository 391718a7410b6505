"""Requests to OpenAI's Chat Completions: `messages`.

Tool messages hold text only there: images and documents of a batch of results follow in one message of the
user behind the last result, each under the name of its call. An error, for which a tool message has no field,
is marked in its text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from snapshot.messages import File, Image, Message, Opaque, Reasoning, Text, ToolCall, ToolResult, Transcript
from snapshot.models.profile import ModelProfile
from snapshot.requests.fallback_text import (
    ELSEWHERE,
    NO_OUTPUT,
    OPENER,
    arguments_text,
    base64_of,
    blank,
    clean,
    data_url,
    from_call,
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

FORMATS = frozenset({"openai-chat"})

IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_AUDIO = {"audio/wav": "wav", "audio/mp3": "mp3", "audio/mpeg": "mp3"}
# What answers carry beside the message, and requests do not take.
_ANSWERS = frozenset({"annotations", "finish_reason", "id", "index", "logprobs", "model", "object", "usage"})


def write(transcript: Transcript, _reader: ModelProfile | None = None) -> dict[str, Any]:
    """The body part `messages`."""
    own = transcript.format in FORMATS
    messages: list[dict[str, Any]] = []
    for step in plan(transcript, FORMATS, _is_sound):
        messages += [_stripped(raw) for raw in step.message.raw] or _spoken(step.message, own)
        messages += _results(step, own)
    return clean({"messages": messages or [{"role": "user", "content": OPENER}]})


def _stripped(raw: dict[str, Any]) -> dict[str, Any]:
    """A message as it came, without what only answers have: their keys, and nulls in place of lists."""
    return {
        key: value
        for key, value in raw.items()
        if key not in _ANSWERS and (key == "content" or (value is not None and value != []))
    }


def _spoken(message: Message, own: bool) -> list[dict[str, Any]]:
    content = [
        block for part in message.parts if not blank(part) for block in _block(message.role, part, own)
    ]
    calls = [_call(part) for part in message.parts if isinstance(part, ToolCall)]
    if not content and not calls:
        return []
    said: str | list[dict[str, Any]] | None = content or None
    if len(content) == 1 and content[0]["type"] == "text":
        said = content[0]["text"]
    return [{"role": message.role, "content": said} | ({"tool_calls": calls} if calls else {})]


def _call(call: ToolCall) -> dict[str, Any]:
    function = {"name": name_of(call), "arguments": arguments_text(call)}
    return {"id": call.id, "type": "function", "function": function}


def _block(role: str, part: object, own: bool) -> Iterator[dict[str, Any]]:
    match part:
        case Text(text, True) if role == "assistant":
            yield {"type": "refusal", "refusal": text}
        case Image() | File() if role == "user":
            yield _shown(part, own)
        case Opaque() if is_sealed(part):
            pass
        case Text() | Image() | File() | Opaque():
            yield {"type": "text", "text": in_words(part)}


def _shown(part: Image | File, own: bool) -> dict[str, Any]:
    """An image or document; words about it where the API does not take it."""
    if isinstance(part, Image):
        kind = media_type_of(part)
        url = data_url(kind, part.data) if part.data and kind in IMAGES else ""
        if not part.data and is_url(part.source):
            url = part.source
        if url:
            detail = {"detail": part.detail} if part.detail else {}
            return {"type": "image_url", "image_url": {"url": url, **detail}}
    elif part.data and part.media_type in _AUDIO:
        audio = {"data": base64_of(part.data), "format": _AUDIO[part.media_type]}
        return {"type": "input_audio", "input_audio": audio}
    elif part.data and part.media_type == "application/pdf" and not part.text:
        file = {"filename": part.name or "document.pdf", "file_data": data_url(part.media_type, part.data)}
        return {"type": "file", "file": file}
    elif own and part.source and not part.text and not part.data and not is_url(part.source):
        return {"type": "file", "file": {"file_id": part.source}}
    return {"type": "text", "text": in_words(part)}


def _results(step: Step, own: bool) -> Iterator[dict[str, Any]]:
    """One tool message per call, then what none of them can hold."""
    names = {call.id: call.name for call in step.calls}
    behind: list[dict[str, Any]] = []
    for message in step.results:
        if message.raw:
            yield from map(_stripped, message.raw)
            continue
        for result in message.parts:
            if isinstance(result, ToolResult):
                texts, shown = words_of(result, mark_error=True)
                yield {"role": "tool", "tool_call_id": result.call_id, "content": _told(texts, bool(shown))}
                for part in shown:
                    label = from_call(result.call_id, names[result.call_id])
                    behind += [{"type": "text", "text": label}, _shown(part, own)]
    if behind:
        yield {"role": "user", "content": behind}


def _told(texts: list[str], shows: bool) -> str | list[dict[str, Any]]:
    if len(texts) > 1:
        return [{"type": "text", "text": text} for text in texts]
    return texts[0] if texts else ELSEWHERE if shows else NO_OUTPUT


def _is_sound(message: Message) -> bool:
    """Whether the service takes a message as it came."""
    calls = [part.id for part in message.parts if isinstance(part, ToolCall)]
    results = [part.call_id for part in message.parts if isinstance(part, ToolResult)]
    if any(isinstance(part, Opaque) and part.kind != "audio" for part in message.parts):
        return False
    if all(isinstance(part, Reasoning) or blank(part) for part in message.parts):
        return False
    used: list[object] = []
    answered: list[object] = []
    for raw in message.raw:
        content, role = raw.get("content"), raw.get("role")
        if role not in ("system", "developer", "user", "assistant", "tool") or raw.get("function_call"):
            return False
        made = raw.get("tool_calls") or []
        if not isinstance(made, list) or not all(map(_is_sound_call, made)):
            return False
        if not (
            content or made or raw.get("refusal") or raw.get("audio") or role == "tool"
        ) or not _is_sound_content(content, role):
            return False
        used += [call.get("id") for call in made]
        answered += [raw.get("tool_call_id")] if role == "tool" else []
    return used == calls and answered == results and all(calls)


def _is_sound_call(call: Any) -> bool:
    """Whether the arguments of a call are text, whatever the text is: the model wrote it."""
    body = call.get(str(call.get("type", "function"))) if isinstance(call, dict) else None
    return isinstance(body, dict) and isinstance(body.get("arguments", body.get("input")), str)


def _is_sound_content(content: Any, role: str) -> bool:
    if content is None or isinstance(content, str):
        return bool(content) or role == "assistant" or (role == "tool" and content is not None)
    if not isinstance(content, list):
        return False
    places = [block.get("image_url") if isinstance(block, dict) else None for block in content]
    if any(is_mistyped_url(place.get("url") if isinstance(place, dict) else place) for place in places):
        return False
    kinds = [block.get("type") if isinstance(block, dict) else None for block in content]
    texts = ("text", "refusal") if role == "assistant" else ("text",)
    return all(kind and (role == "user" or kind in texts) for kind in kinds)
