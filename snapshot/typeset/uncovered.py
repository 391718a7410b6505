"""What is printed as code points, by kind: for warnings and counts."""

from __future__ import annotations

import unicodedata
from collections import Counter

import numpy as np

from snapshot.typeset.coverage import Coverage
from snapshot.typeset.grid import stretches
from snapshot.typeset.pagetext import uncovered_codes

__all__ = ["uncovered"]


def uncovered(folded: str, coverage: Coverage) -> dict[str, int]:
    """Characters of a folded text that are printed as code points, counted by kind, most first.

    Kinds are scripts (the first word of a letter's Unicode name: "CJK", "HIRAGANA", "ARABIC", …),
    "combining marks", "invisible" (format characters, special spaces, lone surrogates) and "symbols".
    """
    kinds: Counter[str] = Counter()
    for begin, end in stretches(folded):
        text = folded[begin:end]
        if text.isascii():
            continue
        codes, counts = np.unique(uncovered_codes(text, coverage), return_counts=True)
        for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
            if code not in (10, 9):
                kinds[_kind(chr(code))] += count
    return dict(sorted(kinds.items(), key=lambda item: (-item[1], item[0])))


def _kind(char: str) -> str:
    category = unicodedata.category(char)
    if category[0] == "L":
        return unicodedata.name(char, "LETTERS").split()[0]
    if category[0] == "M":
        script = unicodedata.name(char, "COMBINING").split()[0]
        return "combining marks" if script == "COMBINING" else script
    if category[0] in "CZ":
        return "invisible"
    return "symbols"
