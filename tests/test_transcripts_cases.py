"""Files that broke other tools (`tests/cases/`): what reading them must give."""

from __future__ import annotations

import gzip
import json
import shutil

import pytest

from snapshot.errors import TranscriptError
from snapshot.messages import Image, Opaque, Reasoning, Text, ToolCall, ToolResult, Usage
from snapshot.requests import request
from snapshot.transcripts import conversations, load
from tests.conftest import HERE, case
from tests.test_cli import run
from tests.transcript_samples import kinds, notes, only, outline, parts_of, said

CASES = sorted((HERE / "cases").glob("*/input*.*"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.parent.name[:3] + path.suffix)
def test_every_input_reads_or_says_why(path, tmp_path):
    """Plain or compressed, by path or as bytes, with any format: a transcript or one line."""
    before = path.read_bytes(), path.stat().st_mtime_ns
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(before[0]))
    cut = path.parent.name.startswith("030")
    if path.parent.name.startswith(("031", "039")):  # no conversation
        with pytest.raises(TranscriptError, match=r"keys .* no reader knows"):
            load(path)
        return
    transcript = load(path, salvage=cut)
    assert transcript.format != "text" or path.suffix in (".txt", ".md")
    assert (
        load(packed, salvage=True).messages == load(before[0], salvage=True).messages == transcript.messages
    )
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def ids(transcript):
    return [message.id for message in transcript.messages]


def test_case_012_orphans_are_named():
    transcript = load(case("012") / "input.json")
    assert notes(transcript, "orphan-result") == [
        "message 2, message 7: a result whose call is not in the transcript (2 times)",
        "message 10: a second result of a call that was answered before",
    ]
    assert kinds(transcript) == {"orphan-result": 2}


def test_case_022_projections():
    path = case("022") / "input.jsonl"
    expected = {
        None: "a0000002 a0000003 a0000004 a0000005 a000000e a000000f a0000010",
        "a000000d": "a000000b a0000009 a000000a a000000c a000000d",
        "a000000a": "a0000008 a0000006 a0000007 a0000009 a000000a",
        "a0000007": "a0000002 a0000003 a0000004 a0000005 a0000006 a0000007",
    }
    for leaf, wanted in expected.items():
        assert ids(load(path, conversation=leaf, as_sent=True)) == wanted.split()
    assert [(c.id, c.main) for c in conversations(path)] == [("a000000d", False), ("a0000011", True)]
    # The whole history of the other leaf: each word that was said, and both summaries where they were made.
    whole = load(path, conversation="a000000d")
    assert ids(whole) == [f"a000000{digit}" for digit in "23456789abcd"]
    assert kinds(whole) == {"compaction": 2}


def test_case_023_torn_lines():
    transcript = load(case("023") / "input.jsonl")
    places = [note.split(":")[0] for note in notes(transcript, "torn-line")]
    assert [place.split(",")[0] for place in places] == ["line 6", "line 9"]
    assert "torn: 211 bytes" in notes(transcript, "torn-line")[0]
    assert "Are you still there? Remove the time from the key, please." in said(transcript)
    (*_, last) = transcript.messages
    assert [part.call_id for part in only(last.parts, ToolResult)] == ["toolu_c3"]
    assert kinds(transcript) == {"torn-line": 2}


def test_case_024_claude_code():
    path = case("024") / "input.jsonl"
    whole = load(path)
    assert outline(whole) == [
        ("system", ["Text"]),
        ("user", ["Text"]),
        ("assistant", ["Reasoning", "Text", "ToolCall", "ToolCall"]),
        ("tool", ["ToolResult", "ToolResult"]),
        ("assistant", ["Text"]),
        ("system", ["Text"]),
        ("user", ["Text"]),
        ("assistant", ["ToolCall"]),
        ("tool", ["ToolResult"]),
        ("assistant", ["Text"]),
    ]
    assert [message.usage for message in whole.messages if message.usage] == [Usage(12904, 60)] * 4
    extra_rows = {row.kind for row in whole.extra_rows}
    assert extra_rows >= {"hologram", "progress", "attachment", "queue-operation", "file-history-snapshot"}
    assert (
        "1 attachment, 1 file-history-snapshot, 1 progress, 1 queue-operation"
        in notes(whole, "bookkeeping")[0]
    )
    sent = load(path, as_sent=True)
    assert [message.role for message in sent.messages] == ["user", "user", "assistant", "tool", "assistant"]
    assert said(sent)[1] == "Clean the disk of server 1."
    assert [c.id for c in conversations(path)] == ["main", "a1f2"]
    assert said(load(path, conversation="a1f2")) == [
        "Search the logs of server 1 for 503.",
        "Disk full at 11:58.",
    ]


