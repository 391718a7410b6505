"""Plans, calls with their results, what still runs, and what holds, in the ledger."""

# ruff: noqa: E501 -- a call with its result is easier to follow on one line

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import snapshot
from snapshot.ledger import Ledger, ledger_of, ledger_text
from snapshot.messages import Message, Text, ToolCall, ToolResult
from tests.ledger_talk import STEPS, Talk, todos, words

# --- case 040: a plan written whole or kept by single changes, an agent and shells, loaded tools and a skill


def anthropic(kind: str) -> dict[str, Any]:
    """The conversation of the case as an Anthropic request; `kind` says how the plan is kept."""
    rows: list[dict[str, Any]] = [{"role": "user", "content": "Migrate the reports service. Keep a plan."}]

    def call(name: str, arguments: dict[str, Any], result: Any) -> None:
        call_id = f"toolu_{len(rows)}"
        use = {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
        rows.append({"role": "assistant", "content": [use]})
        rows.append(
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call_id, "content": result}]}
        )

    def plan(done: int) -> None:
        if kind == "list":
            states = ["completed"] * done + ["in_progress"] + ["pending"] * (len(STEPS) - done - 1)
            call("TodoWrite", {"todos": todos(*states)}, "Todos have been modified.")
        elif not done:
            for number, step in enumerate(STEPS, 1):
                call(
                    "TaskCreate",
                    {"subject": step, "description": f"{step}, with tests."},
                    f"Task #{number} created: {step}",
                )
        else:
            for number in range(1, done + 1):
                call("TaskUpdate", {"taskId": str(number), "status": "completed"}, f"Updated task #{number}")
            call(
                "TaskUpdate", {"taskId": str(done + 1), "status": "in_progress"}, f"Updated task #{done + 1}"
            )

    plan(0)
    for k in range(40):
        path = f"/srv/demo/models/model_{k}.py"
        call("Read", {"file_path": path}, "\n".join(f"{i}\tfield_{i} = Column(Integer)" for i in range(70)))
        if k == 15:
            plan(2)
            call(
                "ToolSearch",
                {"query": "select:mcp__tracker__post"},
                [{"type": "tool_reference", "tool_name": "mcp__tracker__post"}],
            )
            call(
                "Skill",
                {"skill": "db-migrations"},
                "Base directory for this skill: /srv/demo/skills/db-migrations\n\nA down step.",
            )
            call(
                "Task",
                {
                    "description": "Backfill audit",
                    "prompt": "Backfill in batches.",
                    "run_in_background": True,
                },
                "Async agent launched. agentId: a7f3c19e2b. Output: /tmp/agents/a7f3c19e2b.output. You are told when it is done.",
            )
            call(
                "Bash",
                {"command": "make soak", "run_in_background": True},
                "Command running in background with ID: bash_4c",
            )
            call(
                "Bash",
                {"command": "make lint", "run_in_background": True},
                "Command running in background with ID: bash_5d",
            )
        if k == 30:
            call("BashOutput", {"bash_id": "bash_5d"}, "status: completed\nexit code: 0")
        call("Edit", {"file_path": path, "old_string": "a", "new_string": "b"}, "updated")
    rows.append({"role": "assistant", "content": "The models are ported. Shall I go on?"})
    return {"messages": [*rows, {"role": "user", "content": "Yes, next item."}]}  # fmt: skip


