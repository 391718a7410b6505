"""A conversation in use: turns, and compaction beside them."""

from __future__ import annotations

import threading
from threading import Event

import pytest

from snapshot.compaction.summary.prompted import SummaryRequest
from snapshot.errors import NotSent, SessionBusy, SessionError, StaleCompaction
from snapshot.messages import Message, Text
from snapshot.requests import APIS, request
from snapshot.requests.check import check
from snapshot.session import Live, Store, load_run
from tests.conversations import long_conversation
from tests.session_histories import MODEL, store
from tests.session_model import answer, calling, result, turn, user

__all__ = ["store"]  # a fixture: pytest finds it here

LONG = 30  # seconds to wait for what takes none


@pytest.fixture
def live(store) -> Live:
    messages = long_conversation(60).messages
    return Live(store.create("talk", model=MODEL, format="anthropic", messages=messages))


class Held:
    """A summarizer that waits, so that a compaction runs for as long as a test wants."""

    def __init__(self) -> None:
        self.asked, self.go = Event(), Event()
        self.fails = False

    def __call__(self, _request: SummaryRequest) -> str:
        self.asked.set()
        assert self.go.wait(LONG)
        if self.fails:
            raise SessionError("no summary today")
        return "All of it, in short."


@pytest.fixture
def held():
    made = Held()
    yield made
    made.go.set()


def start(live: Live, held: Held):
    background = live.compact(window=8000, rungs=("summarize",), summarize=held)
    assert held.asked.wait(LONG)
    return background


def test_a_turn_is_written_when_it_is_over(live, store):
    before = live.history.branch()
    going = live.send(user("Look.")).result(0)
    going.add(calling("a"))
    assert live.history.branch() == before
    for api in APIS:
        assert check(request(going.transcript(), api), api) == []
    going.add(result("a"))
    going.add(answer())
    assert going.transcript().messages[-4:] == tuple(going.messages)
    going.finish()
    assert [message for _, message in live.history.path()][-4:] == going.messages
    path = store.path.with_suffix(".transcripts") / "talk" / "main.json"
    assert load_run(path).sent == live.history.project()
    with pytest.raises(SessionError, match="over already"):
        going.finish()


def test_a_compaction_runs_beside_the_conversation(live, held):
    background = start(live, held)
    assert background.running
    with pytest.raises(TimeoutError):
        background.result(0.01)
    held.go.set()
    done = background.result(LONG)
    assert done.checkpoint is not None
    assert not background.running
    assert live.history.project().checkpoint
    assert not background.cancel()


def test_progress_counts_the_pages(live):
    seen: list[tuple[int, int]] = []
    background = live.compact(window=8000, progress=lambda done, total: seen.append((done, total)))
    pages = background.result(LONG).report.pages
    assert seen == [(number, pages) for number in range(1, pages + 1)]
    assert background.progress == (pages, pages)


def test_what_would_change_the_branch_is_refused_and_drafting_is_not(live, held):
    background = start(live, held)
    asked, answered = live.history.path()[1][0], live.history.path()[-1][0]
    live.history.set_branch("side")  # a pointer beside it
    for do in (
        live.retry,
        lambda: live.edit(asked, "else"),
        lambda: live.fork(answered),
        lambda: live.switch("side"),
        lambda: live.rewind("x"),
        lambda: live.set_model("gpt-5.5"),
        live.compact,
    ):
        with pytest.raises(SessionBusy, match=r"a compaction is running; wait for its end, or cancel it"):
            do()
    with pytest.raises(SessionBusy), live.approval():
        pass
    live.draft = user("What I am wr")
    live.draft = user("What I am writing")
    held.go.set()
    background.result(LONG)
    assert live.draft == user("What I am writing")
    live.retry()


def test_a_message_sent_meanwhile_waits_and_goes_on(live, held):
    background = start(live, held)
    raw = {"role": "user", "content": "And now?"}
    sent = live.send(Message("user", (Text("And now?"),), raw=(raw,)))
    raw["content"] = "changed behind its back"
    with pytest.raises(SessionBusy, match="another message waits"):
        live.send(user("Me too"))
    assert not sent.done()
    held.go.set()
    background.result(LONG)
    going = sent.result(LONG)
    assert going.messages == [user("And now?")]
    assert going.messages[0].raw[0]["content"] == "And now?"
    with pytest.raises(SessionBusy, match="a turn is going on"):
        live.compact(window=8000)
    going.add(answer())
    going.finish()
    kept = live.history.project()
    assert kept.checkpoint
    assert [message for _, message in kept.kept][-2:] == [user("And now?"), answer()]


