"""How many tokens messages take, by estimate.

Text is estimated by measured ratios (`snapshot.models.tokens`), images by the reader's billing rule, to the
token, documents by their pages. Signatures and encrypted reasoning count nothing: providers do not bill them
as text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from snapshot.messages import (
    File,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from snapshot.models.profile import ModelProfile
from snapshot.models.tokens import text_tokens
from snapshot.parts.documents import document_type, pages_of
from snapshot.parts.kinds import pieces
from snapshot.parts.media import image_size

__all__ = ["Estimator", "Size", "image_size", "measured", "measured_message"]

# What a message or call costs beside its words: role, delimiters, names of fields.
_FRAME = 6
# An image whose size is not known (a URL, a file id) is taken for one of the usual largest size.
_UNKNOWN_IMAGE = (1568, 1568)
# An image where nothing is known of the model: what one of a megapixel takes at most providers.
_IMAGE_TOKENS = 1_600
# A document that is somewhere else is taken for one of a few pages.
_UNKNOWN_PAGE = 2_000  # tokens, where the provider's price of a page is not known
_UNKNOWN_PAGES = 10
# Sound, where it is sent: 32 tokens a second, of which a compressed one has 16 kB.
_BYTES_A_TOKEN_OF_SOUND = 500


class Size(NamedTuple):
    """What a part or message takes before any correction: how it is estimated, apart from the scale.

    Attributes:
        frames: how many frames of messages, calls and results it has.
        texts: estimated tokens of each of its texts.
        fixed: tokens that no scale touches: images, pages of documents, sound.
    """

    frames: int
    texts: tuple[int, ...]
    fixed: int


def measured(part: Part, reader: ModelProfile) -> Size:
    """The size of a part for a reader.

    A document takes its text, or its pages as the provider bills them; pages that cannot be counted are
    estimated by the bytes (`snapshot.parts.documents.pages_of`).
    """
    match part:
        case Text(text) | Reasoning(text):
            return Size(0, _texts(text, reader), 0)
        case ToolCall(_, name, arguments):
            return Size(1, _texts(name + arguments, reader), 0)
        case ToolResult(_, content):
            inner = [measured(item, reader) for item in content]
            return Size(
                1 + sum(size.frames for size in inner),
                tuple(text for size in inner for text in size.texts),
                sum(size.fixed for size in inner),
            )
        case Image():
            return Size(0, (), _image(part, reader))
        case File():
            return _document(part, reader)
        case Opaque():
            words = "".join(piece for piece in pieces(part) if isinstance(piece, str))
            return Size(0, _texts(words, reader), 0)


def measured_message(message: Message, reader: ModelProfile) -> Size:
    """The size of a message for a reader, with the frame around it."""
    sizes = [measured(part, reader) for part in message.parts]
    return Size(
        1 + sum(size.frames for size in sizes),
        tuple(text for size in sizes for text in size.texts),
        sum(size.fixed for size in sizes),
    )


def _texts(text: str, reader: ModelProfile) -> tuple[int, ...]:
    return (text_tokens(text, reader),) if text else ()


def _image(image: Image, reader: ModelProfile) -> int:
    if reader.billing is None:
        return 0 if reader.blind else _IMAGE_TOKENS
    size = image_size(image.data) if image.data else None
    return reader.billing.tokens(*(size or _UNKNOWN_IMAGE))


def _document(file: File, reader: ModelProfile) -> Size:
    if file.text:
        return Size(0, _texts(file.name + file.text, reader), 0)
    name = _texts(file.name, reader)
    if file.data and document_type(file).startswith(("audio/", "video/")):
        return Size(0, name, len(file.data) // _BYTES_A_TOKEN_OF_SOUND)
    size = pages_of(file)
    if size is None:
        if file.data:  # no API takes it: words about it are sent
            return Size(2, _texts(f"{file.name} {file.media_type}", reader), 0)
        size = _UNKNOWN_PAGES, False
    known = reader.pdf_tokens(size[0])
    return Size(0, name, size[0] * _UNKNOWN_PAGE if known is None else known)


@dataclass(frozen=True, slots=True)
class Estimator:
    """Estimates tokens for one reader.

    Attributes:
        reader: whose ratios and billing rule count.
        scale: factor on text, from what the provider reported.
        overhead: tokens of what is sent beside the messages: tool definitions, a system prompt of its own.
    """

    reader: ModelProfile
    scale: float = 1.0
    overhead: int = 0

    @property
    def _frame(self) -> int:
        return round(_FRAME * self.scale)

    def text(self, text: str) -> int:
        """Tokens of a text."""
        return round(text_tokens(text, self.reader) * self.scale) if text else 0

    def image(self, image: Image) -> int:
        """Tokens of an image at the size that it has; 0 for a reader without vision."""
        return _image(image, self.reader)

    def part(self, part: Part) -> int:
        """Tokens of a part."""
        return self.at(measured(part, self.reader))

    def message(self, message: Message) -> int:
        """Tokens of a message."""
        return self._frame + sum(map(self.part, message.parts))

    def at(self, size: Size) -> int:
        """Tokens of a size at the estimator's scale."""
        return size.frames * self._frame + size.fixed + sum(round(text * self.scale) for text in size.texts)

    def messages(self, messages: Iterable[Message]) -> int:
        """Tokens of messages, and of what is sent beside them."""
        return self.overhead + sum(map(self.message, messages))
