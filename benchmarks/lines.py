"""What it costs to keep lines: characters per token on full pages, by class of text and number of columns.

    python -m benchmarks.lines SESSION…

0 columns is flowing text. Pages are those of the readers that have a layout called `lines`.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import snapshot
from benchmarks.page_size import line_columns
from snapshot.costs.content_kinds import classes_of
from snapshot.models.catalog import profiles
from snapshot.pages.layout import layout_for
from snapshot.pages.render import Typesetter
from snapshot.source.source import Source

_PAGES = 12
"""Full pages that a class is repeated to fill."""


def main() -> None:
    sessions = sys.argv[1:]
    if not sessions:
        sys.exit("name the conversations to measure")
    texts = classes_of(snapshot.load(session) for session in sessions)
    print(f"{'layout':<24}{'columns':>8}{'cells':>7}" + "".join(f"{name:>9}" for name in texts))
    for reader in (reader for reader in profiles() if "lines" in reader.layouts):
        lines = layout_for(name=f"{reader.name}/lines")
        for count in range(line_columns(lines.columns) + 2):
            layout = replace(lines, text_columns=count)
            found = [_per_token(Typesetter(layout), text) for text in texts.values()]
            chosen = " *" if count == lines.text_columns else ""
            width = layout.capacity // layout.rows // max(1, count)
            print(
                f"{reader.name:<24}{count:>8}{width:>7}"
                + "".join(f"{value:>9.2f}" for value in found)
                + chosen
            )


def _per_token(setting: Typesetter, text: str) -> float:
    layout = setting.layout
    source = Source(text * (_PAGES * layout.capacity // len(text) + 1))
    grids = list(setting.grids(source, setting.atlas(source)))[:-1]
    return sum(grid.stop - grid.start for grid in grids) / len(grids) / layout.tokens


if __name__ == "__main__":
    main()