@pytest.mark.parametrize("kind", ["list", "tasks"])
@pytest.mark.parametrize("budget", [300, 900, 5000])
def test_plan_and_handles(kind: str, budget: int, tmp_path: Path) -> None:
    path = tmp_path / f"{kind}.json"
    path.write_text(json.dumps(anthropic(kind)), encoding="utf-8")
    ledger = ledger_of(snapshot.load(path).messages)
    text = ledger_text(ledger, budget, words)
    assert words(text) <= budget
    assert [(step.text, step.state) for step in ledger.plan] == [
        *((text, "done") for text in STEPS[:2]), (STEPS[2], "in progress"), *((text, "open") for text in STEPS[3:])
    ]  # fmt: skip
    lines = text.split("\n")
    for step, state in ((STEPS[2], "in progress"), (STEPS[4], "open"), (STEPS[5], "open")):
        told = [line for line in lines if step in line]
        assert len(told) == 1
        assert f"] {state}: " in told[0]
    assert sum("a7f3c19e2b: Backfill audit" in line for line in lines) == 1
    assert sum("bash_4c: make soak" in line for line in lines) == 1
    assert "bash_5d" not in text
    assert "a record, not an order" in lines[0]
    if budget > 300:
        assert "tool mcp__tracker__post" in text
        assert "skill db-migrations (folder /srv/demo/skills/db-migrations)" in text
        assert "lint ok: make lint" in text


def test_nothing_of_a_conversation_without_state() -> None:
    ledger = Talk().user("Hello.").says("Good day.").ledger()
    assert ledger.empty
    assert ledger_text(ledger, 10_000, words) == ""
    assert ledger_of([]) == Ledger()


# --- plans, calls and results


def test_a_plan_that_was_refused_is_not_the_plan() -> None:
    talk = Talk().user("Go.").call("TodoWrite", {"todos": todos("in_progress")}, "ok")
    talk.call("TodoWrite", {"todos": todos("completed", "completed")}, "InputValidationError", error=True)
    assert [(step.text, step.state, step.message) for step in talk.ledger().plan] == [
        (STEPS[0], "in progress", 2)
    ]


def test_a_plan_whose_result_is_not_there_yet_counts() -> None:
    talk = Talk().user("Go.").call("TodoWrite", {"todos": todos("in_progress")}, None)
    assert [step.text for step in talk.ledger().plan] == STEPS[:1]


def test_the_plan_touched_last_is_the_plan() -> None:
    talk = Talk().user("Go.").call("TaskCreate", {"subject": "Old"}, "Task #1 created successfully: Old")
    talk.call("TodoWrite", {"todos": todos("pending")}, "ok")
    assert [step.text for step in talk.ledger().plan] == STEPS[:1]
    talk.call("TaskUpdate", {"taskId": "1", "status": "in_progress"}, "Updated task #1 status")
    assert [(step.text, step.state, step.id) for step in talk.ledger().plan] == [("Old", "in progress", "1")]
    talk.call("TaskUpdate", {"taskId": "1", "status": "deleted"}, "Updated task #1 deleted")
    assert talk.ledger().plan == ()


def test_parallel_calls_answered_in_another_order() -> None:
    calls = tuple(
        ToolCall(str(number), "TaskCreate", json.dumps({"subject": STEPS[number]})) for number in range(3)
    )
    results = tuple(
        Message("tool", (ToolResult(str(number), (Text(f"Task #{number + 1} created successfully: x"),)),))
        for number in (2, 0, 1)
    )
    ledger = ledger_of([Message("user", (Text("Go."),)), Message("assistant", calls), *results])
    assert [(step.id, step.text) for step in ledger.plan] == [
        ("1", STEPS[0]),
        ("2", STEPS[1]),
        ("3", STEPS[2]),
    ]


