"""Names of the formats, and the module of each; importing it imports none of them."""

from __future__ import annotations

__all__ = ["FORMATS", "FROM_TEXT", "READ_ONLY", "RESUMABLE", "unknown_format"]

# Names of the formats, each with its module of the same name. Of two that are equally sure, the
# first one reads.
FORMATS = (
    "claude-stream",
    "claude-session",
    "codex",
    "pi",
    "gemini-cli",
    "qwen-code",
    "copilot-cli",
    "opencode",
    "goose",
    "openhands",
    "amp",
    "cline",
    "chatgpt-export",
    "claude-export",
    "langchain",
    "pydantic-ai",
    "bedrock",
    "inspect-ai",
    "smolagents",
    "ai-sdk",
    "sharegpt",
    "anthropic",
    "openai-chat",
    "openai-responses",
    "gemini",
    "atif",
    "chatml",
    "aider",
    "markdown",
    "text",
)

FROM_TEXT = ("chatml", "aider", "markdown", "text")
"""Those that are told by text and not by JSON: the last one takes whatever is left."""

READ_ONLY = (
    "gemini-cli",
    "qwen-code",
    "copilot-cli",
    "opencode",
    "goose",
    "openhands",
    "amp",
    "cline",
    "aider",
    "bedrock",
    "smolagents",
)
"""Those that have no writer."""

RESUMABLE = ("claude-session", "codex", "pi")
"""Those of tools that go on with a session that was written for them; omp reads pi's."""


def unknown_format(name: str) -> str:
    """One line on a format that does not exist, with the nearest name."""
    from difflib import get_close_matches

    near = get_close_matches(name.lower().replace("_", "-"), FORMATS, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ";"
    return f"unknown format {name!r}{hint} known formats: {', '.join(FORMATS)}"
