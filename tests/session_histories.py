"""A store and a history of three turns, for tests of sessions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from snapshot.session import Checkpoint, History, Store
from tests.session_model import turn, user

MODEL = "claude-opus-4-8"
SUM = Checkpoint("summary", "", (user("Sum of it all."),), MODEL)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "s.sqlite", create=True) as made:
        yield made


@pytest.fixture
def history(store: Store) -> History:
    return store.create("talk", model=MODEL, messages=[*turn("one"), *turn("two"), *turn("three")])


def ids(history: History, **where: str) -> list[str]:
    """The ids of the nodes on a path: of the branch, or to the one that `at` names."""
    return [node for node, _ in history.path(**where)]
