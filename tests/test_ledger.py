"""The ledger of each known harness, line by line, and of tools that nobody knows."""

# ruff: noqa: E501 -- a call with its result is easier to follow on one line

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import snapshot
from snapshot.ledger import Ledger, ledger_of, ledger_text
from snapshot.messages import Message, Opaque, Text, ToolCall, ToolResult
from tests.ledger_talk import Talk, words

STEPS = [
    "Map the old models", "Port the query layer", "Write the data migration", "Backfill the audit table",
    "Delete the compatibility shim", "Update the runbook",
]  # fmt: skip


def todos(*states: str, key: str = "content") -> list[dict[str, str]]:
    return [{key: text, "status": state} for text, state in zip(STEPS, states, strict=False)]


def test_claude_code() -> None:
    talk = (
        Talk()
        .user("Port the service.")  # 1
        .call("TodoWrite", {"todos": todos("completed", "in_progress", "pending")}, "Todos have been modified.")  # 2
        .call("Read", {"file_path": "/srv/app/models.py"}, "1\tclass A: ...")  # 4
        .call("Edit", {"file_path": "/srv/app/models.py", "old_string": "A", "new_string": "B"}, "updated")  # 6
        .call("Write", {"file_path": "/srv/app/new.py", "content": "x"}, "File created successfully at: /srv/app/new.py")  # 8
        .call("Read", {"file_path": "/srv/app/new.py"}, "1\tx")  # 10
        .call("Edit", {"file_path": "/srv/app/gone.py", "old_string": "a", "new_string": "b"},
              "<tool_use_error>String to replace not found in file.</tool_use_error>", error=True)  # 12
        .call("Bash", {"command": "cd /srv/app && python -m pytest tests -q 2>&1 | tail -3"},
              "FAILED tests/test_a.py::test_b - assert 1 == 2\n1 failed, 12 passed in 0.31s")  # 14
        .call("Bash", {"command": "ruff check ."}, "All checks passed!")  # 16
        .call("Bash", {"command": "npm run dev", "run_in_background": True},
              "Command running in background with ID: bkyc8n5c9. Output is being written to: /tmp/tasks/bkyc8n5c9.output. "
              "You will be notified when it completes.")  # 18
        .call("Bash", {"command": "make lint", "run_in_background": True},
              "Command running in background with ID: b2a2a2a2a. Output is being written to: /tmp/tasks/b2a2a2a2a.output.")  # 20
        .call("Agent", {"description": "Find the callers", "prompt": "…", "run_in_background": True},
              "Async agent launched successfully.\nagentId: a93b2 (internal ID - do not mention to user.)\n"
              "The agent is working in the background.\noutput_file: /tmp/tasks/a93b2.output")  # 22
        .call("Task", {"description": "Quick look", "prompt": "…"}, "Nothing found.\nagentId: a0000 (for resuming)")  # 24
        .user("<task-notification>\n<task-id>b2a2a2a2a</task-id>\n<status>completed</status>\n"
              "<summary>Background command \"make lint\" completed (exit code 0)</summary>\n</task-notification>")  # 26
        .call("ToolSearch", {"query": "select:mcp__tracker__post"},
              [Opaque("tool_reference", '{"type":"tool_reference","tool_name":"mcp__tracker__post"}')])  # 27
        .call("Skill", {"skill": "db-migrations"}, "Launching skill: db-migrations")  # 29
        .user("Base directory for this skill: /srv/skills/db-migrations\n\nEvery migration has a down step.")  # 31
        .call("Bash", {"command": "git checkout -b port && git commit -qam 'Port the models'"},
              "Switched to a new branch 'port'")  # 32
        .call("EnterPlanMode", {}, "Entered plan mode.")  # 34
        .call("AskUserQuestion", {"questions": [{"question": "Drop the shim?", "header": "Shim", "options": []}]}, None)
    )  # fmt: skip
    assert talk.lines("claude-code") == [
        "Plan:",
        "- [2] 1 step done",
        "- [2] in progress: Port the query layer",
        "- [2] open: Write the data migration",
        "Still running when last seen:",
        "- [19] shell bkyc8n5c9: npm run dev (output in /tmp/tasks/bkyc8n5c9.output)",
        "- [23] agent a93b2: Find the callers (output in /tmp/tasks/a93b2.output)",
        "Errors not yet resolved:",
        "- [13] Edit /srv/app/gone.py: String to replace not found in file.",
        "Files changed:",
        "- [8] created /srv/app/new.py (read after it at 10)",
        "- [6] edited /srv/app/models.py (no read seen since)",
        "Last test, build and lint runs:",
        "- [26] lint ok: make lint",
        "- [17] lint ok: ruff check . => All checks passed!",
        "- [15] test failed: python -m pytest tests -q => 1 failed, 12 passed in 0.31s (in /srv/app)",
        "Questions to the user without an answer:",
        "- [36] Drop the shim?",
        "Git:",
        "- [33] branch port",
        "- [33] last commit seen: Port the models",
        "Mode and permissions:",
        "- [35] mode: plan mode",
        "Skills and tools loaded in the course of this (load them again if they are gone):",
        "- [28] tool mcp__tracker__post",
        "- [31] skill db-migrations (folder /srv/skills/db-migrations)",
    ]


