"""Summarizers for the usual clients; no SDK is imported before one is made.

from anthropic import Anthropic
from snapshot.adapters import anthropic_summarizer

summarize = anthropic_summarizer(Anthropic(), "claude-haiku-4-5")
"""

from snapshot.summarizers.anthropic import anthropic_summarizer
from snapshot.summarizers.litellm import litellm_summarizer
from snapshot.summarizers.openai import openai_summarizer

__all__ = ["anthropic_summarizer", "litellm_summarizer", "openai_summarizer"]
