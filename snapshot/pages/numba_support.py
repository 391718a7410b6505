"""Availability of the numba kernels, found out once."""

from __future__ import annotations

import sys
from functools import cache

import numpy as np

from snapshot.source.codepoints import code_points

__all__ = ["LARGE", "can_compile", "is_loaded", "would_pay"]

LARGE = 12_000_000
"""Characters from which the compiled kernels pay for their loading: that takes 0.3 s in a new process, with
numba's cache warm, and each million characters then takes 0.02 to 0.04 s less (the rows "raster" and
"typeset" of `python -m benchmarks.speed`, and `python -X importtime`)."""

_KERNELS = "snapshot.raster.kernels"


def is_loaded() -> bool:
    """Whether this process has loaded the kernels, so that they cost nothing more."""
    return _KERNELS in sys.modules and can_compile()


def would_pay(chars: int) -> bool:
    """Whether numba is not to be had although a job of so many characters would gain from it."""
    return chars >= LARGE and not can_compile()


@cache
def can_compile() -> bool:
    """Load the kernels, compiling them where no former process left them in numba's cache; False if it fails.

    Numba keeps its cache beside the module or, where that cannot be written to, in the user's cache
    folder. Where neither can, it refuses the kernel; NumPy does the same work.
    """
    try:
        from snapshot.raster.kernels import pack_rows
        from snapshot.typeset.compiled import load
        from snapshot.typeset.kernels import set_plain

        load()
        # Read-only as the code points of a text are: a kernel is compiled for each type that it is given.
        some, none = np.zeros(1, np.int64), code_points("")
        set_plain(
            none,
            np.zeros(1, np.uint8),
            np.zeros(33, np.int32),
            some,
            np.zeros(31, np.int32),
            0,
            1,
            np.zeros(1, np.int32),
            some,
        )
        pack_rows(
            np.zeros((1, 1), np.uint32),
            np.zeros((1, 1), np.uint64),
            8,
            np.zeros(1, np.bool_),
            np.zeros((1, 1, 2), np.uint8),
        )
    except (ImportError, RuntimeError, OSError):
        return False
    return True