def test_codex() -> None:
    patch = (
        "*** Begin Patch\n*** Add File: src/new.rs\n+fn a() {}\n*** Update File: src/old.rs\n*** Move to: src/moved.rs\n"
        "@@\n-a\n+b\n*** Delete File: src/gone.rs\n*** End Patch"
    )
    running = "Chunk ID: a1\nWall time: 1.0 seconds\nProcess running with session ID {}\nOutput:\nstarting\n"
    talk = (
        Talk()
        .user("<environment_context>\n  <approval_policy>on-request</approval_policy>\n"
              "  <sandbox_mode>workspace-write</sandbox_mode>\n</environment_context>")  # 1
        .user("Make it faster.")  # 2
        .call("update_plan", {"explanation": "go", "plan": todos("completed", "in_progress", "pending", key="step")},
              "Plan updated")  # 3
        .call("apply_patch", patch, "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\n")  # 5
        .call("exec_command", {"cmd": "cargo test"}, running.format(42))  # 7
        .call("exec_command", {"cmd": "cargo run --bin server"}, running.format(43))  # 9
        .call("write_stdin", {"session_id": 42, "chars": ""},
              "Chunk ID: a2\nWall time: 9.0 seconds\nProcess exited with code 101\nOutput:\n"
              "test result: FAILED. 3 passed; 1 failed; 0 ignored\n")  # 11
        .call("shell", {"command": ["bash", "-lc", "git status -sb"]},
              json.dumps({"output": "## main...origin/main\n M src/lib.rs\n", "metadata": {"exit_code": 0, "duration_seconds": 0.1}}))  # 13
        .call("shell", {"command": ["bash", "-lc", "python fix.py"]},
              json.dumps({"output": "Traceback (most recent call last):\n  File \"fix.py\", line 1\nKeyError: 'a'\n", "metadata": {"exit_code": 1}}))  # 15
        .call("spawn_agent", {"message": "Profile the parser", "agent_type": "worker"},
              '{"agent_id":"019b-aa","nickname":"Euler"}')  # 17
        .call("spawn_agent", {"message": "Read the docs"}, '{"agent_id":"019b-bb","nickname":"Gauss"}')  # 19
        .call("wait", {"ids": ["019b-aa", "019b-bb"]}, '{"status":{"019b-bb":{"completed":"Read."}},"timed_out":false}')  # 21
    )  # fmt: skip
    assert talk.lines("codex") == [
        "Plan:",
        "- [3] 1 step done",
        "- [3] in progress: Port the query layer",
        "- [3] open: Write the data migration",
        "Still running when last seen:",
        "- [10] shell 43: cargo run --bin server",
        "- [18] agent 019b-aa: Profile the parser",
        "Errors not yet resolved:",
        "- [16] shell python fix.py: KeyError: 'a'",
        "Files changed:",
        "- [14] changed according to git: src/lib.rs",
        "- [5] created src/new.rs (no read seen since)",
        "- [5] moved src/moved.rs (from src/old.rs; no read seen since)",
        "- [5] deleted src/gone.rs",
        "Last test, build and lint runs:",
        "- [12] test failed, exit code 101: cargo test => test result: FAILED. 3 passed; 1 failed; 0 ignored",
        "Git:",
        "- [14] branch main",
        "Mode and permissions:",
        "- [1] approval policy: on-request",
        "- [1] sandbox: workspace-write",
    ]


