"""A trial is carried out: within its budget, through errors and kills. Nothing here touches a network."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
import tomllib
from decimal import Decimal
from pathlib import Path
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from snapshot.errors import SnapshotError
from snapshot.models.profile import Price
from snapshot.trial.journal import NAME, Journal
from snapshot.trial.results import counted, results_of
from snapshot.trial.rows import toml_of
from snapshot.trial.run import run
from snapshot.trial.sending import NotSent, Prompt, Reply, Unknown
from tests.trial_players import MUCH, Player, plan, small_plan

__all__ = ["plan"]  # a fixture: pytest finds it here


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
@example(cents=27, billed=1.25)
def test_no_budget_is_ever_exceeded(cents, billed, tmp_path_factory):
    """Whatever a call turns out to cost, as long as it is within what was held for it."""
    planned = small_plan("fira-9x16", pages=1)
    folder = tmp_path_factory.mktemp("trial")
    budget = Decimal(cents) / 1000
    true = Decimal()

    def sender(prompt: Prompt) -> Reply:
        nonlocal true
        # The same questions are asked with pages and without.
        call = next(
            one
            for one in planned.calls()
            if planned.prompt(one) == prompt.text and (one.what == "text") != bool(prompt.images)
        )
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
