"""Text as it can be shown: with stand-ins for what is invisible, turns text around, or is no character.

A stand-in has as many UTF-16 units as what it stands for, so that offsets stay. It is then escaped for HTML.
"""

from __future__ import annotations

from html import escape

__all__ = ["as_html", "in_a_line", "visible"]

_BOX = "▯"
_NEWLINE = "␤"


def _stand_ins() -> dict[int, str]:
    """What is shown for which code point."""
    found = {code: chr(0x2400 + code) for code in range(0x20) if code not in (0x09, 0x0A)}
    found[0x7F] = "␡"
    found |= dict.fromkeys(range(0x80, 0xA0), _BOX)
    found |= dict.fromkeys((0x85, 0x2028, 0x2029), _NEWLINE)
    # What turns text around, and what has no width but is no joiner of a script.
    turning = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
    hidden = (0x00AD, 0x034F, 0x180E, 0x200B, *range(0x2060, 0x2066), *range(0x206A, 0x2070), 0xFEFF)
    fillers = (0x115F, 0x1160, 0x3164, 0xFFA0)
    found |= dict.fromkeys((*turning, *hidden, *fillers, *range(0xFFF9, 0xFFFC)), _BOX)
    found |= dict.fromkeys((*range(0xD800, 0xE000), *range(0xFDD0, 0xFDF0), 0xFFFE, 0xFFFF), "\ufffd")
    found |= dict.fromkeys(range(0xE0000, 0xE0080), _BOX * 2)  # tags: whole sentences fit in there
    for plane in range(1, 17):
        found |= dict.fromkeys(((plane << 16) + 0xFFFE, (plane << 16) + 0xFFFF), "\ufffd" * 2)
    return found


_STAND_INS = _stand_ins()


def visible(text: str) -> str:
    """`text` with stand-ins for what cannot be seen, or would change how other text is seen."""
    return text.translate(_STAND_INS)


def as_html(text: str) -> str:
    """`text` as it can be shown, for the content of an element or for an attribute in double quotes."""
    return escape(visible(text), quote=True)


def in_a_line(text: str, most: int) -> str:
    """The start of `text` in one line, of at most `most` characters, as it can be shown; not escaped."""
    line = " ".join(text[: 8 * most].split())
    return visible(line if len(line) <= most else line[: most - 1] + "…")
