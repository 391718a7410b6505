"""Sessions of coding agents: each format whole, JSON of others refused, sessions in several files."""

from __future__ import annotations

import json

import pytest

from snapshot.errors import SnapshotError, TranscriptError
from snapshot.messages import File, Image, Reasoning, Text, ToolCall, ToolResult, Usage
from snapshot.requests import request
from snapshot.requests.check import check
from snapshot.transcripts import READ_ONLY, conversations, detect, dump, from_messages, load
from snapshot.transcripts.io.json_values import plain
from snapshot.transcripts.writing.json_text import encoded
from tests.harness_documents import AMP, CLINE, OPENCODE, OPENHANDS_EVENTS
from tests.harness_samples import AIDER, GEMINI_CLI_DOCUMENT, GEMINI_CLI_LINES, SAMPLES
from tests.test_cli import run
from tests.test_transcripts_frameworks import CONVERSE, SMOL
from tests.transcript_samples import PNG, STREAM_ROW, kinds, log, only, packed, parts_of, said

PICTURE = Image("image/png", b"\x89PNG\r\n\x1a\n")


def answers(transcript):
    """Words and failure of each result, by the name of the tool that it answers."""
    names = {call.id: call.name for call in only(parts_of(transcript), ToolCall)}
    return {
        names[r.call_id]: ("".join(p.text for p in r.content if isinstance(p, Text)), r.is_error)
        for r in only(parts_of(transcript), ToolResult)
    }


def spoken(transcript):
    return [(m.role, m.origin, [p.text for p in m.parts if isinstance(p, Text)]) for m in transcript.messages]


LISTS = {"bedrock": [encoded(plain(CONVERSE), lines=False)], "smolagents": [encoded(SMOL, lines=False)]}


@pytest.mark.parametrize("name", READ_ONLY)
def test_each_is_told_by_its_content_and_can_be_sent(name, tmp_path):
    for number, data in enumerate((SAMPLES | LISTS)[name]):
        assert detect(data)[0].format == name
        transcript = load(data)
        assert transcript.format == name
        assert "unknown-part" not in kinds(transcript)
        assert "unknown-row" not in kinds(transcript)
        for api in ("anthropic", "openai", "openai-responses", "gemini"):
            assert not check(request(transcript, api), api)
        path = tmp_path / f"{number}.bin"
        path.write_bytes(data)
        assert name in run("inspect", path).stdout
    with pytest.raises(SnapshotError, match="read and not written"):
        dump(load((SAMPLES | LISTS)[name][0]), name)


def test_gemini_cli():
    transcript = load(GEMINI_CLI_LINES)
    assert transcript.messages == load(GEMINI_CLI_DOCUMENT).messages
    user, answer, results, last = transcript.messages
    assert user.parts == (Text("How many retries?"), PICTURE)
    assert answer.parts[0] == Reasoning("Where\nIn the settings.")
    assert (answer.usage, answer.time) == (Usage(9000, 52), "2026-10-03T08:00:04.000Z")
    assert answers(transcript) == {
        "read_file": ("retries = 5", False), "run_shell_command": ("User cancelled", True),
    }  # fmt: skip
    assert (len(results.parts), last.parts, transcript.model) == (2, (Text("Five."),), "gemini-3.8-flash")
    main, undone = conversations(GEMINI_CLI_LINES)
    assert (main.title, main.main, undone.id) == ("Retries of the queue", True, "rewound-1")
    assert said(load(GEMINI_CLI_LINES, conversation="rewound-1")) == ["No, wait."]
    assert [extra_rows.kind for extra_rows in transcript.extra_rows] == ["session", "info"]


def test_qwen_code():
    transcript = load(SAMPLES["qwen-code"][0])
    assert answers(transcript) == {"grep_search": ("port = 8443", False)}
    assert transcript.messages[1].usage == Usage(7000, 35)
    assert (transcript.messages[3].role, transcript.messages[3].origin) == ("system", "harness")
    said = [m.parts[0] for m in transcript.messages if m.role == "user"]
    assert said == [Text("Which port does the server use?"), Text("And over TLS?")]
    assert conversations(SAMPLES["qwen-code"][0])[0].title == "Port of the server"
    assert transcript.model == "qwen3.8-max"


