"""The proxy under load: many conversations, refusals, clients that leave, a process that is killed."""

from __future__ import annotations

import asyncio
import random
import re
import time
import zlib
from pathlib import Path
from typing import Any

import pytest

from tests.fake_provider import FakeProvider, Reply, Seen, call, overflow, say
from tests.proxied import MODELS, pages_in, texts_in
from tests.proxy_server import free_port, in_process

pytestmark = [pytest.mark.clients, pytest.mark.slow]
httpx = pytest.importorskip("httpx")
pytest.importorskip("uvicorn")

CONVERSATIONS, STEPS, WINDOW = 200, 8, 16_000
_NAME = re.compile(r"c\d{3}n")
_STEP = re.compile(rb"toolu_\d{3}_\d{2}")


def name_of(number: int) -> str:
    return f"c{number:03d}n"


def result(number: int, step: int) -> str:
    """A tool's result: code in which every line names its conversation and step."""
    mine = name_of(number)
    lines = (f"def {mine}_{step}_{at}(value):\n    return '{mine}/{step}/{at}.txt'\n" for at in range(90))
    return "".join(lines)


def said(number: int, steps: int) -> list[Any]:
    """A conversation; all begin with the same words."""
    messages: list[Any] = [{"role": "user", "content": "Do the task."}]
    for step in range(steps):
        identity = f"toolu_{number:03d}_{step:02d}"
        used = {"type": "tool_use", "id": identity, "name": "read", "input": {"path": f"{step}.py"}}
        back = {"type": "tool_result", "tool_use_id": identity, "content": result(number, step)}
        messages.append({"role": "assistant", "content": [used]})
        messages.append({"role": "user", "content": [back]})
    return messages


class Judge:
    """Answers as the provider would, and notes whatever arrives of more than one conversation."""

    def __init__(self) -> None:
        self.mixed: list[set[str]] = []
        self.refused: set[tuple[str, str]] = set()

    def __call__(self, seen: Seen) -> Reply:
        mine, _, step = seen.headers["x-step"].partition("/")
        names = set(_NAME.findall(texts_in(seen.json)))
        names |= {name_of(int(identity[6:9])) for identity in _STEP.findall(seen.body)}
        if names - {mine}:
            self.mixed.append(names | {mine})
        # One step in ten is refused for its size, once: what comes in its place is taken.
        if zlib.crc32(seen.headers["x-step"].encode()) % 10 == 0 and (mine, step) not in self.refused:
            self.refused.add((mine, step))
            return overflow()
        return say(f"This is {mine}. ", *["More words. "] * 6, call("read", path=mine))


async def converse(number: int, url: str, limit: asyncio.Semaphore, left: list[int]) -> list[str]:
    """Grow a conversation to its end; what is wrong with the answers.

    A client tries again as long as the proxy is down.
    """
    chance, wrong = random.Random(number), list[str]()
    async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
        for step in range(1, STEPS + 1):
            body = {"model": MODELS["anthropic"], "max_tokens": 500, "stream": True}
            body["messages"] = said(number, step)
            headers = {"x-step": f"{name_of(number)}/{step}"}
            leaves = chance.random() < 0.1
            deadline = time.monotonic() + 240  # on a busy machine a proxy starts slowly
            while True:
                try:
                    async with (
                        limit,
                        client.stream("POST", url + "/v1/messages", json=body, headers=headers) as answer,
                    ):
                        if leaves:
                            await anext(answer.aiter_raw(), b"")
                            left.append(number)
                            break
                        text = (await answer.aread()).decode()
                    if answer.status_code != 200 or "message_stop" not in text:
                        wrong.append(f"{number}/{step}: {answer.status_code} {text[:200]}")
                    elif set(_NAME.findall(text)) != {name_of(number)}:
                        wrong.append(f"{number}/{step}: the answer to another conversation")
                    break
                except httpx.HTTPError as error:
                    if time.monotonic() > deadline:
                        wrong.append(f"{number}/{step}: {error!r}")
                        break
                    await asyncio.sleep(0.2)
    return wrong


def test_many_conversations_refusals_leavers_and_two_kills(tmp_path: Path) -> None:
    judge, port, left = Judge(), free_port(), list[int]()
    with FakeProvider(judge, window=WINDOW) as fake:
        arguments = ("--upstream", fake.url, "--window", str(WINDOW), "--store", str(tmp_path / "p.sqlite"))

        async def all_of_them() -> list[str]:
            limit = asyncio.Semaphore(CONVERSATIONS)
            url = f"http://127.0.0.1:{port}"
            talks = [asyncio.create_task(converse(n, url, limit, left)) for n in range(CONVERSATIONS)]
            done = asyncio.gather(*talks)
            for share in (0.3, 0.6):  # killed when so much has arrived, and started again
                with in_process(*arguments, port=port) as (_, process):
                    while len(fake.requests) < share * CONVERSATIONS * STEPS:
                        await asyncio.sleep(0.05)
                    process.kill()
            with in_process(*arguments, port=port):
                return [line for lines in await done for line in lines]

        began = time.monotonic()
        wrong = asyncio.run(all_of_them())
        took = time.monotonic() - began
        seen = [one for one in fake.requests if one.stream]
        assert not wrong, wrong[:5]
        assert not judge.mixed, judge.mixed[:3]
        assert len(judge.refused) > 0.05 * len(seen)
        assert len(left) > 0.05 * CONVERSATIONS * STEPS
        # None is lost: each conversation arrived at each step, whole or with its earlier part on pages.
        arrived = {one.headers["x-step"] for one in seen}
        wanted = {f"{name_of(n)}/{step}" for n in range(CONVERSATIONS) for step in range(1, STEPS + 1)}
        assert not wanted - arrived
        assert all(one.headers["x-step"][:5] in texts_in(one.json) or pages_in(one.json) for one in seen)
        assert sum(map(bool, (pages_in(one.json) for one in seen[-100:]))) > 50
        print(
            f"\n{len(seen)} requests in {took:.0f} s, {len(judge.refused)} refused, {len(left)} clients left"
        )
        _pages_are_kept(seen)


def _pages_are_kept(seen: list[Seen]) -> None:
    """Each conversation's pages stay the same until it is compacted again, across kills."""
    by_name: dict[str, list[list[bytes]]] = {}
    for one in seen:
        if pages := pages_in(one.json):
            by_name.setdefault(one.headers["x-step"][:5], []).append(pages)
    assert len(by_name) > CONVERSATIONS * 0.9
    for requests in by_name.values():
        different = {tuple(pages) for pages in requests}
        assert len(different) <= 1 + STEPS // 2, "compacted at nearly every call"
