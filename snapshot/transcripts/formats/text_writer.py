"""Plain text: a document as it is, a conversation as its source text, which people can read."""

from __future__ import annotations

from snapshot.messages import File, Image, Opaque, Part, Reasoning, Text, ToolCall, ToolResult, Transcript
from snapshot.transcripts.writing.units import Tell


def write(transcript: Transcript, tell: Tell) -> bytes:
    """The text as UTF-8; every message that is more than text is told."""
    from snapshot.source.source import source_of, strict_text

    text = _document(transcript)
    if text is None:
        text = source_of(transcript).text
        for number, message in enumerate(transcript.messages, 1):
            tell("structure", number, "who speaks, and what is a call or a result; labels stand for it")
            for part in message.parts:
                _tell_part(number, part, tell)
            if message.usage or message.time or message.id:
                tell("facts", number, "id, time and token count of a message")
    for row in transcript.extra_rows:
        tell("aside", 0, f"a row of type {row.kind!r} that stands beside the conversation")
    if transcript.model:
        tell("model", 0, "the model's name")
    whole, broken = strict_text(text)
    if broken:
        tell("surrogate", 0, "halves of surrogate pairs, which no UTF-8 holds; U+FFFD stands for them")
    if not whole.strip():
        tell("message", 0, "a text without a word; a file of it counts as empty")
    # A mark at the start of a file is no part of its text: one that is needs another in front.
    return ("\ufeff" + whole if whole.startswith("\ufeff") else whole).encode("utf-8")


def _document(transcript: Transcript) -> str | None:
    """The text of a transcript that is nothing else: one message of the user."""
    if len(transcript.messages) != 1 or transcript.messages[0].role != "user":
        return None
    (message,) = transcript.messages
    match message.parts:
        case (Text(text, False),) if not (message.id or message.time):
            return text
    return None


def _tell_part(number: int, part: Part, tell: Tell) -> None:
    match part:
        case Image():
            tell("image", number, "an image; its type and size stand for it")
        case File(data=data) if data:
            tell("file", number, "the bytes of a file; its type and size stand for them")
        case Reasoning(signature=signature) if signature:
            tell("signature", number, "the signature of reasoning")
        case Opaque(kind):
            tell("opaque", number, f"a part of type {kind!r} as such")
        case ToolCall():
            tell("call", number, "the ids of calls, and their arguments as JSON; fields stand for them")
        case ToolResult(content=content):
            for inner in content:
                _tell_part(number, inner, tell)
        case _:
            pass
