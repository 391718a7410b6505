"""Summaries by the official OpenAI client, or one of a compatible server."""

from __future__ import annotations

from typing import Any

from snapshot.compaction.summary.prompted import Summarize, SummaryRequest
from snapshot.errors import SnapshotError

__all__ = ["openai_summarizer"]


def openai_summarizer(client: Any, model: str) -> Summarize:
    """A summarizer that asks `model` through `client`, an `openai.OpenAI` or one of its kin.

    The client's own errors pass through; a refusal is a `SnapshotError`.
    """

    def call(request: SummaryRequest) -> str:
        answer = client.chat.completions.create(
            model=model,
            max_completion_tokens=request.max_tokens,
            messages=[
                {"role": "system", "content": request.system},
                {"role": "user", "content": request.prompt},
            ],
        )
        message = answer.choices[0].message
        if getattr(message, "refusal", None):
            raise SnapshotError(f"{model} refused to summarize; try another model")
        return message.content or ""

    return call
