"""Sessions at three lengths: what a turn costs does not grow with the history before it.

python -m pytest benchmarks/bench_session.py

Every history has a checkpoint that keeps its last 200 messages, as one that is spoken with has; without one,
what is sent grows with what was said.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from snapshot.session import Checkpoint, History, Store
from tests.session_model import answer, turn, user

_KEPT = 200
_SIZES = (1_000, 10_000, 100_000)


@pytest.fixture(scope="module", params=_SIZES)
def history(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    """A history of so many messages, half of them by calls, on two branches that part at its first turn."""
    path: Path = tmp_path_factory.mktemp("sessions") / "s.sqlite"
    messages = [message for number in range(request.param // 4) for message in turn(f"Step {number}.", 1)]
    with Store(path, create=True) as store:
        made = store.create("long", model="claude-opus-4-8", messages=messages)
        nodes = list(made.rows.nodes())
        kept = nodes[-_KEPT].id
        made.commit(made.plan(), Checkpoint("summary", kept, (user("All before."),), "claude-opus-4-8"))
        made.set_branch("side", at=nodes[3].id)
        yield made


@pytest.mark.benchmark(group="session: append a turn")
def test_append(benchmark, history: History):
    history.switch("main")
    benchmark(lambda: history.append([user("And now?"), answer("Done.")]))


@pytest.mark.benchmark(group="session: project")
def test_project(benchmark, history: History):
    history.switch("main")
    history.set_branch("here", at=next(n.id for n in history.rows.nodes() if n.kind == "checkpoint"))
    projection = benchmark(lambda: history.project("here"))
    assert len(projection.kept) == _KEPT


@pytest.mark.benchmark(group="session: switch branch")
def test_switch(benchmark, history: History):
    def there_and_back() -> None:
        history.switch("side")
        history.switch("main")

    benchmark(there_and_back)


@pytest.mark.benchmark(group="session: go back to the first turn, and look")
def test_go_back(benchmark, history: History):
    first = next(history.rows.nodes())
    leaf = history.branch("main").leaf

    def back() -> int:
        history.set_branch("main", at=leaf)
        history.retry(first.id, branch="main")
        return len(history.project("main").kept)

    assert benchmark(back) == 1
    history.set_branch("main", at=leaf)


@pytest.mark.benchmark(group="session: open")
def test_open(benchmark, history: History):
    """This one is linear: the structure of the whole history is looked at before it is written to."""

    def opened() -> None:
        with Store(history.rows.database.path) as store:
            assert not store.history("long").damage

    benchmark(opened)
