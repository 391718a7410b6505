"""Sessions: branches, checkpoints and commits, one promise each."""

from __future__ import annotations

import gc
import json
import os
import stat
import subprocess
import sys
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from snapshot.compaction.boundaries import repair
from snapshot.errors import (
    CannotFit,
    SessionBusy,
    SessionDamaged,
    SessionError,
    StaleCompaction,
    SummarizerRequired,
)
from snapshot.messages import Image, Message, Text, ToolCall, ToolResult
from snapshot.requests import APIS, request
from snapshot.requests.check import check
from snapshot.session import Checkpoint, History, Plan, Store
from snapshot.session.tree import Node, ancestor_at, jump_of, open_calls
from tests.conftest import case, examples
from tests.conversations import SMALL_PNG, conversations, long_conversation
from tests.session_model import act, answer, calling, result, turn, user

MODEL = "claude-opus-4-8"
SUM = Checkpoint("summary", "", (user("Sum of it all."),), MODEL)


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "s.sqlite", create=True) as made:
        yield made


@pytest.fixture
def history(store) -> History:
    return store.create("talk", model=MODEL, messages=[*turn("one"), *turn("two"), *turn("three")])


def ids(history: History, **where: str) -> list[str]:
    return [node for node, _ in history.path(**where)]


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


# --- compaction


def test_compaction_twice_and_on(store):
    whole = long_conversation(80, size=2000).messages
    history = store.create("long", model=MODEL, format="anthropic", messages=whole[:241])
    done, projections = [], []
    for messages in ((), whole[241:]):
        history.append(messages)
        done.append(history.compact(window=70_000).checkpoint)
        projections.append(history.project())
        assert (done[-1].kind, projections[-1].made_for) == ("snapshot", MODEL)
        assert projections[-1].ids[0] == done[-1].first_kept
    assert [message for _, message in history.path()] == list(whole), "the record is as it was"
    path = ids(history)
    once, twice = (path.index(projection.ids[0]) for projection in projections)
    assert twice > once
    # Older checkpoints are never sent, and pages that stay as they were are stored once.
    said = str(projections[1].transcript.messages)
    assert said.count("ARCHIVE OF EARLIER") == 1
    pages = [len(checkpoint.archive.pages) for checkpoint in done]
    assert max(pages) <= store.database.value("SELECT count(*) FROM blobs") < sum(pages)


def test_what_only_became_a_line_is_a_checkpoint_too_and_made_once(store):
    """Results that came again later are enough: no pages, and the second time nothing to do."""
    body = Text("\n".join(f"line {number} of the file" for number in range(400)))
    messages = [user("Watch the file.")]
    for number in range(12):
        call = Message("assistant", (ToolCall(f"c{number}", "Read", '{"path": "a.py"}'),))
        messages += [call, Message("tool", (ToolResult(f"c{number}", (body,)),)), Message("assistant", ())]
    messages += [answer(), *turn("more"), *turn("and more")]
    history = store.create("watch", model=MODEL, messages=messages)
    done = history.compact(window=30_000)
    assert done.checkpoint is not None
    assert done.checkpoint.kind == "elision"
    sent = history.project()
    assert "".join(map(str, sent.transcript.messages)).count("line 399 of the file") == 2  # of the tail
    assert [message for _, message in history.path()] == messages
    again = history.compact(window=30_000)
    assert again.checkpoint is None
    assert again.report.no_op
    history.append(turn("still more " * 4000))
    assert history.compact(window=30_000).checkpoint


def test_a_compaction_that_does_nothing_writes_nothing(history):
    before = history.branch()
    done = history.compact(window=200_000)
    assert done.report.no_op
    assert done.checkpoint is None
    assert history.branch() == before


def images(sent):
    parts = (part for message in sent.transcript.messages for part in message.parts)
    return [part.data for part in parts if isinstance(part, Image)]


