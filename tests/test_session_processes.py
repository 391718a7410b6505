"""Sessions under several processes, and under processes that are killed while they write."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from snapshot.messages import Text
from snapshot.session import Store, load_run

MODEL = "claude-opus-4-8"

# Writes turns for as long as it lives, and says which one is done. Each has a call and its result, and its
# number in its words; behind every seventh, a checkpoint is committed.
WRITER = """
import sys
from snapshot.messages import Message, Text
from snapshot.session import Checkpoint, Store, save_run
from tests.session_model import answer, calling, result, user
with Store(sys.argv[1]) as store:
    history = store.history("talk")
    print("ready", flush=True)
    for number in range(int(sys.argv[2]), 1 << 30):
        call = f"call_{number}"
        history.append([user(str(number)), calling(call), result(call), answer(str(number) * 2000)])
        print(number, flush=True)
        save_run(history)
        if number % 7 == 0:
            lead = (user(f"up to {number}"),)
            history.commit(history.plan(), Checkpoint("summary", "", lead, "claude-opus-4-8"))
"""


def spawn(script: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def kill_and_look(path: Path, times: int) -> None:
    """Kill the writer so often, each time at another moment, and look at what it left."""
    chance = random.Random(times)
    with Store(path, create=True) as store:
        store.create("talk", model=MODEL)
    first = 0
    for _ in range(times):
        writer = spawn(WRITER, path, first)
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        told = [int(writer.stdout.readline()) for _ in range(chance.randint(0, 4))]
        time.sleep(chance.random() * 0.01)
        os.kill(writer.pid, signal.SIGKILL)
        told += [int(line) for line in writer.stdout.read().split("\n")[:-1]]
        writer.communicate()
        last = told[-1] if told else first - 1
        with Store(path) as store:
            history = store.history("talk")
            messages = [message for _, message in history.path()]
            assert not history.damage
            assert len(messages) % 4 == 0, "whole turns only"
            said = [int(message.parts[0].text) for message in messages if message.role == "user"
                    and isinstance(message.parts[0], Text)]  # fmt: skip
            assert said == list(range(len(said)))
            # One more than it could say may have been written, none less.
            assert last <= said[-1] <= last + 1 if said else last < 0
            first = len(said)
        run = path.with_suffix(".transcripts") / "talk" / "main.json"
        if run.exists():
            assert load_run(run).damage == ()
    with Store(path) as store:
        assert [found for _, found in store.check()] == [[], []]
        assert any(node.kind == "checkpoint" for node in store.history("talk").rows.nodes())


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_killed_writer_leaves_the_last_completed_turn(tmp_path):
    kill_and_look(tmp_path / "s.sqlite", 8)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_writer_killed_200_times_leaves_the_last_completed_turn_each_time(tmp_path):
    kill_and_look(tmp_path / "s.sqlite", 200)


# Appends turns of its own to the one branch, compacts between them, and counts how that went.
BOTH = """
import json, random, sys, time
from snapshot.errors import StaleCompaction
from snapshot.session import Checkpoint, Store
from tests.session_model import answer, user
path, name, turns = sys.argv[1], sys.argv[2], int(sys.argv[3])
chance, done, stale = random.Random(name), 0, 0
with Store(path) as store:
    history = store.history("talk")
    print("ready", flush=True)
    input()
    for number in range(turns):
        history.append([user(f"{name} {number}"), answer(f"{name} {number}")])
        plan = history.plan()
        time.sleep(chance.random() * 0.004)
        try:
            history.commit(plan, Checkpoint("summary", "", (user("Sum."),), "claude-opus-4-8"))
            done += 1
        except StaleCompaction as error:
            stale += 1
            assert error.leaf != plan.branch.leaf or error.revision != plan.branch.revision
print(json.dumps([done, stale]))
"""


def test_two_processes_append_and_compact_at_once(tmp_path):
    path, turns = tmp_path / "s.sqlite", 60
    with Store(path, create=True) as store:
        store.create("talk", model=MODEL)
    both = [spawn(BOTH, path, name, turns) for name in ("one", "two")]
    assert [one.stdout and one.stdout.readline() for one in both] == ["ready\n", "ready\n"]
    for one in both:
        print(file=one.stdin, flush=True)
    counts = [json.loads(one.communicate(timeout=120)[0]) for one in both]
    assert [one.returncode for one in both] == [0, 0]
    with Store(path) as store:
        history = store.history("talk")
        assert [found for _, found in store.check()] == [[], []]
        messages = [message for _, message in history.path()]
        said = [message.parts[0].text for message in messages[::2] if isinstance(message.parts[0], Text)]
        assert [message.parts for message in messages[::2]] == [message.parts for message in messages[1::2]]
        for name in ("one", "two"):
            mine = [text for text in said if text.startswith(name)]
            assert mine == [f"{name} {number}" for number in range(turns)], "nothing is lost or out of order"
        checkpoints = [node for node in history.rows.nodes() if node.kind == "checkpoint"]
        assert len(checkpoints) == sum(done for done, _ in counts)
        assert all(done + stale == turns for done, stale in counts)
        assert history.branch().revision == 1 + 2 * turns + len(checkpoints)
