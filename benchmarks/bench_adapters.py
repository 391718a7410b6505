"""What each adapter adds to a request when there is nothing to do.

    python -m benchmarks.bench_adapters [--most N] [--only NAME] [--profile NAME] [--write FILE]

An adapter is called before every request, so a call with nothing to do should take less than a millisecond
per thousand messages. Each row is one host's own list, of 100, 1,000 and 10,000 messages: milliseconds of
processor time of a call with the list as it was ("same") and of one with one more call and result ("turn"),
the least of several, each also per thousand messages. "dump" is what the host's own package takes to turn
the list into plain data, where it has objects of its own: a floor for whoever does that at each call.

A host whose package is not installed has no row. `benchmarks/results/adapters.json` is what `--write` keeps.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import json
import pstats
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import snapshot
from benchmarks.bench_compact import run_of
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
        fit: what the adapter does with such a list before a request.
        dump: the list as plain data, by the host's own package; None where it is plain data.
    """

    messages: Callable[[int], list[Any]]
    fit: Callable[[list[Any]], object]
    dump: Callable[[list[Any]], object] | None = None


def of_api(api: str) -> Host:
    """A loop of one's own, with the dictionaries of an API."""
    keeper = Keeper(window=_HUGE)
    return Host(
        lambda count: snapshot.request(run_of(count), api)[_KEYS[api]],
        lambda messages: keeper.compact(messages, model=MODEL).splice(),
    )


def of_litellm() -> Host:
    """LiteLLM's callback, as its coroutines call it."""
    from snapshot.integrations.litellm import SnapshotCallback

    hook = SnapshotCallback(window=_HUGE).async_pre_call_deployment_hook
    asked = {"model": f"anthropic/{MODEL}", "litellm_call_id": "1"}
    loop = asyncio.new_event_loop()

    def fit(messages: list[Any]) -> None:
        assert loop.run_until_complete(hook({**asked, "messages": messages}, "acompletion")) is None

    return Host(of_api("openai").messages, fit)


def of_langchain() -> Host:
    """LangChain's middleware."""
    from langchain.agents.middleware import ModelRequest
    from langchain_core.language_models.fake_chat_models import FakeListChatModel
    from langchain_core.messages import messages_from_dict, messages_to_dict

    from snapshot.integrations.langchain import SnapshotMiddleware

    middleware = SnapshotMiddleware(model=MODEL, window=_HUGE)
    model = FakeListChatModel(responses=[""])

    def fit(messages: list[Any]) -> object:
        request = ModelRequest(model=model, messages=messages)
        return middleware.wrap_model_call(request, lambda request: request)  # type: ignore[arg-type, return-value]

    return Host(
        lambda count: messages_from_dict(json.loads(snapshot.dump(run_of(count), "langchain").data)),
        fit,
        messages_to_dict,
    )


def of_pydantic_ai() -> Host:
    """Pydantic AI's processor of histories, as `docs/integrations.md` has it."""
    from pydantic_ai import ModelMessagesTypeAdapter

    keeper = Keeper(window=_HUGE)

    def plain(messages: list[Any]) -> list[Any]:
        return ModelMessagesTypeAdapter.dump_python(messages, mode="json")

    def own(message: Any) -> Any:
        return plain([message])[0]

    def fit(messages: list[Any]) -> None:
        assert keeper.compact(HostList(messages, own), model=MODEL).unchanged

    return Host(
        lambda count: list(
            ModelMessagesTypeAdapter.validate_json(snapshot.dump(run_of(count), "pydantic-ai").data)
        ),
        fit,
        plain,
    )


def of_inspect_ai() -> Host:
    """Inspect AI's strategy of compaction, as `docs/integrations.md` has it, where nothing is to be done."""
    from inspect_ai.model import ChatMessage
    from pydantic import TypeAdapter

    keeper, chat = Keeper(window=_HUGE), TypeAdapter(list[ChatMessage])

    def plain(messages: list[Any]) -> list[Any]:
        return chat.dump_python(messages, mode="json", exclude_none=True)

    def own(message: Any) -> Any:
        return plain([message])[0]

    def fit(messages: list[Any]) -> None:
        assert keeper.compact(HostList(messages, own), model=MODEL).unchanged

    return Host(lambda count: chat.validate_json(snapshot.dump(run_of(count), "inspect-ai").data), fit, plain)


