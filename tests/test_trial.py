"""Trials of readers: texts, plan, rows, the command. Nothing here touches a network."""

from __future__ import annotations

import tomllib
from collections import Counter
from decimal import Decimal

import pytest

from snapshot.errors import SnapshotError
from snapshot.models.profile import Price
from snapshot.models.trials import trial_from
from snapshot.pages.layout import layout_for
from snapshot.redaction import Redactor
from snapshot.trial.arms import arm_of, default_arms, first_arms
from snapshot.trial.journal import NAME
from snapshot.trial.plan import Call, plan_of
from snapshot.trial.results import results_of
from snapshot.trial.rows import rows_of, toml_of
from snapshot.trial.run import run
from snapshot.trial.texts import EXACT, trial_text
from tests.test_cli import run as command
from tests.trial_players import MODEL, MUCH, Player, plan, small_plan

__all__ = ["plan"]  # a fixture: pytest finds it here


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
