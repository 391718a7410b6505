"""Coding agents from npm, each run in a home of its own against a fake provider: nothing reaches the network.

`tests/npm/package.json` pins them, and `SNAPSHOT_NPM` names the folder whose `node_modules` holds them
(without it, that of the repository):

    npm install --prefix tests/npm
    SNAPSHOT_NPM=tests/npm python -m pytest -m npm
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fake_provider import Seen

__all__ = ["CLAUDE", "GPT", "TOOLS", "Agent", "modules", "needs", "offered"]

CLAUDE, GPT = "claude-opus-4-8", "gpt-5.6-sol"

_PACKAGES = {
    "claude": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "pi": "@earendil-works/pi-coding-agent",
    "omp": "@oh-my-pi/pi-coding-agent",
    "bun": "bun",
    "ai": "ai",
}
_SECONDS = 120


def modules() -> Path:
    """The folder of npm's packages."""
    home = os.environ.get("SNAPSHOT_NPM") or Path(__file__).resolve().parents[1]
    return Path(home) / "node_modules"


def needs(*names: str) -> pytest.MarkDecorator:
    """Skips where a package is not installed, and says which."""
    missing = [_PACKAGES[name] for name in names if not (modules() / _PACKAGES[name]).exists()]
    return pytest.mark.skipif(
        bool(missing), reason=f"npm has not installed {' '.join(missing)} (see tests/npm_agents.py)"
    )


TOOLS = [
    pytest.param("claude", marks=needs("claude")),
    pytest.param("codex", marks=needs("codex")),
    pytest.param("pi", marks=needs("pi")),
    pytest.param("omp", marks=needs("omp", "bun")),
]


def offered(seen: Seen) -> list[str]:
    """Names of the tools that a request offers. One beside an agent's own, for a title say, offers none."""
    body = seen.json if isinstance(seen.json, dict) else {}
    listed = body.get("input")
    given = [item for item in listed if item.get("tools")] if isinstance(listed, list) else []
    return [str(tool.get("name")) for holder in (body, *given) for tool in holder.get("tools") or ()]


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent in a folder of its own.

    Attributes:
        folder: holds its home, its settings and its project.
        url: of the fake provider.
    """

    folder: Path
    url: str

    @property
    def project(self) -> Path:
        """The folder that it works in."""
        path = self.folder / "project"
        path.mkdir(parents=True, exist_ok=True)
        return path

    def environment(self) -> dict[str, str]:
        """What its process is given: a home of its own, and nobody's keys."""
        kept = {key: os.environ[key] for key in ("LANG", "PYTHONPATH") if key in os.environ}
        return {
            **kept,
            "PATH": f"{modules().resolve() / '.bin'}:{os.environ['PATH']}",
            "HOME": str(self.folder),
            "TERM": "dumb",
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": "sk-ant-test",
            "OPENAI_API_KEY": "sk-test",
            "CLAUDE_CONFIG_DIR": str(self.folder / "claude"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
            "CODEX_HOME": str(self.folder / "codex"),
            "PI_CODING_AGENT_DIR": str(self.folder / "pi"),
            "PI_OFFLINE": "1",
        }

    def run(self, *command: str, **more: str) -> str:
        """Standard output of a command; fails with all that it said where it does not end well."""
        done = subprocess.run(
            command,
            cwd=self.project,
            env=self.environment() | more,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        said = f"{done.stdout}\n{done.stderr}"
        assert done.returncode == 0, f"{' '.join(command[:3])} ended with {done.returncode}:\n{said[-4000:]}"
        return said

    def ask(self, tool: str, *arguments: str, model: str = "") -> str:
        """What a tool prints as it answers one prompt, the last of the arguments; all of it is allowed."""
        if tool == "claude":
            asked = ("claude", "-p", "--dangerously-skip-permissions", "--model", model or CLAUDE)
            return self.run(*asked, *arguments)
        if tool == "codex":
            self._configure_codex(model or GPT)
            allowed = "--dangerously-bypass-approvals-and-sandbox"
            return self.run("codex", "exec", "--skip-git-repo-check", allowed, *arguments)
        self._configure_pi()
        asked = ("-p", "--provider", "anthropic", "--model", model or CLAUDE)
        if tool == "pi":
            return self.run("pi", *asked, *arguments)
        program = modules().resolve() / _PACKAGES["omp"] / "dist" / "cli.js"
        return self.run("bun", str(program), *asked, *arguments)

    def go_on(self, tool: str, prompt: str, *, model: str = "") -> str:
        """What a tool prints as it goes on with its last session of the project."""
        last = ("resume", "--last") if tool == "codex" else ("--continue",)
        return self.ask(tool, *last, prompt, model=model)

    @property
    def claude_sessions(self) -> Path:
        """Where Claude Code keeps the sessions of the project."""
        name = "".join(c if c.isalnum() else "-" for c in str(self.project))
        path = self.folder / "claude" / "projects" / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def _configure_codex(self, model: str) -> None:
        home = self.folder / "codex"
        home.mkdir(exist_ok=True)
        (home / "config.toml").write_text(
            f'model_provider = "fake"\nmodel = "{model}"\n[model_providers.fake]\nname = "fake"\n'
            f'base_url = "{self.url}/v1"\nwire_api = "responses"\nenv_key = "OPENAI_API_KEY"\n'
        )

    def _configure_pi(self) -> None:
        """Settings of pi, which omp reads as well."""
        home = self.folder / "pi"
        home.mkdir(exist_ok=True)
        urls = {"anthropic": {"baseUrl": self.url}, "openai": {"baseUrl": f"{self.url}/v1"}}
        (home / "models.json").write_text(json.dumps({"providers": urls}))
