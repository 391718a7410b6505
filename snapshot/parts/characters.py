"""Characters that no request, page or UTF-8 file can hold: lone surrogates, and NUL."""

from __future__ import annotations

import re
from unicodedata import category

__all__ = ["LONE_SURROGATE", "UNSENDABLE", "is_blank", "sendable", "strict_text"]

LONE_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair, which is no character and has no UTF-8."""

UNSENDABLE = re.compile("[\0\ud800-\udfff]")
"""What providers refuse in a text, escaped or not."""


# Letters and signs that are drawn as nothing, beside blanks and format characters.
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")


def is_blank(text: str) -> bool:
    """Whether a text has nothing to be seen in it: blanks, format characters, letters drawn as nothing."""
    return all(char.isspace() or char in _UNSEEN or category(char) == "Cf" for char in text)


def strict_text(text: str) -> tuple[str, int]:
    """The text with U+FFFD for each lone surrogate, and how many there were."""
    return LONE_SURROGATE.subn("\ufffd", text)


def sendable(text: str) -> str:
    """The text with U+FFFD for each lone surrogate and the picture of NUL for each NUL."""
    # Most texts are ASCII, which is known of each: base64 of pages is not gone through sign by sign.
    suspect = "\0" in text if text.isascii() else UNSENDABLE.search(text) is not None
    return UNSENDABLE.sub(_replacement, text) if suspect else text


def _replacement(match: re.Match[str]) -> str:
    return "\u2400" if match[0] == "\0" else "\ufffd"
