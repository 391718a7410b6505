"""Senders: the official clients of Anthropic, OpenAI and Google, and httpx for any server that speaks
    OpenAI's chat.

They bring what the extra `trial` installs. Keys come from the environment alone and are written nowhere. A
client's own retries are off: a trial counts each call.
"""

from __future__ import annotations

import base64
import importlib
import os
from collections.abc import Callable
from contextlib import closing
from typing import Any, Literal, TypeAlias, get_args
from urllib.parse import urlsplit

from snapshot.errors import SnapshotError
from snapshot.trial.sending import NotSent, Prompt, Reply, Sender, Stop, Unknown

__all__ = ["APIS", "Api", "api_of", "is_local", "sender_for"]

Api: TypeAlias = Literal["anthropic", "openai-responses", "gemini", "openai-chat"]
APIS: tuple[Api, ...] = get_args(Api)

_OF_PROVIDER: dict[str, Api] = {"anthropic": "anthropic", "openai": "openai-responses", "google": "gemini"}
_TIMEOUT = 600.0
_NO_KEY = "none"
# Statuses at which a host gave up waiting for an answer that may have been made all the same.
_GAVE_UP = (504, 524)
_AGAIN = (408, 409, 425, 429)
# What hosts call a refusal that comes as an error.
_REFUSALS = ("content_filter", "content_policy", "content management policy", "prohibited_content")


def api_of(provider: str, base_url: str = "") -> Api:
    """The API that a provider's models are asked through; any server of one's own is taken for OpenAI's chat.

    Raises:
        SnapshotError: the provider has none here.
    """
    if base_url:
        return "openai-chat"
    if provider not in _OF_PROVIDER:
        raise SnapshotError(
            f"no client of {provider} is built in: name its OpenAI-compatible server by --base-url"
        )
    return _OF_PROVIDER[provider]


def is_local(base_url: str) -> bool:
    """Whether an address is of this machine."""
    return (urlsplit(base_url).hostname or "") in ("localhost", "127.0.0.1", "::1")


def sender_for(api: Api, *, base_url: str = "", key_env: str = "") -> Sender:
    """A sender.

    Args:
        api: which API to speak.
        base_url: another server than the provider's own.
        key_env: the environment's variable that has the key. By default the one that the client looks for;
            for a
            `base_url` none, so that no key goes to a server that it was not made for.

    Raises:
        SnapshotError: the client is not installed, or there is no such key.
    """
    key = ""
    if key_env:
        key = os.environ.get(key_env, "")
        if not key:
            raise SnapshotError(f"the environment has no {key_env}")
    elif base_url:
        key = _NO_KEY
    return _MAKERS[api](base_url, key)


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise SnapshotError(
            f"no {name.partition('.')[0]} here: pip install 'snapshot-pages[trial]'"
        ) from error


def _settings(base_url: str, key: str) -> dict[str, Any]:
    return ({"base_url": base_url} if base_url else {}) | ({"api_key": key} if key else {})


def _clients(make: Callable[..., Any], **settings: Any) -> Callable[[], closing[Any]]:
    """Makes a client for each call, and closes it; that one can be made is seen at once."""
    try:
        make(**settings).close()
    except Exception as error:  # each client has its own error for a missing key
        raise SnapshotError(f"the client cannot be made: {_line(error)}") from error
    return lambda: closing(make(**settings))


def _line(error: object) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__


