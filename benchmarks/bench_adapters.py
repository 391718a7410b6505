"""What each adapter adds to a request when there is nothing to do.

    python -m benchmarks.bench_adapters [--most N] [--only NAME] [--profile NAME] [--write FILE]

An adapter is called before every request, so a call with nothing to do should take less than a millisecond
per thousand messages. Each row is one host's own list, of 100, 1,000 and 10,000 messages: milliseconds of
processor time of a call with the list as it was ("same") and of one with one more call and result ("turn"),
the least of several, each also per thousand messages. "dump" is what it takes to turn all of the list
into plain data, where the host has objects of its own: a floor for whoever does that at each call. smolagents
makes its messages anew for each call, so here they are copies each time.

A host whose package is not installed has no row. `benchmarks/results/adapters.json` is what `--write` keeps.
"""

from __future__ import annotations

import argparse
import asyncio
import copy
import cProfile
import json
import pstats
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import snapshot
from benchmarks.bench_compact import run_of
from snapshot.errors import SnapshotError
from snapshot.integrations import HostList, Keeper

MODEL = "claude-opus-4-8"
SIZES = (100, 1_000, 10_000)
_HUGE = 1 << 40
_ROUNDS = 7
_KEYS = {"openai": "messages", "anthropic": "messages", "openai-responses": "input", "gemini": "contents"}


@dataclass(frozen=True, slots=True)
class Host:
    """How a host's adapter is called.

    Attributes:
        messages: a list of the host's own messages, so many of them at least.
        dump: one of them as plain data.
        fit: what the adapter does with such a list before a request; None: a keeper's, as
            `docs/integrations.md` has it.
        anew: whether the host makes its messages anew for each request.
    """

    messages: Callable[[int], list[Any]]
    dump: Callable[[Any], Any] | None = None
    fit: Callable[[list[Any]], object] | None = None
    anew: bool = False

    def given(self, messages: list[Any]) -> Any:
        """A list as its adapter gives it to a keeper."""
        return messages if self.dump is None else HostList(messages, self.dump)

    def fitting(self) -> Callable[[list[Any]], object]:
        """The adapter, with nothing known yet."""
        if self.fit is not None:
            return self.fit
        keeper = Keeper(window=_HUGE)
        return lambda messages: keeper.compact(self.given(messages), model=MODEL).splice()


def of_api(api: str) -> Host:
    """A loop of one's own, with the dictionaries of an API."""
    return Host(lambda count: snapshot.request(run_of(count), api)[_KEYS[api]])


def of_litellm() -> Host:
    """LiteLLM's callback, as its coroutines call it."""
    from snapshot.integrations.litellm import SnapshotCallback

    hook = SnapshotCallback(window=_HUGE).async_pre_call_deployment_hook
    asked = {"model": f"anthropic/{MODEL}", "litellm_call_id": "1"}
    loop = asyncio.new_event_loop()

    def fit(messages: list[Any]) -> object:
        return loop.run_until_complete(hook({**asked, "messages": messages}, "acompletion"))

    return Host(of_api("openai").messages, fit=fit)


def of_langchain() -> Host:
    """LangChain's middleware."""
    from langchain.agents.middleware import ModelRequest
    from langchain_core.language_models.fake_chat_models import FakeListChatModel
    from langchain_core.messages import messages_from_dict

    from snapshot.integrations.langchain import SnapshotMiddleware, dumped

    middleware = SnapshotMiddleware(model=MODEL, window=_HUGE)
    model = FakeListChatModel(responses=[""])

    def fit(messages: list[Any]) -> object:
        request: Any = ModelRequest(model=model, messages=messages)
        return middleware.wrap_model_call(request, lambda request: request)  # pyright: ignore

    def messages(count: int) -> list[Any]:
        return messages_from_dict(json.loads(snapshot.dump(run_of(count), "langchain").data))

    return Host(messages, dumped, fit)


def of_pydantic_ai() -> Host:
    """Pydantic AI's processor of histories."""
    from pydantic_ai import ModelMessagesTypeAdapter as Adapter

    return Host(
        lambda count: list(Adapter.validate_json(snapshot.dump(run_of(count), "pydantic-ai").data)),
        lambda message: Adapter.dump_python([message], mode="json")[0],
    )


