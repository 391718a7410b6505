"""Laws of the ledger: any conversation, any budget, any words; in pieces as at once; quick."""

# ruff: noqa: E501 -- a call with its result is easier to follow on one line

from __future__ import annotations

import dataclasses
import json
import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshot.ledger import LedgerBuilder, ledger_of, ledger_text, tool_table
from snapshot.messages import File, Image, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from tests.ledger_talk import Talk, words

TABLE = tool_table()
NAMES = [
    *sorted({name.rstrip("*") for tool in TABLE.tools for name in tool.names}), "mcp__x__y", "", "edit_thing"
]  # fmt: skip
KEYS = [*sorted({key for keys in TABLE.keys.values() for key in keys}), "op", "ops", "phase", "query", "type"]
HEADINGS = (
    "Plan:",
    "Git:",
    "Files changed:",
    "[No room here for 3 errors.]",
    "- [1] open: forged",
    "[Live state",
)
# Words that tools of the known harnesses use, and that would forge the ledger's own lines.
WORDS = st.sampled_from([
    "completed", "in_progress", "pending", "deleted", "1", "b1", "42", "init", "done", "append", "rm", "start", "stop",
    "pytest -q", "cd /x && go test ./... | tail -3; git commit -m 'a'", "kill 42", "cat <<EOF > a\nb\nEOF\nmake 'x", "((((", "a.py",
    "/srv/a.py", "src/a.py", "select:a,b", "*** Begin Patch\n*** Update File: a\n*** Move to: b\n", "Exit code 1\nboom",
    "Command running in background with ID: b1", "Process running with session ID 42", "Task #1 created", "status: completed",
    "Async agent launched. agentId: b1", "<task-id>b1</task-id><status>killed</status>", "1 failed, 2 passed in 1s",
    "[main 1234567] x", "On branch x", "\ud800", "\x1b[31m\u202e\u2028x", "What?", *(f"x\n{heading}" for heading in HEADINGS),
])  # fmt: skip
TEXTS = st.one_of(WORDS, st.text(max_size=30), st.builds("{}\n{}".format, WORDS, WORDS))
VALUES = st.recursive(
    st.one_of(TEXTS, st.integers(-1, 50), st.booleans(), st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from([*KEYS, "items"]), inner, max_size=4)
    ),
    max_leaves=8,
)
ARGUMENTS = st.one_of(
    st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=6).map(json.dumps), TEXTS, st.just("{")
)
IDS = st.sampled_from(["", "a", "b", "c"])
CONTENT = st.one_of(
    st.builds(Text, TEXTS),
    st.just(Opaque("tool_reference", '{"tool_name":"t\\nGit:"}')),
    st.just(Opaque("tool_reference", "[")),
    st.just(Image("image/png", b"x")),
)
PARTS: st.SearchStrategy[Part] = st.one_of(
    st.builds(Text, TEXTS, st.booleans()),
    st.builds(Reasoning, TEXTS),
    st.builds(ToolCall, IDS, st.sampled_from(NAMES), ARGUMENTS),
    st.builds(ToolResult, IDS, st.lists(CONTENT, max_size=2).map(tuple), st.booleans()),
    st.just(File("a", "text/plain", text="x")),
    st.just(Opaque("x", "{}")),
)
MESSAGES = st.lists(
    st.builds(
        Message,
        st.sampled_from(["user", "assistant", "tool", "system"]),
        st.lists(PARTS, max_size=4).map(tuple),
    ),
    max_size=14,
)
HARNESSES = st.sampled_from(
    ["", "claude-code", "codex", "pi", "opencode", "gemini", "langchain", "openai-agents", "who"]
)


@given(MESSAGES, st.integers(0, 14), st.integers(-5, 2000), HARNESSES)
def test_any_prefix_gives_a_ledger_within_its_budget(
    messages: list[Message], stop: int, budget: int, harness: str
) -> None:
    prefix = messages[:stop]
    ledger = ledger_of(prefix, harness=harness)
    text = ledger_text(ledger, budget, words)
    assert words(text) <= max(budget, 0)
    assert ledger_text(ledger, budget, words) == text
    whole = ledger_text(ledger, 10**9, words)
    assert bool(whole) is not ledger.empty
    for line in whole.split("\n")[1:]:
        if match := re.match(r"- \[(\d+)\] ", line):
            assert 1 <= int(match[1]) <= len(prefix)
    for number in _numbers(dataclasses.asdict(ledger)):
        assert 0 <= number <= len(prefix)
    json.dumps(dataclasses.asdict(ledger))


@given(MESSAGES, st.integers(0, 14), HARNESSES)
def test_in_pieces_as_at_once(messages: list[Message], cut: int, harness: str) -> None:
    builder = LedgerBuilder(harness=harness)
    builder.feed(messages[:cut])
    assert builder.ledger() == ledger_of(messages[:cut], harness=harness)
    builder.feed(messages[cut:])
    assert builder.ledger() == ledger_of(messages, harness=harness)


@given(MESSAGES, HARNESSES)
def test_quoted_words_stay_in_their_lines(messages: list[Message], harness: str) -> None:
    text = ledger_text(ledger_of(messages, harness=harness), 10**9, words)
    lines = text.split("\n")
    headings = [line for line in lines if not re.match(r"- \[\d+\] ", line)]
    assert len(headings) == len(set(headings))
    for heading in headings[1:]:
        assert re.fullmatch(r"[A-Z][A-Za-z ,()]+:", heading)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\ud800-\udfff]", text)


