"""Requests to Gemini: `contents`, and `systemInstruction` where the transcript begins with such words.

All keys are in camelCase. Contents of one role in a row become one. As many responses follow a turn of the
model as it has calls, with ids where the calls have some, else in the order of the calls. What the system
says later on stands in its place as the user's, labelled.
"""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Iterator
from typing import Any

from snapshot.messages import File, Image, Message, Opaque, Part, Text, ToolCall, ToolResult, Transcript
from snapshot.models.profile import ModelProfile
from snapshot.parts.characters import is_blank
from snapshot.parts.kinds import KINDS
from snapshot.requests.fallback_text import (
    ATTACHED,
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

FORMATS = frozenset({"gemini"})

_IMAGES = ("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif")
_FILES = ("application/pdf", "text/plain", "audio/", "video/")
# Values that are the caller's own: keys in them are no keys of the API.
_FOREIGN = ("args", "response", "partMetadata")
_PARTS = frozenset(kind.name for kind in KINDS if kind.api == "gemini" and kind.family.startswith("provider"))


def write(transcript: Transcript, _reader: ModelProfile | None = None) -> dict[str, Any]:
    """The body parts `systemInstruction` (only if there is one) and `contents`."""
    own = transcript.format in FORMATS
    steps = plan(transcript, FORMATS, _is_sound)
    lead = next((n for n, step in enumerate(steps) if step.message.role != "system"), len(steps))
    system = [block for step in steps[:lead] for block in _parts(step.message, own)]
    contents: list[dict[str, Any]] = []
    for step in steps[lead:]:
        role = "model" if step.message.role == "assistant" else "user"
        message = from_system(step.message) if step.message.role == "system" else step.message
        said = _as_it_came(message) if message.raw else list(_parts(message, own))
        _say(contents, role, said)
        _say(contents, "user", _responses(step, said, own))
    if not contents or contents[0]["role"] != "user":
        contents.insert(0, {"role": "user", "parts": [{"text": OPENER}]})
    return clean(({"systemInstruction": {"parts": system}} if system else {}) | {"contents": contents})


def _say(contents: list[dict[str, Any]], role: str, parts: list[dict[str, Any]]) -> None:
    """Add parts, to the last content if that is of the same role."""
    if contents and contents[-1]["role"] == role:
        parts = [*contents.pop()["parts"], *parts]
    if parts:
        contents.append({"role": role, "parts": parts})


def _as_it_came(message: Message) -> list[dict[str, Any]]:
    """The parts of a content in one spelling, without empty ones.

    An empty text with a signature stays: that is how a stream ends, and the signature must go back.
    """
    parts = [_camel(part) for raw in message.raw for part in raw["parts"]]
    return [part for part in parts if set(part) != {"text"} or not is_blank(part["text"])]


def _camel(value: Any) -> Any:
    if isinstance(value, list):
        return [_camel(item) for item in value]
    if not isinstance(value, dict):
        return value
    renamed = ((re.sub("_([a-z])", lambda m: m[1].upper(), key), item) for key, item in value.items())
    return {key: item if key in _FOREIGN else _camel(item) for key, item in renamed}


def _parts(message: Message, own: bool) -> Iterator[dict[str, Any]]:
    for part in message.parts:
        if not blank(part):
            yield from _part(message.role, part, own)


def _part(role: str, part: Part, own: bool) -> Iterator[dict[str, Any]]:
    match part:
        case ToolCall():
            yield {"functionCall": {"id": part.id, "name": name_of(part), "args": arguments_of(part)}}
        case Image() | File() if role == "user":
            yield _shown(part, own) or {"text": in_words(part)}
        case Opaque(kind, text) if own and kind in _PARTS and isinstance(value := value_of(text), dict):
            yield {kind: value}
        case Opaque() if is_sealed(part):
            pass
        case Text() | Image() | File() | Opaque():
            yield {"text": in_words(part)}


def _shown(part: Image | File, own: bool) -> dict[str, Any] | None:
    """An image or document; None where the API does not take it."""
    if isinstance(part, Image):
        kind, fits = media_type_of(part), media_type_of(part) in _IMAGES
    else:
        kind, fits = part.media_type, part.media_type.startswith(_FILES) and not part.text
    if part.data and fits:
        return {"inlineData": {"mimeType": kind, "data": base64_of(part.data)}}
    if not part.data and (is_url(part.source) or part.source.startswith("gs://") or (own and part.source)):
        guessed = (
            mimetypes.guess_type(part.source)[0] or "" if kind.endswith(("/*", "octet-stream")) else kind
        )
        return {"fileData": ({"mimeType": guessed} if guessed else {}) | {"fileUri": part.source}}
    return None


def _responses(step: Step, said: list[dict[str, Any]], own: bool) -> list[dict[str, Any]]:
    """The responses of a step: as they came if they fit the calls, else built, in the order of the calls."""
    sent = [part["functionCall"] for part in said if "functionCall" in part]
    raw = [part for message in step.results for part in (_as_it_came(message) if message.raw else ())]
    if raw and all(message.raw for message in step.results) and _fit(sent, raw):
        return raw
    results = [part for message in step.results for part in message.parts if isinstance(part, ToolResult)]
    built = {result.call_id: result for result in results}
    pairs = zip((call.id for call in step.calls), sent, strict=True)
    return [_response(built[call_id], call, own) for call_id, call in pairs if call_id in built]


def _fit(calls: list[dict[str, Any]], parts: list[dict[str, Any]]) -> bool:
    """Whether the responses among `parts` have the names of `calls`, and no other ids."""
    given = [part["functionResponse"] for part in parts if "functionResponse" in part]
    names = [sorted(str(body.get("name")) for body in bodies) for bodies in (calls, given)]
    ids = [{body["id"] for body in bodies if body.get("id")} for bodies in (calls, given)]
    objects = all(isinstance(body.get("response"), dict) for body in given)
    return names[0] == names[1] and ids[1] <= ids[0] and objects


def _response(result: ToolResult, call: dict[str, Any], own: bool) -> dict[str, Any]:
    texts, shown = words_of(result, mark_error=False)
    blocks = [(part, _shown(part, own)) for part in shown]
    texts += [in_words(part) for part, block in blocks if block is None]
    parts = [block for _, block in blocks if block is not None]
    told = "\n".join(texts) or (ATTACHED if parts else NO_OUTPUT)
    response = {
        **({"id": call["id"]} if call.get("id") else {}),
        "name": call.get("name", ""),
        "response": {"error" if result.is_error else "output": told},
    }
    return {"functionResponse": response | ({"parts": parts} if parts else {})}


def _is_sound(message: Message) -> bool:
    """Whether the service takes a content as it came."""
    listed = [raw.get("parts") for raw in message.raw]
    parts = [_camel(part) for some in listed if isinstance(some, list) for part in some]
    if not parts or not all(isinstance(some, list) for some in listed) or not all(map(_is_sound_part, parts)):
        return False
    keys = [key for part in parts for key in part if key in ("functionCall", "functionResponse")]
    calls = [part.id for part in message.parts if isinstance(part, ToolCall)]
    results = [part.call_id for part in message.parts if isinstance(part, ToolResult)]
    return keys == ["functionCall"] * len(calls) + ["functionResponse"] * len(results) and all(
        calls + results
    )


def _is_sound_part(part: Any) -> bool:
    if not isinstance(part, dict) or not isinstance(part.get("text", ""), str):
        return False
    call, blob = part.get("functionCall"), part.get("inlineData")
    if isinstance(call, dict) and not (call.get("name") and isinstance(call.get("args") or {}, dict)):
        return False
    if blob is None:
        return True
    if not isinstance(blob, dict) or not isinstance(blob.get("data"), str):
        return False
    return not is_mistyped(str(blob.get("mimeType")), blob["data"])
