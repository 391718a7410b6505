"""Grapheme clusters: finds the characters that may not be torn from the one before them.

The rules are those of extended grapheme clusters in UAX #29, over the table `graphemes.txt`: so a cluster
depends on no library's version, nor on Python's. Two rules are read as widely as wcwidth reads them: what
stands before the linker of a conjunct may be anything, and CR LF are two, since page text has no CR.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["CLASSES", "GraphemeTables", "continuations", "grapheme_tables", "may_join"]

CLASSES = (
    "other", "control", "extend", "plain extend", "linker", "plain linker", "joiner", "spacing", "prepend",
    "consonant", "pictograph", "regional", "leading", "vowel", "trailing", "syllable", "full syllable",
)  # fmt: skip
"""What a character does in a cluster; the number of a class is its place here.

"extend" may stand between a linker and its consonant, "plain extend" may not; a "plain linker" does not join
what stands before it. A "syllable" of Hangul ends in a vowel, a "full syllable" in a consonant.
"""

_CODES = 0x110000
_SYLLABLES, _FORMS = slice(0xAC00, 0xD7A4), 28  # of each pair of consonant and vowel: the first has no third
# What a pair of classes says: a cluster ends between them, goes on, or does so as what stands before says.
_ENDS, _GOES_ON, _CONJUNCT, _JOINED, _FLAG = range(5)
_PAIRS = 32  # room for a class
_ALWAYS = ("extend", "plain extend", "linker", "joiner", "spacing")
_WITHIN_CONJUNCT = ("extend", "joiner")
_HANGUL = {
    "leading": ("leading", "vowel", "syllable", "full syllable"),
    "syllable": ("vowel", "trailing"),
    "vowel": ("vowel", "trailing"),
    "full syllable": ("trailing",),
    "trailing": ("trailing",),
}


class GraphemeTables(NamedTuple):
    """The rules as arrays.

    Attributes:
        classes: uint8 by code point, the number of its class.
        pairs: uint8 by 32 times the class of a character and the class of the next: whether a cluster goes
            on (1), ends (0), or does so as what stands before says: a conjunct (2), what a joiner joins (3),
            a flag (4).
        joins: by class, whether its characters can be part of a cluster by themselves.
    """

    classes: NDArray[np.uint8]
    pairs: NDArray[np.uint8]
    joins: NDArray[np.bool_]


@cache
def grapheme_tables() -> GraphemeTables:
    """The tables, read from their file."""
    classes = np.zeros(_CODES, np.uint8)
    number = 0
    for line in (Path(__file__).parent / "graphemes.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("="):
            number = CLASSES.index(line[2:])
        elif not line.startswith(";"):
            for part in line.split():
                low, _, high = part.partition("-")
                classes[int(low, 16) : int(high or low, 16) + 1] = number
    syllables = classes[_SYLLABLES]
    syllables[:] = CLASSES.index("full syllable")
    syllables[::_FORMS] = CLASSES.index("syllable")
    lone = {"other", "control", "consonant", "pictograph", "syllable", "full syllable"}
    return GraphemeTables(classes, _pairs().ravel(), np.array([name not in lone for name in CLASSES]))


def _pairs() -> NDArray[np.uint8]:
    at = {name: number for number, name in enumerate(CLASSES)}
    pairs = np.full((_PAIRS, _PAIRS), _ENDS, np.uint8)
    for first, seconds in _HANGUL.items():
        pairs[at[first], [at[second] for second in seconds]] = _GOES_ON
    pairs[[at["linker"], at["plain linker"]], at["consonant"]] = _GOES_ON
    pairs[[at[name] for name in _WITHIN_CONJUNCT], at["consonant"]] = _CONJUNCT
    pairs[at["joiner"], at["pictograph"]] = _JOINED
    pairs[at["regional"], at["regional"]] = _FLAG
    pairs[at["prepend"]] = _GOES_ON
    pairs[:, [at[name] for name in _ALWAYS]] = _GOES_ON
    pairs[at["control"]] = pairs[:, at["control"]] = _ENDS
    return pairs


def may_join(codes: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Which of the code points can be part of a cluster of several characters, whatever stands beside them.

    Of others only those beside one of these are: a consonant behind a linker, a syllable before a consonant.
    """
    tables = grapheme_tables()
    return tables.joins[tables.classes[codes]]


def continuations(codes: NDArray[np.uint32], foreign: NDArray[np.int64]) -> NDArray[np.bool_] | None:
    """True for each character that continues a grapheme cluster; None where there is none.

    Args:
        codes: the code points of a text.
        foreign: offsets of those outside ASCII.
    """
    tables = grapheme_tables()
    found = tables.classes[codes[foreign]]
    if not tables.joins[found].any():
        return None
    classes = np.zeros(codes.size, np.uint8)
    classes[codes < ord(" ")] = CLASSES.index("control")
    classes[foreign] = found
    said = tables.pairs[classes[:-1].astype(np.uint16) * np.uint16(_PAIRS) + classes[1:]]
    is_continuation = np.zeros(codes.size, np.bool_)
    np.equal(said, _GOES_ON, out=is_continuation[1:])
    open_ = np.flatnonzero(said > _GOES_ON)
    if open_.size:
        kinds, open_ = said[open_], open_ + 1
        for kind, rule in ((_CONJUNCT, _conjuncts), (_JOINED, _joined), (_FLAG, _flags)):
            asked = open_[kinds == kind]
            if asked.size:
                is_continuation[asked] = rule(classes, asked)
    return is_continuation if is_continuation.any() else None


def _before(skipped: NDArray[np.bool_], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """The nearest offset at or before each of `offsets` that is not skipped; -1 where all are."""
    last = np.where(skipped, -1, np.arange(skipped.size))
    return np.maximum.accumulate(last)[offsets]


def _is_one_of(classes: NDArray[np.uint8], *names: str) -> NDArray[np.bool_]:
    return np.isin(classes, [CLASSES.index(name) for name in names])


def _conjuncts(classes: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether a linker stands before these consonants, with nothing but what may stand within a conjunct."""
    at = _before(_is_one_of(classes, *_WITHIN_CONJUNCT), offsets - 1)
    return (at >= 0) & _is_one_of(classes[at], "linker", "plain linker")


def _joined(classes: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether a pictograph stands before the joiners before these, with nothing but what extends it."""
    known = offsets > 1
    at = _before(_is_one_of(classes, "extend", "plain extend", "linker"), np.maximum(offsets - 2, 0))
    return known & (at >= 0) & _is_one_of(classes[at], "pictograph")


def _flags(classes: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether an odd number of regional indicators stands before these."""
    return (offsets - 1 - _before(_is_one_of(classes, "regional"), offsets - 1)) % 2 == 1
