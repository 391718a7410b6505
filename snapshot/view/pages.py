"""Pages as they are shown: read back from their pixels, and as the reader's provider leaves them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from snapshot.errors import PageError
from snapshot.models.profile import ModelProfile
from snapshot.pages.readback import MOST_CHARS, PageReader, read_page
from snapshot.parts.media import image_size
from snapshot.raster.atlas import Atlas
from snapshot.view.cells import cell_runs
from snapshot.view.content import PageBlock

__all__ = ["PageShower", "resize_notes", "seen_as", "usd"]


@dataclass(frozen=True, slots=True, eq=False)
class PageShower:
    """What makes blocks of the pages of one text in one layout.

    Attributes:
        atlas: the glyphs they were set with.
        reader: reads them.
        columns: cells across a page.
        profile: the model that will look at them.
        detail: image detail that requests ask for.
        stream: number of the text in the view.
    """

    atlas: Atlas
    reader: PageReader
    columns: int
    profile: ModelProfile
    detail: str | None = None
    stream: int = 0

    def block(
        self, number: int, png: bytes, *, tokens: int | None = None, most: int = MOST_CHARS
    ) -> PageBlock:
        """The block of a page that is number `number` of the view.

        A page that does not read is shown all the same, and says so.

        Args:
            number: from 1.
            png: the image.
            tokens: what it is billed, where that is known; by the profile's rule otherwise.
            most: characters that it may unpack to.
        """
        width, height = image_size(png) or (1, 1)
        seen = seen_as(self.profile, width, height, self.detail)
        if tokens is None:
            rule = self.profile.billing
            tokens = 0 if rule is None else rule.tokens(width, height)
        cell = self.atlas.face.cell
        block = PageBlock(number, png, width, height, seen, tokens, cell, self.columns, stream=self.stream)
        try:
            cells = self.reader.cells(png)
            page = read_page(cells, most=most)
            runs = cell_runs(cells, self.atlas)
        except PageError as error:
            return replace(block, note=f"does not read: {error}")
        return replace(block, text=page.text, marks=page.marks, runs=runs)


def seen_as(profile: ModelProfile, width: int, height: int, detail: str | None = None) -> tuple[int, int]:
    """Size in pixels in which a model sees an image, once its provider has resized it."""
    if profile.billing is None:
        return width, height
    return profile.rule_at(detail or None).preprocess(width, height)


def resize_notes(pages: Sequence[PageBlock]) -> list[str]:
    """What is to be said where the provider resizes pages."""
    changed = [page for page in pages if page.seen != (page.width, page.height)]
    if not changed:
        return []
    worst = min(changed, key=lambda page: page.seen[0] * page.seen[1] / (page.width * page.height))
    return [
        (
            f"{len(changed)} of {len(pages)} pages are resized by the provider, page {worst.number} from "
            f"{worst.width:,} × {worst.height:,} to {worst.seen[0]:,} × {worst.seen[1]:,} pixels: "
            "see them so, and verify them before they are sent"
        )
    ]


def usd(profile: ModelProfile, tokens: int) -> Decimal | None:
    """USD of a request of so many input tokens, none of them cached; None where no price is known."""
    if profile.price is None:
        return None
    return profile.price.at(tokens).input * tokens / 1_000_000
