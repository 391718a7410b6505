"""What a character costs, as text and as pages, for each reader and each class of text.

Pages are set as they would be sent, so their number and tokens are exact; their bytes are those of the
first few, taken for all. Text tokens are counted by the reader's own vocabulary where one is installed
(`snapshot.models.tokens.counter`), on a sample where the text is long, and estimated by measured ratios
elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import ceil

from snapshot.models.catalog import profiles
from snapshot.models.profile import ModelProfile, Price
from snapshot.models.tokens import counter, text_tokens
from snapshot.pages.layout import Layout, layout_for
from snapshot.pages.render import Typesetter
from snapshot.source.source import Source
from snapshot.typeset.columns import slots_of
from snapshot.typeset.grid import Grid

__all__ = ["Cost", "break_even", "cost_of", "cost_of_source", "costs_of", "example_models", "together"]

_RENDERED = 3
"""Pages of a class that are rendered, to know what one weighs in bytes."""
_SAMPLE = 120_000
"""Characters that a tokenizer counts; the ratio is then taken for all."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one class of text costs one model.

    Attributes:
        model: the model's id; `layout` its pages.
        text_class: "prose", "code", "JSON", "logs" or "CJK"; "all" is their sum.
        chars: characters of the text.
        pages, page_tokens, page_bytes: what it is as pages; bytes are an estimate.
        text_tokens: what it is as text; `counted_by` names the vocabulary, or says "ratio".
        per_page_token: characters per token on full pages: what a long text comes to.
        break_even: characters below which text is cheaper; None where pages never are.
    """

    model: str
    layout: Layout
    text_class: str
    chars: int
    pages: int
    page_tokens: int
    page_bytes: int
    text_tokens: int
    counted_by: str
    per_page_token: float
    break_even: int | None

    @property
    def per_text_token(self) -> float:
        """Characters per token as text."""
        return self.chars / max(1, self.text_tokens)

    @property
    def price(self) -> Price | None:
        """The model's price, below any step; None where it is not known."""
        return self.layout.reader.price

    def usd_once(self, *, pages: bool, cached: bool) -> Decimal | None:
        """USD of this text in one request, as pages or as text, fresh or from the cache; None if unknown."""
        if self.price is None:
            return None
        rate = self.price.cache_read if cached else self.price.input
        if rate is None:
            return None
        return rate * (self.page_tokens if pages else self.text_tokens) / 1_000_000

    def usd(self, *, pages: bool, cached: bool) -> Decimal | None:
        """USD per million characters, as pages or as text, fresh or from the cache; None if unknown."""
        if self.price is None:
            return None
        rate = self.price.cache_read if cached else self.price.input
        if rate is None:
            return None
        per_token = self.per_page_token if pages else self.per_text_token
        return rate / Decimal(str(per_token))

    @property
    def turns_to_repay(self) -> int | None:
        """Requests until new pages have repaid giving up the same text, warm in the prompt cache.

        The pages are written once at the price of fresh (or newly cached) input and read from the cache
        from then on, as the text would be. None where they never do, or prices are not known.
        """
        price = self.price
        if price is None or price.cache_read is None:
            return None
        saved = price.cache_read * (Decimal(1 / self.per_text_token) - Decimal(1 / self.per_page_token))
        if saved <= 0:
            return None
        once = (price.cache_write or price.input) / Decimal(self.per_page_token)
        return ceil(once / saved)


def example_models() -> tuple[str, ...]:
    """A model of each reader that its layout file gives as an example."""
    return tuple(reader.example for reader in profiles() if reader.example)


def costs_of(texts: Mapping[str, str], models: Iterable[str], *, count: bool = True) -> Iterator[Cost]:
    """The costs of each class of text for each model, and of all together ("all", first of each model).

    Args:
        texts: text by class, as `snapshot.costs.content_kinds.classes_of` gives it.
        models: model ids of any route, or names of layouts.
        count: whether text tokens are counted where the model's vocabulary is installed, and not estimated.

    Raises:
        LayoutError: a model is not known or has no vision.
    """
    for model in models:
        layout = layout_for(model)
        setting = Typesetter(layout)
        each = [cost_of(model, setting, name, text, count=count) for name, text in texts.items()]
        yield together(each)
        yield from each


