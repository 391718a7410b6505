"""The four APIs as the proxy sees them: which one a request is for, what it holds, how it is built anew.

A body is taken apart at its top only: each key keeps the bytes that it came with, and only the list of
messages is ever replaced. System texts at its start, tools and whatever else stands beside the messages are
never touched; they are counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import msgspec

from snapshot import Transcript, from_messages
from snapshot.parts import exact_json

__all__ = ["Call", "Route", "parse", "refusal", "route_of"]

Kind = Literal["answer", "count", "other"]

_LISTS = {"anthropic": "messages", "openai": "messages", "openai-responses": "input", "gemini": "contents"}
_FORMATS = {"openai": "openai-chat"}
# What takes tokens beside the messages.
_BESIDE = (
    "system", "instructions", "systemInstruction", "system_instruction", "tools", "functions",
    "response_format", "text", "output_config",
)  # fmt: skip
# Where a request says how long its answer may be.
_OUTPUT = ("max_tokens", "max_completion_tokens", "max_output_tokens")
# Paths by their ends: a gateway has its own beginnings.
_PATHS: tuple[tuple[str, str, Kind], ...] = (
    (r"/models/(?P<model>[^/:]+):(generateContent|streamGenerateContent)$", "gemini", "answer"),
    (r"/models/(?P<model>[^/:]+):countTokens$", "gemini", "count"),
    (r"/v1/messages$", "anthropic", "answer"),
    (r"/v1/messages/count_tokens$", "anthropic", "count"),
    (r"(/deployments/(?P<model>[^/]+))?/chat/completions$", "openai", "answer"),
    (r"/responses$", "openai-responses", "answer"),
)
_LONG_CONTEXT = re.compile(r"context-1m")
_MILLION = 1_000_000
_SYSTEM = ("system", "developer")
_Fields = dict[str, msgspec.Raw]


@dataclass(frozen=True, slots=True)
class Route:
    """What a path says: API ("" for a path of another kind), kind of request, and model if it is named."""

    api: str
    kind: Kind = "other"
    model: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """A request that holds a conversation.

    Attributes:
        route: what its path says.
        model: id of the model.
        fields: its keys, each with the bytes of its value.
        items: the messages behind the leading system texts, each with its bytes.
        lead: the leading system texts in the list.
        outer: keys of an object that the request stands in, () where it is none (Gemini's countTokens).
        size: bytes of the body.
        window: of tokens, where a header says more than the model's name; 0 otherwise.
    """

    route: Route
    model: str
    fields: _Fields
    items: tuple[msgspec.Raw, ...]
    lead: tuple[msgspec.Raw, ...]
    outer: _Fields
    size: int
    window: int = 0

    @property
    def api(self) -> str:
        """Name of the API."""
        return self.route.api

    @property
    def max_output(self) -> int:
        """Tokens that the answer may take; 0 where the request does not say."""
        for name in _OUTPUT:
            value = _plain(self.fields.get(name))
            if type(value) is int and value > 0:
                return value
        value = _plain(self.fields.get("generationConfig"))
        limit = cast("dict[str, Any]", value).get("maxOutputTokens") if isinstance(value, dict) else 0
        return limit if type(limit) is int and limit > 0 else 0

    @property
    def streams(self) -> bool:
        """Whether the answer comes as a stream."""
        return bytes(self.fields.get("stream", b"")) == b"true"

    def beside(self) -> str:
        """All that takes tokens beside the messages, as one text."""
        pieces = [bytes(self.fields[name]) for name in _BESIDE if name in self.fields]
        return b"\n".join((*pieces, *map(bytes, self.lead))).decode("utf-8", "replace")

    def transcript(self) -> Transcript:
        """The conversation, without what is beside it.

        Raises:
            TranscriptError: it is not as the API has it.
            ValueError: it is no JSON.
        """
        values = [exact_json.decode(bytes(item).decode()) for item in self.items]
        body = {_LISTS[self.api]: values}
        return from_messages(body, format=_FORMATS.get(self.api, self.api))

    def rebuilt(self, request: Mapping[str, Any]) -> bytes:
        """The body with the messages of `request` (see `Compaction.request`) in place of its own."""
        name = _LISTS[self.api]
        items = [bytes(item) for item in self.lead]
        items += [exact_json.encode(item, _dumps).encode() for item in request[name]]
        fields = {**{key: bytes(value) for key, value in self.fields.items()}}
        fields[name] = b"[" + b",".join(items) + b"]"
        body = _object(fields)
        if self.outer:
            outer = {key: bytes(value) for key, value in self.outer.items()}
            body = _object({**outer, _NESTED: body})
        return body


_NESTED = "generateContentRequest"


def _dumps(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _object(fields: Mapping[str, bytes]) -> bytes:
    return b"{" + b",".join(json.dumps(name).encode() + b":" + value for name, value in fields.items()) + b"}"


def _plain(raw: msgspec.Raw | None) -> Any:
    try:
        return None if raw is None else msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return None


def route_of(method: str, path: str) -> Route:
    """What method and path say."""
    for pattern, api, kind in _PATHS if method == "POST" else ():
        if found := re.search(pattern, path):
            return Route(api, kind, found.groupdict().get("model") or "")
    return Route("")


def parse(route: Route, body: bytes, headers: Mapping[str, str]) -> Call | None:
    """The request in a body; None where it holds no conversation that could be compacted.

    Of a response that goes on from an earlier one, the conversation is at the provider.
    """
    try:
        outer: _Fields = {}
        fields = msgspec.json.decode(body, type=_Fields)
        if route.api == "gemini" and _NESTED in fields:
            outer, fields = fields, msgspec.json.decode(fields[_NESTED], type=_Fields)
        listed = fields.get(_LISTS[route.api])
        if listed is None or _plain(fields.get("previous_response_id")) or _plain(fields.get("conversation")):
            return None
        items = _items(listed)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    if not items:
        return None
    lead = 0
    while lead < len(items) and _leads(_plain(items[lead])):
        lead += 1
    model = route.model or _plain(fields.get("model"))
    return Call(
        route,
        model if isinstance(model, str) else "",
        fields,
        tuple(items[lead:]),
        tuple(items[:lead]),
        outer,
        len(body),
        _MILLION if _LONG_CONTEXT.search(headers.get("anthropic-beta", "")) else 0,
    )


def _items(listed: msgspec.Raw) -> Sequence[msgspec.Raw]:
    text = bytes(listed)
    if text.startswith(b'"'):
        return [msgspec.Raw(b'{"role":"user","content":' + text + b"}")]
    return msgspec.json.decode(listed, type=list[msgspec.Raw])


def _leads(item: Any) -> bool:
    """Whether an item at the start is a system text, or tools that are given among the messages."""
    if not isinstance(item, dict):
        return False
    given = cast("dict[str, Any]", item)
    return given.get("role") in _SYSTEM or given.get("type") == "additional_tools"


_ERROR_TYPES = {413: "request_too_large", 502: "api_error", 504: "timeout_error"}
_STATUS_NAMES = {413: "INVALID_ARGUMENT", 502: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED"}


def refusal(api: str, status: int, message: str) -> bytes:
    """The body of an error of the proxy itself, in the form that the API's clients read."""
    if api == "gemini":
        error: Any = {"code": status, "message": message, "status": _STATUS_NAMES.get(status, "UNKNOWN")}
        return json.dumps({"error": error}).encode()
    error = {"type": _ERROR_TYPES.get(status, "api_error"), "message": message}
    if api == "anthropic":
        return json.dumps({"type": "error", "error": error}).encode()
    return json.dumps({"error": error | {"param": None, "code": None}}).encode()
