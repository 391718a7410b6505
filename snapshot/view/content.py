"""What a view shows, as values: texts, pages and pictures in the order in which the model gets them."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias

from snapshot.view.cells import CellRun

__all__ = ["Block", "Figures", "Kind", "PageBlock", "PictureBlock", "Section", "Share", "TextBlock", "View"]

Kind: TypeAlias = Literal[
    "system", "user", "assistant", "thinking", "call", "result", "error", "other",
    "guide", "summary", "left-out", "statement", "facts", "ledger", "close",
]  # fmt: skip
"""Who speaks in a text, or what it is beside the pages."""


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A text that the model gets as text: what it is, a few words on it, the text, its estimated tokens."""

    kind: Kind
    title: str
    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class PictureBlock:
    """A picture that is no page: media type and bytes, or where it is; what to say of it; its tokens.

    Without bytes there is nothing to show: what is somewhere else is never fetched.
    """

    title: str
    media_type: str
    data: bytes
    tokens: int


@dataclass(frozen=True, slots=True)
class PageBlock:
    """A page beside its text.

    Attributes:
        number: in the view, from 1.
        png: the image as it is sent.
        width, height: its size in pixels.
        seen: width and height in which the model sees it, once the provider has resized it.
        tokens: what it is billed.
        cell: width and height of a cell in pixels.
        columns: cells across the page.
        text: what it says, read back from its pixels; "" where it could not be read.
        marks: offsets in `text` of the marks of the source.
        runs: which cells show which text.
        stream: number of the text that it is a page of; pages of one text follow each other.
        note: what is wrong with it, "" for nothing.
    """

    number: int
    png: bytes
    width: int
    height: int
    seen: tuple[int, int]
    tokens: int
    cell: tuple[int, int]
    columns: int
    text: str = ""
    marks: tuple[int, ...] = ()
    runs: tuple[CellRun, ...] = ()
    stream: int = 0
    note: str = ""


Block: TypeAlias = TextBlock | PictureBlock | PageBlock


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks that belong together: an id, a heading, a sentence on them."""

    id: str
    title: str
    about: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a request, by name, and its tokens; `kind` is "text" or "pages"."""

    name: str
    kind: Literal["text", "pages"]
    tokens: int


@dataclass(frozen=True, slots=True)
class Figures:
    """What a request takes before and after.

    Attributes:
        before, after: its parts, in order.
        usd_before, usd_after: USD of one request with nothing in the prompt cache; None if not known.
        basis: a sentence on where the figures come from.
        names: what to call the two.
    """

    before: tuple[Share, ...]
    after: tuple[Share, ...]
    usd_before: Decimal | None
    usd_after: Decimal | None
    basis: str
    names: tuple[str, str] = ("before", "after")

    @property
    def tokens_before(self) -> int:
        """Tokens before."""
        return sum(share.tokens for share in self.before)

    @property
    def tokens_after(self) -> int:
        """Tokens after."""
        return sum(share.tokens for share in self.after)


@dataclass(frozen=True, slots=True)
class View:
    """All of a view.

    Attributes:
        title: what is looked at.
        model: id of the model, "" where none is named; `reader` says what it is as a reader.
        sections: in order.
        figures: tokens and money.
        notes: sentences on what is odd, or why nothing was done.
    """

    title: str
    model: str
    reader: str
    sections: tuple[Section, ...]
    figures: Figures
    notes: tuple[str, ...] = ()

    @property
    def pages(self) -> tuple[PageBlock, ...]:
        """All pages, in order."""
        return tuple(
            block for section in self.sections for block in section.blocks if isinstance(block, PageBlock)
        )
