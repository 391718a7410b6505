"""Hides numba from every import, for a test, or for all of them by SNAPSHOT_TEST_WITHOUT_NUMBA=1."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

HIDDEN = frozenset({"numba", "llvmlite"})


class Hides(MetaPathFinder):
    """A finder that finds none of the hidden packages, wherever they are installed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        """Nothing, where others are to look; an error for a hidden package."""
        del path, target
        if fullname.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {fullname!r} (hidden by a test)", name=fullname)
        return None


def hide() -> None:
    """Hide them from now on."""
    if not any(isinstance(finder, Hides) for finder in sys.meta_path):
        sys.meta_path.insert(0, Hides())
