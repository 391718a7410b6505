"""What a text would cost as text: an estimate by measured rates, or the count of an installed tokenizer.

No vocabulary is ever fetched: the extra `tokenizers` brings packages that carry theirs inside (o200k, Qwen 3
and Llama 3; Claude's, reconstructed from published counts, on Python 3.12 and later).

Estimates are what compaction goes by, whatever is installed: they are the same on every machine, so that the
same conversation is cut at the same place, and the pages of an earlier compaction stay the same bytes. They
also keep what searches by halving rely on, which no real tokenizer does:

* more text never costs less: `text_tokens(a + b)` is at least that of `a` and that of `b`;
* parts never cost less than the whole: it is at most the sum of both;
* a text turned round costs the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from snapshot.models._token_rates import FOREIGN, LESS_FREQUENT, RATES, RATIOS, USUAL, VOCABULARIES
from snapshot.source.codepoints import code_points

if TYPE_CHECKING:
    from snapshot.models.profile import ModelProfile

__all__ = ["Pieces", "counter", "most_chars", "most_tokens", "text_tokens"]

# Versions that stand for the two generations of Claude's tokenizer, and the tokens of an empty message.
_CLAUDE = {"claude-old": ("3.0", 7), "claude-new": ("4.8", 6)}
_AT_ONCE = 1 << 15  # characters; small enough that all of it stays in the processor's cache
_OTHER = "\x7f"  # stands for every character outside ASCII in pairs, which then cost nothing
# Hundredths of a token that the first character costs: no less than a pair may, or parts would cost less than
# the whole.
_FIRST = max(max(rates) for rates in RATES.values())

# Characters of texts whose counts are kept, and what an entry is taken for beside its text.
_MOST_KNOWN = 1 << 25
_ENTRY = 100


def text_tokens(text: str, reader: ModelProfile, *, exact: bool = False) -> int:
    """Input tokens of `text` for `reader`; 0 for no text.

    Args:
        text: any text.
        reader: whose tokens they are. Its `chars_per_token` scales the rates, which are those of its
            vocabulary, or of the one that its layout file names as being like it.
        exact: count by the reader's own vocabulary where a package with it is installed, and estimate
            otherwise: for figures that are shown, not for decisions that must be the same on every machine.
    """
    if not text:
        return 0
    if exact and (count := counter(reader.tokenizer)) is not None:
        return count(text)
    column = _column(reader)
    return _scaled(_hundredths(text, column), reader, column)


class _Known:
    """What texts were counted as: a harness counts the same history before every request.

    Bounded by the characters of the texts it holds, which belong to the callers' messages anyway.
    """

    def __init__(self) -> None:
        self._counts: dict[tuple[int, str], int] = {}
        self._chars = 0

    def get(self, text: str, column: int) -> int | None:
        return self._counts.get((column, text))

    def put(self, text: str, column: int, count: int) -> None:
        if self._chars > _MOST_KNOWN:
            self._counts, self._chars = {}, 0
        self._counts[column, text] = count
        self._chars += len(text) + _ENTRY


_KNOWN = _Known()


def _hundredths(text: str, column: int) -> int:
    """Hundredths of tokens of a text at the rates of a column."""
    known = _KNOWN.get(text, column)
    if known is None:
        known = _counted(text, column)
        _KNOWN.put(text, column, known)
    return known


def _counted(text: str, column: int) -> int:
    rates = _pair_rates(column)
    total = _FIRST
    for start in range(0, len(text), _AT_ONCE):
        # One character more than counts, so that the pair across the cut is there once.
        piece = text[max(0, start - 1) : start + _AT_ONCE]
        if piece.isascii() and _OTHER not in piece:
            codes = np.frombuffer(piece.encode("ascii"), np.uint8).astype(np.uint16)
        else:
            wide = code_points(piece)
            total += _foreign(wide[1:] if start else wide, column)
            codes = np.minimum(wide, ord(_OTHER)).astype(np.uint16)
        total += int(rates.take((codes[:-1] << 7) | codes[1:]).sum(dtype=np.int64))
    return total


class Pieces:
    """What `text_tokens` gives for a text that is put together of pieces, without putting it together.

    A text is estimated by its pairs of neighbours and its characters outside ASCII, so the sum over its
    pieces and over the pairs where they meet is that of the whole, to the hundredth of a token.
    """

    def __init__(self, reader: ModelProfile) -> None:
        self._reader, self._column = reader, _column(reader)
        self._rates: list[int] = _pair_rates(self._column).tolist()

    def inside(self, piece: str) -> int:
        """Hundredths of a token within a piece; 0 for an empty one."""
        return _hundredths(piece, self._column) - _FIRST if piece else 0

    def between(self, one: str, other: str) -> int:
        """Hundredths of a token for two characters that meet."""
        last = ord(_OTHER)
        return self._rates[min(ord(one), last) << 7 | min(ord(other), last)]

    def room(self, tokens: int) -> int:
        """The most that the sum over the pieces of a text, and where they meet, may be, so that the text has
        no more than so many tokens."""
        ratio, own = _fractions(self._reader, self._column)
        return 100 * own * tokens // ratio - _FIRST


def most_tokens(chars: int, reader: ModelProfile) -> int:
    """Tokens that no text of so many characters is estimated above."""
    column = _column(reader)
    dearest = _FIRST + max(rates[column] for _, rates in FOREIGN)
    return _scaled(chars * dearest, reader, column)


def most_chars(tokens: int, reader: ModelProfile) -> int:
    """Characters above which every text is estimated to cost more than so many tokens."""
    column = _column(reader)
    cheapest = min(rates[column] for rates in RATES.values())
    return int(max(0, tokens) * 100 * reader.chars_per_token / RATIOS[column] / cheapest) + 2


def _scaled(hundredths: int, reader: ModelProfile, column: int) -> int:
    ratio, own = _fractions(reader, column)
    return -(-hundredths * ratio // (100 * own))


def _fractions(reader: ModelProfile, column: int) -> tuple[int, int]:
    """The ratios in whole millionths, so that no machine rounds in another way."""
    return round(RATIOS[column] * 1_000_000), round(reader.chars_per_token * 1_000_000)


def _column(reader: ModelProfile) -> int:
    """The column of the tables that a reader's text is counted by."""
    name = reader.tokenizer or reader.rates
    return VOCABULARIES.index(name) if name in VOCABULARIES else 0


