"""Sessions: branches, checkpoints and commits, one promise each."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from snapshot.errors import SessionBusy, SessionError, StaleCompaction
from snapshot.messages import Image, Message, Text
from snapshot.session import Checkpoint, Plan, Store
from snapshot.session.tree import Node, ancestor_at, jump_of
from tests.conftest import case
from tests.conversations import SMALL_PNG
from tests.session_histories import MODEL, SUM, history, ids, store
from tests.session_model import act, answer, calling, result, turn, user

__all__ = ["history", "store"]  # fixtures: pytest finds them here


# --- case 031: a compaction planned on a conversation that changes before it is committed

SCENARIOS = json.loads((case("031") / "input.json").read_text(encoding="utf-8"))


def begin(path: Path) -> dict[str, str]:
    with Store(path, create=True) as made:
        start = [Message(item["role"], (Text(item["text"]),)) for item in SCENARIOS["start"]]
        history = made.create("photos", model=MODEL, messages=start)
        return {item["id"]: node for item, node in zip(SCENARIOS["start"], ids(history), strict=True)}


def verify(path: Path, scenario: dict, marks: dict[str, str], came: list[str]) -> None:
    """What the scenario expects, in its own words."""
    with Store(path) as store:
        assert [found for _, found in store.check()] == [[], []]
        history = store.history("photos")
        checkpoints = [node.id for node in history.rows.nodes() if node.kind == "checkpoint"]
        archives = store.database.value("SELECT count(*) FROM archives")
        assert archives <= len(checkpoints)
        expected = scenario["expect"]
        outcomes = [words.split(",")[0] for words in expected if words.split(",")[0] in ("ok", "stale")]
        assert [word for word in came if word] == outcomes
        assert len(checkpoints) == outcomes.count("ok")
        if "m7 is there" in expected:
            assert history.path()[-1][1] == user("And 2026.")
        if "both branches readable" in expected:
            assert [m for _, m in history.path()][2:] == [user("By camera.")]
            assert ids(history, at=marks["m6"]) == list(marks.values())
        if "label kept" in expected:
            assert [(label.name, label.node) for label in history.labels()] == [("good", marks["m4"])]
        if "boundary never moves back" in expected:
            assert history.project().ids == (marks["m5"], marks["m6"])
        if outcomes[-1:] == ["stale"] and scenario["name"] != "call opened":
            history.commit(history.plan(), SUM)  # can be planned again at once


@pytest.mark.parametrize("scenario", SCENARIOS["scenarios"], ids=lambda scenario: scenario["name"])
def test_stale_commits_in_one_process(scenario, tmp_path):
    path = tmp_path / "s.sqlite"
    marks = begin(path)
    plans: dict[str, tuple[Plan, str]] = {}
    before = dump(path), path.read_bytes()
    with Store(path) as one, Store(path) as other:
        came = [act(one if step[0] == "A" else other, marks, plans, step) for step in scenario["do"]]
    if "store unchanged, byte for byte" in scenario["expect"]:
        assert (dump(path), path.read_bytes()) == before
    verify(path, scenario, marks, came)


def dump(path: Path) -> list[str]:
    import sqlite3

    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return list(connection.iterdump())


CHILD = """
import json, sys
from snapshot.session import Store
from tests.session_histories import MODEL, SUM, history, ids, store
from tests.session_model import act
plans = {}
for line in sys.stdin:
    path, marks, step = json.loads(line)
    with Store(path) as store:
        print(act(store, marks, plans, step), flush=True)