def cost_of(model: str, setting: Typesetter, text_class: str, text: str, *, count: bool = True) -> Cost:
    """The cost of one text as text and as pages."""
    return cost_of_source(model, setting, text_class, Source(text), count=count)


def cost_of_source(
    model: str, setting: Typesetter, text_class: str, source: Source, *, count: bool = True
) -> Cost:
    """The cost of the text of a source, as text and as the pages that `render` makes of it.

    Args:
        model: the model's id.
        setting: its pages.
        text_class: what the cost says it is of.
        source: the text, not empty.
        count: whether text tokens are counted where the model's vocabulary is installed, and not estimated.
    """
    layout, text = setting.layout, source.text
    atlas = setting.atlas(source)
    grids = list(setting.grids(source, atlas))
    tokens = sum(
        layout.billing.tokens(layout.width, layout.page_height(grid.cells.shape[0])) for grid in grids
    )
    per_cell = _per_cell(grids, layout, atlas.end)
    counted, by = _text_tokens(text, layout.reader) if count else (text_tokens(text, layout.reader), "ratio")
    return Cost(
        model,
        layout,
        text_class,
        len(text),
        len(grids),
        tokens,
        _page_bytes(setting, source, len(grids)),
        counted,
        by,
        per_cell * layout.capacity / layout.tokens,
        break_even(layout, per_cell, len(text) / counted),
    )


def _per_cell(grids: list[Grid], layout: Layout, end: int) -> float:
    """Characters per cell: of full pages, or where there is none of the cells that are used."""
    full = [grid for grid in grids if grid.cells.shape[0] == layout.rows and not (grid.cells == end).any()]
    if full:
        return sum(grid.stop - grid.start for grid in full) / (len(full) * layout.capacity)
    last = grids[-1]
    used = int((slots_of(last.cells, layout.columns_of_text).reshape(-1) == end).argmax()) or last.cells.size
    return (last.stop - last.start) / used


def _page_bytes(setting: Typesetter, source: Source, pages: int) -> int:
    sizes = []
    for page in setting.pages(source, threads=1):
        sizes.append(len(page.png))
        if len(sizes) == _RENDERED:
            break
    return round(sum(sizes) / len(sizes) * pages) if len(sizes) < pages else sum(sizes)


def _text_tokens(text: str, reader: ModelProfile) -> tuple[int, str]:
    """Tokens of the text, and how they are known."""
    count = counter(reader.tokenizer)
    if count is None:
        return text_tokens(text, reader), "ratio"
    if len(text) <= _SAMPLE:
        return max(1, count(text)), reader.tokenizer
    # Stretches from the whole length, so that one large file does not decide.
    stretch = _SAMPLE // 12
    step = len(text) / 12
    sample = [text[int(step * at) : int(step * at) + stretch] for at in range(12)]
    counted = sum(count(part) for part in sample)
    return round(counted * len(text) / sum(map(len, sample))), reader.tokenizer


def break_even(layout: Layout, per_cell: float, per_text_token: float) -> int | None:
    """Characters from which a text on one page is never dearer than as text; None where a full page is.

    Args:
        layout: the page.
        per_cell: characters per cell.
        per_text_token: characters per token as text.
    """
    found: int | None = None
    across = layout.capacity // layout.rows
    for rows in range(1, layout.rows + 1):
        price = layout.billing.tokens(layout.width, layout.page_height(rows))
        most = int(rows * across * per_cell)
        least = int((rows - 1) * across * per_cell) + 1
        needed = ceil(price * per_text_token)
        if needed > most:
            found = None  # even a full last row is cheaper as text
        elif found is None or needed > least:
            found = max(needed, least)
    return found


def together(each: Sequence[Cost]) -> Cost:
    """The costs of several texts for one model as one, "all"."""
    model, layout = each[0].model, each[0].layout
    chars = sum(cost.chars for cost in each)
    return Cost(
        model,
        layout,
        "all",
        chars,
        sum(cost.pages for cost in each),
        sum(cost.page_tokens for cost in each),
        sum(cost.page_bytes for cost in each),
        sum(cost.text_tokens for cost in each),
        each[0].counted_by,
        chars / sum(cost.chars / cost.per_page_token for cost in each),
        max((cost.break_even for cost in each if cost.break_even is not None), default=None)
        if all(cost.break_even is not None for cost in each)
        else None,
    )
