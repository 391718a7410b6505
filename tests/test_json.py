"""JSON: the quick parser reads what it takes as the standard library does."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshot.transcripts.io import json_values

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
# Pieces of JSON in any order: some make a value, most do not.
_ESCAPES = ("\\ud83d", "\\ude00", "\\u0000", "\ud800", "\ufeff", "é", "😀")
_WORDS = ("1", "-0", "1e400", "0.1", "9" * 30, "01", "1.", ".5", "NaN", "null", '"a"', '"', "\\")
pieces = st.lists(st.sampled_from((*"{}[],: \t\n", *_WORDS, *_ESCAPES)), max_size=9).map("".join)


@pytest.fixture(autouse=True)
def _quick():
    json_values.prepare(1 << 30)
    assert "msgspec.json" in sys.modules


def _outcome(text: str, parse) -> str:
    try:
        return repr(parse(text))  # tells -0.0 from 0.0, 1 from 1.0, and NaN is itself
    except json.JSONDecodeError as error:
        return f"{error.msg} at {error.pos}"


@given(
    values.map(json.dumps)
    | values.map(lambda value: json.dumps(value, ensure_ascii=False, indent=1))
    | pieces
)
def test_both_parsers_agree(text):
    assert _outcome(text, json_values.parse) == _outcome(text, json.JSONDecoder(strict=False).decode)


@pytest.mark.parametrize(
    "text", ["[" * 3000 + "]" * 3000, "9" * 5000, '"\\ud800"', '{"a":1,"a":2}', "18446744073709551616"]
)
def test_what_only_one_of_them_takes(text, monkeypatch):
    def outcome() -> str:
        try:
            return repr(json_values.parse(text))
        except RecursionError:
            return "too deep"

    quick = outcome()
    monkeypatch.delitem(sys.modules, "msgspec.json")
    assert quick == outcome()


def test_small_inputs_do_not_load_it(monkeypatch):
    monkeypatch.delitem(sys.modules, "msgspec.json")
    json_values.prepare(100_000)
    assert "msgspec.json" not in sys.modules
