"""The arms of a trial: the same text in other cells, faces and widths, each as a model is really sent it.

An arm is written `FACE`, and behind it what is to differ from the model's own page: `:86` are rows of 86
cells, `/2` two columns of rows, `/lines` keeps lines, and `=FILE` draws with another font in the face's cell.
A page of any shape is `WIDTHxHEIGHT@CELL`, in pixels, and `-BOX` behind it where letters are smaller than
their cell, as in `1932x1932@11x16-8x13`: see `snapshot.trial.shapes`. Two words stand for several arms:
`default` for those of a trial that names none, `peers` for the shapes that other tools send the model.
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
from snapshot.raster.face import Face, cell_of
from snapshot.source.marks import reading_guide
from snapshot.source.source import Source
from snapshot.trial.shapes import peer_shapes, shape_face
from snapshot.typeset.columns import GUTTER

__all__ = ["Arm", "arm_of", "arms_of", "default_arms", "first_arms"]

_FORM = re.compile(
    r"(?P<face>[\w.-]+?)(?::(?P<columns>\d{2,3}))?(?:/(?P<way>lines|[1-9]))?(?:=(?P<font>.+))?"
)
_SIZE = r"(\d{1,4})x(\d{1,4})"
_SHAPE = re.compile(rf"{_SIZE}@{_SIZE}(?:-{_SIZE})?(?:=(?P<font>.+))?")
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
        face: the face of a shape, which no face file describes.
        whole_page: whether the text is to fit on one page of it; rows of another length, columns and kept
            lines may take several.
    """

    name: str
    layout: Layout
    font: Path | None = None
    whole_page: bool = True
    face: Face | None = None

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
        if self.font:
            return self.font.stem
        return self.face.name if self.face else self.layout.face

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
        return tuple(self.typesetter().pages(source))

    def tokens(self, source: Source) -> tuple[int, ...]:
        """Tokens of each page of a text, without drawing it."""
        return tuple(span.tokens for span in self.typesetter().measure(source))

    def typesetter(self) -> Typesetter:
        """What sets its pages.

        Raises:
            FontError: its font cannot be opened, or does not fit its cell.
        """
        return Typesetter(self.layout, font=self.font, face=self.face)


def arm_of(name: str, layout: Layout) -> Arm:
    """The arm of that name for the reader of `layout`.

    Raises:
        SnapshotError: a name that says nothing, a face or font that there is not, a page too small.
    """
    if shape := _SHAPE.fullmatch(name):
        return _shaped(name, layout, shape)
    found = _FORM.fullmatch(name)
    if found is None:
        raise SnapshotError(
            f"{name}: an arm is FACE, FACE:CELLS, FACE/COLUMNS, FACE/lines, FACE=FONTFILE or "
            "WIDTHxHEIGHT@CELL"
        )
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
    arm.typesetter()  # a font that cannot be opened says so here
    return arm


def _shaped(name: str, layout: Layout, found: re.Match[str]) -> Arm:
    """The arm of a page of that size, which may be one that the provider resizes."""
    width, height, across, down = (int(found[at]) for at in range(1, 5))
    box = (int(found[5]), int(found[6])) if found[5] else None
    if not (across and down) or width // across < 20 or height // down < 2:
        raise SnapshotError(f"{name}: a page of {width}x{height} pixels holds too few cells")
    own = replace(
        layout,
        name=name,
        width=width,
        height=height,
        cell=(across, down),
        text_columns=0,
        flow_columns=1,
    )
    font = Path(found["font"]) if found["font"] else None
    arm = Arm(name, own, font, whole_page=False, face=shape_face((across, down), box))
    arm.typesetter()
    return arm


def arms_of(names: Sequence[str], layout: Layout) -> tuple[Arm, ...]:
    """The arms that are named, in that order and each once; those of `default_arms` where none is.

    Raises:
        SnapshotError: as `arm_of`; or `peers` of a reader that no other tool's page is known for.
    """
    found: dict[str, Arm] = {}
    for name in names or ("default",):
        if name == "default":
            found |= {arm.name: arm for arm in default_arms(layout)}
        elif name == "peers":
            shapes = peer_shapes(layout.reader)
            if not shapes:
                raise SnapshotError(f"no page of another tool is known that {layout.reader.title} is sent")
            found |= {shape: arm_of(shape, layout) for shape in shapes}
        else:
            found[name] = arm_of(name, layout)
    return tuple(found.values())


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
