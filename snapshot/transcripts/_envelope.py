"""Lists of `{role, content}` messages: found in a document, and whose dialect they speak."""

from __future__ import annotations

from snapshot.messages import Role
from snapshot.transcripts._build import role_of
from snapshot.transcripts._json import JsonObject, as_list, as_object
from snapshot.transcripts._source import Sample, Source

__all__ = ["dialects", "open_document"]

_ANTHROPIC_BLOCKS = frozenset(
    {"document", "image", "redacted_thinking", "server_tool_use", "thinking", "tool_result", "tool_use"}
)
_OPENAI_BLOCKS = frozenset({"file", "image_url", "input_audio", "refusal"})
_OPENAI_KEYS = frozenset({"function_call", "reasoning_content", "refusal", "tool_call_id", "tool_calls"})
_OPENAI_ROLES = frozenset({"developer", "function", "tool"})
# Items of the Responses API look alike, and are not.
_RESPONSES = frozenset({"function_call", "function_call_output", "input_text", "output_text", "reasoning"})
_CONTENT_KEYS = frozenset({"content", "function_call", "tool_calls"})


def open_document(source: Source) -> tuple[list[object], JsonObject]:
    """The messages, and the object around them (empty if there is none).

    Raises:
        TranscriptError: the document holds no list of messages.
    """
    if source.damage is not None:
        raise source.damage
    messages, envelope = _opened(source.document)
    if messages is None:
        raise source.error("no list of messages in it: expected a JSON array, or an object with `messages`")
    return messages, envelope


def _opened(document: object) -> tuple[list[object] | None, JsonObject]:
    envelope = as_object(document)
    if envelope is None:
        return as_list(document), {}
    if "role" in envelope and "content" in envelope:  # one message, as an API answers
        return [envelope], {}
    return as_list(envelope.get("messages")), envelope


def dialects(sample: Sample) -> tuple[float, float]:
    """How sure it is that the document is Anthropic's, and OpenAI's: by its blocks, keys and roles.

    Plain messages fit both; they are OpenAI's if one is the system's or a tool's, else Anthropic's.
    """
    messages, envelope = _opened(sample.document)
    objects = [m for m in map(as_object, messages or ()) if m is not None]
    with_role = [m for m in objects if isinstance(m.get("role"), str)]
    if 2 * len(with_role) < len(messages or ()) or not any(map(_is_message, with_role)):
        return 0.0, 0.0
    anthropic = int("system" in envelope)
    openai = 0
    for message in objects:
        kinds = _kinds(message)
        if not _RESPONSES.isdisjoint(kinds):
            return 0.0, 0.0
        role = message.get("role")
        anthropic += not _ANTHROPIC_BLOCKS.isdisjoint(kinds)
        openai += (
            not _OPENAI_BLOCKS.isdisjoint(kinds)
            or not _OPENAI_KEYS.isdisjoint(message)
            or (isinstance(role, str) and role in _OPENAI_ROLES)
        )
    if not anthropic and not openai:
        plain: Role = "system"
        openai = sum(role_of(message.get("role")) == plain for message in objects)
    if not anthropic and not openai:
        return 0.5, 0.4
    share = anthropic / (anthropic + openai)
    return share, 1 - share


def _is_message(message: JsonObject) -> bool:
    return role_of(message.get("role")) is not None and not _CONTENT_KEYS.isdisjoint(message)


def _kinds(message: JsonObject) -> set[str]:
    """The types of a message's blocks, and its own."""
    blocks = as_list(message.get("content")) or [message.get("content")]
    kinds = (block.get("type") for block in map(as_object, [*blocks, message]) if block is not None)
    return {kind for kind in kinds if isinstance(kind, str)}