def test_copilot_cli():
    transcript = load(SAMPLES["copilot-cli"][0])
    user, answer = transcript.messages[:2]
    assert user.parts == (
        Text("Why is the page slow?"), PICTURE,
        File("page.py", "application/octet-stream", source="/srv/demo/page.py"),
    )  # fmt: skip
    assert answer.parts[0] == Reasoning("Perhaps the query.", "c2VhbGVk")
    assert (answer.usage, transcript.model) == (Usage(12000, 80), "gpt-5.6-sol")
    assert answers(transcript) == {"bash": ("real 4.2s", False)}
    assert [m.origin for m in transcript.messages] == ["", "", "", "harness", "harness", ""]
    assert [c.id for c in conversations(SAMPLES["copilot-cli"][0])] == ["c-1", "rewound-1"]


def test_opencode():
    transcript = load(SAMPLES["opencode"][0])
    assert [m.role for m in transcript.messages] == ["user", "system", "assistant", "tool", "assistant"]
    assert transcript.messages[0].parts == (Text("Which tables are there?"), PICTURE)
    assert [m.usage for m in transcript.messages if m.role == "assistant"] == [Usage(405, 24), Usage(514, 30)]
    assert answers(transcript) == {"bash": ("orders\nusers", False), "read": ("no such file", True)}
    assert PICTURE in only(parts_of(transcript), ToolResult)[0].content
    assert [c.id for c in conversations(SAMPLES["opencode"][0])] == ["ses_1", "ses_1:reverted"]
    with pytest.raises(TranscriptError, match="one file of a session; give the folder"):
        load(packed(OPENCODE["messages"][0]["info"]))


def test_goose():
    whole, lines, run_log = map(load, SAMPLES["goose"])
    assert whole.messages == lines.messages == run_log.messages
    assert whole.messages[1].parts[0] == Reasoning("du knows.", "c2ln")
    results = only(parts_of(whole), ToolResult)
    assert [(r.content, r.is_error) for r in results] == [
        ((Text("4.2G log"),), False), ((Text("no such tool"),), True),
    ]  # fmt: skip
    assert (whole.messages[3].role, whole.messages[3].origin) == ("system", "harness")
    assert (whole.messages[1].usage, whole.model) == (Usage(3000, 20), "claude-opus-4-8")


def test_openhands():
    transcript = load(SAMPLES["openhands"][0])
    assert [m.role for m in transcript.messages] == [
        "system", "user", "system", "assistant", "tool", "assistant",
    ]  # fmt: skip
    assert transcript.messages[1].parts == (Text("Do the tests pass?"), PICTURE)
    call = transcript.messages[3]  # two events of one answer
    assert [type(part).__name__ for part in call.parts] == ["Reasoning", "Text", "ToolCall", "ToolCall"]
    results = only(parts_of(transcript), ToolResult)
    assert [(r.call_id, r.is_error) for r in results] == [("c1", False), ("c2", True)]
    assert transcript.model == "claude-opus-4-8"
    old = load(SAMPLES["openhands"][1])
    assert answers(old) == {
        "execute_bash": ("a.txt", False), "read": ("no permission", True), "finish": ("", False),
    }  # fmt: skip
    assert (said(old)[-1], old.model) == ("One file.", "gpt-5.6-sol")


def test_amp_and_cline_are_more_than_anthropics_messages():
    amp = load(packed(AMP))
    assert answers(amp) == {"Bash": ("F841 total", False), "Read": ("no such file", True)}
    assert (amp.messages[1].usage, amp.model) == (Usage(4108, 33), "claude-opus-4-8")
    cline = load(packed(CLINE))
    assert cline.messages[0].parts == (Text("Rename the field to `size`."), PICTURE)
    assert [m.origin for m in cline.messages] == ["", "harness", "", "", "harness", ""]
    assert (cline.messages[2].usage, cline.model) == (Usage(9000, 60), "claude-opus-4-8")
    assert conversations(packed(CLINE))[0].title == "Rename the field to `size`."
    with pytest.raises(TranscriptError, match=r"give api_conversation_history\.json"):
        load(packed([{"ts": 1, "type": "say", "say": "text", "text": "hello"}]))