def test_equal_ids_are_told_apart_by_order() -> None:
    def read(path: str) -> ToolCall:
        return ToolCall("same", "Read", json.dumps({"file_path": path}))

    failed = ToolResult("same", (Text("File does not exist."),), is_error=True)
    good = ToolResult("same", (Text("x"),))
    ledger = ledger_of([
        Message("assistant", (read("/never"),)),
        Message("assistant", (read("/a"), read("/b"))), Message("tool", (failed, good)),
        Message("assistant", (read("/c"),)), Message("tool", (good,)), Message("tool", (good,)),
    ])  # fmt: skip
    assert [(file.path, file.read) for file in ledger.files] == [("/c", 4), ("/b", 2)]
    assert [failure.what for failure in ledger.failures] == ["Read /a"]


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "{",
        "[]",
        "null",
        '{"file_path": 3}',
        '{"todos": "x", "command": {"a": 1}}',
        "[" * 100_000,
        '{"command":' * 900 + "1" + "}" * 900,
        json.dumps({"command": "(" * 9000 + ")" * 9000}),
    ],
)
def test_broken_arguments_do_no_harm(raw: str) -> None:
    names = ("Read", "Edit", "Bash", "TodoWrite", "TaskUpdate", "Skill", "AskUserQuestion", "apply_patch", "todo", "hub",
             "KillShell", "ExitPlanMode", "ToolSearch", "anything")  # fmt: skip
    talk = Talk()
    for name in names:
        talk.call(name, raw, "ok").call(name, raw, None).call(name, raw, "no", error=True)
    text = ledger_text(talk.ledger(), 5000, words)
    assert words(text) <= 5000


def test_a_number_that_was_killed_runs_no_more() -> None:
    talk = Talk().call(
        "run_shell_command", {"command": "npm start"}, "Command moved to background (PID: 7833)."
    )
    assert [handle.id for handle in talk.ledger().handles] == ["7833"]
    assert talk.call("run_shell_command", {"command": "kill -9 7833"}, "(empty)").ledger().handles == ()


def test_output_of_a_command_ends_nothing() -> None:
    started = "Command running in background with ID: b1. Output is being written to: /tmp/b1.output."
    talk = Talk().call("Bash", {"command": "serve", "run_in_background": True}, started)
    talk.call("TaskOutput", {"task_id": "b1"}, "<retrieval_status>timeout</retrieval_status>\n\n<task_id>b1</task_id>\n\n"
              "<status>running</status>\n\n<output>\n<status>completed</status>\nstatus: completed\n</output>")  # fmt: skip
    talk.call("Read", {"file_path": "/notes"}, "<task-id>b1</task-id><status>completed</status>")
    assert [handle.id for handle in talk.ledger().handles] == ["b1"]
    talk.call(
        "TaskOutput",
        {"task_id": "b1"},
        "<retrieval_status>success</retrieval_status>\n\n<status>failed</status>",
    )
    assert talk.ledger().handles == ()


def test_a_question_that_was_turned_down_is_open_until_the_user_speaks() -> None:
    talk = Talk().call(
        "AskUserQuestion", {"questions": [{"question": "A?"}, {"question": "B?"}]}, "rejected", error=True
    )
    assert [question.text for question in talk.ledger().questions] == ["A?", "B?"]
    talk.user("<system-reminder>x</system-reminder>")
    assert len(talk.ledger().questions) == 2
    assert talk.user("A it is.").ledger().questions == ()


def test_a_plan_that_was_approved() -> None:
    talk = (
        Talk()
        .call("EnterPlanMode", {}, "ok")
        .call("ExitPlanMode", {"plan": "# Port\n1. a"}, "rejected", error=True)
    )
    assert [(setting.name, setting.value) for setting in talk.ledger().settings] == [("mode", "plan mode")]
    talk.call(
        "ExitPlanMode", {"plan": "# Port\n1. a", "planFilePath": "/p.md"}, "User has approved your plan."
    )
    assert [(setting.name, setting.value) for setting in talk.ledger().settings] == [
        ("approved plan", "Port (/p.md)")
    ]


# --- more of what runs and what holds


