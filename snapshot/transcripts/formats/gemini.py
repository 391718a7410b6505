"""Gemini: a list of contents, or a request with `contents`; keys in camelCase or snake_case."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from snapshot.messages import (
    File,
    Image,
    Opaque,
    Part,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Transcript,
)
from snapshot.parts.kinds import KINDS
from snapshot.transcripts.io.json_values import (
    JsonObject,
    a_type,
    as_list,
    as_object,
    as_text,
    compact,
    type_name,
)
from snapshot.transcripts.io.source import Sample, Source
from snapshot.transcripts.reading.build import Builder
from snapshot.transcripts.reading.envelope import Dialogue, dialogue_threads, opened, sampled
from snapshot.transcripts.reading.parts import ANY_FILE, bad_base64, by_speaker, decoded, raw_of, read_opaque
from snapshot.transcripts.reading.threads import Detection, Thread

NAME = "gemini"

_ROLES: dict[str, Role] = {
    "user": "user", "function": "user", "tool": "user", "model": "assistant", "system": "system",
}  # fmt: skip
# Parts that are known and yet nobody's words: code that the service ran, and its own tools.
_KEPT = tuple(kind.name for kind in KINDS if kind.api == "gemini" and kind.family.startswith("provider"))
# What stands beside the one key that says what a part is.
_BESIDE = frozenset(
    {"thought", "thoughtSignature", "mediaResolution", "videoMetadata", "partMetadata"}
)  # fmt: skip


_SAID = frozenset({"text", "inlineData", "fileData", "functionCall", "functionResponse", *_KEPT})
_PART = _BESIDE | _SAID
_OPENED = opened("contents", "history")


def detect(sample: Sample) -> Detection | None:
    """How sure it is that this is such a list."""
    found = sampled(sample, _OPENED, alike=True)
    if found is None or not found.items:
        return None
    contents = found.items
    hits = sum(map(_is_content, contents))
    if not hits:
        return None
    reason = f"{hits} of the first {len(contents)} items have parts without a type"
    return Detection(NAME, 0.9 * hits / len(contents), reason)


def threads(source: Source) -> Sequence[Thread]:
    """Every list of contents.

    Those of the model that follow each other are one message, as they are one turn.
    """
    what = "no list of contents in it: expected a JSON array, or an object with `contents`"
    return dialogue_threads(source, _OPENED, what, _read)


def _read(builder: Builder, dialogue: Dialogue) -> Transcript:
    contents, envelope = dialogue.items, dialogue.envelope
    reader = PartReader(builder)
    system = _get(envelope, "systemInstruction")
    if system is not None:
        block = as_object(system)
        told = system if block is None else block.get("parts", block)
        builder.add("system", reader.parts(told, "system"), where="system")
    for number, value in builder.numbered(contents):
        where, content = f"message {number}", as_object(value)
        word = (content or {}).get("role", "user")
        role = _ROLES.get(word.strip().lower()) if isinstance(word, str) else None
        if content is None or role is None or not {"role", "parts"} & set(content):
            builder.add_unread(value, where=where)
            continue
        parts = reader.parts(content.get("parts"), where)
        if "content" in content:
            parts.append(read_opaque(builder, content["content"], "content", where))
        runs = by_speaker(role, parts)
        for part_role, run in runs:
            raw = raw_of(content, "parts", is_response, part_role, len(runs))
            if part_role != "assistant" or not builder.extend(part_role, run, raw=raw):
                builder.add(part_role, run, where=where, raw=raw)
    return builder.finish(NAME, as_text(_get(envelope, "modelVersion") or envelope.get("model")))


def _is_content(value: object) -> bool:
    content = as_object(value) or {}
    parts = as_list(content.get("parts"))
    if parts is None or not isinstance(content.get("role", "user"), str):
        return False
    # Others have lists of parts too, each with a word for its kind.
    objects = [part for part in parts if isinstance(part, dict)]
    if any("type" in part for part in objects) or any(not isinstance(part, dict | str) for part in parts):
        return False
    keys = {_camel(key) for part in objects for key in part}
    return not keys or not _PART.isdisjoint(keys)


def is_response(part: object) -> bool:
    """Whether a part holds what a function gave back."""
    return _get(as_object(part) or {}, "functionResponse") is not None


def _get(value: JsonObject, key: str) -> object:
    """The value of a camelCase key in either spelling."""
    return value[key] if key in value else value.get(re.sub("[A-Z]", lambda c: "_" + c[0].lower(), key))


def _without(value: dict[str, object], key: str) -> None:
    """Take a camelCase key away, in either spelling."""
    for one in [one for one in value if _camel(one) == key]:
        del value[one]


class PartReader:
    """Reads parts, and pairs responses with the calls of the turn before: by id, by name, by order."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._open: list[tuple[str, str]] = []  # id and name of calls without a response yet
        self._answered = False

    def parts(self, value: object, where: str) -> list[Part]:
        """The parts of a content: a list, or one alone."""
        listed = as_list(value)
        if listed is None:
            listed = [] if value is None else [value]
        return [part for item in listed for part in self._read(item, where)]

    def _read(self, item: object, where: str) -> Iterator[Part]:
        if isinstance(item, str):
            yield Text(item)
            return
        part = as_object(item)
        if part is None:
            yield read_opaque(self._builder, item, type_name(item), where)
            return
        text, call, response = (_get(part, key) for key in ("text", "functionCall", "functionResponse"))
        made, given = as_object(call), as_object(response)
        # A part says one thing. One that says several, against the rules, has all of them read.
        rest = {key: value for key, value in part.items() if _camel(key) in _SAID and value is not None}
        if isinstance(text, str):
            _without(rest, "text")
            signature = _get(part, "thoughtSignature")
            if part.get("thought") is True:
                yield Reasoning(text, signature if isinstance(signature, str) else None)
            elif text or (made is None and given is None):
                yield Text(text)
        if made is not None:
            _without(rest, "functionCall")
            yield self._call(made)
        if given is not None:
            _without(rest, "functionResponse")
            yield self._response(given, where)
        if rest or not (isinstance(text, str) or made is not None or given is not None):
            yield from self._other(rest or part, where)

    def _other(self, part: JsonObject, where: str) -> Iterator[Part]:
        part = dict(part)
        for key, read in (("inlineData", _inline), ("fileData", _placed)):
            blob = as_object(_get(part, key))
            if blob is not None:
                _without(part, key)
                yield read(self._builder, blob, where)
        for key in _KEPT:
            kept = _get(part, key)
            if kept is not None:
                _without(part, key)
                yield Opaque(key, compact(kept))
        plain = {key: value for key, value in part.items() if _camel(key) not in _BESIDE}
        if plain:  # a signature alone says nothing
            kind = next(iter(plain)) if len(plain) == 1 else "untyped"
            yield read_opaque(self._builder, plain[kind] if len(plain) == 1 else plain, kind, where)

    def _call(self, call: JsonObject) -> ToolCall:
        if self._answered:
            self._open, self._answered = [], False
        name = as_text(call.get("name"))
        call_id = self._builder.ids.text(call.get("id")) or self._builder.ids.invent("function_call")
        self._open.append((call_id, name))
        return ToolCall(call_id, name, as_text(call.get("args")))

    def _response(self, response: JsonObject, where: str) -> ToolResult:
        self._answered = True
        call_id = self._builder.ids.text(response.get("id")) or self._next(as_text(response.get("name")))
        self._open = [call for call in self._open if call[0] != call_id]
        value = response.get("response")
        body = as_object(value)
        failed = body is not None and body.get("error") not in (None, "", False)
        if body is not None and len(body) == 1 and set(body) <= {"output", "error"}:
            value = next(iter(body.values()))
        elif body is None and value is not None:
            note = f"{a_type(value)} in place of a function's response; read as text"
            self._builder.odd("wrong-type", where, note)
        words = [] if value in (None, "", {}) else [Text(as_text(value))]
        more = self.parts(response.get("parts"), where)
        kept = [part for part in more if isinstance(part, Text | Image | File | Opaque)]
        return ToolResult(call_id, (*words, *kept), failed)

    def _next(self, name: str) -> str:
        same = [call_id for call_id, called in self._open if called == name]
        return next(iter(same or [call_id for call_id, _ in self._open]), "")


def _camel(key: str) -> str:
    return re.sub("_([a-z])", lambda match: match[1].upper(), key)


def _inline(builder: Builder, blob: JsonObject, where: str) -> Part:
    media_type = as_text(_get(blob, "mimeType")) or ANY_FILE
    text = blob.get("data")
    # Python's own JSON of these types writes base64 in its URL-safe letters.
    data = decoded(text.translate({ord("-"): "+", ord("_"): "/"}) if isinstance(text, str) else text)
    if not data:
        return bad_base64(builder, {"inlineData": blob}, "inlineData", where)[0]
    if media_type.startswith("image/"):
        return Image(media_type, data)
    return File(as_text(_get(blob, "displayName")), media_type, data)


def _placed(_builder: Builder, blob: JsonObject, _where: str) -> Part:
    media_type, place = as_text(_get(blob, "mimeType")) or ANY_FILE, as_text(_get(blob, "fileUri"))
    if media_type.startswith("image/"):
        return Image(media_type, source=place)
    return File(as_text(_get(blob, "displayName")), media_type, source=place)
