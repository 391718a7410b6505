"""Pictures of a few shapes and words, as SVG text or as PNG by Pillow: no plotting library is needed."""

from __future__ import annotations

from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Literal, TypeAlias
from xml.sax.saxutils import escape

from snapshot.errors import OutputError

__all__ = ["Canvas", "encoded"]

Anchor: TypeAlias = Literal["start", "middle", "end"]

_PAPER = "#ffffff"
_FAMILY = "Inter, Helvetica, Arial, sans-serif"
_SCALE = 2
"""Pixels of a PNG per unit."""


@dataclass(frozen=True, slots=True)
class _Rect:
    x: float
    y: float
    width: float
    height: float
    fill: str


@dataclass(frozen=True, slots=True)
class _Line:
    x1: float
    y1: float
    x2: float
    y2: float
    stroke: str
    width: float


@dataclass(frozen=True, slots=True)
class _Dot:
    x: float
    y: float
    radius: float
    fill: str
    stroke: str


@dataclass(frozen=True, slots=True)
class _Word:
    x: float
    y: float
    text: str
    size: float
    fill: str
    anchor: Anchor
    bold: bool


@dataclass(slots=True)
class Canvas:
    """Shapes on white paper of `width` by `height` units, in the order they are drawn; y runs down."""

    width: int
    height: int
    shapes: list[_Rect | _Line | _Dot | _Word] = field(default_factory=list)

    def rect(self, x: float, y: float, width: float, height: float, fill: str) -> None:
        """A filled rectangle."""
        self.shapes.append(_Rect(x, y, width, height, fill))

    def line(
        self, start: tuple[float, float], end: tuple[float, float], stroke: str, width: float = 1
    ) -> None:
        """A line from one point to another."""
        self.shapes.append(_Line(*start, *end, stroke, width))

    def dot(self, x: float, y: float, radius: float, fill: str, stroke: str) -> None:
        """A circle with an outline."""
        self.shapes.append(_Dot(x, y, radius, fill, stroke))

    def word(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = 11,
        fill: str = "#222222",
        anchor: Anchor = "start",
        bold: bool = False,
    ) -> None:
        """Text with its middle line at y."""
        self.shapes.append(_Word(x, y, text, size, fill, anchor, bold))

    def svg(self) -> str:
        """The picture as SVG."""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" '
            f'viewBox="0 0 {self.width} {self.height}" font-family="{_FAMILY}">'
        )
        paper = f'<rect width="100%" height="100%" fill="{_PAPER}"/>'
        return "\n".join([head, paper, *map(_element, self.shapes), "</svg>\n"])

    def png(self) -> bytes:
        """The picture as PNG, two pixels a unit."""
        from PIL import Image, ImageDraw, ImageFont

        image = Image.new("RGB", (self.width * _SCALE, self.height * _SCALE), _PAPER)
        pen = ImageDraw.Draw(image)
        anchors = {"start": "lm", "middle": "mm", "end": "rm"}
        for shape in self.shapes:
            match shape:
                case _Rect():
                    right, bottom = shape.x + shape.width, shape.y + shape.height
                    corners = [shape.x * _SCALE, shape.y * _SCALE, right * _SCALE - 1, bottom * _SCALE - 1]
                    if corners[2] >= corners[0] and corners[3] >= corners[1]:
                        pen.rectangle(corners, fill=shape.fill)
                case _Line():
                    ends = [value * _SCALE for value in (shape.x1, shape.y1, shape.x2, shape.y2)]
                    pen.line(ends, fill=shape.stroke, width=max(1, round(shape.width * _SCALE)))
                case _Dot():
                    centre, radius = (shape.x * _SCALE, shape.y * _SCALE), shape.radius * _SCALE
                    pen.circle(centre, radius, fill=shape.fill, outline=shape.stroke, width=3)
                case _Word():
                    font = ImageFont.load_default(shape.size * _SCALE)
                    pen.text(
                        (shape.x * _SCALE, shape.y * _SCALE), shape.text, fill=shape.fill, font=font,
                        anchor=anchors[shape.anchor], stroke_width=0.6 if shape.bold else 0,
                    )  # fmt: skip
        out = BytesIO()
        image.save(out, "PNG")
        return out.getvalue()


def _element(shape: _Rect | _Line | _Dot | _Word) -> str:
    """A shape as an SVG element."""
    match shape:
        case _Rect(x, y, width, height, fill):
            return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}"/>'
        case _Line(x1, y1, x2, y2, stroke, width):
            ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
            return f'<line {ends} stroke="{stroke}" stroke-width="{width}"/>'
        case _Dot(x, y, radius, fill, stroke):
            centre = f'cx="{x:.1f}" cy="{y:.1f}" r="{radius}"'
            return f'<circle {centre} fill="{fill}" stroke="{stroke}" stroke-width="1.5"/>'
        case _Word(x, y, text, size, fill, anchor, bold):
            weight = ' font-weight="600"' if bold else ""
            return (
                f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill}" text-anchor="{anchor}" '
                f'dominant-baseline="central"{weight}>{escape(text)}</text>'
            )


def encoded(canvas: Canvas, path: Path) -> bytes:
    """The picture as SVG or PNG, as the name of a file says.

    Raises:
        OutputError: the name ends in neither.
    """
    suffix = path.suffix.lower()
    if suffix not in (".svg", ".png"):
        raise OutputError(f"{path}: a plot is written as .svg or .png")
    return canvas.svg().encode("utf-8") if suffix == ".svg" else canvas.png()