def test_pi_and_omp() -> None:
    talk = (
        Talk()
        .user("Go.")  # 1
        .call("todo", {"op": "init", "list": [{"phase": "Models", "items": STEPS[:2]}, {"phase": "Data", "items": STEPS[2:4]}]},
              "Todo list")  # 2
        .call("todo", {"op": "done", "task": STEPS[0]}, "Todo list")  # 4
        .call("todo", {"op": "block", "task": STEPS[2], "reason": "waits for the user"}, "Todo list")  # 6
        .call("todo", {"op": "append", "phase": "Docs", "items": [STEPS[5]]}, "Todo list")  # 8
        .call("read", {"path": "src/a.ts:10-40"}, "10#…")  # 10
        .call("edit", {"path": "src/a.ts", "edits": []}, "Updated src/a.ts")  # 12
        .call("write", {"path": "src/b.ts", "content": "x"}, "Successfully wrote 1 bytes to src/b.ts")  # 14
        .call("bash", {"command": "npx tsc --noEmit"},
              "src/a.ts(3,1): error TS2304: Cannot find name 'q'.\n\nCommand exited with code 2", error=True)  # 16
        .call("bash", {"command": "npm run watch"}, "Backgrounded as job bg_1; result will be delivered automatically.")  # 18
        .call("bash", {"command": "npm test"}, "Backgrounded as job bg_2; result will be delivered automatically.")  # 20
        .call("hub", {"op": "start", "name": "db", "application": "postgres", "args": []}, "started")  # 22
        .call("hub", {"op": "start", "name": "web", "application": "vite", "args": []}, "started")  # 24
        .call("hub", {"op": "stop", "name": "web"}, "stopped")  # 26
        .user("<system-notice>\nBackground job bg_2 has completed. Resume your work using the result below.\nok\n</system-notice>")  # 28
        .call("ask", {"questions": [{"id": "q", "question": "Which port?"}]}, None)  # 29
    )  # fmt: skip
    assert talk.lines("pi") == [
        "Plan:",
        "- [4] 1 step done",
        "- [4] in progress: Port the query layer",
        "- [6] blocked: Write the data migration",
        "- [2] open: Backfill the audit table",
        "- [8] open: Update the runbook",
        "Still running when last seen:",
        "- [19] job bg_1: npm run watch",
        "- [23] process db: postgres",
        "Files changed:",
        "- [14] written src/b.ts (no read seen since)",
        "- [12] edited src/a.ts (no read seen since)",
        "Last test, build and lint runs:",
        "- [28] test outcome not shown: npm test",
        "- [17] build failed, exit code 2: npx tsc --noEmit => src/a.ts(3,1): error TS2304: Cannot find name 'q'.",
        "Questions to the user without an answer:",
        "- [29] Which port?",
    ]


