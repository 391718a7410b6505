"""What tests of the compactor share: a model for each API, and a compaction of whatever is given."""

from __future__ import annotations

from snapshot.compaction import Compaction, compact
from snapshot.errors import CannotFit
from snapshot.messages import Message, Text, ToolResult, Transcript

MODELS = {
    "anthropic": "claude-opus-4-8",
    "openai": "gpt-5.5",
    "openai-responses": "gpt-5.6-sol",
    "gemini": "gemini-3-pro",
}
VISION = "claude-opus-4-8"
BLIND = "gpt-oss-120b"


def shrink(conversation: Transcript, **changes: object) -> Compaction | None:
    """Compacted, or None where nothing fits or only a summary would."""
    given_settings = {"window": 6000, "trigger": "manual", "digest": True} | changes
    try:
        return compact(conversation, model=str(given_settings.pop("model", VISION)), **given_settings)  # type: ignore[arg-type]
    except CannotFit:
        return None


def texts(messages: tuple[Message, ...]) -> list[str]:
    found = []
    for message in messages:
        for part in message.parts:
            inner = part.content if isinstance(part, ToolResult) else (part,)
            found += [item.text for item in inner if isinstance(item, Text)]
    return found
