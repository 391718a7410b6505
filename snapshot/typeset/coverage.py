"""What setting has to know of a font."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Glyphs"]


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
