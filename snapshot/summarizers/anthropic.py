"""Summaries by the official Anthropic client."""

from __future__ import annotations

from typing import Any

from snapshot.compaction.summary.prompted import Summarize, SummaryRequest
from snapshot.errors import SnapshotError

__all__ = ["anthropic_summarizer"]


def anthropic_summarizer(client: Any, model: str) -> Summarize:
    """A summarizer that asks `model` through `client`, an `anthropic.Anthropic` or one of its kin.

    The client's own errors pass through; a refusal is a `SnapshotError`.
    """

    def call(request: SummaryRequest) -> str:
        answer = client.messages.create(
            model=model,
            max_tokens=request.max_tokens,
            system=request.system,
            messages=[{"role": "user", "content": request.prompt}],
        )
        if answer.stop_reason == "refusal":
            raise SnapshotError(f"{model} refused to summarize; try another model")
        return "".join(block.text for block in answer.content if block.type == "text")

    return call
