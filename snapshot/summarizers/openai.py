"""Summaries by the official OpenAI client, or one of a compatible server."""

from __future__ import annotations

import inspect
from typing import Any

from snapshot.compaction.summary.prompted import CutOff, Summarizer, SummaryRequest
from snapshot.errors import SnapshotError
from snapshot.summarizers._limits import limited

__all__ = ["openai_summarizer", "text_of"]


def openai_summarizer(
    client: Any, model: str, *, window: int = 0, max_output: int = 0, like: str = ""
) -> Summarizer:
    """A summarizer that asks `model` through `client`, an `openai.OpenAI` or one of its kin.

    The client's own errors pass through; a refusal is a `SnapshotError`.

    Args:
        client: the client; an asynchronous one makes an asynchronous summarizer.
        model: its model.
        window, max_output: its limits in tokens; 0: those that are known of it.
        like: the id of the model behind it, where its own says nothing, as deployments at Azure have.
    """

    def call(request: SummaryRequest) -> Any:
        answer = client.chat.completions.create(
            model=model,
            max_completion_tokens=request.max_tokens,
            messages=[
                {"role": "system", "content": request.system},
                {"role": "user", "content": request.prompt},
            ],
        )
        return _awaited(answer, model) if inspect.isawaitable(answer) else text_of(answer, model)

    return limited(call, model, window=window, max_output=max_output, like=like)


async def _awaited(answer: Any, model: str) -> str:
    return text_of(await answer, model)


def text_of(answer: Any, model: str) -> str:
    """The text of a chat completion.

    Raises:
        SnapshotError: the model refused.
    """
    choice = answer.choices[0]
    if getattr(choice.message, "refusal", None):
        raise SnapshotError(f"{model} refused to summarize; try another model")
    text = choice.message.content or ""
    return CutOff(text) if getattr(choice, "finish_reason", None) == "length" else text