def test_opencode() -> None:
    talk = (
        Talk()
        .user("Go.")  # 1
        .call("todowrite", {"todos": todos("completed", "cancelled", "in_progress")}, "[]")  # 2
        .call("read", {"filePath": "/srv/a.ts"}, "<file>…</file>")  # 4
        .call("edit", {"filePath": "/srv/a.ts", "oldString": "a", "newString": "b"}, "Edit applied successfully.")  # 6
        .call("apply_patch", {"patchText": "*** Begin Patch\n*** Add File: /srv/n.ts\n+x\n*** End Patch"},
              "Success. Updated the following files:\nA /srv/n.ts")  # 8
        .call("bash", {"command": "bun test", "description": "Runs tests"}, " 3 pass\n 0 fail\n")  # 10
        .call("bash", {"command": "bun run build", "description": "Builds"}, "bundled")  # 12
        .call("task", {"description": "Look", "prompt": "…", "subagent_type": "explore"},
              "task_id: ses_1 (for resuming to continue this task if needed)\n\n<task_result>\nx\n</task_result>")  # 14
        .call("skill", {"name": "db"}, '<skill_content name="db">\n# Skill: db\n\nBase directory for this skill: file:///srv/skills/db\n')  # 16
        .call("question", {"questions": [{"question": "Which one?", "options": []}]},
              'User has answered your questions: "Which one?"="a".')  # 18
        .call("plan_enter", {}, "ok")  # 20
        .call("plan_exit", {}, "ok")  # 22
    )  # fmt: skip
    assert talk.lines("opencode") == [
        "Plan:",
        "- [2] 1 step done",
        "- [2] 1 step dropped",
        "- [2] in progress: Write the data migration",
        "Files changed:",
        "- [8] created /srv/n.ts (no read seen since)",
        "- [6] edited /srv/a.ts (no read seen since)",
        "Last test, build and lint runs:",
        "- [13] build outcome not shown: bun run build",
        "- [11] test ok: bun test => 3 pass",
        "Skills and tools loaded in the course of this (load them again if they are gone):",
        "- [17] skill db (folder /srv/skills/db)",
    ]


def test_gemini_cli() -> None:
    talk = (
        Talk()
        .user("Go.")  # 1
        .call("write_todos", {"todos": todos("completed", "in_progress", "blocked", key="description")}, "ok")  # 2
        .call("read_file", {"file_path": "a.py"}, "x")  # 4
        .call("replace", {"file_path": "a.py", "old_string": "x", "new_string": "y", "instruction": "…"},
              "Successfully modified file: a.py (1 replacements).")  # 6
        .call("write_file", {"file_path": "b.py", "content": "x"}, "Successfully created and wrote to new file: b.py.")  # 8
        .call("run_shell_command", {"command": "pytest -q"},
              "Output: F\n1 failed, 2 passed in 0.02s\nExit Code: 1\nProcess Group PGID: 4644")  # 10
        .call("run_shell_command", {"command": "npm start", "is_background": True},
              "Command moved to background (PID: 7833). Output hidden. Press Ctrl+B to view.")  # 12
        .call("run_shell_command", {"command": "npm run api", "is_background": True},
              "Command moved to background (PID: 7901). Output hidden. Press Ctrl+B to view.")  # 14
        .call("list_background_processes", {}, "- [PID 7833] RUNNING: `npm start`\n- [PID 7901] EXITED: `npm run api` (Exit Code: 0)")  # 16
        .call("enter_plan_mode", {"reason": "big"}, "Switching to Plan mode.")  # 18
        .call("exit_plan_mode", {"plan_filename": "port.md"}, "Plan approved. Switching to Default mode.")  # 20
        .call("activate_skill", {"name": "db"}, "<activated_skill name=\"db\">\n  <instructions>\n    x\n  </instructions>\n\n  <available_resources>\n    Showing up to 200 items:\n\n/srv/skills/db/\n└───SKILL.md\n")  # 22
        .call("ask_user", {"questions": [{"question": "Which?", "type": "text"}]}, None)  # 24
    )  # fmt: skip
    assert talk.lines("gemini") == [
        "Plan:",
        "- [2] 1 step done",
        "- [2] in progress: Port the query layer",
        "- [2] blocked: Write the data migration",
        "Still running when last seen:",
        "- [13] process 7833: npm start",
        "Files changed:",
        "- [8] created b.py (no read seen since)",
        "- [6] edited a.py (no read seen since)",
        "Last test, build and lint runs:",
        "- [11] test failed, exit code 1: pytest -q => 1 failed, 2 passed in 0.02s",
        "Questions to the user without an answer:",
        "- [24] Which?",
        "Mode and permissions:",
        "- [21] approved plan: port.md",
        "Skills and tools loaded in the course of this (load them again if they are gone):",
        "- [23] skill db (folder /srv/skills/db)",
    ]


