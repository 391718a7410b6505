"""What a trial found, from its folder alone: scored blind, and only then put under the names of its arms."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from snapshot.errors import SnapshotError
from snapshot.trial.journal import Journal, Record
from snapshot.trial.run import stored_plan
from snapshot.trial.scoring import Copied, Mark, copied, marks_of
from snapshot.trial.statistics import Cells, bounds, paired
from snapshot.trial.texts import ABSENT, EXACT, GIST, STRUCTURE, Kind, TrialText, trial_text

__all__ = ["FLOOR", "SILENT", "ArmResult", "Bill", "Results", "results_of"]

FLOOR = 0.9
"""Recall of exact strings that a cell is to have, with 90 % certainty."""
SILENT = 0.02
"""The largest share of exact strings that may be wrong without a word."""
_HEX: tuple[Kind, ...] = ("hex", "sha1", "uuid")


@dataclass(frozen=True, slots=True)
class Bill:
    """Input tokens of a call: as it was billed, and of its pages as billed (where the words alone are known)
    and as predicted."""

    billed: int
    predicted: int
    pages_billed: int | None
    pages_predicted: int


@dataclass(frozen=True)
class ArmResult:
    """An arm, and what was made of its pages.

    Attributes:
        letter, name, face, cell, columns, page: the arm; `columns` are cells of a row, the others pixels.
        text_columns, flow_columns: columns that keep lines (0: none), and columns of flowing text.
        resized: whether the provider resizes its pages.
        marks: what became of each question. copies: of each passage.
        bill: of its first call; None where none was billed.
    """

    letter: str
    name: str
    face: str
    cell: tuple[int, int]
    columns: int
    page: tuple[int, int]
    text_columns: int
    flow_columns: int
    resized: bool
    marks: tuple[Mark, ...]
    copies: tuple[Copied, ...]
    bill: Bill | None

    @property
    def area(self) -> int:
        """Pixels per character."""
        return self.cell[0] * self.cell[1]

    def of(self, *kinds: Kind) -> list[Mark]:
        """The marks of these kinds."""
        return [mark for mark in self.marks if mark.kind in kinds]

    @cached_property
    def exact(self) -> list[Mark]:
        """The marks of exact strings."""
        return self.of(*EXACT)

    @property
    def hashes(self) -> list[Mark]:
        """The marks of hexadecimal digits."""
        return self.of(*_HEX)

    @property
    def others(self) -> list[Mark]:
        """The marks of exact strings that are not hexadecimal digits."""
        return [mark for mark in self.exact if mark.kind not in _HEX]

    @property
    def structure(self) -> list[Mark]:
        """The marks of indentation, line numbers, fields and following lines."""
        return self.of(STRUCTURE)

    @property
    def gist(self) -> list[Mark]:
        """The marks of what was said."""
        return self.of(GIST)

    @property
    def absent(self) -> list[Mark]:
        """The marks of what stands nowhere."""
        return self.of(ABSENT)

    @property
    def error_rate(self) -> float | None:
        """Of the characters of passages that were copied, the share in error; None where none was."""
        done = [one for one in self.copies if one.outcome in ("right", "cut off")]
        chars = sum(one.chars for one in done)
        return sum(one.errors for one in done) / chars if chars else None

    def calls_that(self, outcome: str) -> int:
        """How many calls ended so: refused or cut off, at least in part."""
        questions = {mark.page for mark in self.marks if mark.outcome == outcome}
        return len(questions) + sum(one.outcome == outcome for one in self.copies)

    @property
    def passes(self) -> bool:
        """Whether its recall is certain enough to be above the floor, and silent errors are few."""
        right, of = counted(self.exact)
        return bool(of) and bounds(right, of)[0] >= FLOOR and counted(self.exact, "wrong")[0] / of <= SILENT


def counted(marks: Sequence[Mark], outcome: str = "right") -> tuple[int, int]:
    """How many marks have an outcome, and of how many."""
    return sum(mark.outcome == outcome for mark in marks), len(marks)


@dataclass(frozen=True)
class Results:
    """What a trial found.

    Attributes:
        plan: as it is kept. folder: where.
        arms: from the smallest cell to the largest.
        calls: answered calls. lost: calls nobody knows the answer of. spent: USD.
        texts: of its pages, page 1 first.
    """

    folder: Path
    plan: Mapping[str, Any]
    arms: tuple[ArmResult, ...]
    calls: int
    lost: int
    spent: Decimal
    texts: tuple[TrialText, ...]

    @property
    def model(self) -> str:
        """Id of the model."""
        return str(self.plan["model"])

    @property
    def chosen(self) -> ArmResult | None:
        """The smallest cell that passes; None where none does."""
        return next((arm for arm in self.arms if arm.passes and not arm.resized), None)

    def pair(self, one: ArmResult, other: ArmResult) -> tuple[int, int, float]:
        """What two arms made of the exact strings that both were asked for."""
        left = {(mark.page, mark.number): mark.outcome == "right" for mark in one.exact}
        right = {(mark.page, mark.number): mark.outcome == "right" for mark in other.exact}
        both = sorted(left.keys() & right.keys())
        return paired([left[key] for key in both], [right[key] for key in both])

    def cells(self, offline: Callable[[ArmResult, Kind], tuple[int, int]]) -> list[Cells]:
        """Arms by kinds beside what an offline reader got right, for its calibration."""
        return [
            Cells(*counted(arm.of(kind)), *offline(arm, kind), arm.area, arm.columns)
            for arm in self.arms
            for kind in EXACT
            if arm.of(kind)
        ]


def results_of(folder: Path) -> Results:
    """Score a trial.

    Raises:
        SnapshotError: the folder holds no trial, one of another version's texts, or a key that was changed.
    """
    plan = stored_plan(folder)
    try:
        seed, chars = int(plan["seed"]), [int(size) for size in plan["chars"]]
        texts = tuple(trial_text(seed, page, size) for page, size in enumerate(chars, 1))
        hashes = [sha256(text.source.text.encode()).hexdigest() for text in texts]
        if hashes != plan["texts"]:
            raise SnapshotError(
                f"{folder}: its texts are not those that this version makes; score it with snapshot-pages "
                f"{plan.get('version', 'of its time')}"
            )
        journal = Journal(folder)
        records = [one for one in journal.answers.values() if 1 <= one.page <= len(texts)]
        # Blind: only letters are known up to here.
        marks = [m for one in records if one.what == "questions" for m in marks_of(texts[one.page - 1], one)]
        copies = [copied(texts[one.page - 1], one) for one in records if one.what == "copy"]
        key = _key(folder, str(plan["key_sha256"]))
        arms = [_arm(letter, item, marks, copies, records) for letter, item in key.items()]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SnapshotError(f"{folder}: its plan or key is damaged ({error!r})") from error
    arms.sort(key=lambda arm: (arm.area, arm.columns, arm.name))
    return Results(folder, plan, tuple(arms), len(records), journal.lost, journal.spent, texts)


def _key(folder: Path, wanted: str) -> dict[str, dict[str, Any]]:
    try:
        data = (folder / "key.json").read_bytes()
    except OSError as error:
        raise SnapshotError(f"{folder}: has no key of its arms ({error.strerror})") from error
    if sha256(data).hexdigest() != wanted:
        raise SnapshotError(f"{folder}/key.json: is not the key that the plan was sealed with")
    return json.loads(data)["arms"]


def _arm(
    letter: str,
    item: Mapping[str, Any],
    marks: Iterable[Mark],
    copies: Iterable[Copied],
    records: Sequence[Record],
) -> ArmResult:
    width, height = item["cell"]
    page = item["page"]
    return ArmResult(
        letter, str(item["name"]), str(item["face"]), (int(width), int(height)), int(item["columns"]),
        (int(page[0]), int(page[1])), int(item["text_columns"]), int(item.get("flow_columns", 1)),
        bool(item["resized"]),
        tuple(mark for mark in marks if mark.arm == letter),
        tuple(one for one in copies if one.arm == letter),
        _bill(letter, records),
    )  # fmt: skip


def _bill(letter: str, records: Sequence[Record]) -> Bill | None:
    """What the first call of an arm was billed; its words are those of the call that had no page."""
    alone = next((one.input for one in records if one.what == "text" and one.input), None)
    for one in records:
        if one.arm == letter and one.what == "questions" and one.input:
            pages = None if alone is None or one.page != 1 else one.input - alone
            return Bill(one.input, one.predicted, pages, one.image_tokens)
    return None
