"""What a text would cost as text: an estimate, by measured ratios, for comparison with pages."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from snapshot.typeset.pagetext import census

if TYPE_CHECKING:
    from snapshot.layout import Reader

__all__ = ["text_tokens"]

# Tokens per character outside ASCII, by the highest code point of the class: accented Latin, Greek,
# Cyrillic, Hebrew and Arabic; everything else in the basic plane, most of it CJK; the planes above, most
# of it emoji. Orders of magnitude of byte-pair vocabularies (o200k: .68 a character on mixed CJK).
_FOREIGN = ((0x7FF, 0.5), (0xFFFF, 0.7), (0x10FFFF, 2.0))


def text_tokens(text: str, reader: Reader) -> int:
    """Estimated input tokens of `text` for `reader`; its ratio for ASCII is in the layout file."""
    if text.isascii():
        return ceil(len(text) / reader.chars_per_token)
    codes, counts = census(text)
    tokens = (len(text) - int(counts.sum())) / reader.chars_per_token
    lowest = 0
    for highest, each in _FOREIGN:
        tokens += int(counts[(codes >= lowest) & (codes <= highest)].sum()) * each
        lowest = highest + 1
    return ceil(tokens)