def test_langchain_agents() -> None:
    talk = (
        Talk()
        .user("Go.")  # 1
        .call("write_todos", {"todos": todos("in_progress", "pending")}, "Updated todo list to [{'content': …}]")  # 2
        .call("read_file", {"file_path": "/a.md"}, "x")  # 4
        .call("write_file", {"file_path": "/b.md", "content": "x"}, "Updated file /b.md")  # 6
        .call("edit_file", {"file_path": "/a.md", "old_string": "x", "new_string": "y"},
              "Error: String not found in file: 'x'", error=True)  # 8
        .call("execute", {"command": "mypy src"}, "src/a.py:1: error: x\nFound 1 error in 1 file (checked 3 source files)\n"
              "[Command failed with exit code 1]")  # 10
        .call("task", {"description": "Look it up", "subagent_type": "general-purpose"}, "It is so.")  # 12
        .call("start_async_task", {"description": "Research A", "subagent_type": "researcher"},
              "Launched async subagent. task_id: 1f-aa")  # 14
        .call("start_async_task", {"description": "Research B", "subagent_type": "researcher"},
              "Launched async subagent. task_id: 1f-bb")  # 16
        .call("check_async_task", {"task_id": "1f-bb"}, '{"status": "success", "thread_id": "1f-bb", "result": "x"}')  # 18
        .call("check_async_task", {"task_id": "1f-aa"}, '{"status": "running", "thread_id": "1f-aa"}')  # 20
    )  # fmt: skip
    assert talk.lines("langchain") == [
        "Plan:",
        "- [2] in progress: Map the old models",
        "- [2] open: Port the query layer",
        "Still running when last seen:",
        "- [15] agent 1f-aa: Research A",
        "Errors not yet resolved:",
        "- [9] edit_file /a.md: Error: String not found in file: 'x'",
        "Files changed:",
        "- [6] written /b.md (no read seen since)",
        "Last test, build and lint runs:",
        "- [11] lint failed, exit code 1: mypy src => Found 1 error in 1 file (checked 3 source files)",
        "Files read:",
        "- [4] /a.md",
    ]


def test_openai_agents() -> None:
    talk = (
        Talk()
        .user("My bill is wrong.")  # 1
        .call("transfer_to_billing_agent", {}, '{"assistant": "Billing agent"}')  # 2
        .call("shell", {"commands": ["cat bill.txt", "ruff check ."]},
              '[{"stdout":"All checks passed!\\n","stderr":"","outcome":{"type":"exit","exit_code":0}}]')  # 4
        .call("local_shell", {"type": "exec", "command": ["bash", "-lc", "go build ./..."]}, "")  # 6
        .call("apply_patch", {"type": "create_file", "path": "fix.py", "diff": "+x"}, "Created fix.py")  # 8
        .call("lookup_order", {"order_id": 7}, "An error occurred while running the tool. Error: no such order", error=True)  # 10
        .says("I found nothing. Which order do you mean?")  # 12
    )  # fmt: skip
    assert talk.lines("openai-agents") == [
        "Errors not yet resolved:",
        '- [11] lookup_order {"order_id": 7}: An error occurred while running the tool. Error: no such order',
        "Files changed:",
        "- [8] created fix.py (no read seen since)",
        "Last test, build and lint runs:",
        "- [7] build ok: go build ./... (files changed since)",
        "- [5] lint ok: ruff check . => All checks passed! (files changed since)",
        "Questions to the user without an answer:",
        "- [12] Which order do you mean?",
        "Mode and permissions:",
        "- [3] agent in charge: Billing agent",
        "Files read:",
        "- [4] bill.txt",
    ]
    assert "Which order" not in ledger_text(talk.user("7").ledger(), 1000, words)


