"""Summarizers for the usual clients; no SDK is imported before one is made.

from anthropic import Anthropic
from snapshot.summarizers import anthropic_summarizer

summarize = anthropic_summarizer(Anthropic(), "claude-haiku-4-5")

Each asks within the window and the longest answer of its own model, and notices an answer that was cut off.
An asynchronous client makes an asynchronous one, for `snapshot.acompact` and `snapshot.arecover`.
"""

from snapshot.compaction.summary.prompted import CutOff, Summarizer, SummaryRequest
from snapshot.summarizers.anthropic import anthropic_summarizer
from snapshot.summarizers.litellm import litellm_summarizer
from snapshot.summarizers.openai import openai_summarizer

__all__ = [
    "CutOff",
    "Summarizer",
    "SummaryRequest",
    "anthropic_summarizer",
    "litellm_summarizer",
    "openai_summarizer",
]
