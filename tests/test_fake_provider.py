"""The fake provider that other tests stand on: it speaks to the official SDKs as the providers do."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.fake_provider import FakeProvider, call, overflow, overloaded, rate_limit, refuse, say, think

PATHS = {
    "anthropic": ("/v1/messages", {"model": "m", "max_tokens": 9}, "messages", "content"),
    "openai": ("/v1/chat/completions", {"model": "m"}, "messages", "content"),
    "openai-responses": ("/v1/responses", {"model": "m"}, "input", "content"),
    "gemini": ("/v1beta/models/m:generateContent", {}, "contents", "parts"),
}


def _post(url: str, body: Any) -> tuple[int, Any]:
    asked = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(asked, timeout=10) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def _body(api: str, text: str) -> tuple[str, Any]:
    path, body, key, inner = PATHS[api]
    content: Any = [{"text": text}] if api == "gemini" else text
    return path, body | {key: [{"role": "user", inner: content}]}


@pytest.mark.parametrize("api", PATHS)
def test_scripts_and_refusals_in_the_providers_words(api: str) -> None:
    import snapshot

    with FakeProvider(window=1000) as fake:
        path, body = _body(api, "hello")
        replies = (
            say("hi"),
            overflow(),
            overflow("bytes"),
            rate_limit(),
            overloaded(),
            refuse(418, {"a": 1}),
        )
        fake.script(*replies)
        found = [_post(fake.url + path, body) for _ in range(7)]
        assert [status for status, _ in found][0::6] == [200, 200]
        kinds = [
            snapshot.classify_error({"status": status, "body": answer}).kind for status, answer in found[1:5]
        ]
        limited = "quota" if api == "gemini" else "rate limit"
        assert kinds == ["context", "bytes", limited, "capacity"]
        assert found[5] == (418, {"a": 1})
        path, body = _body(api, "x" * 8000)
        status, answer = _post(fake.url + path, body)
        verdict = snapshot.classify_error({"status": status, "body": answer})
        assert verdict.kind == "context"
        last = fake.requests[-1]
        assert (last.api, last.model, last.json, last.stream) == (api, "m", body, False)
        assert 2000 < last.tokens < 2100


def test_an_unknown_path_and_a_connection_that_breaks() -> None:
    with FakeProvider() as fake:
        assert _post(fake.url + "/v1/files", {})[0] == 404
        fake.script(say("hello", broken=10))
        with pytest.raises((OSError, http.client.HTTPException)):
            _post(fake.url + PATHS["openai"][0], _body("openai", "hi")[1])


REPLY = think("Let me see.", "I look.", call("read", call("ls", dir="."), path="a.py"))


@pytest.mark.clients
@pytest.mark.parametrize("stream", [False, True])
def test_anthropic(stream: bool) -> None:
    anthropic = pytest.importorskip("anthropic")
    with FakeProvider() as fake, anthropic.Anthropic(base_url=fake.url, api_key="k", max_retries=0) as client:
        fake.script(REPLY)
        asked: dict[str, Any] = {"model": "claude-opus-4-8", "max_tokens": 99}
        asked["messages"] = [{"role": "user", "content": "hi"}]
        if stream:
            with client.messages.stream(**asked) as events:
                message = events.get_final_message()
        else:
            message = client.messages.create(**asked)
        assert [block.type for block in message.content] == ["thinking", "text", "tool_use", "tool_use"]
        assert message.content[2].input == {"path": "a.py"}
        assert message.content[0].signature
        assert message.stop_reason == "tool_use"
        assert client.messages.count_tokens(model="m", messages=asked["messages"]).input_tokens > 0
        fake.script(overflow())
        with pytest.raises(anthropic.BadRequestError, match="prompt is too long"):
            client.messages.create(**asked)


@pytest.mark.clients
@pytest.mark.parametrize("stream", [False, True])
def test_openai(stream: bool) -> None:
    openai = pytest.importorskip("openai")
    with (
        FakeProvider() as fake,
        openai.OpenAI(base_url=fake.url + "/v1", api_key="k", max_retries=0) as client,
    ):
        fake.script(REPLY, REPLY)
        messages: Any = [{"role": "user", "content": "hi"}]
        if stream:
            with client.chat.completions.stream(model="gpt-5.1", messages=messages) as events:
                choice = events.get_final_completion().choices[0]
            with client.responses.stream(model="gpt-5.1", input=messages) as events:
                response = events.get_final_response()
        else:
            choice = client.chat.completions.create(model="gpt-5.1", messages=messages).choices[0]
            response = client.responses.create(model="gpt-5.1", input=messages)
        assert choice.message.content == "I look."
        assert [one.function.name for one in choice.message.tool_calls] == ["read", "ls"]
        assert [item.type for item in response.output] == ["reasoning", "message"] + ["function_call"] * 2
        assert json.loads(response.output[2].arguments) == {"path": "a.py"}


@pytest.mark.clients
@pytest.mark.parametrize("stream", [False, True])
def test_gemini(stream: bool) -> None:
    genai = pytest.importorskip("google.genai")
    with FakeProvider() as fake:
        client = genai.Client(api_key="k", http_options={"base_url": fake.url})
        fake.script(REPLY)
        asked = {"model": "gemini-3.8-flash", "contents": "hi"}
        if stream:
            parts = [
                part
                for chunk in client.models.generate_content_stream(**asked)
                for part in chunk.candidates[0].content.parts
            ]
            assert "".join(part.text or "" for part in parts if not part.thought) == "I look."
        else:
            parts = client.models.generate_content(**asked).candidates[0].content.parts
        assert [part.function_call.name for part in parts if part.function_call] == ["read", "ls"]
        assert client.models.count_tokens(**asked).total_tokens > 0
        client.close()
