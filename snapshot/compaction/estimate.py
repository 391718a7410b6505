"""How many tokens a request takes: the provider's own count where it is known, an estimate for the rest.

Text is estimated by measured ratios (`snapshot.models.tokens`), images by the reader's billing rule, to the
token, documents by their pages. Signatures and encrypted reasoning count nothing: providers do not bill them
as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

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

__all__ = ["ContextUsage", "Estimator", "context_usage", "image_size"]

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
        if self.reader.billing is None:
            return 0 if self.reader.blind else _IMAGE_TOKENS
        size = image_size(image.data) if image.data else None
        return self.reader.billing.tokens(*(size or _UNKNOWN_IMAGE))

    def document(self, file: File) -> int:
        """Tokens of a document: its text, or its pages as the provider bills them.

        Pages that cannot be counted are estimated by the bytes (`snapshot.parts.documents.pages_of`).
        """
        if file.text:
            return self.text(file.name + file.text)
        if file.data and document_type(file).startswith(("audio/", "video/")):
            return self.text(file.name) + len(file.data) // _BYTES_A_TOKEN_OF_SOUND
        size = pages_of(file)
        if size is None:
            if file.data:  # no API takes it: words about it are sent
                return self.text(f"{file.name} {file.media_type}") + 2 * self._frame
            size = _UNKNOWN_PAGES, False
        known = self.reader.pdf_tokens(size[0])
        return self.text(file.name) + (size[0] * _UNKNOWN_PAGE if known is None else known)

    def part(self, part: Part) -> int:
        """Tokens of a part."""
        match part:
            case Text(text) | Reasoning(text):
                return self.text(text)
            case ToolCall(_, name, arguments):
                return self._frame + self.text(name + arguments)
            case ToolResult(_, content):
                return self._frame + sum(map(self.part, content))
            case Image():
                return self.image(part)
            case File():
                return self.document(part)
            case Opaque():
                return self.text("".join(piece for piece in pieces(part) if isinstance(piece, str)))

    def message(self, message: Message) -> int:
        """Tokens of a message."""
        return self._frame + sum(map(self.part, message.parts))

    def messages(self, messages: Iterable[Message]) -> int:
        """Tokens of messages, and of what is sent beside them."""
        return self.overhead + sum(map(self.message, messages))


@dataclass(frozen=True, slots=True)
class ContextUsage:
    """How full the window is.

    Attributes:
        tokens: the figure to go by.
        estimator: the estimator, corrected by what the provider reported.
        basis: one sentence on where the figure comes from.
    """

    tokens: int
    estimator: Estimator
    basis: str


@dataclass(frozen=True, slots=True)
class _Report:
    """A usage that the provider reported.

    Attributes:
        at: number of the message that answered the request.
        input, output: its tokens.
        text: estimated tokens of the text before the message, at scale 1.
        shown: tokens of the images before it, which no scale touches.
        documents: tokens of the documents, in `text`: a guess by the page, so nothing to doubt a report by.
    """

    at: int
    input: int
    output: int
    text: int
    shown: int
    documents: int

    @property
    def estimate(self) -> int:
        return self.text + self.shown


# Below this share of the estimate, a single report is of a shorter conversation than this one: the history
# was compacted before it was sent, or other tools stood between. Several that rise together are believed
# down to the second share: some texts (runs of blanks, of one sign) take far fewer tokens than estimated.
_SHORTER, _LEAST = 1 / 2, 1 / 8
_AGREEING = 3
# A report above the estimate may be of other text beside this one, as long as a window could hold it.
_LARGER = 2.0
# Between these factors the slope of two reports tells what text really takes.
_STEEPEST = 4.0


def context_usage(
    messages: Sequence[Message], reader: ModelProfile, *, overhead: int | None = None
) -> ContextUsage:
    """How full the window is after `messages`.

    The newest usage that the provider reported (cache reads and writes included), the tokens of its answer,
    and an estimate of what came after it; without usage, or where it cannot be of these messages, an estimate
    of the whole. What the newest report counts beyond the messages before it is taken for tool definitions
    and other overhead, unless `overhead` is given. Reports raise the estimate of single parts and never lower
    it: what is underestimated is refused by the provider, the other way is safe.
    """
    plain = Estimator(reader, overhead=overhead or 0)
    shown = [_priced(plain, message, Image) for message in messages]
    costs = [plain.message(message) for message in messages]
    reports = _reports(plain, messages, costs, shown)
    total = sum(costs)
    if not reports:
        return ContextUsage(plain.overhead + total, plain, "estimated: no usage was reported")
    newest = reports[-1]
    ratio = newest.input / max(1, (overhead or 0) + newest.estimate)
    if not _is_of_this(reports, overhead or 0, reader):
        note = f"estimated: reported usage is {ratio:.2f} of what the text takes, so not of it"
        return ContextUsage(plain.overhead + total, plain, note)
    scale = _scale(reports, overhead)
    if overhead is None:
        overhead = max(0, newest.input - newest.shown - round(newest.text * scale))
    estimator = replace(plain, scale=scale, overhead=overhead)
    after = sum(shown[newest.at + 1 :])
    after += round((sum(costs[newest.at + 1 :]) - after) * scale)
    answer = newest.output or estimator.message(messages[newest.at])
    tokens = newest.input + answer + after
    return ContextUsage(tokens, estimator, f"reported by the provider, and an estimate of {after:,} after it")


def _priced(plain: Estimator, message: Message, kind: type[Image | File]) -> int:
    """Tokens of the images, or of the documents, of a message."""
    found = 0
    for part in message.parts:
        inner = part.content if isinstance(part, ToolResult) else (part,)
        found += sum(plain.part(item) for item in inner if isinstance(item, kind))
    return found


def _reports(
    plain: Estimator, messages: Sequence[Message], costs: Sequence[int], shown: Sequence[int]
) -> list[_Report]:
    found: list[_Report] = []
    cost = images = documents = 0
    for at, message in enumerate(messages):
        usage = message.usage
        if usage is not None and usage.input > 0:
            found.append(_Report(at, usage.input, usage.output, cost - images, images, documents))
        cost += costs[at]
        documents += _priced(plain, message, File)
        images += shown[at]
    return found


def _is_of_this(reports: Sequence[_Report], overhead: int, reader: ModelProfile) -> bool:
    """Whether the newest report can be of the messages before it."""
    newest = reports[-1]
    ratio = newest.input / max(1, overhead + newest.estimate)
    if ratio >= 1:
        # Sums over a whole session are larger than any window.
        return ratio <= _LARGER or newest.input <= (reader.window or newest.input)
    if newest.input >= _SHORTER * (overhead + newest.estimate - newest.documents):
        return True
    last = reports[-_AGREEING:]
    rising = all(one.input <= other.input for one, other in pairwise(last))
    shares = [one.input / max(1, overhead + one.estimate) for one in last]
    return len(last) == _AGREEING and rising and min(shares) >= _LEAST and max(shares) <= 2 * min(shares)


def _scale(reports: Sequence[_Report], overhead: int | None) -> float:
    """The factor on the estimate of text; at least 1.

    With a known overhead, the newest report alone says it. Without, what text takes and what stands beside it
    are told apart by the growth since a report on at most half as much text.
    """
    newest = reports[-1]
    if overhead is not None:
        beside = overhead + newest.shown
        return max(1.0, (newest.input - beside) / newest.text) if newest.text else 1.0
    older = next((report for report in reports if report.text <= newest.text // 2), None)
    if older is None or newest.text <= older.text:
        return 1.0
    slope = ((newest.input - newest.shown) - (older.input - older.shown)) / (newest.text - older.text)
    if not 1.0 < slope <= _STEEPEST:
        return 1.0
    # Nothing beside the text takes less than nothing.
    return max(1.0, min(slope, (newest.input - newest.shown) / newest.text))
