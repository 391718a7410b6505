"""Claude.ai's data export: an object with `chat_messages`, an answer with its calls and results in one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from snapshot.messages import File, Message, Text, Transcript
from snapshot.transcripts.io.json_values import compact
from snapshot.transcripts.writing.blocks import content_of
from snapshot.transcripts.writing.ids import made_up
from snapshot.transcripts.writing.units import (
    Tell,
    Unit,
    answered,
    as_user,
    identified,
    settled,
    with_results,
)

OWN: frozenset[str] = frozenset()
LINES = False
IDS = True
STRAYS = False


def units(transcript: Transcript, tell: Tell) -> Iterator[Unit]:
    """Calls with their results; results without calls with what the user said in the same message."""
    alone: list[tuple[int, Message]] = []
    spoken = [(number, as_user(number, message, tell)) for number, message in settled(transcript)]
    for unit in answered(spoken):
        if len(unit) == 1:
            alone.append(unit[0])
            continue
        yield from (identified(some, tell) for some in with_results(alone))
        alone = []
        yield identified(unit, tell)
    yield from (identified(some, tell) for some in with_results(alone))


def rows(messages: Sequence[Message], _names: dict[str, str]) -> list[Any]:
    """One message."""
    first = messages[0]
    parts = [part for message in messages for part in message.parts]
    files: list[Any] = []
    while first.role == "user" and parts and isinstance(parts[-1], File) and parts[-1].text:
        files.insert(0, _attachment(parts.pop()))
    content = content_of(parts)
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [
        {
            **({"uuid": first.id} if first.id else {}),
            "sender": "assistant" if first.role == "assistant" else "human",
            "text": "\n\n".join(part.text for part in parts if isinstance(part, Text)),
            "content": blocks,
            "created_at": first.time,
            "updated_at": first.time,
            "attachments": files,
            "files": [],
        }
    ]


def own(_messages: Sequence[Message]) -> list[Any] | None:
    """There is no such form."""
    return None


def document(rows: list[Any], model: str) -> Any:
    """The export of one conversation."""
    times = [row["created_at"] for row in rows if row.get("created_at")]
    return [
        {
            "uuid": made_up("conversation", *(compact(row) for row in rows[:2])),
            "name": "",
            "created_at": times[0] if times else "",
            "updated_at": times[-1] if times else "",
            **({"model": model} if model else {}),
            "chat_messages": rows,
        }
    ]


def _attachment(file: Any) -> dict[str, Any]:
    return {
        "file_name": file.name,
        "file_size": len(file.text.encode("utf-8", "surrogatepass")),
        "file_type": file.media_type,
        "extracted_content": file.text,
    }
