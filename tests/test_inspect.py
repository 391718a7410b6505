"""`snapshot inspect`: what it says is so, and a person can read it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings

from snapshot.compaction.estimate import Estimator
from snapshot.inspection import inspect
from snapshot.messages import Image, Message, Text, ToolCall, ToolResult, Transcript
from snapshot.models.ids import profile_for
from snapshot.transcripts import dump, load
from tests.conftest import HERE, case, examples
from tests.conversations import long_conversation, png
from tests.test_cli import EXAMPLE, run
from tests.transcript_strategies import transcripts

MODEL = "claude-opus-4-8"


@settings(max_examples=examples(10))
@given(transcript=transcripts)
def test_the_shares_are_the_whole(transcript):
    found = inspect(transcript, model=MODEL)
    assert sum(share.tokens for share in found.shares) == found.tokens
    assert found.tokens == Estimator(profile_for(MODEL)).messages(transcript.messages)
    assert sum(found.roles.values()) == found.messages == len(transcript.messages)
    parts = [part for message in transcript.messages for part in message.parts]
    assert sum(tool.calls for tool in found.tools) == sum(isinstance(part, ToolCall) for part in parts)
    assert sum(tool.failed for tool in found.tools) == sum(
        part.is_error for part in parts if isinstance(part, ToolResult)
    )
    json.dumps(found.as_json())


def test_tools_images_and_rungs():
    body = "x = 1\n" * 400
    asked = [ToolCall("a", "Read", '{"path":"a"}'), ToolCall("b", "Shot", "{}")]
    shown = ToolResult(
        "b", (Image("image/png", png(1200, 800)), Image("image/png", source="https://x/y.png"))
    )
    turn = (
        Message("user", (Text("Look."),)),
        Message("assistant", tuple(asked)),
        Message("tool", (ToolResult("a", (Text(body),), is_error=False), shown)),
        Message("assistant", (Text("Seen."),)),
    )
    again = [ToolCall("c", "Read", '{"path":"a"}')]
    later = (
        Message("user", (Text("Again."),)),
        Message("assistant", tuple(again)),
        Message("tool", (ToolResult("c", (Text(body),)),)),
        Message("assistant", (Text("The same."),)),
    )
    found = inspect(Transcript(turn + later + long_conversation(30).messages[1:], "anthropic"), model=MODEL)
    assert [(tool.name, tool.calls) for tool in found.tools] == [("Read", 32), ("Shot", 1)]
    assert (found.images.count, found.images.sizes, found.images.unknown) == (2, (((1200, 800), 1),), 1)
    freed = {rung.rung: rung.tokens for rung in found.rungs}
    assert list(freed) == ["elide", "images", "snapshot", "summarize"]
    assert freed["elide"] > 0
    assert freed["images"] > 0
    assert found.turns == 32


def test_the_table_is_for_people(monkeypatch):
    monkeypatch.chdir(HERE)  # a long path breaks a line
    for path in (
        path.relative_to(HERE) for path in [EXAMPLE, *sorted(HERE.glob("cases/0[0123][2458]*/input.*"))]
    ):
        result = run("inspect", path)
        lines = result.stdout.splitlines()
        assert lines[0].startswith("file           ")
        assert lines[1].startswith("format         ")
        assert all(len(line) <= 100 for line in lines), max(lines, key=len)
        assert all(line.isprintable() for line in lines)
        diagnostics = load(path, salvage=True).diagnostics
        assert ("diagnostics    none" in lines) == (not diagnostics)
        assert all(any(line.startswith(diagnostic.kind) for line in lines) for diagnostic in diagnostics)


def test_json_is_one_object_with_all_of_it():
    told = json.loads(run("inspect", EXAMPLE, "--json", "-m", "gpt-5.6-sol").stdout)
    assert told["format"] == "claude-stream"
    assert told["detections"][0]["confidence"] > 0.5
    assert told["detections"][0]["reason"]
    assert told["inspection"]["model"] == "gpt-5.6-sol"
    assert told["inspection"]["messages"] == len(load(EXAMPLE).messages)
    assert {"shares", "tools", "images", "rungs", "diagnostics"} < set(told["inspection"])


def test_standard_input_and_a_format_that_is_insisted_on():
    data = dump(load(EXAMPLE), "anthropic").data
    assert "anthropic, confidence" in run("inspect", "-", stdin=data).stdout
    told = run("inspect", "-", "--from", "text", stdin=data).stdout
    assert "text, insisted on; by its content anthropic" in told
    assert told.startswith("file           standard input, ")


def test_one_of_several_is_marked_and_can_be_chosen():
    path = case("024") / "input.jsonl"
    told = run("inspect", path).stdout.splitlines()
    assert [line.split()[1] for line in told if line.startswith("* ")] == ["main"]
    told = run("inspect", path, "--conversation", "a1f").stdout.splitlines()
    assert [line.split()[1] for line in told if line.startswith("* ")] == ["a1f2"]


def test_an_export_of_several_is_a_list_to_choose_from(tmp_path):
    (talk,) = json.loads(dump(load(EXAMPLE), "claude-export").data)
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([talk | {"uuid": f"id-{n}", "name": f"Talk {n}"} for n in range(30)]))
    lines = run("inspect", path).stdout.splitlines()
    assert "conversations  30; none is the main one" in lines
    assert sum("Talk " in line for line in lines) == 12
    assert lines[-1].startswith("Choose one: ")
    told = json.loads(run("inspect", path, "--json").stdout)
    assert len(told["conversations"]) == 30
    assert told["inspection"] is None
    chosen = json.loads(run("inspect", path, "--json", "--conversation", "id-7").stdout)
    assert chosen["inspection"]["messages"] == len(load(EXAMPLE).messages)


@pytest.mark.parametrize(
    ("stdin", "arguments", "problem"),
    [
        (b"", ["-"], "standard input: it is empty"),
        (b"hi", ["-", "--from", "x"], "unknown format 'x'"),
        (b"hi", ["-", "-m", "no-such-model"], "no-such-model"),
        (b"hi", ["-", "--conversation", "x"], "no conversation"),
        (b"", ["no/such/file"], "no such file"),
    ],
)
def test_mistakes_are_one_line(stdin, arguments, problem):
    result = run("inspect", *arguments, stdin=stdin, check=2)
    assert problem in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not result.stdout


def test_the_real_ones(real):
    for path in sorted(real.glob("*.json*")):
        told = json.loads(run("inspect", path, "--json").stdout)["inspection"]
        assert told["diagnostics"] == []
        assert not any("kept whole" in share["name"] for share in told["shares"])
        assert next(rung for rung in told["rungs"] if rung["rung"] == "snapshot")["tokens"] > 0


@pytest.mark.parametrize(
    "text", ["word " * 120_000, "x" * 600_000, "{}", ""], ids=["words", "a run", "braces", "nothing"]
)
def test_any_size_can_be_looked_at(text):
    """Also where nothing would fit: then every rung says so."""
    found = inspect(Transcript((Message("user", (Text(text),)),), "anthropic"), model="gpt-4o")
    assert [rung.rung for rung in found.rungs] == ["elide", "images", "snapshot", "summarize"]
    assert bool(found.limits) == (found.tokens > 128_000)
    if found.limits:
        assert found.limits[0].startswith(f"{found.tokens:,} tokens, and the window")


def test_limits_and_true_types_are_named():
    jpeg = Image("image/png", b"\xff\xd8\xff\xe0" + bytes(60))
    large = Image("image/png", png(9000, 10))
    many = tuple(Image("image/png", png(8, 8)) for _ in range(110))
    found = inspect(
        Transcript((Message("user", (jpeg, large, *many)),), "anthropic"), model="claude-haiku-4-5"
    )
    assert dict(found.images.types) == {"image/png": 111, "image/jpeg": 1}
    assert found.images.mistyped == ((("image/png", "image/jpeg"), 1),)
    assert "112 images in all, and the provider takes 100" in found.limits
    assert "9,000 pixels on a side of an image, and the provider takes 8,000" in found.limits
