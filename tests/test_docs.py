"""README and documentation: every block of code runs, every link leads somewhere, every command exists."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
import tomllib
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from snapshot.commands import COMMANDS
from snapshot.discovery import known_agents
from snapshot.messages import Message, Text
from snapshot.transcripts import FORMATS, READ_ONLY
from tests.conftest import HERE
from tests.test_cli import EXAMPLE, run

ROOT = HERE.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# A line before a block that is not to run here says who runs it.
_ELSEWHERE = re.compile(r"<!-- (?:test command|slim) -->\n$")
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
# Pages whose blocks want servers, SDKs or an engine: tests of these things run them.
_APART = {"batch.md", "integrations.md", "proxy.md", "view.md"}
_RUN_HERE = [page for page in PAGES if page.name not in _APART]
# What a shell does beside our command.
_OTHERS = ("pip", "uv", "pipx", "curl", "python", "mkdocs", "eval", "zensical", "source")


def blocks(page: Path, *languages: str) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return [
        match[2]
        for match in _BLOCK.finditer(text)
        if match[1] in languages and not _ELSEWHERE.search(text[: match.start()])
    ]


def ids(page: Path) -> str:
    return page.name


# --- Python


class BadRequestError(Exception):
    """As the SDK raises it: with a response and the body of the answer."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.status_code = 400
        self.body = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}


class Client:
    """A client that refuses its first request as too long, and answers the others."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.messages = SimpleNamespace(create=self.create)

    def create(self, **body: Any) -> Any:
        json.dumps(body)  # it can be sent
        assert body["model"]
        assert body["max_tokens"]
        self.sent.append(body)
        if len(self.sent) == 1:
            raise BadRequestError("prompt is too long: 213462 tokens > 200000 maximum")
        return SimpleNamespace(content=[{"type": "text", "text": "Done."}], stop_reason="end_turn")


def sdk() -> ModuleType:
    module = ModuleType("anthropic")
    module.__dict__.update(Anthropic=Client, BadRequestError=BadRequestError)
    return module


def talk(turns: int = 40) -> list[dict[str, Any]]:
    """A conversation with calls and results, of some 150,000 tokens."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Do the migration of the billing tables."}]
    for n in range(turns):
        lines = "".join(
            f"row {n}.{m}: migration step {m * n} of table_{m % 7}, state ok\n" for m in range(150)
        )
        call = {"type": "tool_use", "id": f"c{n}", "name": "ls", "input": {"path": f"/srv/billing/{n}"}}
        result = {"type": "tool_result", "tool_use_id": f"c{n}", "content": lines}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return [
        *messages,
        {"role": "assistant", "content": "So far so good."},
        {"role": "user", "content": "Go on."},
    ]


@pytest.mark.parametrize("page", [page for page in _RUN_HERE if blocks(page, "python")], ids=ids)
def test_blocks_of_python_run(page, tmp_path, monkeypatch):
    """All blocks of a page, one after the other, as a reader would type them."""
    anthropic = sdk()
    monkeypatch.setitem(sys.modules, "anthropic", anthropic)
    monkeypatch.chdir(tmp_path)
    shutil.copy(EXAMPLE, "session.jsonl")
    names: dict[str, Any] = {
        "anthropic": anthropic,
        "archive": None,
        "answer": Message("assistant", (Text("ok"),)),
        "client": Client(),
        "message": Message("user", (Text("hi"),)),
        "messages": talk(),
    }
    for block in blocks(page, "python"):
        exec(compile(block, page.name, "exec"), names)
    if page.name in ("README.md", "guide.md"):
        assert names["done"].archive is not None
        assert any(body["model"] for body in names["client"].sent)


# --- the command line


