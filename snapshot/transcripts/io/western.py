"""Lines that say they are UTF-8 and are Windows-1252, as old editors and consoles write them."""

from __future__ import annotations

import re

__all__ = ["western"]

_RUN = re.compile(rb"[\x80-\xff]+")
_LONGEST = 2  # letters with accents that follow each other in a word
_SIGNS = frozenset("‘’“”–—…•€£§°«»·¿¡©®™²³½¼×±")


def western(line: bytes) -> str | None:
    """The line as Windows-1252; None if it has UTF-8 in it, was cut, or is no text."""
    runs = _RUN.findall(line)
    if not line.decode("utf-8", "ignore").isascii() or any(len(run) > _LONGEST for run in runs):
        return None
    if runs and line.endswith(runs[-1]) and 0xC2 <= line[-len(runs[-1])] <= 0xF4 and len(runs) == 1:
        return None  # the first bytes of a character that was cut
    try:
        text = line.decode("cp1252")
    except UnicodeDecodeError:
        return None
    odd = (char for char in text if not char.isascii())
    return text if all(char.isalpha() or char in _SIGNS for char in odd) else None
