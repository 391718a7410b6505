"""Lines that were written over on a terminal: which of their characters the last state does not show.

Programs write over a line in two ways. A carriage return starts it anew (progress bars, counters), and
backspaces go back a few characters (overstruck bold and underlined letters of manual pages, spinners). Both
also stand in text that was never meant for a terminal: line ends of old systems, binary data. So a state of a
line is taken for overwritten only where the next one looks like it or erases it, and a character only where
what is struck over it may be meant so. A line that does anything else keeps all it has.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from snapshot._lazy import lazy_pattern

__all__ = ["LONGEST_LINE", "may_be_overwritten", "overwritten"]

Span = tuple[int, int]

# What starts a line anew: a carriage return, or a move to the first column.
_RETURN = lazy_pattern(r"\r|\x1b\[[01]?G")
_SEQUENCE = lazy_pattern(r"\x1b\[[0-?]*+[ -/]*+[@-~]")
_ERASES = lazy_pattern(r"\x1b\[[02]?K")
_ERASED = "\x1b[2K"
# What progress is shown by: shares, counts of a total, rates, bars, spinners.
_PROGRESS = lazy_pattern(
    r"\d *%|\d ?/ ?\d|\bit/s\b|\bs/it\b|B/s\b|\b(?:eta|ETA)\b|[#=\-.>_]{3}"
    r"|[\u2580-\u259f\u2801-\u28ff\u2501\u2578-\u257f]|\A\s*[|/\\\-\u25d0-\u25d3]\s*\Z"
)
_DIGITS = lazy_pattern(r"\d+")
_LETTER = lazy_pattern(r"[^\W\d_]")
# Characters and words of a state that are looked at: it is a line of a terminal.
_LOOKED_AT, _WORDS = 1000, 40
LONGEST_LINE = 1 << 16
"""Characters of the longest line that is taken for one of a terminal, all its states together."""
_CELL = lazy_pattern(r"(?P<back>\x08+)|(?P<sequence>\x1b\[[0-?]*+[ -/]*+[@-~])|.", re.DOTALL)


def may_be_overwritten(text: str) -> bool:
    """Whether a line of the text may have more than one state."""
    return (
        "\b" in text
        or text.count("\r") > text.count("\r\n")
        or ("\x1b[" in text and _RETURN.search(text) is not None)
    )


def overwritten(line: str) -> list[Span]:
    """Half-open spans of a line (without its end) that its last state does not show, ascending, apart.

    They include the returns and backspaces that did it. Those that are left did something else.
    """
    if len(line) > LONGEST_LINE:
        return []
    spans: list[Span] = []
    for state, stays in _states(line):
        if not stays:
            spans.append((state.start, state.stop))
        elif "\b" in state.raw:
            spans += ((state.start + start, state.start + stop) for start, stop in _struck(state.raw))
    return spans


class _State(NamedTuple):
    """What a line says between two returns.

    Attributes:
        start, stop: half-open span in the line, with the return behind it.
        raw: the text without that return.
        shown: the start of it without control sequences.
    """

    start: int
    stop: int
    raw: str
    shown: str


def _states(line: str) -> Iterator[tuple[_State, bool]]:
    """The states of a line in order, and whether each stays to be seen."""
    states: list[_State] = []
    begin = 0
    for match in (*_RETURN.finditer(line), None):
        end, stop = match.span() if match else (len(line), len(line))
        raw = line[begin:end]
        states.append(_State(begin, stop, raw, _SEQUENCE.sub("", raw[:_LOOKED_AT])))
        begin = stop
    visible = [state for state in states if state.shown or _ERASES.search(state.raw)]
    gone = {one.start for one, other in pairwise(visible) if _writes_over(one, other)}
    # A line is written over as a rule or not at all: two lines of a text that look alike are no rule.
    rewritten = bool(gone) and 2 * len(gone) >= len(visible) - 1
    of_visible = {state.start for state in visible}
    first = visible[0].start if visible else 0
    for state in states[:-1]:
        stays = not rewritten or (state.start in of_visible and state.start not in gone)
        yield state, stays and state.start >= first
    yield states[-1], True


def _writes_over(one: _State, other: _State) -> bool:
    """Whether a state takes the place of the one before it on the screen."""
    if not one.shown.strip() or _ERASES.search(other.raw) or one.raw.endswith(_ERASED):
        return True
    if min(state.shown.count(",") for state in (one, other)) > 1 or "\t" in one.shown + other.shown:
        return False  # rows of a table
    if other.shown.endswith(" ") and len(other.shown) >= len(one.shown):
        return True  # blanks to cover what was longer
    if _PROGRESS.search(one.shown) and _PROGRESS.search(other.shown):
        return True
    words, others = _words(one.shown), _words(other.shown)
    if not any(map(_LETTER.search, words)):
        return False
    same = sum(word == another for word, another in zip(words, others, strict=False))
    return 2 * same > max(len(words), len(others))


def _words(text: str) -> list[str]:
    """The words of a state, all numbers alike, and all words without letters and digits."""
    words = _DIGITS.sub("0", text).split(maxsplit=_WORDS)[:_WORDS]
    return [word if any(map(str.isalnum, word)) else "-" for word in words]


@dataclass(slots=True)
class _Cell:
    """A character on the screen, with what combines with it.

    Attributes:
        char: the character.
        spans: where it stands in the text.
        struck: whether it was written over another one.
    """

    char: str
    spans: list[Span]
    struck: bool = False


def _struck(text: str) -> list[Span]:
    """Spans of backspaces and of the characters written over; none where some may not have been meant so."""
    before: list[_Cell] = []  # up to the cursor
    behind: list[_Cell] = []  # from the cursor on, the next one last
    gone: list[Span] = []
    steps = 0
    for match in _CELL.finditer(text):
        if match["back"]:
            steps = _step_back(before, behind, len(match[0]))
            gone.append(match.span())
        elif match["sequence"] is None:
            cell = _Cell(match[0], [match.span()])
            if before and not behind and unicodedata.category(cell.char) in ("Mn", "Mc", "Me", "Cf"):
                before[-1].spans += cell.spans
                continue
            old = behind.pop() if behind else None
            if old is None:
                before.append(cell)
            elif not _may_strike(old, cell.char, steps):
                return []
            elif cell.char == "_" and old.char not in "_ ":
                gone += cell.spans  # an underline below the letter
                before.append(old)
            else:
                gone += old.spans
                cell.struck = True
                before.append(cell)
    starts = [cell.spans[0][0] for cell in (*before, *reversed(behind))]
    # What is left behind the cursor would stand in another order than in the text.
    if any(one > other for one, other in pairwise(starts)):
        return []
    return _joined(gone)


def _step_back(before: list[_Cell], behind: list[_Cell], steps: int) -> int:
    """Move the cursor back by so many columns or characters; the characters that it passed."""
    passed = 0
    while steps and before:
        cell = before.pop()
        behind.append(cell)
        passed += 1
        wide = unicodedata.east_asian_width(cell.char) in "WF"
        steps -= 2 if wide and steps > 1 else 1
    return passed


def _may_strike(old: _Cell, char: str, steps: int) -> bool:
    """Whether a character may be meant to be written over another: no control stands between two words."""
    if old.char == char or old.struck or steps > 1 or "_" in (old.char, char):
        return True
    if old.char.isspace():
        return char.isspace()
    return not (old.char.isalpha() and char.isalnum()) and not (old.char.isdigit() and char.isalpha())


def _joined(spans: list[Span]) -> list[Span]:
    """The spans in order, those that touch put together."""
    joined: list[Span] = []
    for start, stop in sorted(spans):
        if joined and joined[-1][1] == start:
            joined[-1] = joined[-1][0], stop
        else:
            joined.append((start, stop))
    return joined
