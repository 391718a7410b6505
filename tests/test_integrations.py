"""Keepers and archives: a growing conversation goes on from its own pages, and from nobody else's."""

from __future__ import annotations

import copy
import json
import random
import threading
from typing import Any

import pytest

from snapshot import SnapshotError
from snapshot.compaction import chain
from snapshot.compaction.chain import chain_of
from snapshot.integrations import Archives, Keeper, SqliteArchives
from snapshot.requests.check import check
from snapshot.transcripts import from_messages
from tests.conversations import told_words

MODEL = "claude-opus-4-8"
WINDOW = 30_000


def step(n: int, draw: random.Random, size: int = 400) -> list[dict[str, Any]]:
    """A call and its result."""
    asked = {"type": "tool_use", "id": f"toolu_{n}", "name": "Bash", "input": {"command": f"cat f{n}.py"}}
    words = told_words(draw.random(), size)
    return [
        {"role": "assistant", "content": [{"type": "text", "text": f"I read file {n}."}, asked]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": words}]},
    ]


def talk(first: str, steps: int, seed: int = 1) -> list[dict[str, Any]]:
    draw = random.Random(seed)
    return [
        {"role": "user", "content": first},
        *(message for n in range(steps) for message in step(n, draw)),
    ]


def pages_of(messages: list[dict[str, Any]]) -> list[str]:
    """The images among messages, in order."""
    return [
        block["source"]["data"]
        for message in messages
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "image"
    ]


def grow(keeper: Keeper, calls: int, *, window: int, size: int = 400, keeps: bool = False) -> list[int]:
    """Calls of a growing conversation; how many tokens were new at each compaction.

    `keeps`: the host goes on from what it sent, not from the whole.
    """
    draw = random.Random(5)
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Mend the importer."}]
    pages: list[str] = []
    news: list[int] = []
    base = continued = 0
    made = 0, 0
    for n in range(calls):
        messages = messages + step(n, draw, size)
        before = copy.deepcopy(messages)
        done = keeper.compact(messages, model=MODEL, window=window)
        sent = done.splice()
        assert messages == before  # the host's own
        assert check({"messages": sent}, "anthropic") == []
        now = pages_of(sent)
        if done.report.no_op:
            assert now == pages
            assert done.report.after <= 0.9 * window
        else:
            news.append(done.report.before - base)
            base = done.report.after
            room = done.report.left_out, done.report.dense_pages
            if room == made:  # else the oldest pages made room: they left, or are set denser
                assert now[: len(pages[:-1])] == pages[:-1]
                continued += bool(pages)
            made = room
        pages = now
        messages = sent if keeps else messages
    assert continued
    return news


@pytest.mark.parametrize("keeps", [False, True])
def test_a_compaction_for_each_tenth_of_the_window_at_most(keeps):
    news = grow(Keeper(), 30, window=WINDOW, keeps=keeps)
    assert len(news) >= 2
    assert all(tokens >= WINDOW // 10 for tokens in news)


@pytest.mark.slow
def test_two_hundred_calls():
    news = grow(Keeper(), 200, window=200_000, size=1200)
    assert 2 <= len(news) <= 20
    assert all(tokens >= 20_000 for tokens in news)


@pytest.fixture(params=["memory", "sqlite"])
def archives(request, tmp_path) -> Archives:
    return Archives() if request.param == "memory" else SqliteArchives(tmp_path / "archives.sqlite")


def test_conversations_that_begin_alike_get_no_archive_of_another(archives):
    keeper = Keeper(archives, window=WINDOW)
    one, other = talk("Mend the importer.", 24, seed=1), talk("Mend the importer.", 24, seed=2)
    done = keeper.compact(one, model=MODEL)
    assert done.archive is not None
    assert keeper.archive(one) == done.archive
    assert keeper.archive(other) is None
    again = keeper.compact(other, model=MODEL)
    assert again.archive is not None
    assert other[2]["content"][0]["content"][:200] in again.archive.source.text
    assert keeper.archive(one) == done.archive


def test_a_branch_goes_on_from_the_same_pages(archives):
    keeper = Keeper(archives, window=WINDOW)
    trunk = talk("Mend the importer.", 24)
    pages = pages_of(keeper.compact(trunk, model=MODEL).splice())
    branches = [[*trunk, *step(100 + n, random.Random(n), 50)] for n in range(2)]
    assert [pages_of(keeper.compact(branch, model=MODEL).splice()) for branch in branches] == [pages, pages]


def test_a_call_costs_by_what_is_new(monkeypatch):
    looked: list[int] = []
    pieces = chain._pieces

    def counted(parts):
        looked.append(len(parts))
        return pieces(parts)

    monkeypatch.setattr(chain, "_pieces", counted)
    keeper, messages = Keeper(window=WINDOW), talk("Mend the importer.", 24)
    assert not keeper.compact(messages, model=MODEL).report.no_op
    first = len(looked)
    assert keeper.compact(messages, model=MODEL).report.no_op
    assert len(looked) == first
    keeper.compact([*messages, *step(99, random.Random(1), 20)], model=MODEL)
    assert first < len(looked) <= first + 6


def test_marks_of_the_cache_move_and_do_not_count():
    messages = talk("Mend the importer.", 2)
    marked = copy.deepcopy(messages)
    marked[2]["content"][0]["cache_control"] = {"type": "ephemeral"}
    keys = chain_of(from_messages(messages).messages)
    assert keys == chain_of(from_messages(marked).messages)
    assert len(set(keys)) == len(keys)


def test_archives_outlive_the_process(tmp_path):
    path = tmp_path / "archives.sqlite"
    messages = talk("Mend the importer.", 24)
    done = Keeper(SqliteArchives(path), window=WINDOW).compact(messages, model=MODEL)
    later = Keeper(SqliteArchives(path), window=WINDOW).compact(messages, model=MODEL)
    assert later.report.no_op
    assert pages_of(later.splice()) == pages_of(done.splice())
    assert path.stat().st_mode & 0o077 == 0


def test_archives_are_shared_by_threads(archives):
    keeper = Keeper(archives, window=WINDOW)
    talks = [talk(f"Task {n}.", 24, seed=n) for n in range(4)]
    wrong: list[object] = []

    def run(messages: list[dict[str, Any]]) -> None:
        first = keeper.compact(messages, model=MODEL)
        second = keeper.compact(messages, model=MODEL)
        if pages_of(first.splice()) != pages_of(second.splice()) or second.report.no_op == "":
            wrong.append(messages)

    threads = [threading.Thread(target=run, args=(messages,)) for messages in talks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_archives_that_nobody_asks_for_are_dropped(tmp_path):
    done = Keeper(window=WINDOW).compact(talk("Mend the importer.", 24), model=MODEL)
    assert done.archive is not None
    for archives in (Archives(2), SqliteArchives(tmp_path / "archives.sqlite", 2)):
        for key in ("a", "b", "c"):
            archives.keep(key, done.archive)
        assert [archives.find([key]) is not None for key in ("a", "b", "c")] == [False, True, True]


def test_a_file_that_is_no_database_is_named(tmp_path):
    path = tmp_path / "archives.sqlite"
    path.write_text("not a database, but long enough to be looked at as one")
    with pytest.raises(SnapshotError, match="name another file"):
        SqliteArchives(path)
    assert path.read_text().startswith("not a database")


def test_a_refusal_is_recovered_from_the_same_archive():
    keeper = Keeper(window=WINDOW)
    messages = talk("Mend the importer.", 24)
    first = keeper.compact(messages, model=MODEL)
    said = "prompt is too long: 31000 tokens > 30000 maximum"
    error = {"status": 400, "body": {"error": {"message": said}}}
    done = keeper.recover(messages, error, model=MODEL)
    assert done.report.after < done.report.before
    assert done.archive != first.archive
    sent = done.splice()
    assert check({"messages": sent}, "anthropic") == []
    again = keeper.compact(messages, model=MODEL)
    assert again.report.no_op
    assert json.dumps(again.splice()) == json.dumps(sent)
