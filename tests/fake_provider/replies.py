"""What a fake provider is told to answer, and what it has seen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


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
