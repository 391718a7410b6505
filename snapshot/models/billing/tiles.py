"""Rules that cut an image into tiles and bill each alike."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from snapshot.models.billing._rule import Extra, Number, Rule, Side, Tiles

__all__ = ["CanvasTiles", "CroppedTiles", "FittedTiles", "ShortSideTiles"]


class ShortSideTiles(Rule, frozen=True, tag="short-side-tiles"):
    """OpenAI, tile-billed models: base + each · tiles of 512 px, after a resize in two steps.

    First the image is fitted into `max_side` squared, then its short side is brought down to `short_side`,
    the other side rounded down; neither step enlarges. Source: OpenAI's guide to images and vision (2026).

    Attributes:
        base: tokens of every image.
        each: tokens of a tile.
        tile: side of a tile in pixels.
        max_side: largest side in pixels.
        short_side: largest short side in pixels.
    """

    base: Extra
    each: Number
    tile: Side
    max_side: Side
    short_side: Side

    def preprocess(self, width: int, height: int) -> tuple[int, int]:
        """Size in pixels after both steps."""
        long = max(width, height)
        if long > self.max_side:
            width = max(1, width * self.max_side // long)
            height = max(1, height * self.max_side // long)
        short = min(width, height)
        if short > self.short_side:
            width = width * self.short_side // short
            height = height * self.short_side // short
        return width, height

    def tokens(self, width: int, height: int) -> int:
        """The base and the tiles."""
        seen = self.preprocess(width, height)
        return self.base + self.each * -(-seen[0] // self.tile) * -(-seen[1] // self.tile)


class CroppedTiles(Rule, frozen=True, tag="cropped-tiles"):
    """Gemini 2: square crops of ⌊shorter side / 1.5⌋ px, each scaled to `tile` px and billed `each`.

    An image of which neither side is over `small` is one tile. Source: Google's documentation of token
    counting (2026). An older page of Google Cloud also keeps the crop within 256 to 768 px; where the crop is
    exactly `tile` px, both agree.

    Attributes:
        each: tokens of a tile.
        tile: side of a tile as the encoder sees it, in pixels.
        small: largest side of an image that is one tile, in pixels.
    """

    each: Number
    tile: Side
    small: Side

    def _crop(self, width: int, height: int) -> int:
        return max(1, min(width, height) * 2 // 3)

    def preprocess(self, width: int, height: int) -> tuple[int, int]:
        """Size in pixels of the whole image at the scale of its tiles."""
        crop = max(width, height) if max(width, height) <= self.small else self._crop(width, height)
        return width * self.tile // crop, height * self.tile // crop

    def tokens(self, width: int, height: int) -> int:
        """Tiles, at their price."""
        if max(width, height) <= self.small:
            return self.each
        crop = self._crop(width, height)
        return self.each * -(-width // crop) * -(-height // crop)

    def native_sizes(self, side: int) -> Iterator[tuple[int, int]]:
        """Sizes whose crops are exactly one tile."""
        shorts = [short for short in range(1, side + 1) if self._crop(short, short) == self.tile]
        for short in shorts:
            for long in range(short, side + 1):
                yield short, long
                if long != short:
                    yield long, short


class CanvasTiles(Rule, frozen=True, tag="canvas-tiles"):
    """Llama 4: the canvas of whole tiles that fits best, `each` tokens a tile, and one more for the whole.

    Canvases are all grids of at most `max_tiles`. The best needs the least enlarging, or else the least
    shrinking, and of these has the least area; the image is never enlarged over its own size, but to one
    tile. Source: the open Llama 4 processor (transformers 5.24.0).

    Attributes:
        tile: side of a tile in pixels.
        each: tokens of a tile.
        max_tiles: most tiles of one image; the overview tile of more than one is not counted.
    """

    tile: Side
    each: Number
    max_tiles: Tiles

    def _canvas(self, width: int, height: int) -> tuple[int, int]:
        """Tiles across and down."""

        def preference(grid: tuple[int, int]) -> tuple[bool, float, int]:
            scale = min(grid[0] * self.tile / width, grid[1] * self.tile / height)
            return scale < 1, scale if scale >= 1 else -scale, grid[0] * grid[1]

        return min(_grids(self.max_tiles), key=preference)

    def preprocess(self, width: int, height: int) -> tuple[int, int]:
        """Size in pixels on the canvas, before its padding."""
        across, down = self._canvas(width, height)
        room_x = min(max(width, self.tile), across * self.tile)
        room_y = min(max(height, self.tile), down * self.tile)
        scale = min(room_x / width, room_y / height)
        if scale == 1:
            return width, height
        return max(1, min(room_x, int(width * scale))), max(1, min(room_y, int(height * scale)))

    def tokens(self, width: int, height: int) -> int:
        """Tiles, with the overview, at their price."""
        across, down = self._canvas(width, height)
        tiles = across * down
        return self.each * (tiles + (tiles > 1))


class FittedTiles(Rule, frozen=True, tag="fitted-tiles"):
    """Llama 3.2 Vision: `each` tokens a tile, at most `most` by `most` of them.

    Larger images are fitted into the largest canvas. Source: Together's documentation of its price.

    Attributes:
        tile: side of a tile in pixels.
        each: tokens of a tile.
        most: tiles along a side.
    """

    tile: Side
    each: Number
    most: Tiles

    def preprocess(self, width: int, height: int) -> tuple[int, int]:
        """Size in pixels within the largest canvas."""
        long, room = max(width, height), self.tile * self.most
        if long <= room:
            return width, height
        return max(1, width * room // long), max(1, height * room // long)

    def tokens(self, width: int, height: int) -> int:
        """Tiles, at their price."""
        seen = self.preprocess(width, height)
        return self.each * -(-seen[0] // self.tile) * -(-seen[1] // self.tile)


@cache
def _grids(most: int) -> tuple[tuple[int, int], ...]:
    """Grids of at most `most` tiles, (across, down)."""
    return tuple((across, down) for across in range(1, most + 1) for down in range(1, most // across + 1))
