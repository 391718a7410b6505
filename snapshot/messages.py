"""The provider-neutral conversation: what every reader produces and every later stage takes.

Only values, no behaviour: a `Transcript` is a tuple of messages, a message a tuple of parts. Readers
(`snapshot.transcripts`) make them, `snapshot.source.source` prints them; neither knows of the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

__all__ = [
    "Diagnostic",
    "File",
    "Image",
    "Message",
    "Opaque",
    "Origin",
    "Part",
    "Reasoning",
    "Role",
    "Text",
    "ToolCall",
    "ToolResult",
    "Transcript",
    "Usage",
]

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
Origin: TypeAlias = Literal["", "user", "harness"]


@dataclass(frozen=True, slots=True)
class Text:
    """Words for the other side, as they were written. `refusal` marks a model's refusal."""

    text: str
    refusal: bool = False


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A model's thinking: `text` (may be empty) and the provider's opaque `signature` of it."""

    text: str
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool.

    `id` is the provider's, "" where it gave none. `arguments` is JSON text, or whatever the model
    wrote in place of JSON.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came back from the call `call_id` ("" if unknown), as text, images and other parts."""

    call_id: str
    content: tuple[Text | Image | File | Opaque, ...]
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Image:
    """A picture: its media type, and either its bytes or where it is (URL or file id).

    `detail` is the image detail that a request must ask for, where the provider knows such a thing.
    """

    media_type: str
    data: bytes = field(default=b"", repr=False)
    source: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class File:
    """A document that travels with a message: name, media type, and bytes, text or location."""

    name: str
    media_type: str
    data: bytes = field(default=b"", repr=False)
    text: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Opaque:
    """A part that the reader does not know, kept whole: its type as found, and its JSON text."""

    kind: str
    json: str


Part: TypeAlias = Text | Reasoning | ToolCall | ToolResult | Image | File | Opaque


@dataclass(frozen=True, slots=True)
class Usage:
    """The provider's token counts of one request.

    `input` includes what was read from and written to the prompt cache: it is the size of the
    prompt, not the uncached share of it.
    """

    input: int
    output: int = 0


@dataclass(frozen=True, slots=True)
class Message:
    """One message: who speaks, and its parts in order.

    `id` and `time` (ISO 8601) are the source's, "" where it has none. `usage` belongs to assistant
    messages: the request that the message answered. `raw` is the message as the API of the transcript's
    format has it, in one or several JSON objects, so that it can be sent back key for key; empty where the
    source is no API's own form, or where the message was changed since. `origin` says who made it, where the
    source shows it: "harness" for what a program said in the user's name (notices, reminders, hooks, output
    of commands), "user" for a command that a person gave to the harness; "" is the role's own word.
    """

    role: Role
    parts: tuple[Part, ...]
    id: str = ""
    time: str = ""
    usage: Usage | None = None
    raw: tuple[dict[str, Any], ...] = field(default=(), repr=False, compare=False)
    origin: Origin = field(default="", compare=False)

    @property
    def starts_turn(self) -> bool:
        """Whether a person speaks here, and not a harness in the user's name."""
        return self.role == "user" and self.origin != "harness"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Something in the input that is not as it should be, and what was made of it.

    `kind` is a short stable word ("torn-line", "unknown-part", "orphan-result", …); `where` says
    the line or message number; `note` is one sentence for a person.
    """

    kind: str
    where: str
    note: str


@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation in a form that belongs to no provider.

    Attributes:
        messages: in order of time.
        format: name of the reader that took it in ("claude-stream", "openai-chat", "text", …).
        model: id of the model that spoke last, "" if the source does not say.
        diagnostics: what the reader found wrong, nothing of it silent.
        extra_rows: what the file holds beside the conversation, each row whole with its type: titles, queued
            words, attachments, events of a kind that the reader does not know. It is neither sent nor drawn.
    """

    messages: tuple[Message, ...]
    format: str
    model: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()
    extra_rows: tuple[Opaque, ...] = field(default=(), repr=False)
