"""A local fake of Anthropic, OpenAI and Gemini, for tests of clients: scripts, errors, broken streams.

One file on the standard library alone, no network but 127.0.0.1. It answers Anthropic Messages and
count_tokens, OpenAI Chat Completions and Responses (Azure's paths too), Gemini's generateContent,
streamGenerateContent and countTokens, streaming or not, and keeps what arrived:

    with FakeProvider(window=200_000) as fake:
        fake.script(say("Hello"), think("Hm.", call("read", path="a.py")), overflow(), rate_limit())
        client = anthropic.Anthropic(base_url=fake.url, api_key="sk-test")      # OpenAI: fake.url + "/v1"
        ...
        fake.requests[-1].json, .body, .headers, .path, .api, .model, .stream, .tokens

Each request takes the next reply of the script; only one of which `scripted(request)` is true, where a client
asks for titles and the like on the side. When the script is used up, `otherwise(request)` is asked, which by
default says "ok". `FakeProvider(reply=function)` decides by the request itself, a `Seen`, in place of a
script. Whatever the script says, a request of more than `window` tokens is refused in the provider's own
words, and one of more than `max_bytes` with 413. Tokens are counted roughly: four characters each, and
`image_tokens` an image.

Replies: `say`, `think`, `call` (which nest, so one reply may hold several parts), `overflow`, `rate_limit`,
`overloaded`, `refuse`; each takes `broken=N` (the connection is cut after N events), `delay=` and `pace=`
(seconds before the first byte and between events), `gzip=True`, `headers=`.
As a program (`python fake_provider.py --port 0 --window 50000`) it prints its address and serves until
killed.
"""

from __future__ import annotations

import argparse
import gzip as gzip_
import json
import re
import socket
import struct
import sys
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

__all__ = [
    "FakeProvider",
    "Reply",
    "Seen",
    "call",
    "count_tokens",
    "overflow",
    "overloaded",
    "rate_limit",
    "refuse",
    "say",
    "think",
]

SIGNATURE = "c2lnbmVkLWJ5LXRoZS1mYWtl"  # base64, as signatures of thinking are


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an answer: `kind` is "text", "thinking" or "call"."""

    kind: str
    text: str = ""
    name: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the fake answers: parts, or an error in the words of the provider that is asked.

    Attributes:
        parts: what the model says.
        error: "" or one of "overflow", "output", "bytes", "stream", "stop", "rate limit",
            "overloaded", "other".
        status, body: of an error of one's own, instead of the provider's words.
        broken: events (or, without a stream, bytes) after which the connection is reset; -1: not at all.
        delay, pace: seconds before the first byte, and between events.
        gzip: compress the answer, if the client takes that.
        headers: further headers.
        usage: input tokens to report; None: what was counted.
    """

    parts: tuple[Part, ...] = ()
    error: str = ""
    status: int = 0
    body: Any = None
    broken: int = -1
    delay: float = 0.0
    pace: float = 0.0
    gzip: bool = False
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    usage: int | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as it arrived.

    Attributes:
        method, path, query, headers, body: as they came; header names are in lower case.
        json: the body, decoded; None where it is no JSON.
        api: "anthropic", "openai", "openai-responses", "gemini", or "" for any other path.
        model: id of the model, from the body or the path.
        stream: whether a stream was asked for. count: whether only the tokens were.
        tokens: of the request, counted roughly.
        number: place in the order of arrival.
    """

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes
    json: Any
    api: str
    model: str
    stream: bool
    count: bool
    tokens: int
    number: int


def _reply(parts: Iterable[str | Part | Reply], settings: Mapping[str, Any]) -> Reply:
    found: list[Part] = []
    for part in parts:
        if isinstance(part, Reply):
            found += part.parts
        else:
            found.append(Part("text", part) if isinstance(part, str) else part)
    return Reply(parts=tuple(found), **settings)


def say(*parts: str | Part | Reply, **settings: Any) -> Reply:
    """An answer of text; other replies may follow in it: `say("I look.", call("read", path="a"))`."""
    return _reply(parts, settings)


def think(thought: str, *parts: str | Part | Reply, **settings: Any) -> Reply:
    """An answer that begins with thinking, signed (Anthropic, Gemini) or encrypted (Responses)."""
    return _reply((Part("thinking", thought), *parts), settings)


def call(name: str, *more: Reply, settings: Mapping[str, Any] | None = None, **arguments: Any) -> Reply:
    """An answer that calls a tool; further calls may follow: `call("read", call("ls"), path="a")`."""
    return _reply((Part("call", name=name, arguments=arguments), *more), settings or {})


def overflow(kind: str = "overflow", **settings: Any) -> Reply:
    """A refusal for the request's size.

    `kind`: "overflow", "output" (with max_tokens), "bytes" (413), "stream" (an error within a stream whose
    status is 200), "stop" (a stop reason in a success).
    """
    return Reply(error=kind, **settings)


def rate_limit(**settings: Any) -> Reply:
    """429, with words that are easily taken for an overflow."""
    return Reply(error="rate limit", **settings)


def overloaded(**settings: Any) -> Reply:
    """529 or 503: the provider has no room."""
    return Reply(error="overloaded", **settings)


def refuse(status: int, body: Any, **settings: Any) -> Reply:
    """An error of one's own: any status, any body (JSON, text or bytes)."""
    return Reply(error="other", status=status, body=body, **settings)


