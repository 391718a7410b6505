"""The kinds of parts that messages are made of, as each API names them: one table for all who must know them.

Readers make parts of them, source text and requests print or send them, the estimator prices them, the ladder
takes them away, pairing keeps two of them together, and the checker knows what may stand where. A kind is
known by its API and the type that a block or item has there; what is not in the table is unknown to all.

An `Opaque` part keeps a block whole. What of it is for a reader is told by `pieces`: readable words, and
sealed values (encrypted, or bytes) of which only the size can be said.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, TypeAlias, cast

from snapshot.messages import File, Image, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from snapshot.parts.exact_json import encode, read

__all__ = [
    "KINDS",
    "Family",
    "Kind",
    "Sealed",
    "api_of",
    "family_of",
    "kind_of",
    "pair_id",
    "pieces",
    "words_of_opaque",
]

Family: TypeAlias = Literal[
    "text",
    "reasoning",
    "call",
    "result",
    "image",
    "file",
    "provider-call",
    "provider-result",
    "sealed",
    "note",
]
"""What a part is to everybody who handles it:

* text, reasoning, call, result, image, file: the part of this name
* provider-call, provider-result: of a tool that the provider runs itself, in the assistant's own message;
  they go to the provider in pairs, or as words
* sealed: only its own provider can read it; no words, no price, no place on a page
* note: anything else that is known, complete in itself, and readable
"""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of block, item or part of an API.

    Attributes:
        api: "anthropic", "openai", "openai-responses" or "gemini".
        name: its type there; for Gemini the key that it stands under.
        family: what it is.
        pair: key of the id that a provider's call has, and its result names; "" where the two follow each
            other.
    """

    api: str
    name: str
    family: Family
    pair: str = ""

    @property
    def whole(self) -> bool:
        """Whether it is an `Opaque` part of a transcript: kept whole, and known all the same."""
        return self.family in ("provider-call", "provider-result", "sealed", "note")


def _kinds(api: str, family: Family, *names: str, pair: str = "") -> list[Kind]:
    return [Kind(api, name, family, pair) for name in names]


KINDS: tuple[Kind, ...] = (
    *_kinds("anthropic", "text", "text"),
    *_kinds("anthropic", "reasoning", "thinking"),
    *_kinds("anthropic", "call", "tool_use"),
    *_kinds("anthropic", "result", "tool_result"),
    *_kinds("anthropic", "image", "image"),
    *_kinds("anthropic", "file", "document"),
    *_kinds("anthropic", "provider-call", "server_tool_use", "mcp_tool_use", pair="id"),
    *_kinds(
        "anthropic", "provider-result", "web_search_tool_result", "web_fetch_tool_result",
        "code_execution_tool_result", "bash_code_execution_tool_result",
        "text_editor_code_execution_tool_result", "mcp_tool_result", "tool_search_tool_result",
        "advisor_tool_result", pair="tool_use_id",
    ),
    *_kinds("anthropic", "sealed", "redacted_thinking", "compaction"),
    *_kinds("anthropic", "note", "search_result", "container_upload", "tool_reference"),
    *_kinds("openai", "text", "text", "refusal"),
    *_kinds("openai", "image", "image_url"),
    *_kinds("openai", "file", "file", "input_audio"),
    *_kinds("openai", "call", "function", "custom"),
    *_kinds("openai-responses", "text", "input_text", "output_text", "text", "refusal"),
    *_kinds("openai-responses", "image", "input_image", "computer_screenshot"),
    *_kinds("openai-responses", "file", "input_file"),
    *_kinds("openai-responses", "reasoning", "reasoning"),
    *_kinds(
        "openai-responses", "call", "function_call", "custom_tool_call", "local_shell_call", "shell_call",
        "apply_patch_call", "computer_call",
    ),
    *_kinds(
        "openai-responses", "result", "function_call_output", "custom_tool_call_output",
        "local_shell_call_output", "shell_call_output", "apply_patch_call_output", "computer_call_output",
    ),
    *_kinds(
        "openai-responses", "note", "web_search_call", "file_search_call", "code_interpreter_call",
        "image_generation_call", "mcp_call", "mcp_list_tools", "mcp_approval_request",
        "mcp_approval_response", "tool_search_call", "item_reference",
    ),
    *_kinds("openai-responses", "sealed", "additional_tools"),
    *_kinds("gemini", "text", "text"),
    *_kinds("gemini", "reasoning", "thought"),
    *_kinds("gemini", "call", "functionCall"),
    *_kinds("gemini", "result", "functionResponse"),
    *_kinds("gemini", "image", "inlineData"),
    *_kinds("gemini", "file", "fileData"),
    *_kinds("gemini", "provider-call", "executableCode", "toolCall"),
    *_kinds("gemini", "provider-result", "codeExecutionResult", "toolResponse"),
)  # fmt: skip
"""Every kind that is known."""