def commands(block: str) -> list[list[str]]:
    """The commands of a block, without comments; what follows a sign of the shell is another one."""
    joined = block.replace("\\\n", " ")
    found = []
    for line in joined.splitlines():
        for part in re.split(r"\s(?:&&|\|)\s", line):
            words = shlex.split(part, comments=True)
            if words:
                found.append(words)
    return found


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with what the pages name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "SNAPSHOT_SETTINGS"):
        monkeypatch.delenv(name, raising=False)
    for name in ("session.jsonl", "run.jsonl"):
        shutil.copy(EXAMPLE, name)
    Path("notes.md").write_text("# Notes\n\nSome words.\n", encoding="utf-8")
    Path("own.toml").write_text("", encoding="utf-8")
    Path("error.json").write_text(
        json.dumps(BadRequestError("prompt is too long: 213462 tokens > 200000 maximum").body)
    )
    kept = tmp_path / ".claude" / "projects" / "-work" / "11111111-2222-3333.jsonl"
    kept.parent.mkdir(parents=True)
    rows = [
        {"type": "user", "uuid": "a", "parentUuid": None, "sessionId": "s", "cwd": str(tmp_path),
         "message": {"role": "user", "content": "hi"}},
        {"type": "assistant", "uuid": "b", "parentUuid": "a", "sessionId": "s",
         "message": {"id": "m", "model": "claude-opus-4-8", "role": "assistant",
                     "content": [{"type": "text", "text": "Hello."}]}},
    ]  # fmt: skip
    kept.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    shutil.copytree(ROOT / "tests" / "data", tmp_path / "tests" / "data")
    return tmp_path


# A command that needs an id that each import makes anew.
_ITS_OWN = {("session", "fork")}


@pytest.mark.parametrize("page", [page for page in _RUN_HERE if blocks(page, "sh")], ids=ids)
def test_blocks_of_a_shell_run(page, place):
    for block in blocks(page, "sh"):
        for words in commands(block):
            if words[0] in _OTHERS:
                continue
            assert words[0] == "snapshot", words
            stdin = Path(words[-1]).read_bytes() if "<" in words else b""
            arguments = words[1 : next((n for n, word in enumerate(words) if word in "<>"), len(words))]
            if tuple(arguments[:2]) in _ITS_OWN:
                run(*arguments[:2], "--help")
                continue
            done = run(*arguments, stdin=stdin, check=None)
            assert done.returncode == 0, f"{page.name}: {shlex.join(words)}: {done.stderr}"
    assert place.is_dir()


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_commands_that_are_named_exist(page):
    for name in re.findall(r"`snapshot ([a-z][\w-]*)", page.read_text(encoding="utf-8")):
        assert name in COMMANDS, name


# --- data


def test_blocks_of_toml_are_toml():
    for page in PAGES:
        for block in blocks(page, "toml"):
            tomllib.loads(block)


def test_layouts_of_ones_own_as_the_page_has_them(tmp_path):
    (block,) = blocks(ROOT / "docs" / "layouts.md", "toml")
    (tmp_path / "house.toml").write_text(block, encoding="utf-8")
    told = json.loads(run("layouts", "house-1", "--layouts", tmp_path, "--json").stdout)["layouts"][0]
    assert (told["window"], told["price"]["cache_read"]) == (131072, 0.04)


def test_settings_as_the_page_has_them(tmp_path, monkeypatch):
    (block,) = blocks(ROOT / "docs" / "commands.md", "toml")
    path = tmp_path / "settings.toml"
    path.write_text(block, encoding="utf-8")
    monkeypatch.setenv("SNAPSHOT_SETTINGS", str(path))
    from snapshot.commands._settings import settings

    assert settings().model == "claude-opus-4-8"


def test_formats_and_agents_are_all_told():
    formats = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    assert [name for name in FORMATS if name not in READ_ONLY and f"`{name}`" not in formats] == []
    told = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert [agent.title for agent in known_agents() if agent.title not in told] == []
    assert f"[{len(FORMATS)} formats]" in (ROOT / "README.md").read_text(encoding="utf-8")


# --- links and navigation


def anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=ids)
def test_links_lead_somewhere(page):
    for target in _LINK.findall(page.read_text(encoding="utf-8")):
        if target.startswith(("https://", "http://")):
            continue
        path, _, place = target.partition("#")
        there = page.parent / path if path else page
        assert there.exists(), target
        if place:
            assert place in {anchor(h) for h in _HEADING.findall(there.read_text(encoding="utf-8"))}, target


def test_every_page_is_in_the_navigation():
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r"^ +- .*?(\S+\.md)$", nav, re.MULTILINE))  # a line behind # is none
    assert listed == {page.name for page in PAGES if page.parent.name == "docs"}


def test_readme_is_two_screens():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) < 900
    assert len(text.splitlines()) < 125
