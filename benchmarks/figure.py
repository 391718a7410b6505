"""The figure of README: a session as the text that would be sent, and as the page that is sent in its place.

python -m benchmarks.readme --write
"""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont
from PIL.PngImagePlugin import PngInfo

import snapshot
from snapshot.models.tokens import text_tokens
from snapshot.pages.layout import layout_for
from snapshot.source.source import source_of

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "tests" / "data" / "example.claude-stream.jsonl"
MODEL = "claude-opus-4-8"
SIZE = (1720, 900)
_PAPER, _INK, _GREY, _LINE = "#ffffff", "#1b1f24", "#6a737d", "#d0d7de"
_TOP, _SIDE, _GAP, _TEXT_WIDTH = 108, 40, 110, 640


def counts() -> tuple[int, int, int]:
    """Characters of the example, its tokens as text, and as pages."""
    pages = list(snapshot.render(snapshot.load(EXAMPLE), model=MODEL))
    text = _text()
    return len(text), text_tokens(text, layout_for(MODEL).reader), sum(page.tokens for page in pages)


def told() -> str:
    """The numbers that stand in the figure, in a line."""
    chars, before, after = counts()
    return f"{chars} characters, {before} tokens as text, {after} as pages"


def figure() -> bytes:
    """The figure as PNG; its comment repeats the numbers in it."""
    chars, before, after = counts()
    image = Image.new("RGB", SIZE, _PAPER)
    draw = ImageDraw.Draw(image)
    _column(draw, _SIDE, f"As text: {before:,} tokens", f"{chars:,} characters of calls, results and answers")
    right = _SIDE + _TEXT_WIDTH + _GAP
    _column(
        draw,
        right,
        f"As one page: {after:,} tokens",
        f"{100 - 100 * after // before}% fewer, and exact: the pixels read back",
    )
    _paste_text(image)
    _arrow(draw, _SIDE + _TEXT_WIDTH + 24, SIZE[1] // 2, _GAP - 48)
    _paste_page(image, right)
    out = io.BytesIO()
    comment = PngInfo()
    comment.add_text("Comment", told())
    image.quantize(32, dither=Image.Dither.NONE).save(out, "PNG", optimize=True, pnginfo=comment)
    return out.getvalue()


def _text() -> str:
    return source_of(snapshot.load(EXAMPLE)).text


def _font(size: int, *, bold: bool = False) -> ImageFont.FreeTypeFont:
    import fontpkg_fira_code

    file = Path(str(fontpkg_fira_code.__file__)).parent / "files" / "FiraCode[wght].ttf"
    font = ImageFont.truetype(file, size)
    font.set_variation_by_axes([700 if bold else 400])
    return font


def _column(draw: ImageDraw.ImageDraw, left: int, head: str, below: str) -> None:
    draw.text((left, 24), head, _INK, _font(30, bold=True))
    draw.text((left, 66), below, _GREY, _font(18))


def _paste_text(image: Image.Image) -> None:
    """The first lines of the text as a terminal shows it; the last ones fade, since there are many more."""
    font, step = _font(13), 17
    lines: list[str] = []
    shown = _text().translate({ord("⁋"): None, ord("‣"): " ", ord("\t"): "  "})  # as what they stand for
    for line in shown.splitlines():
        lines += [line[at : at + 80] for at in range(0, max(1, len(line)), 80)]
    room = (SIZE[1] - _TOP - 24) // step
    draw = ImageDraw.Draw(image)
    for number, line in enumerate(lines[:room]):
        fade = max(0.0, (number - room * 0.6) / (room * 0.4))
        shade = round(40 + fade * 200)
        draw.text((_SIDE, _TOP + number * step), line, (shade, shade, shade), font)
    draw.rectangle((_SIDE - 14, _TOP - 8, _SIDE + _TEXT_WIDTH, SIZE[1] - 16), outline=_LINE)


def _arrow(draw: ImageDraw.ImageDraw, left: int, middle: int, length: int) -> None:
    draw.line((left, middle, left + length - 14, middle), _GREY, 5)
    tip = left + length
    draw.polygon([(tip, middle), (tip - 20, middle - 14), (tip - 20, middle + 14)], fill=_GREY)


def _paste_page(image: Image.Image, left: int) -> None:
    """The page made small enough to be seen whole, and below it a stretch of it in its own size."""
    page = next(snapshot.render(snapshot.load(EXAMPLE), model=MODEL))
    with Image.open(io.BytesIO(page.png)) as opened:
        whole = opened.convert("RGB")
    width = SIZE[0] - _SIDE - left
    height = round(whole.height * width / whole.width)
    room = SIZE[1] - _TOP - 24
    if height > room * 0.62:
        height = round(room * 0.62)
        small = whole.resize((round(whole.width * height / whole.height), height), Image.Resampling.LANCZOS)
    else:
        small = whole.resize((width, height), Image.Resampling.LANCZOS)
    image.paste(small, (left, _TOP))
    draw = ImageDraw.Draw(image)
    draw.rectangle((left - 1, _TOP - 1, left + small.width, _TOP + small.height), outline=_LINE)
    top = _TOP + small.height + 44
    draw.text((left, top - 30), "a part of it, as it is sent:", _GREY, _font(18))
    stretch = whole.crop((0, 0, min(whole.width, width), min(whole.height, SIZE[1] - top - 18)))
    image.paste(stretch, (left, top))
    draw.rectangle((left - 1, top - 1, left + stretch.width, top + stretch.height), outline=_LINE)
