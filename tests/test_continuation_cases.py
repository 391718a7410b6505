"""What an agent that goes on still knows: cases 033, 034, 036, 038 and 040, as requests."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import snapshot
from snapshot.compaction import Archive, Compaction
from snapshot.messages import Image, Message, Text, ToolCall, ToolResult
from snapshot.models.ids import profile_for
from snapshot.requests.check import check
from tests.conftest import case

API = {
    "claude-opus-4-8": "anthropic",
    "gpt-5.6-sol": "openai-responses",
    "gemini-3.8-flash": "gemini",
    "deepseek-chat": "openai",
}
SIGHTED = [model for model in API if model != "deepseek-chat"]


@cache
def made(number: str, name: str) -> Any:
    """A conversation that a case's generator writes."""
    with TemporaryDirectory() as folder:
        subprocess.run([sys.executable, case(number) / "make_input.py", folder], check=True)
        return json.loads((Path(folder) / f"{name}.json").read_text(encoding="utf-8"))


def text_of(done: Compaction) -> list[str]:
    """All text of what is sent, in order, results included."""
    found: list[str] = []
    for message in done.transcript.messages:
        for part in message.parts:
            inner = part.content if isinstance(part, ToolResult) else (part,)
            found += [item.text for item in inner if isinstance(item, Text)]
    return found


def sendable(done: Compaction, model: str) -> None:
    assert done.report.after <= done.report.safe
    found = check(done.request(API[model]), API[model], reader=profile_for(model))
    # A session that is over ends with the assistant's words: the next request has the user's behind them.
    assert [sentence for sentence in found if "is the last one and the assistant's" not in sentence] == []


# --- case 034: one message over the window


ASKED = {
    "paste": ("Find the contradiction in this log", "Answer in one line, and name ZEBRA-77."),
    "result": ("Read the log and find the first error.", "ERROR 4711 at ZEBRA-77"),
    "results": ("Compare the three logs.",),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize(
    ("model", "how"),
    [*((model, "compact") for model in API), ("claude-opus-4-8", "recover"), ("deepseek-chat", "recover")],
)
def test_case_034(name, model, how):
    conversation = made("034", name)
    if how == "compact":
        done = snapshot.compact(conversation, model=model, window=200_000, digest=True)
    else:
        error = "prompt is too long: 312044 tokens > 200000 maximum"
        done = snapshot.recover(conversation, error, model=model, window=200_000)
    sendable(done, model)
    texts = "\n".join(text_of(done))
    places = [texts.index(words) for words in ASKED[name]]
    assert places == sorted(places)
    calls = [part for message in done.transcript.messages for part in message.parts]
    assert (
        sum(isinstance(part, ToolResult) for part in calls) == {"paste": 0, "result": 1, "results": 3}[name]
    )
    whole = snapshot.from_messages(conversation)
    assert done.archive is not None
    assert done.archive.restore(done.transcript).messages == whole.messages
    if model in SIGHTED:
        for part in done.archive.parts:
            shown = "".join(part.text[start:stop] for start, stop in part.pages)
            assert part.text.endswith(shown)
    else:
        assert not any(isinstance(part, Image) for part in calls)
        assert "characters, of which the first and the last follow" in texts


# --- case 036: the tail after an overflow


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["loop", "go-on"])
@pytest.mark.parametrize("model", API)
def test_case_036(name, model):
    conversation = made("036", name)
    tails: list[int] = []
    for window in (60_000, 100_000):
        done = snapshot.compact(conversation, model=model, window=window, digest=True)
        sendable(done, model)
        report = done.report
        assert report.tail_tokens >= report.goal * 0.3 / 2
        assert str(report.tail_tokens) in str(report).replace(",", "")
        tails.append(report.tail_tokens)
        if window == 100_000:
            tail = [part for message in done.transcript.messages[-report.tail :] for part in message.parts]
            said = "\n".join(text_of(done))
            calls = {getattr(part, "id", "") for part in tail}
            assert {"toolu_r118", "toolu_e118", "toolu_r119", "toolu_e119"} <= calls
            assert "shall I guard it with max(x, 1)?" in said
            assert "def part_119_39" in said
    assert tails == sorted(tails)


# --- cases 033 and 038: who speaks


@pytest.mark.parametrize(
    ("number", "kept", "not_kept"),
    [
        (
            "033",
            ["Leave the migrations folder alone, and retry 7 times, not 5.", "And keep the log of the old"],
            ["Forget what I said", "task-notification"],
        ),
        (
            "038",
            ["Use 7 retries, not 5.", "Why does <system-reminder> appear in my log?", "Now the tests."],
            ["task-notification", "local-command-stdout"],
        ),
    ],
)  # fmt: skip
def test_the_users_words_stay_and_nobody_elses(number, kept, not_kept):
    transcript = snapshot.load(case(number) / "input.jsonl")
    # The middle is what these cases say; it is made large enough to be worth pages.
    filler = [
        message
        for n in range(40)
        for message in (
            Message("assistant", (ToolCall(f"look_{n}", "Look", f'{{"at": {n}}}'),)),
            Message("tool", (ToolResult(f"look_{n}", (Text(f"entry {n} of the register. " * 80),)),)),
        )
    ]
    messages = (*transcript.messages, *filler)
    whole = snapshot.Transcript(messages, transcript.format)
    done = snapshot.compact(
        whole, model="claude-opus-4-8", window=60_000, target=0.1, tail=0.02, trigger="manual"
    )
    assert done.report.pages
    statements = "\n".join(item.text for item in done.archive.statements) if done.archive else ""
    said = "\n".join(text_of(done))
    for words in kept:
        assert words in said
    for words in not_kept:
        assert words not in statements


