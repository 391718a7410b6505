"""Finding an archive's place in a conversation, and putting back what it stands for.

The place is where the conversation says, part for part, what the archive would say there: no other text can
pass for it. A conversation that still has the archived messages is whole and needs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from snapshot.compaction.archived import CLOSING, OPENING, Archived
from snapshot.compaction.assemble import CONTINUED, archive_messages
from snapshot.compaction.boundaries import repair
from snapshot.errors import ArchiveError
from snapshot.messages import Image, Message, Part, Text, ToolCall, ToolResult, Transcript
from snapshot.parts.characters import sendable
from snapshot.requests.fallback_text import ERROR, arguments_of, clean, name_of
from snapshot.requests.tool_pairing import renamed

__all__ = ["is_frame", "restored"]

_OTHER = "the archive is of another conversation: {}; give the archive that belongs to it, or none"


def is_frame(message: Message) -> bool:
    """Whether a message carries an archive, by its form: a text that opens it, behind which images stand."""
    if message.role != "user":
        return False
    opened = False
    for part in message.parts:
        if isinstance(part, Text) and part.text.startswith(OPENING + "\n"):
            opened = True
        elif opened and isinstance(part, Image | Text):
            return True
    return False


def restored(archive: Archived, transcript: Transcript) -> Transcript:
    """See `Archive.restore`."""
    messages = transcript.messages
    if not archive.light:
        place = _place(archive, messages)
        if place is None:
            _check_whole(archive, repair(messages)[0])
            return transcript
        messages = _put_back(messages, place, archive.messages)
    else:
        # What was sent had been repaired, so that is what the numbers of messages are of.
        messages = repair(messages)[0]
    changed = _with_originals(archive, messages)
    return transcript if archive.light and changed == messages else replace(transcript, messages=changed)


def _check_whole(archive: Archived, messages: Sequence[Message]) -> None:
    """Raise unless the archived messages are there, or ones of the same kinds: credentials were redacted."""
    there = messages[archive.head : archive.boundary]
    if len(there) == len(archive.messages) and all(
        one.role == other.role and list(map(type, one.parts)) == list(map(type, other.parts))
        for one, other in zip(there, archive.messages, strict=True)
    ):
        return
    if any(map(is_frame, messages)):
        raise ArchiveError(
            "the archive in the conversation has no clear start and end; give the full history"
        )
    raise ArchiveError(_OTHER.format("neither its messages nor its pages are there"))


# Where parts of messages stand: number of the message and of the part.
_Place = tuple[tuple[int, int], tuple[int, int]]


def _place(archive: Archived, messages: Sequence[Message]) -> _Place | None:
    """First and last part of the archive's messages in the conversation."""
    if archive.former_schema:
        return _marked_place(messages)
    wanted = [part for message in archive_messages(archive) for part in message.parts]
    first = wanted[0]
    for at, message in enumerate(messages):
        if message.role != "user":
            continue
        for number, part in enumerate(message.parts):
            if _says_the_same(part, first) and (end := _follow(messages, (at, number), wanted)) is not None:
                return (at, number), end
    return None


def _follow(
    messages: Sequence[Message], start: tuple[int, int], wanted: Sequence[Part]
) -> tuple[int, int] | None:
    """Where the last of the wanted parts stands, if they all follow each other from `start` on."""
    found: Iterator[tuple[tuple[int, int], Part]] = (
        ((at, number), part)
        for at in range(start[0], len(messages))
        for number, part in enumerate(messages[at].parts)
        if (at, number) >= start and not _is_filler(messages[at])
    )
    end = None
    for right in wanted:
        end, part = next(found, (None, None))
        if not _says_the_same(part, right):
            return None
    return end


def _says_the_same(part: Part | None, wanted: Part) -> bool:
    """Whether a part is what a request says of another: any image is one, words are as they can be sent."""
    if isinstance(wanted, Text) and isinstance(part, Text):
        return replace(part, text=sendable(part.text)) == replace(wanted, text=sendable(wanted.text))
    return isinstance(part, Image) if isinstance(wanted, Image) else part == wanted


def _is_filler(message: Message) -> bool:
    return message.role == "assistant" and message.parts == (Text(CONTINUED),)


def _marked_place(messages: Sequence[Message]) -> _Place | None:
    """Of an archive of the former version only the first lines of its texts are known."""
    found = [
        (at, number)
        for at, message in enumerate(messages)
        if message.role == "user"
        for number, part in enumerate(message.parts)
        if isinstance(part, Text) and part.text.startswith((OPENING + "\n", CLOSING + "\n"))
    ]
    return (found[0], found[1]) if len(found) == 2 else None


