"""Replay: every token of every request accounted for, by laws and by small runs worked out by hand."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import snapshot
from cli import main
from snapshot.compaction import Options
from snapshot.messages import Message, Text, ToolCall, ToolResult, Transcript, Usage
from snapshot.models.profile import Price
from snapshot.replay import POLICIES, Recording, replay
from snapshot.replay.exact_strings import exact_strings, kind_of, words
from snapshot.replay.form import Form, shared_prefix, units_of
from snapshot.replay.plot import saw_tooth
from snapshot.replay.prompt_cache import PromptCache
from tests.conftest import examples
from tests.conversations import conversations

MODEL = "claude-opus-4-8"
PRICE = Price(Decimal(10), Decimal(12), Decimal(1), Decimal(50))


def run_of(steps: int, *, lines: int = 30, seconds: int | None = None) -> Transcript:
    """An agent's run: a task, then calls that each read a file and name what they go on with."""
    messages = [Message("user", (Text("Mend src/ledger/importer.py, and keep docs/NOTES.md as it is."),))]
    for step in range(steps):
        call = ToolCall(f"c{step}", "read", json.dumps({"path": f"src/part_{step}/module_{step % 7}.py"}))
        body = "\n".join(f"{step}-{line}: value_{step}_{line} = read_row({line})" for line in range(lines))
        times = ["" if seconds is None else "2026-01-01T00:00:00Z"] * 2
        if seconds is not None:
            hours, rest = divmod(step * seconds, 3600)
            times = [f"2026-01-01T{hours:02}:{rest // 60:02}:{rest % 60:02}Z"] * 2
        back = f"src/part_{max(0, step - 3)}/module_{max(0, step - 3) % 7}.py"
        messages += [
            Message("assistant", (Text(f"Now step {step}, after {back}."), call), time=times[0]),
            Message("tool", (ToolResult(f"c{step}", (Text(body),)),), time=times[1]),
        ]
    return Transcript((*messages, Message("assistant", (Text("Done."),))), "openai-chat")


@settings(max_examples=examples(25))
@given(
    conversations(orphans=False), st.sampled_from(sorted(POLICIES)), st.sampled_from([4_000, 9_000, 60_000])
)
def test_every_token_is_read_written_or_fresh(conversation, policy, window):
    played = replay(conversation, model=MODEL, policy=policy, window=window)
    answers = [i for i, message in enumerate(conversation.messages) if message.role == "assistant"]
    if played.stopped is not None:
        answers = [i for i in answers if i < played.stopped]
        assert played.reason
    assert [item.message for item in played.requests if item.kind == "answer"] == answers
    for item in played.requests:
        assert item.read + item.written + item.fresh == item.prompt
        assert min(item.read, item.written, item.fresh, item.output) >= 0
        assert 0 <= item.recalled <= item.used
        if item.kind == "answer":
            assert item.prompt <= played.safe


def test_text_reads_what_it_sent_before_and_writes_the_rest():
    run = run_of(12)
    recording = Recording.of(run, MODEL, overhead=5000)
    played = replay(recording, policy="text", window=200_000)
    assert played.stopped is None
    assert played.compactions == 0
    before = 0
    for item in played.requests:
        assert item.prompt == 5000 + recording.tokens(0, item.message)
        assert (item.read, item.written, item.fresh) == (before, item.prompt - before, 0)
        before = item.prompt
    assert played.recall == 1.0
    assert played.peak == before


def test_text_stops_where_it_overflows():
    played = replay(run_of(60), model=MODEL, policy="text", window=20_000)
    assert played.stopped is not None
    assert all(item.message < played.stopped for item in played.requests)
    assert "safe" in played.reason