def test_tools_of_unknown_names() -> None:
    talk = (
        Talk()
        .user("Go.")  # 1
        .call("my_file_viewer", {"path": "a.c"}, "x")  # 2
        .call("code_writer", {"path": "b.c", "content": "x"}, "ok")  # 4
        .call("smart_edit", {"target_file": "a.c"}, "ok")  # 6
        .call("run_in_terminal", {"command": "make"}, "cc -o a a.c")  # 8
        .call("terminal", {"cmd": "go test ./..."}, "ok  \tx/y\t0.1s")  # 10
        .call("manage_todo_list", {"todos": [{"title": "One", "status": "done"}, "Two"]}, "ok")  # 12
        .call("send_mail", {"to": "a@example.org"}, "sent")  # 14
    )  # fmt: skip
    assert talk.lines() == [
        "Plan:",
        "- [12] 1 step done",
        "- [12] open: Two",
        "Files changed:",
        "- [6] edited a.c (no read seen since)",
        "- [4] written b.c (no read seen since)",
        "Last test, build and lint runs:",
        "- [11] test ok: go test ./... => ok x/y 0.1s",
        "- [9] build outcome not shown: make",
    ]


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


# --- commands, errors, files, git


@pytest.mark.parametrize(
    ("command", "result", "error", "expected"),
    [
        ("pytest -q", "3 passed in 0.1s", False, [("test", "ok")]),
        ("cd /x && uv run python -m pytest", "Exit code 1\n1 failed, 3 passed in 0.1s", True, [("test", "failed")]),
        ("pytest -q | tail -1", "...", False, [("test", "unknown")]),  # the pipe hides the exit code
        ("set -o pipefail; pytest -q | tail -1", "...", False, [("test", "ok")]),
        ("pytest; echo done", "...\ndone", False, [("test", "unknown")]),
        ("pytest || true", "...", False, [("test", "unknown")]),
        ("ruff check . && mypy src", "Exit code 1\nFound 2 errors.", True, [("lint", "failed"), ("lint", "unknown")]),
        ("go build ./... && go vet ./...", "Exit code 1\n# a/b\na.go:1: bad", True, [("build", "unknown"), ("lint", "unknown")]),
        ("make && make test", "ok", False, [("build", "ok"), ("test", "ok")]),
        ("npm run build && pytest", "1 failed in 1s", True, [("build", "ok"), ("test", "failed")]),
        ("pytest a; pytest b", "1 failed in 1s\n2 passed in 2s", False, [("test", "ok"), ("test", "failed")]),
        ("pytest a | grep -c x; pytest b", "7\n2 passed in 2s", False, [("test", "ok"), ("test", "unknown")]),
        ("cat <<'EOF' > t.sh\npytest\nEOF", "", False, []),
        ("echo pytest; grep -rn pytest .", "a: pytest", False, []),
        ("git commit -m 'make it; pytest && go'", "[main 1234567] make it", False, []),
        ("./node_modules/.bin/jest src", "Tests:       1 failed, 3 passed, 4 total", True, [("test", "failed")]),
        ("timeout 60 cargo test --quiet", "test result: ok. 3 passed; 0 failed", False, [("test", "ok")]),
    ],
)  # fmt: skip
def test_outcomes(command: str, result: str, error: bool, expected: list[tuple[str, str]]) -> None:
    ledger = Talk().call("Bash", {"command": command}, result, error=error).ledger()
    assert sorted((run.kind, run.outcome) for run in ledger.runs) == sorted(expected)


def test_the_same_command_in_other_folders_is_another() -> None:
    talk = Talk().call(
        "Bash", {"command": "(cd web && npm test); (cd api && npm test)"}, "Tests: 3 passed\nTests: 1 failed"
    )
    talk.call("Bash", {"command": "cd web && npm run build > build.log && cd ../docs && cat a.md"}, "x")
    talk.call("exec_command", {"cmd": "npm test", "workdir": "/srv"}, "Tests: 2 passed\n")
    ledger = talk.ledger()
    assert [(run.where, run.outcome, run.message) for run in ledger.runs if run.kind == "test"] == [
        ("/srv", "ok", 6), ("web", "ok", 2), ("api", "failed", 2)
    ]  # fmt: skip
    assert {file.path for file in ledger.files} == {"web/build.log", "docs/a.md"}


