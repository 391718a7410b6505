"""Plain text and Markdown: one user message, word for word."""

from __future__ import annotations

from snapshot.messages import Text, Transcript
from snapshot.transcripts._build import Builder
from snapshot.transcripts._found import Detection
from snapshot.transcripts._source import Sample, Source

NAME = "text"


def detect(_sample: Sample) -> Detection:
    """Barely sure, always: what nothing else fits is a document."""
    return Detection(NAME, 0.01, "whatever fits no format is a document")


def read(source: Source) -> Transcript:
    """One message with the decoded text, exactly: newlines, NULs and blanks stay."""
    builder = Builder(source)
    builder.add("user", [Text(source.text())], where="message 1")
    return builder.finish(NAME)