def _numbers(value: Any, name: str = "") -> list[int]:
    if isinstance(value, dict):
        return [number for key, inner in value.items() for number in _numbers(inner, key)]
    if isinstance(value, list | tuple):
        return [number for inner in value for number in _numbers(inner, name)]
    places = (
        "message",
        "messages",
        "changed",
        "created",
        "read",
        "again",
        "branch_message",
        "commit_message",
    )
    return [value] if name in places else []


def test_what_matters_least_goes_first_and_is_counted() -> None:
    talk = Talk().call(
        "TodoWrite", {"todos": [{"content": f"Step {n}", "status": "pending"} for n in range(5)]}, "ok"
    )
    talk.call(
        "Bash", {"command": "serve", "run_in_background": True}, "Command running in background with ID: b1"
    )
    for number in range(60):
        talk.call("Edit", {"file_path": f"/srv/changed_{number}.py"}, "ok")
        talk.call("Read", {"file_path": f"/srv/read_{number}.py"}, "ok")
        talk.call("Bash", {"command": f"python job_{number}.py"}, "Exit code 1\nBoom", error=True)
    talk.call("Bash", {"command": "pytest"}, "3 passed in 1s")
    ledger = talk.ledger()
    texts = {budget: ledger_text(ledger, budget, words) for budget in range(0, 6000, 50)}
    previous = -1
    for budget, text in texts.items():
        assert words(text) <= budget
        kept = text.count("\n- [")
        assert kept >= previous
        previous = kept
        if not text:
            continue
        left = re.search(r"\[No room here for ([^\]]+)\.\]$", text)
        missing = sum(int(number) for number in re.findall(r"\d+", left[1])) if left else 0
        assert kept + missing == 5 + 1 + 60 * 3 + 1
        if "changed_" in text:
            assert "Step 4" in text
            assert "b1: serve" in text
        if "/srv/read_" in text:
            assert "3 passed in 1s" in text
            assert "/srv/changed_59.py" in text
            assert "job_59.py" in text
    assert texts[0] == ""
    assert "[No room" not in texts[5950]


def test_long_words_are_clipped() -> None:
    talk = Talk().call(
        "TodoWrite", {"todos": [{"content": "e\u0301" * 10_000, "status": "x" * 10_000}]}, "ok"
    )
    talk.call("Bash", {"command": "make " + "y" * 100_000}, "make: *** " + "z" * 100_000, error=True)
    talk.call("Read", {"file_path": "/" + "p" * 100_000}, "x")
    assert all(len(line) < 800 for line in talk.lines())
    assert "\u2026" in talk.lines()[1]


def test_a_long_conversation_is_quick() -> None:
    talk = Talk().call("TaskCreate", {"subject": "a"}, "Task #1 created successfully: a")
    for number in range(1250):
        talk.call(
            "Bash",
            {"command": f"cd /srv && python -m pytest tests/test_{number}.py -q 2>&1 | tail -5"},
            "x\n" * 100 + "3 passed in 1s",
        )
        talk.call(
            "Edit",
            {"file_path": f"/srv/a_{number % 50}.py", "old_string": "a" * 500, "new_string": "b" * 500},
            "ok",
        )
        talk.call("TaskUpdate", {"taskId": "1", "status": "in_progress"}, "Updated task #1 status")
        talk.call("Read", {"file_path": f"/srv/a_{number}.py"}, "line\n" * 500)
    start = time.process_time()
    ledger = ledger_of(talk.messages)
    taken = time.process_time() - start
    assert ledger.messages == len(talk.messages) > 10_000
    assert taken < 3  # half a second on a slow machine; the bound catches what grows with the square


@pytest.mark.parametrize("text", ["pytest;", "(", "'", "a(", "<<a\n", "\n", "=1 ", "${", "1 failed, ", "\x1b]", "<task-id>a</task-id>",
                                  "error TS", "a? ", "/.", " a | ", "*** Add File: ", "Monitor started (task ", "\u0301"])  # fmt: skip
def test_no_text_is_slow(text: str) -> None:
    long = text * (60_000 // len(text))
    talk = Talk().user(long).says(long + "?")
    for name in ("Bash", "exec_command", "Edit", "TodoWrite", "Task", "AskUserQuestion"):
        arguments = {
            "command": long,
            "cmd": long,
            "file_path": long,
            "todos": [long],
            "description": long,
            "question": long,
        }
        talk.call(name, arguments, long).call(
            name, {"command": "pytest && jest && git log && git status -s"}, long
        )
    start = time.process_time()
    ledger_text(talk.ledger(), 1000, words)
    assert time.process_time() - start < 4  # a quarter of a second; what grows with the square takes minutes


def test_what_is_new_costs_by_itself() -> None:
    """Feeding one message more looks at no older one: the builder holds none."""
    talk = Talk().call("Bash", {"command": "pytest"}, "3 passed in 1s")
    builder = LedgerBuilder()
    builder.feed(iter(talk.messages))
    assert builder.ledger().runs[0].message == 2
    builder.feed([])
    assert builder.ledger() == ledger_of(talk.messages)
