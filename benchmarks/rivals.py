"""What one would write instead: Pillow with care, and Pillow as it comes."""

from __future__ import annotations

from io import BytesIO

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from benchmarks.measure import Variant
from snapshot.source.source import Source

__all__ = ["careful_pillow", "naive_pillow"]


def _rows(text: str, columns: int) -> list[str]:
    """Lines wrapped at the width of a page."""
    return [line[at : at + columns] for line in text.split("\n") for at in range(0, len(line) or 1, columns)]


def careful_pillow(text: str, setting: Variant, mode: str) -> int:
    """Pages with glyphs pasted from images that are made once; mode "1" or "L". Bytes of their PNG files."""
    layout, atlas = setting.layout, setting.atlas(Source(text))
    grey = 255 - atlas.ink.astype(np.uint16) * 255 // (atlas.face.levels - 1)
    images = {
        char: Image.fromarray(grey[atlas.glyphs[ord(char)]].astype(np.uint8), "L").convert(mode)
        for char in set(text)
        if atlas.cells[ord(char)] == 1 and char != " "
    }
    width, height = layout.cell
    rows = _rows(text, layout.columns)
    total = 0
    for at in range(0, len(rows), layout.rows):
        page = Image.new(mode, (layout.width, layout.height), 255)
        paste = page.paste
        for y, row in enumerate(rows[at : at + layout.rows]):
            for x, char in enumerate(row):
                if char in images:
                    paste(images[char], (x * width, y * height))
        total += _saved(page)
    return total


def naive_pillow(text: str, setting: Variant) -> int:
    """Pages of which every line is drawn with ImageDraw.text. Bytes of their PNG files."""
    layout = setting.layout
    font = ImageFont.truetype(str(setting.face.path), 14)
    rows = _rows(text, layout.columns)
    total = 0
    for at in range(0, len(rows), layout.rows):
        page = Image.new("L", (layout.width, layout.height), 255)
        pen = ImageDraw.Draw(page)
        for y, row in enumerate(rows[at : at + layout.rows]):
            pen.text((0, y * layout.cell[1]), row, font=font, fill=0)
        total += _saved(page)
    return total


def _saved(page: Image.Image) -> int:
    file = BytesIO()
    page.save(file, "PNG")
    return file.tell()
