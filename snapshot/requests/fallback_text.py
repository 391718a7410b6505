"""What all writers share: words that stand for what an API has no place for, and values made fit to send."""

from __future__ import annotations

import base64
import json
import math
import re
from dataclasses import replace
from functools import partial
from typing import Any

from snapshot.messages import File, Image, Message, Opaque, Part, Text, ToolCall, ToolResult
from snapshot.parts import media
from snapshot.parts.characters import is_blank, sendable
from snapshot.parts.exact_json import Number, decode, encode, members
from snapshot.parts.kinds import family_of, words_of_opaque
from snapshot.requests.tool_pairing import NO_OUTPUT

__all__ = [
    "ATTACHED",
    "ELSEWHERE",
    "NO_OUTPUT",
    "OPENER",
    "arguments_of",
    "arguments_text",
    "base64_of",
    "blank",
    "call_in_words",
    "clean",
    "data_url",
    "from_call",
    "from_system",
    "in_words",
    "is_mistyped",
    "is_mistyped_url",
    "is_sealed",
    "is_url",
    "media_type_of",
    "name_of",
    "value_of",
    "words_of",
]

OPENER = "(conversation continues)"  # where an API wants the user to begin, and the user does not
ELSEWHERE = "(no text; what it showed is in the user message below)"
ATTACHED = "(no text; see what is attached)"
ERROR = "[error] "  # where a result has no field for it

_DEEPEST = 200  # levels; far below what Python's recursion allows, far above what a tool is given


def blank(part: Part) -> bool:
    """Whether a part is text without words."""
    return isinstance(part, Text) and is_blank(part.text)


def is_sealed(part: Opaque) -> bool:
    """Whether a part holds nothing that another provider could read."""
    return family_of(part) == "sealed"


def from_system(message: Message) -> Message:
    """What the system says as the user's, labelled, where an API takes only the user's and the model's."""
    parts = message.parts
    said = (
        Text(f"[system] {in_words(p)}") if isinstance(p, Text | Opaque) and not blank(p) else p for p in parts
    )
    return replace(message, role="user", parts=tuple(said), raw=())


def from_call(call_id: str, name: str) -> str:
    """The label of images that could not stay in their result."""
    return f"From the call {call_id} of {name}:"


def call_in_words(call: ToolCall) -> str:
    """A call as text, where none can be made."""
    return f"[call of {call.name}] {call.arguments}"


def in_words(part: Text | Image | File | Opaque) -> str:
    """A part as text, where it cannot be sent as what it is: never nothing."""
    match part:
        case Text(text, refusal):
            return f"[refusal] {text}" if refusal else text
        case Opaque():
            return words_of_opaque(part)
        case Image(media_type, data, source):
            what = "image"
            name = ""
        case File(name, media_type, data, text, source):
            what = "file"
            if text.strip():
                return f"[file {name}] {text}" if name else text
    facts = (name, media_type, f"{len(data)} bytes" if data else source)
    return f"[{what} not sent here: {', '.join(filter(None, facts))}]"


def words_of(result: ToolResult, *, mark_error: bool) -> tuple[list[str], list[Image | File]]:
    """The texts of a result, and the images and documents in it.

    `mark_error`: the API has no field that says so; the first text says it then.
    """
    texts = [
        in_words(part)
        for part in result.content
        if not blank(part)
        and isinstance(part, Text | Opaque)
        and not (isinstance(part, Opaque) and is_sealed(part))
    ]
    shown = [part for part in result.content if isinstance(part, Image | File)]
    if mark_error and result.is_error:
        texts[:1] = [ERROR + (texts[0] if texts else NO_OUTPUT)]
    return texts, shown


def arguments_of(call: ToolCall) -> dict[str, Any]:
    """A call's arguments as an object; what is none stands whole under `input`."""
    if not call.arguments.strip():
        return {}
    value = value_of(call.arguments)
    return value if isinstance(value, dict) else {"input": call.arguments if value is None else value}


def arguments_text(call: ToolCall) -> str:
    """A call's arguments as the text of a JSON object, as they were written where they are one."""
    if not call.arguments.strip():
        return "{}"
    if members(call.arguments) is not None:
        return call.arguments
    return encode(arguments_of(call), partial(json.dumps, ensure_ascii=False))


def value_of(text: str) -> Any:
    """What a JSON text stands for; None where it is none: NaN is not, nor what has equal keys."""
    try:
        return decode(text)
    except (ValueError, RecursionError):
        return None


def name_of(call: ToolCall) -> str:
    """A tool's name in the characters that every API takes."""
    return re.sub("[^A-Za-z0-9_-]", "_", call.name)[:64] or "unnamed"


def base64_of(data: bytes) -> str:
    """Bytes as base64 text."""
    return base64.b64encode(data).decode("ascii")


def data_url(media_type: str, data: bytes) -> str:
    """Bytes as a data URL."""
    return f"data:{media_type};base64,{base64_of(data)}"


def media_type_of(image: Image) -> str:
    """What an image's bytes are; providers refuse those that are not what they are said to be."""
    found = media.media_type_of(image.data)
    return found if media.is_image(found) else image.media_type


def is_mistyped(media_type: str, data: object) -> bool:
    """Whether the base64 of an image begins as another type does than it is said to be: that is refused."""
    if not isinstance(data, str) or not media.is_image(media_type):
        return False
    try:
        found = media.media_type_of(base64.b64decode(data[:32]))
    except ValueError:
        return False
    return media.is_image(found) and found != media_type.lower().replace("/jpg", "/jpeg")


def is_mistyped_url(url: object) -> bool:
    """The same of a data URL."""
    head, comma, data = url.partition(";base64,") if isinstance(url, str) else ("", "", "")
    return bool(comma) and is_mistyped(head.removeprefix("data:"), data)


def is_url(source: str) -> bool:
    """Whether a provider can fetch it."""
    return source.startswith(("https://", "http://"))


def clean(value: Any, depth: int = 0) -> Any:
    """A copy of `value` as strict UTF-8 JSON holds it: a caller may change a request, not a transcript.

    Half of a surrogate pair becomes U+FFFD, NUL its picture, a number that JSON does not know its name.
    """
    if isinstance(value, str):
        return sendable(value)
    if isinstance(value, float) and not math.isfinite(value):
        return value.digits if isinstance(value, Number) else str(value)
    if depth > _DEEPEST and isinstance(value, dict | list):
        return "(nested too deeply to be sent)"
    if isinstance(value, dict):
        return {clean(key): clean(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [clean(item, depth + 1) for item in value]
    return value
