"""What is printed as code points, by kind: for warnings and counts."""

from __future__ import annotations

import unicodedata

from snapshot.typeset.pagetext import Coverage, census

__all__ = ["uncovered"]


def uncovered(folded: str, coverage: Coverage) -> dict[str, int]:
    """Characters of a folded text that the font has no glyph for, counted by kind, most first.

    Kinds are scripts (the first word of a letter's Unicode name: "CJK", "HIRAGANA", "ARABIC", …),
    "combining marks", "invisible" (format characters, special spaces, lone surrogates) and "symbols".
    """
    codes, counts = census(folded)
    kinds: dict[str, int] = {}
    for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
        if coverage.cells[code]:
            continue
        kind = _kind(chr(code))
        kinds[kind] = kinds.get(kind, 0) + count
    return dict(sorted(kinds.items(), key=lambda item: (-item[1], item[0])))


def _kind(char: str) -> str:
    category = unicodedata.category(char)
    if category[0] == "L":
        return unicodedata.name(char, "LETTERS").split()[0]
    if category[0] == "M":
        return "combining marks"
    if category[0] in "CZ":
        return "invisible"
    return "symbols"