@pytest.mark.parametrize("policy", ["drop", "summary", "ours"])
def test_policies_come_through(policy):
    played = replay(run_of(60), model=MODEL, policy=policy, window=20_000, overhead=2000)
    assert played.stopped is None
    assert played.compactions >= 2
    assert played.peak <= played.safe or policy == "summary"
    first = next(item for item in played.requests if item.compacted)
    assert first.prompt < played.safe
    # What leads a request is never written again while the cache lasts.
    assert first.read >= 2000


def test_dropping_loses_strings_that_pages_keep_as_text():
    run = run_of(60)
    drop, ours = (
        replay(run, model=MODEL, policy=policy, window=20_000, options=Options(threshold=0.9))
        for policy in ("drop", "ours")
    )
    assert drop.recall is not None
    assert ours.recall is not None
    assert drop.recall <= ours.recall <= 1.0


def test_a_summary_is_paid_for():
    played = replay(run_of(60), model=MODEL, policy="summary", window=20_000, summary_tokens=700)
    calls = [item for item in played.requests if item.kind == "summary"]
    assert len(calls) == played.compactions
    assert all(item.output == 700 and item.written == 0 for item in calls)
    # The whole conversation is its input, most of it still in the cache.
    for call in calls:
        assert call.prompt > played.safe - 3000
        assert call.read > call.fresh
        assert call.prompt + call.output <= played.window
    after = next(item for item in played.requests if item.compacted)
    assert after.prompt > 700


@pytest.mark.parametrize("model", [MODEL, "gemini-3.8-flash", "deepseek-v4-flash"])
def test_ours_is_the_size_that_compact_reports(model):
    """The units of a compacted request add up to what its report says it takes."""
    run = run_of(60)
    settings: dict[str, Any] = {"window": 20_000, "redact": False, "overhead": 500, "digest": True}
    done = snapshot.compact(run, model=model, **settings)
    assert not done.report.no_op
    recording = Recording.of(run, model, overhead=500)
    units = list(units_of(done.transcript.messages, recording.estimator))
    assert 500 + sum(tokens for _, tokens in units) == done.report.after


def test_ours_reads_unchanged_pages_from_the_cache():
    pages = Options(rungs=("snapshot",), target=0.7)
    played = replay(run_of(100), model=MODEL, policy="ours", window=60_000, overhead=0, options=pages)
    later = [item for item in played.requests if item.compacted and item.pages >= 2]
    assert later
    # Behind head and guide at least one full page is read again.
    assert any(item.read > 4000 for item in later)


def test_the_cache_expires_by_the_messages_times():
    slow, quick, untimed = (
        replay(run_of(12, seconds=seconds), model=MODEL, policy="text", window=200_000)
        for seconds in (3600, 20, None)
    )
    assert all(item.read == 0 for item in slow.requests[:-1])
    assert sum(item.expired for item in slow.requests) == 11
    assert quick.read == untimed.read > 0
    assert quick.usd is not None
    assert slow.usd is not None
    assert slow.usd > quick.usd


def test_billing_by_hand():
    cache = PromptCache(PRICE, lifetime=300, minimum=1000)
    done = cache.billed(10_000, 100, shared=8000, gap=300)
    assert (done.read, done.written, done.fresh) == (8000, 2000, 0)
    assert done.usd == (8000 * Decimal(1) + 2000 * Decimal(12) + 100 * Decimal(50)) / 1_000_000
    late = cache.billed(10_000, 0, shared=8000, gap=301)
    assert (late.read, late.written) == (0, 10_000)
    short = cache.billed(999, 0, shared=900, gap=0)
    assert (short.read, short.written, short.fresh) == (0, 0, 999)
    below = cache.billed(5000, 0, shared=999, gap=0)
    assert (below.read, below.written) == (0, 5000)
    quiet = cache.billed(10_000, 0, shared=8000, gap=0, writes=False)
    assert (quiet.read, quiet.written, quiet.fresh) == (8000, 0, 2000)