def _foreign(codes: NDArray[np.uint32], column: int) -> int:
    """Hundredths of a token of the characters outside ASCII."""
    highest = np.array([last for last, _ in FOREIGN], np.uint32)
    counts = np.bincount(np.searchsorted(highest, codes[codes >= ord(_OTHER)]), minlength=len(highest))
    return sum(int(n) * rates[column] for n, (_, rates) in zip(counts, FOREIGN, strict=True))


@cache
def _pair_rates(column: int) -> NDArray[np.int32]:
    """Hundredths of a token by code of a character times 128 plus that of the next."""
    kinds = [_kind(chr(code)) for code in range(128)]
    names = sorted({*kinds})
    # By kinds; of two letters it is that of rare neighbours, until the frequent ones have theirs below.
    by_kind = np.array([[_rate(one, other, column) for other in names] for one in names], np.int32)
    number = np.array([names.index(kind) for kind in kinds])
    table = by_kind[number[:, None], number]
    for code, kind in enumerate(kinds):
        if f"same {kind}" in RATES and kind != "digit":
            table[code, code] = RATES[f"same {kind}"][column]
    blanks = number == names.index("blank")
    table[np.ix_(blanks, blanks)] = RATES["same blank"][column]
    for pairs, how in ((USUAL, "usual"), (LESS_FREQUENT, "less")):
        for one, other in pairs.split():
            for first, second in product({one, one.upper()}, {other, other.upper()}):
                pair = " ".join(sorted((kinds[ord(first)], kinds[ord(second)])))
                codes = ord(first), ord(second)
                table[codes] = table[codes[::-1]] = RATES[f"{pair} {how}"][column]
    table[ord(_OTHER)] = table[:, ord(_OTHER)] = 0
    table = table.reshape(-1)
    table.flags.writeable = False
    return table


def _rate(one: str, other: str, column: int) -> int:
    """The rate of neighbours of two kinds, which are rare neighbours where both are letters."""
    pair = " ".join(sorted((one, other)))
    return (RATES.get(pair) or RATES.get(f"{pair} rare") or RATES[f"same {one}"])[column]


def _kind(char: str) -> str:
    """The kind of an ASCII character."""
    if char.isalnum():
        return "digit" if char.isdigit() else "lower" if char.islower() else "upper"
    if char in " \t":
        return "blank"
    if char in "\r\n":
        return "line"
    if char in "\"'()[]{},;:":
        return "bracket"
    return "sign" if char in "=+*<>&|!?#$%^~@`" else "joint"


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
