"""Words of a conversation for another model to read: payloads named, long texts clipped, blocks fenced.

What digests and summaries share. Payloads are replaced before anything is cut, a cut never falls inside a
grapheme cluster, and what was cut is counted in place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from snapshot.messages import File, Image, Message, Opaque, Text, ToolCall, ToolResult
from snapshot.models.tokens import most_chars, text_tokens
from snapshot.source.marks import ELIDED
from snapshot.source.payloads import payloads
from snapshot.source.source import strict_text

if TYPE_CHECKING:
    from snapshot.models.profile import ModelProfile

__all__ = [
    "arguments_of",
    "attachment",
    "clip",
    "dear_fence",
    "exit_code",
    "fence",
    "numbered",
    "one_line",
    "plain",
    "prefix",
    "result_text",
    "said",
    "scalars",
]

# Characters that are looked at on either side of a cut; clusters longer than that are torn.
_AROUND = 256
_FENCE = 8
_EXIT = re.compile(r"(?i)\bexit(?:ed with)?[ _-]?(?:code|status)?[\"']?[ \t]*[:=>]?[ \t]*(-?\d{1,6})\b")


def numbered(messages: Sequence[Message], first_turn: int = 1) -> Iterator[tuple[int, Message]]:
    """Each message with the number of its turn; the first user message here begins turn `first_turn`."""
    turn = first_turn - 1
    for message in messages:
        turn += message.starts_turn
        yield turn, message


def plain(text: str) -> str:
    """The text as valid Unicode, each payload in it replaced by its media type and size."""
    pieces: list[str] = []
    end = 0
    for payload in payloads(text):
        pieces += (text[end : payload.start], f"{ELIDED}{payload.media_type}, {payload.size} bytes{ELIDED}")
        end = payload.stop
    return strict_text("".join([*pieces, text[end:]]))[0]


def attachment(part: Image | File | Opaque) -> str:
    """One line for what is no text: type and size, or where it is."""
    match part:
        case Image(media_type, data, source):
            what = f"{media_type}, {f'{len(data)} bytes' if data or not source else source}"
        case File(name, media_type, data, text, source):
            size = f"{len(text)} characters" if text else f"{len(data)} bytes"
            what = f"{name}, {media_type}, {source if source and not (data or text) else size}"
        case Opaque(kind):
            what = f"part of type {kind}"
    return f"{ELIDED}{one_line(what, 300)}{ELIDED}"


def said(message: Message) -> str:
    """What a user or a system message says, in full; attachments are named."""
    pieces = [
        plain(part.text) if isinstance(part, Text) else attachment(part)
        for part in message.parts
        if isinstance(part, Text | Image | File)
    ]
    return "\n".join(piece for piece in pieces if piece.strip())


def result_text(result: ToolResult) -> str:
    """The text of a tool's result, attachments named."""
    return "\n".join(
        plain(part.text) if isinstance(part, Text) else attachment(part) for part in result.content
    )


def arguments_of(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call; none where they are no JSON object."""
    try:
        values = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def exit_code(text: str) -> int | None:
    """The exit code that the first or the last words of a command's output name, or None."""
    match = _EXIT.search(text[:200]) or _EXIT.search(text[-200:])
    return int(match[1]) if match else None


def one_line(text: str, longest: int) -> str:
    """The text on one line of at most `longest` characters, with a mark where more stood."""
    line = " ".join(text[: longest * 4].split())
    if len(line) <= longest and len(text) <= longest * 4:
        return line
    return line[: boundary(line, longest - 1)] + "…"


def boundary(text: str, at: int) -> int:
    """The last offset up to `at` where no grapheme cluster is torn."""
    if not 0 < at < len(text):
        return max(0, min(at, len(text)))
    # A printable ASCII character opens a cluster, and so does a line feed that follows no carriage return.
    start = at
    while start > max(0, at - _AROUND) and not " " <= text[start] <= "~":
        start -= 1
    if start == at:
        return at
    # Flags are pairs: which two letters belong together shows only from where their run starts.
    while start > 0 and "\U0001f1e6" <= text[start] <= "\U0001f1ff":
        start -= 1
    from wcwidth import iter_graphemes

    offset = start
    for cluster in iter_graphemes(text[start : at + _AROUND]):
        if offset + len(cluster) > at:
            break
        offset += len(cluster)
    return offset


def prefix(text: str, tokens: int, reader: ModelProfile, *, tear: bool = False) -> int:
    """Length of the longest start of `text` that costs at most `tokens`; no cluster torn unless `tear`."""
    low, high = 0, max(0, min(len(text), most_chars(tokens, reader)))
    while low < high:
        middle = (low + high + 1) // 2
        if text_tokens(text[:middle], reader) <= tokens:
            low = middle
        else:
            high = middle - 1
    return low if tear else boundary(text, low)


def clip(text: str, tokens: int, reader: ModelProfile) -> str:
    """The text, or its head and its tail with the number of characters left out between, in `tokens`.

    "" where not even that number has room.
    """
    # The first test spares counting what is certainly too long.
    if len(text) <= most_chars(tokens, reader) and text_tokens(text, reader) <= tokens:
        return text
    room = tokens - text_tokens(_left_out(len(text)), reader)
    if room < 0:
        return ""
    head = prefix(text, room - room // 2, reader)
    # The tail, measured as the start of what is reversed; then moved to where a cluster starts.
    span = text[max(head, len(text) - most_chars(room // 2, reader)) :]
    length = prefix(span[::-1], room // 2, reader, tear=True)
    tail = len(text) - length
    while tail < len(text) and boundary(text, tail) != tail:
        tail += 1
    return f"{text[:head]}{_left_out(tail - head)}{text[tail:]}"


def _left_out(count: int) -> str:
    return f"\n{ELIDED}{count} characters left out{ELIDED}\n"


def fence(texts: Iterable[str]) -> str:
    """A word of 8 hexadecimal digits that follows from the texts and occurs in none of them."""
    kept = list(texts)
    digest = sha256()
    for text in kept:
        digest.update(text.encode("utf-8", "surrogatepass"))
    while True:
        word = digest.hexdigest()[:_FENCE]
        if not any(word in text for text in kept):
            return word
        digest.update(b".")


def dear_fence(reader: ModelProfile) -> str:
    """A word to reckon with in place of a fence: it costs no less, whatever stands beside it."""
    # All pairs of hexadecimal digits are like those of one of these; two characters more are for its edges.
    words = (pair * (_FENCE // 2 + 1) for pair in ("00", "a0", "bf"))
    return max(words, key=lambda word: text_tokens(word * 8, reader))


def scalars(value: Any, names: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Name and value of each field in a JSON value that is called as one of `names`, in order.

    Of a list, each item; what is neither text nor number nor boolean is gone through for more fields.
    """
    stack: list[tuple[str, Any]] = [("", value)]
    while stack:
        name, item = stack.pop()
        if isinstance(item, dict):
            stack.extend(reversed([(str(key), inner) for key, inner in item.items()]))
        elif isinstance(item, list):
            stack.extend((name, inner) for inner in reversed(item))
        elif name in names and item is not None:
            yield name, item if isinstance(item, str) else json.dumps(item)
