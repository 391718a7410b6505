"""Columns of lines on a page: their width, and the gutter between them."""

from __future__ import annotations

__all__ = ["GUTTER", "column_width"]

GUTTER = 3
"""Cells between two columns of lines: a blank, a stroke, a blank."""


def column_width(columns: int, count: int) -> int:
    """Cells of a line, on a page of `columns` cells across in `count` columns of lines."""
    return (columns - GUTTER * (count - 1)) // count