# --- counting


def count_tokens(body: Any, image_tokens: int = 1500) -> int:
    """Tokens of a request's body, roughly: four characters of any string each, and so much an image."""
    tokens = characters = 0
    stack = [body]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            kind = str(item.get("media_type") or item.get("mimeType") or item.get("mime_type") or "")
            if kind.startswith("image/") and isinstance(item.get("data"), str):
                tokens += image_tokens
                continue
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
        elif isinstance(item, str):
            if item.startswith("data:image/"):
                tokens += image_tokens
            else:
                characters += len(item)
    return tokens + characters // 4


# --- the providers' words of refusal


def _anthropic_error(kind: str, message: str) -> Any:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_fake"}


def _openai_error(message: str, code: str | None, param: str | None = None) -> Any:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return {"error": error}


def _gemini_error(status: int, name: str, message: str) -> Any:
    return {"error": {"code": status, "message": message, "status": name}}


def _refusal(seen: Seen, error: str, window: int) -> tuple[int, Any]:
    """Status and body of an error, as the provider that was asked words it."""
    count = max(seen.tokens, window + 1)
    if seen.api == "anthropic":
        wanted = (seen.json or {}).get("max_tokens", 4096) if isinstance(seen.json, dict) else 4096
        table: dict[str, tuple[int, str, str]] = {
            "overflow": (
                400,
                "invalid_request_error",
                f"prompt is too long: {count} tokens > {window} maximum",
            ),
            "output": (
                400,
                "invalid_request_error",
                (
                    f"input length and `max_tokens` exceed context limit: {seen.tokens} + {wanted} > "
                    f"{window}, decrease input length or `max_tokens` and try again"
                ),
            ),
            "bytes": (413, "request_too_large", "Request exceeds the maximum size"),
            "rate limit": (
                429,
                "rate_limit_error",
                (
                    "This request would exceed your organization's rate limit of 30,000 input tokens per "
                    "minute. Please reduce the prompt length or the maximum tokens requested, or try later."
                ),
            ),
            "overloaded": (529, "overloaded_error", "Overloaded"),
        }
        status, kind, message = table[error]
        return status, _anthropic_error(kind, message)
    if seen.api == "gemini":
        status, name, message = {
            "overflow": (
                400,
                "INVALID_ARGUMENT",
                f"The input token count ({count}) exceeds the maximum number of tokens allowed ({window}).",
            ),
            "bytes": (
                413,
                "INVALID_ARGUMENT",
                "Request payload size exceeds the limit: 20971520 bytes.",
            ),
            "rate limit": (429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
            "overloaded": (503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
        }["overflow" if error == "output" else error]
        return status, _gemini_error(status, name, message)
    if error in ("overflow", "output"):
        if seen.api == "openai-responses":
            said = (
                "Your input exceeds the context window of this model. Please adjust your input and try again."
            )
        else:
            said = (
                f"This model's maximum context length is {window} tokens. However, your messages resulted in "
                f"{count} tokens. Please reduce the length of the messages."
            )
        return 400, _openai_error(said, "context_length_exceeded", "messages")
    if error == "bytes":
        return 413, _openai_error("Request Entity Too Large", None)
    if error == "rate limit":
        said = "Rate limit reached for m on tokens per min (TPM): Limit 30000, Used 29000, Requested 4000."
        return 429, _openai_error(said, "rate_limit_exceeded")
    return 503, _openai_error("The engine is currently overloaded, please try again later", None)


# --- answers, form by form: a whole one, and the events of a stream


def _event(data: Any, name: str = "") -> bytes:
    text = json.dumps(data, ensure_ascii=False)
    return ((f"event: {name}\n" if name else "") + f"data: {text}\n\n").encode()


def _halves(text: str) -> list[str]:
    middle = len(text) // 2
    return [half for half in (text[:middle], text[middle:]) if half]


class _Answer:
    """The answer to one request, in the form of its API."""

    def __init__(self, seen: Seen, reply: Reply) -> None:
        self.seen, self.parts = seen, reply.parts
        self.input = seen.tokens if reply.usage is None else reply.usage
        words = sum(len(part.text) + len(json.dumps(dict(part.arguments))) for part in self.parts)
        self.output = max(1, words // 4)
        self.stop = reply.error == "stop"
        self.calls = any(part.kind == "call" for part in self.parts)

    def id(self, prefix: str, at: int = 0) -> str:
        return f"{prefix}{self.seen.number:06d}{at:02d}"

    def whole(self) -> Any:
        return getattr(self, "_whole_" + self.seen.api.replace("-", "_"))()

    def events(self) -> Iterator[bytes]:
        return getattr(self, "_events_" + self.seen.api.replace("-", "_"))()

    # Anthropic

    def _blocks(self) -> list[dict[str, Any]]:
        blocks: list[dict[str, Any]] = []
        for at, part in enumerate(self.parts):
            if part.kind == "text":
                blocks.append({"type": "text", "text": part.text})
            elif part.kind == "thinking":
                blocks.append({"type": "thinking", "thinking": part.text, "signature": SIGNATURE})
            else:
                made = {"type": "tool_use", "id": self.id("toolu_", at), "name": part.name}
                blocks.append(made | {"input": dict(part.arguments)})
        return blocks

    def _message(self, content: list[Any], stop: str | None, output: int) -> dict[str, Any]:
        return {
            "id": self.id("msg_"),
            "type": "message",
            "role": "assistant",
            "model": self.seen.model,
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": {
                "input_tokens": self.input,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": output,
            },
        }

    def _stop_reason(self) -> str:
        return "model_context_window_exceeded" if self.stop else "tool_use" if self.calls else "end_turn"

    def _whole_anthropic(self) -> Any:
        return self._message(self._blocks(), self._stop_reason(), self.output)

    def _events_anthropic(self) -> Iterator[bytes]:
        yield _event({"type": "message_start", "message": self._message([], None, 1)}, "message_start")
        yield _event({"type": "ping"}, "ping")
        for at, block in enumerate(self._blocks()):
            empty = dict(block)
            deltas: list[dict[str, Any]] = []
            if block["type"] == "text":
                empty["text"] = ""
                deltas = [{"type": "text_delta", "text": half} for half in _halves(block["text"])]
            elif block["type"] == "thinking":
                empty |= {"thinking": "", "signature": ""}
                deltas = [{"type": "thinking_delta", "thinking": half} for half in _halves(block["thinking"])]
                deltas.append({"type": "signature_delta", "signature": block["signature"]})
            else:
                empty["input"] = {}
                halves = _halves(json.dumps(block["input"]))
                deltas = [{"type": "input_json_delta", "partial_json": half} for half in halves]
            start = {"type": "content_block_start", "index": at, "content_block": empty}
            yield _event(start, "content_block_start")
            for delta in deltas:
                yield _event(
                    {"type": "content_block_delta", "index": at, "delta": delta}, "content_block_delta"
                )
            yield _event({"type": "content_block_stop", "index": at}, "content_block_stop")
        last = {
            "type": "message_delta",
            "delta": {"stop_reason": self._stop_reason(), "stop_sequence": None},
            "usage": {"output_tokens": self.output},
        }
        yield _event(last, "message_delta")
        yield _event({"type": "message_stop"}, "message_stop")

    # OpenAI Chat Completions

    def _chat_message(self) -> dict[str, Any]:
        text = "".join(part.text for part in self.parts if part.kind == "text")
        message: dict[str, Any] = {"role": "assistant", "content": text or None, "refusal": None}
        thought = "".join(part.text for part in self.parts if part.kind == "thinking")
        if thought:
            message["reasoning_content"] = thought
        calls = [
            {
                "id": self.id("call_", at),
                "type": "function",
                "function": {"name": part.name, "arguments": json.dumps(dict(part.arguments))},
            }
            for at, part in enumerate(self.parts)
            if part.kind == "call"
        ]
        return message | ({"tool_calls": calls} if calls else {})

    def _chat_usage(self) -> dict[str, int]:
        total = self.input + self.output
        return {"prompt_tokens": self.input, "completion_tokens": self.output, "total_tokens": total}

    def _finish(self) -> str:
        return "length" if self.stop else "tool_calls" if self.calls else "stop"

    def _whole_openai(self) -> Any:
        return {
            "id": self.id("chatcmpl-"),
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": self.seen.model,
            "choices": [
                {
                    "index": 0,
                    "message": self._chat_message(),
                    "finish_reason": self._finish(),
                    "logprobs": None,
                }
            ],
            "usage": self._chat_usage(),
        }

    def _events_openai(self) -> Iterator[bytes]:
        base = {
            "id": self.id("chatcmpl-"),
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": self.seen.model,
        }

        def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
            return _event(base | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

        message = self._chat_message()
        yield chunk({"role": "assistant", "content": ""})
        for half in _halves(message.get("reasoning_content", "")):
            yield chunk({"reasoning_content": half})
        for half in _halves(message["content"] or ""):
            yield chunk({"content": half})
        for at, made in enumerate(message.get("tool_calls", ())):
            first = {"index": at, "id": made["id"], "type": "function"}
            yield chunk(
                {"tool_calls": [first | {"function": {"name": made["function"]["name"], "arguments": ""}}]}
            )
            for half in _halves(made["function"]["arguments"]):
                yield chunk({"tool_calls": [{"index": at, "function": {"arguments": half}}]})
        yield chunk({}, self._finish())
        if ((self.seen.json or {}).get("stream_options") or {}).get("include_usage"):
            yield _event(base | {"choices": [], "usage": self._chat_usage()})
        yield b"data: [DONE]\n\n"

    # OpenAI Responses

    def _items(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        for at, part in enumerate(self.parts):
            if part.kind == "thinking":
                item = {"id": self.id("rs_", at), "type": "reasoning", "encrypted_content": SIGNATURE}
                items.append(item | {"summary": [{"type": "summary_text", "text": part.text}]})
            elif part.kind == "text":
                text = {"type": "output_text", "text": part.text, "annotations": [], "logprobs": []}
                item = {"id": self.id("msg_", at), "type": "message", "role": "assistant"}
                items.append(item | {"status": "completed", "content": [text]})
            else:
                item = {"id": self.id("fc_", at), "type": "function_call", "call_id": self.id("call_", at)}
                item |= {"name": part.name, "arguments": json.dumps(dict(part.arguments))}
                items.append(item | {"status": "completed"})
        return items

    def _response(self, output: list[Any], status: str) -> dict[str, Any]:
        usage = None
        if status == "completed":
            usage = {
                "input_tokens": self.input,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": self.output,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": self.input + self.output,
            }
        return {
            "id": self.id("resp_"),
            "object": "response",
            "created_at": 1_700_000_000,
            "status": status,
            "model": self.seen.model,
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": (self.seen.json or {}).get("tools") or [],
            "temperature": 1.0,
            "top_p": 1.0,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "store": False,
            "usage": usage,
        }

    def _whole_openai_responses(self) -> Any:
        return self._response(self._items(), "completed")

    def _events_openai_responses(self) -> Iterator[bytes]:
        number = 0

        def event(kind: str, **data: Any) -> bytes:
            nonlocal number
            number += 1
            return _event({"type": kind, "sequence_number": number - 1, **data}, kind)

        yield event("response.created", response=self._response([], "in_progress"))
        yield event("response.in_progress", response=self._response([], "in_progress"))
        for at, item in enumerate(self._items()):
            where = {"item_id": item["id"], "output_index": at}
            begun = dict(item)
            if item["type"] == "message":
                begun |= {"status": "in_progress", "content": []}
            elif item["type"] == "reasoning":
                begun |= {"summary": []}
            else:
                begun |= {"status": "in_progress", "arguments": ""}
            yield event("response.output_item.added", output_index=at, item=begun)
            if item["type"] == "message":
                part = item["content"][0]
                inside = where | {"content_index": 0}
                yield event("response.content_part.added", **inside, part=part | {"text": ""})
                for half in _halves(part["text"]):
                    yield event("response.output_text.delta", **inside, delta=half, logprobs=[])
                yield event("response.output_text.done", **inside, text=part["text"], logprobs=[])
                yield event("response.content_part.done", **inside, part=part)
            elif item["type"] == "function_call":
                for half in _halves(item["arguments"]):
                    yield event("response.function_call_arguments.delta", **where, delta=half)
                done = {"name": item["name"], "arguments": item["arguments"]}
                yield event("response.function_call_arguments.done", **where, **done)
            yield event("response.output_item.done", output_index=at, item=item)
        yield event("response.completed", response=self._response(self._items(), "completed"))

    # Gemini

    def _gemini_parts(self) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = []
        for part in self.parts:
            if part.kind == "text":
                parts.append({"text": part.text})
            elif part.kind == "thinking":
                parts.append({"text": part.text, "thought": True, "thoughtSignature": SIGNATURE})
            else:
                asked = {"name": part.name, "args": dict(part.arguments)}
                parts.append({"functionCall": asked, "thoughtSignature": SIGNATURE})
        return parts

    def _candidate(self, parts: list[Any], finish: str | None) -> dict[str, Any]:
        candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
        usage = {
            "promptTokenCount": self.input,
            "candidatesTokenCount": self.output,
            "totalTokenCount": self.input + self.output,
        }
        if finish:
            candidate["finishReason"] = finish
        return {
            "candidates": [candidate],
            "usageMetadata": usage,
            "modelVersion": self.seen.model,
            "responseId": self.id("r"),
        }

    def _whole_gemini(self) -> Any:
        return self._candidate(self._gemini_parts(), "MAX_TOKENS" if self.stop else "STOP")

    def _events_gemini(self) -> Iterator[bytes]:
        pieces: list[Any] = []
        for part in self._gemini_parts():
            if set(part) == {"text"}:
                pieces += [{"text": half} for half in _halves(part["text"])]
            else:
                pieces.append(part)
        last = len(pieces) - 1
        made = [self._candidate([piece], "STOP" if at == last else None) for at, piece in enumerate(pieces)]
        if self.seen.query.get("alt") == ["sse"]:
            for one in made:
                yield _event(one)
            return
        for at, one in enumerate(made):
            yield (("[" if at == 0 else ",\r\n") + json.dumps(one)).encode()
        yield b"]"


# --- the server

_GEMINI = re.compile(r"/models/([^/:]+):(generateContent|streamGenerateContent|countTokens)$")
_DEPLOYMENT = re.compile(r"/openai/deployments/([^/]+)/")


def _read_as(
    method: str, path: str, body: Any, query: Mapping[str, list[str]]
) -> tuple[str, str, bool, bool]:
    """API, model, stream and count of a request."""
    given: dict[str, Any] = body if isinstance(body, dict) else {}
    model, stream = str(given.get("model") or ""), given.get("stream") is True
    if found := _GEMINI.search(path):
        return "gemini", found[1], found[2].startswith("stream"), found[2] == "countTokens"
    if method == "POST" and path.endswith("/messages/count_tokens"):
        return "anthropic", model, False, True
    if method == "POST" and path.endswith("/messages"):
        return "anthropic", model, stream, False
    if deployed := _DEPLOYMENT.search(path):
        model = deployed[1]
    if method == "POST" and path.endswith("/chat/completions"):
        return "openai", model, stream, False
    if method == "POST" and path.endswith("/responses"):
        return "openai-responses", model, stream, False
    return "", model, "sse" in query.get("alt", ()), False


class FakeProvider:
    """A server on a free port of 127.0.0.1, in threads of its own; a context manager.

    Args:
        reply: decides each reply by the request, in place of a script.
        window: tokens from which on a request is refused; 0: never.
        max_bytes: bytes of a body from which on a request is refused with 413; 0: never.
        image_tokens: what an image counts.
        port: 0 for any free one.
        keep: how many requests are kept in `requests`; 0: all.

    Attributes:
        url: its address, without a path. requests: what arrived (a `Seen` each), the oldest first.
        left: how many clients went away before the end of their answer.
    """

    def __init__(
        self,
        reply: Callable[[Seen], Reply] | None = None,
        *,
        window: int = 0,
        max_bytes: int = 0,
        image_tokens: int = 1500,
        port: int = 0,
        keep: int = 0,
    ) -> None:
        self.reply, self.window, self.max_bytes, self.image_tokens = reply, window, max_bytes, image_tokens
        self.otherwise: Callable[[Seen], Reply] = lambda _seen: say("ok")
        self.scripted: Callable[[Seen], bool] = lambda _seen: True
        self._script: deque[Reply] = deque()
        self._lock = threading.Lock()
        self._count = self.left = 0
        self._seen: deque[Seen] = deque(maxlen=keep or None)

        class Handler(_Handler):
            fake = self

        self._server = _Server(("127.0.0.1", port), Handler)
        self._server.fake = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def requests(self) -> list[Seen]:
        with self._lock:
            return list(self._seen)

    def script(self, *replies: Reply) -> None:
        """Add replies, one for each request to come; count_tokens and unknown paths take none."""
        with self._lock:
            self._script.extend(replies)

    def clear(self) -> None:
        """Forget the script and what arrived."""
        with self._lock:
            self._script.clear()
            self._seen.clear()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> FakeProvider:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _arrived(self, method: str, target: str, headers: dict[str, str], body: bytes) -> Seen:
        parts = urlsplit(target)
        query = parse_qs(parts.query, keep_blank_values=True)
        plain = body
        if headers.get("content-encoding") == "gzip":
            plain = gzip_.decompress(body)
        elif headers.get("content-encoding") == "deflate":
            plain = zlib.decompress(body)
        try:
            value = json.loads(plain)
        except ValueError:
            value = None
        api, model, stream, count = _read_as(method, parts.path, value, query)
        tokens = count_tokens(value, self.image_tokens) if api else 0
        with self._lock:
            self._count += 1
            number = self._count
            seen = Seen(
                method, parts.path, query, headers, body, value, api, model, stream, count, tokens, number
            )
            self._seen.append(seen)
        return seen

    def _chosen(self, seen: Seen) -> Reply:
        if self.max_bytes and len(seen.body) > self.max_bytes:
            return overflow("bytes")
        if self.window and seen.tokens > self.window and not seen.count:
            return overflow()
        if self.reply is not None:
            return self.reply(seen)
        with self._lock:
            if self._script and self.scripted(seen):
                return self._script.popleft()
        return self.otherwise(seen)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512
    fake: FakeProvider

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away, which is what many tests do."""
        if isinstance(sys.exception(), OSError):
            self.fake.left += 1
        else:
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    fake: FakeProvider

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the standard library names it
        pass

    def _serve(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        seen = self.fake._arrived(self.command, self.path, headers, self._read(headers))
        if not seen.api:
            self._other(seen)
        elif seen.count:
            name = "totalTokens" if seen.api == "gemini" else "input_tokens"
            self._send(200, {name: seen.tokens}, Reply())
        else:
            self._answer(seen, self.fake._chosen(seen))

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_OPTIONS = _serve  # noqa: N815

    def _read(self, headers: Mapping[str, str]) -> bytes:
        if headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(headers.get("content-length") or 0))
        pieces: list[bytes] = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(pieces)

    def _other(self, seen: Seen) -> None:
        if seen.path.endswith("/models"):
            self._send(200, {"object": "list", "data": [], "models": [], "has_more": False}, Reply())
        elif seen.path in ("", "/"):
            self._send(200, {"fake": "provider"}, Reply())
        else:
            kind = _anthropic_error("not_found_error", f"no such path: {seen.method} {seen.path}")
            self._send(404, kind, Reply())

    def _answer(self, seen: Seen, reply: Reply) -> None:
        if reply.delay:
            time.sleep(reply.delay)
        if reply.error == "other":
            self._send(reply.status, reply.body, reply)
        elif reply.error == "stream" and seen.stream:
            self._stream(self._failing(seen), reply)
        elif reply.error not in ("", "stop"):
            error = "overflow" if reply.error == "stream" else reply.error
            window = self.fake.window or 200_000
            headers = dict(reply.headers)
            if error == "rate limit":
                headers.setdefault("retry-after", "0")
            self._send(*_refusal(seen, error, window), replace(reply, headers=headers))
        elif seen.stream:
            self._stream(_Answer(seen, reply).events(), reply)
        else:
            self._send(200, _Answer(seen, reply).whole(), reply)

    def _failing(self, seen: Seen) -> Iterator[bytes]:
        """A stream that begins well and then says that the request is too large."""
        error = _refusal(seen, "overflow", self.fake.window or 200_000)[1]
        if seen.api == "openai-responses":
            answer = _Answer(seen, say("never said"))
            started = answer._response([], "in_progress")
            yield _event(
                {"type": "response.created", "sequence_number": 0, "response": started}, "response.created"
            )
            failed = started | {
                "status": "failed",
                "error": {k: error["error"][k] for k in ("code", "message")},
            }
            yield _event(
                {"type": "response.failed", "sequence_number": 1, "response": failed}, "response.failed"
            )
        else:
            yield _event(error, "error" if seen.api == "anthropic" else "")

    def _head(self, status: int, kind: str, reply: Reply, length: int | None) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("request-id", f"req_{self.fake._count}")
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if length is None:
            self.send_header("transfer-encoding", "chunked")
        else:
            self.send_header("content-length", str(length))
        self.end_headers()

    def _send(self, status: int, body: Any, reply: Reply) -> None:
        kind = "application/json"
        if isinstance(body, bytes | str):
            kind, data = "text/plain", body.encode() if isinstance(body, str) else body
        else:
            data = json.dumps(body, ensure_ascii=False).encode()
        if self._gzipped(reply):
            data, reply = gzip_.compress(data, mtime=0), replace(reply, headers=_encoded(reply))
        self._head(status, kind, reply, len(data))
        if self.command != "HEAD":
            if reply.broken >= 0:
                self.wfile.write(data[: reply.broken])
                self._reset()
            else:
                self.wfile.write(data)

    def _gzipped(self, reply: Reply) -> bool:
        return reply.gzip and "gzip" in (self.headers.get("accept-encoding") or "")

    def _stream(self, events: Iterator[bytes], reply: Reply) -> None:
        packer = None
        if self._gzipped(reply):
            packer, reply = zlib.compressobj(wbits=31), replace(reply, headers=_encoded(reply))
        self._head(200, "text/event-stream; charset=utf-8", reply, None)
        for at, event in enumerate(events):
            if at == reply.broken:
                self._reset()
                return
            if at and reply.pace:
                time.sleep(reply.pace)
            self._chunk(packer.compress(event) + packer.flush(zlib.Z_SYNC_FLUSH) if packer else event)
        if packer:
            self._chunk(packer.flush())
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()

    def _reset(self) -> None:
        """Cut the connection as a crash would: no end of the body."""
        self.wfile.flush()
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        time.sleep(0.02)  # what was written before arrives first


def _encoded(reply: Reply) -> dict[str, str]:
    return {**reply.headers, "content-encoding": "gzip"}


def main() -> None:
    """Serve until killed, answering "ok"; the address is printed on a line of its own."""
    parser = argparse.ArgumentParser(description="a local fake of Anthropic, OpenAI and Gemini")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--window", type=int, default=0)
    parser.add_argument("--max-bytes", type=int, default=0)
    chosen = parser.parse_args()
    with FakeProvider(port=chosen.port, window=chosen.window, max_bytes=chosen.max_bytes, keep=100) as fake:
        print(fake.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
