"""Arabic letters and the form that each takes beside its neighbours.

The joining types are those of Unicode's ArabicShaping.txt, for the blocks Arabic and Arabic Supplement; the
tests compare them with those that HarfBuzz has.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from snapshot.typeset.offset_map import Offsets

__all__ = ["AFTER", "BEFORE", "FIRST_TYPE", "TYPES", "Clusters", "in_forms", "joining_type"]

BEFORE, AFTER = 1, 2
"""Flags of a form: the letter joins the one before it in the text, the one after it."""

_FIRST, _LAST = 0x620, 0x77F
FIRST_TYPE = _FIRST
"""The code point of the first letter with a joining type."""
_RIGHT = (
    "622-625 627 629 62F-632 648 671-673 675-677 688-699 6C0 6C3-6CB 6CD 6CF 6D2-6D3 6D5 6EE-6EF "
    "759-75B 76B-76C 771 773-774 778-779"
)
_DUAL = (
    "620 626 628 62A-62E 633-647 649-64A 66E-66F 678-687 69A-6BF 6C1-6C2 6CC 6CE 6D0-6D1 6FA-6FC 6FF "
    "750-758 75C-76A 76D-770 772 775-777 77A-77F"
)
_LAM, _ALEFS = 0x644, (0x622, 0x623, 0x625, 0x627)
_NON_JOINER = 0x200C


def _table() -> NDArray[np.uint8]:
    table = np.zeros(_LAST - _FIRST + 2, np.uint8)  # the last one stands for all other code points
    for ranges, type_ in ((_RIGHT, BEFORE), (_DUAL, BEFORE | AFTER)):
        for part in ranges.split():
            low, _, high = part.partition("-")
            table[int(low, 16) - _FIRST : int(high or low, 16) - _FIRST + 1] = type_
    return table


TYPES = _table()
"""Joining types from `FIRST_TYPE` on; the last one is that of all other characters."""


class Clusters(NamedTuple):
    """Grapheme clusters of a text, ascending: first offset, length, and form."""

    starts: Offsets
    lengths: Offsets
    forms: NDArray[np.int64]


def _types(codes: NDArray[np.uint32]) -> NDArray[np.uint8]:
    return TYPES[np.minimum(codes - np.uint32(_FIRST), TYPES.size - 1)]


def joining_type(char: str) -> int:
    """`BEFORE` and `AFTER`, as a letter can join its neighbours; 0 for all but Arabic letters."""
    return int(TYPES[ord(char) - _FIRST]) if _FIRST <= ord(char) <= _LAST else 0


def in_forms(codes: NDArray[np.uint32], starts: Offsets, lengths: Offsets) -> Clusters:
    """The clusters with the form that each takes; lam and alef, which are written as one, as one cluster.

    Args:
        codes: the text.
        starts, lengths: its clusters, ascending; those that are not listed join nothing.
    """
    types = _types(codes[starts])
    after = (types & AFTER > 0) & (codes[starts + lengths - 1] != _NON_JOINER)
    joined = (starts[1:] == starts[:-1] + lengths[:-1]) & after[:-1] & (types[1:] & BEFORE > 0)
    forms = np.zeros(starts.size, np.int64)
    forms[1:] |= joined * BEFORE
    forms[:-1] |= joined * AFTER
    first = codes[starts]
    lams = np.flatnonzero(joined & (first[:-1] == _LAM) & np.isin(first[1:], _ALEFS))
    if not lams.size:
        return Clusters(starts, lengths, forms)
    lengths = lengths.copy()
    lengths[lams] += lengths[lams + 1]
    forms[lams] &= BEFORE
    kept = np.ones(starts.size, np.bool_)
    kept[lams + 1] = False
    return Clusters(starts[kept], lengths[kept], forms[kept])