def test_aider():
    first, last = conversations(AIDER)
    assert (first.title, first.main, last.main) == ("Greet by name.", False, True)
    assert said(load(AIDER)) == ["Now in French.", "Bonjour."]
    transcript = load(AIDER, conversation="run-1")
    assert [(m.role, m.origin) for m in transcript.messages] == [
        ("system", "harness"), ("system", "user"), ("system", "harness"), ("user", ""), ("assistant", ""),
        ("system", "harness"),
    ]  # fmt: skip
    assert said(transcript)[3] == "Greet by name.\nAnd say when."
    assert "#### a comment, no turn\n> a prompt, no output" in said(transcript)[4]
    assert (transcript.messages[4].usage, transcript.model) == (Usage(5100, 1300), "claude-opus-4-8")


# --- what is no conversation, and what only looks like a known one

FOREIGN = {
    "package.json": {"name": "x", "version": "1.0.0", "scripts": {"test": "jest"}, "dependencies": {}},
    "eslintrc": {"root": True, "extends": ["a"], "rules": {"semi": 2}},
    "har": {"log": {"version": "1.2", "entries": [{"request": {"method": "GET"}, "response": {}}]}},
    "notebook": {"cells": [{"cell_type": "code", "source": ["1"]}], "metadata": {}, "nbformat": 4},
    "openapi": {"openapi": "3.1.0", "info": {"title": "t"}, "paths": {"/a": {"get": {}}}},
    "geojson": {"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {}}]},
    "tsconfig": {"compilerOptions": {"strict": True}, "include": ["src"]},
    "lock file": {"lockfileVersion": 3, "packages": {"": {"name": "x"}}},
    "chat of an editor": {"requests": [{"message": {"text": "hi"}}], "responderUsername": "c", "version": 3},
    "messages of a chat service": [{"type": "message", "user": "U1", "text": "hi", "ts": "1.2"}],
    "people": [{"id": 1, "role": "admin", "name": "Ada"}, {"id": 2, "role": "guest", "name": "Bo"}],
    "numbers": [1, 2, 3],
    "nothing": [],
    "untyped": {},
    "parts of another kind": [
        {"kind": "ask", "parts": [{"sort": "prompt", "content": "hi"}]},
        {"kind": "reply", "parts": [{"sort": "text", "content": "yes"}]},
    ],
}  # fmt: skip


@pytest.mark.parametrize("value", FOREIGN.values(), ids=FOREIGN)
def test_json_of_other_kinds_is_refused_by_its_keys(value):
    data = json.dumps(value, indent=1).encode()
    with pytest.raises(TranscriptError) as caught:
        load(data)
    told = str(caught.value)
    assert "no reader knows" in told
    assert "\n" not in told
    if isinstance(value, dict) and value:
        assert f'"{next(iter(value))}"' in told
    assert said(load(data, format="text")) == [data.decode()]
    with pytest.raises(TranscriptError):
        from_messages(value, format="text" if value == [] else None).messages[0]


@pytest.mark.parametrize(
    "row",
    [
        {"prompt": "a"},
        {"timestamp": "T", "level": "info", "message": "started"},
        {"timestamp": "T", "type": "OrderPlaced", "payload": {"id": 1}},
        {"type": "click", "session_id": "s", "target": "button"},
        {"type": "page", "sessionId": "s", "path": "/"},
        {"type": "user", "uuid": "u", "sessionId": "s", "message": {"kind": "text", "body": "hi"}},
        {"type": "session.opened", "data": {}},
    ],
    ids=",".join,
)
def test_lines_of_other_kinds_are_refused(row):
    """An envelope alone is no format: what is in it must be what the reader reads."""
    with pytest.raises(TranscriptError, match="JSON Lines of objects with the keys"):
        load(log(row, row, row))
    assert load(log(STREAM_ROW)).format == "claude-stream"


def test_a_few_lines_of_json_in_a_text_are_a_text():
    text = b'# Notes\n\nThe log says:\n\n{"a": 1}\n{"a": 2}\n\nand no more.\n'
    assert load(text).format == "text"
    assert load(b'{"a": 1, // one\n "b": 2}').format == "text"


# --- sessions in several files


def test_folders_of_known_tools_are_sessions(tmp_path):
    storage = tmp_path / "storage"
    (storage / "session" / "global").mkdir(parents=True)
    (storage / "session" / "global" / "ses_1.json").write_bytes(packed(OPENCODE["info"]))
    (storage / "message" / "ses_1").mkdir(parents=True)
    for message in OPENCODE["messages"]:
        name = message["info"]["id"]
        (storage / "message" / "ses_1" / f"{name}.json").write_bytes(packed(message["info"]))
        (storage / "part" / name).mkdir(parents=True)
        for number, part in enumerate(message["parts"], 1):
            (storage / "part" / name / f"prt_{number}.json").write_bytes(packed(part))
    whole = load(packed(OPENCODE)).messages
    assert load(storage).messages == load(storage / "message" / "ses_1").messages == whole
    (storage / "part" / "msg_1" / "prt_1.json").write_bytes(b'{"type": "text", "te')
    assert kinds(load(storage))["unknown-part"] == 1

    events = tmp_path / "conversation" / "events"
    events.mkdir(parents=True)
    for number, event in enumerate(OPENHANDS_EVENTS):
        (events / f"event-{number:05}-{event['id']}.json").write_bytes(packed(event))
    assert load(events.parent).messages == load(log(*OPENHANDS_EVENTS)).messages == load(events).messages

    task = tmp_path / "task"
    task.mkdir()
    (task / "api_conversation_history.json").write_bytes(packed(CLINE))
    (task / "ui_messages.json").write_bytes(b"[]")
    assert load(task).messages == load(packed(CLINE)).messages
    assert run("inspect", task).returncode == 0
    with pytest.raises(TranscriptError, match="a folder, and none that a known tool"):
        load(tmp_path)


def test_one_event_says_that_there_are_more():
    assert kinds(load(packed(OPENHANDS_EVENTS[1]))) == {"one-event": 1}


# --- what services refuse


def test_images_under_a_wrong_type_are_what_their_bytes_are():
    source = {"type": "base64", "media_type": "image/jpeg", "data": PNG}
    result = {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "image", "source": source}]}
    use = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
    transcript = load(
        packed([
            {"role": "user", "content": [{"type": "image", "source": source}]},
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [result]},
        ])
    )  # fmt: skip
    assert kinds(transcript) == {"wrong-media-type": 1}
    assert '"image/jpeg"' not in json.dumps(request(transcript, "anthropic"))
    assert json.dumps(request(transcript, "anthropic")).count('"image/png"') == 2


@pytest.mark.parametrize("words", [" \n", "\u200b\u200b", "\u2800\u3164", "\ufeff \u00ad"])
def test_words_that_nobody_sees_are_told_and_not_sent(words):
    transcript = load(packed([{"role": "user", "content": [{"type": "text", "text": words}]},
                              {"role": "user", "content": "Hello."}]))  # fmt: skip
    assert [(o.kind, o.where) for o in transcript.diagnostics] == [("blank-text", "message 1")]
    assert said(transcript)[0] == words
    for api in ("anthropic", "gemini"):
        assert not check(request(transcript, api), api)


def test_a_number_beyond_all_bounds_is_none():
    from snapshot.transcripts.formats.aider import _number

    assert [_number(text) for text in ("5.1k", "1,200", "9" * 400 + "k", "nan", "inf", "x")] == [
        5100, 1200, 0, 0, 0, 0,
    ]  # fmt: skip
