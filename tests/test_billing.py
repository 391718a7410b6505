"""Prices to the token, against published and measured vectors, and the rules' properties."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshot.billing import RULES, BillingRule, BudgetedPatches, Grid, PaddedPatches, rule_from
from snapshot.errors import LayoutError
from snapshot.layout import layout_for
from tests.conftest import HERE

VECTORS = json.loads((HERE / "data" / "billing_vectors.json").read_text(encoding="utf-8"))
# Kinds that record a disagreement between sources and are no tests, and lines not supported yet.
RECORDED = ("superseded", "conflict")
NOT_YET = ("tile ", "Gemini 2.x")
PROVIDERS_YET = ("anthropic", "openai", "google")


def rule_of(vector: dict[str, object]) -> BillingRule:
    """The rule for a vector's line and detail; for the detail that pages use, the layout file's own."""
    line, detail = str(vector["model_line"]), vector["detail"]
    if line.startswith("Gemini"):
        if detail == "high":
            return layout_for(str(vector["model"])).billing
        return Grid({"low": 280, "medium": 560, "ultra_high": 2240}[str(detail)], 48)
    if line.startswith("patch"):
        if "original/auto without budget" in line:
            return BudgetedPatches(32, 30_000, 65_535, "1.2")
        if line.startswith("patch, x1.2, original"):
            return BudgetedPatches(32, 10_000, 6000, "1.2")
        if "low = 2048 px" in line:
            return BudgetedPatches(32, 6144, 2048, "1.2")
        if "low = 512 px" in line:
            return BudgetedPatches(32, 30_000, 512, "1.2")
    return layout_for(str(vector["model"])).billing


tested = [
    vector
    for vector in VECTORS
    if vector["kind"] not in RECORDED
    and vector["provider"] in PROVIDERS_YET
    and not vector["model_line"].startswith(NOT_YET)
]


@pytest.mark.parametrize(
    "vector", tested, ids=lambda v: f"{v['model']}-{v['width']}x{v['height']}-{v['detail']}"
)
def test_vectors(vector):
    tokens = rule_of(vector).tokens(vector["width"], vector["height"])
    assert abs(tokens - vector["expected_tokens"]) <= vector["tolerance"], vector["source"]


def test_no_vector_is_left_out_silently():
    assert len(VECTORS) - len(tested) == 52, "52 are recorded disagreements or of lines that come later"


rules = st.sampled_from(
    [
        PaddedPatches(28, 1568, 1568),
        PaddedPatches(28, 2576, 4784),
        BudgetedPatches(32, 2500, 2048, "1.2"),
        BudgetedPatches(32, 1536, 2048, "1.62"),
        Grid(1120, 48),
    ]
)
sides = st.integers(1, 9000)


@given(rules, sides, sides)
def test_preprocessing_is_final(rule, width, height):
    """What the encoder sees is never larger than it may be, and would not be resized again."""
    seen = rule.preprocess(width, height)
    assert min(seen) >= 1
    if not rule.flat:
        # (Where one side is a pixel or two, OpenAI's reference arithmetic need not settle in one step.)
        if min(width, height) * 200 > max(width, height):
            assert rule.tokens(*seen) == rule.tokens(width, height)
        assert seen[0] <= width
        assert seen[1] <= height


@given(st.sampled_from([PaddedPatches(28, 2576, 4784), BudgetedPatches(32, 2500, 2048, "1.2")]), st.data())
def test_what_fits_is_never_cheaper_for_being_larger(rule, data):
    width, height = data.draw(st.integers(1, 1500)), data.draw(st.integers(1, 1500))
    assert rule.preprocess(width, height) == (width, height)
    assert rule.tokens(width, height) <= rule.tokens(width + data.draw(st.integers(0, 100)), height)
    assert rule.tokens(width, height) <= rule.tokens(width, height + data.draw(st.integers(0, 100)))


@given(sides, sides)
def test_caps_hold(width, height):
    for rule in (PaddedPatches(28, 1568, 1568), PaddedPatches(28, 2576, 4784)):
        seen = rule.preprocess(width, height)
        assert all(-(-side // 28) * 28 <= rule.max_edge for side in seen)
        assert rule.tokens(width, height) <= rule.max_tokens
    assert BudgetedPatches(32, 2500, 2048, "1").tokens(width, height) <= 2500
    assert Grid(1120, 48).tokens(width, height) <= max(
        1120, width // height, height // width, isqrt_up(width, height)
    )


def isqrt_up(width: int, height: int) -> int:
    """Gemini's grid is one cell high at least, however long the strip."""
    return int((1120 * max(width, height) / min(width, height)) ** 0.5) + 1


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({"rule": "patchwork"}, "known rules are padded-patches"),
        ({}, "rule is None"),
        ({"rule": "grid", "budget": 1120}, "unit is missing"),
        ({"rule": "grid", "budget": 1120, "unit": 48, "cap": 3}, "cap is not a parameter"),
        ({"rule": "grid", "budget": "many", "unit": 48}, "budget is 'many', it must be of type int"),
        ({"rule": "grid", "budget": True, "unit": 48}, "budget is True"),
    ],
)
def test_a_wrong_table_is_named(table, problem):
    with pytest.raises(LayoutError, match=problem) as caught:
        rule_from(table, "some.toml, billing")
    assert str(caught.value).startswith("some.toml, billing: ")
    assert len(RULES) == 3
