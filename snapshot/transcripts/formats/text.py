"""Plain text and Markdown: one user message, word for word."""

from __future__ import annotations

from snapshot.messages import Text, Transcript
from snapshot.transcripts.io.source import Sample, Source
from snapshot.transcripts.reading.build import Builder
from snapshot.transcripts.reading.threads import Detection

NAME = "text"


def detect(_sample: Sample) -> Detection:
    """Barely sure, always: what nothing else fits is a document."""
    return Detection(NAME, 0.01, "whatever fits no format is a document")


def read(source: Source) -> Transcript:
    """One message with the decoded text, exactly: newlines, NULs and blanks stay."""
    builder = Builder(source)
    builder.add("user", [Text(source.text())], where="message 1")
    return builder.finish(NAME)
