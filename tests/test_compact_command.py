"""`snapshot compact` on a request that it made before: the archive beside it is found and continued."""

from __future__ import annotations

import json

import pytest

from snapshot.compaction import Archive
from snapshot.messages import Image
from tests.test_cli import run

MODEL = "claude-opus-4-8"


def talk(first: int, last: int) -> list[dict]:
    return [
        message
        for n in range(first, last)
        for message in (
            {"role": "user", "content": f"Look at part {n}."},
            {
                "role": "assistant",
                "content": f"Part {n}: " + f"entry {n} of the register, file_{n}. " * 60,
            },
        )
    ]


@pytest.fixture
def compacted(tmp_path):
    """A request that was compacted and went on, and the whole conversation."""
    session, request = tmp_path / "session.json", tmp_path / "request.json"
    session.write_text(json.dumps({"messages": talk(0, 60)}), encoding="utf-8")
    run("compact", session, "-m", MODEL, "--window", "50000", "-o", request)
    body = json.loads(request.read_text(encoding="utf-8"))
    body["messages"] += talk(60, 100)
    request.write_text(json.dumps(body), encoding="utf-8")
    return request


def test_the_archive_beside_a_request_is_continued(compacted, tmp_path):
    again = tmp_path / "again.json"
    result = run("compact", compacted, "-m", MODEL, "--window", "50000", "-o", again)
    assert f"continuing the archive {compacted.with_suffix('.archive.json')}" in result.stderr
    archive = Archive.from_json(again.with_suffix(".archive.json").read_text(encoding="utf-8"))
    # What was said first is found again, and no page is an image in the archive.
    assert archive.search("Look at part 3.")
    assert not any(isinstance(part, Image) for message in archive.messages for part in message.parts)


def test_an_archive_that_is_not_there_is_told(compacted, tmp_path):
    compacted.with_suffix(".archive.json").rename(tmp_path / "elsewhere.json")
    result = run("compact", compacted, "-m", MODEL, "--window", "50000", "-o", tmp_path / "again.json")
    assert "its pages stay as they are (--archive FILE names the archive)" in result.stderr


def test_a_conversation_that_was_not_compacted_has_none(tmp_path):
    session = tmp_path / "session.json"
    session.write_text(json.dumps({"messages": talk(0, 60)}), encoding="utf-8")
    session.with_suffix(".archive.json").write_text("no archive of this", encoding="utf-8")
    result = run("compact", session, "-m", MODEL, "--window", "50000", "-o", tmp_path / "request.json")
    assert "archive" not in result.stderr
    assert session.with_suffix(".archive.json").read_text(encoding="utf-8") == "no archive of this"
