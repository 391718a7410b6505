"""Summaries by LiteLLM, for any provider that it knows."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from snapshot.compaction.summary.prompted import Summarizer, SummaryRequest
from snapshot.errors import SnapshotError
from snapshot.summarizers._limits import limited
from snapshot.summarizers.openai import text_of

__all__ = ["litellm_summarizer"]


def litellm_summarizer(
    model: str, *, window: int = 0, max_output: int = 0, like: str = "", **options: Any
) -> Summarizer:
    """A summarizer that asks `model`, an id as LiteLLM writes it; `options` go to each call as they are.

    LiteLLM's own errors pass through; a refusal is a `SnapshotError`.

    Args:
        model: its model.
        window, max_output: its limits in tokens; 0: those that are known of it.
        like: the id of the model behind it, where its own says nothing, as deployments at Azure have.

    Raises:
        SnapshotError: LiteLLM is not installed.
    """
    try:
        litellm: Any = import_module("litellm")
    except ImportError as error:
        raise SnapshotError("LiteLLM is not installed: pip install 'snapshot-pages[litellm]'") from error

    def call(request: SummaryRequest) -> str:
        answer = litellm.completion(
            model=model,
            max_tokens=request.max_tokens,
            messages=[
                {"role": "system", "content": request.system},
                {"role": "user", "content": request.prompt},
            ],
            **options,
        )
        return text_of(answer, model)

    return limited(call, model, window=window, max_output=max_output, like=like)
