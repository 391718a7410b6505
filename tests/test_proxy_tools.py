"""Claude Code and Codex, as they come from npm, through the proxy up to a second compaction.

They are looked for on the PATH, and in the folder that `SNAPSHOT_NPM` names (`npm i --prefix DIR
@anthropic-ai/claude-code @openai/codex`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.fake_provider import FakeProvider, Reply, Seen, call, say, think
from tests.proxied import pages_in
from tests.proxy_server import in_thread, told

pytestmark = [pytest.mark.clients, pytest.mark.slow]
pytest.importorskip("uvicorn")

MOST = 60  # calls


def _tool(name: str) -> str:
    folder = os.environ.get("SNAPSHOT_NPM", "")
    bins = os.pathsep.join(filter(None, [folder and f"{folder}/node_modules/.bin", os.environ.get("PATH")]))
    found = shutil.which(name, path=bins)
    if found is None:
        pytest.skip(f"{name} is not there: npm i -g @anthropic-ai/claude-code @openai/codex")
    return found


class Talk:
    """Asks for a file after the other until the conversation was compacted twice."""

    def __init__(self, api: str, tool: str, work: Path) -> None:
        self.api, self.tool, self.work = api, tool, work
        self.calls = self.compactions = 0
        self.pages: list[bytes] = []
        self.problems: list[Any] = []
        for number in range(MOST + 1):
            (work / f"f{number}.py").write_text(told(number, 9000))

    def __call__(self, seen: Seen) -> Reply:
        from snapshot.requests.check import check

        names = [tool.get("name") for tool in seen.json.get("tools", ())]
        if self.tool not in names:  # titles and the like
            return say("ok")
        self.problems += check(seen.json, self.api)
        pages = pages_in(seen.json)
        self.compactions += pages != self.pages
        self.pages = pages
        if self.compactions >= 2 or self.calls == MOST:
            return say("All done.")
        self.calls += 1
        name = f"f{self.calls}.py"
        path: Any = {"file_path": str(self.work / name)}
        if self.tool == "exec_command":
            path = {"cmd": f"cat {name}"}
        return think("Let me see.", call(self.tool, **path))


def _drive(talk: Talk, home: Path, command: Any, window: int, **env: str) -> str:
    """Run a tool against the talk, through a proxy; what it printed."""
    with (
        FakeProvider(talk) as fake,
        in_thread(store=str(home / "p.sqlite"), upstream=fake.url, window=window, target=0.7) as url,
    ):
        given = {"PATH": os.environ["PATH"], "HOME": str(home), **env}
        given |= {name: value.replace("URL", url) for name, value in env.items()}
        done = subprocess.run(
            [part.replace("URL", url) for part in command],
            cwd=talk.work,
            env=given,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=280,
            check=False,
        )
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-2000:])
    assert not talk.problems, talk.problems[:3]
    assert talk.compactions >= 2
    return done.stdout


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def test_claude_code(work: Path) -> None:
    talk = Talk("anthropic", "Read", work)
    command = [
        _tool("claude"),
        "-p",
        "Read all files.",
        "--model",
        "claude-opus-4-8",
        "--allowedTools",
        "Read",
    ]
    settings = {"DISABLE_TELEMETRY": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    settings |= {"ANTHROPIC_BASE_URL": "URL", "ANTHROPIC_API_KEY": "sk-test", "DISABLE_AUTOUPDATER": "1"}
    printed = _drive(talk, work.parent, command, 100_000, **settings)
    assert "All done." in printed


def test_codex(work: Path) -> None:
    talk = Talk("openai-responses", "exec_command", work)
    provider = '{name="fake",base_url="URL/v1",env_key="FAKE_KEY",wire_api="responses"}'
    options = ["-m", "gpt-5.1", "-c", "model_provider=fake", "-c", f"model_providers.fake={provider}"]
    command = [_tool("codex"), "exec", "--skip-git-repo-check", *options]
    command += ["--dangerously-bypass-approvals-and-sandbox", "Read all files."]
    printed = _drive(talk, work.parent, command, 60_000, FAKE_KEY="sk-test", CODEX_HOME=str(work.parent))
    assert "All done." in printed
