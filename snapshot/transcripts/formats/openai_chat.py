"""OpenAI Chat Completions: a list of messages, or a request with `messages`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from snapshot.messages import File, Image, Part, Reasoning, Role, Text, ToolCall, Transcript, Usage
from snapshot.parts.media import media_type_of
from snapshot.transcripts.io.json_values import JsonObject, as_list, as_object, as_text, type_name
from snapshot.transcripts.io.source import Sample, Source
from snapshot.transcripts.reading.build import Builder, role_of, usage_of
from snapshot.transcripts.reading.envelope import Dialogue, dialects, dialogue_threads, opened
from snapshot.transcripts.reading.pairing import Pairing
from snapshot.transcripts.reading.parts import (
    ANY_FILE,
    bad_base64,
    decoded,
    image_at,
    read_content,
    read_opaque,
    read_result,
    read_text,
    read_unsaid,
    split_data_url,
)
from snapshot.transcripts.reading.threads import Detection, Thread

__all__ = ["NAME", "PARTS", "calls_of", "detect", "threads"]

NAME = "openai-chat"


_OPENED = opened("messages")


def detect(sample: Sample) -> Detection | None:
    """How sure it is that this is such a document."""
    return dialects(sample, "anthropic", NAME)[1]


def threads(source: Source) -> Sequence[Thread]:
    """Every list of messages; the results of one batch stand in one message of role "tool"."""
    what = "no list of messages in it: expected a JSON array, or an object with `messages`"
    return dialogue_threads(source, _OPENED, what, _read)


def _read(builder: Builder, dialogue: Dialogue) -> Transcript:
    functions = Pairing(builder.ids)
    model = as_text(dialogue.envelope.get("model"))
    for number, value in builder.numbered(dialogue.items):
        where = f"message {number}"
        message = as_object(value) or {}
        role = role_of(message.get("role"))
        if role is None:
            builder.add_unread(value, where=where)
        else:
            _add(builder, functions, role, message, where)
        model = as_text(message.get("model")) or model
    return builder.finish(NAME, model)


def _add(builder: Builder, functions: Pairing, role: Role, message: JsonObject, where: str) -> None:
    message_id, content = as_text(message.get("id")), message.get("content")
    parts: list[Part] = []
    usage: Usage | None = None
    if unsaid := read_unsaid(builder, message, where):
        builder.add(role if role != "tool" else "system", unsaid, where=where, message_id=message_id)
        return
    own = list(_of_the_model(builder, functions, message, where, content if role == "assistant" else None))
    if role == "tool":
        if as_text(message.get("role")).strip().lower() == "function":
            call_id = functions.answer(as_text(message.get("name")))
        else:
            call_id = builder.ids.text(message.get("tool_call_id"))
        if call_id or content or not own:
            parts.append(read_result(builder, call_id, content, where, PARTS))
    elif role == "assistant":
        usage = usage_of(message.get("usage"))
        parts = own
    else:
        parts += read_content(builder, content, where, PARTS)
    if role == "user":
        parts += _images(builder, message, where)
    if role == "assistant" or not own:
        builder.add(role, parts, where=where, message_id=message_id, usage=usage, raw=(message,))
        return
    note = f"calls, thoughts or a refusal in a message of role {role}; read as the assistant's"
    builder.odd("impossible-role", where, note)
    if parts:
        builder.add(role, parts, where=where, message_id=message_id)
    builder.add("assistant", own, where=where)


def _of_the_model(
    builder: Builder, functions: Pairing, message: JsonObject, where: str, content: object
) -> Iterator[Part]:
    """What only a model brings forth, with its words in their place among it."""
    yield from _reasoning(builder, message, where)
    yield from read_content(builder, content, where, PARTS)
    yield from _refusal(message)
    yield from calls_of(builder, functions, message, where)


def _images(builder: Builder, message: JsonObject, where: str) -> Iterator[Part]:
    """Pictures beside the words, as Ollama takes them: base64, or the path of a file."""
    for value in as_list(message.get("images")) or ():
        data = decoded(value)
        if data and (media_type := media_type_of(data)):
            yield Image(media_type, data)
        elif isinstance(value, str) and value:
            yield from image_at(builder, message, value, where) or ()
        else:
            yield read_opaque(builder, value, "images", where)


def _reasoning(builder: Builder, message: JsonObject, where: str) -> Iterator[Part]:
    """Compatible servers use one key or the other, some both with the same text."""
    told = ""
    for key in ("reasoning_content", "reasoning"):
        value = message.get(key)
        if isinstance(value, str):
            if value and value != told:
                yield Reasoning(value)
            told = value
        elif value is not None:
            yield read_opaque(builder, value, key, where)


def _refusal(message: JsonObject) -> Iterator[Part]:
    refusal = message.get("refusal")
    if refusal:
        yield Text(as_text(refusal), refusal=True)


def calls_of(builder: Builder, functions: Pairing, message: JsonObject, where: str) -> Iterator[Part]:
    """The calls of a message, in the present form and in the old one."""
    listed = message.get("tool_calls")
    calls = as_list(listed)
    if calls is None and listed is not None:
        yield read_opaque(builder, listed, "tool_calls", where)
    for value in calls or ():
        call = as_object(value) or {}
        body = as_object(call.get("function")) or as_object(call.get("custom"))
        if body is None:
            yield read_opaque(builder, value, as_text(call.get("type")) or type_name(value), where)
            continue
        arguments = body.get("arguments", body.get("input"))
        yield ToolCall(builder.ids.text(call.get("id")), as_text(body.get("name")), as_text(arguments))
    old = message.get("function_call")
    body = as_object(old)
    if body is not None:
        name = as_text(body.get("name"))
        yield ToolCall(functions.call(name), name, as_text(body.get("arguments")))
    elif old is not None:
        yield read_opaque(builder, old, "function_call", where)
    if message.get("audio") is not None:
        yield read_opaque(builder, message["audio"], "audio", where)


def _image(builder: Builder, block: JsonObject, where: str) -> Sequence[Part] | None:
    place = block.get("image_url")
    inner = as_object(place)
    if inner is None:
        return image_at(builder, block, place, where)
    return image_at(builder, block, inner.get("url"), where, inner.get("detail"))


def _refused(_builder: Builder, block: JsonObject, _where: str) -> Sequence[Part]:
    return (Text(as_text(block.get("refusal")), refusal=True),)


def _audio(builder: Builder, block: JsonObject, where: str) -> Sequence[Part] | None:
    audio = as_object(block.get("input_audio"))
    if audio is None:
        return None
    data = decoded(audio.get("data"))
    if data is None:
        return bad_base64(builder, block, "input_audio", where)
    return (File("", f"audio/{as_text(audio.get('format')) or 'unknown'}", data),)


def _file(builder: Builder, block: JsonObject, where: str) -> Sequence[Part] | None:
    file = as_object(block.get("file"))
    if file is None:
        return None
    name, payload, place = as_text(file.get("filename")), file.get("file_data"), file.get("file_id")
    if isinstance(payload, str):
        media_type, data = split_data_url(payload) or ("", decoded(payload))
        return (
            (File(name, media_type or ANY_FILE, data),) if data else bad_base64(builder, block, "file", where)
        )
    return (File(name, ANY_FILE, source=place),) if isinstance(place, str) and place else None


PARTS = {
    "text": read_text,
    "image_url": _image,
    "refusal": _refused,
    "input_audio": _audio,
    "file": _file,
}
