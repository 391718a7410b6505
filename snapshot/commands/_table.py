"""Tables and paragraphs within the width there is: that of the terminal, or COLUMNS; any in a pipe."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from snapshot.commands._console import columns as columns_of_terminal

__all__ = ["Column", "cells", "cut", "folded", "paragraph", "table", "width"]

_NARROWEST = 24
_PROSE = 100  # columns beyond which lines of prose are hard to read
_GAP = "  "


class Column(NamedTuple):
    """A column: its head, whether it stands at the right, what it may be cut to (0: it is not cut), and
    whether it may be left out where there is no room."""

    name: str
    right: bool = True
    least: int = 0
    spare: bool = False


def width() -> int | None:
    """Columns that there are for a line of standard output; None where nothing limits them."""
    with suppress(ValueError):
        if (told := int(os.environ.get("COLUMNS", ""))) > 0:
            return max(_NARROWEST, told)
    found = columns_of_terminal()
    return None if found is None else max(_NARROWEST, found)


def paragraph(
    text: str, *, indent: str = "", first: str | None = None, within: int | None = None
) -> list[str]:
    """Prose in lines of at most 100 columns, fewer where there are fewer; the first one behind `first`."""
    from textwrap import wrap

    most = min(_PROSE, within or width() or _PROSE)
    start = indent if first is None else first
    return wrap(
        text,
        max(_NARROWEST, most),
        initial_indent=start,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [start.rstrip()]


def folded(line: str) -> list[str]:
    """A line of a report; where the terminal is narrow, its rest stands below its beginning."""
    most = width()
    if most is None or cells(line) <= most:
        return [line]
    text = line.lstrip()
    start = line[: len(line) - len(text)]
    return paragraph(text, indent=start + "    ", first=start, within=most)


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]], within: int | None = None) -> list[str]:
    """Lines of a table. Where it is too wide, columns that may be are cut; then the last ones follow each row
    on lines of their own, with their names; spare ones are left out, which a line says.

    Args:
        columns: the first is what a row is about, and stays.
        rows: a cell for each column.
        within: columns of a terminal that there are; None: what `width` says.
    """
    most = within or width()
    sizes = [
        max(cells(column.name), *(cells(row[at]) for row in rows), 0) if rows else cells(column.name)
        for at, column in enumerate(columns)
    ]
    shown = len(columns)
    if most is not None:
        sizes, shown = _fitted(columns, sizes, most)
    spare = [column.name for column in columns[shown:] if column.spare]
    head = _line([column.name for column in columns[:shown]], columns, sizes)
    lines = [head]
    for row in rows:
        lines.append(_line(row[:shown], columns, sizes))
        rest = [
            f"{column.name} {cell}"
            for column, cell in zip(columns[shown:], row[shown:], strict=True)
            if not column.spare
        ]
        if rest:
            lines += _joined(rest, most or _PROSE)
    if spare:
        lines += paragraph(f"(a wider terminal has also: {', '.join(spare)})", within=most)
    return lines


def _fitted(columns: Sequence[Column], sizes: list[int], most: int) -> tuple[list[int], int]:
    """Sizes of the columns, and how many of them stand in a row."""
    shown = len(columns)
    sizes = list(sizes)
    while True:
        over = sum(sizes[:shown]) + len(_GAP) * (shown - 1) - most
        for at in range(shown):
            least = max(columns[at].least, 0)
            if over > 0 and least and sizes[at] > least:
                cut = min(over, sizes[at] - max(least, cells(columns[at].name)))
                sizes[at] -= max(0, cut)
                over -= max(0, cut)
        if over <= 0 or shown == 1:
            return sizes, shown
        shown -= 1


def _line(row: Sequence[str], columns: Sequence[Column], sizes: Sequence[int]) -> str:
    parts = []
    for cell, column, size in zip(row, columns, sizes, strict=False):
        text = cut(cell, size)
        space = " " * (size - cells(text))
        parts.append(space + text if column.right else text + space)
    return _GAP.join(parts).rstrip()


def _joined(items: Sequence[str], most: int) -> list[str]:
    """Items behind each other, as many as a line has room for; what is longer than a line is wrapped."""
    from textwrap import wrap

    lines: list[str] = []
    for item in items:
        longer = f"{lines[-1]}, {item}" if lines else ""
        if lines and cells(longer) <= most:
            lines[-1] = longer
        elif cells(item) + 4 <= most:
            lines.append(f"    {item}")
        else:
            wide = cells(item) - len(item)  # what is twice as wide as a letter leaves less room
            lines += wrap(item, max(8, most - wide), initial_indent="    ", subsequent_indent="      ")
    return lines


def cut(text: str, size: int) -> str:
    """`text` in `size` columns, with an ellipsis where it is longer."""
    if cells(text) <= size:
        return text
    kept = ""
    for char in text:
        if cells(kept + char) > size - 1:
            break
        kept += char
    return kept + "…"


def cells(text: str) -> int:
    """Columns that a text takes in a terminal."""
    if text.isascii():
        return len(text)
    from wcwidth import wcswidth

    return max(wcswidth(text), len(text) if wcswidth(text) < 0 else 0)
