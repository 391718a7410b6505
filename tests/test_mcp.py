"""The MCP server, asked by the official SDK's own client over standard input and output."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import snapshot
from tests.proxied import body_of, steps_of

pytestmark = pytest.mark.clients
mcp = pytest.importorskip("mcp")

ARGUMENTS: dict[str, Any] = {"model": "claude-opus-4-8", "window": 80_000}


def made(first: int = 0, conversation: str = "Do the task.") -> snapshot.Archive:
    said = steps_of("anthropic", 50, task=conversation, first=first)
    archive = snapshot.compact(body_of("anthropic", said), **ARGUMENTS).archive
    assert archive is not None
    return archive


@pytest.fixture(scope="module")
def archive() -> snapshot.Archive:
    return made()


def asked(path: Path, *calls: tuple[str, dict[str, Any]]) -> tuple[list[str], list[tuple[bool, str]]]:
    """Names of the tools, and for each call whether it failed and its text."""
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    async def talk() -> tuple[list[str], list[tuple[bool, str]]]:
        command = StdioServerParameters(
            command=sys.executable,
            args=["-m", "snapshot", "mcp", str(path)],
            cwd=Path(snapshot.__file__).parent.parent,
        )
        async with Client(stdio_client(command)) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            found: list[tuple[bool, str]] = []
            for name, arguments in calls:
                result = await client.call_tool(name, arguments)
                found.append(
                    (bool(result.is_error), "".join(getattr(part, "text", "") for part in result.content))
                )
            return tools, found

    return asyncio.run(asyncio.wait_for(talk(), 60))


def test_the_exact_text(archive: snapshot.Archive, tmp_path: Path) -> None:
    path = tmp_path / "request.archive.json"
    path.write_text(archive.to_json())
    tools, found = asked(
        path,
        ("page", {"number": 2}),
        ("message", {"number": 3}),
        ("search", {"words": "DEF STEP_17_3("}),
        ("search", {"words": "nowhere to be found"}),
        ("page", {"number": 99}),
        ("page", {"number": "two"}),
        ("page", {}),
        ("search", {"words": " "}),
        ("page", {"number": 1, "archive": "none"}),
        ("nothing", {}),
        ("page", {"number": 1, "archive": archive.id, "start": 10}),
    )
    assert tools == ["search", "page", "message", "run"]
    assert found[0] == (False, archive.page(2))
    assert found[1] == (False, archive.message(3))
    hits = archive.search("def step_17_3(")
    assert hits
    assert found[2][1].startswith(f"{archive.id}, page {hits[0].page}: ")
    assert found[3] == (False, "not found")
    for failed, text in found[4:10]:
        assert failed
        assert len(text.splitlines()) == 1
    assert f"pages 1 to {archive.page_count}" in found[4][1]
    assert found[10] == (False, archive.page(1)[10:])


def test_folders_and_stores(archive: snapshot.Archive, tmp_path: Path) -> None:
    other = made(first=100)
    (tmp_path / "a.json").write_text(archive.to_json())
    (tmp_path / "b.json").write_text(other.to_json())
    (tmp_path / "notes.json").write_text("{}")
    _, found = asked(
        tmp_path,
        ("search", {"words": "def step_120_1("}),
        ("page", {"number": 1, "archive": archive.id}),
    )
    assert found[0][1].startswith(f"{other.id}, page ")
    assert found[1] == (False, archive.page(1))

    pytest.importorskip("starlette")
    from snapshot.proxy.store import Store

    store = Store(tmp_path / "proxy.sqlite")
    store.put("root", "talk", ["k1"], archive)
    store.put("root", "talk", ["k1", "k2"], other, origin="k1")
    store.close()
    _, found = asked(tmp_path / "proxy.sqlite", ("page", {"number": 1}), ("search", {"words": "step_17_3("}))
    assert found[0] == (False, other.page(1))
    assert found[1][1].startswith(f"talk/{archive.id}, page ")


def test_pages_and_sessions(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "snapshot"]
    source = Path(__file__).parent / "data" / "example.claude-stream.jsonl"
    pages, store = tmp_path / "pages", tmp_path / "sessions.sqlite"
    for arguments in (
        ["render", str(source), "-m", "claude-opus-4-8", "-o", str(pages)],
        ["session", "import", str(source), "--as", "run", "--store", str(store)],
        ["session", "compact", "run", "-m", "claude-opus-4-8", "--window", "20000", "--store", str(store)],
    ):
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    _, found = asked(pages, ("page", {"number": 1}), ("message", {"number": 1}))
    assert not found[0][0]
    assert len(found[0][1]) > 1000
    assert found[1][0]
    _, found = asked(store, ("page", {"number": 1}), ("search", {"words": "the", "archive": ""}))
    assert not found[0][0]
    assert found[1][1].startswith("run/")


@pytest.mark.parametrize("content", [None, b"", b"{}", b"SQLite format 3\0" + b"x" * 200])
def test_nothing_to_serve_is_one_line(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    if content is not None:
        path.write_bytes(content)
    command = [sys.executable, "-m", "snapshot", "mcp", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