def test_billing_without_a_price_for_writing_or_without_a_cache():
    free = PromptCache(replace(PRICE, cache_write=None), 300, 1000).billed(10_000, 0, shared=8000, gap=0)
    assert (free.read, free.written, free.fresh) == (8000, 0, 2000)
    assert free.usd == (8000 * Decimal(1) + 2000 * Decimal(10)) / 1_000_000
    none = PromptCache(Price(Decimal(10), output=Decimal(50)), 300, 1000).billed(
        10_000, 0, shared=8000, gap=0
    )
    assert (none.read, none.written, none.fresh) == (0, 0, 10_000)
    unknown = PromptCache(None, 300, 1000).billed(10_000, 7, shared=8000, gap=0)
    assert (unknown.read, unknown.written) == (8000, 2000)
    assert unknown.usd is None


def test_long_prompts_have_the_price_of_long_prompts():
    steps = replace(PRICE, steps=((5000, PRICE.times(Decimal(2))),))
    cache = PromptCache(steps, 300, 1000)
    low, high = (cache.billed(prompt, 0, shared=0, gap=0).usd for prompt in (5000, 5001))
    assert low == Decimal(5000 * 12) / 1_000_000
    assert high == Decimal(5001 * 24) / 1_000_000


def test_prefix_ends_at_the_first_difference():
    recording = Recording.of(run_of(10), MODEL)
    one = Form((("beside", 100), ("a", 10), ("b", 5)), 3)
    other = Form((("beside", 100), ("a", 10), ("c", 5)), 3)
    assert shared_prefix(recording, one, 9, other, 11) == 110
    assert shared_prefix(recording, one, 9, one, 11) == 115 + recording.tokens(3, 9)
    same = Form(one.units, 3)
    assert shared_prefix(recording, one, 9, same, 11) == 115 + recording.tokens(3, 9)


def test_the_first_reported_usage_says_what_stands_beside():
    run = run_of(3)
    first = replace(run.messages[1], usage=Usage(9000, 10))
    recording = Recording.of(replace(run, messages=(run.messages[0], first, *run.messages[2:])), MODEL)
    assert recording.estimator.overhead == 9000 - recording.costs[0]
    assert all(message.usage is None for message in recording.messages)


def test_cut_keeps_calls_with_their_results():
    recording = Recording.of(run_of(20), MODEL)
    for tokens in (0, 100, 500, 5000, 10**9):
        start = recording.cut(tokens, 35, 1)
        assert 1 <= start < 35
        assert recording.messages[start].role != "tool"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see src/a_b/c.py.", {"src/a_b/c.py"}),
        ("commit 0a1b2c3d4e, flag --dry-run", {"0a1b2c3d4e", "--dry-run"}),
        (
            "https://example.org/x?y=1) and fooBar, FooBarBaz",
            {"https://example.org/x?y=1", "fooBar", "FooBarBaz"},
        ),
        ("read_row(12345) of 123", {"read_row", "12345"}),
        ("only plain words here", set()),
    ],
)
def test_exact_strings(text, found):
    assert exact_strings(text) == found


def test_kinds():
    kinds = {
        "https://a.b/c": "url", "a/b.py": "path", "0a1b2c3d": "hash", "12345": "number", "--dry-run": "flag",
        "read_row": "name", "deadbeef": "name", "1234567": "hash",
    }  # fmt: skip
    assert {text: kind_of(text) for text in kinds} == kinds


def test_exact_strings_of_long_runs_are_quick():
    began = time.perf_counter()
    for text in ("a" * 200_000, "a-" * 100_000 + "_", "1" * 200_000, "/" * 200_000, "aB" * 100_000):
        exact_strings(text)
    assert time.perf_counter() - began < 5


def test_words_of_calls_have_their_line_breaks():
    call = ToolCall("c", "run", '{"command": "cd \\"src\\"\\nls"}')
    assert words(Message("assistant", (Text("Go."), call))) == 'Go.\nrun {"command": "cd "src"\nls"}'


