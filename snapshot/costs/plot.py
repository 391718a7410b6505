"""The picture of costs: characters a token buys, and USD per million characters, text beside pages."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10

from snapshot.costs.canvas import Canvas
from snapshot.costs.costs import Cost

__all__ = ["cost_plot"]

_TEXT, _PAGES, _CACHED, _RULE, _FAINT = "#9aa3ad", "#1f6feb", "#0a9b6c", "#e4e7eb", "#6b7280"
_UNREAD = "#8db8f7"
_ROW, _TOP, _LEFT, _GAP, _PANEL, _RIGHT = 34, 112, 150, 84, 360, 70


def cost_plot(costs: Sequence[Cost], title: str) -> Canvas:
    """The picture for the sums ("all") among `costs`, the model that pages help most first."""
    rows = sorted(
        (cost for cost in costs if cost.text_class == "all"),
        key=lambda cost: cost.per_page_token / cost.per_text_token,
        reverse=True,
    )
    height = _TOP + _ROW * len(rows) + 62
    canvas = Canvas(_LEFT + 2 * _PANEL + _GAP + _RIGHT, height)
    canvas.word(24, 26, title, size=17, bold=True)
    bottom = _TOP + _ROW * len(rows)
    _characters(canvas, rows, _LEFT, bottom)
    _dollars(canvas, rows, _LEFT + _PANEL + _GAP, bottom)
    for at, cost in enumerate(rows):
        y = _TOP + _ROW * (at + 0.5)
        canvas.word(_LEFT - 12, y - 6, cost.model, size=11.5, anchor="end", bold=True)
        columns = f"{cost.layout.width}x{cost.layout.height}, {cost.layout.cell[0]}x{cost.layout.cell[1]}"
        canvas.word(_LEFT - 12, y + 8, columns, size=9, fill=_FAINT, anchor="end")
    canvas.word(
        24,
        height - 16,
        "Text tokens: " + _basis(rows) + ". Prices are those of short prompts. Pages at the default cell.",
        size=9.5,
        fill=_FAINT,
    )
    return canvas


def _basis(rows: Sequence[Cost]) -> str:
    counted = [cost.model for cost in rows if cost.counted_by != "ratio"]
    if not counted:
        return "estimated by measured ratios"
    if len(counted) == len(rows):
        return "counted by each model's vocabulary"
    return f"counted for {', '.join(counted)}; else estimated by measured ratios"


def _characters(canvas: Canvas, rows: Sequence[Cost], left: float, bottom: float) -> None:
    """Bars: characters per token, on a scale of powers of two, since they range from 0.3 to 60."""
    canvas.word(left, 58, "Characters a token buys (logarithmic)", size=13, bold=True)
    canvas.rect(left, 75, 10, 10, _PAGES)
    canvas.word(left + 15, 80, "as pages", size=10.5)
    canvas.rect(left + 78, 75, 10, 10, _UNREAD)
    canvas.word(left + 93, 80, "as pages, reading not measured", size=10.5)
    canvas.rect(left + 264, 75, 10, 10, _TEXT)
    canvas.word(left + 279, 80, "as text", size=10.5)
    values = [value for cost in rows for value in (cost.per_page_token, cost.per_text_token)]
    top = max(8.0, *values)
    low = min(1.0, *values)
    steps = [2.0**n for n in range(floor(_log2(low)), ceil(_log2(top)) + 1)]

    def x(value: float) -> float:
        return left + _PANEL * (_log2(value) - _log2(steps[0])) / (_log2(steps[-1]) - _log2(steps[0]))

    for step in steps:
        canvas.line((x(step), _TOP - 6), (x(step), bottom), _RULE)
        canvas.word(x(step), bottom + 12, f"{step:g}", size=9.5, fill=_FAINT, anchor="middle")
    for at, cost in enumerate(rows):
        y = _TOP + _ROW * at
        colour = _PAGES if cost.layout.reader.measured else _UNREAD
        canvas.rect(left, y + 5, x(cost.per_page_token) - left, 13, colour)
        canvas.rect(left, y + 19, x(cost.per_text_token) - left, 8, _TEXT)
        gain = cost.per_page_token / cost.per_text_token
        end = max(x(cost.per_page_token), x(cost.per_text_token))
        word = (
            f"{cost.per_page_token:.1f}, {gain:.1f} times text"
            if gain >= 1
            else f"{cost.per_page_token:.1f}: text is cheaper"
        )
        if end > left + _PANEL - 96:
            canvas.word(
                x(cost.per_page_token) - 5,
                y + 11.5,
                word,
                size=9.5,
                fill="#ffffff" if cost.layout.reader.measured else "#222222",
                anchor="end",
            )
        else:
            canvas.word(end + 5, y + 12, word, size=9.5)


def _dollars(canvas: Canvas, rows: Sequence[Cost], left: float, bottom: float) -> None:
    """Dots: USD per million characters, fresh and cached, from text to pages."""
    canvas.word(left, 58, "USD per million characters (logarithmic)", size=13, bold=True)
    for at, (label, fill, stroke) in enumerate(
        (("text", _TEXT, _TEXT), ("pages", _PAGES, _PAGES), ("text, cached", "#ffffff", _TEXT),
         ("pages, cached", "#ffffff", _CACHED))
    ):  # fmt: skip
        offset = (0, 52, 112, 200)[at]
        canvas.dot(left + 5 + offset, 80, 4.5, fill, stroke)
        canvas.word(left + 15 + offset, 80, label, size=10.5)
    known = [
        float(value)
        for cost in rows
        for pages in (False, True)
        for cached in (False, True)
        if (value := cost.usd(pages=pages, cached=cached)) is not None
    ]
    if not known:
        canvas.word(left, _TOP + 20, "no price is known", size=11, fill=_FAINT)
        return
    low, high = floor(log10(min(known))), ceil(log10(max(known)))

    def x(value: float) -> float:
        return left + _PANEL * (log10(value) - low) / max(1, high - low)

    for power in range(low, high + 1):
        for digit in (1, 2, 5):
            value = digit * 10.0**power
            if value > 10.0**high:
                continue
            canvas.line((x(value), _TOP - 6), (x(value), bottom), _RULE, 1 if digit == 1 else 0.5)
            if digit == 1:
                canvas.word(x(value), bottom + 12, f"${value:g}", size=9.5, fill=_FAINT, anchor="middle")
    for at, cost in enumerate(rows):
        y = _TOP + _ROW * at
        canvas.line((left, y + _ROW), (left + _PANEL, y + _ROW), _RULE, 0.5)
        for cached, line_y in ((False, y + 11), (True, y + 23)):
            text, pages = (cost.usd(pages=pages, cached=cached) for pages in (False, True))
            if text is None or pages is None:
                if not cached:
                    canvas.word(left + 4, line_y, "no price is known", size=9.5, fill=_FAINT)
                continue
            colour = _CACHED if cached else _PAGES
            canvas.line((x(float(text)), line_y), (x(float(pages)), line_y), colour, 2)
            canvas.dot(x(float(text)), line_y, 4, "#ffffff" if cached else _TEXT, _TEXT)
            canvas.dot(x(float(pages)), line_y, 4, "#ffffff" if cached else _PAGES, colour)


def _log2(value: float) -> float:
    return log10(value) / log10(2)
