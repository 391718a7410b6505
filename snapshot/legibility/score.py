"""What a reader got right: characters, exact strings, and what it took for what."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["Reading", "compared", "exact_strings"]

# What a recogniser with a Chinese vocabulary, or with typographers' habits, prints for ASCII.
_FOLD = str.maketrans("“”‘’—–，：；（）！？。【】．＝／＿×", "\"\"''--,:;()!?.[].=/_x")
_BLANK = re.compile(r"\s+")
_EXACT = re.compile(r"\d|/|_|[a-z][A-Z]")


@dataclass(frozen=True, slots=True)
class Reading:
    """How well a text was read; white space does not count.

    Attributes:
        chars: characters that stood there.
        errors: characters wrong, missing or too many (edit distance).
        strings: exact strings that stood there.
        exact: how many of them were read without an error.
        confused: what stood there, what was read (either may be ""), how often; the most frequent first.
    """

    chars: int
    errors: int
    strings: int
    exact: int
    confused: tuple[tuple[str, str, int], ...]

    @property
    def error_rate(self) -> float:
        """Character error rate, at most 1."""
        return min(1.0, self.errors / max(1, self.chars))

    @property
    def recall(self) -> float:
        """Share of the exact strings that were read without an error."""
        return self.exact / max(1, self.strings)


def exact_strings(row: str) -> list[str]:
    """Strings of a row that context does not correct: with a digit, a slash, an underscore or mixed case."""
    found = (word.strip(",;()[]{}'\"") for word in row.split())
    return [word for word in found if len(word) >= 4 and _EXACT.search(word)]


def compared(truth: Sequence[str], read: Iterable[str]) -> Reading:
    """Rows as they stood beside rows as they were read, aligned row by row.

    Levenshtein's distance comes from rapidfuzz, of the extra `ocr`.
    """
    from rapidfuzz.distance import Levenshtein  # type: ignore[import-not-found]

    chars = errors = strings = exact = 0
    confused: Counter[tuple[str, str]] = Counter()
    for want, got in zip(truth, read, strict=True):
        a, b = _squashed(want), _squashed(got)
        found = [_squashed(string) for string in exact_strings(want)]
        strings += len(found)
        exact += sum(string in b for string in found)
        chars += len(a)
        errors += Levenshtein.distance(a, b)
        for step in Levenshtein.opcodes(a, b):
            left, right = a[step.src_start : step.src_end], b[step.dest_start : step.dest_end]
            if step.tag == "replace" and len(left) == len(right):
                confused.update(zip(left, right, strict=True))
            elif step.tag != "equal":
                confused[left, right] += 1
    ranked = sorted(confused.items(), key=lambda item: (-item[1], item[0]))
    return Reading(chars, errors, strings, exact, tuple((a, b, count) for (a, b), count in ranked))


def _squashed(text: str) -> str:
    return _BLANK.sub("", text.translate(_FOLD))
