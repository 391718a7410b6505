"""What an answer is worth, and what many say: scoring, statistics, offline readers."""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshot.errors import SnapshotError
from snapshot.trial.journal import Record
from snapshot.trial.offline import offline_readers, recalls
from snapshot.trial.results import results_of
from snapshot.trial.run import run
from snapshot.trial.scoring import copied, distance, marks_of
from snapshot.trial.statistics import Cells, bounds, calibrated, paired, spearman
from snapshot.trial.texts import EXACT, trial_text
from tests.test_cli import run as command
from tests.trial_players import MUCH, READER_FACE, Player, answer, small_plan

# --- scoring


def record(text: str, stop: str = "end", what: str = "questions", page: int = 1) -> Record:
    return Record("c", "A", page, what, stop, text, 1, 1, 1, 1, Decimal())


def test_every_outcome_of_a_question():
    text = trial_text(1, 1, 5000)
    whole = answer(text, "")

    def outcomes(said: str, stop: str = "end") -> Counter[str]:
        return Counter(mark.outcome for mark in marks_of(text, record(said, stop)))

    assert outcomes(whole) == {"right": 34}
    assert outcomes(f"Here it is:\n```json\n{whole}\n```") == {"right": 34}
    assert outcomes("", "refusal") == {"refused": 34}
    assert outcomes("I would rather not.") == {"unreadable": 34}
    assert outcomes("[" * 100_000) == {"unreadable": 34}
    # An escape that JSON does not have, and numbers of any length: answers, if wrong ones.
    assert outcomes('{"1": "C:\\d", "2": 3, ')["unreadable"] == 0
    assert outcomes('{"1": ' + "9" * 5000 + ', "2": "x"')["unreadable"] == 0
    assert outcomes(whole[:-1] + ', "' + "9" * 5000 + '": "x"}') == {"right": 34}
    half = outcomes(whole[: len(whole) // 2], "length")
    assert half["cut off"] + half["right"] == 34
    assert 5 < half["right"] < 30
    nothing = json.dumps({str(question.number): None for question in text.questions})
    assert outcomes(nothing) == {"null": 32, "right": 2}
    bad = json.dumps({str(question.number): "x" for question in text.questions})
    assert outcomes(bad) == {"wrong": 34}
    assert outcomes("{}", "length") == {"cut off": 34}
    typed = {q.number: int(q.answer) if q.kind == "number" else q.answer for q in text.questions if q.answer}
    assert outcomes(json.dumps(typed))["right"] == 34


def test_how_a_passage_was_copied():
    text = trial_text(1, 1, 8000)
    chars = len("".join(text.passage.split()))

    def errors(said: str, stop: str = "end"):
        return copied(text, record(said, stop, "copy"))

    assert errors(text.passage).errors == 0
    assert errors(text.passage.replace("\n", "↵").replace("\t", "⇥")).errors == 0
    assert errors(f"```\npassage {text.passage_key} begins\n{text.passage}\n```").errors == 0
    assert errors(text.passage[:-10] + "?").unread >= 1
    assert errors(text.passage.replace("ms", "m5", 3)).errors == 3
    assert errors("", "refusal").outcome == "refused"
    assert errors("").outcome == "unreadable"
    cut = errors(text.passage[:700], "length")
    assert (cut.outcome, cut.errors) == ("cut off", 0)
    assert cut.chars < chars
    assert errors("z" * 100_000).errors == chars


def slow_distance(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for at, a in enumerate(one, 1):
        new = [at]
        for n, b in enumerate(other, 1):
            new.append(min(row[n] + 1, new[-1] + 1, row[n - 1] + (a != b)))
        row = new
    return row[-1]


@given(st.text("abc", max_size=12), st.text("abc", max_size=12))
def test_distances_are_levenshteins(one, other):
    assert distance(one, other) == slow_distance(one, other)


# --- statistics


def test_bounds_and_pairs_and_ranks():
    low, high = bounds(90, 100)
    assert 0.85 < low < 0.87
    assert 0.92 < high < 0.94
    assert bounds(0, 0) == (0.0, 1.0)
    assert bounds(5, 5)[1] == 1
    assert paired([True] * 10, [True] * 10) == (0, 0, 1.0)
    assert paired([True] * 8 + [False], [False] * 8 + [False])[2] == pytest.approx(2 / 2**8)
    assert spearman([1, 2, 3, 4], [10, 20, 30, 40]) == pytest.approx(1)
    assert spearman([1, 2, 3, 4], [4, 3, 2, 1]) == pytest.approx(-1)
    assert spearman([1, 1, 1], [1, 2, 3]) is None
    assert spearman([1, 2, 2, 3], [1, 2, 2, 3]) == pytest.approx(1)


def _simulated(slope: float) -> list[Cells]:
    random, cells = Random(5), list[Cells]()
    for area, columns in ((91, 250), (128, 220), (144, 190), (144, 86), (176, 160)):
        for kind in range(6):
            offline = 0.3 + 0.1 * kind + (area - 91) / 600
            logit = 0.4 + slope * _logit(offline)
            share = 1 / (1 + 2.718281828**-logit)
            right = sum(random.random() < share for _ in range(400))
            cells.append(Cells(right, 400, round(offline * 500), 500, area, columns))
    return cells


def _logit(share: float) -> float:
    from math import log

    return log(share / (1 - share))


@pytest.mark.parametrize("slope", [0.0, 1.0])
def test_calibration_finds_what_an_offline_reader_is_worth(slope):
    fit = calibrated(_simulated(slope))
    assert fit is not None
    assert set(fit.coefficients) == {"a", "b", "c", "d"}
    assert abs(fit.coefficients["b"] - slope) < 3 * fit.errors["b"] + 0.02
    assert fit.errors["b"] < 0.2


def test_calibration_stays_finite_where_all_was_right_and_needs_something_that_varies():
    perfect = [Cells(100, 100, 100, 100, area, 80) for area in (90, 120, 150)]
    fit = calibrated(perfect)
    assert fit is not None
    assert set(fit.coefficients) == {"a", "c"}
    assert all(abs(value) < 100 for value in fit.coefficients.values())
    assert calibrated([]) is None
    assert calibrated(perfect[:1]) is None


# --- offline readers


def test_an_offline_reader_reads_column_after_column(tmp_path):
    """A reader that knows the face finds all strings, also those that a column's edge cuts in two."""
    names = (READER_FACE, f"{READER_FACE}:38/2", f"{READER_FACE}:38/lines", f"{READER_FACE}/lines")
    planned = small_plan(*names, pages=1)
    run(planned, Player(planned), tmp_path, budget=MUCH)
    results = results_of(tmp_path)
    assert {arm.flow_columns for arm in results.arms} == {1, 2}
    assert any(arm.text_columns > 1 or arm.flow_columns > 1 for arm in results.arms)
    (reader,) = offline_readers(["tests.trial_players:exact_reader"], installed=False).values()
    found = recalls(results, reader)
    assert len(found) == len(results.arms) * len(EXACT)
    assert all(right == of > 0 for right, of in found.values()), found
    said = command("trial", "score", tmp_path, "--reader", "tests.trial_players:exact_reader").stdout
    assert "exact_reader: Spearman over 4 arms" in said
    assert "tesseract" not in said


@pytest.mark.parametrize("name", ["no_such_module:read", "tests.trial_players:nothing", "json", ":", "json:"])
def test_what_is_no_reader_is_one_line(name):
    with pytest.raises(SnapshotError, match="is no reader"):
        offline_readers([name], installed=False)
