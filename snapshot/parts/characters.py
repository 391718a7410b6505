"""Characters that no request, page or UTF-8 file can hold: lone surrogates, and NUL."""

from __future__ import annotations

import re

__all__ = ["LONE_SURROGATE", "UNSENDABLE", "sendable", "strict_text"]

LONE_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair, which is no character and has no UTF-8."""

UNSENDABLE = re.compile("[\0\ud800-\udfff]")
"""What providers refuse in a text, escaped or not."""


def strict_text(text: str) -> tuple[str, int]:
    """The text with U+FFFD for each lone surrogate, and how many there were."""
    return LONE_SURROGATE.subn("\ufffd", text)


def sendable(text: str) -> str:
    """The text with U+FFFD for each lone surrogate and the picture of NUL for each NUL."""
    return UNSENDABLE.sub(_replacement, text) if UNSENDABLE.search(text) else text


def _replacement(match: re.Match[str]) -> str:
    return "\u2400" if match[0] == "\0" else "\ufffd"
