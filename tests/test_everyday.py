"""Strings that a list need not tell come after others, and numbers of lines not at all."""

from __future__ import annotations

import pytest

from snapshot.facts.everyday import news_in, places_of_number
from snapshot.facts.factsheet import factsheet
from snapshot.models.ids import profile_for
from snapshot.source.source import Source


@pytest.mark.parametrize(
    ("name", "text", "new"),
    [
        ("TypeError", "raise TypeError", False),
        ("NotEquivalentError", "raise NotEquivalentError", True),
        ("self.closed", "self.closed = 1", False),
        ("self.is_closed", "self.is_closed = 1", True),
        ("kwargs.get", "kwargs.get(x)", False),
        ("self.state.register", "self.state.register(x)", True),
        ("opt-in", "an opt-in for all", False),
        ("json-seq", "application/json-seq is one", True),
        ("dry-run", "a dry-run, by --dry-run", True),
        ("AMQP-based", "AMQP-based", True),
    ],
)
def test_what_everybody_spells_right_is_worth_less(name: str, text: str, new: bool) -> None:
    places = [at for at in range(len(text)) if text.startswith(name, at)]
    assert (news_in(name, text, places) == 1) == new


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("x\n1098\tdef f():\n", False),
        ("x\n 1098→def f():\n", False),
        ("x\na.py:1098: error\n", False),
        ("sed -n '1098,1110p' a.py", False),
        ('{"offset": 1098, "limit": 5}', False),
        ("timeout = 1098\n", True),
        ("x\n1098 tests passed\n", True),
        ("limited to 1098 bytes each\n", True),
    ],
)
def test_numbers_of_lines_are_no_facts(text: str, kept: bool) -> None:
    assert bool(places_of_number(text, [text.index("1098")])) == kept


def test_a_place_over_the_edge_of_a_page_is_named_where_there_is_none_beside() -> None:
    text = "see kombu/transport/pyro.py\n" * 2
    whole, edge = _listed(text), _listed(text[:28])
    assert "\np2: kombu/transport/pyro.py" in whole
    assert "\np1-2: kombu/transport/pyro.py" in edge


def _listed(text: str) -> str:
    """The list of a text that breaks to its second page within the first path."""
    pages = [(0, 12), (12, len(text))]
    return factsheet(Source(text), pages, tail="", budget=500, reader=profile_for("claude-opus-4-8")).text