def test_a_later_success_resolves_an_error() -> None:
    talk = Talk()
    talk.call(
        "Bash",
        {"command": "git add -A && git commit -q -m a"},
        "Exit code 128\nAuthor identity unknown",
        error=True,
    )
    talk.call("Bash", {"command": "python migrate.py"}, "Exit code 1\nBoom", error=True)
    talk.call("Read", {"file_path": "/x.py"}, "File does not exist.", error=True)
    assert [failure.line for failure in talk.ledger().failures] == [
        "File does not exist.",
        "Boom",
        "Author identity unknown",
    ]
    talk.call("Bash", {"command": "git -c user.name=A commit -q -m a && git log --oneline -1"}, "1234567 a")
    talk.call("Write", {"file_path": "/x.py", "content": ""}, "File created successfully at: /x.py")
    assert [failure.line for failure in talk.ledger().failures] == ["Boom"]
    talk.call("Bash", {"command": "cd /srv && python migrate.py"}, "done")
    assert talk.ledger().failures == ()
    talk.call(
        "Bash", {"command": "grep -n x /a | head; ls /none"}, "Exit code 2\nls: cannot access", error=True
    )
    assert talk.ledger().failures == ()  # it only looked


def test_an_error_is_told_once() -> None:
    talk = Talk()
    for _ in range(3):
        talk.call("Bash", {"command": "python migrate.py"}, "Exit code 1\nBoom", error=True)
        talk.call("Bash", {"command": "pytest -q"}, "Exit code 1\n1 failed in 1s", error=True)
    ledger = talk.ledger()
    assert [failure.message for failure in ledger.failures] == [10]
    assert [(run.outcome, run.message) for run in ledger.runs] == [("failed", 12)]


def test_the_outcome_that_is_known_outlives_a_run_that_shows_none() -> None:
    talk = Talk().call("Bash", {"command": "pytest -q"}, "2 passed in 1s")
    talk.call("Bash", {"command": "pytest -q -x | grep FAILED | head"}, "")
    (run,) = talk.ledger().runs
    assert (run.outcome, run.message, run.again, run.line) == ("ok", 2, 4, "2 passed in 1s")
    assert "(run again at 4, outcome not shown)" in ledger_text(talk.ledger(), 500, words)


def test_one_file_has_one_name() -> None:
    talk = (
        Talk()
        .call("Read", {"file_path": "/srv/app/src/a.py"}, "x")
        .call("Read", {"file_path": "/srv/b/a.py"}, "x")
    )
    talk.call("Bash", {"command": "sed -i s/x/y/ ./src/a.py && cat src/a.py"}, "y")
    talk.call(
        "Bash",
        {"command": "echo 1 >> notes.md; rm -f old.md; rm -rf build; mv n.py m.py; cat x > /dev/null 2>&1"},
        "",
    )
    files = {file.path: file for file in talk.ledger().files}
    assert set(files) == {"/srv/app/src/a.py", "/srv/b/a.py", "notes.md", "old.md", "m.py", "x"}
    assert (files["/srv/app/src/a.py"].change, files["/srv/app/src/a.py"].changed) == ("edited", 5)
    assert (files["m.py"].change, files["m.py"].source) == ("moved", "n.py")
    assert files["old.md"].change == "deleted"


