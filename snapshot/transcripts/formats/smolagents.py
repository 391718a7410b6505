"""smolagents: a list of its chat messages, in which calls and results are words of two roles of their own."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from snapshot.messages import Image, Part, Role, Text, ToolCall, ToolResult, Transcript
from snapshot.transcripts.formats import openai_chat
from snapshot.transcripts.io.json_values import JsonObject, as_list, as_object, as_text, compact
from snapshot.transcripts.io.source import Sample, Source
from snapshot.transcripts.reading.build import Builder, role_of
from snapshot.transcripts.reading.envelope import Dialogue, dialogue_threads, opened, sampled
from snapshot.transcripts.reading.pairing import Pairing
from snapshot.transcripts.reading.parts import decoded, image_at, read_content
from snapshot.transcripts.reading.threads import Detection, Thread

NAME = "smolagents"

_OPENED = opened("messages")
_ROLES: dict[str, Role] = {"tool-call": "assistant", "tool-response": "user"}
_CALLING, _OBSERVED = "Calling tools:\n", "Observation:\n"


def detect(sample: Sample) -> Detection | None:
    """How sure it is that this is such a list."""
    found = sampled(sample, _OPENED)
    items = [] if found is None else found.items
    speakers = [as_text((as_object(item) or {}).get("role")) for item in items]
    own = sum(speaker in _ROLES for speaker in speakers)
    if not own:
        return None
    known = own + sum(role_of(speaker) is not None for speaker in speakers)
    reason = f"{own} of {len(items)} messages are a tool-call's or a tool-response's"
    return Detection(NAME, 0.97 * known / len(items), reason)


def threads(source: Source) -> Sequence[Thread]:
    """Every list of messages.

    A call and its observation are read as such where a step has one call; of several, whose observations
    are one text, the words stay words.
    """
    what = "no list of messages in it: expected a JSON array, or an object with `messages`"
    return dialogue_threads(source, _OPENED, what, _read)


def _read(builder: Builder, dialogue: Dialogue) -> Transcript:
    functions = Pairing(builder.ids)
    asked = ""  # id of the call that waits for its observation
    for number, value in builder.numbered(dialogue.items):
        where = f"message {number}"
        message = as_object(value) or {}
        speaker = as_text(message.get("role"))
        role = _ROLES.get(speaker) or role_of(speaker)
        if role is None:
            builder.add_unread(value, where=where)
            continue
        parts = read_content(builder, message.get("content"), where, _PARTS)
        call = _call(builder, parts) if speaker == "tool-call" else None
        if call is not None:
            parts, asked = [call], call.id
        elif speaker == "tool-response" and asked:
            role, parts, asked = "tool", [_observed(asked, parts)], ""
        elif role == "assistant":
            parts += openai_chat.calls_of(builder, functions, message, where)
        if role != "assistant" or not builder.extend(role, parts):
            builder.add(role, parts, where=where)
    return builder.finish(NAME, as_text(dialogue.envelope.get("model")))


def _call(builder: Builder, parts: Sequence[Part]) -> ToolCall | None:
    """The one call that a message's words are."""
    text = parts[0].text if len(parts) == 1 and isinstance(parts[0], Text) else ""
    if not text.startswith(_CALLING):
        return None
    try:
        listed = as_list(ast.literal_eval(text.removeprefix(_CALLING).strip()))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    call = as_object(listed[0]) if listed is not None and len(listed) == 1 else None
    body = as_object((call or {}).get("function"))
    if call is None or body is None:
        return None
    arguments = body.get("arguments")
    told = arguments if isinstance(arguments, str) else compact(arguments)
    return ToolCall(builder.ids.invent(as_text(call.get("id")) or "call"), as_text(body.get("name")), told)


def _observed(call_id: str, parts: Sequence[Part]) -> ToolResult:
    content = [part for part in parts if isinstance(part, Text | Image)]
    if content and isinstance(content[0], Text):
        content[0] = Text(content[0].text.removeprefix(_OBSERVED))
    return ToolResult(call_id, tuple(content))


def _image(builder: Builder, block: JsonObject, where: str) -> Sequence[Part] | None:
    value = block.get("image")
    data = decoded(value)
    return (Image("image/png", data),) if data else image_at(builder, block, value, where)


_PARTS = {**openai_chat.PARTS, "image": _image}
