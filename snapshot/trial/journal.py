"""What happened in a trial: one append-only file, `calls.jsonl`, that survives whatever ends the process.

A call is written down before it is sent, with the most that it may cost, and again with its answer. A call
that was sent and has no answer was lost: it may have been billed, so its most is held against the budget for
good."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from snapshot.errors import SnapshotError

__all__ = ["Journal", "Record"]

NAME = "calls.jsonl"


@dataclass(frozen=True, slots=True)
class Record:
    """An answered call.

    Attributes:
        call: its id in the plan. arm: letter of its arm. page: number of the page, from 1.
        what: "questions", "copy" or "text".
        stop, text, input, output: as in `Reply`.
        predicted: input tokens that it was expected to take, and how many of them by its images.
        usd: what it cost, by list prices; more than that was never held.
    """

    call: str
    arm: str
    page: int
    what: str
    stop: str
    text: str
    input: int | None
    output: int | None
    predicted: int
    image_tokens: int
    usd: Decimal
    id: str = ""


@dataclass
class Journal:
    """The file of a trial's folder, and what it says so far.

    Raises:
        SnapshotError: the file cannot be read.
    """

    folder: Path
    answers: dict[str, Record] = field(default_factory=dict[str, Record])
    held: dict[str, Decimal] = field(default_factory=dict[str, Decimal])
    attempts: int = 0

    def __post_init__(self) -> None:
        for line in self._lines():
            try:
                self._take(json.loads(line))
            except (ValueError, KeyError, ArithmeticError, AttributeError, TypeError, RecursionError):
                continue  # what a killed process left behind; a call that it told of is held as lost

    @property
    def lost(self) -> int:
        """Calls that were sent, and that nobody knows the answer of."""
        return len(self.held)

    @property
    def spent(self) -> Decimal:
        """USD billed, and the most that calls without an answer may have been."""
        return sum((record.usd for record in self.answers.values()), Decimal()) + sum(
            self.held.values(), Decimal()
        )

    def sent(self, call: str, most: Decimal) -> str:
        """Write down that a call goes out, and what it may cost at most; the name of the attempt."""
        attempt = f"{call}#{self.attempts + 1}"
        self._add({"event": "sent", "attempt": attempt, "most": str(most)})
        return attempt

    def answered(self, attempt: str, record: Record) -> None:
        """Write down the answer to an attempt."""
        fields = {name: getattr(record, name) for name in Record.__slots__}
        self._add({"event": "answer", "attempt": attempt, **fields, "usd": str(record.usd)})

    def not_sent(self, attempt: str, why: str) -> None:
        """Write down that an attempt was not taken, so that nothing was billed."""
        self._add({"event": "not sent", "attempt": attempt, "why": why})

    def _take(self, row: Mapping[str, Any]) -> None:
        attempt = str(row["attempt"])
        if row["event"] == "sent":
            self.attempts += 1
            self.held[attempt] = Decimal(row["most"])
        elif row["event"] == "not sent":
            self.held.pop(attempt, None)
        elif row["event"] == "answer":
            self.held.pop(attempt, None)
            fields: dict[str, Any] = {name: row[name] for name in Record.__slots__}
            fields["usd"] = Decimal(row["usd"])
            record = Record(**fields)
            self.answers[record.call] = record

    def _add(self, row: Mapping[str, Any]) -> None:
        path = self.folder / NAME
        line = json.dumps(row, ensure_ascii=True).encode("ascii") + b"\n"
        try:
            with path.open("ab+") as file:
                if file.tell():
                    # What a killed process left half-written must not swallow the next line.
                    file.seek(-1, os.SEEK_END)
                    if file.read(1) != b"\n":
                        line = b"\n" + line
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise SnapshotError(f"{path}: cannot be written to ({error.strerror})") from error
        self._take(row)

    def _lines(self) -> list[bytes]:
        path = self.folder / NAME
        try:
            return [line for line in path.read_bytes().split(b"\n") if line.strip()]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise SnapshotError(f"{path}: cannot be read ({error.strerror})") from error
