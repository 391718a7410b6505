"""Plain text and Markdown: one user message, word for word."""

from __future__ import annotations

from snapshot.messages import Text, Transcript
from snapshot.transcripts._build import Builder
from snapshot.transcripts._source import Sample, Source

NAME = "text"


def detect(_sample: Sample) -> float:
    """Barely sure, always: what nothing else fits is a document."""
    return 0.01


def read(source: Source) -> Transcript:
    """One message with the decoded text, exactly: newlines, NULs and blanks stay."""
    builder = Builder(source)
    builder.add("user", [Text(source.text)], where="message 1")
    return builder.finish(NAME)
