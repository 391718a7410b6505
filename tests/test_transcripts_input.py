"""What stands around a transcript: compression, encodings, size, damage, several conversations in one."""

from __future__ import annotations

import gzip
import json
import os
import random
import sys
import threading
import tracemalloc
import zlib
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshot.errors import TranscriptError
from snapshot.messages import Message, Text, ToolResult, Transcript
from snapshot.transcripts import conversations, detect, load
from snapshot.transcripts.io import unpack
from tests.transcript_samples import (
    EXAMPLE,
    PLAIN,
    SESSION,
    SESSION_ROW,
    STREAM_ROW,
    answer,
    assert_grown_from,
    kinds,
    log,
    notes,
    only,
    packed,
    parts_of,
    said,
    session,
)

zstd = import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
PACKERS = {"gzip": gzip.compress, "zstd": zstd.compress}

# --- compression


@pytest.mark.parametrize("tool", PACKERS)
@pytest.mark.parametrize("name", ["log", "document", "text", "wide"])
def test_compressed_input_reads_as_what_is_in_it(tool, name, tmp_path):
    data = {
        "log": EXAMPLE.read_bytes(),
        "document": packed(PLAIN),
        "text": b"\xef\xbb\xbfwords\n",
        "wide": packed(PLAIN).decode().encode("utf-16"),
    }[name]
    path = tmp_path / "session"
    path.write_bytes(PACKERS[tool](data))
    assert load(path) == load(PACKERS[tool](data)) == load(data)
    assert detect(path) == detect(data)


