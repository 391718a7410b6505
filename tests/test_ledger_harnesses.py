"""The ledger of each known harness, line by line, of tools that nobody knows, and from transcripts."""

# ruff: noqa: E501 -- a call with its result is easier to follow on one line

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import snapshot
from snapshot.ledger import ledger_of, ledger_text
from snapshot.messages import Opaque
from tests.ledger_talk import STEPS, Talk, todos, words


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