def test_case_025_codex():
    path = case("025") / "input.jsonl"
    whole = load(path)
    assert outline(whole) == [
        ("system", ["Text"]),
        ("user", ["Text"]),
        ("assistant", ["Reasoning", "ToolCall"]),
        ("tool", ["ToolResult"]),
        ("assistant", ["Text"]),
        ("user", ["Text"]),
        ("assistant", ["ToolCall"]),
        ("tool", ["ToolResult"]),
        ("assistant", ["Text"]),
    ]
    # What the last request held, not the sum of all requests; none is made up for those without.
    assert [message.usage for message in whole.messages if message.usage] == [Usage(21000, 90)]
    assert only(parts_of(whole), ToolCall)[1].arguments.count("\n") == 3
    assert [row.kind for row in whole.extra_rows] == ["session_meta", "compacted", "world_state"]
    assert kinds(whole) == {"compaction": 1}
    sent = load(path, as_sent=True)
    assert said(sent) == [
        "Be terse.",
        "Why does the nightly job run twice?",
        "Delete the one without --full.",
        "Deleted.",
    ]
    sealed = sent.messages[2]
    assert sealed.raw == ({"type": "compaction", "encrypted_content": "b3BhcXVlLWNvbXBhY3Rpb24="},)
    assert sealed.parts == (Reasoning("", "b3BhcXVlLWNvbXBhY3Rpb24="),)
    # It goes back to the service that sealed it, and to no other.
    assert sealed.raw[0] in request(sent, "openai-responses")["input"]
    for api in ("anthropic", "openai", "gemini"):
        assert "b3BhcXVl" not in json.dumps(request(sent, api))


def test_case_028_atif():
    path = case("028") / "input.json"
    transcript = load(path)
    results = {part.call_id: part for part in only(parts_of(transcript), ToolResult)}
    assert set(results) == {"c2", "c3"}
    assert [part.kind for part in only(results["c3"].content, Opaque)] == ["subagent_trajectory_ref"]
    seen = [message for message in transcript.messages if "disk is 91 % full" in str(message.parts)]
    assert [message.role for message in seen] == ["system"]
    assert only(parts_of(transcript), Image) == [Image("image/png", source="images/plot.png")]
    assert [message.usage for message in transcript.messages if message.usage] == [Usage(18000, 90)]
    assert kinds(transcript) == {"step-order": 1, "unknown-step": 1, "sidechain": 1, "open-call": 1}
    listed = conversations(path)
    assert [c.id for c in listed] == ["main", "sub-1"]
    assert len(load(path, conversation="sub-1").messages) == listed[1].messages


def test_case_029_langchain():
    first, second = (load(case("029") / name) for name in ("input.json", "input-lc.json"))
    calls, results = (only(parts_of(first), kind) for kind in (ToolCall, ToolResult))
    assert [(call.id, call.arguments) for call in calls] == [
        ("lc_1", '{"q":"printer"}'),
        ("lc_2", '{"q": "toner"'),
    ]
    assert [(result.call_id, result.is_error) for result in results] == [
        ("lc_1", False),
        ("lc_2", True),
        ("", False),
    ]
    artifact, remove = first.extra_rows
    assert (artifact.kind, json.loads(artifact.json), remove.kind) == (
        "artifact",
        {"hits": [311, 377]},
        "remove",
    )
    assert said(first)[-1] == "[critic] I object."
    assert [m.usage for m in first.messages if m.usage] == [Usage(310, 22)]
    assert outline(second) == [("user", ["Text"]), ("assistant", ["ToolCall"]), ("tool", ["ToolResult"])]


def test_case_030_truncated(tmp_path):
    path = tmp_path / "input.json"
    shutil.copy(case("030") / "input.json", path)
    with pytest.raises(TranscriptError, match="byte 720: the JSON ends in the middle"):
        load(path)
    for command in ("render", "compact"):
        refused = run(command, path, "-o", tmp_path / command, check=2)
        assert refused.stderr.count("\n") == 1
        assert "byte 720" in refused.stderr
        assert not (tmp_path / command).exists()
    transcript = load(path, salvage=True)
    assert len(transcript.messages) == 6
    assert (
        "complete records before it: 6, which are kept; record 7 is lost" in notes(transcript, "truncated")[0]
    )
    done = run("render", path, "-o", tmp_path / "pages", "--salvage")
    assert "record 7 is lost" in done.stderr
    assert path.read_bytes() == (case("030") / "input.json").read_bytes()


def test_a_conversation_is_chosen_on_the_command_line(tmp_path):
    path = case("024") / "input.jsonl"
    run("render", path, "-o", tmp_path / "side", "--conversation", "a1f2")
    text = run("read", tmp_path / "side").stdout
    assert "Disk full at 11:58." in text
    assert "tile servers" not in text
    run("render", path, "-o", tmp_path / "sent", "--as-sent")
    text = run("read", tmp_path / "sent").stdout
    assert "This session continues" in text
    assert "tile servers" not in text
    wrong = run("cost", path, "--conversation", "b", "-m", "claude-opus-4-8", check=2)
    assert 'no conversation "b" in it; it holds main ("Map tiles and caching"), a1f2' in wrong.stderr


def test_real_files_have_no_part_unknown(real):
    for path in sorted(real.glob("*.json*")):
        transcript = load(path)
        assert transcript.diagnostics == ()
        assert not only(parts_of(transcript), Opaque)
        assert len(transcript.messages) >= 20
        assert any(isinstance(part, Text) for part in parts_of(transcript))
