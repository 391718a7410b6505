"""Messages on disk: tags that never change, files of before there were tags, and what is no message."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from snapshot.compaction.archive import Archive
from snapshot.messages import File, Image, Message, Opaque, Reasoning, Text, ToolCall, ToolResult, Usage
from snapshot.serialization import from_json, to_json
from snapshot.session import Store

DATA = Path(__file__).parent / "data"
_PICTURE = Image("image/png", b"\x89PNG\r\n")
_CALL = ToolCall("c1", "read", '{"path": "log.txt"}')
# What both files with class names hold, which were written before there were tags.
STORED = (
    Message("user", (Text("read the log"), _PICTURE, File("a.pdf", "application/pdf", b"%PDF"))),
    Message("assistant", (Reasoning("the log first"), Text("reading"), _CALL)),
    Message("tool", (ToolResult("c1", (Text("line 1\nline 2"), Image("image/png", b"\x89PNG"))),)),
    Message("assistant", (Opaque("server_tool", '{"type": "server_tool"}'), Text("done"))),
)


def test_every_part_has_its_tag():
    tags = [part["is"] for message in STORED for part in to_json(message)["parts"]]
    inner = [part["is"] for part in to_json(STORED[2])["parts"][0]["content"]]
    assert tags == ["text", "image", "file", "reasoning", "text", "call", "result", "opaque", "text"]
    assert inner == ["text", "image"]


@pytest.mark.parametrize("message", STORED, ids=lambda message: message.role)
def test_there_and_back(message):
    assert from_json(json.loads(json.dumps(to_json(message)))) == message


def test_an_archive_with_class_names_is_read_and_written_with_tags():
    archive = Archive.from_json((DATA / "class_names.archive.json").read_bytes())
    assert archive.messages == STORED[1:]
    again = json.loads(archive.to_json())
    assert [part["is"] for part in again["messages"][0]["parts"]] == ["reasoning", "text", "call"]
    assert Archive.from_json(archive.to_json()) == archive


def test_a_store_with_class_names_is_read_and_gone_on_with(tmp_path):
    path = tmp_path / "sessions.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((DATA / "class_names.store.sql").read_text(encoding="utf-8"))
    with Store(path) as store:
        assert not any(damage for _, damage in store.check())
        history = store.history("first")
        assert tuple(message for _, message in history.path()) == STORED
        history.append([Message("user", (Text("and now?"),))])
        assert len(history.path()) == len(STORED) + 1
        bodies = [row[0] for row in store.database.run("SELECT body FROM nodes ORDER BY seq")]
    assert '"is": "Text"' in bodies[0]  # the record is never rewritten
    assert '"is": "text"' in bodies[-1]


@pytest.mark.parametrize(
    "change",
    [
        {"role": 5},
        {"id": ["x"]},
        {"time": 1.5},
        {"usage": ["1", 2]},
        {"usage": [1, 2, 3]},
        {"raw": ["x"]},
        {"parts": None},
        {"parts": [{"is": "text", "text": 5}]},
        {"parts": [{"is": "text"}, "x"]},
        {"parts": [{"is": "nothing"}]},
        {"parts": [{"text": "x"}]},
        {"parts": [{"is": "text", "text": "x", "other": "y"}]},
        {"parts": [{"is": "result", "call_id": "c", "content": "x"}]},
        {"parts": [{"is": "result", "call_id": "c", "content": [], "is_error": "no"}]},
        {"parts": [{"is": "image", "media_type": "image/png", "data": "*"}]},
        {"parts": [{"is": "image", "media_type": "image/png", "data": 7}]},
    ],
    ids=str,
)
def test_what_is_no_message_is_refused(change):
    good = to_json(Message("user", (Text("x"),), "id", "2026", Usage(1, 2)))
    assert from_json(good)
    with pytest.raises((KeyError, TypeError, ValueError, AttributeError)):
        from_json({**good, **change})
