"""Where units that do not fit at the end of a row push what follows: the one loop that is sequential.

Plain Python, quick enough for a million units; `snapshot.typeset.kernels` has it compiled.
"""

from __future__ import annotations

from typing import Any

__all__ = ["place"]


def place(at: Any, widths: Any, column: int, columns: int, pads: Any) -> None:
    """Write into `pads` how many cells of filling go before each unit.

    Args:
        at: cells before each unit, were there no filling.
        widths: cells of each unit; a unit wider than a row is never filled for.
        column: column that the first cell of the stretch stands in.
        columns: cells in a row.
        pads: output, as long as `at`.
    """
    shift = column
    for i in range(len(at)):
        width = widths[i]
        left = columns - (at[i] + shift) % columns
        if left < width <= columns:
            pads[i] = left
            shift += left
        else:
            pads[i] = 0