@pytest.mark.parametrize("model", ["glm-4.6", "gpt-3.5-turbo", "deepseek-chat"])
def test_a_model_without_vision_is_sent_no_page(store, model):
    long = long_conversation(400, size=2000)
    history = store.create("long", model=MODEL, format="anthropic", messages=long.messages)
    assert history.compact(window=60_000).checkpoint
    assert images(history.project())
    history.set_model(model)
    sent = history.project()
    assert not images(sent)
    assert sent.made_for == ""
    assert "Images of earlier messages" not in str(sent.lead)
    assert [message for _, message in sent.kept] == list(long.messages[len(long.messages) - len(sent.kept) :])


def test_the_same_pages_go_to_a_model_that_reads_the_same(store):
    history = store.create("long", model=MODEL, format="anthropic", messages=long_conversation(60).messages)
    assert history.compact(window=8000).checkpoint
    sent = history.project()
    history.set_model("claude-opus-5")
    assert history.project().lead == sent.lead


def test_another_reader_gets_pages_of_its_own(store):
    history = store.create("long", model=MODEL, format="anthropic", messages=long_conversation(60).messages)
    assert history.compact(window=8000).checkpoint
    record, former = history.path(), history.project()
    history.set_model("gpt-5.5")
    sent = history.project()
    assert sent.made_for == "gpt-5.5", "before it is compacted again, too"
    assert images(sent)
    assert images(sent) != images(former)
    history.append(turn("another"))
    assert history.project().lead == sent.lead, "what is new is added at the end"
    assert history.path()[: len(record)] == record
    done = history.compact(window=8000)
    assert done.checkpoint is not None
    assert done.checkpoint.archive is not None
    assert done.checkpoint.archive.layout.startswith("gpt")
    assert history.project().made_for == "gpt-5.5"


def test_credentials_are_redacted_in_what_is_archived(store):
    key = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    messages = list(long_conversation(60).messages)
    messages[6:6] = turn(f"use the token {key} for it")
    history = store.create("long", model=MODEL, format="anthropic", messages=messages)
    done = history.compact(window=8000)
    assert done.checkpoint is not None
    assert done.checkpoint.archive is not None
    assert dict(done.checkpoint.redactions) == {"github-token": 1}
    assert key not in done.checkpoint.archive.to_json()
    assert key not in str(history.project().transcript)
    history.retry(ids(history)[20])
    assert history.compact(window=1500, redact=False).report.redactions == {}


# --- the file


