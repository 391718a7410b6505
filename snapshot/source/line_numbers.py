"""Numbers that tools print before lines: taken away, and put before others.

A file that is read, read again after an edit, or printed by another tool has the same lines each time, and
other numbers or none. What is taken for a number is a guess, so whoever goes by it holds the result against
the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

__all__ = ["NUMBER", "numbered", "prefix"]

NUMBER = r" {0,15}\d{1,7}(?:→|\t|:|-|\| ?|│ ?)"
"""A number before a line, with what parts the two."""
_NUMBER = re.compile(NUMBER)
_PARTS = re.compile(r"( *)(\d+)(.+)", re.DOTALL)


def prefix(line: str) -> str:
    """The number before a line with what parts the two; "" where there is none."""
    match = _NUMBER.match(line)
    return match[0] if match else ""


def numbered(lines: Iterable[str], first: str) -> Iterator[str]:
    """The lines with numbers that count up from the one in `first`, a number as `prefix` gives it.

    Numbers stand to the right of a column as wide as the first, which is filled as that one is.
    """
    match = _PARTS.fullmatch(first)
    if match is None:
        raise ValueError(f"no number of a line: {first!r}")
    blanks, digits, behind = match.groups()
    fill = "0" if digits[0] == "0" and len(digits) > 1 else " "
    width = len(blanks) + len(digits)
    for number, line in enumerate(lines, int(digits)):
        yield f"{number:{fill}>{width}}{behind}{line}"
