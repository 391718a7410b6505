"""The measure of a continuation: its counts on a run worked out by hand, and its laws."""

from __future__ import annotations

import json

import pytest

from benchmarks import continuation
from benchmarks.continuation import Cut, cuts_of, main, means
from snapshot.messages import Message, Text, ToolCall, ToolResult, Transcript

MODEL = "claude-opus-4-8"


def run_of(steps: int, answers: dict[int, str]) -> Transcript:
    """A run of calls with long results; the answer at a step says what `answers` has for it."""
    messages = [Message("user", (Text("Mend the importer."),))]
    for step in range(steps):
        words = "\n".join(f"line {step} {line} of an ordinary report" for line in range(60))
        call = ToolCall(f"c{step}", "look", json.dumps({"at": step}))
        messages += [
            Message("assistant", (Text(answers.get(step, "Next.")), call)),
            Message("tool", (ToolResult(f"c{step}", (Text(words + f"\nhandle_{step}_end"),)),)),
        ]
    return Transcript(tuple(messages), "openai-chat")


@pytest.fixture(scope="module")
def cuts() -> list[Cut]:
    # At 85 % of 81 messages the cut is before step 34; what is used is named by the steps behind it.
    run = run_of(
        40, {35: "As handle_33_end and handle_2_end say.", 36: "A new_name_here, and handle_35_end."}
    )
    return list(cuts_of("a run", run, model=MODEL))


def test_strings_are_those_that_stood_before_the_cut(cuts):
    last = [cut for cut in cuts if cut.where == 0.85]
    assert [cut.way for cut in last] == ["ours", "newest 20%", "newest 30%"]
    for cut in last:
        # Not the new name, nor what came behind the cut.
        assert cut.text + cut.page + cut.gone == 2
        assert sum(cut.kinds.values()) == 2
    ours, newest, _ = last
    assert (ours.text + ours.page, ours.gone, ours.refused) == (2, 0, "")
    assert (newest.text, newest.gone, newest.gone_strings) == (1, 1, ("handle_2_end",))


def test_baselines_keep_their_share(cuts):
    for cut in cuts:
        if cut.way != "ours":
            share = float(cut.way.removeprefix("newest ").rstrip("%")) / 100
            assert 0.5 * share * cut.before < cut.tail_tokens <= share * cut.before
        assert 0 <= cut.recall <= 1
        assert 0 < cut.share <= 1
        assert 0 <= cut.tail_share <= 1


def test_what_is_refused_counts_as_nothing_known():
    run = run_of(40, {35: "As handle_33_end says."})
    cuts = list(cuts_of("a run", run, model="deepseek-v4-flash", digest=False, rungs=("summarize",)))
    ours = [cut for cut in cuts if cut.way == "ours"]
    assert ours
    assert all(cut.refused.startswith("SummarizerRequired") and cut.recall == 0 for cut in ours)
    mean = means(cuts)
    assert mean["ours"]["refused"] == len(ours)
    assert mean["ours"]["share"] == 0
    assert mean["newest 20%"]["refused"] == 0


def test_short_runs_have_no_cuts():
    assert not list(cuts_of("a run", run_of(4, {}), model=MODEL))


@pytest.fixture
def session(tmp_path):
    run = run_of(30, {28: "As handle_20_end says."})
    path = tmp_path / "run.json"
    import snapshot

    path.write_bytes(snapshot.dump(run, "openai-chat").data)
    return path


def test_command_prints_means(session, capsys):
    assert main([str(session), "--tail", "0.4"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines[-3:]] == ["ours", "newest 20%", "newest 30%"]


def test_command_prints_one_object(session, capsys):
    assert main([str(session), "--json", "--model", "gemini-3.8-flash", "--target", "0.6"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["model"] == "gemini-3.8-flash"
    ours = [cut for cut in found["cuts"] if cut["way"] == "ours"]
    mean = sum(cut["recall"] for cut in ours) / len(ours)
    assert found["means"]["ours"]["recall"] == pytest.approx(mean)


def test_command_says_what_is_wrong_in_a_line(tmp_path, capsys):
    assert main([str(tmp_path / "none.json")]) == 2
    assert capsys.readouterr().err.startswith("continuation: ")
    assert main(["--target", "-1"]) == 2
    assert "target is -1.0" in capsys.readouterr().err


def test_default_runs_are_there():
    runs = continuation.default_runs()
    assert runs
    assert all(run.exists() for run in runs)
