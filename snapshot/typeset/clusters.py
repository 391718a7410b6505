"""Grapheme clusters: finds the characters that may not be torn from the one before them."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from snapshot.source.codepoints import distinct

__all__ = ["continuations", "may_join"]

_WORD = 24  # characters; no longer stretches are remembered
# Below U+0300 no character but CR LF, which is folded, ever joins its neighbour.
_FIRST = 0x300


# Byte order marks, and what turns or parts words: controls in every version of Unicode, so they join nothing.
# The import of wcwidth, which tells the rest, would be a good part of what a short text takes.
_ALONE = frozenset((0x200B, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF))


def _joins(char: str) -> bool:
    """Whether a format character makes one cluster with a letter before or behind it; most do not."""
    if ord(char) in _ALONE:
        return False
    from wcwidth import iter_graphemes

    return sum(1 for _ in iter_graphemes(f"a{char}a")) < 3


@lru_cache(maxsize=1 << 16)
def _may_join(code: int) -> bool:
    """Whether the character can be a later part of a cluster, or draws in what follows it."""
    category = unicodedata.category(chr(code))
    return (
        # "Cn" is not in Python's tables, which may be older than those of wcwidth.
        category in ("Mn", "Mc", "Me", "Cn")
        or (category == "Cf" and _joins(chr(code)))
        or 0x1100 <= code <= 0x11FF  # Hangul letters that compose
        or 0xA960 <= code <= 0xA97F
        or 0xD7B0 <= code <= 0xD7FF
        or 0x1F1E6 <= code <= 0x1F1FF  # flags
        or 0x1F3FB <= code <= 0x1F3FF  # skin tones
        or 0xFF9E <= code <= 0xFF9F  # half-width sound marks
        or code in (0x0E33, 0x0EB3)  # Thai and Lao AM, which cling to their consonant
    )


def may_join(codes: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Which of the code points can be part of a cluster of several characters."""
    return np.array([code >= _FIRST and _may_join(code) for code in codes.tolist()], np.bool_)


def continuations(
    text: str, codes: NDArray[np.uint32], foreign: NDArray[np.int64]
) -> NDArray[np.bool_] | None:
    """True for each character that continues a grapheme cluster; None where there is none.

    Args:
        text: the text.
        codes: its code points.
        foreign: offsets of those outside ASCII.
    """
    different = distinct(codes[foreign])
    joiners = different[may_join(different)]
    if not joiners.size:
        return None
    # Only stretches of non-ASCII characters that hold a joiner are segmented, each with one ASCII
    # neighbour on either side: a keycap starts with a digit, a prepended sign ends in one.
    first = np.flatnonzero(np.diff(foreign, prepend=-2) != 1)
    starts, ends = foreign[first], foreign[np.append(first[1:], foreign.size) - 1] + 1
    joining = np.isin(codes[foreign], joiners)
    stretches = distinct(np.searchsorted(first, np.flatnonzero(joining), side="right") - 1)
    is_continuation = np.zeros(codes.size, np.bool_)
    found: list[int] = []
    begins = np.maximum(starts[stretches] - 1, 0).tolist()
    for begin, end in zip(begins, (ends[stretches] + 1).tolist(), strict=True):
        piece = text[begin:end]
        inside = _continued_in_word(piece) if len(piece) <= _WORD else _continued(piece)
        found += [begin + offset for offset in inside]
    is_continuation[found] = True
    return is_continuation if found else None


def _continued(text: str) -> list[int]:
    """Offsets of the characters that continue a cluster."""
    from wcwidth import iter_graphemes

    found: list[int] = []
    offset = 0
    for cluster in iter_graphemes(text):
        found += range(offset + 1, offset + len(cluster))
        offset += len(cluster)
    return found


_continued_in_word = lru_cache(maxsize=1 << 14)(_continued)  # words come again