@pytest.mark.parametrize("how", ["cancelled", "failed", "stale"])
def test_a_message_that_waited_in_vain_comes_back(live, held, how, tmp_path):
    before = live.history.branch()
    background = start(live, held)
    live.draft = user("And now?")
    sent = live.send()
    assert live.draft is None
    if how == "cancelled":
        assert background.cancel()
        assert not background.running
    elif how == "stale":
        with Store(tmp_path / "s.sqlite") as other:
            before = other.history("talk").append(turn("from elsewhere"))
    held.fails = how == "failed"
    held.go.set()
    with pytest.raises(StaleCompaction if how == "stale" else SessionError):
        background.result(LONG)
    with pytest.raises(NotSent) as caught:
        sent.result(LONG)
    assert caught.value.draft == user("And now?") == live.draft
    assert live.history.branch() == before
    assert not live.history.project().checkpoint
    assert live.send().result(0).messages == [user("And now?")]


def test_a_cancelled_compaction_never_writes(live, held):
    background = start(live, held)
    background.cancel()
    again = live.compact(window=8000)  # at once
    assert again.result(LONG).checkpoint
    leaf = live.history.branch().leaf
    held.go.set()
    for thread in set(threading.enumerate()) - {threading.current_thread()}:
        thread.join(LONG)
    assert live.history.branch().leaf == leaf


def test_cancelling_ends_the_drawing_of_pages(live):
    seen: list[int] = []

    def progress(done: int, _total: int) -> None:
        seen.append(done)
        background.cancel()

    ready = Event()
    background = live.compact(window=8000, progress=lambda *many: ready.wait(LONG) and progress(*many))
    ready.set()
    with pytest.raises(SessionError, match="cancelled"):
        background.result(LONG)
    assert len(seen) <= 1


def test_nothing_is_compacted_while_a_call_or_an_approval_is_open(live):
    with live.approval(), pytest.raises(SessionBusy, match="an approval is pending"):
        live.compact(window=8000)
    live.history.append([user("Look."), calling("a")])
    with pytest.raises(SessionBusy, match="call 'a' is open"):
        live.compact(window=8000)
    live.history.append([result("a"), answer()])
    live.compact(window=8000).result(LONG)


def test_an_abandoned_turn_leaves_nothing(live):
    before = live.history.branch()
    live.send(user("Never mind.")).result(0).abandon()
    assert live.history.branch() == before
    with pytest.raises(SessionError, match="nothing to send"):
        live.send()
    going = live.send(user("Look.")).result(0)
    going.add(calling("a"))
    going.add(answer())
    with pytest.raises(SessionError, match="cannot be added"):
        going.finish()
    going.messages[2:2] = [result("a")]
    going.finish()


def test_a_transcript_that_cannot_be_written_does_not_undo_the_turn(live, store):
    store.path.with_suffix(".transcripts").write_text("a file where the folder should be")
    going = live.send(user("Look.")).result(0)
    going.add(answer())
    going.finish()
    assert [message for _, message in live.history.path()][-2:] == going.messages
    assert "cannot be written to" in live.unsaved
    store.path.with_suffix(".transcripts").unlink()
    live.retry()
    assert live.unsaved == ""


def test_a_turn_is_written_to_the_branch_it_was_begun_on(live, tmp_path):
    """Another process may switch meanwhile."""
    live.history.set_branch("side", at=live.history.path()[4][0])
    going = live.send(user("Look.")).result(0)
    with Store(tmp_path / "s.sqlite") as other:
        other.history("talk").switch("side")
    going.add(answer())
    assert len(going.transcript().messages) > 200
    assert going.finish().name == "main"
    assert [message for _, message in live.history.path("main")][-2:] == going.messages
    assert len(live.history.path()) == 5


def test_turns_that_two_processes_begin_at_one_head_are_siblings(live, store):
    """Neither model saw what the other was told: so neither turn follows the other."""
    with Store(store.path) as second:
        other = Live(second.history("talk"))
        head = live.history.branch().leaf
        mine, theirs = live.send(user("mine")).result(LONG), other.send(user("theirs")).result(LONG)
        mine.add(answer("mine, too"))
        assert mine.finish().name == "main"
        assert [message for message in theirs.transcript().messages if message == user("mine")] == []
        theirs.add(answer("theirs, too"))
        branch = theirs.finish()
        assert branch.name == other.branch == "main-1"
        for name, said in (("main", "mine"), ("main-1", "theirs")):
            path = store.history("talk").path(name)
            assert [message for _, message in path[-2:]] == [user(said), answer(f"{said}, too")]
            assert path[-3][0] == head
        # Each goes on where it is, and the other one never sees it.
        again = other.send(user("more")).result(LONG)
        assert user("theirs") in again.transcript().messages
        again.add(answer())
        assert again.finish().name == "main-1"
        assert live.branch == "main"
        other.switch("main")
        assert other.branch == "main"
    assert not any(found for _, found in store.check())


def test_a_turn_goes_on_behind_a_checkpoint_that_came_meanwhile(live, store):
    turn = live.send(user("mine")).result(LONG)
    with Store(store.path) as second:
        assert second.history("talk").compact(window=8000).checkpoint
    turn.add(answer("mine, too"))
    assert turn.finish().name == "main"
    assert [branch.name for branch in store.history("talk").branches()] == ["main"]
