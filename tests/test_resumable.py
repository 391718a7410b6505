"""Session files in the form that their tools insist on, and rows that these write today."""

from __future__ import annotations

import json
from typing import Any

import pytest

from snapshot.messages import Message, Opaque, Reasoning, Text, ToolCall, ToolResult, Transcript, Usage
from snapshot.transcripts import dump, from_messages, load
from snapshot.transcripts.registry import RESUMABLE
from snapshot.transcripts.resuming import resumption
from tests.conftest import HERE
from tests.test_cli import run
from tests.transcript_samples import log

SEAL = "c2VhbA=="
EXAMPLE = HERE / "data" / "example.claude-stream.jsonl"


def talk(format_name: str, model: str) -> Transcript:
    """A conversation without times or ids."""
    return Transcript(
        (
            Message("user", (Text("Mend it."),)),
            Message("assistant", (Reasoning("Hm.", SEAL), Text("I look."), ToolCall("c1", "read", "{}"))),
            Message("tool", (ToolResult("c1", (Text("text"),)),)),
            Message("assistant", (Text("Done."),), usage=Usage(10, 2)),
        ),
        format_name,
        model,
    )


def rows_of(transcript: Transcript, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in dump(transcript, name).data.splitlines()]


def test_rows_of_claude_code_have_a_time_and_blocks():
    rows = rows_of(talk("anthropic", "claude-opus-4-8"), "claude-session")
    assert all(row["timestamp"] for row in rows)
    assert all(isinstance(row["message"]["content"], list) for row in rows if row["type"] == "assistant")
    assert len({row["sessionId"] for row in rows}) == 1


def test_the_head_of_a_codex_session_tells_its_origin():
    rows = rows_of(talk("openai-responses", "gpt-5.6-sol"), "codex")
    assert rows[0]["type"] == "session_meta"
    assert rows[0]["payload"].keys() >= {"id", "timestamp", "cwd", "originator", "cli_version"}
    assert all(row["timestamp"] for row in rows)


@pytest.mark.parametrize("whole", [True, False])
def test_a_codex_head_that_lacks_its_origin_gets_one(whole):
    origin = {"originator": "codex_exec", "cwd": "/p", "cli_version": "1"} if whole else {}
    head = item({"id": "old", "extra": 1, **origin}, "session_meta")
    asked = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}
    rows = rows_of(load(log(head, item({"full": True}, "world_state"), item(asked))), "codex")
    assert rows[0]["type"] == "session_meta"
    assert rows[0]["payload"].keys() >= {"cwd", "originator", "cli_version"}
    assert (rows[0]["payload"]["id"] == "old") == whole
    assert [row["type"] for row in rows].count("world_state") == whole


def test_answers_of_pi_have_a_service_usage_and_cost():
    rows = rows_of(talk("anthropic", "claude-opus-4-8"), "pi")
    answers = [row["message"] for row in rows if row.get("message", {}).get("role") == "assistant"]
    assert len(answers) == 2
    for answer in answers:
        assert (answer["api"], answer["provider"]) == ("anthropic-messages", "anthropic")
        assert answer["usage"]["cost"]["total"] == 0
        assert isinstance(answer["timestamp"], int)
    assert [answer["usage"]["totalTokens"] for answer in answers] == [0, 12]
    assert answers[0]["content"][0]["thinkingSignature"] == SEAL


@pytest.mark.parametrize("name", RESUMABLE)
def test_no_time_is_made_up(name):
    transcript = talk("anthropic", "claude-opus-4-8")
    back = load(dump(transcript, name).data)
    assert [message.time for message in back.messages] == [""] * 4
    assert [message.usage for message in back.messages] == [None, None, None, Usage(10, 2)]


SERVICES = {
    "anthropic": "claude-opus-4-8",
    "openai-responses": "gpt-5.6-sol",
    "langchain": "openai:gpt-5.6-sol",
}


@pytest.mark.parametrize("source", SERVICES)
@pytest.mark.parametrize("target", ["claude-session", "codex", "pi", "openai-responses"])
def test_no_service_gets_the_signature_of_another(source, target):
    transcript = talk(source, SERVICES[source])
    dumped = dump(transcript, target)
    signed = SEAL in dumped.data.decode()
    anthropic = source == "anthropic"
    assert signed == (target == "pi" or anthropic == (target == "claude-session"))
    assert signed != ("signature" in {loss.kind for loss in dumped.losses})
    assert "Hm." in dumped.data.decode()