"""


def test_stale_commits_in_two_processes(tmp_path):
    actors = {
        name: subprocess.Popen(
            [sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for name in "AB"
    }
    for number, scenario in enumerate(SCENARIOS["scenarios"]):
        path = tmp_path / f"{number}.sqlite"
        marks, came = begin(path), []
        for step in scenario["do"]:
            actor = actors[step[0]]
            assert actor.stdin is not None
            assert actor.stdout is not None
            print(json.dumps([str(path), marks, step]), file=actor.stdin, flush=True)
            came.append(actor.stdout.readline().strip())
        verify(path, scenario, marks, came)
    for actor in actors.values():
        actor.communicate()
        assert actor.returncode == 0


# --- checkpoints and branches


def test_a_retry_past_a_checkpoint_leaves_it_behind(history):
    path = ids(history)
    history.commit(history.plan(), Checkpoint("summary", path[4], SUM.lead, MODEL))
    history.append(turn("four"))
    assert history.project().checkpoint
    assert history.retry().leaf == ids(history)[-1]
    assert history.project().checkpoint, "the newest request came after it"
    history.retry(path[4])
    assert history.project().ids == tuple(path[:5])
    assert not history.project().checkpoint


def test_a_fork_has_a_checkpoint_only_from_its_ancestors(history):
    path = ids(history)
    checkpoint = history.commit(history.plan(), Checkpoint("summary", path[4], SUM.lead, MODEL)).leaf
    with pytest.raises(SessionError, match="is a checkpoint: fork from an answer"):
        history.fork(checkpoint)
    history.append(turn("four"))
    last = ids(history)[-1]
    assert history.fork(path[3]).name == "fork-1"
    assert history.project().ids == tuple(path[:4])
    history.fork(last)
    assert history.project().checkpoint == checkpoint


def test_the_boundary_never_moves_back(history):
    path = ids(history)
    history.commit(history.plan(), Checkpoint("summary", path[4], SUM.lead, MODEL))
    with pytest.raises(StaleCompaction, match="never moves back"):
        history.commit(history.plan(), Checkpoint("summary", path[2], SUM.lead, MODEL))
    history.commit(history.plan(), Checkpoint("summary", path[4], SUM.lead, MODEL))


def test_a_branch_that_came_back_to_where_it_was_has_changed(history):
    plan = history.plan()
    leaf = plan.branch.leaf
    history.retry()
    history.set_branch("main", at=leaf)
    with pytest.raises(StaleCompaction):
        history.commit(plan, SUM)


def test_an_open_call_is_not_compacted_nor_branched_from(history):
    history.append([user("Look."), calling("a", "b")])
    with pytest.raises(SessionBusy, match="call 'a' is open"):
        history.plan()
    with pytest.raises(SessionError, match="is open at"):
        history.set_branch("side", at=history.branch().leaf)
    history.append([result("b")])
    with pytest.raises(SessionBusy):
        history.compact(window=2000)
    history.append([result("a"), answer()])
    history.plan()


def test_an_edit_keeps_the_pictures_and_leaves_the_rest_in_the_tree(store):
    picture = Image("image/png", SMALL_PNG)
    history = store.create(
        "talk", messages=[Message("user", (Text("What is it?"), picture)), answer("A dog.")]
    )
    asked, answered = ids(history)
    history.edit(asked, "Which breed is it?")
    assert [message for _, message in history.path()] == [
        Message("user", (Text("Which breed is it?"), picture))
    ]
    assert ids(history, at=answered) == [asked, answered]
    with pytest.raises(SessionError, match="no message of the user's on this branch"):
        history.edit(asked, "again")


def test_an_answer_is_not_edited(history):
    with pytest.raises(SessionError, match="is not a user's message"):
        history.edit(ids(history)[1], "better")


def test_a_label_survives_and_a_rewind_keeps_what_was_found(history, store):
    history.label("before", note="all is well here")
    history.append(turn("explore", calls=2))
    again = Store(store.path).history("talk")
    assert [(label.name, label.note) for label in again.labels()] == [("before", "all is well here")]
    again.rewind("before", "The second cache is never cleared.")
    words = [message.parts[0] for _, message in again.path()][-1]
    assert words == Text("[found on a way that was left]\nThe second cache is never cleared.")
    assert len(again.path()) == 7
    again.rows.database.close()


def test_a_label_within_a_turn_stands_at_its_clean_start(history):
    history.append([user("Look."), calling("a")])
    assert history.label("here").node == ids(history)[-2]


def test_a_label_whose_message_is_gone_is_dropped(history, store):
    history.label("gone", at=ids(history)[-1])
    history.label("there", at=ids(history)[0])
    store.database.run("DELETE FROM nodes WHERE id = ?", ids(history)[-1])
    assert [label.name for label in store.history("talk").labels()] == ["there"]


def test_two_agents_have_two_histories(store, history):
    scout = store.create("talk", "scout", model="gpt-5.5", messages=[user("Only look.")])
    assert len(scout.path()) == 1
    assert len(history.path()) == 6
    with pytest.raises(SessionError, match="there is a conversation"):
        store.create("talk", "scout")


# --- ancestors


def test_any_ancestor_is_found_in_few_steps():
    nodes: list[Node] = []
    steps = 0

    def get(seq: int) -> Node:
        nonlocal steps
        steps += 1
        return nodes[seq]

    for seq in range(20_000):
        parent = nodes[-1] if nodes else None
        jump = jump_of(parent, nodes[parent.jump], nodes[nodes[parent.jump].jump]) if parent else 0
        nodes.append(Node(seq, str(seq), parent.seq if parent else None, seq, jump, None, "message", "", ""))
    for depth in range(0, 20_000, 37):
        steps = 0
        assert ancestor_at(nodes[-1], depth, get) is nodes[depth]
        assert steps <= 3 * 15, "three times the logarithm"
