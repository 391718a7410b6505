"""The free rungs: old results that a later one supersedes, and old images, become one line each."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from snapshot.compaction.estimate import image_size
from snapshot.messages import Image, Message, Part, Text, ToolCall, ToolResult

__all__ = ["Lightened", "drop_excess", "drop_images", "elide", "image_line"]

# Shorter results are not worth a mark.
_BULKY = 400
# A line or a quoted piece of at least so many characters that a later message repeats is a quotation.
_QUOTED = 24
_PIECE = re.compile(r"`([^`\n]{8,200})`|\"([^\"\n]{12,200})\"")


@dataclass(frozen=True, slots=True)
class Lightened:
    """Messages with some parts replaced by lines, and how many parts that were."""

    messages: tuple[Message, ...]
    count: int


def elide(messages: Sequence[Message], start: int, stop: int, *, protect: Collection[str] = ()) -> Lightened:
    """Replace superseded bulky results in messages `start` to `stop` (half-open) by a line.

    A result is superseded if the same call (tool and arguments) was made again later, or if the same text
    came again. Errors stay, results of the tools named in `protect`, and what a later message of the
    user or the assistant quotes.
    """
    calls = _calls(messages)
    last_of_call: dict[tuple[str, str], int] = {}
    last_of_text: dict[str, int] = {}
    for at, message in enumerate(messages):
        for part in message.parts:
            if isinstance(part, ToolResult) and not part.is_error:
                call = calls.get(part.call_id)
                if call is not None:
                    last_of_call[call.name, call.arguments] = at
                last_of_text[_text(part)] = at
    quotes = _Quotes(messages)
    out = list(messages)
    count = 0
    for at in range(start, stop):
        parts: list[Part] = []
        for part in messages[at].parts:
            text = _text(part) if isinstance(part, ToolResult) and not part.is_error else ""
            call = calls.get(part.call_id) if isinstance(part, ToolResult) else None
            superseded = len(text) >= _BULKY and (
                last_of_text[text] > at or (call is not None and last_of_call[call.name, call.arguments] > at)
            )
            if not superseded or (call and call.name in protect) or quotes.after(at, text):
                parts.append(part)
                continue
            assert isinstance(part, ToolResult)
            line = f"[elided: {len(text)} characters; the same came again later; kept in the archive]"
            parts.append(replace(part, content=(Text(line),)))
            count += 1
        if tuple(parts) != messages[at].parts:
            out[at] = replace(messages[at], parts=tuple(parts), raw=())
    return Lightened(tuple(out), count)


def drop_images(messages: Sequence[Message], start: int, stop: int, *, most: int | None = None) -> Lightened:
    """Replace images in messages `start` to `stop` (half-open) by a line, oldest first, at most `most`."""
    calls = _calls(messages)
    out = list(messages)
    count = 0

    def line(part: Image, call: ToolCall | None) -> Text | Image:
        nonlocal count
        if most is not None and count >= most:
            return part
        count += 1
        return Text(image_line(part, call.name if call else ""))

    for at in range(start, stop):
        parts: list[Part] = []
        for part in messages[at].parts:
            if isinstance(part, Image):
                parts.append(line(part, None))
            elif isinstance(part, ToolResult):
                call = calls.get(part.call_id)
                content = tuple(
                    line(item, call) if isinstance(item, Image) else item for item in part.content
                )
                parts.append(part if content == part.content else replace(part, content=content))
            else:
                parts.append(part)
        if tuple(parts) != messages[at].parts:
            out[at] = replace(messages[at], parts=tuple(parts), raw=())
    return Lightened(tuple(out), count)


def drop_excess(messages: Sequence[Message], head: int, excess: int) -> Lightened:
    """Replace `excess` images by a line: the oldest behind the head first, those of the head last."""
    lighter = drop_images(messages, head, len(messages), most=excess)
    if lighter.count == excess:
        return lighter
    rest = drop_images(lighter.messages, 0, head, most=excess - lighter.count)
    return Lightened(rest.messages, lighter.count + rest.count)


def image_line(image: Image, tool: str = "") -> str:
    """What stands in place of an image: type, size in pixels and bytes, and where it came from."""
    size = image_size(image.data) if image.data else None
    facts = [image.media_type]
    if size:
        facts.append(f"{size[0]}x{size[1]} px")
    facts.append(f"{len(image.data)} bytes" if image.data else image.source)
    return f"[image dropped: {', '.join(facts)}{f'; from {tool}' if tool else ''}]"


def _calls(messages: Sequence[Message]) -> dict[str, ToolCall]:
    return {part.id: part for message in messages for part in message.parts if isinstance(part, ToolCall)}


def _text(result: ToolResult) -> str:
    return "\n".join(part.text for part in result.content if isinstance(part, Text))


class _Quotes:
    """Lines and quoted pieces of what user and assistant said, with the message that says each last."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._lines: dict[str, int] = {}
        self._pieces: dict[str, int] = {}
        for at, message in enumerate(messages):
            if message.role == "tool":
                continue
            for part in message.parts:
                if isinstance(part, Text):
                    for line in part.text.split("\n"):
                        if len(line.strip()) >= _QUOTED:
                            self._lines[line.strip()] = at
                    for found in _PIECE.findall(part.text):
                        self._pieces[found[0] or found[1]] = at

    def after(self, at: int, text: str) -> bool:
        """Whether a message after `at` quotes `text`."""
        if any(self._lines.get(line.strip(), -1) > at for line in text.split("\n")):
            return True
        return any(said > at and piece in text for piece, said in self._pieces.items())
