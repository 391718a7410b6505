"""Compiled twins of typesetting loops. Importing this module imports numba: only large jobs do."""

from __future__ import annotations

from numba import njit

from snapshot.typeset.placing import place

__all__ = ["place_units"]

place_units = njit(nogil=True, cache=True)(place)
