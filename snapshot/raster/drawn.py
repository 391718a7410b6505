"""The project's own glyphs, in the text form of `fonts/drawn-*.txt`.

A glyph is a header line `= U+21B5 name` and one line per pixel row, in which `.`, `-`, `+` and `#` are the
four levels of ink. Lines that start with `;` are comments.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from snapshot.errors import FontError

__all__ = ["INKS", "read_drawn"]

INKS = ".-+#"


def read_drawn(path: Path) -> dict[int, NDArray[np.uint8]]:
    """Glyphs by code point, each as ink levels 0 to 3 of one common shape (rows, columns).

    Raises:
        FontError: a line that is no comment, header or row, or a glyph of another shape than the first.
    """
    glyphs: dict[int, NDArray[np.uint8]] = {}
    rows: list[list[int]] = []
    code = header = -1

    def finish() -> None:
        if code < 0:
            return
        shape = next(iter(glyphs.values())).shape if glyphs else None
        widths = {len(row) for row in rows}
        if not rows or len(widths) != 1 or (shape and shape != (len(rows), len(rows[0]))):
            raise FontError(
                f"{path.name}, line {header}: glyph U+{code:04X} is not a grid of the file's size"
            )
        if code in glyphs:
            raise FontError(f"{path.name}, line {header}: glyph U+{code:04X} is drawn twice")
        glyphs[code] = np.array(rows, np.uint8)

    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith(";") or not line.strip():
            continue
        if line.startswith("= U+"):
            finish()
            code, header, rows = int(line[4:].split()[0], 16), number, []
        elif code >= 0 and set(line) <= set(INKS):
            rows.append([INKS.index(ink) for ink in line])
        else:
            raise FontError(f"{path.name}, line {number}: not a comment, a header or a row of {INKS}")
    finish()
    return glyphs
