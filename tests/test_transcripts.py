"""Readers: every format becomes the conversation that it holds, and damage is named instead of raised."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshot.errors import TranscriptError
from snapshot.messages import (
    File,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Transcript,
    Usage,
)
from snapshot.transcripts import FORMATS, load

Json = dict[str, Any]
EXAMPLE = Path(__file__).parent / "data" / "example.claude-stream.jsonl"
SHARED = Path(__file__).parents[2] / "shared" / "transcripts"
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()


def packed(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def log(*rows: Json) -> bytes:
    return b"".join(packed(row) + b"\n" for row in rows)


def only(parts: Iterable[Part], kind: type) -> list[Any]:
    return [part for part in parts if isinstance(part, kind)]


def parts_of(transcript: Transcript) -> list[Part]:
    return [part for message in transcript.messages for part in message.parts]


def kinds(transcript: Transcript) -> dict[str, int]:
    """Number of oddities of each kind."""
    return {kind: len(list(group)) for kind, group in groupby(sorted(o.kind for o in transcript.oddities))}


def notes(transcript: Transcript, kind: str) -> list[str]:
    return [f"{o.where}: {o.note}" for o in transcript.oddities if o.kind == kind]


def outline(transcript: Transcript) -> list[tuple[str, list[str]]]:
    return [(m.role, [type(part).__name__ for part in m.parts]) for m in transcript.messages]


def said(transcript: Transcript) -> list[str]:
    return [part.text for part in parts_of(transcript) if isinstance(part, Text)]


# --- real logs, counted anew from their JSON


@pytest.fixture(params=["kombu", "ytt"])
def stream(request: pytest.FixtureRequest) -> Path:
    path = SHARED / f"{request.param}.claude-stream.jsonl"
    if not path.exists():
        pytest.skip("real transcripts are kept beside the repository, and are not here")
    return path


def raw_rows(path: Path) -> list[Json]:
    rows = [json.loads(line) for line in path.read_bytes().split(b"\n") if line]
    return [row for row in rows if row["type"] in ("assistant", "user")]


def assert_as_logged(path: Path) -> Transcript:
    """The transcript holds exactly what the rows of the log hold."""
    rows, transcript = raw_rows(path), load(path)
    spoken = [row["message"] for row in rows if row["type"] == "assistant"]
    usages = {message["id"]: message["usage"] for message in spoken}
    answers = [m for m in transcript.messages if m.role == "assistant"]

    assert [m.id for m in answers] == list(usages)
    assert transcript.format == "claude-stream"
    assert transcript.model == spoken[-1]["model"]
    assert transcript.oddities == ()
    assert not only(parts_of(transcript), Opaque)
    blocks = [block for message in spoken for block in message["content"]]
    assert sum(len(m.parts) for m in answers) == len(blocks)
    for message in answers:
        usage = usages[message.id]
        prompt = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        assert message.usage == Usage(sum(usage[key] for key in prompt), usage["output_tokens"])
    calls = [(b["id"], b["name"], b["input"]) for b in blocks if b["type"] == "tool_use"]
    assert [
        (call.id, call.name, json.loads(call.arguments)) for call in only(parts_of(transcript), ToolCall)
    ] == calls
    signatures = [b["signature"] for b in blocks if b["type"] == "thinking"]
    assert [part.signature for part in only(parts_of(transcript), Reasoning)] == signatures
    found = [b for row in rows if row["type"] == "user" for b in row["message"]["content"]]
    assert [
        (result.call_id, "".join(part.text for part in result.content), result.is_error)
        for result in only(parts_of(transcript), ToolResult)
    ] == [
        (b["tool_use_id"], b["content"], b.get("is_error", False))
        for b in found
        if b["type"] == "tool_result"
    ]
    return transcript


def test_real_streams(stream):
    transcript = assert_as_logged(stream)
    ids = [row["message"]["id"] if row["type"] == "assistant" else "results" for row in raw_rows(stream)]
    batches = [key for key, _ in groupby(ids) if key == "results"]
    tools = [m for m in transcript.messages if m.role == "tool"]
    assert len(tools) <= len(batches)
    assert len(transcript.messages) == len(set(ids) - {"results"}) + len(tools)
    # Each batch answers calls of the message before it, whatever came between in the log.
    for before, results in zip(transcript.messages, transcript.messages[1:], strict=False):
        if results.role == "tool":
            assert {part.call_id for part in only(results.parts, ToolResult)} == {
                part.id for part in only(before.parts, ToolCall)
            }


def test_example():
    """The example that newcomers get shows every kind of part that a log of a run has."""
    transcript = assert_as_logged(EXAMPLE)
    assert [m.role for m in transcript.messages[:3]] == ["user", "assistant", "tool"]
    results = only(parts_of(transcript), ToolResult)
    assert len(results) == len(only(parts_of(transcript), ToolCall))
    output = "\n".join(part.text for result in results for part in result.content)
    assert sum(result.is_error for result in results) == 3
    for sample in ("data:image/png;base64,", "\x1b[31m", "6 passed", "3 failed"):
        assert sample in output
    assert all(char in EXAMPLE.read_text(encoding="utf-8") for char in "é→✓—記🎉")


def test_real_trajectory():
    path = SHARED / "httpx.atif.json"
    if not path.exists():
        pytest.skip("real transcripts are kept beside the repository, and are not here")
    steps = json.loads(path.read_bytes())["steps"]
    transcript = load(path)
    assert (transcript.format, transcript.model, transcript.oddities) == ("atif", "claude-opus-5", ())
    results = [r for step in steps for r in step.get("observation", {}).get("results", [])]
    observed = sum(bool(step.get("observation", {}).get("results")) for step in steps)
    assert len(transcript.messages) == len(steps) + observed
    assert [
        (result.call_id, "".join(part.text for part in result.content))
        for result in only(parts_of(transcript), ToolResult)
    ] == [(r["source_call_id"], r["content"]) for r in results]
    assert said(transcript) == [step["message"] for step in steps if step["message"]]
    assert [m.usage.input for m in transcript.messages if m.usage] == [
        step["metrics"]["prompt_tokens"] for step in steps if "metrics" in step
    ]


# --- which format it is


SESSION_ROW = {"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": "hi"}}
STREAM_ROW = {"type": "user", "uuid": "u", "session_id": "s", "message": {"role": "user", "content": "hi"}}
PLAIN = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}]
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
USE = {"type": "tool_use", "id": "c", "name": "f", "input": {}}

DETECTED = {
    "session": (log(SESSION_ROW), "claude-session"),
    "session behind a title": (log({"type": "summary", "summary": "s", "leafUuid": "l"}), "claude-session"),
    "session in a web export": (packed({"loglines": [SESSION_ROW]}), "claude-session"),
    "stream": (log({"type": "system", "subtype": "init", "session_id": "s"}, STREAM_ROW), "claude-stream"),
    "stream as one array": (packed([STREAM_ROW]), "claude-stream"),
    "plain messages": (packed(PLAIN), "anthropic"),
    "plain messages, pretty": (json.dumps(PLAIN, indent=2).encode(), "anthropic"),
    "plain messages with a system role": (
        packed([{"role": "system", "content": "s"}, *PLAIN]),
        "openai-chat",
    ),
    "plain messages with a developer": (
        packed([{"role": "developer", "content": "s"}, *PLAIN]),
        "openai-chat",
    ),
    "request with system beside": (packed({"system": "s", "messages": PLAIN}), "anthropic"),
    "request with system beside and within": (
        packed({"system": "s", "messages": [{"role": "system", "content": "s"}, *PLAIN]}),
        "anthropic",
    ),
    "request with calls": (
        packed({"model": "m", "messages": [{"role": "assistant", "tool_calls": [CALL]}]}),
        "openai-chat",
    ),
    "blocks": (packed([{"role": "assistant", "content": [USE]}]), "anthropic"),
    "blocks after a system message": (
        packed([{"role": "system", "content": "s"}, {"role": "assistant", "content": [USE]}]),
        "anthropic",
    ),
    "one response": (packed({"type": "message", "role": "assistant", "content": [USE]}), "anthropic"),
    "trajectory": (packed({"schema_version": "ATIF-v1.3", "steps": []}), "atif"),
    "markdown": (b"# Title\n\n[a](b) {c}\n", "text"),
    "markdown with a link first": (b'[{a}](b) says "role": "user"\n', "text"),
    "configuration": (b'{"name": "x", "steps": [1]}', "text"),
    "JSON of an unknown kind": (packed([1, None, {"role": 3}]), "text"),
    "JSON with comments": (b'{"a": 1, // one\n "b": 2}', "text"),
    "lines of an unknown kind": (log({"prompt": "a"}, {"prompt": "b"}), "text"),
    "Responses items": (
        packed([{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]}]),
        "openai-responses",
    ),
    "Gemini contents": (packed([{"role": "user", "parts": [{"text": "a"}]}]), "gemini"),
}


@pytest.mark.parametrize(("data", "name"), DETECTED.values(), ids=DETECTED.keys())
def test_detection_goes_by_content(data, name, tmp_path):
    path = tmp_path / "misleading.md"
    path.write_bytes(data)
    assert load(path).format == load(str(path)).format == load(data).format == name


@pytest.mark.parametrize("name", FORMATS)
def test_insisting_on_a_format(name):
    """A reader takes what it was told to take, or says what it misses."""
    data = packed(PLAIN)
    if name == "atif":
        with pytest.raises(TranscriptError, match="steps"):
            load(data, format=name)
        return
    assert load(data, format=name).format == name
    text = data.decode()
    assert said(load(data, format="text")) == [text]


def test_text_is_word_for_word():
    text = "\n a\r\nb\tc\0\x1b[1m \u2028é\ufeff🎉\n\n"
    transcript = load(text.encode())
    assert transcript == Transcript((Message("user", (Text(text),)),), "text")


# --- encodings


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_encodings_read_alike(encoding):
    plain = json.dumps([{"role": "user", "content": "é→記🎉"}], ensure_ascii=False)
    assert load(plain.encode(encoding)) == load(plain.encode())
    rows = log(SESSION_ROW, SESSION_ROW | {"uuid": "v"}).decode()
    assert load(rows.encode(encoding)) == load(rows.encode())
    assert said(load("é\n".encode(encoding))) == ["é\n"]


@pytest.mark.parametrize(
    ("data", "where"),
    [(b"caf\xe9 ol\xe9", "byte 3"), (b"\xef\xbb\xbfcaf\xe9", "byte 6"), (b"\xff\xfea\0\0\xd8", "byte 4")],
)
def test_bytes_that_are_no_text(data, where):
    transcript = load(data)
    assert "\ufffd" in said(transcript)[0]
    assert [o.where for o in transcript.oddities if o.kind == "invalid-utf8"] == [where]


def test_bad_bytes_in_a_log_spoil_one_character_only():
    data = log(SESSION_ROW, SESSION_ROW | {"uuid": "v"}).replace(b"hi", b"h\xe9", 1)
    transcript = load(data)
    assert said(transcript) == ["h\ufffd", "hi"]
    assert notes(transcript, "invalid-utf8")[0].startswith(f"byte {data.index(0xE9)}:")


def test_lone_surrogates_are_counted():
    data = json.dumps([{"role": "user", "content": "cut:\ud83d and \udc4d"}, *PLAIN]).encode()
    transcript = load(data)
    assert said(transcript)[0] == "cut:\ud83d and \udc4d"
    (note,) = notes(transcript, "lone-surrogate")
    assert note.startswith("message 1:")
    assert note.endswith("(2 times)")
    assert not load(json.dumps([{"role": "user", "content": "👍🏽"}]).encode()).oddities


# --- errors


@pytest.mark.parametrize("data", [b"", b" \r\n\t", b"\xef\xbb\xbf", b"\xff\xfe \0", "\u3000\n".encode()])
@pytest.mark.parametrize("name", [None, *FORMATS])
def test_empty_input(data, name):
    with pytest.raises(TranscriptError, match="empty"):
        load(data, format=name)


def test_paths_that_cannot_be_read(tmp_path):
    for path, what in [(tmp_path / "gone", "no such file"), (tmp_path, "folder"), ("a\0b", "cannot be read")]:
        with pytest.raises(TranscriptError, match=what) as caught:
            load(path)
        assert caught.value.path == str(path)
    with pytest.raises(TranscriptError, match=r"did you mean 'openai-chat'\?.* claude-session,"):
        load(b"x", format="OpenAI_chat")


def test_a_document_cut_at_any_byte_names_the_byte():
    """No cut is taken for a document, none gives a message (case 030)."""
    data = packed(
        {"model": "m", "messages": [*PLAIN, {"role": "user", "content": [{"n": -1.5e-7}, True, "☃\\\n"]}]}
    )
    assert load(data).format == "anthropic"
    for end in range(1, len(data)):
        with pytest.raises(TranscriptError, match="ends in the middle") as caught:
            load(data[:end])
        assert caught.value.byte == end


def test_a_broken_document_names_its_place():
    data = b'[{"role": "user",\n "content": "\xc3\xa9" "more"}]'
    with pytest.raises(TranscriptError, match="not valid JSON") as caught:
        load(data)
    assert (caught.value.line, caught.value.byte) == (2, data.index(b'"more"'))
    assert "\n" not in str(caught.value)
    assert said(load(data, format="text")) == [data.decode()]


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'[{"role":"user","content":' * 9_999,
    ],
)
def test_nesting_is_refused(data):
    for name in [None, *FORMATS]:
        if name != "text":
            with pytest.raises(TranscriptError):
                load(data, format=name)
    assert said(load(data, format="text")) == [data.decode()]


def test_a_line_nested_too_deeply_is_left_out():
    transcript = load(log(SESSION_ROW) + b'{"a":' * 50_000 + b"\n" + log(SESSION_ROW | {"uuid": "v"}))
    assert said(transcript) == ["hi", "hi"]
    assert notes(transcript, "too-deep")[0].startswith("line 2, byte ")


def test_raw_controls_in_strings_are_read():
    assert said(load(b'[{"role": "user", "content": "a\tb\nc\x01"}]')) == ["a\tb\nc\x01"]


def test_numbers_of_any_kind():
    digits = "9" * 5000
    start = b'[{"role":"assistant","content":[{"type":"tool_use","id":1e400,"name":"f","input":{"a":NaN,"b":'
    (call,) = parts_of(load(start + digits.encode() + b"}}]}]"))
    assert call == ToolCall("Infinity", "f", f'{{"a":NaN,"b":"{digits}"}}')


# --- Anthropic blocks


def one_message(*blocks: object, role: str = "user") -> list[Part]:
    return parts_of(load(packed([{"role": role, "content": list(blocks)}]), format="anthropic"))


def test_anthropic_blocks():
    source = {"type": "base64", "media_type": "image/png", "data": PNG}
    pdf = {"type": "base64", "media_type": "application/pdf", "data": "cGRm"}
    assert one_message(
        {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}},
        {"type": "image", "source": source},
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
        {"type": "document", "source": pdf, "title": "T", "context": "read this"},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}},
    ) == [
        Text("a"),
        Image("image/png", b"\x89PNG\r\n\x1a\n"),
        Image("image/*", source="https://example.org/a.png"),
        Image("image/*", source="file_1"),
        Text("read this"),
        File("T", "application/pdf", b"pdf"),
        File("", "text/plain", text="words"),
    ]
    redacted = {"type": "redacted_thinking", "data": "x"}
    transcript = load(
        packed(
            [
                {
                    "role": "assistant",
                    "content": [{"type": "thinking", "thinking": "t", "signature": "s"}, redacted],
                }
            ]
        )
    )
    assert parts_of(transcript) == [
        Reasoning("t", "s"),
        Opaque("redacted_thinking", '{"type":"redacted_thinking","data":"x"}'),
    ]
    assert transcript.oddities == ()


def test_unknown_parts_are_kept_and_counted():
    new = {"type": "hologram", "é": [1, {"b": None}]}
    result = {
        "type": "tool_result",
        "tool_use_id": "c",
        "content": [new, {"type": "thinking", "thinking": "x"}],
    }
    transcript = load(
        packed([{"role": "assistant", "content": [USE, new]}, {"role": "user", "content": [result, new]}])
    )
    opaque = Opaque("hologram", '{"type":"hologram","é":[1,{"b":null}]}')
    assert [m.parts for m in transcript.messages] == [
        (ToolCall("c", "f", "{}"), opaque),
        (ToolResult("c", (opaque, Opaque("thinking", '{"type":"thinking","thinking":"x"}'))),),
        (opaque,),
    ]
    hologram, thinking = notes(transcript, "unknown-part")
    assert hologram.startswith("message 1, message 2: ")
    assert hologram.endswith("(3 times)")
    assert "thinking" in thinking


def test_calls_in_another_dialect_are_kept():
    """Blocks of one provider and keys of the other in one list: what the reader does not know is counted."""
    mixed = {
        "role": "assistant",
        "content": [USE, {"type": "thinking", "thinking": ""}],
        "tool_calls": [CALL],
    }
    transcript = load(packed([mixed]), format="anthropic")
    assert only(parts_of(transcript), Opaque)[0].kind == "tool_calls"
    assert kinds(transcript) == {"unknown-part": 1}


@pytest.mark.parametrize("payload", ["not base64!", "", "aGk", None, 7])
def test_damaged_payloads_are_kept_whole(payload):
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": payload}}
    transcript = load(packed([{"role": "user", "content": [image]}]))
    (part,) = parts_of(transcript)
    assert isinstance(part, Opaque)
    assert json.loads(part.json) == image
    assert kinds(transcript) == {"bad-base64": 1}


def test_base64_may_be_wrapped():
    image = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": PNG[:6] + "\r\n" + PNG[6:]},
    }
    assert one_message(image) == [Image("image/png", b"\x89PNG\r\n\x1a\n")]


def test_results_stand_before_what_the_user_says():
    result = {"type": "tool_result", "tool_use_id": "c", "is_error": True}
    call = {"role": "assistant", "content": [USE, {"type": "server_tool_use", "id": "s"}]}
    for blocks in ([result, "now"], ["now", result]):
        transcript = load(packed([call, {"role": "user", "content": blocks}]))
        assert outline(transcript)[1:] == [("tool", ["ToolResult"]), ("user", ["Text"])]
        assert transcript.messages[1].parts == (ToolResult("c", (), is_error=True),)


def test_envelopes():
    request = {
        "model": "m-1",
        "system": [{"type": "text", "text": "rules"}],
        "tools": [{"name": "f"}],
        "messages": PLAIN,
    }
    transcript = load(packed(request))
    assert (transcript.format, transcript.model) == ("anthropic", "m-1")
    assert transcript.messages[0] == Message("system", (Text("rules"),))
    response = {
        "id": "r",
        "model": "m-2",
        "role": "assistant",
        "content": [],
        "usage": {"input_tokens": 5, "cache_read_input_tokens": 7, "output_tokens": 2},
    }
    transcript = load(packed({"messages": [PLAIN[0], response]}))
    assert (transcript.model, transcript.messages[1].usage) == ("m-2", Usage(12, 2))


MALFORMED = rb"""[
{"role": "user", "content": "Count.", "id": 1},
{"role": "assistant", "content": [{"type": "tool_use", "id": 7, "name": "count", "input": {}}]},
{"role": "user", "content": [{"type": "tool_result", "tool_use_id": 7, "content": 12}]},
{"role": "assistant", "content": [{"type": "tool_use", "id": "7", "name": "count", "input": null},
                                  {"type": "tool_use", "name": "sum", "input": "all"}]},
{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "7", "content": {"n": 12, "sum": 4811.5}},
                             {"type": "tool_result", "content": true}]},
{"role": "assistant", "content": {"type": "text", "text": "Twelve."}},
{"role": "user", "content": [{"type": "text"}, {"text": "And?"}, "these", 3, null]},
{"content": "Who said this?"},
{"role": "Assistant", "content": "Four."},
"just a string"]"""


def test_malformed_messages_are_read_by_one_rule_each():
    """Case 032: ids as numbers, missing ids and roles, content of the wrong type."""
    transcript = load(MALFORMED)
    assert transcript.format == "anthropic"
    assert [m.parts for m in transcript.messages] == [
        (Text("Count."),),
        (ToolCall("7", "count", "{}"),),
        (ToolResult("7", (Text("12"),)),),
        (ToolCall("7#2", "count", ""), ToolCall("", "sum", "all")),
        (ToolResult("7#2", (Text('{"n":12,"sum":4811.5}'),)), ToolResult("", (Text("true"),))),
        (Text("Twelve."),),
        (Text(""), Text("And?"), Text("these"), Opaque("number", "3"), Opaque("null", "null")),
        (Opaque("message", '{"content":"Who said this?"}'),),
        (Text("Four."),),
        (Opaque("string", '"just a string"'),),
    ]
    assert [m.role for m in transcript.messages[-3:]] == ["system", "assistant", "system"]
    assert [o.where for o in transcript.oddities if o.kind == "unknown-message"] == [
        "message 8",
        "message 10",
    ]
    assert [o.where for o in transcript.oddities if o.kind == "no-id"] == ["message 4", "message 5"]
    assert kinds(transcript)["wrong-type"] == 5


@given(st.lists(st.one_of(st.integers(0, 3), st.sampled_from("0123"), st.just("1#2")), max_size=12))
def test_ids_stay_apart_and_do_not_depend_on_what_follows(ids):
    def texts(raw: Sequence[object]) -> list[str]:
        blocks = [{"type": "tool_use", "id": ref, "name": "f", "input": {}} for ref in raw]
        return [part.id for part in only(one_message(*blocks, role="assistant"), ToolCall)]

    read = texts(ids)
    pairs = set(zip(read, [(type(ref), ref) for ref in ids], strict=True))
    assert len(pairs) == len({text for text, _ in pairs}) == len({raw for _, raw in pairs})
    assert texts(ids[:-1]) == read[:-1]


# --- pairs


def test_pairs_are_checked():
    def use(ref: str) -> Json:
        return {"role": "assistant", "content": [USE | {"id": ref}]}

    def result(ref: str) -> Json:
        return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": ref, "content": "r"}]}

    def odd(*messages: Json) -> dict[str, int]:
        return kinds(load(packed(messages)))

    assert odd(use("a"), result("a"), use("b"), result("b")) == {}
    assert odd(result("a"), use("a"), result("a")) == {"orphan-result": 1}
    assert odd(use("a"), PLAIN[0]) == {"open-call": 1}
    assert odd(use("a")) == {}, "the last batch may still be running"
    assert odd(use("a"), result("a"), use("a"), result("a")) == {"repeated-id": 1}


# --- OpenAI


EMPTIES = rb"""[
{"role": "developer", "content": ""},
{"role": "user", "content": "  \n"},
{"role": "assistant", "content": null,
 "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]},
{"role": "tool", "tool_call_id": "c", "content": ""},
{"role": "assistant", "content": [], "tool_calls": [{"id": "d", "function": {"name": "f", "arguments": ""}},
                                                    {"id": "e", "function": {"name": "f", "arguments": ""}}]},
{"role": "tool", "tool_call_id": "e", "content": [{"type": "text", "text": ""}]},
{"role": "tool", "tool_call_id": "d", "content": "D"},
{"role": "assistant", "tool_calls": null},
{"role": "user"},
{"role": "assistant", "content": null, "function_call": {"name": "drain", "arguments": "not JSON"}},
{"role": "function", "name": "drain", "content": "drained 0"},
{"role": "assistant", "content": null, "refusal": "No.", "reasoning_content": "hm"},
{"role": "assistant", "content": [{"type": "refusal", "refusal": "Never."}], "refusal": null}]"""


def test_openai_empty_messages_and_old_calls():
    """Case 015: null, empty lists, missing keys, the old form of calls, a refusal."""
    transcript = load(EMPTIES)
    assert transcript.format == "openai-chat"
    assert transcript.oddities == ()
    assert [(m.role, m.parts) for m in transcript.messages] == [
        ("system", ()),
        ("user", (Text("  \n"),)),
        ("assistant", (ToolCall("c", "f", "{}"),)),
        ("tool", (ToolResult("c", ()),)),
        ("assistant", (ToolCall("d", "f", ""), ToolCall("e", "f", ""))),
        ("tool", (ToolResult("e", (Text(""),)), ToolResult("d", (Text("D"),)))),
        ("assistant", ()),
        ("user", ()),
        ("assistant", (ToolCall("function_call_1", "drain", "not JSON"),)),
        ("tool", (ToolResult("function_call_1", (Text("drained 0"),)),)),
        ("assistant", (Reasoning("hm"), Text("No.", refusal=True))),
        ("assistant", (Text("Never.", refusal=True),)),
    ]


@pytest.mark.parametrize(
    ("names", "results", "answered"),
    [
        ("ab", "ba", [2, 1]),
        ("aa", "aa", [1, 2]),
        ("ab", "xy", [1, 2]),
        ("a", "aa", [1, 0]),
        ("ab", "xb", [1, 2]),
    ],
)
def test_old_calls_pair_by_name_then_by_order(names, results, answered):
    messages = [{"role": "assistant", "function_call": {"name": name, "arguments": ""}} for name in names]
    messages += [{"role": "function", "name": name, "content": "r"} for name in results]
    found = only(parts_of(load(packed(messages))), ToolResult)
    assert [result.call_id for result in found] == [f"function_call_{n}" if n else "" for n in answered]


def test_openai_parts():
    content = [
        {"type": "text", "text": "a"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"}},
        {"type": "image_url", "image_url": "https://example.org/a.png"},
        {"type": "input_audio", "input_audio": {"data": "cGRm", "format": "wav"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,cGRm"}},
        {"type": "file", "file": {"file_id": "file_1"}},
    ]
    transcript = load(packed([{"role": "user", "content": content}]))
    assert parts_of(transcript) == [
        Text("a"),
        Image("image/png", b"\x89PNG\r\n\x1a\n", detail="low"),
        Image("image/*", source="https://example.org/a.png"),
        File("", "audio/wav", b"pdf"),
        File("a.pdf", "application/pdf", b"pdf"),
        File("", "application/octet-stream", source="file_1"),
    ]
    assert transcript.oddities == ()
    broken = {"type": "image_url", "image_url": {"url": "data:image/png;base64,%%%"}}
    transcript = load(packed([{"role": "user", "content": [broken, {"type": "video"}]}]))
    assert [part.kind for part in only(parts_of(transcript), Opaque)] == ["image_url", "video"]
    assert kinds(transcript) == {"bad-base64": 1, "unknown-part": 1}


def test_openai_calls_of_all_kinds():
    transcript = load(
        packed(
            [
                {
                    "role": "assistant",
                    "reasoning": "same",
                    "reasoning_content": "same",
                    "tool_calls": [
                        {"id": "1", "type": "custom", "custom": {"name": "g", "input": "free text"}},
                        {"id": "2", "function": {"name": "f", "arguments": {"é": 1}}},
                        {"id": "3", "type": "new"},
                    ],
                    "usage": {"prompt_tokens": 9, "completion_tokens": 1},
                },
                {"role": "user", "content": "x", "name": None},
            ]
        )
    )
    assert transcript.messages[0] == Message(
        "assistant",
        (
            Reasoning("same"),
            ToolCall("1", "g", "free text"),
            ToolCall("2", "f", '{"é":1}'),
            Opaque("new", '{"id":"3","type":"new"}'),
        ),
        usage=Usage(9, 1),
    )


# --- Claude Code


def session(kind: str, content: object, uuid: str, **more: object) -> Json:
    """A row of a session; `id` and `usage` are those of its API message."""
    message = {"role": kind, "content": content}
    message |= {key: more.pop(key) for key in ("id", "usage", "model") if key in more}
    return {"type": kind, "uuid": uuid, "sessionId": "s", "timestamp": f"T{uuid}", "message": message} | more


def answer(ref: str, content: str) -> list[Json]:
    return [{"type": "tool_result", "tool_use_id": ref, "content": content}]


USAGE = {
    "input_tokens": 4,
    "cache_creation_input_tokens": 900,
    "cache_read_input_tokens": 12000,
    "output_tokens": 60,
}


def in_session(content: object, uuid: str, **more: object) -> Json:
    return session("assistant", [content], uuid, id="m1", usage=USAGE, model="claude-x", **more)


SESSION = (
    {"type": "summary", "summary": "Tiles", "leafUuid": "9"},
    {"type": "file-history-snapshot", "messageId": "2", "snapshot": {}},
    session("user", "<local-command-caveat>", "1", isMeta=True),
    session("user", "Check both.", "2"),
    in_session({"type": "thinking", "thinking": "", "signature": "sig"}, "3"),
    in_session({"type": "text", "text": "I check both."}, "4"),
    in_session(USE | {"id": "a"}, "5"),
    in_session(USE | {"id": "b"}, "6"),
    {"type": "progress", "uuid": "p", "sessionId": "s"},
    session("user", answer("b", "B"), "7"),
    session("user", answer("a", "A"), "8"),
    session("user", "Search.", "s1", isSidechain=True, agentId="a1f2"),
    session("assistant", "Found.", "s2", isSidechain=True, agentId="a1f2"),
    {
        "type": "system", "subtype": "compact_boundary", "sessionId": "s",
        "compactMetadata": {"trigger": "auto", "preTokens": 167000},
    },
    session("user", "This session continues.", "10", isCompactSummary=True),
    session("user", [{"type": "text", "text": "Clean up."}], "11"),
    {"type": "hologram", "uuid": "2", "sessionId": "s"},
    session("assistant", "Log in again.", "12", id="m2", model="<synthetic>", usage={"input_tokens": 0}),
)  # fmt: skip


def test_session_rows():
    """Case 024: one message over four rows, results out of order, sidechain, boundary, unknown type."""
    transcript = load(log(*SESSION))
    assert (transcript.format, transcript.model) == ("claude-session", "claude-x")
    assert transcript.messages == (
        Message("system", (Text("<local-command-caveat>"),), "1", "T1"),
        Message("user", (Text("Check both."),), "2", "T2"),
        Message(
            "assistant",
            (Reasoning("", "sig"), Text("I check both."), ToolCall("a", "f", "{}"), ToolCall("b", "f", "{}")),
            "m1",
            "T3",
            Usage(12904, 60),
        ),
        Message("tool", (ToolResult("b", (Text("B"),)), ToolResult("a", (Text("A"),))), "7", "T7"),
        Message("user", (Text("This session continues."),), "10", "T10"),
        Message("user", (Text("Clean up."),), "11", "T11"),
        Message("assistant", (Text("Log in again."),), "m2", "T12"),
    )
    assert notes(transcript, "sidechain") == [
        'line 12, line 13: a row of the subagent "a1f2"; left out (2 times)'
    ]
    assert notes(transcript, "unknown-row")[0].startswith('line 17: a row of type "hologram"')
    assert "auto, 167000 tokens" in notes(transcript, "compaction")[0]
    assert "1 file-history-snapshot, 1 progress, 1 summary" in notes(transcript, "bookkeeping")[0]


def test_session_shapes_read_alike():
    """A web export, CR LF, blank lines and NULs of a power loss change nothing but the names of places."""
    plain = load(log(*SESSION)).messages
    assert load(packed({"loglines": SESSION})).messages == plain
    assert load(log(*SESSION).replace(b"\n", b"\r\n\r\n")).messages == plain
    damaged = load(b"\0" * 300 + log(*SESSION)[:-1] + b"\0" * 40)
    assert damaged.messages == plain
    assert len(notes(damaged, "nul-bytes")) == 1
    assert "(2 times)" in notes(damaged, "nul-bytes")[0]


def test_rows_that_were_appended_again():
    again = load(log(*SESSION[2:9], SESSION[3], *SESSION[9:]))
    assert again.messages == load(log(*SESSION)).messages
    assert notes(again, "repeated-row")[0].startswith("line 8:")
    changed = session("user", "Something else.", "2")
    assert said(load(log(SESSION[3], changed))) == ["Check both.", "Something else."]


def test_a_subagents_own_file_is_a_conversation():
    transcript = load(log(SESSION[11], SESSION[12]))
    assert said(transcript) == ["Search.", "Found."]
    assert transcript.oddities == ()


def test_one_message_is_one_whatever_comes_between():
    rows = (SESSION[3], SESSION[6], session("user", answer("a", "A"), "7"), SESSION[7])
    transcript = load(log(*rows, session("user", answer("b", "B"), "8")))
    assert outline(transcript) == [
        ("user", ["Text"]),
        ("assistant", ["ToolCall", "ToolCall"]),
        ("tool", ["ToolResult", "ToolResult"]),
    ]


def test_the_last_usage_of_a_message_counts():
    last = session("assistant", [USE], "6", id="m1", usage=USAGE | {"output_tokens": 75})
    assert load(log(SESSION[5], last)).messages[0].usage == Usage(12904, 75)
    unmetered = session("assistant", [USE], "6", id="m1")
    assert load(log(SESSION[5], unmetered)).messages[0].usage == Usage(12904, 60)


def test_an_id_that_comes_again_is_counted_once():
    other = session("assistant", "between", "x", id="m9", usage=USAGE)
    transcript = load(log(SESSION[5], other, SESSION[5] | {"uuid": "y"}, SESSION[6]))
    assert said(transcript) == ["I check both.", "between", "I check both."]
    assert len(transcript.messages[2].parts) == 2
    assert [bool(m.usage) for m in transcript.messages] == [True, True, False]
    assert kinds(transcript) == {"repeated-id": 1}


def test_stream_rows():
    def row(kind: str, content: object, parent: str | None = None, **more: object) -> Json:
        message = {"role": kind, "content": content} | more
        return {"type": kind, "message": message, "parent_tool_use_id": parent, "session_id": "s"}

    transcript = load(
        log(
            {"type": "system", "subtype": "init", "model": "claude-y", "session_id": "s"},
            {"type": "system", "subtype": "thinking_tokens", "session_id": "s"},
            row("user", "Go."),
            row("assistant", [USE], id="m"),
            {"type": "tool_progress", "parent_tool_use_id": "c", "session_id": "s"},
            row("user", "Search.", "c"),
            row("assistant", [{"type": "text", "text": "Found."}], "c", id="sub"),
            {"type": "rate_limit_event", "session_id": "s"},
            {"type": "stream_event", "event": {}, "session_id": "s"},
            row("user", answer("c", "done")),
            {"type": "novelty", "session_id": "s"},
            {"type": "novelty", "session_id": "s"},
            {"type": "result", "result": "done", "usage": {"input_tokens": 99}, "session_id": "s"},
        )
    )
    assert (transcript.format, transcript.model) == ("claude-stream", "claude-y")
    assert outline(transcript) == [("user", ["Text"]), ("assistant", ["ToolCall"]), ("tool", ["ToolResult"])]
    assert kinds(transcript) == {"sidechain": 1, "unknown-row": 1}
    assert notes(transcript, "sidechain")[0].endswith("(2 times)")
    assert notes(transcript, "unknown-row")[0].endswith("(2 times)")


# --- torn lines


def test_a_record_glued_to_a_torn_one_is_read():
    """Case 023: whatever the place of the tear, whole records are read and the damage is named."""
    whole = [packed(row) for row in (SESSION[3], SESSION[5], SESSION[15])]
    for cut in range(1, len(whole[1])):
        data = whole[0] + b"\n" + whole[1][:cut] + whole[2] + b"\n"
        transcript = load(data)
        assert said(transcript) == ["Check both.", "Clean up."], cut
        (note,) = notes(transcript, "torn-line")
        assert note.startswith(f"line 2, byte {len(whole[0]) + 1}: torn: {cut} bytes")
        assert note.endswith("1 whole record on it read")


def test_damage_does_not_spread():
    lines = [
        packed(SESSION[3]),
        b'{"type":"user","uuid":"x',
        b"noise",
        packed(SESSION[15]),
        packed(SESSION[5])[:-9],
    ]
    transcript = load(b"\n".join(lines))
    assert said(transcript) == ["Check both.", "Clean up."]
    torn = [o.where for o in transcript.oddities if o.kind == "torn-line"]
    assert [where.split(",")[0] for where in torn] == ["line 2", "line 3", "line 5"]
    # Two records on one line, and one behind a line that is torn from the start.
    assert said(load(packed(SESSION[3]) + packed(SESSION[15]))) == ["Check both.", "Clean up."]
    assert said(load(b'ion":"x"}}\n' + log(SESSION[3]))) == ["Check both."]


def test_a_log_without_a_good_line():
    for name in ("claude-stream", "claude-session"):
        with pytest.raises(TranscriptError, match="not a single line") as caught:
            load(b'{"type":\nnoise\n', format=name)
        assert (caught.value.line, caught.value.byte) == (1, 0)


@pytest.mark.parametrize("unit", ['{"', '{"a":[1,', '{"a":"\\"', '{"a":"x"} ', '{"type":"a",'])
def test_torn_lines_take_linear_time(unit):
    data = log(SESSION[3]) + unit.encode() * (800_000 // len(unit)) + b"\n"
    begin = time.perf_counter()
    assert said(load(data)) == ["Check both."]
    assert time.perf_counter() - begin < 5


def assert_grown_from(part: Transcript, whole: Transcript) -> None:
    """Every message of `part` is the start of the message of `whole` at its place."""
    assert len(part.messages) <= len(whole.messages)
    for some, full in zip(part.messages, whole.messages, strict=False):
        assert (some.role, some.id) == (full.role, full.id)
        assert some.parts == full.parts[: len(some.parts)]


@pytest.mark.parametrize(
    ("data", "step"),
    [(log(*SESSION), 1), (EXAMPLE.read_bytes(), 211), (log(*SESSION).decode().encode("utf-16"), 7)],
    ids=["session", "example", "wide"],
)
def test_a_log_cut_anywhere_invents_nothing(data, step):
    whole = load(data)
    refused = 0
    for end in range(4, len(data), step):  # from the first character behind a byte order mark
        try:
            part = load(data[:end])
        except TranscriptError:
            refused += 1
            continue
        assert part.format == whole.format
        assert_grown_from(part, whole)
    assert refused < len(data) / step / 4, "only a cut in the first line leaves nothing to read"


# --- ATIF


TRAJECTORY = rb"""{"schema_version": "ATIF-v1.7", "agent": {"name": "a", "model_name": "gemini-3-pro"},
"steps": [
{"step_id": 1, "source": "system", "message": "You fix notebooks.", "timestamp": "T1"},
{"step_id": 2, "source": "user", "message": [
  {"type": "text", "text": "Empty, see:"},
  {"type": "image", "source": {"media_type": "image/png", "path": "plot.png"}}]},
{"step_id": 3, "source": "agent", "message": "", "reasoning_content": "Look.",
 "tool_calls": [{"tool_call_id": "c1", "function_name": "ls", "arguments": {"path": "."}},
                {"tool_call_id": "c2", "function_name": "head", "arguments": {}}],
 "observation": {"results": [{"source_call_id": "c2", "content": "x,y"}]}},
{"step_id": 4, "source": "agent", "message": "Empty.",
 "tool_calls": [{"tool_call_id": "c3", "function_name": "ask", "arguments": {}}],
 "observation": {"results": [
   {"source_call_id": "c3", "content": null, "subagent_trajectory_ref": [{"trajectory_id": "sub-1"}]},
   {"content": "disk is 91 % full"}]},
 "metrics": {"prompt_tokens": 18000, "completion_tokens": 90, "cached_tokens": 12000}},
{"step_id": 7, "source": "agent", "message": "Done.", "tool_calls": [], "model_name": "other"},
{"step_id": 8, "source": "robot", "message": "beep"}],
"subagent_trajectories": [{"trajectory_id": "sub-1", "steps": []}]}"""


def test_trajectory_gaps():
    """Case 028: unanswered calls, results without a call, parts, a subagent, an unknown source."""
    transcript = load(TRAJECTORY)
    assert (transcript.format, transcript.model) == ("atif", "other")
    assert [(m.role, m.parts) for m in transcript.messages] == [
        ("system", (Text("You fix notebooks."),)),
        ("user", (Text("Empty, see:"), Image("image/png", source="plot.png"))),
        (
            "assistant",
            (Reasoning("Look."), ToolCall("c1", "ls", '{"path":"."}'), ToolCall("c2", "head", "{}")),
        ),
        ("tool", (ToolResult("c2", (Text("x,y"),)),)),
        ("assistant", (Text("Empty."), ToolCall("c3", "ask", "{}"))),
        (
            "tool",
            (
                ToolResult("c3", (Opaque("subagent_trajectory_ref", '[{"trajectory_id":"sub-1"}]'),)),
                ToolResult("", (Text("disk is 91 % full"),)),
            ),
        ),
        ("assistant", (Text("Done."),)),
        ("system", (Opaque("robot", '{"step_id":8,"source":"robot","message":"beep"}'),)),
    ]
    assert [m.usage for m in transcript.messages if m.usage] == [Usage(18000, 90)]
    assert kinds(transcript) == {
        "step-order": 1,
        "unknown-step": 1,
        "sidechain": 1,
        "no-id": 1,
        "open-call": 1,
    }


# --- laws


@given(st.one_of(st.binary(max_size=300), st.text(max_size=200).map(str.encode)))
def test_any_bytes_give_a_transcript_or_an_error(data):
    for name in [None, *FORMATS]:
        try:
            transcript = load(data, format=name)
        except TranscriptError:
            continue
        assert transcript.format == (name or transcript.format)
        assert transcript.format in FORMATS


KEYS = (
    "role", "content", "type", "text", "id", "name", "input", "tool_use_id", "tool_calls", "function",
    "arguments", "tool_call_id", "message", "uuid", "source", "steps", "observation", "results",
    "source_call_id", "usage", "thinking", "image_url", "url", "data", "media_type", "isSidechain",
    "refusal", "function_call", "reasoning", "metrics", "step_id", "timestamp", "model", "system",
    "is_error", "input_tokens", "custom", "file",
)  # fmt: skip
WORDS = (
    "user", "assistant", "system", "tool", "function", "agent", "text", "thinking", "tool_use",
    "tool_result", "image", "document", "base64", "url", "image_url", "custom", "refusal", "file",
    "input_audio", "result", "data:image/png;base64,AA==", "redacted_thinking",
)  # fmt: skip
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.sampled_from(WORDS), st.text(max_size=3)
)
JUNK = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(KEYS), inner, max_size=6)
    ),
    max_leaves=25,
)
FRAMES: dict[str, Callable[[list[Any]], bytes]] = {
    "anthropic": lambda values: packed({"system": values[:1], "messages": values}),
    "openai-chat": packed,
    "atif": lambda values: packed({"schema_version": "ATIF-v1.7", "agent": values[0], "steps": values}),
    "claude-stream": lambda values: log(*({"type": "user", "session_id": "s", "message": v} for v in values)),
    "claude-session": lambda values: log(
        *({"type": "assistant", "sessionId": "s", "message": v} for v in values)
    ),
}


@pytest.mark.parametrize("name", FRAMES)
@given(values=st.lists(JUNK, min_size=1, max_size=6))
def test_no_shape_of_json_raises(name, values):
    """Wrong types everywhere: each is read by a rule or kept, never a traceback, never a loss in silence."""
    data = FRAMES[name](values)
    transcript = load(data, format=name)
    assert transcript == load(data, format=name)
    if name in ("anthropic", "openai-chat"):
        strays = [value for value in values if not isinstance(value, dict)]
        kept = [m.parts[0] for m in transcript.messages if m.role == "system" and m.parts]
        kept_json = [part.json for part in kept if isinstance(part, Opaque)]
        for value in strays:
            assert json.dumps(value, ensure_ascii=False, separators=(",", ":")) in kept_json


WORDS_OF = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
ARGUMENTS = st.dictionaries(
    st.text(max_size=5), st.one_of(st.integers(), st.text(max_size=9), st.none()), max_size=3
)
CALLS = st.lists(st.tuples(st.sampled_from(["Bash", "lire"]), ARGUMENTS, WORDS_OF), max_size=3)
TURNS = st.lists(st.tuples(WORDS_OF, WORDS_OF, CALLS), min_size=1, max_size=4)
Turns = list[tuple[str, str, list[tuple[str, Json, str]]]]


def numbered(turns: Turns) -> list[tuple[str, str, list[tuple[str, str, Json, str]]]]:
    """The turns with an id for each call."""
    return [
        (ask, reply, [(f"call{t}.{c}", *call) for c, call in enumerate(calls)])
        for t, (ask, reply, calls) in enumerate(turns)
    ]


def as_anthropic(turns: Turns) -> list[Json]:
    messages: list[Json] = []
    for ask, reply, calls in numbered(turns):
        uses = [{"type": "tool_use", "id": ref, "name": name, "input": args} for ref, name, args, _ in calls]
        messages.append({"role": "user", "content": ask})
        messages.append({"role": "assistant", "content": [{"type": "text", "text": reply}, *uses]})
        if calls:
            messages.append({"role": "user", "content": [answer(ref, out)[0] for ref, _, _, out in calls]})
    return messages


def as_openai(turns: Turns) -> list[Json]:
    messages: list[Json] = []
    for ask, reply, calls in numbered(turns):
        made = [
            {"id": ref, "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
            for ref, name, args, _ in calls
        ]
        messages.append({"role": "user", "content": [{"type": "text", "text": ask}]})
        messages.append({"role": "assistant", "content": reply} | ({"tool_calls": made} if made else {}))
        messages += [{"role": "tool", "tool_call_id": ref, "content": out} for ref, _, _, out in calls]
    return messages


def as_atif(turns: Turns) -> Json:
    steps: list[Json] = []
    for ask, reply, calls in numbered(turns):
        made = [
            {"tool_call_id": ref, "function_name": name, "arguments": args} for ref, name, args, _ in calls
        ]
        seen = [{"source_call_id": ref, "content": out} for ref, _, _, out in calls]
        steps.append({"source": "user", "message": ask})
        steps.append(
            {"source": "agent", "message": reply, "tool_calls": made, "observation": {"results": seen}}
        )
    numbers = [step | {"step_id": n} for n, step in enumerate(steps, 1)]
    return {"schema_version": "ATIF-v1.7", "agent": {}, "steps": numbers}


def as_rows(turns: Turns, session_key: str) -> list[Json]:
    """One row per block, as Claude Code writes them."""
    rows: list[Json] = []
    for n, message in enumerate(as_anthropic(turns)):
        content = message["content"]
        for block in content if isinstance(content, list) else [content]:
            inner = {"role": message["role"], "content": [block] if isinstance(content, list) else block}
            if message["role"] == "assistant":
                inner["id"] = f"msg{n}"
            rows.append(
                {"type": message["role"], session_key: "s", "uuid": f"u{len(rows)}", "message": inner}
            )
    return rows


WRITERS: dict[str, Callable[[Turns], bytes]] = {
    "anthropic": lambda turns: packed(as_anthropic(turns)),
    "openai-chat": lambda turns: json.dumps({"messages": as_openai(turns)}, indent=1).encode(),
    "atif": lambda turns: packed(as_atif(turns)),
    "claude-stream": lambda turns: log(*as_rows(turns, "session_id")),
    "claude-session": lambda turns: log(*as_rows(turns, "sessionId")),
}


@pytest.mark.parametrize("name", WRITERS)
@settings(max_examples=40)
@given(turns=TURNS)
def test_every_word_once_and_in_order(name, turns):
    """A conversation written in any format reads back as itself, whether the format is named or found."""
    expected: list[tuple[str, tuple[Any, ...]]] = []
    for ask, reply, calls in numbered(turns):
        expected.append(("user", (Text(ask),)))
        made = ((ref, call, args) for ref, call, args, _ in calls)
        expected.append(("assistant", (Text(reply), *made)))
        if calls:
            expected.append(("tool", tuple(ToolResult(ref, (Text(out),)) for ref, _, _, out in calls)))
    data = WRITERS[name](turns)
    for transcript in (load(data), load(data, format=name)):
        assert transcript.oddities == ()
        assert [
            (
                m.role,
                tuple(
                    (p.id, p.name, json.loads(p.arguments)) if isinstance(p, ToolCall) else p for p in m.parts
                ),
            )
            for m in transcript.messages
        ] == expected


def test_importing_readers_is_light():
    """Neither NumPy nor a single reader comes before something is read."""
    code = (
        "import sys, snapshot.transcripts as t\n"
        "late = {'numpy', 'numba', 'freetype', 'difflib', 'snapshot.transcripts.atif'}\n"
        "assert not late & set(sys.modules)\n"
        "print(t.load(b'hi').format)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[1]
    )
    assert (run.stdout, run.stderr) == ("text\n", "")