_BY_NAME = {(kind.api, kind.name): kind for kind in KINDS}
# An opaque part says its kind and not its API; no two APIs give one name to different things here.
_OPAQUE = {kind.name: kind for kind in KINDS if kind.whole}
_PARTS: dict[type[Any], Family] = {
    Text: "text", Reasoning: "reasoning", ToolCall: "call", ToolResult: "result", Image: "image",
    File: "file",
}  # fmt: skip


def kind_of(api: str, name: str) -> Kind | None:
    """The kind that `api` calls so; None if none is known."""
    return _BY_NAME.get((api, name))


def family_of(part: Part) -> Family | None:
    """What a part is; None for an opaque one of a kind that nobody knows, or that is damaged."""
    if not isinstance(part, Opaque):
        return _PARTS[type(part)]
    kind = _OPAQUE.get(part.kind)
    return kind.family if kind is not None and kind.whole else None


def api_of(part: Opaque) -> str:
    """The API that a part kept whole is of; "" for a kind that nobody knows."""
    kind = _OPAQUE.get(part.kind)
    return kind.api if kind is not None else ""


def pair_id(part: Opaque) -> str:
    """The id that a provider's call and its result share; "" where there is none."""
    kind = _OPAQUE.get(part.kind)
    value = _object(part.json)
    found = value.get(kind.pair) if kind is not None and kind.pair else None
    return found if isinstance(found, str) else ""


# --- what an opaque part says


@dataclass(frozen=True, slots=True)
class Sealed:
    """A value that is no text to anybody here: what it is, and how many characters it has."""

    what: str
    size: int


# Keys of values that are encrypted, signed or bytes.
_SEALED_KEYS = frozenset({
    "encrypted_content", "encrypted_index", "encrypted_stdout", "encrypted_value", "signature",
    "thoughtSignature", "data",
})  # fmt: skip
# Keys that serve the wire and say nothing about the matter.
_WIRE = frozenset({
    "type", "id", "tool_use_id", "cache_control", "caller", "status", "call_id", "container_id", "file_id",
    "page_age", "is_error", "citations", "error_code", "return_code", "language", "server_label",
})  # fmt: skip
# Members that are the matter itself: their names need not be said.
_PLAIN = frozenset({
    "content", "text", "input", "action", "results", "output", "source", "args", "response", "code", "data",
    "stdout",
})  # fmt: skip
_DEEPEST = 40


def pieces(part: Opaque) -> Iterator[str | Sealed]:
    """The words of a part that is known, and in their places what is sealed; of any other its JSON.

    A sealed part gives nothing.
    """
    family = family_of(part)
    if family is None:
        yield part.json
        return
    if family == "sealed":
        return
    value = _value(part.json)
    if not isinstance(value, dict | list):
        yield part.json
        return
    about = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    lead = [str(about[key]) for key in ("server_name", "name") if about.get(key)]
    yield from _joined(chain([" ".join(lead)] if lead else [], _readable(value, "", 0)))


def _joined(found: Iterator[str | Sealed]) -> Iterator[str | Sealed]:
    for number, piece in enumerate(found):
        if number:
            yield "\n"
        yield piece


def _readable(value: Any, name: str, depth: int) -> Iterator[str | Sealed]:
    if depth > _DEEPEST:
        yield "(nested more deeply)"
    elif isinstance(value, dict):
        yield from _members(cast("dict[str, Any]", value), depth)
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _readable(item, name, depth + 1)
    elif value is not None and value != "":
        text = value if isinstance(value, str) else encode(value, json.dumps)
        yield f"{name}: {text}" if name else text


def _members(value: dict[str, Any], depth: int) -> Iterator[str | Sealed]:
    for key, item in value.items():
        if key in _SEALED_KEYS and isinstance(item, str) and not (key == "data" and _is_text(value)):
            if item:
                yield Sealed(key, len(item))
        elif key == "error_code":
            yield f"error: {item}"
        elif depth == 0 and key in ("server_name", "name"):
            continue  # said already
        elif key not in _WIRE or (key == "status" and item == "failed"):
            yield from _readable(item, "" if key in _PLAIN else key, depth + 1)


def _is_text(source: dict[str, Any]) -> bool:
    """Whether the source of a document holds its words, and no bytes."""
    return source.get("type") == "text" or str(source.get("media_type")).startswith("text/")


def words_of_opaque(part: Opaque) -> str:
    """A part in words, led by its kind in brackets; "" for one that is sealed."""
    if family_of(part) == "sealed":
        return ""
    said = "".join(piece for piece in pieces(part) if isinstance(piece, str)).strip()
    return f"[{part.kind}] {said}" if said else f"[{part.kind}]"


def _value(text: str) -> Any:
    try:
        return read(text)
    except (ValueError, RecursionError):
        return None


def _object(text: str) -> dict[str, Any]:
    value = _value(text)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
