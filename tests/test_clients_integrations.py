"""The integrations with LiteLLM and LangChain: refusals, the archive's tool, signatures."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from snapshot.requests.check import check
from tests.conversations import told_words
from tests.fake_provider import (
    SIGNATURE,
    FakeProvider,
    Reply,
    Seen,
    call,
    overflow,
    overloaded,
    rate_limit,
    refuse,
    say,
    think,
)

pytestmark = [pytest.mark.clients, pytest.mark.filterwarnings("ignore")]

MODEL, WINDOW = "claude-opus-4-8", 40_000
CALLS, REFUSED = 32, 24


class Script:
    """Calls of a tool with signed thinking; one of them is refused for its size."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, _: Seen) -> Reply:
        self.asked += 1
        if self.asked == REFUSED:
            return overflow()
        if self.asked == CALLS:
            return call("read_archive", search="file of step 2")
        if self.asked > CALLS:
            return say("Done.")
        return think(f"Step {self.asked}.", call("read", path=f"f{self.asked}.py"))


def text_of(path: str) -> str:
    return f"The file of step {path[1:-3]}. " + told_words(path, 600)


def blocks(seen: Seen, kind: str) -> list[dict[str, Any]]:
    """The blocks of a kind in a request, in order."""
    return [
        block
        for message in seen.json["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == kind
    ]


def assert_sound(requests: list[Seen]) -> None:
    """Every request is one that the provider takes, its thinking signed; pages stand still between."""
    for seen in requests:
        assert check(seen.json, "anthropic") == []
        thoughts = blocks(seen, "thinking")
        assert all(block["signature"] == SIGNATURE for block in thoughts)
        calls = blocks(seen, "tool_use")
        assert len(thoughts) >= len(calls) - 1  # each answer that calls began with one, but the last
    pages = [[block["source"]["data"] for block in blocks(seen, "image")] for seen in requests]
    assert 2 <= sum(one != other for one, other in pairwise(pages)) <= len(pages) // 4
    assert requests[REFUSED].tokens < requests[REFUSED - 1].tokens  # smaller than what was refused


@pytest.mark.parametrize("asynchronous", [False, True])
def test_langchain(asynchronous):
    pytest.importorskip("langchain_anthropic")
    from langchain.agents import create_agent
    from langchain.tools import tool
    from langchain_anthropic import ChatAnthropic

    from snapshot.integrations.langchain import SnapshotMiddleware

    @tool
    def read(path: str) -> str:
        """Read a file."""
        return text_of(path)

    with FakeProvider(reply=Script(), window=10**9) as fake:
        model = ChatAnthropic(
            model_name=MODEL,
            base_url=fake.url,
            api_key="k",  # type: ignore[arg-type]
            max_retries=0,
            max_tokens_to_sample=4096,
            thinking={"type": "enabled", "budget_tokens": 1024},
            timeout=60,
            stop=None,
        )
        agent: Any = create_agent(model, [read], middleware=[SnapshotMiddleware(window=WINDOW)])
        start = {"messages": [("user", "Read all files.")]}
        limit = {"recursion_limit": 200}
        found = asyncio.run(agent.ainvoke(start, limit)) if asynchronous else agent.invoke(start, limit)
    messages = found["messages"]
    assert len(messages) == 2 * CALLS  # all of it: the host's history is its own
    assert messages[-1].content == "Done."
    (exact,) = (message.content for message in messages if message.name == "read_archive")
    assert "The file of step 2" in exact
    assert_sound(fake.requests)


@pytest.fixture
def litellm(monkeypatch) -> Any:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    module = pytest.importorskip("litellm")
    monkeypatch.setattr(module, "callbacks", [])
    return module


def request_of(fake: FakeProvider) -> dict[str, Any]:
    """What stands beside the messages of each call."""
    parameters = {"type": "object", "properties": {"path": {"type": "string"}}}
    return {
        "model": f"anthropic/{MODEL}",
        "tools": [{"type": "function", "function": {"name": "read", "parameters": parameters}}],
        "api_base": fake.url,
        "api_key": "k",
        "max_tokens": 4096,
        "num_retries": 0,
        "thinking": {"type": "enabled", "budget_tokens": 1024},
    }


def drive(litellm: Any, fake: FakeProvider, way: str) -> list[dict[str, Any]]:
    """A loop of calls, over the one that is refused."""
    from snapshot.integrations.litellm import SnapshotCallback

    hook = SnapshotCallback(window=WINDOW)
    request = request_of(fake)
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Read all files."}]
    names = ("reader", "reader once more")
    deployments = [
        {
            "model_name": name,
            "litellm_params": {key: request[key] for key in ("model", "api_base", "api_key")},
        }
        for name in names
    ]
    router = litellm.Router(model_list=deployments, fallbacks=[{names[0]: [names[1]]}], num_retries=0)

    async def ask() -> Any:
        if way == "completion":
            return hook.completion(messages=messages, **request)
        if way == "acompletion":
            return await hook.acompletion(messages=messages, **request)
        if way == "router":  # sends it again by the other name
            return await router.acompletion(messages=messages, **request | {"model": names[0]})
        try:
            return await litellm.acompletion(messages=messages, **request)
        except litellm.ContextWindowExceededError:  # the client sends it again, as clients do
            return await litellm.acompletion(messages=messages, **request)

    async def loop() -> None:
        if way in ("router", "client"):
            litellm.callbacks.append(hook)
        for _ in range(CALLS - 2):
            message = (await ask()).choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            for one in message.tool_calls:
                path = f"f{len(messages)}.py"
                messages.append({"role": "tool", "tool_call_id": one.id, "content": text_of(path)})

    asyncio.run(loop())
    assert not hook.refused
    return messages


@pytest.mark.parametrize("way", ["completion", "acompletion", "router", "client"])
def test_litellm(litellm, way):
    with FakeProvider(reply=Script(), window=10**9) as fake:
        messages = drive(litellm, fake, way)
    assert len(messages) == 2 * (CALLS - 2) + 1
    assert not any("image_url" in str(message) for message in messages)  # the caller's own
    assert_sound(fake.requests)


@pytest.mark.parametrize("way", ["acompletion", "anthropic_messages"])
@pytest.mark.parametrize("error", [overflow, rate_limit, overloaded])
def test_what_went_out_compacted_and_failed_comes_again(litellm, way, error):
    """Smaller where it was too large, else the same; LiteLLM tells of the request as it went out."""
    from snapshot.integrations.litellm import SnapshotCallback

    litellm.callbacks.append(SnapshotCallback(window=WINDOW))
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Read all files."}]
    for n in range(40):  # words alone, which are the same in every form
        messages.append({"role": "assistant", "content": f"I read {n}: {text_of(f'f{n}.py')}"})
        messages.append({"role": "user", "content": "Go on."})

    async def ask(fake: FakeProvider) -> None:
        call = litellm.acompletion if way == "acompletion" else litellm.anthropic_messages
        request = {key: value for key, value in request_of(fake).items() if key != "tools"}
        fake.script(error())
        with pytest.raises(Exception, match=r"(?i)too long|rate limit|overloaded"):
            await call(messages=messages, **request)
        await call(messages=messages, **request)

    with FakeProvider(window=10**9) as fake:
        asyncio.run(ask(fake))
        failed, taken = fake.requests
    assert blocks(failed, "image")
    assert blocks(taken, "image")
    assert (taken.tokens < failed.tokens) is (error is overflow)
    assert error is overflow or taken.json == failed.json


def test_other_refusals_pass(litellm):
    from snapshot.integrations.litellm import SnapshotCallback

    hook = SnapshotCallback(window=WINDOW)
    body = {"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}}
    with FakeProvider(window=10**9) as fake:
        fake.script(refuse(401, body), refuse(401, body), refuse(401, body))
        with pytest.raises(litellm.AuthenticationError):
            hook.completion(
                model=f"anthropic/{MODEL}",
                messages=[{"role": "user", "content": "Hi"}],
                api_base=fake.url,
                api_key="k",
                num_retries=0,
            )
    assert len(fake.requests) == 1
