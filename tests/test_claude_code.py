"""`snapshot claude-code`: hooks in a settings file that others wrote, and what they do."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from snapshot import SnapshotError
from snapshot.integrations.claude_code import change, handle, status
from tests.test_cli import run
from tests.transcript_samples import SESSION, log

OTHERS = {
    "model": "opus",
    "hooks": {
        "PreCompact": [{"matcher": "auto", "hooks": [{"type": "command", "command": "./mine.sh"}]}],
        "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
    },
    "permissions": {"allow": ["Bash(ls:*)"], "deny": []},
    "größe": 1.5,
}
EMPTY_HOOKS = {"hooks": {}, "b": 1}
SETTINGS = [
    None,
    "",
    "{}",
    json.dumps(OTHERS),
    json.dumps(OTHERS, indent=4),
    json.dumps(EMPTY_HOOKS, indent="\t"),
]


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    """Claude Code's own folder, and the working one."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(path: Path, *, install: bool) -> None:
    wanted = change(path, install=install)
    if wanted is not None:
        wanted.write()


@pytest.mark.parametrize("text", SETTINGS)
def test_installing_and_removing_gives_the_settings_back(tmp_path, text):
    path = tmp_path / "settings.json"
    if text is not None:
        path.write_text(text, "utf-8")
    before = json.loads(text or "{}")
    written(path, install=True)
    there = json.loads(path.read_text("utf-8"))
    assert status(path).endswith("claude-code hook")
    assert change(path, install=True) is None  # once
    for event, groups in before.get("hooks", {}).items():
        assert there["hooks"][event][: len(groups)] == groups
    assert {key: there[key] for key in before if key != "hooks"} == {
        key: before[key] for key in before if key != "hooks"
    }
    assert list(there)[: len(before)] == list(before)
    written(path, install=False)
    assert json.loads(path.read_text("utf-8")) == {k: v for k, v in before.items() if k != "hooks" or v}
    assert status(path) == ""
    assert change(path, install=False) is None


def test_the_file_keeps_its_indentation_and_a_copy_is_kept(tmp_path):
    path = tmp_path / "settings.json"
    path.write_text(json.dumps(OTHERS, indent="\t", ensure_ascii=False), "utf-8")
    before = path.read_bytes()
    wanted = change(path, install=True)
    assert wanted is not None
    assert "größe" in wanted.after
    assert not any(line.startswith("-") and "hooks" in line for line in wanted.diff.splitlines())
    assert path.read_bytes() == before
    wanted.write()
    assert wanted.copy.read_bytes() == before
    assert "\n\t\t" in path.read_text("utf-8")


def test_a_link_to_the_settings_stays_one(tmp_path):
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    real.chmod(0o640)
    link = tmp_path / "settings.json"
    link.symlink_to(real)
    written(link, install=True)
    assert link.is_symlink()
    assert status(real)
    assert real.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1,}',
        "// mine\n{}",
        "[]",
        '{"hooks": []}',
        '{"hooks": {"PreCompact": {}}}',
        '{"hooks": {"PreCompact": ["x"]}}',
        '{"hooks": {"PreCompact": [{"hooks": "x"}]}}',
        '{"a": 1, "a": 2}',
        "[" * 100_000,
    ],
)
def test_what_is_no_settings_file_is_left_alone(home, text):
    path = home / "settings.json"
    path.write_text(text)
    with pytest.raises(SnapshotError, match="nothing was changed"):
        change(path, install=True)
    assert "nothing was changed" in run("claude-code", "install", "--yes", check=2).stderr
    assert path.read_text() == text
    assert [entry.name for entry in home.iterdir()] == ["settings.json"]


def test_settings_that_change_meanwhile_are_not_written_over(tmp_path):
    path = tmp_path / "settings.json"
    path.write_text("{}")
    wanted = change(path, install=True)
    assert wanted is not None
    path.write_text('{"model": "opus"}')
    with pytest.raises(SnapshotError, match="changed meanwhile"):
        wanted.write()
    assert path.read_text() == '{"model": "opus"}'


def test_the_command_shows_the_change_and_asks(home):
    shown = run("claude-code", "install", check=1)
    assert '+    "PreCompact": [' in shown.stdout
    assert "nothing was changed" in shown.stderr
    run("claude-code", "install", "--dry-run")
    assert not (home / "settings.json").exists()
    run("claude-code", "install", "--yes")
    run("claude-code", "status")
    assert "there already" in run("claude-code", "install", "--yes").stdout
    run("claude-code", "remove", "--yes")
    run("claude-code", "status", check=1)


def test_the_project_has_settings_of_its_own(home):
    run("claude-code", "install", "--yes", "--project")
    assert status(home / ".claude" / "settings.json")
    assert not (home / "settings.json").exists()


@pytest.fixture
def session(tmp_path, monkeypatch) -> Path:
    """A session's file, and a home for its pages."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    path = tmp_path / "session.jsonl"
    path.write_bytes(log(*SESSION))
    return path


def event(session: Path, name: str, **more: str) -> dict[str, str]:
    return {"session_id": "a-b-1", "transcript_path": str(session), "hook_event_name": name, **more}


def test_pages_before_a_compaction_and_what_to_read_after_it(session, tmp_path):
    assert handle(event(session, "SessionStart", source="compact")) == ""  # nothing was compacted yet
    assert handle(event(session, "PreCompact", trigger="manual")) == ""
    handle(event(session, "PreCompact", trigger="auto"))
    answer = json.loads(handle(event(session, "SessionStart", source="compact")))["hookSpecificOutput"]
    told = answer["additionalContext"]
    assert answer["hookEventName"] == "SessionStart"
    home = tmp_path / "claude" / "snapshot" / "a-b-1"
    for number in ("1", "2"):
        folder = home / number
        assert f"{folder}: page-0001-" in told
        assert next(folder.glob("source-*.txt")).name in told
    assert handle(event(session, "SessionStart", source="startup")) == ""
    assert handle(event(session, "Stop")) == ""


@pytest.mark.parametrize("name", ["../../etc", "a/b", "", "x" * 500, ".."])
def test_no_session_writes_outside_its_folder(session, tmp_path, name):
    handle({**event(session, "PreCompact"), "session_id": name})
    found = [path.relative_to(tmp_path / "claude" / "snapshot") for path in tmp_path.rglob("page-*.png")]
    assert [len(path.parts) for path in found] == [3]


def test_sessions_that_nobody_touched_go(session, tmp_path):
    homes = tmp_path / "claude" / "snapshot"
    handle({**event(session, "PreCompact"), "session_id": "old"})
    handle({**event(session, "PreCompact"), "session_id": "young"})
    past = time.time() - 40 * 86_400
    os.utime(homes / "old", (past, past))
    (homes / "notes").mkdir()  # not ours
    os.utime(homes / "notes", (past, past))
    handle(event(session, "PreCompact"))
    assert sorted(path.name for path in homes.iterdir()) == ["a-b-1", "notes", "young"]


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    "stdin",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"hook_event_name": "PreCompact"}',
        b'{"hook_event_name": "PreCompact", "transcript_path": "/no"}',
    ],
)
def test_a_hook_that_fails_does_not_stop_claude_code(stdin):
    result = run("claude-code", "hook", stdin=stdin, check=None)
    assert result.returncode in (0, 1)  # 2 would stop it
    assert result.stdout == ""