def test_pi_keeps_the_whole_item_of_openai():
    (answer,) = (
        row["message"]
        for row in rows_of(talk("codex", "gpt-5.6-sol"), "pi")
        if row.get("message", {}).get("api") and len(row["message"]["content"]) > 1
    )
    sealed = json.loads(answer["content"][0]["thinkingSignature"])
    assert (sealed["type"], sealed["encrypted_content"]) == ("reasoning", SEAL)
    back = load(dump(talk("codex", "gpt-5.6-sol"), "pi").data)
    assert back.messages[1].parts[0] == Reasoning("Hm.", SEAL)


def test_every_message_of_the_ai_sdk_has_an_id_and_known_parts():
    strange = Opaque("web_search_call", '{"type":"web_search_call","query":"x"}')
    said = Message("assistant", (Text("I look."), strange))
    listed = json.loads(dump(Transcript((Message("user", (Text("Hi"),)), said), "x"), "ai-sdk").data)
    assert len({message["id"] for message in listed}) == 2
    assert [part["type"] for part in listed[1]["parts"]] == ["text", "text"]


@pytest.mark.parametrize("name", ["claude-session", "pi", "atif", "anthropic"])
@pytest.mark.parametrize("arguments", ["*** Begin Patch", "", "[1]", '{"a": 1}'])
def test_calls_of_tools_that_take_an_object_have_one(name, arguments):
    said = Message("assistant", (ToolCall("c1", "apply_patch", arguments),))
    dumped = dump(Transcript((Message("user", (Text("Hi"),)), said), "x"), name)
    call = next(
        part for message in load(dumped.data).messages for part in message.parts if isinstance(part, ToolCall)
    )
    assert isinstance(json.loads(call.arguments), dict)
    assert (json.loads(call.arguments) == {"a": 1}) == (arguments == '{"a": 1}')


