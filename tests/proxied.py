"""Conversations for tests of the proxy, in the form of each API, growing step by step."""

from __future__ import annotations

import base64
import json
from typing import Any

from tests.proxy_server import told

__all__ = ["APIS", "MODELS", "body_of", "pages_in", "path_of", "steps_of", "texts_in"]

APIS = ("anthropic", "openai", "openai-responses", "gemini")
MODELS = {
    "anthropic": "claude-opus-4-8",
    "openai": "gpt-5.6-sol",
    "openai-responses": "gpt-5.6-sol",
    "gemini": "gemini-3.8-flash",
}
_LISTS = {"anthropic": "messages", "openai": "messages", "openai-responses": "input", "gemini": "contents"}


def path_of(api: str, *, stream: bool = False, model: str = "") -> str:
    """Path of an answer's request."""
    if api == "gemini":
        method = "streamGenerateContent?alt=sse" if stream else "generateContent"
        return f"/v1beta/models/{model or MODELS[api]}:{method}"
    ends = {"anthropic": "messages", "openai": "chat/completions", "openai-responses": "responses"}
    return f"/v1/{ends[api]}"


def steps_of(
    api: str, count: int, *, task: str = "Do the task.", size: int = 3000, first: int = 0
) -> list[Any]:
    """A conversation: a task, then so many calls of a tool with their results, of `size` characters each."""
    said: list[Any] = [_user(api, task)] if task else []
    for number in range(first, first + count):
        said += _step(api, number, told(number, size))
    return said


def _user(api: str, text: str) -> Any:
    if api == "gemini":
        return {"role": "user", "parts": [{"text": text}]}
    return {"role": "user", "content": text}


def _step(api: str, number: int, result: str) -> list[Any]:
    name, arguments = "read", {"path": f"src/step_{number}.py"}
    if api == "anthropic":
        used = {"type": "tool_use", "id": f"toolu_{number:04d}", "name": name, "input": arguments}
        thought = {"type": "thinking", "thinking": f"Now step {number}.", "signature": "c2lnbmVk"}
        back = {"type": "tool_result", "tool_use_id": used["id"], "content": result}
        return [{"role": "assistant", "content": [thought, used]}, {"role": "user", "content": [back]}]
    if api == "openai":
        function = {"name": name, "arguments": json.dumps(arguments)}
        made = {"id": f"call_{number:04d}", "type": "function", "function": function}
        return [
            {"role": "assistant", "content": None, "tool_calls": [made]},
            {"role": "tool", "tool_call_id": made["id"], "content": result},
        ]
    if api == "openai-responses":
        call = {"type": "function_call", "call_id": f"call_{number:04d}", "name": name}
        return [
            call | {"arguments": json.dumps(arguments)},
            {"type": "function_call_output", "call_id": call["call_id"], "output": result},
        ]
    return [
        {"role": "model", "parts": [{"functionCall": {"name": name, "args": arguments}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": name, "response": {"result": result}}}]},
    ]


def body_of(api: str, said: list[Any], *, stream: bool = False, **more: Any) -> dict[str, Any]:
    """The body of a request."""
    if api == "gemini":
        told_system = {"parts": [{"text": "You are a coder."}]}
        limited = {"maxOutputTokens": 1000}
        return {"systemInstruction": told_system, "contents": said, "generationConfig": limited, **more}
    body: dict[str, Any] = {"model": MODELS[api], _LISTS[api]: said}
    if api == "anthropic":
        body |= {"max_tokens": 1000, "system": "You are a coder."}
    elif api == "openai":
        body |= {"max_completion_tokens": 1000}
        body["messages"] = [{"role": "system", "content": "You are a coder."}, *said]
    else:
        body |= {"max_output_tokens": 1000, "instructions": "You are a coder."}
    return body | ({"stream": True} if stream else {}) | more


def pages_in(body: Any) -> list[bytes]:
    """The images in a request, in order."""
    found: list[bytes] = []

    def look(item: Any) -> None:
        if isinstance(item, dict):
            kind = str(item.get("media_type") or item.get("mimeType") or "")
            if kind.startswith("image/") and isinstance(item.get("data"), str):
                found.append(base64.b64decode(item["data"]))
                return
            for value in item.values():
                look(value)
        elif isinstance(item, list):
            for value in item:
                look(value)
        elif isinstance(item, str) and item.startswith("data:image/"):
            found.append(base64.b64decode(item.partition(",")[2]))

    look(body)
    return found


def texts_in(body: Any) -> str:
    """All text of a request but its images."""
    if isinstance(body, dict):
        return "\n".join(texts_in(value) for key, value in body.items() if key != "data")
    if isinstance(body, list):
        return "\n".join(map(texts_in, body))
    return body if isinstance(body, str) and not body.startswith("data:image/") else ""
