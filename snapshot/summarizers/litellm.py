"""Summaries by LiteLLM, for any provider that it knows."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from snapshot.compaction.summary.prompted import Summarize, SummaryRequest
from snapshot.errors import SnapshotError

__all__ = ["litellm_summarizer"]


def litellm_summarizer(model: str, **options: Any) -> Summarize:
    """A summarizer that asks `model`, an id as LiteLLM writes it; `options` go to each call as they are.

    LiteLLM's own errors pass through.

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
        return answer.choices[0].message.content or ""

    return call
