"""Transcripts to requests: the lists of plain dictionaries that the providers' SDKs take.

An API is one module: `FORMATS` (the transcript formats whose messages are this API's own), and
`write(transcript)`, which gives the parts of the body that hold the conversation. What came from the same API
and was not changed goes back as it came (`Message.raw`); all else is built anew from its parts.
`snapshot.requests.check` says what a provider would refuse.
"""

from __future__ import annotations

import importlib
from typing import Any, Protocol, cast

from snapshot.errors import SnapshotError
from snapshot.messages import Transcript
from snapshot.models.profile import ModelProfile

__all__ = ["APIS", "GENAI", "LISTED", "OTHER_NAMES", "api_of", "call_ids", "request"]

APIS = ("anthropic", "openai", "openai-responses", "gemini")

OTHER_NAMES = {"openai-chat": "openai"}
"""APIs by the names of their transcripts' formats, where these are others."""

GENAI = "google-genai"
"""The form of Gemini's requests that Google's SDK takes."""

LISTED = {"anthropic": "messages", "openai": "messages", "openai-responses": "input", "gemini": "contents"}
"""The key of each API's body that holds the list of messages."""

_MODULES = {"openai": "openai_chat"}


class _Writer(Protocol):
    """What the module of an API offers."""

    FORMATS: frozenset[str]

    def write(self, transcript: Transcript, reader: ModelProfile | None, /) -> dict[str, Any]:
        """The parts of the body that hold the conversation, as the reader takes them where one is known."""
        ...


def request(transcript: Transcript, api: str, *, reader: ModelProfile | None = None) -> dict[str, Any]:
    """The conversation as the body of a request to `api` holds it; model and tools are the caller's.

    Args:
        transcript: what to send. Nothing in it makes this raise: results without a call, empty messages
            and what has no words are left out, calls without a result get one that says so.
        api: one of `APIS`; "openai-chat" is "openai"; or "google-genai": what the SDK of that name takes.
        reader: the model that it is for, where what is accepted depends on that.

    Returns:
        `system` (if any) and `messages` for Anthropic, `messages` for OpenAI Chat Completions, `input` for
        OpenAI Responses, `systemInstruction` (if any) and `contents` for Gemini. For "google-genai" the
        arguments of `client.models.generate_content`: `contents`, and `config` with `system_instruction` (if
        any); put settings of your own into that `config`.

    Raises:
        SnapshotError: `api` is not known.
    """
    if api == GENAI:
        return _as_arguments(_writer("gemini").write(transcript, reader))
    api = OTHER_NAMES.get(api, api)
    if api not in APIS:
        raise SnapshotError(f"unknown API {api!r}; known APIs: {', '.join((*APIS, GENAI))}")
    return _writer(api).write(transcript, reader)


def _as_arguments(body: dict[str, Any]) -> dict[str, Any]:
    """A body for Gemini as the arguments of the SDK's `generate_content`."""
    system = body.pop("systemInstruction", None)
    return body if system is None else {**body, "config": {"system_instruction": system}}


def api_of(format_name: str) -> str:
    """The API whose own form the messages of a format have; "" where it is none's."""
    return next((api for api in APIS if format_name in _writer(api).FORMATS), "")


def call_ids(messages: list[dict[str, Any]], api: str) -> list[str]:
    """The ids of the calls in messages as an API has them, in order."""
    from snapshot.requests._flatten import pieces_of

    return [piece.id for piece in pieces_of({LISTED[api]: messages}, api) if piece.kind == "call"]


def _writer(api: str) -> _Writer:
    name = _MODULES.get(api, api.replace("-", "_"))
    return cast(_Writer, importlib.import_module(f"{__name__}.{name}"))
