"""What the contest comes to: its table and picture, and for each reader density against legibility.

    python -m benchmarks.trade            # print the tables
    python -m benchmarks.trade --write    # put them and the pictures into docs/

`python -m benchmarks.contest --write` measures, and calls this.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.contest import kept
from benchmarks.faces import shape_name
from benchmarks.judges import FACTORS, JUDGES
from snapshot.costs.canvas import Canvas
from snapshot.legibility.verify import FLOOR
from snapshot.models.catalog import profiles
from snapshot.models.ids import model_key
from snapshot.models.profile import ModelProfile, Peer
from snapshot.models.trials import Expected, expected
from snapshot.pages.layout import Layout, layout_for

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs" / "legibility.md"
CONTEST, TRIALS = ROOT / "docs" / "contest.svg", ROOT / "docs" / "trials.svg"
_PLACE = r"(?<=<!-- %s -->\n).*?(?=<!-- /%s -->)"
_COLOURS = {"peer": "#9aa3ad", "outline": "#8db8f7", "own": "#1f6feb"}
_LINES = ("#1f6feb", "#c2410c", "#0a9b6c", "#7c3aed", "#b45309", "#0e7490", "#be123c", "#4d7c0f")
_RULE, _FAINT = "#e4e7eb", "#6b7280"
_WORST_SHOWN = 0.2
"""Error rates above this are all drawn at the top: nothing is read there."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A face on a cell as the independent readers of the contest have it.

    Attributes:
        name: what the table calls it.
        area: pixels per character.
        errors: mean character error rate of each reader, at full size and shrunk, on rows without marks.
    """

    name: str
    area: int
    errors: dict[str, float]

    @property
    def error(self) -> float:
        """The mean of the readers."""
        return sum(self.errors.values()) / len(self.errors)

    def no_worse(self, other: Shape) -> bool:
        """Whether each reader reads it at least as well."""
        return all(error <= other.errors[reader] for reader, error in self.errors.items())


@dataclass(frozen=True, slots=True)
class Trade:
    """A reader's page beside the best shape that another tool sends it.

    Attributes:
        layout: ours.
        own: its face in the contest.
        per_token: its cells per token.
        peer, theirs, peer_per_token: the other tool's page of least reading error, the same of it.
        densest: of our faces the one of fewest pixels that no reader reads worse than `theirs`, if any is.
        allowed: the same of those at whose cell published trials let one expect a recall above the floor of
            `verify`, or nobody has tried the reader.
        expected: what trials let one expect at our cell, if there are any.
    """

    layout: Layout
    own: Shape
    per_token: float
    peer: Peer | None
    theirs: Shape | None
    peer_per_token: float
    densest: Shape | None
    allowed: Shape | None
    expected: Expected | None


def shapes(results: dict[str, Any], group: str = "") -> dict[str, Shape]:
    """The judged faces of a group of the kept results, or of all, by name."""
    return {
        item["name"]: Shape(item["name"], item["cell"][0] * item["cell"][1], _errors(item))
        for item in results["results"]
        if group in ("", item["group"]) and item["judges"]
    }


def _errors(item: dict[str, Any]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for judged in item["judges"]:
        if judged["text"] == "rows":
            found.setdefault(judged["reader"], []).append(judged["error_rate"])
    return {reader: sum(rates) / len(rates) for reader, rates in found.items()}


def trades(results: dict[str, Any], layout: str = "default") -> Iterator[Trade]:
    """A row for each reader with that layout, if its face was in the contest and there is a comparison."""
    found = shapes(results)
    own = sorted(shapes(results, "own").values(), key=lambda shape: (shape.area, shape.error))
    for reader in profiles():
        if layout not in reader.layouts or reader.layouts[layout].face not in found:
            continue
        page = layout_for(name=reader.name if layout == "default" else f"{reader.name}/{layout}")
        known = [(peer, found[name]) for peer in reader.peers if (name := _name_of(peer)) in found]
        best = min(known, key=lambda pair: (pair[1].error, -_density(reader, pair[0])), default=None)
        key = model_key(reader.example or reader.models[0].rstrip("*-"))
        recall = expected(reader.trials, key, page.cell[0] * page.cell[1])
        if best is None and recall is None:
            continue
        good = [shape for shape in own if best and shape.no_worse(best[1])]
        allowed = (shape for shape in good if _allows(expected(reader.trials, key, shape.area)))
        yield Trade(
            layout=page,
            own=found[page.face],
            per_token=page.capacity / page.tokens,
            peer=best[0] if best else None,
            theirs=best[1] if best else None,
            peer_per_token=_density(reader, best[0]) if best else 0.0,
            densest=next(iter(good), None),
            allowed=next(allowed, None),
            expected=recall,
        )


def _allows(found: Expected | None) -> bool:
    return found is None or found.at_least or found.recall >= FLOOR


def _name_of(peer: Peer) -> str:
    return shape_name(peer.glyphs, peer.cell) if peer.cell else ""


def _density(reader: ModelProfile, peer: Peer) -> float:
    """Cells per token of a peer's page, were it not resized."""
    assert peer.cell is not None
    assert reader.billing is not None
    cells = peer.width // peer.cell[0] * (peer.height // peer.cell[1])
    return cells / reader.billing.tokens(peer.width, peer.height)


