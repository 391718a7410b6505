"""The project's own glyphs, in the text form of `fonts/*.txt`: a file that a person reads and edits.

    = A                       a glyph: its character, or U+ and its code point in hexadecimal and a name;
    ..##..                    its rows follow, in which `.`, `-`, `+` and `#` are the four levels of ink
    = U+0301 acute            a combining mark, drawn where it stands: with it, every letter that Unicode
                              takes apart into a drawn letter and this mark is drawn too
    - AEO 3 7                 under a mark above, these letters do without their rows 3 and 7 (from 0):
                              what stands above those rows moves down, and makes room
    & ΑΒ AB                   Α looks like A, and Β like B
    % U+2500..U+259F boxes    what `snapshot.raster.box_drawing` draws of these code points
    ; a comment

All grids of a file have one size. What is drawn wins over what is composed, and that over rules.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from snapshot.errors import FontError
from snapshot.raster.box_drawing import box_glyph

__all__ = ["INKS", "read_glyph_text"]

INKS = ".-+#"

# Letters that are composed: those with one mark, of the Latin, Greek and Cyrillic blocks.
_COMPOSED = (*range(0xC0, 0x250), *range(0x370, 0x530), *range(0x1E00, 0x1F00))
_ABOVE = 230  # Unicode's class of marks above a letter

Grid = NDArray[np.uint8]


def read_glyph_text(path: Path) -> dict[int, Grid]:
    """Glyphs by code point, each as ink levels 0 to 3 of one common shape (rows, columns).

    Raises:
        FontError: a line that means nothing, or a glyph of another shape than the first; with its line.
    """
    sheet = _Sheet(path.name)
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip() and not line.startswith(";"):
            sheet.take(number, line)
    return sheet.glyphs()


@dataclass(slots=True)
class _Sheet:
    """What the lines of a file say, so far."""

    name: str
    drawn: dict[int, Grid] = field(default_factory=dict)
    alike: list[tuple[int, int, int]] = field(default_factory=list)
    spare: dict[int, tuple[int, list[int]]] = field(default_factory=dict)
    ranges: list[range] = field(default_factory=list)
    line: int = 0
    code: int | None = None
    rows: list[list[int]] = field(default_factory=list)

    def take(self, number: int, line: str) -> None:
        """Take in a line that is no comment."""
        if self.code is not None and set(line) <= set(INKS):
            self.rows.append([INKS.index(ink) for ink in line])
            return
        self._finish()
        self.line = number
        head, _, rest = line.partition(" ")
        try:
            if head == "=":
                self.code = _code(rest.split()[0])
            elif head == "-":
                letters, *rows = rest.split()
                self.spare |= {ord(letter): (number, [int(row) for row in rows]) for letter in letters}
            elif head == "&":
                twins, models = rest.split()
                pairs = zip(twins, models, strict=True)
                self.alike += [(number, ord(twin), ord(model)) for twin, model in pairs]
            elif head == "%":
                first, last = rest.split()[0].split("..")
                self.ranges.append(range(_code(first), _code(last) + 1))
            else:
                raise ValueError
        except (ValueError, IndexError, TypeError):
            raise self._error(f"not a comment, a header, a rule or a row of {INKS}") from None

    def glyphs(self) -> dict[int, Grid]:
        """All glyphs: drawn, alike, composed, and by rule."""
        self._finish()
        found = dict(self.drawn)
        shape = next(iter(found.values())).shape if found else (0, 0)
        for line, rows in self.spare.values():
            if not all(0 <= row < shape[0] for row in rows):
                raise self._error(f"the glyphs have rows 0 to {shape[0] - 1}", line)
        for line, twin, model in self.alike:
            if model not in self.drawn:
                raise self._error(f"{chr(twin)} looks like {chr(model)}, which is not drawn", line)
            found.setdefault(twin, self.drawn[model])
        for code in _COMPOSED:
            letter, *combining = map(ord, unicodedata.normalize("NFD", chr(code)))
            if len(combining) == 1 and letter in found and combining[0] in found:
                found.setdefault(code, self._composed(found, letter, combining[0]))
        for code in (code for codes in self.ranges for code in codes):
            grid = box_glyph(code, shape)
            if grid is not None:
                found.setdefault(code, grid)
        return {code: grid for code, grid in found.items() if not unicodedata.combining(chr(code))}

    def _composed(self, found: dict[int, Grid], letter: int, mark: int) -> Grid:
        base = found[letter]
        if unicodedata.combining(chr(mark)) == _ABOVE:
            _, spare = self.spare.get(letter, (0, []))
            base = np.pad(np.delete(base, spare, axis=0), ((len(spare), 0), (0, 0)))
        return np.maximum(base, found[mark])

    def _finish(self) -> None:
        """Keep the glyph whose rows have all been taken in."""
        if self.code is None:
            return
        code, rows = self.code, self.rows
        shape = next(iter(self.drawn.values())).shape if self.drawn else None
        if not rows or len({len(row) for row in rows}) != 1 or (shape and shape != (len(rows), len(rows[0]))):
            raise self._error(f"glyph U+{code:04X} is not a grid of the file's size")
        if code in self.drawn:
            raise self._error(f"glyph U+{code:04X} is drawn twice")
        self.drawn[code] = np.array(rows, np.uint8)
        self.code, self.rows = None, []

    def _error(self, what: str, line: int | None = None) -> FontError:
        return FontError(f"{self.name}, line {line or self.line}: {what}")


def _code(token: str) -> int:
    """The code point of a character, or of U+ and hexadecimal digits."""
    return int(token[2:], 16) if token.startswith("U+") and len(token) > 2 else ord(token)
