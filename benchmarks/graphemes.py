"""Writes the table of grapheme clusters that typesetting reads, from the Unicode tables that wcwidth has.

    python -m benchmarks.graphemes > snapshot/typeset/graphemes.txt

To be run where a new version of Unicode is to be followed: pages with its new characters change then.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from textwrap import wrap

from wcwidth import list_versions, table_grapheme

__all__ = ["classes", "written"]

_HEAD = """\
; What each character does in a grapheme cluster, by the extended rules of UAX #29: classes, and their code
; points. Those of no class are "other"; the syllables of Hangul (U+AC00 to U+D7A3) are told by their number.
; Unicode {version}: GraphemeBreakProperty.txt, emoji-data.txt (Extended_Pictographic), and
; DerivedCoreProperties.txt (Indic_Conjunct_Break), as wcwidth has them.
; Written by `python -m benchmarks.graphemes`.
"""
_SYLLABLES = range(0xAC00, 0xD7A4)


def _codes(name: str) -> set[int]:
    return {code for low, high in getattr(table_grapheme, name) for code in range(low, high + 1)}


def classes() -> dict[str, set[int]]:
    """The code points of each class of `snapshot.typeset.clusters` that its file tells."""
    of = {
        name: _codes(f"GRAPHEME_{name}")
        for name in ("CONTROL", "CR", "LF", "EXTEND", "PREPEND", "L", "V", "T")
    }
    linkers, consonants, extends = (_codes(f"INCB_{name}") for name in ("LINKER", "CONSONANT", "EXTEND"))
    joiner = {0x200D}
    return {
        "control": of["CONTROL"] | of["CR"] | of["LF"],
        "extend": of["EXTEND"] & extends,
        "plain extend": of["EXTEND"] - extends - linkers,
        "linker": of["EXTEND"] & linkers,
        "plain linker": linkers - of["EXTEND"],
        "joiner": joiner,
        "spacing": _codes("GRAPHEME_SPACINGMARK"),
        "prepend": of["PREPEND"],
        "consonant": consonants,
        "pictograph": _codes("EXTENDED_PICTOGRAPHIC"),
        "regional": _codes("GRAPHEME_REGIONAL_INDICATOR"),
        "leading": of["L"],
        "vowel": of["V"],
        "trailing": of["T"],
    }


def _ranges(codes: set[int]) -> Iterator[str]:
    ordered = sorted(codes)
    first = last = ordered[0]
    for code in (*ordered[1:], -1):
        if code == last + 1:
            last = code
            continue
        yield f"{first:X}" if first == last else f"{first:X}-{last:X}"
        first = last = code


def written() -> str:
    """The file.

    Raises:
        ValueError: a character is in two classes, which the rules would have to tell apart.
    """
    found = classes()
    if sum(map(len, found.values())) > len(set().union(*found.values(), _SYLLABLES)) - len(_SYLLABLES):
        raise ValueError("a character is in two classes")
    lines = [_HEAD.format(version=list_versions()[-1])]
    for name, codes in found.items():
        lines += [f"= {name}\n", *(f"{line}\n" for line in wrap(" ".join(_ranges(codes)), 110))]
    return "".join(lines)


if __name__ == "__main__":
    sys.stdout.write(written())
