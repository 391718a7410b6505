"""`acompact`, and what runs a compaction beside an event loop."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

from snapshot.compaction.archive import Archive
from snapshot.compaction.compact import compact
from snapshot.compaction.options import Options, Settings, Trigger, spell_out_settings
from snapshot.compaction.result import Compaction
from snapshot.compaction.summary.prompted import Summarizer, SummaryRequest
from snapshot.messages import Transcript

__all__ = ["acompact", "beside_the_loop"]


@spell_out_settings
async def acompact(
    conversation: Transcript | Sequence[Any] | Mapping[str, Any],
    *,
    model: str,
    archive: Archive | None = None,
    trigger: Trigger = "target",
    draft: Transcript | Sequence[Any] = (),
    options: Options | None = None,
    **settings: Unpack[Settings],
) -> Compaction:
    """Compact as `snapshot.compact` does, in a thread, so that the event loop goes on.

    Arguments and errors are those of `snapshot.compact`; leave the conversation as it is until this is over.
    `summarize` may be a coroutine function: it runs in the loop. `progress` is called from the thread. Where
    the task is cancelled, the work ends at the next page or summary, and nothing of it is kept.
    """
    call = partial(compact, conversation, model=model, archive=archive, trigger=trigger, draft=draft)
    return await beside_the_loop(call, (options or Options()).changed(settings))


class _Stopped(Exception):
    """Nobody waits for the work any more."""


async def beside_the_loop(call: Callable[..., Compaction], options: Options) -> Compaction:
    """What `call(options=…)` gives, in a thread; where the task is cancelled, the options end it."""
    loop = asyncio.get_running_loop()
    stopped = threading.Event()
    asked: set[Future[str]] = set()

    def progress(done: int, total: int) -> None:
        if stopped.is_set():
            raise _Stopped
        if options.progress is not None:
            options.progress(done, total)

    def summarize(request: SummaryRequest) -> str:
        if stopped.is_set():
            raise _Stopped
        assert options.summarize is not None
        answer = options.summarize(request)
        if not inspect.isawaitable(answer):
            return answer
        waiting = asyncio.run_coroutine_threadsafe(_awaited(answer), loop)
        asked.add(waiting)
        try:
            return waiting.result()
        finally:
            asked.discard(waiting)

    watched = replace(options, progress=progress)
    if isinstance(options.summarize, Summarizer):
        watched = replace(watched, summarize=replace(options.summarize, call=summarize))
    elif options.summarize is not None:
        watched = replace(watched, summarize=summarize)
    work = partial(contextvars.copy_context().run, partial(call, options=watched))
    try:
        return await loop.run_in_executor(None, work)
    finally:
        stopped.set()
        for waiting in tuple(asked):
            waiting.cancel()


async def _awaited(answer: Awaitable[str]) -> str:
    return await answer
