"""Readers: formats are told apart by content, and damage is named instead of raised."""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path

import pytest

from snapshot.errors import TranscriptError
from snapshot.messages import (
    Message,
    Text,
    ToolCall,
    ToolResult,
    Transcript,
)
from snapshot.transcripts import load
from snapshot.transcripts.registry import FORMATS
from tests.conftest import HERE, REAL
from tests.transcript_samples import (
    DETECTED,
    EXAMPLE,
    PLAIN,
    SESSION,
    SESSION_ROW,
    assert_as_logged,
    assert_grown_from,
    log,
    notes,
    only,
    packed,
    parts_of,
    raw_rows,
    said,
)

# --- real logs, counted anew from their JSON


@pytest.mark.parametrize("file", [name for name in REAL if name.endswith(".claude-stream.jsonl")])
def test_real_streams(real: Path, file):
    stream = real / file
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


@pytest.mark.parametrize("file", ["data/excerpt.atif.json", *(name for name in REAL if ".atif." in name)])
def test_real_trajectories(real: Path, file):
    path = HERE / file if file.startswith("data/") else real / file
    steps = json.loads(path.read_bytes())["steps"]
    transcript = load(path)
    assert (transcript.format, transcript.model, transcript.diagnostics) == ("atif", "claude-opus-5", ())
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


@pytest.mark.parametrize(("data", "name"), DETECTED.values(), ids=DETECTED.keys())
def test_detection_goes_by_content(data, name, tmp_path):
    path = tmp_path / "misleading.md"
    path.write_bytes(data)
    assert load(path).format == load(str(path)).format == load(data).format == name


@pytest.mark.parametrize("name", FORMATS)
def test_insisting_on_a_format(name):
    """A reader takes what it was told to take, or says what it misses."""
    data = packed(PLAIN)
    missed = {
        "qwen-code": "parts", "opencode": "session", "openhands": "event", "copilot-cli": "events",
        "gemini-cli": "messages", "aider": "aider chat",
    }  # fmt: skip
    missed |= {"atif": "steps", "chatgpt-export": "mapping", "chatml": "im_start", "markdown": "headings"}
    if name in missed:
        with pytest.raises(TranscriptError, match=missed[name]):
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
    [
        (b"\xffcaf\xe9 \xc3\xa9", "byte 0"),
        (b"\xef\xbb\xbfcaf\xe9", "byte 6"),
        (b"\xff\xfea\0\0\xd8", "byte 4"),
    ],
)
def test_bytes_that_are_no_text(data, where):
    transcript = load(data)
    assert "\ufffd" in said(transcript)[0]
    assert [o.where for o in transcript.diagnostics if o.kind == "invalid-utf8"] == [where]


def test_bad_bytes_in_a_log_spoil_one_character_only():
    data = log(SESSION_ROW, SESSION_ROW | {"uuid": "v"}).replace(b"hi", b"h\xe9\x81", 1)
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
    assert not load(json.dumps([{"role": "user", "content": "👍🏽"}]).encode()).diagnostics


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
    assert call == ToolCall("1e400", "f", f'{{"a":"NaN","b":{digits}}}')


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
    torn = [o.where for o in transcript.diagnostics if o.kind == "torn-line"]
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
    data = log(SESSION[3]) + unit.encode() * (300_000 // len(unit)) + b"\n"
    assert said(load(data)) == ["Check both."]  # were the work quadratic, this would not end


@pytest.mark.parametrize(
    ("data", "step"),
    [(log(*SESSION), 3), (EXAMPLE.read_bytes(), 211), (log(*SESSION).decode().encode("utf-16"), 7)],
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
