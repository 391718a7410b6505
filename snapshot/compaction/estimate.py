"""How many tokens a request takes: the provider's own count where it is known, an estimate for the rest.

Text is estimated by measured ratios (`snapshot.models.tokens`), images by the reader's billing rule, to the token.
Signatures and encrypted reasoning count nothing: providers do not bill them as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from io import BytesIO

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
from snapshot.source.source import SEALED

__all__ = ["Estimator", "ContextUsage", "image_size", "context_usage"]

# What a message or call costs beside its words: role, delimiters, names of fields.
_FRAME = 6
# An image whose size is not known (a URL, a file id) is taken for one of the usual largest size.
_UNKNOWN_IMAGE = (1568, 1568)
# Reported usage that differs from the text by more than this factor is not about this text: other tools
# stood between the log and the provider.
_PLAUSIBLE = 2.0


def image_size(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels of an image file, or None if it cannot be opened."""
    from PIL import Image as Pillow

    try:
        with Pillow.open(BytesIO(data)) as image:
            return image.size
    except Exception:  # Pillow's decoders raise what they like on damaged files
        return None


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
            return 0
        size = image_size(image.data) if image.data else None
        return self.reader.billing.tokens(*(size or _UNKNOWN_IMAGE))

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
            case File(name, _, data, text):
                return self.text(name + text) + len(data) // 4
            case Opaque(kind, text):
                return 0 if kind in SEALED else self.text(text)

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


def context_usage(
    messages: Sequence[Message], reader: ModelProfile, *, overhead: int | None = None
) -> ContextUsage:
    """How full the window is after `messages`.

    The newest usage that the provider reported (cache reads and writes included) plus an estimate of what
    came after it; without usage, an estimate of the whole. What the first report counts beyond the
    messages before it is taken for tool definitions and other overhead, unless `overhead` is given.
    """
    plain = Estimator(reader, overhead=overhead or 0)
    reported = [(i, message.usage) for i, message in enumerate(messages) if message.usage is not None]
    costs = [plain.message(message) for message in messages]
    if not reported:
        return ContextUsage(plain.overhead + sum(costs), plain, "estimated: no usage was reported")
    (first, first_usage), (last, usage) = reported[0], reported[-1]
    if overhead is None:
        overhead = max(0, first_usage.input - sum(costs[:first]))
    estimated = sum(costs[:last])
    ratio = (usage.input - overhead) / estimated if estimated else 1.0
    estimator = Estimator(reader, overhead=overhead)
    if not 1 / _PLAUSIBLE <= ratio <= _PLAUSIBLE:
        tokens = overhead + sum(costs)
        return ContextUsage(
            tokens,
            estimator,
            f"estimated: reported usage is {ratio:.2f} of what the text takes, so not of it",
        )
    # An estimate is only ever raised by it: what is underestimated is rejected, the other way is safe.
    estimator = Estimator(reader, max(1.0, ratio), overhead)
    after = round(sum(costs[last + 1 :]) * estimator.scale)
    tokens = usage.input + usage.output + after
    return ContextUsage(tokens, estimator, f"reported by the provider, and an estimate of {after:,} after it")
