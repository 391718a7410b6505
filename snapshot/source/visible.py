"""Whether anything of a text can be seen."""

from __future__ import annotations

import unicodedata

__all__ = ["is_blank"]

_UNSEEN = frozenset({"Cf", "Zl", "Zp", "Zs"})
# Letters and marks that are drawn as nothing: fillers of Hangul, the empty pattern of Braille, selectors.
_EMPTY = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_SELECTORS = (("\u180b", "\u180f"), ("\ufe00", "\ufe0f"), ("\U000e0100", "\U000e01ef"))


def is_blank(text: str) -> bool:
    """Whether `text` is empty, or holds nothing but blanks and characters that are not drawn."""
    return not any(map(_is_seen, text))


def _is_seen(char: str) -> bool:
    if char.isalnum() and char not in _EMPTY:
        return True
    if char.isspace() or char in _EMPTY or unicodedata.category(char) in _UNSEEN:
        return False
    return not any(first <= char <= last for first, last in _SELECTORS)
