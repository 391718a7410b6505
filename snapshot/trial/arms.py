"""The arms of a trial: the same text in other cells, faces and widths, each as a model is really sent it.

An arm is written `FACE`, and behind it what is to differ from the model's own page: `:86` are rows of 86
cells, `/2` two columns of rows, `/lines` keeps lines, and `=FILE` draws with another font in the face's cell.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from snapshot.errors import FontError, SnapshotError
from snapshot.models.trials import as_wide
from snapshot.pages.layout import Layout
from snapshot.pages.render import Page, Typesetter
from snapshot.raster.face import cell_of
from snapshot.source.marks import reading_guide
from snapshot.source.source import Source
from snapshot.typeset.columns import GUTTER

__all__ = ["Arm", "arm_of", "default_arms", "first_arms"]

_FORM = re.compile(
    r"(?P<face>[\w.-]+?)(?::(?P<columns>\d{2,3}))?(?:/(?P<way>lines|[1-9]))?(?:=(?P<font>.+))?"
)
_LARGEST_SIDE = 2000  # pixels, which every provider takes
_FACES = ("drawn-7x13", "fira-8x16", "drawn-9x16", "fira-9x16", "drawn-11x16")
_NARROW, _WIDE = 86, 172
"""Cells of the rows of most published trials that succeeded, and of the longest that values were copied
from."""


@dataclass(frozen=True, eq=False)
class Arm:
    """A way to set the text.

    Attributes:
        name: as it was written.
        layout: page, cell and face.
        font: a font file that is used before the face's own.
        whole_page: whether the text is to fit on one page of it; rows of another length, columns and kept
            lines may take several.
    """

    name: str
    layout: Layout
    font: Path | None = None
    whole_page: bool = True

    @property
    def area(self) -> int:
        """Pixels per character."""
        return self.layout.cell[0] * self.layout.cell[1]

    @property
    def columns(self) -> int:
        """Cells of a row of text."""
        return self.layout.row_width

    @property
    def glyphs(self) -> str:
        """What stands in the cells, as rows of trials say it."""
        return self.font.stem if self.font else self.layout.face

    @property
    def guide(self) -> str:
        """What is said of how to read its pages."""
        return reading_guide(way=self.layout.way)

    @property
    def resized(self) -> bool:
        """Whether the provider would resize a full page."""
        size = self.layout.width, self.layout.height
        return self.layout.billing.preprocess(*size) != size

    def pages(self, source: Source) -> tuple[Page, ...]:
        """The pages of a text."""
        return tuple(Typesetter(self.layout, font=self.font).pages(source))

    def tokens(self, source: Source) -> tuple[int, ...]:
        """Tokens of each page of a text, without drawing it."""
        return tuple(span.tokens for span in Typesetter(self.layout, font=self.font).measure(source))


def arm_of(name: str, layout: Layout) -> Arm:
    """The arm of that name for the reader of `layout`.

    Raises:
        SnapshotError: a name that says nothing, a face or font that there is not, a page too small.
    """
    found = _FORM.fullmatch(name)
    if found is None:
        raise SnapshotError(f"{name}: an arm is FACE, FACE:CELLS, FACE/COLUMNS, FACE/lines or FACE=FONTFILE")
    face, columns, font = found["face"], int(found["columns"] or 0), found["font"]
    way = found["way"]
    width, height = cell_of(face)
    lines = way == "lines"
    count = int(way) if way and not lines else 1 if columns or lines else layout.flow_columns
    page = layout.width
    if columns or (way and not lines):
        page = (count * (columns or layout.row_width) + GUTTER * (count - 1)) * width
    own = replace(
        layout,
        name=name,
        face=face,
        cell=(width, height),
        width=page,
        text_columns=1 if lines else 0,
        flow_columns=count,
    )
    if lines and not columns:
        # Lines seldom fill a wide row, so they stand in as many columns as are about 80 cells wide.
        own = replace(own, text_columns=max(1, own.columns // 80))
    own = replace(own, height=_unresized(own))
    if page > layout.width and (page > _LARGEST_SIDE or Arm(name, own).resized):
        raise SnapshotError(f"{name}: its rows take {page} pixels, which the provider scales down")
    if own.columns < 20 or own.rows < 2:
        raise SnapshotError(f"{name}: a page of {page}x{layout.height} pixels holds too few cells")
    arm = Arm(name, own, Path(font) if font else None, whole_page=not columns and not way)
    Typesetter(own, font=arm.font)  # a font that cannot be opened says so here
    return arm


def _unresized(layout: Layout) -> int:
    """The greatest height of a page that its provider leaves as it is, by whole rows; its own if there is
    none."""
    heights = (layout.height, *range(layout.height // layout.cell[1] * layout.cell[1], 0, -layout.cell[1]))
    sizes = ((layout.width, height) for height in heights)
    return next((size[1] for size in sizes if layout.billing.preprocess(*size) == size), layout.height)


def default_arms(layout: Layout) -> tuple[Arm, ...]:
    """The arms of a full trial: cells from small to large in the page's own size, and the page's own cell in
    short rows, or in long ones where its own are short, in two columns of rows, and with its lines kept
    (unless the provider resizes such pages)."""
    other = _WIDE if as_wide(layout.row_width, _NARROW) else _NARROW
    ways = (f"{layout.face}:{other}", f"{layout.face}:{_NARROW}/2", f"{layout.face}/lines")
    names = dict.fromkeys((*_FACES, layout.face, *ways))
    arms: list[Arm] = []
    for name in names:
        try:
            arm = arm_of(name, layout)
            if arm.whole_page or not arm.resized:
                arms.append(arm)
        except FontError:
            continue  # a face that this version does not bring
        except SnapshotError:
            if name.startswith(layout.face) and name != layout.face:
                continue  # no such page is sent as it is
            raise
    return tuple(arms)


def first_arms(arms: Sequence[Arm]) -> tuple[Arm, ...]:
    """The arms of the first stage: the smallest cell, the largest, and the one nearest the middle."""
    plain = sorted((arm for arm in arms if arm.whole_page), key=lambda arm: (arm.area, arm.name)) or list(
        arms
    )
    middle = (plain[0].area * plain[-1].area) ** 0.5
    between = min(plain, key=lambda arm: abs(arm.area - middle))
    return tuple(dict.fromkeys((plain[0], between, plain[-1])))
