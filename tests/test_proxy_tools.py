"""Claude Code, Codex, pi and omp from npm, through the proxy over two compactions and a restart."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fake_provider import FakeProvider, Reply, Seen, call, say, think
from tests.npm_agents import TOOLS, Agent, offered
from tests.proxied import pages_in
from tests.proxy_server import free_port, in_thread, told

pytestmark = [pytest.mark.clients, pytest.mark.npm, pytest.mark.slow]
pytest.importorskip("uvicorn")

MOST = 60  # calls
# Of each agent: its API, the window that the proxy is told, its tool for reading, and what that takes.
AGENTS: dict[str, tuple[str, int, str, str]] = {
    "claude": ("anthropic", 60_000, "Read", "{folder}/{name}"),
    "codex": ("openai-responses", 60_000, "exec_command", "cat {name}"),
    "pi": ("anthropic", 40_000, "read", "{name}"),
    "omp": ("anthropic", 60_000, "read", "{name}"),
}
ARGUMENTS = {"Read": "file_path", "exec_command": "cmd", "read": "path"}
MODELS = {"codex": "gpt-5.1"}  # of which Codex offers its shell as a function of its own


class Talk:
    """Asks for a file after the other until the conversation was compacted twice."""

    def __init__(self, tool: str, folder: Path) -> None:
        self.api, _, self.reads, self.path = AGENTS[tool]
        self.folder = folder
        self.calls = self.compactions = 0
        self.pages: list[bytes] = []
        self.problems: list[Any] = []
        for number in range(MOST + 1):
            (folder / f"f{number}.py").write_text(told(number, 9000))

    def __call__(self, seen: Seen) -> Reply:
        from snapshot.requests.check import check

        if self.reads not in offered(seen):  # titles and the like
            return say("ok")
        self.problems += check(seen.json, self.api)
        pages = pages_in(seen.json)
        self.compactions += pages != self.pages
        self.pages = pages
        if self.compactions >= 2 or self.calls == MOST:
            return say("All done.")
        self.calls += 1
        given = self.path.format(folder=self.folder, name=f"f{self.calls}.py")
        arguments: Any = {ARGUMENTS[self.reads]: given}
        return think("Let me see.", call(self.reads, **arguments))


@contextmanager
def proxied(folder: Path, reply: Any, window: int, port: int) -> Iterator[tuple[Agent, FakeProvider]]:
    """An agent whose provider is behind a proxy that keeps its archives in the folder."""
    store = str(folder / "proxy.sqlite")
    with (
        FakeProvider(reply) as fake,
        in_thread(store=store, upstream=fake.url, window=window, target=0.7, port=port) as url,
    ):
        yield Agent(folder, url), fake


@pytest.mark.parametrize("tool", TOOLS)
def test_two_compactions_and_a_restart(tool: str, tmp_path: Path) -> None:
    window, model = AGENTS[tool][1], MODELS.get(tool, "")
    talk = Talk(tool, Agent(tmp_path, "").project)
    port = free_port()  # omp goes on with a session where it began
    with proxied(tmp_path, talk, window, port) as (agent, _):
        printed = agent.ask(tool, "Read all files.", model=model)
    assert "All done." in printed
    assert not talk.problems, talk.problems[:3]
    assert talk.compactions == 2
    assert talk.calls < MOST
    # The tool sends its whole history again, to a proxy that has only its file.
    with proxied(tmp_path, talk, window, port) as (agent, fake):
        assert "All done." in agent.go_on(tool, "Go on", model=model)
        asked = [seen for seen in fake.requests if talk.reads in offered(seen)]
    assert not talk.problems, talk.problems[:3]
    assert [pages_in(seen.json) for seen in asked] == [talk.pages] * len(asked)
    assert talk.compactions == 2