# --- case 040: plan and handles


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["list", "tasks"])
@pytest.mark.parametrize("model", API)
def test_case_040(name, model):
    conversation = made("040", name)
    done = snapshot.compact(conversation, model=model, window=60_000, digest=True)
    sendable(done, model)

    def lines(words: str) -> list[str]:
        return [line for text in text_of(done) for line in text.split("\n") if words in line and "[" in line]

    ledger = done.archive.ledger if done.archive else ""
    for step, state in (
        ("Write the data migration", "in progress"),
        ("Delete the compatibility shim", "open"),
        ("Update the runbook", "open"),
    ):
        told = [line for line in ledger.split("\n") if step in line]
        assert len(told) == 1
        assert f"] {state}: " in told[0]
    assert any("Backfill audit" in line for line in lines("a7f3c19e2b"))
    assert any("make soak" in line for line in lines("bash_4c"))
    assert "bash_5d" not in ledger
    assert "mcp__tracker__post" in ledger
    assert "/srv/demo/skills/db-migrations" in ledger
    # Compacted again with its archive: the state of the whole history.
    more = [
        *conversation["messages"],
        *(
            message
            for n in range(50)
            for message in (
                {"role": "assistant", "content": f"Look {n}: " + f"entry {n} of the register. " * 60},
                {"role": "user", "content": "Go on."},
            )
        ),
    ]
    again = snapshot.compact(more, model=model, window=60_000, archive=done.archive, digest=True)
    assert again.archive is not None
    assert not again.report.no_op
    assert sum("Write the data migration" in line for line in again.archive.ledger.split("\n")) == 1
    assert "bash_4c" in again.archive.ledger


@pytest.mark.parametrize("seed", range(3))
def test_a_growing_conversation_is_compacted_once_for_each_tenth_of_the_window(seed):
    """Whatever the rung: a compaction that only made lines of superseded results counts like any other."""
    chance = random.Random(seed)
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Fix it."}]
    window, archive, after, light = 20_000, None, None, 0
    for number in range(50):
        path, version = f"f{chance.randrange(6)}.py", number if chance.random() < 0.5 else 0
        body = "\n".join(f"{version} line {at} of {path}" for at in range(chance.choice([30, 120])))
        call = {"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {"path": path}}
        answer = {"type": "tool_result", "tool_use_id": f"t{number}", "content": body}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [answer]}]
        done = snapshot.compact(
            messages, model="claude-opus-4-8", window=window, max_output=2_000, archive=archive
        )
        archive = done.archive
        if not done.report.no_op:
            assert archive is not None
            light += archive.light
            assert after is None or done.report.before - after >= window // 10 - 100
            after = done.report.after
    assert light > 1


# --- the request that is live


def working(order: str, steps: int) -> list[dict[str, Any]]:
    """A task that is done, and an order that is worked on ever since."""
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Set the project up."},
        {"role": "assistant", "content": "It is set up."},
        {"role": "user", "content": order},
    ]
    for n in range(steps):
        row = " ".join(f"value_{n * k}" for k in range(250))
        use = {"type": "tool_use", "id": f"t{n}", "name": "Read", "input": {"n": n}}
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"row {n} {row}"}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return messages


def order_of(length: int) -> str:
    return ("Handle each module, and mind ORDER-77. " * (length // 30 + 1))[:length]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("model", ["claude-opus-4-8", "deepseek-chat"])
@pytest.mark.parametrize("length", [100, 5_000, 20_000, 80_000])
def test_the_request_that_is_worked_on_is_text_however_long(model, length):
    """Where the boundary falls into a long turn, the words that began it are in the middle."""
    order = order_of(length)
    done = snapshot.compact(working(order, 60), model=model, window=60_000, digest=True)
    sendable(done, model)
    assert done.archive is not None
    assert done.archive.boundary > 3
    (live,) = [item for item in done.archive.statements if "ORDER-77" in item.text]
    assert live.printed() in text_of(done)
    if live.whole:
        assert live.text == order
    else:
        assert length >= 20_000  # more than three tenths of the goal
        assert "beginning and end" in live.printed()
        assert order.startswith(live.text[:200])
        assert order.endswith(live.text[-200:])
    # It stays as it was while the work goes on, and, where it is no bulk, when the user speaks again.
    archive = Archive.from_json(done.archive.to_json())
    assert archive.statements == done.archive.statements
    next_order = [{"role": "assistant", "content": "Done."}, {"role": "user", "content": "Next."}]
    for more, stays in (([], True), (next_order, length <= 5_000)):
        longer = [*working(order, 85), *more]
        again = snapshot.compact(longer, model=model, window=60_000, archive=archive, digest=True)
        assert again.archive is not None
        assert not again.report.no_op
        assert (live.printed() in text_of(again)) == stays


def test_what_the_caller_pins_is_never_shortened():
    order = order_of(20_000)
    done = snapshot.compact(working(order, 60), model="claude-opus-4-8", window=60_000, pins=(2,), target=0.2)
    assert order in "\n".join(text_of(done))
