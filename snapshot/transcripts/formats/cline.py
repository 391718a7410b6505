"""Cline's tasks and sessions, and those of its relatives: Anthropic's messages with times and metrics.

Source: the storage of the Cline extension and its command line in public repositories, looked up 2026-11:
`tasks/ID/api_conversation_history.json` (a list), `sessions/ID/ID.messages.json` (an object). The list
`ui_messages.json` beside the first is what the screen showed, and no conversation.
"""

from __future__ import annotations

from collections.abc import Sequence

from snapshot.messages import Transcript, Usage
from snapshot.transcripts.io.json_values import JsonObject, as_list, as_object, as_text
from snapshot.transcripts.io.source import Sample, Source
from snapshot.transcripts.reading.blocks import add_message
from snapshot.transcripts.reading.build import Builder
from snapshot.transcripts.reading.envelope import Dialogue, dialogue_threads, opened, sampled
from snapshot.transcripts.reading.threads import Detection, Thread, first_words
from snapshot.transcripts.reading.times import iso_time

NAME = "cline"

_OPENED = opened("messages")
_MARKS = ("modelInfo", "metrics", "conversationHistoryIndex")


def detect(sample: Sample) -> Detection | None:
    """How sure it is that this is such a list: by its times, or by the frame of the first request."""
    if _is_screen(sample.document):
        return Detection(NAME, 0.9, "what Cline's screen showed")
    found = sampled(sample, _OPENED)
    if found is None:
        return None
    messages = [m for m in map(as_object, found.items) if m is not None and "role" in m and "content" in m]
    timed = sum(isinstance(m.get("ts"), int) for m in messages)
    marked = sum(any(key in m for key in _MARKS) for m in messages)
    words = first_words(messages[0]).lstrip() if messages else ""
    framed = words.startswith(("<task>", "<user_input"))
    if not messages or not ((timed and (marked or framed or 2 * timed > len(messages))) or framed):
        return None
    return Detection(NAME, 0.97, f"{timed} of {len(messages)} messages have a time under ts")


def _is_screen(document: object) -> bool:
    listed = [as_object(one) or {} for one in (as_list(document) or ())[:20]]
    return bool(listed) and all("ts" in one and ("say" in one or "ask" in one) for one in listed)


def threads(source: Source) -> Sequence[Thread]:
    """The task."""
    if _is_screen(source.document):
        raise source.error("this is what the screen showed; give api_conversation_history.json beside it")
    what = "no messages in it: expected a list of messages, as in api_conversation_history.json"
    return dialogue_threads(source, _OPENED, what, _read, NAME)


def _read(builder: Builder, dialogue: Dialogue) -> Transcript:
    model = as_text(dialogue.envelope.get("model"))
    for number, value in builder.numbered(dialogue.items):
        message = as_object(value) or {}
        info = as_object(message.get("modelInfo")) or {}
        model = as_text(info.get("modelId") or info.get("id")) or model
        add_message(
            builder,
            value,
            where=f"message {number}",
            message_id=as_text(message.get("id")),
            time=iso_time(message.get("ts")),
        )
        if message.get("role") == "assistant":
            builder.count(_usage(as_object(message.get("metrics")) or {}))
    return builder.finish(NAME, model)


def _usage(metrics: JsonObject) -> Usage | None:
    tokens = as_object(metrics.get("tokens")) or {}

    def count(counts: JsonObject, *keys: str) -> int:
        found = (counts.get(key) for key in keys)
        return sum(n for n in found if isinstance(n, int) and not isinstance(n, bool) and n > 0)

    prompt = count(tokens, "prompt") or count(metrics, "inputTokens")
    cached = count(tokens, "cached") or count(metrics, "cacheReadTokens", "cacheWriteTokens")
    if prompt < cached:  # some services count what is cached beside the rest
        prompt += cached
    output = count(tokens, "completion") or count(metrics, "outputTokens")
    return Usage(prompt, output) if prompt or output else None