def _put_back(messages: Sequence[Message], place: _Place, middle: Sequence[Message]) -> tuple[Message, ...]:
    (at, part), (end, last) = place
    before = (*messages[:at], *_cut(messages[at], messages[at].parts[:part]))
    after = (*_cut(messages[end], messages[end].parts[last + 1 :]), *messages[end + 1 :])
    return (*before, *_told_apart(middle, _call_ids((*before, *after))), *after)


def _call_ids(messages: Sequence[Message]) -> set[str]:
    return {part.id for message in messages for part in message.parts if isinstance(part, ToolCall)}


def _told_apart(middle: Sequence[Message], there: set[str]) -> tuple[Message, ...]:
    """The archived messages, with other ids for calls where those around them have theirs.

    Calls of Gemini may have no ids; then they are numbered as they are read, and what the archive stands for
    is not counted. The messages that are sent stay as they came.
    """
    own = _call_ids(middle)
    if own.isdisjoint(there):
        return tuple(middle)
    used = own | there
    names: dict[str, str] = {}
    for call_id in sorted(own & there):
        again = 2
        while f"{call_id}_{again}" in used:
            again += 1
        names[call_id] = f"{call_id}_{again}"
        used.add(names[call_id])
    return tuple(renamed(message, _places_of(message, names)) for message in middle)


def _places_of(message: Message, names: Mapping[str, str]) -> dict[int, str]:
    """By its place the new id of each call and result that has one."""
    ids = {place: _id_of(part) for place, part in enumerate(message.parts)}
    return {place: names[call_id] for place, call_id in ids.items() if call_id in names}


def _id_of(part: Part) -> str:
    """The id of a call, or of the call that a result answers; "" for others."""
    return part.id if isinstance(part, ToolCall) else part.call_id if isinstance(part, ToolResult) else ""


def _cut(message: Message, parts: Sequence[Part]) -> tuple[Message, ...]:
    return (replace(message, parts=tuple(parts), raw=()),) if parts else ()


def _with_originals(archive: Archived, messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The messages with those that had parts replaced as they were.

    One that is neither as it was sent nor of the same role belongs to another conversation.
    """
    out = list(messages)
    for item in archive.changed:
        if item.number >= len(out) or out[item.number].role != item.original.role:
            raise ArchiveError(_OTHER.format(f"its message {item.number + 1} is not there"))
        if item.sent is None or _is_sent(out[item.number], item.sent, item.original):
            out[item.number] = _under_ids_of(out[item.number], item.original)
    return tuple(out)


def _under_ids_of(message: Message, original: Message) -> Message:
    """The original with the ids that its calls and results have in the message that was sent."""
    ids = [_id_of(part) for part in message.parts if isinstance(part, ToolCall | ToolResult)]
    places = [at for at, part in enumerate(original.parts) if isinstance(part, ToolCall | ToolResult)]
    return renamed(original, dict(zip(places, ids, strict=True))) if len(ids) == len(places) else original


def _is_sent(message: Message, sent: Message, original: Message) -> bool:
    """Whether a message is what was sent in place of another one, whatever its pages and its ids are.

    What was not replaced in it need not be the same to the letter, nor be there at all: an API has its own
    words for a result that is empty, or an error, or a kind of part that it does not take, and no thoughts.
    """
    parts, wanted, before = map(_without_pages, (message.parts, sent.parts, original.parts))
    if parts == wanted:
        return True
    replaced = [part for part in wanted if part is not Image and part not in before]
    rest = iter(parts)
    return bool(replaced) and all(part in rest for part in replaced)


def _without_pages(parts: Sequence[Part]) -> list[object]:
    """The parts as requests have them, without ids: a mark for each image, of a result its words, of a call
    the value of its arguments, since most APIs take no text of it."""
    return [_sent_as(part) for part in parts]


def _sent_as(part: Part) -> object:
    match part:
        case ToolResult():
            return _words_of(part)
        case ToolCall():
            return name_of(part), clean(arguments_of(part))
        case Image():
            return Image
        case Text(text):
            return replace(part, text=sendable(text))
        case _:
            return part


def _words_of(result: ToolResult) -> str:
    """The words of a result without the blanks between them: some APIs have one text of it, its images behind
    it or elsewhere, and say in words that it is an error."""
    words = "".join("".join(sendable(item.text).split()) for item in result.content if isinstance(item, Text))
    return words.removeprefix("".join(ERROR.split()))
