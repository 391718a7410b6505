"""Where grapheme clusters go on: the characters that may not be torn from the one before them."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["continuations"]

# Below U+0300 no character but CR LF, which is folded, ever joins its neighbour.
_FIRST = 0x300
_ASCII = 0x80


@lru_cache(maxsize=1 << 16)
def _may_join(code: int) -> bool:
    """Whether the character can be a later part of a cluster, or draws in what follows it."""
    category = unicodedata.category(chr(code))
    return (
        category in ("Mn", "Mc", "Me", "Cf")
        or 0x1100 <= code <= 0x11FF  # Hangul letters that compose
        or 0xA960 <= code <= 0xA97F
        or 0xD7B0 <= code <= 0xD7FF
        or 0x1F1E6 <= code <= 0x1F1FF  # flags
        or 0x1F3FB <= code <= 0x1F3FF  # skin tones
        or 0xFF9E <= code <= 0xFF9F  # half-width sound marks
        or code in (0x0E33, 0x0EB3)  # Thai and Lao AM, which cling to their consonant
    )


def continuations(text: str, codes: NDArray[np.uint32]) -> NDArray[np.bool_] | None:
    """True for each character that continues a grapheme cluster; None where there is none.

    Args:
        text: the text.
        codes: its code points.
    """
    high = np.unique(codes[codes >= _FIRST])
    joiners = [code for code in high.tolist() if _may_join(code)]
    if not joiners:
        return None
    from wcwidth import iter_graphemes

    # Only stretches of non-ASCII characters that hold a joiner are segmented, each with one ASCII
    # neighbour on either side: a keycap starts with a digit, a prepended sign ends in one.
    foreign = (codes >= _ASCII).view(np.int8)
    edges = np.diff(foreign, prepend=0, append=0)
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    at = np.flatnonzero(np.isin(codes, np.array(joiners, np.uint32)))
    stretches = np.unique(np.searchsorted(starts, at, side="right") - 1)
    clings = np.zeros(codes.size, np.bool_)
    for stretch in stretches.tolist():
        begin = max(0, int(starts[stretch]) - 1)
        offset = begin
        for cluster in iter_graphemes(text[begin : int(ends[stretch]) + 1]):
            clings[offset + 1 : offset + len(cluster)] = True
            offset += len(cluster)
    return clings if clings.any() else None
