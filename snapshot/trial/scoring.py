"""What became of each question, by code alone: nobody judges an answer, and no name of an arm is known
here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import numpy as np

from snapshot.source.marks import DIGITS, END, NEWLINE, PAD, TAB
from snapshot.trial.journal import Record
from snapshot.trial.texts import EXACT, GIST, Kind, TrialText

__all__ = ["OUTCOMES", "Copied", "Mark", "Outcome", "copied", "distance", "marks_of", "recall_of", "shares"]

Outcome: TypeAlias = Literal["right", "wrong", "null", "refused", "cut off", "unreadable"]
OUTCOMES: tuple[Outcome, ...] = ("right", "wrong", "null", "refused", "cut off", "unreadable")
"""What can become of a question: "wrong" is an error that nobody notices, "unreadable" an answer that is no
JSON."""

_PAIR = re.compile(r'"(\d{1,3})"\s*:\s*(null|-?\d+|true|false|"(?:[^"\\]|\\.)*")')
_NUMBER = re.compile(r"\s*\d{1,3}\s*")
_INK = re.compile(rf"[\s{NEWLINE}{TAB}{PAD}{END}{DIGITS}]+")
_FENCE = re.compile(r"^\s*```[^\n]*\n(.*?)(?:\n```\s*)?$", re.DOTALL)
_ABSTAINED = re.compile(r"null|none|n/?a|unknown|illegible|not legible|cannot read|\?*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Mark:
    """What became of a question.

    Attributes:
        arm: letter. page: from 1. number: of the question.
        kind: what was asked for.
        outcome: see `OUTCOMES`.
        third: part of the page's text that the answer stands in, 0 to 2.
        said: what was answered, "" for nothing.
    """

    arm: str
    page: int
    number: int
    kind: Kind
    outcome: Outcome
    third: int
    said: str = ""


def marks_of(text: TrialText, record: Record) -> tuple[Mark, ...]:
    """What became of each question that a call asked."""
    said = _answers(record.text)
    marks: list[Mark] = []
    for question in text.questions:
        outcome: Outcome
        value = said.get(question.number) if said is not None else None
        word = "" if value is None else value.strip().strip("`'\"").strip()
        abstained = value is None or _ABSTAINED.fullmatch(word) is not None
        if record.stop == "refusal":
            outcome = "refused"
        elif record.stop == "length" and (said is None or question.number not in said):
            outcome = "cut off"
        elif said is None:
            outcome = "unreadable"
        elif question.answer is None:
            outcome = "right" if abstained else "wrong"
        elif abstained:
            outcome = "null"
        else:
            outcome = "right" if _same(question.kind, word, question.answer) else "wrong"
        third = min(2, int(question.place * 3))
        marks.append(Mark(record.arm, record.page, question.number, question.kind, outcome, third, word))
    return tuple(marks)


def _same(kind: Kind, said: str, right: str) -> bool:
    if kind == GIST:
        return said.lower().rstrip(".").removeprefix("the ") == right
    return said == right


def _answers(text: str) -> dict[int, str | None] | None:
    """The answers by number, from a JSON object or from what there is of one; None where there is nothing."""
    start, stop = text.find("{"), text.rfind("}")
    try:
        whole: Any = json.loads(text[start : stop + 1]) if 0 <= start < stop else None
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, dict):
        rows = cast("dict[str, Any]", whole)
        found: dict[int, str | None] = {}
        for name, value in rows.items():
            if _NUMBER.fullmatch(name):
                found[int(name)] = None if value is None else _word(value)
        return found or None
    return {int(number): _spelled(value) for number, value in _PAIR.findall(text)} or None


def _spelled(value: str) -> str | None:
    """The answer that a JSON value stands for, or its own letters where JSON has no such escape or number."""
    try:
        read: Any = json.loads(value, strict=False)
    except ValueError:
        return value.strip('"')
    return None if read is None else _word(read)


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value)


def recall_of(texts: Sequence[TrialText], records: Iterable[Record]) -> float:
    """Of the exact strings that the calls asked for, the share that was copied without an error."""
    marks = [mark for one in records for mark in marks_of(texts[one.page - 1], one) if mark.kind in EXACT]
    return sum(mark.outcome == "right" for mark in marks) / max(1, len(marks))


# --- the copy


@dataclass(frozen=True, slots=True)
class Copied:
    """How a passage was copied; blanks, ends of lines and their marks do not count.

    Attributes:
        arm, page: whose and where.
        outcome: "right" for a copy with whatever errors; "refused", "cut off" or "unreadable".
        chars: characters that stood there. errors: of these wrong, missing or too many, at most `chars`.
        unread: characters that the model said it could not read.
    """

    arm: str
    page: int
    outcome: Outcome
    chars: int
    errors: int
    unread: int


def copied(text: TrialText, record: Record) -> Copied:
    """How a call's passage was copied."""
    right = _INK.sub("", text.passage)
    if record.stop == "refusal":
        return Copied(record.arm, record.page, "refused", len(right), 0, 0)
    fenced = _FENCE.match(record.text)
    said = fenced[1] if fenced else record.text
    lines = said.strip().split("\n")
    key = text.passage_key
    lines = [line for line in lines if not re.search(rf"passage {key} (?:begins|ends)", line)]
    got = _INK.sub("", "\n".join(lines))
    if not got:
        return Copied(record.arm, record.page, "unreadable", len(right), 0, 0)
    if record.stop == "length":
        # What was not copied any more is not wrong: as much counts as there is of it.
        right = right[: len(got)]
    errors = min(len(right), distance(right, got[: 4 * len(right) + 100]))
    outcome: Outcome = "cut off" if record.stop == "length" else "right"
    return Copied(record.arm, record.page, outcome, len(right), errors, got.count("?"))


def distance(one: str, other: str) -> int:
    """Levenshtein's distance of two texts, a row of the table at a time."""
    left = np.array([ord(char) for char in one], np.int64)
    right = np.array([ord(char) for char in other], np.int64)
    steps = np.arange(len(right) + 1)
    row = steps.copy()
    for at, char in enumerate(left.tolist(), 1):
        new = row + 1
        new[1:] = np.minimum(new[1:], row[:-1] + (right != char))
        new[0] = at
        # A run of insertions behind the cheapest place before it.
        row = np.minimum.accumulate(new - steps) + steps
    return int(row[-1])


def shares(marks: Iterable[Mark]) -> Mapping[Outcome, int]:
    """How many marks have each outcome."""
    counted: dict[Outcome, int] = dict.fromkeys(OUTCOMES, 0)
    for mark in marks:
        counted[mark.outcome] += 1
    return counted
