"""Parts of messages replaced by a line that says what stood there: results, images, documents, large texts.

A line says that the archive has what it stands for, and what that was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count

from snapshot.compaction.estimate import image_size
from snapshot.compaction.places import is_place
from snapshot.messages import File, Image, Message, Opaque, Part, Text, ToolCall, ToolResult
from snapshot.parts.documents import document_line

__all__ = [
    "ELIDED_RESULT",
    "LARGE_TEXT",
    "Lightened",
    "attachments",
    "calls_by_id",
    "drop_attachments",
    "image_line",
    "result_text",
    "with_content",
    "with_parts",
]

ELIDED_RESULT, LARGE_TEXT = "[elided: ", "[large text: "


@dataclass(frozen=True, slots=True)
class Lightened:
    """Messages with some parts replaced by lines, and these lines."""

    messages: tuple[Message, ...]
    lines: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many parts were replaced."""
        return len(self.lines)


def with_parts(message: Message, parts: Sequence[Part]) -> Message:
    """The message itself if the parts are its own, else one with them, which has no raw form."""
    return message if tuple(parts) == message.parts else replace(message, parts=tuple(parts), raw=())


def with_content(result: ToolResult, content: Sequence[Part]) -> ToolResult:
    """The result with other content, of which nothing is a call or a result."""
    return replace(
        result, content=tuple(item for item in content if isinstance(item, Text | Image | File | Opaque))
    )


def calls_by_id(messages: Sequence[Message]) -> dict[str, ToolCall]:
    """The calls of messages by their ids."""
    return {part.id: part for message in messages for part in message.parts if isinstance(part, ToolCall)}


def result_text(result: ToolResult) -> str:
    """The text of a result."""
    return "\n".join(part.text for part in result.content if isinstance(part, Text))


def attachments(messages: Sequence[Message]) -> list[Image | File]:
    """All images and documents of messages, those in results included, in order."""
    found: list[Image | File] = []
    for message in messages:
        for part in message.parts:
            inner = part.content if isinstance(part, ToolResult) else (part,)
            found += [item for item in inner if isinstance(item, Image | File)]
    return found


def drop_attachments(
    messages: Sequence[Message], which: Callable[[int, Image | File], bool], *, why: str = ""
) -> Lightened:
    """Replace images and documents by a line each.

    Args:
        messages: the conversation.
        which: whether one goes, given its position in `attachments(messages)`; marks for pages always stay.
        why: what the lines say of the reason.
    """
    calls = calls_by_id(messages)
    position = count()
    gone: list[str] = []

    def line(item: Part, tool: str) -> Part:
        if not isinstance(item, Image | File):
            return item
        if not which(next(position), item) or is_place(item):
            return item
        gone.append(
            image_line(item, tool, why) if isinstance(item, Image) else document_line(item, tool, why)
        )
        return Text(gone[-1])

    out: list[Message] = []
    for message in messages:
        parts: list[Part] = []
        for part in message.parts:
            if isinstance(part, ToolResult):
                call = calls.get(part.call_id)
                tool = call.name if call is not None else ""
                content = tuple(line(item, tool) for item in part.content)
                parts.append(part if content == part.content else with_content(part, content))
            else:
                parts.append(line(part, ""))
        out.append(with_parts(message, parts))
    return Lightened(tuple(out), tuple(gone))


def image_line(image: Image, tool: str = "", why: str = "") -> str:
    """What stands in place of an image: type, size in pixels and bytes, and where it came from."""
    size = image_size(image.data) if image.data else None
    facts = [image.media_type]
    if size:
        facts.append(f"{size[0]}x{size[1]} px")
    facts.append(f"{len(image.data)} bytes" if image.data else " ".join(image.source.split()))
    return f"[image dropped: {', '.join(facts)}{f'; from {tool}' if tool else ''}{f'; {why}' if why else ''}]"