def test_jobs_of_omp_end_by_snapshot_and_cancel() -> None:
    talk = Talk()
    for number in range(1, 5):
        talk.call(
            "bash",
            {"command": f"serve {number}"},
            f"Backgrounded as job bg_{number}; result will be delivered automatically.",
        )
    talk.call("hub", {"op": "jobs"}, "## Completed (1)\n\n### bg_1 [bash] \u2014 completed\nLabel: serve 1\n\n"
              "## Still Running (3)\n\n- `bg_2` [bash] \u2014 serve 2")  # fmt: skip
    assert [handle.id for handle in talk.ledger("pi").handles] == ["bg_2", "bg_3", "bg_4"]
    talk.call(
        "hub", {"op": "cancel", "ids": ["bg_2"]}, "## Cancelled (1)\n\n- Cancelled background job bg_2."
    )
    talk.call("hub", {"op": "wait"}, "### bg_3 [bash] \u2014 failed\nLabel: serve 3")
    assert [handle.id for handle in talk.ledger("pi").handles] == ["bg_4"]


def test_permissions_of_codex_are_the_newest() -> None:
    talk = Talk().user("<permissions instructions>\nFilesystem sandboxing defines which files can be read or written. "
                       "`sandbox_mode` is `read-only`: The sandbox only permits reading files.\nApproval policy is currently "
                       "never. Do not ask.\n</permissions instructions>")  # fmt: skip
    talk.user("<collaboration_mode># Collaboration Mode: Plan\nYou are planning.</collaboration_mode>")
    assert talk.lines() == [
        "Mode and permissions:",
        "- [1] approval policy: never",
        "- [1] sandbox: read-only",
        "- [2] mode: plan mode",
    ]
    talk.user("<collaboration_mode># Collaboration Mode: Default\nGo.</collaboration_mode>")
    talk.user("<environment_context><sandbox_mode>workspace-write</sandbox_mode></environment_context>")
    assert [(setting.name, setting.value, setting.message) for setting in talk.ledger().settings] == [
        ("approval policy", "never", 1), ("sandbox", "workspace-write", 4)
    ]  # fmt: skip


def test_a_plan_that_gemini_rejected_stays_in_plan_mode() -> None:
    talk = Talk().call("enter_plan_mode", {}, "Switching to Plan mode.")
    talk.call("exit_plan_mode", {"plan_filename": "p.md"}, "Plan rejected. User feedback: smaller")
    assert [(setting.name, setting.value) for setting in talk.ledger().settings] == [("mode", "plan mode")]


def test_schedules_worktrees_and_monitors() -> None:
    talk = Talk().call(
        "CronCreate",
        {"cron": "*/5 * * * *", "prompt": "Look again"},
        "Scheduled recurring job cfe8d45b (Every 5 minutes).",
    )
    talk.call(
        "EnterWorktree",
        {"name": "x"},
        "Entered worktree at /srv/wt on branch wt/x. The session is now working there.",
    )
    talk.call(
        "Monitor",
        {"command": "tail -f log"},
        "Monitor started (task bmon1, expires in 30m unless the source ends first).",
    )
    assert talk.lines() == [
        "Still running when last seen:",
        "- [2] schedule cfe8d45b: Look again",
        "- [6] shell bmon1: tail -f log",
        "Mode and permissions:",
        "- [4] worktree: /srv/wt on branch wt/x",
    ]
    talk.call("CronDelete", {"id": "cfe8d45b"}, "ok").call(
        "TaskStop", {"task_id": "bmon1"}, '{"message":"Successfully stopped task: bmon1"}'
    )
    assert talk.call("ExitWorktree", {"action": "keep"}, "ok").ledger().empty


def test_a_file_tells_where_it_was_changed_before():
    talk = Talk()
    for number in range(10):
        talk.call("Edit", {"file_path": "/a.py", "old_string": "a", "new_string": f"b{number}"}, "updated")
    (line,) = (line for line in talk.lines() if "/a.py" in line)
    assert line.startswith("- [19] edited /a.py (changed before at 5, 7, 9, 11, 13, 15, 17; ")
    talk.call("Write", {"file_path": "/c.py", "content": "x"}, "File created successfully at: /c.py")
    talk.call("Edit", {"file_path": "/c.py", "old_string": "x", "new_string": "y"}, "updated")
    assert "- [23] edited /c.py (created at 21; no read seen since)" in talk.lines()
