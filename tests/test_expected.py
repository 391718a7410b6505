"""What trials let one expect: borrowed from nobody without a word, and what is not known is not "ok"."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshot.costs.costs import example_models
from snapshot.legibility import verify as certified
from snapshot.models.ids import model_key, profile_for
from snapshot.models.trials import Trial, expected
from snapshot.pages.layout import layout_for

NAMES = ("one", "one-5", "one-lite", "two", "two-1", "three")
rows = st.builds(
    lambda model, cell, what, right, of, columns: Trial(
        model, cell, "glyphs", what, min(right, of) / of, "2026-08", "somebody", min(right, of), of,
        columns=columns,
    ),
    st.sampled_from(["one*", "one", "one-5*", "two*", "two-1"]),
    st.sampled_from([(5, 8), (7, 14), (9, 16), (11, 16)]),
    st.sampled_from(["exact", "questions", "gist", "hashes"]),
    st.integers(0, 98),
    st.integers(1, 98),
    st.sampled_from([0, 80, 172]),
)  # fmt: skip


@given(
    st.lists(rows, max_size=8), st.sampled_from(NAMES), st.integers(20, 500), st.floats(0, 1), st.booleans()
)
def test_a_recall_without_a_word_of_doubt_is_of_the_very_model_and_above_the_floor(
    trials, model, area, floor, hashes
):
    found = expected(trials, model, area, hashes=hashes)
    asked = [trial for trial in trials if (trial.what == "hashes") == hashes]
    if found is None:
        assert not asked
        return
    own = [trial for trial in asked if trial.model.rstrip("*") == model]
    assert found.borrowed == (not own)
    assert {*found.trials} <= {*(own or asked)}
    if own:
        assert "others of its kind" not in found.basis
    else:
        near = [trial for trial in asked if trial.fits(model)]
        assert {*found.trials} <= {*(near or asked)}, "the nearest siblings speak alone"
        assert found.basis.startswith("of others of its kind, ")
        assert "very model" in found.doubt(floor)
    check = certified._recall(found, a_reader(), floor)
    if check.verdict == "passed":
        assert not found.borrowed
        assert found.recall >= floor
        assert found.worst is None or found.worst.score >= floor
    if found.recall < floor:
        assert check.verdict == ("unsure" if found.at_least else "failed")


def a_reader():
    return layout_for("claude-haiku-4-5").reader


def test_nobodys_trial_is_not_ok():
    check = certified._recall(None, a_reader(), 0.7)
    assert check.verdict == "unsure"
    assert "not known" in check.says


@given(st.lists(rows, min_size=1, max_size=6), st.sampled_from([40, 98, 144, 176]))
def test_what_is_expected_weighs_rows_by_their_answers(trials, area):
    """Of one area and model: all answers of values and questions together, of gist only without them."""
    trials = [replace(trial, model="one") for trial in trials if trial.area == area]
    found = expected(trials, "one", area)
    asked = [trial for trial in trials if trial.what != "hashes"]
    counted = [trial for trial in asked if trial.what != "gist"] or asked
    if not counted:
        assert found is None
        return
    assert found is not None
    assert found.recall == pytest.approx(sum(t.right for t in counted) / sum(t.of for t in counted))
    assert found.worst is not None
    assert found.worst.score == min(trial.score for trial in asked)


@pytest.mark.parametrize("model", [*example_models(), "claude-opus-5-5", "claude-fable-5-1", "kimi-k3.1"])
def test_what_verify_calls_ok_was_tried_with_that_model(model):
    """The rows that are shipped, as a stranger asks for them: an id and its page."""
    layout, key = layout_for(model), model_key(model)
    area = layout.cell[0] * layout.cell[1]
    found = expected(layout.reader.trials, key, area, columns=layout.row_width)
    check = certified._recall(found, layout.reader, 0.7)
    if check.verdict == "passed":
        assert found is not None
        assert all(trial.model.rstrip("*-") == key for trial in found.trials)
    elif found is not None and found.borrowed:
        assert "nobody published a trial of this very model" in check.says


def test_siblings_by_id_are_named_as_what_they_are():
    for model, of in (
        ("claude-opus-5-5", "claude-opus-5"),
        ("claude-fable-5-1", "claude-fable-5"),
        ("gemini-3.6-flash-lite", "gemini-3-6-flash"),
        ("grok-4.7", "grok-4"),
    ):
        reader = profile_for(model)
        found = expected(reader.trials, model_key(model), 144)
        assert found is not None
        assert found.borrowed
        assert f"{of} on" in found.basis
    dated = expected(profile_for("claude-opus-5").trials, model_key("claude-opus-5-20260601"), 144)
    assert dated is not None
    assert not dated.borrowed, "a date is no other model"


@pytest.mark.parametrize(
    ("right", "area", "verdict"),
    [(12, 40, "failed"), (12, 144, "unsure"), (18, 144, "passed"), (18, 40, "passed"), (18, 20, "failed")],
)
def test_at_least_something_below_the_floor_is_not_ok(right, area, verdict):
    """Nothing larger was tried than what failed: neither refused for it, nor ok."""
    trial = Trial("one", (5, 8), "glyphs", "exact", right / 20, "2026-08", "somebody", right, 20)
    check = certified._recall(expected([trial], "one", area), a_reader(), 0.7)
    assert check.verdict == verdict
    assert ("nothing so large was tried" in check.says) == (verdict == "unsure")
