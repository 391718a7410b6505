"""Anthropic Messages: a list of messages, or a request with `messages` and perhaps `system`."""

from __future__ import annotations

from collections.abc import Sequence

from snapshot.messages import Transcript
from snapshot.transcripts.io.json_values import as_object, as_text
from snapshot.transcripts.io.source import Sample, Source
from snapshot.transcripts.reading.blocks import BLOCKS, add_message
from snapshot.transcripts.reading.build import Builder
from snapshot.transcripts.reading.envelope import Dialogue, dialects, dialogue_threads, opened
from snapshot.transcripts.reading.parts import read_content
from snapshot.transcripts.reading.threads import Detection, Thread

NAME = "anthropic"


_OPENED = opened("messages")


def detect(sample: Sample) -> Detection | None:
    """How sure it is that this is such a document."""
    return dialects(sample, NAME, "openai-chat")[0]


def threads(source: Source) -> Sequence[Thread]:
    """Every list of messages.

    A user's tool results stand in a message of role "tool" before the user's words.
    """
    what = "no list of messages in it: expected a JSON array, or an object with `messages`"
    return dialogue_threads(source, _OPENED, what, _read, NAME)


def _read(builder: Builder, dialogue: Dialogue) -> Transcript:
    envelope = dialogue.envelope
    model = as_text(envelope.get("model"))
    system = read_content(builder, envelope.get("system"), "system", BLOCKS)
    if system:
        raw = {"role": "system", "content": envelope["system"]}
        builder.add("system", system, where="system", raw=(raw,))
    for number, value in builder.numbered(dialogue.items):
        add_message(builder, value, where=f"message {number}")
        message = as_object(value) or {}
        model = as_text(message.get("model")) or model
    return builder.finish(NAME, model)
