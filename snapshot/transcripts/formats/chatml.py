"""ChatML: text with `<|im_start|>role`, a turn, and `<|im_end|>`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from snapshot.messages import Part, Text, Transcript
from snapshot.transcripts.io.source import Sample, Source
from snapshot.transcripts.reading.build import Builder, role_of
from snapshot.transcripts.reading.pairing import Pairing
from snapshot.transcripts.reading.parts import named
from snapshot.transcripts.reading.tags import holds_results, said, tool_results
from snapshot.transcripts.reading.threads import Detection

NAME = "chatml"

_START, _END = "<|im_start|>", "<|im_end|>"
_TURN = re.compile(
    r"<\|im_start\|>(?P<who>[^\n<]*)(?:\n|\Z)(?P<text>.*?)(?P<end><\|im_end\|>|(?=<\|im_start\|>)|\Z)",
    re.DOTALL,
)


def detect(sample: Sample) -> Detection | None:
    """How sure it is that this is such a text."""
    if not sample.text.lstrip().startswith(_START):
        return None
    return Detection(NAME, 0.98, f"the text starts with {_START}")


def read(source: Source) -> Transcript:
    """All turns; the last may be open. Calls and thoughts between tags are parts of their own."""
    builder = Builder(source)
    pairing = Pairing(builder.ids)
    text = source.text()
    if _START not in text:
        raise source.error(f"no turn in it: expected text with {_START}")
    at = number = 0
    for match in _TURN.finditer(text):
        _between(builder, text[at : match.start()], number)
        at = match.end()
        number += 1
        where = f"turn {number}"
        name, words = match["who"].strip(), match["text"]
        # The newline in front of the mark is the mark's; some writers leave it out.
        words = words.removesuffix("\n") if match["end"] else words
        role = role_of(name)
        parts: Sequence[Part]
        if role == "tool" or (role == "user" and holds_results(words)):
            role, parts = "tool", list(tool_results(words, pairing))
        elif role == "assistant":
            parts = list(said(words, pairing))
        else:
            spoken = [Text(words)] if words else []
            parts = spoken if role else named(name or "unknown", spoken)
        if match["end"] != _END and match.end() < len(text):
            builder.odd("open-turn", where, "the turn does not end before the next one starts")
        builder.add(role or "user", parts, where=where)
    _between(builder, text[at:], number)
    return builder.finish(NAME)


def _between(builder: Builder, text: str, number: int) -> None:
    if text.strip():
        where = f"behind turn {number}" if number else "before turn 1"
        builder.odd("outside-turns", where, "text that is in no turn; kept as the system's")
        builder.add("system", [Text(text.strip())], where=where)
