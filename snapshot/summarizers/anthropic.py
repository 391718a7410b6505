"""Summaries by the official Anthropic client."""

from __future__ import annotations

from typing import Any

from snapshot.compaction.summary.prompted import CutOff, Summarizer, SummaryRequest
from snapshot.errors import SnapshotError
from snapshot.summarizers._limits import limited

__all__ = ["anthropic_summarizer"]

# Reasons to stop that are none of the model's: the answer's limit, and the window's end.
_CUT_OFF = ("max_tokens", "model_context_window_exceeded")


def anthropic_summarizer(
    client: Any, model: str, *, window: int = 0, max_output: int = 0, like: str = ""
) -> Summarizer:
    """A summarizer that asks `model` through `client`, an `anthropic.Anthropic` or one of its kin.

    Answers are streamed: the client refuses to wait for a long one otherwise. The client's own errors pass
    through; a refusal is a `SnapshotError`.

    Args:
        client: the client; an asynchronous one makes an asynchronous summarizer.
        model: its model.
        window, max_output: its limits in tokens; 0: those that are known of it.
        like: the id of the model behind it, where its own says nothing.
    """

    def call(request: SummaryRequest) -> Any:
        manager = client.messages.stream(
            model=model,
            max_tokens=request.max_tokens,
            system=request.system,
            messages=[{"role": "user", "content": request.prompt}],
        )
        if hasattr(manager, "__aenter__"):
            return _awaited(manager, model)
        with manager as stream:
            return _text(stream.get_final_message(), model)

    return limited(call, model, window=window, max_output=max_output, like=like)


async def _awaited(manager: Any, model: str) -> str:
    async with manager as stream:
        return _text(await stream.get_final_message(), model)


def _text(answer: Any, model: str) -> str:
    if answer.stop_reason == "refusal":
        raise SnapshotError(f"{model} refused to summarize; try another model")
    text = "".join(block.text for block in answer.content if block.type == "text")
    return CutOff(text) if answer.stop_reason in _CUT_OFF else text
