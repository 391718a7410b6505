"""Whose model spoke in a transcript: what is signed or encrypted by one service is refused by every other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from snapshot.messages import Part, Reasoning, Transcript
from snapshot.transcripts.writing.units import Numbered, Tell

__all__ = ["service_of", "unsealed"]

_BY_FORMAT = {
    "anthropic": "anthropic",
    "claude-export": "anthropic",
    "claude-session": "anthropic",
    "claude-stream": "anthropic",
    "codex": "openai",
    "gemini": "google",
    "gemini-cli": "google",
    "openai-responses": "openai",
}
# Ids of models as the services, gateways and frameworks spell them: "anthropic:claude-…", "openai/gpt-…".
_BY_MODEL = (
    ("anthropic", re.compile(r"(?:^|[:/.])claude\b")),
    ("openai", re.compile(r"(?:^|[:/.])(?:gpt|o[1-9]|codex)\b")),
    ("google", re.compile(r"(?:^|[:/.])gemini\b")),
)


def service_of(transcript: Transcript) -> str:
    """The service that signed a transcript's reasoning: "anthropic", "openai", "google"; "" for others."""
    by_format = _BY_FORMAT.get(transcript.format)
    if by_format is not None:
        return by_format
    return next((name for name, pattern in _BY_MODEL if pattern.search(transcript.model)), "")


def unsealed(
    transcript: Transcript, messages: Sequence[Numbered], service: str, tell: Tell
) -> list[Numbered]:
    """Messages in which no reasoning has a signature of another service than the one that will get it."""
    if service_of(transcript) == service:
        return list(messages)
    found: list[Numbered] = []
    for number, message in messages:
        parts: list[Part] = []
        for part in message.parts:
            if not isinstance(part, Reasoning) or not part.signature:
                parts.append(part)
                continue
            words = "its words stay" if part.text else "it has no words"
            tell("signature", number, f"the signature of reasoning, which another service made; {words}")
            if part.text:
                parts.append(replace(part, signature=None))
        changed = len(parts) < len(message.parts) or tuple(parts) != message.parts
        found.append((number, replace(message, parts=tuple(parts), raw=()) if changed else message))
    return found