def of_smolagents() -> Host:
    """A model of smolagents', as `docs/integrations.md` has it; its agents make their messages anew."""
    from smolagents.memory import ActionStep, TaskStep
    from smolagents.memory import ToolCall as Called
    from smolagents.monitoring import Timing

    keeper = Keeper(window=_HUGE)

    def plain(messages: list[Any]) -> list[Any]:
        return [message.dict() for message in messages]

    def fit(messages: list[Any]) -> None:
        own = HostList(messages, dumped)
        assert keeper.compact(own, model=MODEL).unchanged

    def dumped(message: Any) -> Any:
        return message.dict()

    def messages(count: int) -> list[Any]:
        made = TaskStep("Mend the importer.").to_messages()
        for number in range(count // 2):
            call = Called("read", {"path": f"src/part_{number}/module.py"}, f"c{number}")
            seen = "\n".join(f"    value_{number}_{row} = read_row({row})  # as before" for row in range(20))
            step = ActionStep(number, Timing(0.0), tool_calls=[call], observations=seen)
            made += step.to_messages()
        return made

    return Host(messages, fit, plain)


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


def turns_of(host: Host, size: int) -> Callable[[], object]:
    """A call with the list that is longer by a call and its result at each call, and then again."""
    whole = host.messages(size + 2 * _ROUNDS + 2)
    stops = cycle(range(size, size + 2 * _ROUNDS + 1, 2))
    return lambda: host.fit(whole[: next(stops)])


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table, or the profile of one host."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--most", type=int, default=SIZES[-1], help="messages of the longest list")
    parser.add_argument("--only", metavar="NAME", action="append", choices=HOSTS, help="only this host")
    parser.add_argument("--profile", metavar="NAME", choices=HOSTS, help="of 1,000 messages as they were")
    parser.add_argument("--turn", action="store_true", help="the profile of one more turn")
    parser.add_argument("--write", metavar="FILE", help="keep what was measured as JSON")
    arguments = parser.parse_args(argv)
    if arguments.profile:
        host = HOSTS[arguments.profile]()
        messages = host.messages(1_000)
        call = turns_of(host, 1_000) if arguments.turn else lambda: host.fit(messages)
        call(), call()
        profile = cProfile.Profile()
        profile.runcall(call)
        pstats.Stats(profile).strip_dirs().sort_stats("cumulative").print_stats(30)
        return 0
    print(f"{'host':<20}{'messages':>9}{'same':>9}{'per 1,000':>11}{'turn':>9}{'per 1,000':>11}{'dump':>9}")
    kept: list[dict[str, Any]] = []
    for name in arguments.only or HOSTS:
        try:
            host = HOSTS[name]()
        except ImportError as error:
            print(f"{name:<20}{error}")
            continue
        for size in (size for size in SIZES if size <= arguments.most):
            messages = host.messages(size)[:size]
            same = least(lambda host=host, messages=messages: host.fit(messages))
            turn = least(turns_of(host, size))
            dump = host.dump and least(lambda host=host, messages=messages: host.dump and host.dump(messages))
            share = 1_000 / size
            print(
                f"{name:<20}{size:>9,}{same:>9.2f}{same * share:>11.2f}{turn:>9.2f}{turn * share:>11.2f}"
                + (f"{dump:>9.2f}" if dump else ""),
                flush=True,
            )
            row = {"host": name, "messages": size, "same_ms": round(same, 2), "turn_ms": round(turn, 2)}
            kept.append({**row, **({"dump_ms": round(dump, 2)} if dump else {})})
    if arguments.write:
        Path(arguments.write).write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return 0


def least(call: Callable[[], object]) -> float:
    """Milliseconds of processor time of a call, the least of several, after one that is not counted."""
    call()
    return min(_timed(call) for _ in range(_ROUNDS))


def _timed(call: Callable[[], object]) -> float:
    began = time.process_time()
    call()
    return (time.process_time() - began) * 1_000


if __name__ == "__main__":
    sys.exit(main())
