"""Strings as arrays of code points, and back."""

from __future__ import annotations

from collections import Counter
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["census", "code_points", "distinct", "from_code_points"]

_Integer = TypeVar("_Integer", bound=np.integer)

_ASCII = 0x80
_COUNTED_AT_ONCE = 1 << 18  # characters; their code points take four bytes each


def code_points(text: str) -> NDArray[np.uint32]:
    """The code points of `text`, lone surrogates included."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def census(text: str) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The different code points of `text` outside ASCII, ascending, and how often each occurs."""
    occurring: Counter[int] = Counter()
    if not text.isascii():
        for start in range(0, len(text), _COUNTED_AT_ONCE):
            codes = code_points(text[start : start + _COUNTED_AT_ONCE])
            different, counts = np.unique(codes[codes >= _ASCII], return_counts=True)
            occurring.update(dict(zip(different.tolist(), counts.tolist(), strict=True)))
    ordered = sorted(occurring.items())
    return np.array([code for code, _ in ordered], np.uint32), np.array([n for _, n in ordered], np.int64)


def distinct(values: NDArray[_Integer]) -> NDArray[_Integer]:
    """The different values, ascending: `np.unique`, which loads all of `numpy.ma` when it is first asked."""
    ordered = np.sort(values)
    return ordered[np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: ordered.size])]


def from_code_points(codes: NDArray[np.uint32]) -> str:
    """The string of `codes`, lone surrogates included."""
    return codes.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