@pytest.mark.parametrize("tool", PACKERS)
def test_compressed_input_that_is_cut_or_broken_is_named(tool):
    whole = PACKERS[tool](EXAMPLE.read_bytes())
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0xFF
    broken = [bytes(flipped)] if tool == "gzip" else []  # by default zstd has no sum to check
    for damaged in (whole[: len(whole) // 2], whole[:-3], whole[:7], *broken):
        with pytest.raises(TranscriptError, match=rf"{tool} data (ends too early|is damaged).*salvage"):
            load(damaged)
    with pytest.raises(TranscriptError, match="ends too early; read up to there; nothing to read"):
        load(whole[:20], salvage=True)


@pytest.mark.parametrize("tool", PACKERS)
def test_what_is_left_of_a_compressed_log_is_salvaged(tool):
    letters = random.Random(1)
    words = ["".join(letters.choices("abcdefgh ", k=900)) for _ in range(600)]
    rows = [
        SESSION_ROW | {"uuid": str(n), "message": {"role": "user", "content": w}} for n, w in enumerate(words)
    ]
    whole = PACKERS[tool](log(*rows))
    half = load(whole[: len(whole) // 2], salvage=True)
    assert 100 < len(half.messages) < 400
    assert said(half) == words[: len(half.messages)]
    assert "data ends too early; read up to there" in notes(half, "truncated")[0]


@given(st.binary(max_size=60), st.sampled_from([b"\x1f\x8b", b"\x1f\x8b\x08\0", b"\x28\xb5\x2f\xfd"]))
def test_any_bytes_behind_a_magic_are_one_error(data, magic):
    with pytest.raises(TranscriptError):
        load(magic + data)


@pytest.mark.parametrize("tool", PACKERS)
def test_a_bomb_is_refused_before_it_goes_off(tool, monkeypatch):
    """What is held at most is the bound, and the bound is far from what it would unpack to."""
    monkeypatch.setattr(unpack, "_FREE", 1 << 20)
    bomb = PACKERS[tool](b"[" + b" " * (64 << 20))
    tracemalloc.start()
    with pytest.raises(TranscriptError, match=r"unpacks to more than \d+ MiB, over 200 times its size"):
        load(bomb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 << 20


def test_an_honest_ratio_is_no_bomb(monkeypatch):
    monkeypatch.setattr(unpack, "_FREE", 1 << 10)
    data = log(*(SESSION_ROW | {"uuid": str(number)} for number in range(400)))
    assert len(data) > 10 * len(zlib.compress(data))
    assert load(gzip.compress(data)) == load(data)


def test_without_a_zstandard_module_the_error_says_how_to_get_one(monkeypatch):
    monkeypatch.setattr(unpack, "zstd_module", lambda: None)
    with pytest.raises(TranscriptError, match=r"pip install 'snapshot-pages\[zstd\]'"):
        load(zstd.compress(b"words"))


# --- files that hold no text


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"PK\x03\x04\x14\0\0\0", "zip archive; unpack it"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "PNG image"),
        (b"%PDF-1.7\n%\xe2\xe3", "PDF"),
        (b"SQLite format 3\0\x10", "SQLite database"),
        (b"\xfd7zXZ\0\0", "xz -d"),
    ],
)
def test_binary_files_are_named(data, what):
    for call in (load, detect, conversations):
        with pytest.raises(TranscriptError, match=what):
            call(data)
    assert load(data, format="text").format == "text"
    assert load(b"GIF89a is a format, BZh a magic, PK an archive").format == "text"


# --- encodings


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_wide_json_needs_no_mark(encoding):
    plain = json.dumps([{"role": "user", "content": "é→記🎉"}], ensure_ascii=False)
    assert load(plain.encode(encoding)) == load(plain.encode())
    rows = log(SESSION_ROW, SESSION_ROW | {"uuid": "v"}).decode()
    assert load(rows.encode(encoding)) == load(rows.encode())


def test_a_line_in_another_encoding_spoils_itself_only():
    odd = SESSION_ROW | {"uuid": "w", "message": {"role": "user", "content": "café"}}
    data = (
        log(SESSION_ROW)
        + json.dumps(odd, ensure_ascii=False).encode("latin-1")
        + b"\n"
        + log(SESSION_ROW | {"uuid": "v"})
    )
    transcript = load(data)
    assert said(transcript) == ["hi", "café", "hi"]
    assert notes(transcript, "cp1252")[0].startswith("line 2:")
    assert kinds(load("It’s “ok” – olé\nja".encode("cp1252"))) == {"cp1252": 1}


# --- size


@pytest.mark.parametrize("format_name", ["claude-session", "codex"])
def test_a_log_is_held_once(format_name, tmp_path):
    """While it is read, a log takes little more memory than its transcript: not bytes and text as well."""
    letters = random.Random(1)
    path = tmp_path / "log.jsonl"
    with path.open("wb") as file:
        for number in range(3000):
            text = "".join(letters.choices("abcdefgh ", k=2000))
            row: dict[str, Any] = session("user", text, str(number), toolUseResult={"stdout": text})
            if format_name == "codex":
                item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
                row = {"timestamp": "T", "type": "response_item", "payload": item}
            file.write(packed(row) + b"\n")
    load(log(SESSION_ROW))  # readers are imported
    tracemalloc.start()
    transcript = load(path)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (transcript.format, len(transcript.messages)) == (format_name, 3000)
    assert peak - kept < path.stat().st_size / 4


def test_a_minified_line_and_base64_in_text_are_words():
    line = "x=1;" * 400_000
    payload = "data:image/png;base64," + "iVBORw0KGgo" * 2000
    for text in (line, payload):
        assert said(load(log(SESSION_ROW | {"message": {"role": "user", "content": text}}, SESSION_ROW))) == [
            text,
            "hi",
        ]
        assert said(load(packed([{"role": "user", "content": text}]))) == [text]


# --- damage


WORDS = [f'né {number} [{{\\"' for number in range(4)]
CUT: dict[str, Any] = {
    "array": [{"role": "user", "content": [{"type": "text", "text": text}]} for text in WORDS],
    "object": {
        "model": "m",
        "n": 1,
        "messages": [{"role": "user", "content": text} for text in WORDS],
        "z": 1,
    },
    "export": [{"uuid": "K", "chat_messages": [{"sender": "human", "text": text} for text in WORDS]}],
    "outputs": [
        {"type": "function_call_output", "call_id": text, "output": [{"type": "input_text", "text": text}]}
        for text in WORDS
    ],
    "calls": [
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": text, "name": "f", "input": {"messages": [text, 1]}}],
        }
        for text in WORDS
    ],
    "steps": {
        "schema_version": "ATIF-v1.7",
        "steps": [{"step_id": n, "source": "user", "message": text} for n, text in enumerate(WORDS, 1)],
    },
}


@pytest.mark.parametrize("name", CUT)
def test_a_cut_document_is_salvaged_to_its_last_whole_message(name):
    """Whatever the cut: whole messages before it are there, nothing is invented, and the place is said."""
    data = packed(CUT[name])
    whole = load(data)
    steps: list[int] = []
    for end in range(1, len(data)):
        part = salvage(data[:end])
        if part is None:
            assert not steps
            continue
        # One message of results may hold several of them.
        assert_grown_from(part, whole)
        steps.append(len(parts_of(part)))
        (note,) = notes(part, "truncated")
        assert note.startswith(
            f"byte {end}: the JSON ends in the middle of a value; complete records before it: "
        )
    assert steps == sorted(steps)
    parts = len(parts_of(whole))
    assert set(steps) == {parts * kept // 4 for kept in range(1, 5)}
    with pytest.raises(TranscriptError, match="salvage"):
        load(data[:-1])


def salvage(data: bytes) -> Transcript | None:
    try:
        return load(data, salvage=True)
    except TranscriptError as error:
        if "ends in the middle" not in str(error):
            raise
    return None


def test_salvage_of_a_broken_document_stops_where_it_breaks():
    data = packed([{"role": "user", "content": text} for text in "abc"]).replace(
        b'"user", "content": "b"', b'"user" "b"'
    )
    with pytest.raises(TranscriptError, match="not valid JSON"):
        load(data)
    transcript = load(data, salvage=True)
    assert (said(transcript), kinds(transcript)) == (["a"], {"truncated": 1})


# --- several conversations


def test_subagents_are_conversations():
    data = log(*SESSION)
    main, side = conversations(data)
    assert (main.id, main.title, main.main) == ("main", "Tiles", True)
    assert (side.id, side.title, side.messages, side.main) == ("a1f2", "Search.", 2, False)
    assert load(data) == load(data, conversation="main")
    assert said(load(data, conversation="a1f2")) == ["Search.", "Found."]
    rows = (STREAM_ROW, STREAM_ROW | {"uuid": "v", "parent_tool_use_id": "call-1"})
    assert [c.id for c in conversations(log(*rows))] == ["main", "call-1"]
    assert len(load(log(*rows), conversation="call").messages) == 1


def row(kind: str, text: object, uuid: str, parent: str | None) -> dict[str, Any]:
    return session(kind, text, uuid, parentUuid=parent, id=f"m{uuid}" if kind == "assistant" else None)


def test_a_branch_that_was_left_is_a_conversation():
    """Going back and asking anew leaves the words that were said; parallel results are no branch."""
    call = [{"type": "tool_use", "id": f"c{n}", "name": "f", "input": {}} for n in range(2)]
    data = log(
        row("user", "Start.", "1", None),
        session("assistant", call[:1], "2", parentUuid="1", id="m"),
        session("assistant", call[1:], "3", parentUuid="2", id="m"),
        row("user", answer("c0", "A"), "4", "2"),
        row("user", answer("c1", "B"), "5", "3"),
        row("assistant", "First.", "6", "5"),
        row("user", "Wrong way.", "7", "6"),
        row("assistant", "Lost.", "8", "7"),
        row("user", "Lost as well?", "9", "8"),
        row("user", "Again lost.", "10", "8"),
        row("user", "Right way.", "11", "6"),
        row("assistant", "Found.", "12", "11"),
    )
    transcript = load(data)
    assert said(transcript) == ["Start.", "First.", "Right way.", "Found."]
    assert len(only(parts_of(transcript), ToolResult)) == 2
    assert kinds(transcript) == {"branch": 2}
    ids = [c.id for c in conversations(data)]
    assert ids == ["main", "9", "7"]
    assert said(load(data, conversation="7")) == ["Start.", "First.", "Wrong way.", "Lost.", "Again lost."]
    assert said(load(data, conversation="9")) == ["Start.", "First.", "Wrong way.", "Lost.", "Lost as well?"]


def test_a_gap_in_the_tree_is_no_branch():
    data = log(row("user", "a", "1", "gone"), row("user", "b", "2", "1"), row("user", "c", "3", "gone too"))
    assert said(load(data)) == ["a", "b", "c"]
    assert [c.id for c in conversations(data)] == ["main"]


def test_as_sent_starts_at_the_newest_compaction():
    kept = {"type": "system", "subtype": "compact_boundary", "sessionId": "s", "uuid": "b",
            "compactMetadata": {"preservedMessages": {"uuids": ["2"]}}}  # fmt: skip
    data = log(
        row("user", "a", "1", None),
        row("user", "b", "2", "1"),
        kept,
        session("user", "Sum.", "3", parentUuid="b", isCompactSummary=True),
        row("user", "c", "4", "3"),
    )
    assert said(load(data)) == ["a", "b", "Sum.", "c"]
    assert load(data).messages[2].role == "system"
    sent = load(data, as_sent=True)
    assert sent.messages[0] == Message("user", (Text("Sum."),), "3", "T3")
    assert said(sent) == ["Sum.", "b", "c"]
    assert load(log(SESSION_ROW), as_sent=True) == load(log(SESSION_ROW))


def test_lists_of_messages_in_lines():
    """A line for each message is one conversation; a line for each list is one each."""
    assert load(log(*PLAIN)).messages == load(packed(PLAIN)).messages
    training = log({"messages": PLAIN}, {"id": "x", "messages": PLAIN[:1]})
    assert [(c.id, c.title, c.messages) for c in conversations(training)] == [("1", "hi", 2), ("x", "hi", 1)]
    assert said(load(training, conversation="x")) == ["hi"]
    batch = log(*({"custom_id": f"r-{n}", "params": {"system": "s", "messages": PLAIN}} for n in range(2)))
    assert said(load(batch, conversation="r-1")) == ["s", "hi", "yes"]
    with pytest.raises(TranscriptError, match=r'several conversations start with "r-"'):
        load(batch, conversation="r-")
    with pytest.raises(TranscriptError, match='did you mean "r-0"'):
        load(batch, conversation="r.0")


def test_an_export_with_a_broken_conversation_keeps_the_others():
    good = {"uuid": "K", "chat_messages": [{"sender": "human", "text": "hi"}]}
    data = packed(
        [good, None, good | {"uuid": "L"}, {"uuid": "M"}, good | {"uuid": "N", "chat_messages": []}]
    )
    assert [c.id for c in conversations(data)] == ["K", "L", "N"]
    transcript = load(data, conversation="L")
    assert (said(transcript), kinds(transcript)) == (["hi"], {"unknown-row": 1})


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_read_once(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(log(SESSION_ROW),))
    writer.start()
    assert said(load(pipe)) == ["hi"]
    writer.join()