def test_files_are_the_users_alone(tmp_path):
    path = tmp_path / "deep" / "er" / "s.sqlite"
    with Store(path, create=True) as store:
        store.create("talk", messages=turn())
        files = list(path.parent.iterdir())
        assert len(files) == 3, "the log stands beside it"
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in (path.parent, path.parent.parent)} == {0o700}
    path.chmod(0o644)
    Store(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_is_not_a_store_is_said_in_one_line(tmp_path):
    with pytest.raises(SessionError, match="no such store"):
        Store(tmp_path / "none")
    with pytest.raises(SessionError, match="is a folder"):
        Store(tmp_path, create=True)
    other = tmp_path / "other.sqlite"
    other.write_bytes(b"this is a text, and no database at all" * 50)
    with pytest.raises(SessionDamaged, match="not a session store"):
        Store(other)
    import sqlite3

    foreign = tmp_path / "foreign.sqlite"
    connection = sqlite3.connect(foreign)
    connection.execute("CREATE TABLE shopping (what TEXT)")
    connection.close()
    with pytest.raises(SessionError, match="but not a session store"):
        Store(foreign, create=True)


def foreign(path: Path, how: str) -> None:
    """A file that is somebody else's."""
    import sqlite3

    if how == "text":
        path.write_bytes(b"this is a text, and no database at all" * 50)
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "header alone":
        path.write_bytes(b"SQLite format 3\0")
    else:
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute(f"PRAGMA journal_mode = {how}")
        connection.execute("CREATE TABLE shopping (what TEXT)")
        connection.close()


@pytest.mark.filterwarnings("error::ResourceWarning")
@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("how", ["text", "empty", "header alone", "delete", "wal"])
@pytest.mark.parametrize("options", [{}, {"create": True}, {"write": False}], ids=str)
def test_what_is_not_ours_is_left_as_it_is(tmp_path, how, options):
    """Not its permissions, not a byte, nothing beside it, not through a link; no connection stays open."""
    path, link = tmp_path / "theirs", tmp_path / "link"
    foreign(path, how)
    path.chmod(0o644)
    link.symlink_to(path)
    before = path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns
    for name in (path, link):
        with pytest.raises(SessionError):
            Store(name, **options)
    gc.collect()
    assert (path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns) == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["link", "theirs"]


@pytest.mark.skipif(os.name != "posix", reason="devices as POSIX has them")
def test_a_device_is_no_store():
    before = Path(os.devnull).lstat()
    for options in ({}, {"create": True}, {"write": False}):
        with pytest.raises(SessionError, match="is no file"):
            Store(os.devnull, **options)
    after = Path(os.devnull).lstat()
    assert (before.st_ino, before.st_mode) == (after.st_ino, after.st_mode)


@pytest.mark.filterwarnings("error::ResourceWarning")
@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_no_connection_stays_open_on_any_error(tmp_path, monkeypatch):
    """Whatever fails while a store is opened: each statement in turn."""
    import sqlite3

    path = tmp_path / "s.sqlite"
    Store(path, create=True).close()
    opened: list[sqlite3.Connection] = []
    real = sqlite3.connect
    for kind in (sqlite3.DatabaseError, sqlite3.OperationalError, KeyboardInterrupt):
        for at in range(3):

            class Failing(sqlite3.Connection):
                done = 0

                def execute(self, *arguments, kind=kind, at=at):
                    Failing.done += 1
                    if Failing.done > at:
                        raise kind("it fails")
                    return super().execute(*arguments)

            def connect(*arguments, **named):
                opened.append(real(*arguments, **named, factory=Failing))
                return opened[-1]

            monkeypatch.setattr(sqlite3, "connect", connect)
            for write in (True, False):
                Failing.done = 0
                with pytest.raises((SessionError, KeyboardInterrupt)):
                    Store(path, write=write)
            monkeypatch.undo()
    assert opened
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.cursor()


def test_a_new_store_is_whole_in_its_file(tmp_path):
    """Nothing of it is in a log: on a full disk the log could not be taken in."""
    path = tmp_path / "s.sqlite"
    Store(path, create=True).close()
    alone = tmp_path / "other" / "alone.sqlite"
    alone.parent.mkdir()
    alone.write_bytes(path.read_bytes())
    with Store(alone) as store:
        store.create("talk", messages=turn())
        assert not any(found for _, found in store.check())


@pytest.mark.parametrize("name", ["", "../up", "a b", "-x", "ü", "x" * 81])
def test_names_are_good_as_names_of_files(store, name):
    with pytest.raises(SessionError, match="take letters, digits"):
        store.create(name)


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


@settings(max_examples=examples(15))
@given(first=conversations(most=20), more=conversations(most=8), window=st.sampled_from([1500, 4000, 12_000]))
def test_whatever_was_compacted_is_sendable_and_the_record_is_as_it_was(first, more, window):
    """Twice, with a turn between; the second time from what the first one left."""
    messages = repair(first.messages)[0]
    # Ids of calls of their own, and no call left open before them.
    later = [
        replace(message, parts=tuple(map(_later, message.parts))) for message in repair(more.messages)[0]
    ]
    with TemporaryDirectory() as folder, Store(Path(folder) / "s.sqlite", create=True) as store:
        history = store.create("talk", model=MODEL, format="anthropic", messages=messages)
        for added in ((), later):
            assume(not (added and open_calls([message for _, message in history.path()])))
            history.append(added)
            with suppress(CannotFit, SummarizerRequired, SessionBusy):
                history.compact(window=window, digest=True)
            sent = history.project()
            for api in APIS:
                assert check(request(sent.transcript, api), api) == []
        assert [message for _, message in history.path()] == [*messages, *later]
        assert [found for _, found in store.check()] == [[], []]


def _later(part):
    if isinstance(part, ToolCall):
        return replace(part, id=f"later_{part.id}")
    return replace(part, call_id=f"later_{part.call_id}") if isinstance(part, ToolResult) else part
