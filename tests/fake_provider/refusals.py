"""The providers' words of refusal."""

from __future__ import annotations

from typing import Any

from tests.fake_provider.replies import Seen


def anthropic_error(kind: str, message: str) -> Any:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_fake"}


def _openai_error(message: str, code: str | None, param: str | None = None) -> Any:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return {"error": error}


def _gemini_error(status: int, name: str, message: str) -> Any:
    return {"error": {"code": status, "message": message, "status": name}}


def refusal(seen: Seen, error: str, window: int) -> tuple[int, Any]:
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
        return status, anthropic_error(kind, message)
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
