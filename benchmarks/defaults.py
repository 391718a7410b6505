"""Every default layout: what each independent reader makes of its face today, and why it is the default.

`benchmarks.trade` puts the table into docs/legibility.md. Its figures are the kept ones of
`benchmarks.contest` and `benchmarks.marks`, and the reasons follow from the rows of published trials.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks import contest, marks
from snapshot.models.catalog import profiles
from snapshot.models.ids import model_key
from snapshot.models.profile import ModelProfile
from snapshot.models.trials import Expected, expected
from snapshot.pages.layout import Layout, layout_for
from snapshot.source.marks import DRAWING

__all__ = ["BEFORE", "Default", "defaults", "table"]

BEFORE = "drawn-9x16"
"""The face that most readers had before, which a default without trials is not to be read worse than."""
_SAME = 0.01  # by which two cells may differ in pixels and be one, as `expected` has it
_HEADS = (
    "reader", "page", "rows of", "face", "Tesseract", "neutral reader", "line numbers", "line ends", "why",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Default:
    """A reader's default layout.

    Attributes:
        layout: it.
        expected: what trials of the reader let one expect at its cell; None where there are none.
        kin: a cell of as many pixels at which a reader of the same provider was tried, where there is one.
    """

    layout: Layout
    expected: Expected | None
    kin: tuple[int, int] | None

    @property
    def why(self) -> str:
        """The reason, in a few words."""
        found = self.expected
        if found is None and self.kin is not None:
            same = "that very cell" if self.kin == self.layout.cell else f"the pixels of {_cell(self.kin)}"
            return f"{same}, at which other readers of the provider were tried"
        if found is None:
            return (
                f"nobody tried it: the cell of fewest pixels that both judges read no worse than `{BEFORE}`"
            )
        who = "others of its kind were" if found.borrowed else "it was"
        tried = sorted({trial.cell for trial in found.trials}, key=lambda cell: cell[0] * cell[1])
        cells, recall = " and ".join(map(_cell, tried)), f"({found.recall:.2f})"
        if found.at_least:
            return f"larger than {cells}, at which {who} tried {recall}"
        if len({width * height for width, height in tried}) > 1:
            return f"between {cells}, at which {who} tried {recall}"
        same = "that very cell" if self.layout.cell in tried else f"the pixels of {cells}"
        return f"{same}, at which {who} tried {recall}"


def _cell(cell: tuple[int, int]) -> str:
    return f"{cell[0]}×{cell[1]}"


def defaults() -> Iterator[Default]:
    """All readers with pages, in the order of the layout files."""
    readers = [reader for reader in profiles() if reader.layouts]
    for reader in readers:
        layout = layout_for(name=reader.name)
        area = layout.cell[0] * layout.cell[1]
        key = model_key(reader.example or reader.models[0].rstrip("*-"))
        yield Default(layout, expected(reader.trials, key, area), _tried_by_kin(reader, readers, area))


def _tried_by_kin(reader: ModelProfile, readers: list[ModelProfile], area: int) -> tuple[int, int] | None:
    """A cell of so many pixels at which another reader of the provider was tried."""
    return next(
        (
            trial.cell
            for other in readers
            if other.provider == reader.provider and other.name != reader.name
            for trial in other.trials
            if abs(trial.area - area) <= _SAME * area
        ),
        None,
    )


def table() -> str:
    """The Markdown table."""
    judged = {item["name"]: item["judges"] for item in contest.kept()["results"]}
    marked = {(item.face, item.reader): item.counts for item in marks.kept() if item.drawing == DRAWING}
    lines = [f"| {' | '.join(_HEADS)} |", "|" + "---|" * len(_HEADS)]
    for default in defaults():
        layout = default.layout
        counts = [marked[layout.face, reader] for reader in marks.READERS]
        cells = [
            f"`{layout.name}`",
            f"{layout.width}×{layout.height}",
            str(layout.row_width),
            f"`{layout.face}`",
            *(_errors(judged[layout.face], reader) for reader in ("tesseract", "neutral")),
            ", ".join(f"{_share(found.numbers):.2f}" for found in counts),
            ", ".join(f"{_share(found.ends):.2f}" for found in counts),
            default.why,
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _share(pair: tuple[int, int]) -> float:
    return pair[0] / max(1, pair[1])


def _errors(judges: list[dict[str, Any]], reader: str) -> str:
    """A judge's error rates of rows, at full size and shrunk."""
    rates = {item["factor"]: item["error_rate"] for item in judges
             if item["reader"] == reader and item["text"] == "rows"}  # fmt: skip
    return ", ".join(f"{rates[factor]:.3f}" for factor in sorted(rates, reverse=True))