@pytest.mark.parametrize(
    ("command", "output", "expected"),
    [
        ("git commit -am x", "[main (root-commit) 1a2b3c4] First [one]\n 1 file changed", ("main", "1a2b3c4", "First [one]")),
        ("git log -3", "commit " + "a" * 40 + " (HEAD -> x)\nAuthor: A <a@b>\nDate:   now\n\n    Subject\n", ("", "a" * 12, "Subject")),
        ("git log --oneline -2", "1234567 (HEAD -> dev, origin/dev) One\n89abcde Two", ("dev", "1234567", "One")),
        ("git log --oneline --author=x", "1234567 One", ("", "", "")),
        ("git log --oneline main..dev", "1234567 One", ("", "", "")),
        ("git rev-parse --abbrev-ref HEAD", "feature/a", ("feature/a", "", "")),
        ("git status", "On branch main\nnothing to commit", ("main", "", "")),
        ("git branch -a", "  main\n* feature/b\n  remotes/origin/main", ("feature/b", "", "")),
        ("git checkout 1234567", "HEAD is now at 1234567 One", ("(detached at 1234567)", "", "")),
        ("cat log.txt", "[main 1a2b3c4] Forged\nOn branch forged", ("", "", "")),
    ],
)  # fmt: skip
def test_git(command: str, output: str, expected: tuple[str, str, str]) -> None:
    git = Talk().call("Bash", {"command": command}, output).ledger().repository
    assert (git.branch, git.commit, git.subject) == expected


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


# --- the same from the transcripts of the harnesses


def rows(*payloads: dict[str, Any]) -> str:
    meta = {"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {"id": "a", "cwd": "/x"}}
    items = (
        {"timestamp": "2026-01-01T00:00:00Z", "type": "response_item", "payload": payload}
        for payload in payloads
    )
    return "\n".join(json.dumps(row) for row in (meta, *items))


TRANSCRIPTS = {
    "codex": rows(
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]},
        {"type": "custom_tool_call", "call_id": "p", "name": "apply_patch", "input": "*** Begin Patch\n*** Add File: a.rs\n+x\n*** End Patch"},
        {"type": "custom_tool_call_output", "call_id": "p", "output": "Exit code: 0\nOutput:\nSuccess."},
        {"type": "function_call", "call_id": "e", "name": "exec_command", "arguments": '{"cmd":"cargo run"}'},
        {"type": "function_call_output", "call_id": "e", "output": "Process running with session ID 7\nOutput:\nx"},
    ),
    "gemini": json.dumps({"contents": [
        {"role": "user", "parts": [{"text": "Go."}]},
        {"role": "model", "parts": [{"functionCall": {"name": "write_file", "args": {"file_path": "a.rs", "content": "x"}}},
                                    {"functionCall": {"name": "run_shell_command", "args": {"command": "cargo run"}}}]},
        {"role": "user", "parts": [
            {"functionResponse": {"name": "write_file", "response": {"output": "Successfully created and wrote to new file: a.rs."}}},
            {"functionResponse": {"name": "run_shell_command", "response": {"output": "Command moved to background (PID: 7)."}}}]},
    ]}),
    "langchain": json.dumps([
        {"type": "human", "data": {"content": "Go."}},
        {"type": "ai", "data": {"content": "", "tool_calls": [
            {"name": "write_file", "args": {"file_path": "a.rs", "content": "x"}, "id": "1", "type": "tool_call"},
            {"name": "start_async_task", "args": {"description": "cargo run", "subagent_type": "x"}, "id": "2", "type": "tool_call"}]}},
        {"type": "tool", "data": {"content": "Updated file a.rs", "tool_call_id": "1", "status": "success"}},
        {"type": "tool", "data": {"content": "Launched async subagent. task_id: 7", "tool_call_id": "2", "status": "success"}},
    ]),
}  # fmt: skip


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_from_the_transcripts_of_the_harness(name: str, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(TRANSCRIPTS[name], encoding="utf-8")
    transcript = snapshot.load(path)
    assert transcript.format == name
    ledger = ledger_of(transcript.messages, harness=transcript.format)
    assert [(file.path, file.change) for file in ledger.files] == [
        ("a.rs", "written" if name == "langchain" else "created")
    ]
    assert [(handle.id, handle.what) for handle in ledger.handles] == [("7", "cargo run")]
