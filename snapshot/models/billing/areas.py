"""Rules that bill by area, by printed examples, or by the image; most of them are approximations."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import ceil, sqrt
from typing import Annotated, ClassVar

from msgspec import Meta

from snapshot.models.billing._rule import Number, Rule, Side

Numbers = Annotated[
    tuple[Number, ...],
    Meta(min_length=1, max_length=100, description="a list of 1 to 100 whole numbers above 0"),
]

__all__ = ["FittedImage", "PerArea", "PerAspect", "PerImage", "closest_aspect"]


class PerArea(Rule, frozen=True, tag="per-area"):
    """xAI and DeepSeek, which publish no formula: ⌈w·h / pixels⌉ tokens, from measured bills.

    An image of more than `max_area` is scaled down to it. What the bills show and what they do not is said
    in the layout file that takes this rule.

    Attributes:
        pixels: pixels that one token stands for.
        max_area: area in pixels above which images are scaled down.
    """

    pixels: Number
    max_area: Number

    def preprocess(self, width: int, height: int) -> tuple[int, int]:
        """Size in pixels within the area."""
        if width * height <= self.max_area:
            return width, height
        scale = sqrt(self.max_area / (width * height))
        return max(1, int(width * scale)), max(1, int(height * scale))

    def tokens(self, width: int, height: int) -> int:
        """Area over the pixels of a token."""
        seen = self.preprocess(width, height)
        return -(-seen[0] * seen[1] // self.pixels)


# Amazon Nova: the sides' ratios that images are brought to, each also the other way round (2:4 is 1:2).
_ASPECTS = frozenset({(1, n) for n in range(1, 10)} | {(2, 3)} | {(n, 1) for n in range(1, 10)} | {(3, 2)})


def closest_aspect(width: int, height: int) -> tuple[int, int]:
    """The aspect that Amazon Nova brings an image to: the nearest of 1:1 to 1:9 and 2:3, either way round."""
    return min(sorted(_ASPECTS), key=lambda aspect: abs(width / height - aspect[0] / aspect[1]))


def _reshaped(width: int, height: int, side: int) -> tuple[int, int]:
    """The size at the closest aspect whose short side is the image's own, and one side at least `side`."""
    across, down = closest_aspect(width, height)
    short = min(width, height)
    if max(across, down) * short // min(across, down) < side:
        short = -(-side * min(across, down) // max(across, down))
    return short * across // min(across, down), short * down // min(across, down)


def _aspect_sizes(least: int, side: int) -> Iterator[tuple[int, int]]:
    for across, down in sorted(_ASPECTS):
        for short in range(1, side + 1):
            size = short * across // min(across, down), short * down // min(across, down)
            if least <= max(size) <= side:
                yield size


class PerAspect(Rule, frozen=True, tag="per-aspect"):
    """Amazon Nova 1: tokens by area, between the sizes whose approximate price Amazon prints.

    Images are brought to the closest of a set of aspects, scaled up or down so that a side is at least `side`
    px. Between printed sizes the price is a straight line over the area, beyond them in proportion. Source:
    Amazon's documentation of Nova, which calls its figures approximate.

    Attributes:
        side: least long side that images are scaled up to, in pixels.
        areas: areas in pixels, rising.
        prices: tokens of each.
    """

    side: Side
    areas: Numbers
    prices: Numbers

    def __post_init__(self) -> None:
        if len(self.areas) != len(self.prices) or any(a >= b for a, b in pairwise(self.areas)):
            raise ValueError("areas must rise, and each must have one of the prices")

    def preprocess(self, width: int, height: int) -> tuple[int, int]:
        """Size in pixels at the closest aspect."""
        return _reshaped(width, height, self.side)

    def tokens(self, width: int, height: int) -> int:
        """The price of the area, rounded up."""
        area = width * height
        points = list(zip(self.areas, self.prices, strict=True))
        if area <= points[0][0]:
            return -(-area * points[0][1] // points[0][0])
        for (small, cheap), (large, dear) in pairwise(points):
            if area <= large:
                return cheap + ceil((dear - cheap) * (area - small) / (large - small))
        return -(-area * points[-1][1] // points[-1][0])

    def native_sizes(self, side: int) -> Iterator[tuple[int, int]]:
        """Sizes of an aspect, to the pixel."""
        return _aspect_sizes(self.side, side)


class PerImage(Rule, frozen=True, tag="per-image"):
    """Amazon Nova 2 Lite: `each` tokens an image, whatever its size; images are brought to an aspect.

    Source: Amazon's documentation of Nova 2. The resolution that the model sees is not published.

    Attributes:
        each: tokens of an image.
        side: least long side that images are scaled up to, in pixels.
    """

    flat: ClassVar[bool] = True
    each: Number
    side: Side

    def preprocess(self, width: int, height: int) -> tuple[int, int]:
        """Size in pixels at the closest aspect."""
        return _reshaped(width, height, self.side)

    def tokens(self, width: int, height: int) -> int:  # noqa: ARG002
        """The flat price."""
        return self.each

    def native_sizes(self, side: int) -> Iterator[tuple[int, int]]:
        """Sizes of an aspect, to the pixel."""
        return _aspect_sizes(self.side, side)


class FittedImage(Rule, frozen=True, tag="fitted-image"):
    """A flat price at a low detail: `each` tokens, the image fitted into `max_side` squared.

    Source: OpenAI's guide (512 px, tile-billed models) and SiliconFlow's documentation.

    Attributes:
        each: tokens of an image.
        max_side: largest side in pixels.
    """

    flat: ClassVar[bool] = True
    each: Number
    max_side: Side

    def preprocess(self, width: int, height: int) -> tuple[int, int]:
        """Size in pixels within the square."""
        long = max(width, height)
        if long <= self.max_side:
            return width, height
        return max(1, width * self.max_side // long), max(1, height * self.max_side // long)

    def tokens(self, width: int, height: int) -> int:  # noqa: ARG002
        """The flat price."""
        return self.each
