"""The four official SDKs through the proxy, streaming and not, in loops up to a second compaction."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fake_provider import FakeProvider, Seen, call, overflow, say, think
from tests.proxied import pages_in
from tests.proxy_server import in_thread, told

pytestmark = pytest.mark.clients
pytest.importorskip("uvicorn")

WINDOW, MOST = 40_000, 150
TOOL = {"type": "object", "properties": {"path": {"type": "string"}}}
STREAM = pytest.mark.parametrize("stream", [False, True])


class Talk:
    """The fake's side of a loop: thoughts and calls; counts compactions and checks each request."""

    def __init__(self, api: str) -> None:
        self.api, self.pages, self.compactions, self.refused = api, list[bytes](), 0, False

    def __call__(self, seen: Seen) -> Any:
        from snapshot.requests.check import check

        assert seen.api == self.api
        if self.compactions == 1 and not self.refused:  # once a refusal from the provider, too
            self.refused = True
            return overflow()
        pages = pages_in(seen.json)
        self.compactions += pages != self.pages
        self.pages = pages
        assert seen.tokens < WINDOW
        problems = check(seen.json, self.api)
        assert not problems, problems
        _valid(seen)
        step = f"step {seen.number}"
        return think(f"Now {step}.", say(f"Here is {step}."), call("read", path=f"{seen.number}.py"))


def _valid(seen: Seen) -> None:
    """The request as the SDK's own types have it."""
    from pydantic import TypeAdapter

    if seen.api == "anthropic":
        from anthropic.types import MessageParam

        TypeAdapter(list[MessageParam]).validate_python(seen.json["messages"])
    elif seen.api == "openai":
        from openai.types.chat import ChatCompletionMessageParam

        TypeAdapter(list[ChatCompletionMessageParam]).validate_python(seen.json["messages"])
    elif seen.api == "gemini":
        from google.genai import types

        for content in seen.json["contents"]:
            types.Content.model_validate(content)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Any]:
    """Starts a fake with a talk and a proxy before it; what the talk finds wrong is raised."""
    fakes: list[FakeProvider] = []

    def serve(talk: Talk) -> Any:
        problems: list[BaseException] = []

        def reply(seen: Seen) -> Any:
            try:
                return talk(seen)
            except BaseException as error:
                problems.append(error)
                raise

        fake = FakeProvider(reply, window=WINDOW)
        fakes.append(fake)
        return fake, problems, in_thread(store=str(tmp_path / "p"), upstream=fake.url, window=WINDOW)

    yield serve
    for fake in fakes:
        fake.close()


def _result(step: int) -> str:
    return told(step, 4000)


def _done(talk: Talk, problems: list[BaseException]) -> bool:
    if problems:
        raise problems[0]
    return talk.compactions >= 3  # the first, that after the refusal, and one more


@STREAM
def test_anthropic(served: Any, stream: bool) -> None:
    anthropic = pytest.importorskip("anthropic")
    talk = Talk("anthropic")
    _, problems, proxy = served(talk)
    with proxy as url, anthropic.Anthropic(base_url=url, api_key="k", max_retries=0) as client:
        messages: list[Any] = [{"role": "user", "content": "Do the task."}]
        for step in range(MOST):
            asked: dict[str, Any] = {
                "model": "claude-opus-4-8",
                "max_tokens": 1000,
                "system": "You are a coder.",
                "messages": messages,
                "tools": [{"name": "read", "description": "reads", "input_schema": TOOL}],
                "thinking": {"type": "adaptive"},
            }
            if stream:
                with client.messages.stream(**asked) as events:
                    answer = events.get_final_message()
            else:
                answer = client.messages.create(**asked)
            used = next(block for block in answer.content if block.type == "tool_use")
            assert [block.type for block in answer.content] == ["thinking", "text", "tool_use"]
            messages.append({"role": "assistant", "content": answer.content})
            back = {"type": "tool_result", "tool_use_id": used.id, "content": _result(step)}
            messages.append({"role": "user", "content": [back]})
            if _done(talk, problems):
                return
    pytest.fail("no second compaction")


