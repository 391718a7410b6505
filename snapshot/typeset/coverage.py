"""Protocols of a font as typesetting sees it: the code points it covers, and their glyphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from snapshot.typeset.shaped import ShapedCluster

__all__ = ["Coverage", "Glyphs"]


class Coverage(Protocol):
    """What page text has to know of a font, which draws all of printable ASCII."""

    @property
    def cells(self) -> NDArray[np.uint8]:
        """Cells that each code point and each unit takes: 0 where the font has no glyph."""
        ...

    @property
    def units(self) -> Mapping[ShapedCluster, int]:
        """The units that the font draws, and their numbers."""
        ...


class Glyphs(Coverage, Protocol):
    """Which glyph prints which code point."""

    @property
    def glyphs(self) -> NDArray[np.int32]:
        """Glyph number of each code point and unit; of a wide one its first part, the others are the next."""
        ...

    @property
    def directions(self) -> NDArray[np.uint8] | None:
        """The class of each glyph for `bidi`; None where none goes right to left."""
        ...

    @property
    def blank(self) -> int:
        """Glyph number of a blank."""
        ...

    @property
    def pad(self) -> int:
        """Glyph number of the filling at a row's end."""
        ...

    @property
    def end(self) -> int:
        """Glyph number of the mark behind the last character."""
        ...

    @property
    def air(self) -> int | None:
        """Glyph number of what stands behind a run's number; None: nothing does."""
        ...
