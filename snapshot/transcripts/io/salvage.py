"""What is whole in a JSON document that ends too early: complete messages, and nothing invented."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from snapshot._lazy import lazy_pattern
from snapshot.transcripts.io.json_values import parse

__all__ = ["Saved", "salvaged"]

# Strings as a whole, so that brackets inside them are none; a string without an end matches up to there.
_TOKENS = lazy_pattern(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[][{},:]', re.DOTALL)
# Where formats keep their records, and how deep below the start at most; what stands deeper, or under
# another name, is a piece of a record.
_RECORDS = {
    "chat_messages": 2, "contents": 2, "conversations": 2, "loglines": 2, "mapping": 2,
    "messages": 2, "steps": 2, "input": 1, "output": 1,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Saved:
    """A document that was closed behind its last complete record, and how many it has of them."""

    document: object
    records: int


@dataclass(slots=True)
class _Open:
    """An array or object that has not ended: its key, and what is complete in it."""

    bracket: str
    key: str
    complete: int = 0
    end: int = 0  # behind the last complete element
    full: bool = False  # whether a list of records in it has ended

    def closed(self) -> str:
        """What ends it."""
        return "}" if self.bracket == "{" else "]"


def salvaged(text: str) -> Saved | None:
    """The document with what is complete of it; None where not one record is.

    Records are the elements of the innermost open list that formats keep records in; where that list has
    ended, the members of the object around it; where there is none, the elements of the outermost list.
    """
    held = _opened(text)
    while held:
        at = _records(held)
        record = held[at]
        if record.complete:
            ends = "".join(one.closed() for one in reversed(held[: at + 1]))
            try:
                document = parse(text[: record.end] + ends)
            except (json.JSONDecodeError, RecursionError):
                return None
            return Saved(document, record.complete)
        held = held[:at]
    return None


def _records(held: list[_Open]) -> int:
    known = [n for n, one in enumerate(held) if one.full or n <= _RECORDS.get(one.key, -1)]
    lists = [n for n, one in enumerate(held) if one.bracket == "["]
    return known[-1] if known else lists[0] if lists else 0


def _opened(text: str) -> list[_Open]:
    """What is open at the end of `text`, or where it stops being JSON."""
    held: list[_Open] = []
    key = ""
    last = ""  # the string that was read last, and may turn out to be a key
    whole = False  # whether a container has ended since the last comma
    for match in _TOKENS.finditer(text):
        token = match[0]
        if token[0] == '"':
            last = token[1:-1]
        elif token == ":":
            key = last
        elif token in "[{":
            held.append(_Open(token, key))
            key, whole = "", False
        elif not held:
            break
        elif token == ",":
            held[-1].complete += not whole
            held[-1].end = match.start()
            key, whole = "", False
        elif token != held[-1].closed():
            break
        else:
            ended = held.pop()
            if held:
                held[-1].full |= len(held) <= _RECORDS.get(ended.key, -1)
                held[-1].complete += 1
                held[-1].end = match.end()
            key, whole = "", True
    return held