def test_two_sessions_have_two_names():
    names = set()
    for words in ("Done.", "Done!"):
        data = dump(
            from_messages([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": words}]), "pi"
        )
        found = resumption("pi", data.data)
        assert found is not None
        names.add(found.name)
    assert len(names) == 2
    assert resumption("openai-chat", b"{}") is None


@pytest.mark.parametrize("name", RESUMABLE)
def test_compact_writes_a_session(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("compact", EXAMPLE, "--to", name, "--manual", "-m", "claude-opus-4-8")
    assert "to go on with it: " in done.stdout
    (session,) = (path for path in tmp_path.iterdir() if not path.name.endswith(".archive.json"))
    assert load(session).format == name
    found = resumption(name, session.read_bytes())
    assert found is not None
    assert session.name == found.name
    again = run("compact", EXAMPLE, "--to", name, "--manual", "-m", "claude-opus-4-8", "--json")
    assert json.loads(again.stdout)["name"] == found.name
    session.write_bytes(session.read_bytes() + b"{}\n")  # the tool went on
    refused = run("compact", EXAMPLE, "--to", name, "--manual", "-m", "claude-opus-4-8", check=2)
    assert "has gone on since" in refused.stderr


def test_convert_says_how_a_session_is_resumed(tmp_path):
    said = run("convert", EXAMPLE, "--to", "codex", "-o", tmp_path / "s.jsonl").stdout
    assert "put it into ~/.codex/sessions/" in said
    assert "codex resume" in said


# --- what the tools write today


def row(kind: str, n: int, **more: Any) -> dict[str, Any]:
    base = {"type": kind, "uuid": f"u{n}", "parentUuid": f"u{n - 1}" if n else None, "sessionId": "s"}
    return {**base, "timestamp": f"2026-12-01T00:00:0{n}.000Z", **more}


def attached(n: int, **attachment: Any) -> dict[str, Any]:
    return row("attachment", n, attachment=attachment)


def test_what_was_attached_in_claude_code_is_the_harness_word():
    held = {"filePath": "/p/a.py", "content": "x = 1\ny = 2", "startLine": 5}
    printed = "<local-command-stdout>fine</local-command-stdout>"
    picture = {"filePath": "/p/a.png", "base64": "aGk=", "type": "image/png"}
    transcript = load(
        log(
            row("user", 0, message={"role": "user", "content": "Look at @a.py"}),
            attached(1, type="file", filename="/p/a.py", content={"type": "text", "file": held}),
            attached(2, type="file", content={"type": "image", "file": picture}),
            attached(3, type="directory", path="/p", content="a.py\nb.py"),
            attached(4, type="edited_text_file", filename="/p/a.py", snippet="x = 3"),
            attached(5, type="skill_listing", content="many"),
            row(
                "system",
                6,
                subtype="local_command",
                content=printed,
            ),
            row(
                "assistant", 7, message={"role": "assistant", "content": [{"type": "text", "text": "I see."}]}
            ),
        )
    )
    notes = [message for message in transcript.messages if message.origin == "harness"]
    words = [part.text for note in notes for part in note.parts if isinstance(part, Text)]
    assert [message.role for message in transcript.messages] == ["user", *["system"] * 5, "assistant"]
    assert "5\tx = 1\n6\ty = 2" in words[0]
    assert len(notes[1].parts) == 2
    assert [text in words[at] for at, text in ((2, "b.py"), (3, "x = 3"), (4, "fine"))] == [True] * 3
    assert {found.kind for found in transcript.diagnostics} <= {"bookkeeping", "harness-words", "bad-base64"}


def entry(of: str, n: int, **more: Any) -> dict[str, Any]:
    parent = str(n - 1) if n > 1 else None
    return {"type": of, "id": str(n), "parentId": parent, "timestamp": f"T{n}", **more}


def said(transcript: Transcript) -> list[str]:
    return [part.text for message in transcript.messages for part in message.parts if isinstance(part, Text)]


def test_system_messages_and_edits_of_pi():
    sections = {"preamble": "Be careful.", "skills": None, "cwd": "/p"}
    prompt = {"role": "system", "content": "", "sections": sections, "toolsAdded": [{"name": "read"}]}
    data = log(
        {"type": "session", "version": 3, "id": "s", "timestamp": "T", "cwd": "/p"},
        entry("message", 1, message=prompt),
        entry("message", 2, message={"role": "user", "content": "First."}),
        entry("message", 3, message={"role": "user", "content": "Second."}),
        entry("usage", 4, kind="cache_warm", usage={"input": 1}),
        entry("context_edit", 5, targetId="2", replacement=None),
        entry("context_edit", 6, targetId="3", replacement="Shorter."),
        entry("message", 7, message={"role": "assistant", "content": [{"type": "text", "text": "Yes."}]}),
    )
    whole, sent = load(data), load(data, as_sent=True)
    assert whole.messages[0].parts == (Text("Be careful."), Text("/p"))
    assert whole.diagnostics == ()
    assert [part for message in whole.messages[1:] for part in message.parts] == [
        Text("First."),
        Text("Second."),
        Text("Yes."),
    ]
    assert [part for message in sent.messages[1:] for part in message.parts] == [
        Text("Shorter."),
        Text("Yes."),
    ]
    assert "tools" in {found.kind for found in whole.extra_rows}


def item(payload: dict[str, Any], kind: str = "response_item") -> dict[str, Any]:
    return {"timestamp": "T", "type": kind, "payload": payload}


def test_state_and_tools_of_codex_are_not_the_assistants():
    instructions = {
        "type": "message",
        "role": "developer",
        "content": [{"type": "input_text", "text": "Be careful."}],
    }
    asked = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}
    tools = {"type": "additional_tools", "role": "developer", "tools": [{"name": "read"}]}
    transcript = load(
        log(
            item({"id": "s", "base_instructions": {"text": "Be careful."}}, "session_meta"),
            item(tools),
            item(instructions),
            item({"full": True}, "world_state"),
            item(asked),
            item({"usage": {}}, "token_usage_record"),
        )
    )
    assert [message.role for message in transcript.messages] == ["system", "system", "user"]
    assert transcript.messages[1].parts == (Text("Be careful."),)  # once
    assert transcript.diagnostics == ()
    from snapshot import request

    assert request(transcript, "openai-responses")["input"] == [tools, instructions, asked]
    assert "read" not in json.dumps(request(transcript, "anthropic"))
