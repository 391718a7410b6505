"""The solver's page for every reader beside the best of the shapes that other tools use, at the same cell.

python -m benchmarks.solve            # print the comparison, and why each page is as it is
python -m benchmarks.solve --write    # put the solver's answers into layouts/*.toml
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

from benchmarks.page_size import Answer, bounds_of, explain, page_for
from snapshot.models.catalog import layout_files, profiles
from snapshot.models.profile import ModelProfile, Peer
from snapshot.models.trials import widest_read
from snapshot.raster.face import cell_of

_NUMBERS = r'(?<![\w-])%s = { face = "(.*?)", width = \d+, height = \d+(, flow_columns = \d+)?'


@dataclass(frozen=True)
class Row:
    """One reader and cell: the solver's answer, and what the best other shape reaches."""

    reader: ModelProfile
    layout: str
    cell: tuple[int, int]
    answer: Answer
    peer: Peer | None
    peer_per_token: float
    resized: bool


def answer_for(reader: ModelProfile, name: str) -> Answer:
    """The page of a layout: of pages that keep lines the best, of others one with rows that were read."""
    assert reader.billing is not None
    shape = reader.layouts[name]
    longest = widest_read(reader.trials)
    read = longest.columns if longest and not shape.text_columns else 0
    bounds = bounds_of(reader.limits, reader.bounds)
    answer = page_for(reader.billing, cell_of(shape.face), bounds, read, columns=name.startswith("columns"))
    assert answer is not None, f"{reader.name}: no page fits"
    return answer


def compare() -> list[Row]:
    """A row for each layout of each reader."""
    rows = []
    for reader in profiles():
        for name, shape in reader.layouts.items():
            if shape.text_columns or name.startswith("columns"):
                continue  # see benchmarks.lines and benchmarks.columns
            assert reader.billing is not None
            cell = cell_of(shape.face)
            best, best_per_token, resized = None, 0.0, False
            for peer in reader.peers:
                width, height = peer.width, peer.height
                seen = reader.billing.preprocess(width, height)
                # A page that is scaled down holds its characters only at a smaller cell: at the same cell as
                # the others it holds what fits the size that is seen.
                inside = min(width, seen[0]) // cell[0] * (min(height, seen[1]) // cell[1])
                per_token = inside / reader.billing.tokens(width, height)
                if per_token > best_per_token:
                    best, best_per_token = peer, per_token
                    resized = seen != (width, height)
            rows.append(Row(reader, name, cell, answer_for(reader, name), best, best_per_token, resized))
    return rows


def write() -> None:
    """Put the answers into the layout files."""
    for path in layout_files():
        text = path.read_text(encoding="utf-8")
        head, *entries = re.split(r"(?=^\[\[readers\]\]$)", text, flags=re.MULTILINE)
        for at, entry in enumerate(entries):
            found = re.search(r'^name = "(.*)"$', entry, re.MULTILINE)
            assert found, path
            reader = next(reader for reader in profiles() if reader.name == found[1])
            for layout in reader.layouts:
                answer = answer_for(reader, layout)
                flow = f", flow_columns = {answer.count}" if answer.count > 1 else ""
                new = rf'{layout} = {{ face = "\1", width = {answer.width}, height = {answer.height}{flow}'
                entry = re.sub(_NUMBERS % layout, new, entry)  # noqa: PLW2901
            entries[at] = entry
        path.write_text(head + "".join(entries), encoding="utf-8")


def main() -> None:
    if "--write" in sys.argv[1:]:
        write()
        return
    print(
        f"{'layout':<32}{'page':>11}{'cells':>8}{'tokens':>8}{'per token':>11}{'other tools':>13}  their page"
    )
    for row in compare():
        reader, answer = row.reader, row.answer
        name = reader.name if row.layout == "default" else f"{reader.name}/{row.layout}"
        size = f"{answer.width}x{answer.height}"
        peer = f"{row.peer.width}x{row.peer.height}, {row.peer.who}" if row.peer else ""
        per_token = f"{row.peer_per_token:.2f}" if row.peer else ""
        print(
            f"{name:<32}{size:>11}{answer.cells:>8,}{answer.tokens:>8,}{float(answer.per_token):>11.2f}"
            f"{per_token:>13}  {peer}"
        )
        assert reader.billing is not None
        if "--why" in sys.argv[1:]:
            for reason in explain(reader.billing, row.cell, bounds_of(reader.limits, reader.bounds)):
                print(f"    {reason}")


if __name__ == "__main__":
    main()
