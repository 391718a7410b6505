"""What is known of models as readers of pages: their billing, limits, prices, layouts and evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from typing import TypeVar

from snapshot.models.billing import BillingRule
from snapshot.models.schema import Cache, Documents, PageShape
from snapshot.models.trials import Trial

__all__ = [
    "UNKNOWN",
    "Cache",
    "Documents",
    "ModelProfile",
    "ModelVariant",
    "PageShape",
    "Peer",
    "Price",
    "best_match",
]

T = TypeVar("T")

UNKNOWN = "unknown"
"""The name of the profile of a model that is not known."""

# A page of a document as the provider draws it for the model, in pixels: no provider says how large. This one
# of letter's aspect is billed about 1,600 tokens by Claude, which is what was measured for a scanned page.
_PDF_PAGE = (980, 1268)


@dataclass(frozen=True, slots=True)
class Peer:
    """A page that another tool sends to the reader: its size in pixels; glyphs and cell where known, and the
    box that a letter has in its cell where it is smaller."""

    width: int
    height: int
    who: str
    glyphs: str = ""
    cell: tuple[int, int] | None = None
    box: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens; None where the provider has no such price, or none is known.

    `steps` are prices that hold for the whole prompt once it is longer than so many tokens, rising.
    """

    input: Decimal
    cache_write: Decimal | None = None
    cache_read: Decimal | None = None
    output: Decimal | None = None
    steps: tuple[tuple[int, Price], ...] = ()

    def at(self, prompt: int) -> Price:
        """The price of a request of `prompt` input tokens, cached ones included."""
        return next((price for above, price in reversed(self.steps) if prompt > above), self)

    def times(self, factor: Decimal) -> Price:
        """The price with a surcharge."""
        own = (self.input, self.cache_write, self.cache_read, self.output)
        first, write, read, output = (None if item is None else item * factor for item in own)
        assert first is not None
        return Price(
            first, write, read, output, tuple((above, step.times(factor)) for above, step in self.steps)
        )


@dataclass(frozen=True, slots=True)
class ModelVariant:
    """Models of one reader that differ in what follows; 0, None or empty where they do not."""

    models: tuple[str, ...]
    window: int = 0
    max_output: int = 0
    price: Price | None = None
    limits: Mapping[str, int] = field(default_factory=dict)
    billing_at: Mapping[str, BillingRule] = field(default_factory=dict)
    prefill: bool | None = None
    midway_system: bool | None = None
    cache: Cache | None = None


@dataclass(frozen=True, slots=True)
class ModelProfile:
    """A kind of model as a reader of pages; the fields are those of the layout file.

    `chars_per_token` is for common ASCII text, `basis` says where it comes from; `rates` is the vocabulary
    that its own is like. `billing` is None for a reader without vision; `billing_at` are the rules at other
    details than `detail`. `window` is the context window in tokens, `max_output` the most that one answer may
    have; 0 where it is not known. `price` is None
    where none is known, or several are and no model was named. `route` names the gateway whose limits and
    prices these are. `documents` says how PDF files are billed, `cache` what the prompt cache does; None
    where that is not known. `prefill` is false where a request that ends in the assistant's words is refused,
    `midway_system` true where the system may speak within the list of messages.
    """

    name: str
    title: str
    provider: str
    models: tuple[str, ...]
    vision: bool
    billing: BillingRule | None
    chars_per_token: float
    basis: str
    as_of: date
    detail: str = ""
    window: int = 0
    max_output: int = 0
    price: Price | None = None
    billing_at: Mapping[str, BillingRule] = field(default_factory=dict)
    tokenizer: str = ""
    rates: str = ""
    limits: Mapping[str, int] = field(default_factory=dict)
    documents: Documents | None = None
    prefill: bool = True
    midway_system: bool = False
    cache: Cache | None = None
    bounds: tuple[int, str] | None = None
    layouts: Mapping[str, PageShape] = field(default_factory=dict)
    peers: tuple[Peer, ...] = ()
    lines: tuple[ModelVariant, ...] = ()
    example: str = ""
    uncertain: str = ""
    conflict: str = ""
    evidence: tuple[str, ...] = ()
    trials: tuple[Trial, ...] = ()
    sources: tuple[str, ...] = ()
    route: str = "direct"

    @property
    def known(self) -> bool:
        """Whether anything is known of the model but what the caller said."""
        return self.name != UNKNOWN

    @property
    def blind(self) -> bool:
        """Whether it is known that the model cannot see images."""
        return not self.vision and self.known

    @property
    def measured(self) -> bool:
        """Whether anybody has published how well it reads small glyphs."""
        return bool(self.trials) or any(not item.startswith("not measured") for item in self.evidence)

    def rule_at(self, detail: str | None) -> BillingRule:
        """The billing rule of images sent at `detail`; the reader's own where none is known for it."""
        assert self.billing is not None
        return self.billing_at.get(detail or self.detail, self.billing)

    def for_variant(self, key: str) -> ModelProfile:
        """The reader as the model with this key is: with its line's window, prices, limits and rules."""
        line = best_match(key, ((pattern, line) for line in self.lines for pattern in line.models))
        return self if line is None else self.changed_by(line)

    def changed_by(self, line: ModelVariant) -> ModelProfile:
        """The reader with what the line gives."""
        return replace(
            self,
            window=line.window or self.window,
            max_output=line.max_output or self.max_output,
            price=line.price or self.price,
            limits={**self.limits, **line.limits},
            billing_at={**self.billing_at, **line.billing_at},
            prefill=self.prefill if line.prefill is None else line.prefill,
            midway_system=self.midway_system if line.midway_system is None else line.midway_system,
            cache=line.cache or self.cache,
        )

    def pdf_tokens(self, pages: int, *, text_tokens: int | None = None) -> int | None:
        """Tokens that a PDF of so many pages is billed; None where it is not known how.

        Args:
            pages: pages of the document.
            text_tokens: tokens of its text where they are known; a typical page's are taken otherwise.
        """
        if self.documents is None:
            return None
        text = self.documents.page_tokens * pages if text_tokens is None else text_tokens
        seen = self.billing.tokens(*_PDF_PAGE) if self.documents.page_image and self.billing else 0
        return text + seen * pages


def best_match(key: str, patterns: Iterable[tuple[str, T]]) -> T | None:
    """Whatever the longest pattern that fits `key` stands for; of equal ones the last."""
    best: tuple[int, T] | None = None
    for pattern, value in patterns:
        fits = key.startswith(pattern[:-1]) if pattern.endswith("*") else key == pattern
        if fits and (best is None or len(pattern) >= best[0]):
            best = len(pattern), value
    return None if best is None else best[1]
