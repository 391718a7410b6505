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

__all__ = ["APIS", "OTHER_NAMES", "request"]

APIS = ("anthropic", "openai", "openai-responses", "gemini")

OTHER_NAMES = {"openai-chat": "openai"}
"""APIs by the names of their transcripts' formats, where these are others."""

_MODULES = {"openai": "openai_chat"}


class _Writer(Protocol):
    """What the module of an API offers."""

    FORMATS: frozenset[str]

    def write(self, transcript: Transcript, /) -> dict[str, Any]:
        """The parts of the body that hold the conversation."""
        ...


def request(transcript: Transcript, api: str) -> dict[str, Any]:
    """The conversation as the body of a request to `api` holds it; model and tools are the caller's.

    Args:
        transcript: what to send. Nothing in it makes this raise: results without a call, empty messages
            and what has no words are left out, calls without a result get one that says so.
        api: one of `APIS`; "openai-chat" is "openai".

    Returns:
        `system` (if any) and `messages` for Anthropic, `messages` for OpenAI Chat Completions, `input` for
        OpenAI Responses, `systemInstruction` (if any) and `contents` for Gemini.

    Raises:
        SnapshotError: `api` is not known.
    """
    api = OTHER_NAMES.get(api, api)
    if api not in APIS:
        raise SnapshotError(f"unknown API {api!r}; known APIs: {', '.join(APIS)}")
    name = _MODULES.get(api, api.replace("-", "_"))
    return cast(_Writer, importlib.import_module(f"{__name__}.{name}")).write(transcript)
