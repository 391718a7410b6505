"""Parts made simpler, the smallest loss first, for formats that do not hold them whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeAlias

from snapshot.messages import File, Image, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from snapshot.requests.fallback_text import ERROR, NO_OUTPUT, arguments_of, call_in_words, is_sealed
from snapshot.requests.fallback_text import in_words as words_for
from snapshot.transcripts.io.json_values import compact
from snapshot.transcripts.reading.parts import ANY_FILE, ANY_IMAGE, split_data_url
from snapshot.transcripts.writing.json_text import value_of

__all__ = ["in_words", "simpler", "simpler_results"]

Losses: TypeAlias = tuple[tuple[str, str], ...]


def simpler(part: Part) -> Iterator[tuple[Part, Losses]]:
    """Parts that say nearly the same, with what each lacks: every step alone, then one upon another."""
    steps = list(_steps(part))
    for changes, *loss in steps:
        yield replace(part, **changes), ((loss[0], loss[1]),)
    changed: dict[str, Any] = {}
    told: Losses = ()
    for changes, kind, what in steps:
        changed |= changes
        told += ((kind, what),)
        if len(told) > 1:
            yield replace(part, **changed), told


def _steps(part: Part) -> Iterator[tuple[dict[str, Any], str, str]]:
    match part:
        case Text(_, True):
            yield {"refusal": False}, "refusal", "that a text is a refusal; its words stay"
        case Reasoning(text, signature) if signature is not None and text:
            yield {"signature": None}, "signature", "the signature of reasoning; its words stay"
        case ToolCall(_, _, arguments):
            value = value_of(arguments)
            if not isinstance(value, dict):
                held = "that a call's arguments are no object; `input` of one holds them"
                yield {"arguments": compact(arguments_of(part))}, "arguments", held
            elif compact(value) != arguments:
                spelling = "how the JSON of a call's arguments was spaced and spelled; its values stay"
                yield {"arguments": compact(value)}, "spelling", spelling
        case Image() | File():
            yield from _steps_of_file(part)
        case Opaque(_, text):
            value = value_of(text)
            if value is not None and compact(value) != text:
                yield (
                    {"json": compact(value)},
                    "spelling",
                    "how the JSON of a part was spaced; its values stay",
                )


def _steps_of_file(part: Image | File) -> Iterator[tuple[dict[str, Any], str, str]]:
    what = "an image" if isinstance(part, Image) else "a file"
    anything = ANY_IMAGE if isinstance(part, Image) else ANY_FILE
    if isinstance(part, Image) and part.detail:
        yield {"detail": ""}, "detail", "in which detail an image is to be looked at"
    if isinstance(part, File) and part.name:
        yield {"name": ""}, "name", "the name of a file"
    inline = split_data_url(part.source) if part.source and not part.data else None
    if inline is not None and inline[1]:
        kind, data = inline
        yield (
            {"media_type": kind or anything, "data": data, "source": ""},
            "place",
            f"that {what} was a data URL",
        )
    if part.source and (part.data or (isinstance(part, File) and part.text)):
        yield {"source": ""}, "place", f"where {what} is from; its content stays"
    if isinstance(part, File) and part.data and part.text:
        yield {"data": b""}, "bytes", "the bytes of a file; its text stays"
    if part.media_type != anything:
        yield {"media_type": anything}, "media-type", f"the media type of {what}"


def simpler_results(result: ToolResult) -> Iterator[tuple[ToolResult, Losses]]:
    """Results that say nearly the same, every part of which is held alone."""
    marked = "that a result is an error; the word [error] leads its text"
    merged = "where one text of a result ends and the next begins; they are one text, in front"
    wordless = "a result without words; some stand for that"
    yield _joined(result), (("joined", merged),)
    yield _worded(result), (("empty", wordless),)
    if result.is_error:
        plain = _marked(result)
        yield plain, (("error", marked),)
        yield _joined(plain), (("error", marked), ("joined", merged))


def _joined(result: ToolResult) -> ToolResult:
    texts = [part.text for part in result.content if isinstance(part, Text) and part.text]
    rest = tuple(part for part in result.content if not isinstance(part, Text))
    return replace(result, content=((Text("\n".join(texts)), *rest) if texts else rest))


def _worded(result: ToolResult) -> ToolResult:
    kept = tuple(part for part in result.content if not isinstance(part, Text) or part.text)
    return replace(result, content=(Text(NO_OUTPUT), *kept))


def _marked(result: ToolResult) -> ToolResult:
    content = list(result.content)
    first = next((n for n, part in enumerate(content) if isinstance(part, Text)), None)
    if first is None:
        content.insert(0, Text(ERROR + NO_OUTPUT))
    else:
        content[first] = Text(ERROR + words_for(content[first]))
    return replace(result, is_error=False, content=tuple(content))


def in_words(part: Part) -> tuple[str, str, str]:
    """The kind of a loss, what is lost, and words that may stand for a part ("" for none)."""
    match part:
        case Text():
            return "text", "an empty text", ""
        case Reasoning(text, signature):
            what = "reasoning" if text else "the signature of reasoning without words"
            return "reasoning" if text or signature is None else "signature", what, ""
        case ToolCall():
            return "call", "a call of a tool as such", call_in_words(part)
        case ToolResult():
            return "result", "the result of a call", ""
        case Image():
            return "image", "an image", words_for(part)
        case File():
            return "file", "a file", words_for(part)
        case Opaque(kind, _):
            what = f"a part of type {kind!r}"
            return "opaque", what, "" if is_sealed(part) else words_for(part)
