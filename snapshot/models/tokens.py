"""What a text would cost as text: by a tokenizer where one is installed, else an estimate by measured ratios.

No vocabulary is ever fetched: the extra `tokenizers` brings packages that carry theirs inside (o200k, Qwen 3
and Llama 3; Claude's, reconstructed from published counts, on Python 3.12 and later).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import ceil
from typing import TYPE_CHECKING

from snapshot.source.codepoints import census

if TYPE_CHECKING:
    from snapshot.models.profile import ModelProfile

__all__ = ["counter", "text_tokens"]

# Tokens per character outside ASCII, by the highest code point of the class: accented Latin, Greek,
# Cyrillic, Hebrew and Arabic; everything else in the basic plane, most of it CJK; the planes above, most
# of it emoji. Orders of magnitude of byte-pair vocabularies (o200k: .68 a character on mixed CJK).
_FOREIGN = ((0x7FF, 0.5), (0xFFFF, 0.7), (0x10FFFF, 2.0))

# Versions that stand for the two generations of Claude's tokenizer, and the tokens of an empty message.
_CLAUDE = {"claude-old": ("3.0", 7), "claude-new": ("4.8", 6)}


def text_tokens(text: str, reader: ModelProfile) -> int:
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


@cache
def counter(tokenizer: str) -> Callable[[str], int] | None:
    """A function that counts the tokens of a text with this vocabulary; None where it is not installed.

    Args:
        tokenizer: as the layout files name it: `o200k_base`, `qwen3`, `llama3`, `claude-old`, `claude-new`.
    """
    if tokenizer in _CLAUDE:
        return _claude_counter(*_CLAUDE[tokenizer])
    if not tokenizer:
        return None
    try:
        import quicktok  # type: ignore[import-not-found]
    except ImportError:
        return None
    encode = quicktok.get_encoding(tokenizer).encode_ordinary
    return lambda text: len(encode(_sendable(text)))


def _claude_counter(version: str, frame: int) -> Callable[[str], int] | None:
    try:
        import ctok  # type: ignore[import-not-found]
    except ImportError:
        return None
    return lambda text: ctok.token_count(_sendable(text), version) - frame


def _sendable(text: str) -> str:
    """The text without lone surrogates, which no tokenizer takes."""
    return text.encode("utf-8", "replace").decode("utf-8")