def _data_url(image: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(image).decode("ascii")


def _failed(status: int, said: str, retry_after: str | None) -> Reply:
    """What an error of a server is: a refusal, or an error of ours.

    Raises:
        NotSent: it took no call.
        Unknown: it gave up, perhaps after the model had answered.
    """
    if status in (400, 403) and any(word in said.lower() for word in _REFUSALS):
        return Reply(said, "refusal", 0, 0)
    if status in _GAVE_UP:
        raise Unknown(f"the server gave up with status {status}: {said}")
    wait = None
    if retry_after is not None:
        try:
            wait = float(retry_after)
        except ValueError:
            wait = None  # a date
    raise NotSent(
        f"the server answered with status {status}: {said}",
        again=status in _AGAIN or status >= 500,
        wait=wait,
    )


def _names(error: BaseException) -> set[str]:
    """Names of an error's classes: clients come with one httpx or another."""
    return {kind.__name__ for kind in type(error).__mro__}


def _lost(error: Exception) -> NotSent | Unknown:
    """What a broken connection is: an error before anything was sent, or of what nobody knows."""
    cause: BaseException | None = error
    while cause is not None:
        names = _names(cause)
        if names & {"ConnectError", "ConnectTimeout", "PoolTimeout", "ConnectionRefusedError"}:
            return NotSent(f"no connection: {_line(cause)}", again=True)
        if names & {"UnsupportedProtocol", "InvalidURL"}:
            return NotSent(f"no such address: {_line(cause)}", again=False)
        cause = cause.__cause__
    return Unknown(f"the connection broke: {_line(error)}")


# --- Anthropic


def _anthropic(base_url: str, key: str) -> Sender:
    sdk = _module("anthropic")
    clients = _clients(sdk.Anthropic, max_retries=0, timeout=_TIMEOUT, **_settings(base_url, key))

    def send(prompt: Prompt) -> Reply:
        images = [
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
            for data in (base64.b64encode(image).decode("ascii") for image in prompt.images)
        ]
        extra = {"output_config": {"effort": prompt.reasoning}} if prompt.reasoning else None
        try:
            with clients() as client:
                answer = client.messages.create(
                    model=prompt.model,
                    max_tokens=prompt.max_tokens,
                    messages=[{"role": "user", "content": [*images, {"type": "text", "text": prompt.text}]}],
                    extra_body=extra,
                )
        except sdk.APIStatusError as error:
            return _failed(error.status_code, _line(error), error.response.headers.get("retry-after"))
        except sdk.APIConnectionError as error:
            raise _lost(error) from error
        except sdk.AnthropicError as error:
            raise NotSent(_line(error), again=False) from error
        stops: dict[str, Stop] = {"refusal": "refusal", "max_tokens": "length"}
        usage = answer.usage
        read = sum(
            getattr(usage, name, None) or 0
            for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        )
        return Reply(
            "".join(block.text for block in answer.content if block.type == "text"),
            "length" if answer.stop_reason == "model_context_window_exceeded"
            else stops.get(answer.stop_reason, "end"),
            read, usage.output_tokens, answer.id,
        )  # fmt: skip

    return send


# --- OpenAI's Responses


def _openai(base_url: str, key: str) -> Sender:
    sdk = _module("openai")
    clients = _clients(sdk.OpenAI, max_retries=0, timeout=_TIMEOUT, **_settings(base_url, key))

    def send(prompt: Prompt) -> Reply:
        detail = {"detail": prompt.detail} if prompt.detail else {}
        images = [{"type": "input_image", "image_url": _data_url(image), **detail} for image in prompt.images]
        extra = {"reasoning": {"effort": prompt.reasoning}} if prompt.reasoning else {}
        try:
            with clients() as client:
                answer = client.responses.create(
                    model=prompt.model,
                    max_output_tokens=prompt.max_tokens,
                    store=False,
                    input=[
                        {"role": "user", "content": [*images, {"type": "input_text", "text": prompt.text}]}
                    ],
                    **extra,
                )
        except sdk.APIStatusError as error:
            return _failed(error.status_code, _line(error), error.response.headers.get("retry-after"))
        except sdk.APIConnectionError as error:
            raise _lost(error) from error
        except sdk.OpenAIError as error:
            raise NotSent(_line(error), again=False) from error
        parts = [part for item in answer.output if item.type == "message" for part in item.content]
        refusals = [part.refusal for part in parts if part.type == "refusal"]
        reason = getattr(answer.incomplete_details, "reason", None)
        stop: Stop = "refusal" if refusals or reason == "content_filter" else "length" if reason else "end"
        usage = answer.usage
        return Reply(
            "".join(refusals) or "".join(part.text for part in parts if part.type == "output_text"),
            stop,
            usage and usage.input_tokens, usage and usage.output_tokens, answer.id,
        )  # fmt: skip

    return send


# --- Gemini

_GEMINI_REFUSALS = (
    "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "LANGUAGE", "OTHER",
)  # fmt: skip


def _gemini(base_url: str, key: str) -> Sender:
    genai, errors = _module("google.genai"), _module("google.genai.errors")
    options: dict[str, Any] = {"timeout": int(_TIMEOUT * 1000), "retry_options": {"attempts": 1}}
    if base_url:
        options["base_url"] = base_url
    clients = _clients(genai.Client, http_options=options, **({"api_key": key} if key else {}))

    def send(prompt: Prompt) -> Reply:
        images = [{"inline_data": {"mime_type": "image/png", "data": image}} for image in prompt.images]
        config: dict[str, Any] = {"max_output_tokens": prompt.max_tokens}
        if prompt.detail:
            config["media_resolution"] = f"MEDIA_RESOLUTION_{prompt.detail.upper()}"
        if prompt.reasoning:
            config["thinking_config"] = {"thinking_level": prompt.reasoning}
        try:
            with clients() as client:
                answer = client.models.generate_content(
                    model=prompt.model,
                    contents=[{"role": "user", "parts": [*images, {"text": prompt.text}]}],
                    config=config,
                )
        except errors.APIError as error:
            headers: Any = getattr(error.response, "headers", None) or {}
            return _failed(error.code, _line(error), headers.get("retry-after"))
        except Exception as error:
            if _names(error) & {"HTTPError", "InvalidURL", "OSError"}:
                raise _lost(error) from error
            raise
        usage = answer.usage_metadata
        read = getattr(usage, "prompt_token_count", None)
        written = None
        if usage is not None:
            written = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
        chosen = answer.candidates[0] if answer.candidates else None
        ended = getattr(getattr(chosen, "finish_reason", None), "name", "") or ""
        parts: list[Any] = (chosen.content.parts or []) if chosen is not None and chosen.content else []
        text = "".join(part.text for part in parts if part.text and not part.thought)
        blocked = chosen is None or ended in _GEMINI_REFUSALS
        stop: Stop = "refusal" if blocked else "length" if ended == "MAX_TOKENS" else "end"
        return Reply(text, stop, read, written, answer.response_id or "")

    return send


# --- any server that speaks OpenAI's chat


def _chat(base_url: str, key: str) -> Sender:
    httpx = _module("httpx")
    headers = {"authorization": f"Bearer {key}"} if key not in ("", _NO_KEY) else {}
    clients = _clients(httpx.Client, timeout=_TIMEOUT, headers=headers)
    address = base_url.rstrip("/") + "/chat/completions"

    def send(prompt: Prompt) -> Reply:
        detail = {"detail": prompt.detail} if prompt.detail else {}
        images = [
            {"type": "image_url", "image_url": {"url": _data_url(image), **detail}} for image in prompt.images
        ]
        body: dict[str, Any] = {
            "model": prompt.model,
            "max_tokens": prompt.max_tokens,
            "temperature": 0,
            "messages": [{"role": "user", "content": [*images, {"type": "text", "text": prompt.text}]}],
        }
        if prompt.reasoning:
            body["reasoning_effort"] = prompt.reasoning
        try:
            with clients() as client:
                response = client.post(address, json=body)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise _lost(error) from error
        if response.status_code >= 300:
            return _failed(response.status_code, _line(response.text), response.headers.get("retry-after"))
        try:
            return _completion(response.json())
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            raise Unknown(f"{address}: answered with something else than a chat completion") from error

    return send


def _completion(answer: dict[str, Any]) -> Reply:
    choice = answer["choices"][0]
    message, ended = choice["message"], choice.get("finish_reason")
    refusal = message.get("refusal")
    stop: Stop = (
        "refusal" if refusal or ended == "content_filter" else "length" if ended == "length" else "end"
    )
    usage: dict[str, Any] = answer.get("usage") or {}
    return Reply(
        str(refusal or message.get("content") or ""), stop, usage.get("prompt_tokens"),
        usage.get("completion_tokens"), str(answer.get("id") or ""),
    )  # fmt: skip


_MAKERS: dict[Api, Callable[[str, str], Sender]] = {
    "anthropic": _anthropic,
    "openai-responses": _openai,
    "gemini": _gemini,
    "openai-chat": _chat,
}
