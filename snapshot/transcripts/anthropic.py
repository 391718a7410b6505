"""Anthropic Messages: a list of messages, or a request with `messages` and perhaps `system`."""

from __future__ import annotations

from snapshot.messages import Transcript
from snapshot.transcripts._blocks import BLOCKS, add_message
from snapshot.transcripts._build import Builder
from snapshot.transcripts._envelope import dialects, open_document
from snapshot.transcripts._json import as_object, as_text
from snapshot.transcripts._parts import read_content
from snapshot.transcripts._source import Sample, Source

NAME = "anthropic"


def detect(sample: Sample) -> float:
    """How sure it is that this is such a document."""
    return dialects(sample)[0]


def read(source: Source) -> Transcript:
    """All messages. A user's tool results stand in a message of role "tool" before the user's words."""
    messages, envelope = open_document(source)
    builder = Builder(source)
    model = as_text(envelope.get("model"))
    system = read_content(builder, envelope.get("system"), "system", BLOCKS)
    if system:
        raw = {"role": "system", "content": envelope["system"]}
        builder.add("system", system, where="system", raw=(raw,))
    for number, value in enumerate(messages, 1):
        add_message(builder, value, where=f"message {number}")
        message = as_object(value) or {}
        model = as_text(message.get("model")) or model
    return builder.finish(NAME, model)
