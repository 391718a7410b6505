"""A full trial against a local server, interrupted again and again: within its budget, its rows written."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from decimal import Decimal
from pathlib import Path
from random import Random

import pytest

from snapshot.models.profile import Price
from snapshot.pages.layout import layout_for
from snapshot.trial.arms import arms_of
from snapshot.trial.journal import Journal
from snapshot.trial.plan import Plan, plan_of
from snapshot.trial.results import counted, results_of
from tests.conftest import HERE
from tests.fake_provider import FakeProvider, Reply, Seen, say
from tests.test_trial_clients import words_of
from tests.trial_players import answer, text_of

pytestmark = [
    pytest.mark.clients,
    pytest.mark.skipif(sys.platform == "win32", reason="its signals are others"),
]

LIKE, SEED, PAGES = "claude-haiku-4-5", 12, 2
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
PRICE = Decimal(1), Decimal(5)
ARMS = ("default", "peers")


def planned() -> Plan:
    layout = layout_for(LIKE)
    price = Price(PRICE[0], output=PRICE[1])
    return plan_of("my-claude", layout, arms_of(ARMS, layout), seed=SEED, pages=PAGES, price=price)


def command(url: str, folder: Path, budget: Decimal) -> list[str]:
    return [
        sys.executable, "-m", "snapshot", "trial", "my-claude", "--like", LIKE, "--seed", str(SEED),
        "--base-url", f"{url}/v1", "--price", f"{PRICE[0]},{PRICE[1]}", "--budget", str(budget),
        "--pages", str(PAGES), *(word for name in ARMS for word in ("--arm", name)), "-o", str(folder),
    ]  # fmt: skip


def interrupted(fake: FakeProvider, words: list[str], sign: signal.Signals, random: Random) -> str:
    """The command, ended by a signal once the server has a call of it; what it said on standard error."""
    before = len(fake.requests)
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    process = subprocess.Popen(
        words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    stop = time.monotonic() + 120
    while len(fake.requests) == before and process.poll() is None and time.monotonic() < stop:
        time.sleep(0.002)
    time.sleep(random.random() * 0.2)
    assert process.poll() is None, "done before it was interrupted"
    process.send_signal(sign)
    said = process.communicate(timeout=120)[1]
    assert process.returncode != 0
    return said


@pytest.mark.slow
def test_a_full_trial_interrupted_ten_times(tmp_path):
    """By the keyboard, by the system, and by force in turn; every arm of the default and of other tools."""
    plan = planned()
    calls = list(plan.calls())
    assert len(plan.arms) >= 10
    assert len(calls) == 1 + len(plan.arms) * PAGES * 2
    # Enough for every call once at its most, and for ten that are lost at the most that any may cost.
    most = [plan.most(call) for call in calls]
    budget = (sum(most, Decimal()) + 10 * max(most)).quantize(Decimal("0.01"))
    billed: list[Decimal] = []
    random = Random(4)

    def reply(seen: Seen) -> Reply:
        words = words_of(seen)
        said = answer(text_of(plan, words), words)
        billed.append(plan.usd(seen.tokens, len(said) // 4 + 1))
        return say(said, delay=0.03)

    folder = tmp_path / "trial"
    with FakeProvider(reply=reply) as fake:
        words = command(fake.url, folder, budget)
        for number in range(10):
            sign = SIGNALS[number % len(SIGNALS)]
            said = interrupted(fake, words, sign, random)
            assert "Traceback" not in said, said
            assert Journal(folder).spent <= budget
        asked = len(fake.requests)
        environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        assert asked < len(fake.requests), "there was something left to do"
        assert f"{len(calls)} of {len(calls)} calls answered" in done.stdout
        rows = subprocess.run(
            [*words[:4], "rows", str(folder), "--source", "a test"],
            env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert len(fake.requests) <= len(calls) + 10
    journal = Journal(folder)
    assert journal.lost <= 10
    assert journal.spent <= budget
    assert sum(billed, Decimal()) <= journal.spent * Decimal("1.05"), (
        "what the server billed is known or held"
    )
    results = results_of(folder)
    assert {arm.name for arm in results.arms} == {arm.name for arm in plan.arms.values()}
    assert all(counted(arm.exact) == (24 * PAGES, 24 * PAGES) for arm in results.arms)
    found = tomllib.loads(rows.stdout)
    assert {row["what"] for row in found["trials"]} == {"exact", "hashes", "questions", "gist"}
    assert len(found["trials"]) == 4 * len(plan.arms)
    assert {tuple(row["cell"]) for row in found["trials"]} >= {(11, 16), (9, 16), (7, 13)}
    shapes = [row for row in found["trials"] if row["glyphs"].startswith("Fira Code")]
    assert len(shapes) == 4 * 2
    assert any(re.search("8x13 in 11x16, resized by the provider", row["glyphs"]) for row in shapes)


@pytest.mark.slow
def test_a_budget_that_ends_first_is_kept_to_through_interruptions(tmp_path):
    """With room for a few calls alone: it stops and says so, and a larger budget goes on from there."""
    plan = planned()
    calls = list(plan.calls())
    budget = sum((plan.most(call) for call in calls[:6]), Decimal()).quantize(Decimal("0.01"))

    def reply(seen: Seen) -> Reply:
        words = words_of(seen)
        return say(answer(text_of(plan, words), words), delay=0.03)

    folder = tmp_path / "trial"
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    with FakeProvider(reply=reply) as fake:
        interrupted(fake, command(fake.url, folder, budget), signal.SIGTERM, Random(1))
        words = command(fake.url, folder, budget)
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=600)
        assert done.returncode == 1
        assert "the same command with a larger --budget goes on" in done.stderr
        assert Journal(folder).spent <= budget
        kept = len(Journal(folder).answers)
        assert 0 < kept < len(calls)
        larger = command(fake.url, folder, Decimal(50))
        done = subprocess.run(larger, env=environment, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        assert len(fake.requests) <= len(calls) + 1
