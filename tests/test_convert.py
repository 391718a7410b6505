"""`snapshot convert` as a person and as a script meet it."""

from __future__ import annotations

import gzip
import json

import pytest

from snapshot.transcripts import READ_ONLY, dump, load
from snapshot.transcripts.registry import FORMATS
from tests.test_cli import EXAMPLE, run
from tests.transcript_strategies import alike


def test_what_is_lost_is_said_where_the_output_is_not(tmp_path):
    result = run("convert", EXAMPLE, "--to", "openai-chat", "-o", tmp_path / "chat.json")
    first, second, *lines = result.stdout.splitlines()
    assert first.endswith(
        f"chat.json: {len(load(EXAMPLE).messages)} messages, from claude-stream to openai-chat"
    )
    assert second == "what openai-chat cannot hold:"
    assert any("the signature of reasoning" in line and "(messages " in line for line in lines)
    counts = [int(line.split()[0].replace(",", "")) for line in lines]
    assert counts == sorted(counts, reverse=True)
    piped = run("convert", EXAMPLE, "--to", "openai-chat")
    assert piped.stdout.encode() == (tmp_path / "chat.json").read_bytes()
    assert piped.stderr.splitlines() == [second, *lines]


def test_nothing_lost_nothing_said(tmp_path):
    result = run("convert", EXAMPLE, "--to", "claude-session", "-o", tmp_path / "s.jsonl")
    first, second = result.stdout.splitlines()
    assert first.endswith("from claude-stream to claude-session")
    assert second.startswith("to go on with it: name it ")
    assert alike(load(tmp_path / "s.jsonl")) == alike(load(EXAMPLE))


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in READ_ONLY])
def test_formats_go_through_a_pipe(name):
    data = run("convert", EXAMPLE, "--to", name).stdout.encode()
    result = run("convert", "-", "--from", name, "--to", "anthropic", stdin=data)
    messages = json.loads(result.stdout)["messages"]
    whole = load(EXAMPLE).messages
    if name == "text":
        assert len(messages) == 1
    elif name == "markdown":  # results are words of the answer
        assert len(messages) == sum(message.role != "tool" for message in whole)
    else:
        assert len(messages) == len(whole)


def test_the_account_as_json(tmp_path):
    out = tmp_path / "chat.json.gz"
    told = json.loads(run("convert", EXAMPLE, "--to", "gemini", "-o", out, "--json").stdout)
    assert (told["from"], told["to"], told["file"]) == ("claude-stream", "gemini", str(out))
    assert {loss["kind"] for loss in told["losses"]} == {"id", "time", "usage"}
    assert told["bytes"] == len(gzip.decompress(out.read_bytes()))


@pytest.mark.parametrize("name", ["s.jsonl.gz", "s.jsonl.zst"])
def test_compressed_by_its_suffix_and_read_again(tmp_path, name):
    run("convert", EXAMPLE, "--to", "pi", "-o", tmp_path / name)
    assert (tmp_path / name).stat().st_size < EXAMPLE.stat().st_size / 2
    assert load(tmp_path / name).messages == load(dump(load(EXAMPLE), "pi").data).messages


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--to", "gemni"], "unknown format 'gemni'; did you mean 'gemini'?"),
        (["--to", "gemini", "--json"], "--json needs -o FILE"),
        (["--to", "gemini", "-o", "."], "is a folder; name a file"),
        (["--to", "gemini", "-o", "no/such/folder.json"], "cannot be written"),
        (["--to", "gemini", "--from", "atif"], "no trajectory in it"),
    ],
)
def test_mistakes_are_one_line_and_leave_no_file(tmp_path, monkeypatch, arguments, problem):
    monkeypatch.chdir(tmp_path)
    result = run("convert", EXAMPLE, *arguments, check=2)
    assert problem in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not result.stdout
    assert not list(tmp_path.iterdir())