@pytest.fixture(scope="module")
def ten_thousand() -> Recording:
    return Recording.of(run_of(5000, lines=12), MODEL)


@pytest.mark.parametrize("policy", ["text", "drop", "summary"])
def test_ten_thousand_messages_replay_in_seconds(policy, ten_thousand):
    recording = ten_thousand
    began = time.perf_counter()
    played = replay(recording, policy=policy, window=200_000)
    assert len(played.requests) >= 5000 or policy == "text"
    assert time.perf_counter() - began < 20


def test_a_run_without_answers_has_no_requests():
    played = replay(Transcript((Message("user", (Text("Hello"),)),), "text"), model=MODEL)
    assert played.requests == ()
    assert (played.usd, played.peak, played.recall) == (Decimal(0), 0, None)


def test_replay_refuses_what_cannot_be():
    with pytest.raises(snapshot.SnapshotError, match="did you mean summary"):
        replay(run_of(1), model=MODEL, policy="sumary")
    with pytest.raises(snapshot.SnapshotError, match="no layout is known"):
        replay(run_of(1), model="nobody-knows-this")


def test_saw_tooth_of_any_length():
    for steps in (0, 1, 2000):
        run = run_of(steps, lines=1)
        svg = saw_tooth({"a run": [replay(run, model=MODEL, policy=name) for name in ("text", "drop")]}).svg()
        assert svg.count("<line") < 4000
        assert "a run" in svg


@pytest.fixture
def session(tmp_path):
    path = tmp_path / "run.json"
    path.write_bytes(snapshot.dump(run_of(40), "openai-chat").data)
    return path


def test_command_prints_a_row_for_each_policy(session, tmp_path, capsys):
    plot = tmp_path / "saw.svg"
    assert main(["replay", str(session), "-m", MODEL, "--window", "20000", "--plot", str(plot)]) == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines()[2:6]] == list(POLICIES)
    assert "text stops at message" in out
    assert plot.read_text(encoding="utf-8").startswith("<svg")


def test_command_prints_one_object(session, capsys):
    arguments = ["replay", str(session), "-m", MODEL, "--window", "20000", "--policy", "drop,text", "--json"]
    assert main([*arguments, "--threshold", "0.9"]) == 0
    found = json.loads(capsys.readouterr().out)
    policies = found["runs"][0]["policies"]
    assert [item["policy"] for item in policies] == ["drop", "text"]
    rows = policies[0]["requests"]
    assert sum(row["read"] for row in rows) == policies[0]["read"]
    assert sum(row["usd"] for row in rows) == pytest.approx(policies[0]["usd"])


@pytest.mark.parametrize(
    "wrong",
    [["--policy", "none"], ["--target", "-1"], ["--threshold", "nan"], ["--tail", "2"], ["--overhead", "-5"],
     ["--plot", "x.gif"]],
)  # fmt: skip
def test_command_says_what_is_wrong_in_a_line(session, wrong, capsys):
    assert main(["replay", str(session), "-m", MODEL, "--policy", "text", *wrong]) == 2
    error = capsys.readouterr().err
    assert error.startswith("snapshot: ")
    assert "Traceback" not in error


def test_the_docs_have_the_table_of_this_version(real):
    """One row of it here; the whole of it where slow tests are run."""
    from benchmarks import replay_table

    assert replay_table.kept().startswith(replay_table.HEAD)
    run = real / "ytt.claude-stream.jsonl"
    if not run.exists():
        pytest.skip("the whole runs are not beside the checkout")
    for row in replay_table.rows([run], ["gemini-3.8-flash"]):
        assert row in replay_table.kept()


@pytest.mark.slow
def test_the_docs_have_the_whole_table_of_this_version():
    from benchmarks import replay_table

    if not replay_table.REAL.is_dir():
        pytest.skip("the three runs are not beside the checkout")
    assert replay_table.table() == replay_table.kept()