def _head(*cells: str) -> list[str]:
    return [f"| {' | '.join(cells)} |", "|---" * len(cells) + "|"]


def contest_table() -> str:
    """The Markdown table of the judged faces, by pixels per character."""
    columns = tuple((reader, "rows", factor) for reader in JUDGES for factor in FACTORS)
    rows = _head(
        "face, cell", "pixels a character", "Tesseract", "at 0.6", "neutral reader", "at 0.6",
        "Tesseract, page with marks", "bytes a thousand cells", "PP-OCR, shrunk",
    )  # fmt: skip
    judged = [item for item in kept()["results"] if item["judges"]]
    for item in sorted(judged, key=lambda item: (item["cell"][0] * item["cell"][1], item["name"])):
        by_kind = {(found["reader"], found["text"], found["factor"]): found for found in item["judges"]}
        cells = [_told(by_kind.get(kind)) for kind in (*columns, ("tesseract", "marks", 1.0))]
        name = f"**`{item['name']}`**" if item["group"] == "own" else item["name"]
        # What was drawn by a reader is not judged by it.
        tuned = f"({item['error']:.3f})" if item["group"] == "own" else f"{item['error']:.3f}"
        rows.append(
            f"| {name} | {item['cell'][0] * item['cell'][1]} | {' | '.join(cells)} "
            f"| {item['bytes']:,} | {tuned} |"
        )
    return "\n".join(rows) + "\n"


