"""Words of tools as single lines: nothing in them can break a line, hide, or turn the reading direction."""

from __future__ import annotations

import re
import unicodedata

from snapshot.parts.characters import LONE_SURROGATE

__all__ = ["bad", "one_line", "telling_line"]

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)|[@-_])")
# Controls, line and paragraph separators, marks without width or of direction, tags; joiners are kept.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]+"
)
_TAG = re.compile(r"</?[A-Za-z_-]{1,40}>")
_ONLY_EXIT = re.compile(
    r"(?i)(?:(?:command|process) )?exit(?:ed)?(?: with)?(?: code| status)? ?:? ?-?\d+\.?|output:"
)
_BAD = re.compile(
    r"(?i)\b(?:\w*error|\w*exception|fatal|fail(?:ed|ure)?|cannot|can't|could not|unable|not found|no such"
    r"|denied|panic|invalid|refused|unknown)\b"
)
# What compilers and linters say of a place: its file, its line, and what is wrong there.
_PLACE = re.compile(r"[\w./\\@+-]*\w\.\w+(?::\d+(?::\d+)?:|\(\d+(?:,\d+)?\):?) \S")
_TRACEBACK = "Traceback (most recent call last)"
_END = 4000  # characters that are looked at on either end of a long text


def one_line(text: str, longest: int) -> str:
    """The text on one line of at most `longest` characters, with "…" where more stood."""
    start = text[: longest * 4]
    if "\x1b" in start:
        start = _ESCAPE.sub("", start)
    line = " ".join(_UNSEEN.sub(" ", start).split())
    if not line.isascii():
        line = LONE_SURROGATE.sub("\ufffd", line)
    if len(line) <= longest and len(text) <= longest * 4:
        return line
    end = longest - 1
    # A mark that combines stays with its letter.
    while 0 < end < len(line) and (unicodedata.combining(line[end]) or line[end] in "\u200d\ufe0f"):
        end -= 1
    return line[:end].rstrip() + "…"


def bad(line: str) -> bool:
    """Whether a line speaks of an error."""
    return _BAD.search(line) is not None


def telling_line(text: str, longest: int) -> str:
    """The line of an error that says most: that below a traceback, else the first that speaks of an error,
    else the first that names a place in a file."""
    ends = text if len(text) <= 2 * _END else f"{text[:_END]}\n{text[-_END:]}"
    lines = [line for line in (_TAG.sub("", raw).strip() for raw in ends.split("\n")) if line]
    lines = [line for line in lines if not _ONLY_EXIT.fullmatch(line)] or lines
    if not lines:
        return ""
    for number, line in enumerate(lines):
        if line.startswith(_TRACEBACK):
            rest = [raw for raw in text[text.find(_TRACEBACK) :][-2 * _END :].split("\n") if raw.strip()]
            # The message of the exception is the first line behind the frames, which are indented.
            behind = [raw for raw in rest[1:] if not raw[:1].isspace()] if len(rest) > 1 else []
            return one_line(behind[0] if behind else lines[-1], longest)
        if number > 200:
            break
    telling = (line for pattern in (_BAD.search, _PLACE.match) for line in lines if pattern(line))
    return one_line(next(telling, lines[0]), longest)
