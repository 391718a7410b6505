"""Trials of readers: texts, plan, budget, what survives a kill, scoring. Nothing here touches a network."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
import tomllib
from collections import Counter
from decimal import Decimal
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshot.errors import SnapshotError
from snapshot.models.profile import Price
from snapshot.models.trials import trial_from
from snapshot.pages.layout import layout_for
from snapshot.redaction import Redactor
from snapshot.trial.arms import arm_of, default_arms, first_arms
from snapshot.trial.journal import NAME, Journal, Record
from snapshot.trial.offline import offline_readers, recalls
from snapshot.trial.plan import Call, Plan, plan_of
from snapshot.trial.results import counted, results_of
from snapshot.trial.rows import rows_of, toml_of
from snapshot.trial.run import run
from snapshot.trial.scoring import copied, distance, marks_of
from snapshot.trial.sending import NotSent, Prompt, Reply, Unknown
from snapshot.trial.statistics import Cells, bounds, calibrated, paired, spearman
from snapshot.trial.texts import EXACT, trial_text
from tests.test_cli import run as command
from tests.trial_players import MODEL, READER_FACE, Player, answer, small_plan

MUCH = Decimal(100)


@pytest.fixture(scope="module")
def plan() -> Plan:
    return small_plan()


# --- texts


@pytest.mark.parametrize("chars", [2500, 6000, 18_000, 40_000])
def test_what_is_planted_stands_once_and_all_over_the_page(chars):
    text = trial_text(5, 2, chars)
    source = text.source.text
    assert trial_text(5, 2, chars).source.text == source
    assert len(source) <= chars * 1.1 + 600 or chars < 4000
    kinds = Counter(question.kind for question in text.questions)
    assert {kind: kinds[kind] for kind in EXACT} == EXACT
    assert sum(EXACT.values()) == 24
    assert (kinds["structure"], kinds["gist"], kinds["absent"]) == (4, 4, 2)
    for question in text.questions:
        if question.kind in EXACT:
            assert source.count(str(question.answer)) == 1
            assert source.index(str(question.answer)) / len(source) == pytest.approx(question.place, abs=0.1)
    thirds = Counter(int(question.place * 3) for question in text.questions if question.kind in EXACT)
    # On a short page the passage fills most of a third.
    assert min(thirds[third] for third in range(3)) >= (4 if chars > 10_000 else 1)
    assert [question.number for question in text.questions] == list(range(1, 35))
    assert source.count(f"passage {text.passage_key} ") == 2
    assert text.passage in source


def test_no_text_is_used_twice_and_none_looks_like_a_credential():
    texts = [trial_text(seed, page, 6000) for seed in (1, 2) for page in (1, 2, 3)]
    answers = [q.answer for text in texts for q in text.questions if q.kind in ("hex", "sha1", "uuid")]
    assert len(set(answers)) == len(answers)
    for text in texts:
        redactor = Redactor()
        assert redactor.text(text.source.text) == text.source.text


def test_what_is_absent_is_absent():
    text = trial_text(3, 1, 8000)
    for question in text.questions:
        if question.kind == "absent":
            words = question.asks.split()
            key = words[words.index("build") + 1] if "build" in words else words[-3]
            assert key not in text.source.text


# --- the plan


def test_every_arm_has_the_same_text_on_one_page_of_the_size_that_is_sent():
    layout = layout_for("gemini-3.8-flash")
    arms = default_arms(layout)
    planned = plan_of("gemini-3.8-flash", layout, arms, pages=2)
    for letter, arm in planned.arms.items():
        assert not arm.resized
        pages = arm.pages(planned.text(1).source)
        assert sum(page.chars for page in pages) == len(planned.text(1).source.text)
        assert sum(page.tokens for page in pages) == planned.image_tokens(Call(letter, 1, "copy"))
        if arm.whole_page:
            assert len(pages) == 1
    assert {arm.name for arm in first_arms(arms)} <= {arm.name for arm in arms if arm.whole_page}


def test_letters_are_dealt_by_the_seed_and_sealed(plan, tmp_path):
    layout = layout_for(MODEL)
    arms = default_arms(layout)
    dealt = {tuple(plan_of(MODEL, layout, arms, pages=1, seed=seed).arms) for seed in range(6)}
    assert len(dealt) > 1
    run(plan, Player(plan), tmp_path, budget=MUCH)
    told = (tmp_path / "plan.json").read_text() + (tmp_path / NAME).read_text()
    assert not any(arm.name in told for arm in plan.arms.values())
    key = tmp_path / "key.json"
    key.write_text(key.read_text().replace("7x13", "9x16"))
    with pytest.raises(SnapshotError, match="sealed"):
        results_of(tmp_path)


def test_arms_that_say_nothing_are_refused():
    layout = layout_for(MODEL)
    for name in ("", "fira-9x16:9000", "no-such-face", "fira-9x16:999", "fira-9x16=/no/such/font.ttf", "a b"):
        with pytest.raises(SnapshotError):
            arm_of(name, layout)


def test_arms_have_the_rows_and_columns_that_their_names_say():
    layout = layout_for("gpt-5.6-sol")
    assert layout.row_width == 80
    for name, width, count, rows in (
        ("fira-8x18", 640, 1, 80), ("fira-8x18:172", 1376, 1, 172), ("fira-8x18/2", 1304, 2, 80),
        ("fira-8x18:86/2", 1400, 2, 86), ("fira-8x16:60", 480, 1, 60), ("fira-8x18/lines", 640, 1, 80),
        ("fira-8x18:60/lines", 480, 1, 60),
    ):  # fmt: skip
        arm = arm_of(name, layout)
        own = arm.layout
        assert (own.width, own.columns_of_text, arm.columns, arm.resized) == (width, count, rows, False), name
        assert bool(own.text_columns) == name.endswith("lines")
        assert ("part a page into columns" in arm.guide) == (own.flow_columns > 1)
    # Of a page in columns an arm has them too, unless it is told its rows.
    columned = layout_for("azure/gpt-5.6-sol")
    assert arm_of("fira-8x16", columned).layout.flow_columns == 2
    assert arm_of("fira-8x16:86", columned).layout.flow_columns == 1
    for model in ("gpt-5.6-sol", "claude-opus-4-8", "gemini-3.8-flash", "claude-haiku-4-5", "grok-4.7"):
        arms = default_arms(layout_for(model))
        assert not any(arm.resized for arm in arms if not arm.whole_page)
        assert len({arm.columns for arm in arms if arm.layout.face == layout_for(model).face}) > 1


def test_no_price_is_an_error():
    small = layout_for("claude-haiku-4-5")
    arms = [arm_of("fira-9x16", small)]
    with pytest.raises(SnapshotError, match="--price"):
        plan_of("x", small, arms, pages=1, price=Price(Decimal(1)))


# --- carrying it out


def test_a_whole_trial(plan, tmp_path):
    player = Player(plan)
    done = run(plan, player, tmp_path, budget=MUCH)
    calls = list(plan.calls())
    assert (done.ended, done.made, done.planned, done.lost) == ("done", len(calls), len(calls), 0)
    assert len(player.prompts) == len(calls) == 1 + 2 * 2 * 2
    results = results_of(tmp_path)
    assert results.spent == done.spent > 0
    for arm in results.arms:
        assert counted(arm.exact) == (48, 48)
        assert counted(arm.structure) == (8, 8)
        assert counted(arm.gist) == (8, 8)
        assert counted(arm.absent) == (4, 4)
        assert arm.error_rate == 0
        assert arm.bill is not None
        assert arm.bill.pages_billed == 1000
    assert results.chosen is not None
    assert results.chosen.name == "drawn-7x13"
    # Nothing is asked twice.
    assert run(plan, player, tmp_path, budget=MUCH) == done
    assert len(player.prompts) == len(calls)


def test_a_first_stage_goes_on_as_the_whole(tmp_path):
    names = ("drawn-7x13", "drawn-8x13", "fira-9x16", "drawn-11x16")
    first = small_plan(*names, pages=3, stage=1)
    done = run(first, Player(first), tmp_path, budget=MUCH)
    assert done.made == done.planned == 13
    whole = small_plan(*names, pages=3)
    player = Player(whole)
    assert run(whole, player, tmp_path, budget=MUCH).made == 1 + 4 * 3 * 2
    assert len(player.prompts) == 1 + 4 * 3 * 2 - 13


def test_a_hopeless_arm_is_given_up(tmp_path):
    planned = small_plan("drawn-6x11", "fira-9x16", "drawn-11x16", pages=4)
    player = Player(planned, lambda name: 0.2 if name == "drawn-6x11" else 1.0)
    done = run(planned, player, tmp_path, budget=MUCH)
    assert done.ended == "done"
    assert [planned.arms[letter].name for letter in done.dropped] == ["drawn-6x11"]
    assert done.made == done.planned == 1 + 2 * (2 + 4 + 4)
    results = results_of(tmp_path)
    worst = next(arm for arm in results.arms if arm.name == "drawn-6x11")
    assert len(worst.exact) == 48
    assert not worst.passes
    assert counted(worst.exact, "wrong")[0] > 20
    best, other, chance = results.pair(results.arms[-1], worst)
    assert best > 20
    assert other == 0
    assert chance < 0.001


@settings(max_examples=6, deadline=None)
@given(cents=st.integers(0, 40), billed=st.floats(0.2, 1.4))
def test_no_budget_is_ever_exceeded(cents, billed, tmp_path_factory):
    """Whatever a call turns out to cost, as long as it is within what was held for it."""
    planned = small_plan("fira-9x16", pages=1)
    folder = tmp_path_factory.mktemp("trial")
    budget = Decimal(cents) / 1000
    true = Decimal()

    def sender(prompt: Prompt) -> Reply:
        nonlocal true
        call = next(c for c in planned.calls() if planned.prompt(c) == prompt.text)
        call = call if prompt.images else Call(call.arm, 1, "text")
        read = int(planned.tokens(call) * billed)
        true += planned.usd(read, prompt.max_tokens)
        return Reply("{}", "length", read, prompt.max_tokens)

    done = run(planned, sender, folder, budget=budget)
    assert true <= budget
    assert done.spent == true
    if done.ended == "budget":
        assert done.needs + done.spent > budget
        again = run(planned, sender, folder, budget=MUCH)
        assert again.ended == "done"
        assert again.spent == true


def test_a_bill_above_what_was_foretold_raises_what_the_next_call_is_held_for(tmp_path):
    planned = small_plan("fira-9x16", pages=2, price=Price(Decimal(1000), output=Decimal(0)))

    def sender(_: Prompt) -> Reply:
        return Reply("{}", "end", 6000, 10)

    run(planned, sender, tmp_path, budget=Decimal(1000))
    held = [
        Decimal(row["most"])
        for row in map(json.loads, (tmp_path / NAME).read_text().splitlines())
        if row["event"] == "sent"
    ]
    assert held[3] >= 6  # the questions of the second page
    assert all(
        most > planned.most(call) for most, call in zip(held[2:], list(planned.calls())[2:], strict=True)
    )


# --- what goes wrong


def test_what_is_busy_is_asked_again_and_costs_nothing(plan, tmp_path):
    waits: list[float] = []
    player = Player(plan)
    left = [NotSent("busy", again=True, wait=3.0), NotSent("busy", again=True), NotSent("busy", again=True)]

    def sender(prompt: Prompt) -> Reply:
        if left:
            raise left.pop(0)
        return player(prompt)

    done = run(plan, sender, tmp_path, budget=MUCH, sleep=waits.append)
    assert done.lost == 0
    assert waits == [3.0, 4.0, 8.0]
    assert done.spent == sum((one.usd for one in Journal(tmp_path).answers.values()), Decimal())


def test_what_the_provider_does_not_want_ends_the_run_and_costs_nothing(plan, tmp_path):
    def sender(_: Prompt) -> Reply:
        raise NotSent("status 401: no such key", again=False)

    with pytest.raises(SnapshotError, match="401"):
        run(plan, sender, tmp_path, budget=MUCH)
    assert Journal(tmp_path).spent == 0
    assert run(plan, Player(plan), tmp_path, budget=MUCH).ended == "done"


def test_a_broken_connection_is_held_against_the_budget(plan, tmp_path):
    player, broken = Player(plan), [True, False, True] + [False] * 20

    def sender(prompt: Prompt) -> Reply:
        if broken.pop(0):
            raise Unknown("reset by peer")
        return player(prompt)

    done = run(plan, sender, tmp_path, budget=MUCH, sleep=lambda _: None)
    billed = sum((one.usd for one in Journal(tmp_path).answers.values()), Decimal())
    assert done.lost == 2
    assert done.spent > billed
    with pytest.raises(Unknown):
        run(small_plan(seed=8), _raising(Unknown("gone")), tmp_path / "b", budget=MUCH, sleep=lambda _: None)
    assert Journal(tmp_path / "b").lost == 5


def _raising(error: Exception):
    def sender(_: Prompt) -> Reply:
        raise error

    return sender


def test_what_an_api_does_not_say_is_taken_for_the_most(plan, tmp_path):
    done = run(plan, lambda _: Reply("{}"), tmp_path, budget=MUCH)
    assert done.spent >= sum(
        (plan.usd(plan.tokens(call), plan.longest(call)) for call in plan.calls()), Decimal()
    )


@pytest.mark.parametrize("cut", [0.1, 0.5, 0.9, 0.97, 0.999])
def test_half_a_line_is_no_line(plan, tmp_path, cut):
    run(plan, Player(plan), tmp_path, budget=MUCH)
    path = tmp_path / NAME
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * cut)])
    before = len(Journal(tmp_path).answers)
    player = Player(plan)
    done = run(plan, player, tmp_path, budget=MUCH)
    assert done.ended == "done"
    assert len(player.prompts) == len(list(plan.calls())) - before
    assert done.lost <= 1
    assert Journal(tmp_path).answers.keys() == _ids(data)
    for line in path.read_bytes().splitlines()[:-1]:
        assert line


def _ids(data: bytes) -> set[str]:
    return {row["call"] for row in map(json.loads, data.splitlines()) if row["event"] == "answer"}


def _killed(folder: str, ledger: str) -> None:
    """A run whose provider writes down what it bills, slowly."""
    planned = small_plan(pages=3)
    player = Player(planned)

    def sender(prompt: Prompt) -> Reply:
        reply = player(prompt)
        with Path(ledger).open("a") as file:
            file.write(f"{planned.usd(reply.input or 0, reply.output or 0)}\n")
            file.flush()
            os.fsync(file.fileno())
        time.sleep(0.05)
        return reply

    run(planned, sender, Path(folder), budget=Decimal("0.40"))


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_ten_kills_cost_ten_calls_at_most(tmp_path):
    """SIGKILL at any time: what was paid is known or held, and the trial ends within its budget."""
    folder, ledger = tmp_path / "trial", tmp_path / "billed"
    ledger.touch()
    planned = small_plan(pages=3)
    count, random, killed = len(list(planned.calls())), Random(11), 0
    context = multiprocessing.get_context("fork")
    while killed < 10:
        before = ledger.read_text().count("\n")
        process = context.Process(target=_killed, args=(str(folder), str(ledger)))
        process.start()
        stop = time.monotonic() + 20
        while ledger.read_text().count("\n") <= before and process.is_alive() and time.monotonic() < stop:
            time.sleep(0.002)
        time.sleep(random.random() * 0.06)
        assert process.pid is not None
        if not process.is_alive():
            break
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        killed += 1
    done = run(planned, Player(planned), folder, budget=Decimal("0.40"))
    assert killed == 10
    assert done.ended == "done"
    assert done.made == count
    assert done.lost <= 10
    billed = [Decimal(line) for line in ledger.read_text().split()]
    assert len(billed) <= count + done.lost
    assert sum(billed, Decimal()) <= done.spent <= Decimal("0.40")
    assert all(counted(arm.exact) == (72, 72) for arm in results_of(folder).arms)
    assert tomllib.loads(toml_of(results_of(folder)))["trials"]


def test_a_folder_of_something_else_is_left_alone(plan, tmp_path):
    (tmp_path / "notes.md").write_text("mine")
    with pytest.raises(SnapshotError, match="holds no trial"):
        run(plan, Player(plan), tmp_path, budget=MUCH)
    assert [item.name for item in tmp_path.iterdir() if not item.name.startswith(".")] == ["notes.md"]
    other = tmp_path / "t"
    run(plan, Player(plan), other, budget=MUCH)
    with pytest.raises(SnapshotError, match="another seed"):
        run(small_plan(seed=9), Player(plan), other, budget=MUCH)
    (other / "plan.json").write_text("{")
    with pytest.raises(SnapshotError, match="not a plan"):
        results_of(other)
    with pytest.raises(SnapshotError, match="no trial"):
        results_of(tmp_path / "nothing")


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


# --- rows


def test_rows_are_those_of_a_layout_file(tmp_path):
    planned = small_plan("drawn-7x13", "fira-9x16:86", "fira-9x16/lines")
    run(planned, Player(planned, lambda _: 0.9, abstain=0.5), tmp_path, budget=MUCH)
    results = results_of(tmp_path)
    rows = rows_of(results, source='me "and" you 🚀')
    assert len(rows) == 3 * 4
    trials = [trial_from(row) for row in rows]
    for arm in results.arms:
        own = [trial for trial in trials if trial.cell == arm.cell and trial.glyphs.startswith(arm.face)]
        assert {trial.what for trial in own} == {"exact", "hashes", "questions", "gist"}
    assert sum(trial.of for trial in trials if trial.what in ("exact", "hashes")) == 3 * 48
    read = tomllib.loads(toml_of(results, source='me "and" you 🚀'))
    assert [trial_from(row) for row in read["trials"]] == trials
    assert read["trial"]["calls"] == results.calls
    assert len(read["trial"]["arms"]) == 3
    assert sum(arm["copy"]["errors"] for arm in read["trial"]["arms"]) == 0


# --- the command


def test_without_a_budget_nothing_is_sent(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = command("trial", MODEL, "--pages", "2").stdout
    assert "Nothing was sent" in told
    assert "at most $" in told
    assert "drawn-11x16" in told
    assert list(tmp_path.iterdir()) == []


def test_score_and_rows_from_a_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    planned = small_plan()
    run(planned, Player(planned, lambda name: 1.0 if name == "fira-9x16" else 0.7), tmp_path, budget=MUCH)
    told = command("trial", "score", tmp_path).stdout
    assert "fira-9x16" in told
    assert "smallest cell" in told
    assert "Spearman" in told
    assert "48 of 48" in told
    assert "1,000 and" in told  # billed pages beside predicted ones
    rows = command("trial", "rows", tmp_path).stdout
    assert len(tomllib.loads(rows)["trials"]) == 8
    out = tmp_path / "rows.toml"
    command("trial", "rows", tmp_path, "-o", out)
    assert out.read_text(encoding="utf-8") == rows


@pytest.mark.parametrize(
    "arguments",
    [
        ("score",),
        ("rows", "/no/such/folder"),
        ("no-such-model",),
        (MODEL, "folder"),
        (MODEL, "--arm", "nothing"),
        ("grok-4.7", "--budget", "1", "--pages", "1"),
        ("my-own", "--base-url", "http://127.0.0.1:1/v1", "--budget", "1"),
        (MODEL, "--budget", "1", "--pages", "1", "--key-env", "NO_SUCH_VARIABLE"),
    ],
)
def test_bad_usage_is_one_line(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = command("trial", *arguments, check=2)
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "option", [("--budget", "nan"), ("--budget", "-1"), ("--price", "1"), ("--pages", "0")]
)
def test_bad_numbers_are_said(option):
    assert command("trial", MODEL, *option, check=2).stderr