@STREAM
def test_openai_chat(served: Any, stream: bool) -> None:
    openai = pytest.importorskip("openai")
    talk = Talk("openai")
    _, problems, proxy = served(talk)
    with proxy as url, openai.OpenAI(base_url=url + "/v1", api_key="k", max_retries=0) as client:
        messages: list[Any] = [
            {"role": "system", "content": "You are a coder."},
            {"role": "user", "content": "Do the task."},
        ]
        for step in range(MOST):
            tools = [{"type": "function", "function": {"name": "read", "parameters": TOOL}}]
            asked: dict[str, Any] = {"model": "gpt-5.6-sol", "messages": messages, "tools": tools}
            asked["max_completion_tokens"] = 1000
            if stream:
                with client.chat.completions.stream(**asked) as events:
                    message = events.get_final_completion().choices[0].message
            else:
                message = client.chat.completions.create(**asked).choices[0].message
            kept = message.model_dump(include={"role", "content", "tool_calls"}, exclude_none=True)
            for made in kept["tool_calls"]:
                made["function"].pop("parsed_arguments", None)
            messages.append(kept)
            identity = message.tool_calls[0].id
            messages.append({"role": "tool", "tool_call_id": identity, "content": _result(step)})
            if _done(talk, problems):
                return
    pytest.fail("no second compaction")


@STREAM
def test_openai_responses(served: Any, stream: bool) -> None:
    openai = pytest.importorskip("openai")
    talk = Talk("openai-responses")
    _, problems, proxy = served(talk)
    with proxy as url, openai.OpenAI(base_url=url + "/v1", api_key="k", max_retries=0) as client:
        items: list[Any] = [{"role": "user", "content": "Do the task."}]
        for step in range(MOST):
            asked: dict[str, Any] = {
                "model": "gpt-5.6-sol",
                "instructions": "You are a coder.",
                "input": items,
                "store": False,
                "include": ["reasoning.encrypted_content"],
                "max_output_tokens": 1000,
                "tools": [{"type": "function", "name": "read", "parameters": TOOL, "strict": False}],
            }
            if stream:
                with client.responses.stream(**asked) as events:
                    response = events.get_final_response()
            else:
                response = client.responses.create(**asked)
            items += [
                item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in response.output
            ]
            made = next(item for item in response.output if item.type == "function_call")
            items.append({"type": "function_call_output", "call_id": made.call_id, "output": _result(step)})
            if _done(talk, problems):
                return
    pytest.fail("no second compaction")


@STREAM
def test_gemini(served: Any, stream: bool) -> None:
    genai = pytest.importorskip("google.genai")
    from google.genai import types

    talk = Talk("gemini")
    _, problems, proxy = served(talk)
    with proxy as url:
        client = genai.Client(api_key="k", http_options={"base_url": url})
        contents: list[Any] = [types.Content(role="user", parts=[types.Part(text="Do the task.")])]
        tool = {"function_declarations": [{"name": "read", "parameters_json_schema": TOOL}]}
        config: Any = {"system_instruction": "You are a coder.", "tools": [tool], "max_output_tokens": 1000}
        config["automatic_function_calling"] = {"disable": True}
        for step in range(MOST):
            asked: dict[str, Any] = {"model": "gemini-3.8-flash", "contents": contents, "config": config}
            if stream:
                chunks = list(client.models.generate_content_stream(**asked))
                parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts]
                contents.append(types.Content(role="model", parts=parts))
            else:
                contents.append(client.models.generate_content(**asked).candidates[0].content)
            back = types.Part.from_function_response(name="read", response={"result": _result(step)})
            contents.append(types.Content(role="user", parts=[back]))
            if _done(talk, problems):
                client.close()
                return
    pytest.fail("no second compaction")