def _told(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    return f"{found['error_rate']:.3f}, {found['exact'] / found['strings']:.2f}"


def trade_table() -> str:
    """The Markdown table of the trade for each reader."""
    rows = _head(
        "reader", "our cell", "reading error", "characters a token", "trials say", "others' best shape",
        "its error", "its characters a token", "ours beside it",
    )  # fmt: skip
    for trade in trades(kept()):
        said = "" if trade.expected is None else f"{trade.expected.recall:.2f}"
        theirs = ["", "", "", ""]
        if trade.theirs is not None:
            theirs = [
                trade.theirs.name,
                f"{trade.theirs.error:.3f}",
                f"{trade.peer_per_token:.1f}",
                f"{trade.per_token / trade.peer_per_token:.2f} times",
            ]
        width, height = trade.layout.cell
        rows.append(
            f"| `{trade.layout.name}` | {width}×{height} | {trade.own.error:.3f} | {trade.per_token:.1f} "
            f"| {said} | {' | '.join(theirs)} |"
        )
    return "\n".join(rows) + "\n"


def equal_table() -> str:
    """The Markdown table of the densest face of ours that is read no worse than each other shape."""
    rows = _head(
        "others' shape", "pixels a character", "reading error", "our densest no worse", "pixels a character",
        "reading error", "characters on the same pixels",
    )  # fmt: skip
    own = sorted(shapes(kept(), "own").values(), key=lambda shape: (shape.area, shape.error))
    for peer in sorted(shapes(kept(), "peer").values(), key=lambda shape: (shape.area, shape.error)):
        best = next((shape for shape in own if shape.no_worse(peer)), None)
        ours = ("none", "", "", "")
        if best is not None:
            ratio = f"{peer.area / best.area:.2f} times"
            ours = (f"`{best.name}`", str(best.area), f"{best.error:.3f}", ratio)
        rows.append(f"| {peer.name} | {peer.area} | {peer.error:.3f} | {' | '.join(ours)} |")
    return "\n".join(rows) + "\n"


def pairs_table() -> str:
    """The Markdown table of what is taken for what, in the package's own faces."""
    rows = _head("face", "at 0.6", "at 0.5")
    for item in kept()["results"]:
        if item["group"] == "own" and item["readings"]:
            by_factor = {reading["factor"]: reading["confused"] for reading in item["readings"]}
            pairs = (", ".join(_pair(*pair) for pair in by_factor[factor][:8]) for factor in (0.6, 0.5))
            rows.append(f"| `{item['name']}` | {' | '.join(pairs)} |")
    return "\n".join(rows) + "\n"


def _pair(stood: str, read: str, count: int) -> str:
    named = (f"`` {char} ``" if char else "nothing" for char in (stood, read))
    return f"{' → '.join(named)} ({count})".replace("|", "\\|")


def defaults_table() -> str:
    """The Markdown table of `benchmarks.defaults`."""
    from benchmarks import defaults

    return defaults.table()


TABLES: dict[str, Callable[[], str]] = {
    "contest": contest_table,
    "defaults": defaults_table,
    "equal": equal_table,
    "pairs": pairs_table,
    "trade": trade_table,
}


def contest_picture() -> Canvas:
    """Reading error against pixels per character, and the best that each number of pixels buys."""
    left, top, wide, high = 96, 76, 800, 420
    canvas = Canvas(left + wide + 40, top + high + 60)
    canvas.word(24, 26, "Error of independent readers against pixels per character", size=17, bold=True)
    names = {"peer": "what other tools use", "outline": "outline faces", "own": "faces of this package"}
    for at, (group, label) in enumerate(names.items()):
        canvas.dot(left + 5 + 170 * at, 52, 4.5, _COLOURS[group], _COLOURS[group])
        canvas.word(left + 15 + 170 * at, 52, label, size=10.5)
    found = sorted(
        (item for item in kept()["results"] if item["judges"]),
        key=lambda item: (list(_COLOURS).index(item["group"]), item["name"]),
    )
    known = shapes(kept())

    def x(area: float) -> float:
        return left + wide * (area - 30) / 180

    def y(error: float) -> float:
        return top + high * (1 - min(error, _WORST_SHOWN) / _WORST_SHOWN)

    for area in range(40, 211, 20):
        canvas.line((x(area), top), (x(area), top + high), _RULE)
        canvas.word(x(area), top + high + 14, str(area), size=9.5, fill=_FAINT, anchor="middle")
    for step in range(5):
        error = step * _WORST_SHOWN / 4
        canvas.line((left, y(error)), (left + wide, y(error)), _RULE)
        label = f"{error:.2f}" + (" and more" if step == 4 else "")
        canvas.word(left - 10, y(error), label, size=9.5, fill=_FAINT, anchor="end")
    canvas.word(left + wide / 2, top + high + 34, "pixels per character", size=10.5, anchor="middle")
    front: list[tuple[float, float]] = []
    for shape in sorted(shapes(kept()).values(), key=lambda shape: (shape.area, shape.error)):
        if not front or shape.error < front[-1][1]:
            front.append((shape.area, shape.error))
    for (a, b), (c, d) in pairwise(front):
        canvas.line((x(a), y(b)), (x(c), y(b)), "#c9ced4", 1.5)
        canvas.line((x(c), y(b)), (x(c), y(d)), "#c9ced4", 1.5)
    places = [(item, x(known[item["name"]].area), y(known[item["name"]].error)) for item in found]
    for item, px, py in places:
        canvas.dot(px, py, 4.5, _COLOURS[item["group"]], _COLOURS[item["group"]])
    taken: list[tuple[float, float]] = []
    for item, px, py in sorted(places, key=lambda place: ("own", "peer", "outline").index(place[0]["group"])):
        if all(abs(px - tx) > 130 or abs(py - ty) > 9 for tx, ty in taken):
            # Pillow's own font, in which the PNG is set, has no ×.
            fill = "#222222" if item["group"] == "own" else _FAINT
            canvas.word(px + 8, py, item["name"].replace("×", "x"), size=8.5, fill=fill)
            taken.append((px, py))
    return canvas


def trials_picture() -> Canvas:
    """Recall in published trials against pixels per character, a line for each reader."""
    shown = [
        reader for reader in profiles() if len({t.area for t in reader.trials if t.what != "hashes"}) > 1
    ]
    left, top, wide, high = 66, 54, 640, 340
    canvas = Canvas(left + wide + 330, top + high + 60)
    canvas.word(24, 26, "Recall in published trials against pixels per character", size=17, bold=True)

    def x(area: float) -> float:
        return left + wide * min(area, 180) / 180

    def y(recall: float) -> float:
        return top + high * (1 - recall)

    for area in range(0, 181, 20):
        canvas.line((x(area), top), (x(area), top + high), _RULE)
        canvas.word(x(area), top + high + 14, str(area), size=9.5, fill=_FAINT, anchor="middle")
    for tenth in range(0, 11, 2):
        canvas.line((left, y(tenth / 10)), (left + wide, y(tenth / 10)), _RULE)
        canvas.word(left - 10, y(tenth / 10), f"{tenth / 10:.1f}", size=9.5, fill=_FAINT, anchor="end")
    canvas.word(left + wide / 2, top + high + 34, "pixels per character", size=10.5, anchor="middle")
    for reader, colour in zip(shown, _LINES, strict=False):
        key = model_key(reader.example or reader.models[0].rstrip("*-"))
        areas = sorted(
            {trial.area for trial in reader.trials if trial.what != "hashes" and trial.area <= 180}
        )
        dots = [(area, found.recall) for area in areas if (found := expected(reader.trials, key, area))]
        for (a, b), (c, d) in pairwise(dots):
            canvas.line((x(a), y(b)), (x(c), y(d)), colour, 1.5)
        for area, recall in dots:
            canvas.dot(x(area), y(recall), 4, colour, colour)
        at = top + 10 + 22 * shown.index(reader)
        canvas.dot(left + wide + 30, at, 4.5, colour, colour)
        canvas.word(left + wide + 42, at, reader.title.partition(" (")[0], size=10.5)
    return canvas


def table_in(text: str, name: str) -> str:
    """What stands in a document between a table's marks."""
    found = re.search(_PLACE % (name, name), text, re.DOTALL)
    assert found, name
    return found[0]


def write() -> None:
    """Put tables and pictures into docs/."""
    text = DOCUMENT.read_text(encoding="utf-8")
    for name, table in TABLES.items():
        made = table()
        text = re.sub(_PLACE % (name, name), lambda _, made=made: made, text, flags=re.DOTALL)
    DOCUMENT.write_text(text, encoding="utf-8")
    CONTEST.write_text(contest_picture().svg(), encoding="utf-8")
    TRIALS.write_text(trials_picture().svg(), encoding="utf-8")


def main() -> None:
    if "--write" in sys.argv[1:]:
        write()
        return
    for table in TABLES.values():
        print(table())
    for trade in trades(kept()):
        named = (
            f"{shape.name}, {shape.area} pixels" if shape else "none"
            for shape in (trade.densest, trade.allowed)
        )
        print("{}: densest no worse than others: {}; that trials allow: {}".format(trade.layout.name, *named))


if __name__ == "__main__":
    main()
