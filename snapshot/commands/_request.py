"""The body of a request as a file that can be sent: the conversation, and what an API wants beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from snapshot.parts.exact_json import encode, read

if TYPE_CHECKING:
    from snapshot.messages import Transcript
    from snapshot.models.profile import ModelProfile

__all__ = ["APIS", "api_of", "body", "given_beside", "written"]

APIS = ("anthropic", "openai-chat", "openai-responses", "gemini")
"""The APIs that requests are written for, by the names of their formats."""

_OF_PROVIDER = {"anthropic": "anthropic", "amazon": "anthropic", "google": "gemini"}
# What holds the conversation in a body, and so comes from the compaction.
_HELD = {
    "anthropic": ("messages", "system"),
    "openai-chat": ("messages",),
    "openai-responses": ("input",),
    "gemini": ("contents", "systemInstruction", "system_instruction"),
}
_ANSWER = 16_000  # tokens of an answer that clients take without streaming


def api_of(reader: ModelProfile) -> str:
    """The API of a model's maker."""
    return _OF_PROVIDER.get(reader.provider, "openai-chat")


def given_beside(data: bytes | None, transcript: Transcript, api: str) -> dict[str, Any]:
    """What the body of a request, in `data`, says beside its conversation, for the same API; else nothing."""
    if data is None or transcript.format != api:
        return {}
    try:
        value = read(data)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(value, dict) or not any(key in value for key in _HELD[api]):
        return {}
    return {key: item for key, item in value.items() if key not in _HELD[api]}


def body(
    request: Mapping[str, Any], api: str, reader: ModelProfile, model: str, given: Mapping[str, Any]
) -> dict[str, Any]:
    """The whole body: model first, as the API wants it; then what was given; the conversation last.

    Args:
        request: what holds the conversation.
        api: one of `APIS`.
        reader: what is known of the model.
        model: its id, as the caller writes it. Gemini has it in the address, not in the body.
        given: what the former body said: tools, settings.
    """
    whole: dict[str, Any] = {} if api == "gemini" else {"model": model}
    whole |= {key: value for key, value in given.items() if key != "model"}
    if api == "anthropic":
        whole.setdefault("max_tokens", min(reader.max_output or _ANSWER, _ANSWER))
    return whole | dict(request)


def written(whole: Mapping[str, Any]) -> bytes:
    """A body as JSON, numbers with the digits that they came with."""
    return (encode(whole, partial(json.dumps, indent=1)) + "\n").encode("utf-8")