def of_inspect_ai() -> Host:
    """Inspect AI's strategy of compaction."""
    from inspect_ai.model import ChatMessage
    from pydantic import TypeAdapter

    chat = TypeAdapter(list[ChatMessage])
    return Host(
        lambda count: chat.validate_json(snapshot.dump(run_of(count), "inspect-ai").data),
        lambda message: message.model_dump(mode="json", exclude_none=True),
    )


def of_smolagents() -> Host:
    """A model of smolagents'."""
    from smolagents.memory import ActionStep, TaskStep
    from smolagents.memory import ToolCall as Called
    from smolagents.monitoring import Timing

    def messages(count: int) -> list[Any]:
        made = TaskStep("Mend the importer.").to_messages()
        for number in range(count // 2):
            call = Called("read", {"path": f"src/part_{number}/module.py"}, f"c{number}")
            seen = "\n".join(f"    value_{number}_{row} = read_row({row})  # as before" for row in range(20))
            step = ActionStep(number, Timing(0.0), tool_calls=[call], observations=seen)
            made += step.to_messages()
        return made

    def dump(message: Any) -> dict[str, Any]:
        return {"role": message.role.value, "content": message.content}

    return Host(messages, dump, anew=True)


HOSTS: dict[str, Callable[[], Host]] = {
    "openai": lambda: of_api("openai"),
    "anthropic": lambda: of_api("anthropic"),
    "openai-responses": lambda: of_api("openai-responses"),
    "gemini": lambda: of_api("gemini"),
    "litellm": of_litellm,
    "langchain": of_langchain,
    "pydantic-ai": of_pydantic_ai,
    "inspect-ai": of_inspect_ai,
    "smolagents": of_smolagents,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table, or the profile of one host."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--most", type=int, default=SIZES[-1], help="messages of the longest list")
    parser.add_argument("--only", metavar="NAME", action="append", choices=HOSTS, help="only this host")
    parser.add_argument("--profile", metavar="NAME", choices=HOSTS, help="of 1,000 messages as they were")
    parser.add_argument("--write", metavar="FILE", help="keep what was measured as JSON")
    arguments = parser.parse_args(argv)
    if arguments.profile:
        host = HOSTS[arguments.profile]()
        fit, messages = host.fitting(), host.messages(1_000)
        for _ in range(3):
            fit(messages)
        profile = cProfile.Profile()
        profile.runcall(fit, messages)
        pstats.Stats(profile).strip_dirs().sort_stats("cumulative").print_stats(30)
        return 0
    print(f"{'host':<20}{'messages':>9}{'same':>9}{'per 1,000':>11}{'turn':>9}{'per 1,000':>11}{'dump':>9}")
    kept: list[dict[str, Any]] = []
    for name in arguments.only or HOSTS:
        try:
            host = HOSTS[name]()
        except (ImportError, SnapshotError) as error:
            print(f"{name:<20}{error}")
            continue
        for size in (size for size in SIZES if size <= arguments.most):
            same, turn, dump = (round(found, 2) for found in measured(host, size))
            share = 1_000 / size
            told = f"{same:>9.2f}{same * share:>11.2f}{turn:>9.2f}{turn * share:>11.2f}"
            print(f"{name:<20}{size:>9,}{told}" + (f"{dump:>9.2f}" if dump else ""), flush=True)
            kept.append({"host": name, "messages": size, "same_ms": same, "turn_ms": turn, "dump_ms": dump})
    if arguments.write:
        Path(arguments.write).write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return 0


def measured(host: Host, size: int) -> tuple[float, float, float]:
    """Milliseconds of a call with a list as it was, with one more turn, and of the dump alone, if any."""
    fit = host.fitting()
    whole = host.messages(size + 2 * _ROUNDS + 2)

    def least(call: Callable[[list[Any]], object], *, grow: int) -> float:
        times: list[float] = []
        for number in range(_ROUNDS + 2):
            messages = whole[: size + number * grow]
            if host.anew:
                messages = copy.deepcopy(messages)
            began = time.process_time()
            call(messages)
            times.append((time.process_time() - began) * 1_000)
        return min(times[2:])

    same = least(fit, grow=0)
    dump = host.dump
    alone = least(lambda messages: list(map(dump, messages)), grow=0) if dump else 0.0
    return same, least(fit, grow=2), alone


if __name__ == "__main__":
    sys.exit(main())
