"""The saw-tooth of a replay: the size of each request, policy by policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import floor, log10

from snapshot.costs.canvas import Canvas
from snapshot.replay.replay import Replay

__all__ = ["saw_tooth"]

_COLOURS: Mapping[str, str] = {"text": "#9aa3ad", "drop": "#c2761b", "summary": "#0a9b6c", "ours": "#1f6feb"}
_RULE, _FAINT, _LIMIT = "#e4e7eb", "#6b7280", "#c0392b"
_LEFT, _WIDTH, _RIGHT, _TOP, _HEIGHT, _BOTTOM = 70, 640, 250, 60, 200, 46


def saw_tooth(runs: Mapping[str, Sequence[Replay]]) -> Canvas:
    """A panel for each run: requests to the right, their input tokens upwards, a line for each policy."""
    panel = _TOP + _HEIGHT + _BOTTOM
    canvas = Canvas(_LEFT + _WIDTH + _RIGHT, panel * max(1, len(runs)))
    for number, (name, replays) in enumerate(runs.items()):
        _panel(canvas, name, replays, panel * number + _TOP)
    return canvas


def _panel(canvas: Canvas, name: str, replays: Sequence[Replay], top: float) -> None:
    model = replays[0].model if replays else ""
    canvas.word(24, top - 36, f"{name}: tokens of each request, {model}", size=14, bold=True)
    bottom = top + _HEIGHT
    safe = max((item.safe for item in replays), default=1)
    most = max([safe, *(item.peak for item in replays)])
    count = max((len(item.requests) for item in replays), default=1)
    step = _round_step(most / 4)
    for value in range(0, most + 1, step):
        y = bottom - _HEIGHT * value / most
        canvas.line((_LEFT, y), (_LEFT + _WIDTH, y), _RULE)
        canvas.word(_LEFT - 8, y, f"{value:,}", size=9.5, fill=_FAINT, anchor="end")
    y = bottom - _HEIGHT * safe / most
    canvas.line((_LEFT, y), (_LEFT + _WIDTH, y), _LIMIT)
    canvas.word(_LEFT + 4, y - 8, f"{safe:,} are safe", size=9.5, fill=_LIMIT)
    canvas.word(_LEFT + _WIDTH, bottom + 14, f"{count:,} requests", size=9.5, fill=_FAINT, anchor="end")
    for at, item in enumerate(replays):
        colour = _COLOURS.get(item.policy, _FAINT)
        points = [
            (_LEFT + _WIDTH * x / max(1, count - 1), bottom - _HEIGHT * tokens / most)
            for x, tokens in _thinned([request.prompt for request in item.requests])
        ]
        for start, end in pairwise(points):
            canvas.line(start, end, colour, 1.5)
        if points and item.stopped is not None:
            canvas.dot(*points[-1], 4, "#ffffff", colour)
        canvas.rect(_LEFT + _WIDTH + 20, top + 34 * at, 10, 10, colour)
        canvas.word(_LEFT + _WIDTH + 36, top + 5 + 34 * at, item.policy, size=11, bold=True)
        canvas.word(_LEFT + _WIDTH + 36, top + 19 + 34 * at, _said(item), size=9.5, fill=_FAINT)


def _said(item: Replay) -> str:
    usd = "" if item.usd is None else f", ${item.usd:.2f}"
    ended = "" if item.stopped is None else f", stops at message {item.stopped + 1}"
    return f"{item.compactions} compactions{usd}{ended}"


def _thinned(values: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Number and value of the points that the picture has room for: the least and the most of each unit."""
    size = max(1, len(values) // _WIDTH)
    for start in range(0, len(values), size):
        stretch = range(start, min(start + size, len(values)))
        for at in sorted({min(stretch, key=values.__getitem__), max(stretch, key=values.__getitem__)}):
            yield at, values[at]


def _round_step(value: float) -> int:
    """The round number (1, 2 or 5 times a power of ten) not above `value`."""
    power = 10 ** max(0, floor(log10(max(1.0, value))))
    return int(max(factor * power for factor in (1, 2, 5) if factor * power <= max(1.0, value)))
