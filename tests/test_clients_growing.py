"""200 calls of a conversation that grows, in frameworks: few compactions, pages that stay, no work again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from snapshot.compaction import Compaction, chain
from snapshot.integrations import Keeper
from snapshot.transcripts import continued
from tests.conversations import told_words
from tests.fake_provider import FakeProvider, Reply, Seen, call, say
from tests.proxied import pages_in

pytestmark = [pytest.mark.clients, pytest.mark.filterwarnings("ignore")]

CALLS, WINDOW = 200, 200_000
# It acts early, so that it acts often while there is room for every page.
SETTINGS: Any = {"window": WINDOW, "threshold": 0.3, "target": 0.25}


class Watched(Keeper):
    """Keeps account of each call: what was given, what came of it, and how much was looked at anew."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.done: list[Compaction] = []
        self.given: list[int] = []
        self.looked: list[int] = []
        self.seen = 0

    def compact(self, conversation: Any, **more: Any) -> Compaction:
        before = self.seen
        done = super().compact(conversation, **more)
        self.done.append(done)
        self.given.append(len(conversation))
        self.looked.append(self.seen - before)
        return done


def reply(seen: Seen) -> Reply:
    return call("read", path=f"f{seen.number}") if seen.number < CALLS else say("Done.")


def openai_agents(keeper: Watched, url: str) -> None:
    """OpenAI's Agents SDK, by the filter of docs/integrations.md."""
    pytest.importorskip("agents")
    from agents import Agent, OpenAIResponsesModel, RunConfig, Runner, function_tool
    from agents.run import CallModelData, ModelInputData
    from openai import AsyncOpenAI

    async def fit(data: CallModelData[Any]) -> ModelInputData:
        done = await keeper.acompact(data.model_data.input, model="gpt-5.6-sol")
        return ModelInputData(done.splice(api="openai-responses"), data.model_data.instructions)

    @function_tool
    def read(path: str) -> str:
        """Read a file."""
        return told_words(path, 450)

    async def main() -> None:
        async with AsyncOpenAI(base_url=f"{url}/v1", api_key="sk-test") as client:
            agent = Agent(
                "reader", "Be careful.", tools=[read], model=OpenAIResponsesModel("gpt-5.6-sol", client)
            )
            config = RunConfig(call_model_input_filter=fit, tracing_disabled=True)
            await Runner.run(agent, "Read all files.", max_turns=CALLS + 1, run_config=config)

    asyncio.run(main())


def langchain(keeper: Watched, url: str) -> None:
    """LangChain, by the middleware."""
    pytest.importorskip("langchain_anthropic")
    from langchain.agents import create_agent
    from langchain.tools import tool
    from langchain_anthropic import ChatAnthropic

    from snapshot.integrations.langchain import SnapshotMiddleware

    @tool
    def read(path: str) -> str:
        """Read a file."""
        return told_words(path, 380)  # so that there is room for all pages

    settings: Any = {"model_name": "claude-opus-4-8", "base_url": url, "api_key": "k", "max_retries": 0}
    middleware = SnapshotMiddleware()
    middleware.keeper = keeper
    agent: Any = create_agent(ChatAnthropic(**settings), [read], middleware=[middleware])
    agent.invoke({"messages": [("user", "Read all files.")]}, {"recursion_limit": 10 * CALLS})


@pytest.mark.parametrize("run", [openai_agents, langchain])
def test_200_calls_of_a_conversation_that_grows(
    run: Callable[[Watched, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = Watched(**SETTINGS)
    pieces, read = chain._pieces, continued.read

    def looked(parts: Any) -> Any:
        keeper.seen += 1
        return pieces(parts)

    def reading(value: Any, **more: Any) -> Any:
        keeper.seen += len(value)
        return read(value, **more)

    monkeypatch.setattr(chain, "_pieces", looked)
    monkeypatch.setattr(continued, "read", reading)
    with FakeProvider(reply, window=WINDOW) as fake:
        run(keeper, fake.url)
        requests = [seen for seen in fake.requests if not seen.count]
    assert len(requests) == len(keeper.done) == CALLS

    # At most one for each tenth of the window that is new.
    made = [done.report for done in keeper.done if not done.report.no_op]
    assert len(made) >= 5
    for former, report in pairwise(made):
        assert report.before - former.after >= WINDOW // 10

    # Pages before the newest are the same bytes throughout; between compactions all of them are.
    pages = [pages_in(seen.json) for seen in requests]
    assert [len(one) for one in pages] == [done.report.pages for done in keeper.done]
    for (one, other), done in zip(pairwise(pages), keeper.done[1:], strict=True):
        assert other[: len(one[:-1])] == one[:-1]
        assert done.report.no_op == "" or other == one
    assert len(pages[-1]) > 20

    # A call with nothing to do reads what is new, and no more of it at the end than at the beginning.
    idle = [looked for looked, done in zip(keeper.looked, keeper.done, strict=True) if done.report.no_op]
    assert max(idle[-CALLS // 4 :]) <= max(idle[: CALLS // 4]) < 40
