"""`acompact` and `arecover`: what the synchronous ones give, beside a loop that goes on."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time

import pytest

import snapshot
from snapshot.errors import NotOverflow, SummarizerRequired
from snapshot.messages import Image
from tests.conversations import image_parts, long_conversation

MODEL = "claude-opus-4-8"
TOO_LONG = "prompt is too long: 210000 tokens > 200000 maximum"


def test_it_gives_what_the_synchronous_one_gives():
    own = snapshot.request(long_conversation(60, size=2000), "anthropic")["messages"]

    async def both() -> tuple[snapshot.Compaction, snapshot.Compaction]:
        return (
            await snapshot.acompact(own, model=MODEL, window=30_000),
            await snapshot.arecover(own, TOO_LONG, model=MODEL, window=30_000),
        )

    compacted, recovered = asyncio.run(both())
    plain = snapshot.compact(own, model=MODEL, window=30_000)
    assert compacted == plain
    assert compacted.splice() == plain.splice()
    assert recovered == snapshot.recover(own, TOO_LONG, model=MODEL, window=30_000)
    assert any(isinstance(part, Image) for part in image_parts(recovered.transcript.messages))


def test_nothing_to_do_gives_the_callers_own():
    own = [{"role": "user", "content": "Hello"}]
    assert asyncio.run(snapshot.acompact(own, model=MODEL)).splice() is own


def test_errors_pass_through():
    with pytest.raises(NotOverflow):
        asyncio.run(snapshot.arecover([{"role": "user", "content": "a"}], "401 Unauthorized", model=MODEL))
    many = [{"role": "user", "content": f"Task {n}: " + "words of it " * 900} for n in range(30)]
    with pytest.raises(SummarizerRequired):
        asyncio.run(snapshot.acompact(many, model="gpt-oss-120b", window=20_000))
    with pytest.raises(snapshot.SnapshotError, match="unknown setting"):
        asyncio.run(snapshot.acompact([], model=MODEL, windw=3))  # pyright: ignore[reportCallIssue]


def test_the_loop_goes_on_and_settings_are_the_callers():
    """Work happens in another thread, with the caller's context variables; the loop is served meanwhile."""
    who = contextvars.ContextVar("who", default="")
    threads: set[tuple[int, str]] = set()
    ticks = 0

    def progress(_done: int, _total: int) -> None:
        threads.add((threading.get_ident(), who.get()))
        time.sleep(0.01)

    async def ticking() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.001)

    async def main() -> None:
        who.set("me")
        ticker = asyncio.create_task(ticking())
        await snapshot.acompact(
            long_conversation(60, size=2000), model=MODEL, window=30_000, progress=progress
        )
        ticker.cancel()

    asyncio.run(main())
    assert {name for _, name in threads} == {"me"}
    assert threading.get_ident() not in {ident for ident, _ in threads}
    assert ticks > 3


def test_a_cancelled_task_ends_the_work():
    """What is cancelled raises at once, and the thread draws no further page."""
    first, seen = threading.Event(), 0
    go_on = threading.Event()

    def progress(_done: int, _total: int) -> None:
        nonlocal seen
        seen += 1
        first.set()
        go_on.wait(10)

    async def main() -> None:
        task = asyncio.create_task(
            snapshot.acompact(
                long_conversation(120, size=4000), model=MODEL, window=60_000, progress=progress
            )
        )
        await asyncio.to_thread(first.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go_on.set()

    before = threading.active_count()
    asyncio.run(main())  # waits for its threads
    assert seen == 1
    assert threading.active_count() <= before


def test_a_cancelled_task_asks_no_summarizer_again():
    asked = 0
    waiting = asyncio.Event()

    async def summarize(_request: object) -> str:
        nonlocal asked
        asked += 1
        waiting.set()
        await asyncio.sleep(60)
        return "never"

    async def main() -> None:
        messages = [{"role": "user", "content": f"Task {n}: " + "words of it " * 900} for n in range(30)]
        task = asyncio.create_task(
            snapshot.acompact(messages, model=MODEL, window=60_000, rungs=("summarize",), summarize=summarize)
        )
        await waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    start = time.monotonic()
    asyncio.run(main())
    assert asked == 1
    assert time.monotonic() - start < 30
