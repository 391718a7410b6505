"""The same word means the same in every command; what is printed keeps within the terminal it goes to."""

from __future__ import annotations

import argparse
import json
import re
from importlib import import_module
from typing import Any

import pytest

import snapshot
from snapshot.commands import COMMANDS
from snapshot.commands._hints import for_command_line
from snapshot.commands._request import APIS
from snapshot.commands._table import Column, cells, paragraph, table
from snapshot.models.ids import profile_for
from snapshot.requests.check import check
from snapshot.transcripts import FORMATS
from tests.test_cli import EXAMPLE, run


def parsers() -> dict[str, argparse.ArgumentParser]:
    """The parser of every command, and of the commands of `session`."""
    found: dict[str, argparse.ArgumentParser] = {}
    for name, command in COMMANDS.items():
        parser = argparse.ArgumentParser(prog=name)
        getattr(import_module(f"snapshot.commands.{command.module}"), command.fill)(parser)
        found[name] = parser
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                found |= {f"{name} {inner}": one for inner, one in action.choices.items()}
    return found


PARSERS = parsers()


def options(word: str) -> dict[str, argparse.Action]:
    return {
        name: action
        for name, parser in PARSERS.items()
        for action in parser._actions
        if word in action.option_strings
    }


@pytest.mark.parametrize(
    ("short", "long", "metavars"),
    [("-m", "--model", {"ID"}), ("-o", "--output", {"FILE", "DIR", "NEW"})],
)
def test_short_and_long_options_are_one(short, long, metavars):
    found = options(short)
    assert len(found) >= 5
    assert found.keys() == options(long).keys()
    assert {action.metavar for action in found.values()} <= metavars


def test_json_is_a_flag_everywhere():
    lacking = set(PARSERS) - options("--json").keys() - {"session", "completion"}
    servers = {"claude-code", "mcp", "proxy", "trial"}  # and what asks a model for money
    assert {name for name in lacking if name in COMMANDS} <= {"convert", *servers} - options("--json").keys()
    assert all(action.nargs == 0 for action in options("--json").values())


def test_formats_are_named_by_from_and_to_and_apis_by_api():
    assert not options("--format")
    assert {action.metavar for action in options("--from").values()} == {"FORMAT"}
    assert {action.metavar for action in options("--to").values()} == {"FORMAT"}
    apis = options("--api")
    assert set(apis) >= {"compact", "recover"}
    assert all(set(action.choices or ()) <= set(FORMATS) for action in apis.values())


def test_every_session_is_named_alike():
    named = {
        name
        for name, parser in PARSERS.items()
        if any(action.metavar == "SESSION" and not action.option_strings for action in parser._actions)
    }
    assert named >= {"render", "inspect", "convert", "compact", "recover", "cost", "replay"}
    assert named <= options("--latest").keys()


def test_compact_has_threshold_and_least_gain(tmp_path):
    done = run("compact", EXAMPLE, "--threshold", "0.99", "--json", "-o", tmp_path / "r.json")
    assert json.loads(done.stdout)["no_op"]
    assert {"compact", "recover", "session compact"} <= options("--threshold").keys()
    assert {"compact", "recover", "session compact"} <= options("--least-gain").keys()


NUMERIC = re.compile(r"[-+]?\d[\d,]*(\.\d+)?(e[-+]?\d+)?")


def figures_as_text(value: Any, where: str = "") -> list[str]:
    """Where in a JSON value a figure stands as text."""
    if isinstance(value, dict):
        return [
            found
            for key, item in value.items()
            if key not in ("stood", "read")  # characters that are confused
            for found in figures_as_text(item, f"{where}.{key}")
        ]
    if isinstance(value, list):
        return [found for item in value for found in figures_as_text(item, where)]
    return [f"{where}: {value!r}"] if isinstance(value, str) and NUMERIC.fullmatch(value) else []


def test_figures_are_numbers_in_json(tmp_path):
    pages, store = tmp_path / "pages", tmp_path / "store.sqlite"
    run("render", EXAMPLE, "-o", pages)
    run("session", "import", EXAMPLE, "--store", store)
    error = tmp_path / "error.json"
    error.write_text('{"error": {"message": "prompt is too long: 250000 tokens > 200000 maximum"}}')
    told = {
        "inspect": run("inspect", EXAMPLE, "--json"),
        "cost": run("cost", EXAMPLE, "--json"),
        "replay": run("replay", EXAMPLE, "--json"),
        "render": run("render", EXAMPLE, "-o", tmp_path / "again", "--json"),
        "read": run("read", pages, "--json"),
        "verify": run("verify", pages, "--json"),
        "view": run("view", EXAMPLE, "-o", tmp_path / "view.html", "--json"),
        "compact": run("compact", EXAMPLE, "-o", tmp_path / "r.json", "--json"),
        "recover": run("recover", EXAMPLE, "--error", error, "-o", tmp_path / "r.json", "--json"),
        "layouts": run("layouts", "claude-opus-4-8", "--json"),
        "sessions": run("sessions", "--agents", "--json"),
        "session list": run("session", "list", "--store", store, "--json"),
    }
    for name, done in told.items():
        assert figures_as_text(json.loads(done.stdout)) == [], name


def test_like_is_said_wherever_a_model_is_judged():
    judged = {
        "inspect",
        "cost",
        "replay",
        "verify",
        "view",
        "render",
        "compact",
        "recover",
        "layouts",
        "batch",
    }
    assert judged <= options("--like").keys()


@pytest.mark.parametrize("name", ["inspect", "cost", "replay", "view"])
def test_a_deployment_is_billed_like_the_model_behind_it(name, tmp_path):
    out = ("-o", tmp_path / "view.html") if name == "view" else ()
    told = [
        run(name, EXAMPLE, "-m", *model, "--json", *out).stdout
        for model in (("prod-7", "--like", "gpt-5.6-sol"), ("gpt-5.6-sol",))
    ]
    assert told[0] == told[1]
    done = run(name, EXAMPLE, "-m", "prod-7", "--like", "no-such-model", *out, check=2)
    assert "no-such-model" in done.stderr


# --- requests that go out


BODIES = {
    "anthropic": {
        "model": "claude-opus-4-8", "max_tokens": 777, "temperature": 0.5, "system": "Be brief.",
        "tools": [{"name": "ls", "input_schema": {"type": "object"}}],
        "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"},
                     {"role": "user", "content": "go on"}],
    },
    "openai-chat": {
        "model": "gpt-5.6-sol", "max_completion_tokens": 777,
        "tools": [{"type": "function", "function": {"name": "ls", "parameters": {"type": "object"}}}],
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
    },
    "openai-responses": {
        "model": "gpt-5.6-sol", "max_output_tokens": 777,
        "tools": [{"type": "function", "name": "ls", "parameters": {"type": "object"}}],
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}],
    },
    "gemini": {
        "tools": [{"functionDeclarations": [{"name": "ls"}]}], "generationConfig": {"maxOutputTokens": 777},
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
    },
}  # fmt: skip


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("piped", [False, True], ids=["file", "stdin"])
def test_a_request_keeps_what_stood_beside_the_conversation(api, piped, tmp_path):
    path, out = tmp_path / "body.json", tmp_path / "request.json"
    data = json.dumps(BODIES[api]).encode()
    path.write_bytes(data)
    model = BODIES[api].get("model", "gemini-3-pro")
    run("compact", "-" if piped else path, "-m", model, "--api", api, "-o", out, stdin=data)
    whole = json.loads(out.read_text(encoding="utf-8"))
    for key, value in BODIES[api].items():
        if key not in ("messages", "input", "contents", "system", "systemInstruction"):
            assert whole[key] == value
    assert whole.keys() >= BODIES[api].keys()
    assert check(whole, api) == []


@pytest.mark.parametrize("api", APIS)
def test_a_request_made_of_a_session_can_be_sent(api, tmp_path):
    out = tmp_path / "request.json"
    model = "gemini-3-pro" if api == "gemini" else "claude-opus-4-8"
    run("compact", EXAMPLE, "-m", model, "--api", api, "-o", out)
    whole = json.loads(out.read_text(encoding="utf-8"))
    assert ("model" in whole) == (api != "gemini")
    assert whole.get("model", model) == model
    assert ("max_tokens" in whole) == (api == "anthropic")
    if api == "anthropic":
        assert 1000 <= whole["max_tokens"] <= (profile_for(model).max_output or 10**9)


# --- hints


def test_hints_are_of_the_language_that_is_spoken(tmp_path):
    talk = [{"role": "user", "content": "word " * 60_000}, {"role": "assistant", "content": "ok"},
            {"role": "user", "content": "and now?"}]  # fmt: skip
    path = tmp_path / "t.json"
    path.write_text(json.dumps(talk), encoding="utf-8")
    done = run("compact", path, "-m", "glm-5.3", "--window", "20000", "-o", tmp_path / "o", check=4)
    assert "--digest" in done.stderr
    assert "`digest" not in done.stderr
    with pytest.raises(snapshot.SummarizerRequired, match=r"`summarize=`.*`digest=True`"):
        snapshot.compact(talk, model="glm-5.3", window=20_000)
    assert (
        for_command_line("give it as `font=`; or `least_gain=`") == "give it as `--font`; or `--least-gain`"
    )


# --- widths


def test_a_table_keeps_within_what_there_is():
    columns = (
        Column("name", right=False, least=6), Column("number"), Column("words", right=False),
        Column("more", spare=True),
    )  # fmt: skip
    rows = [("a" * 30, "1,000", "some words", "x"), ("世界" * 12, "2", "others", "y")]
    for within in range(24, 120):
        lines = table(columns, rows, within)
        assert max(map(cells, lines)) <= within
        assert "1,000" in "\n".join(lines)
        assert "some words" in "\n".join(lines)
    assert table(columns, rows, 200)[1].startswith("a" * 30)
    assert all(cells(line) <= 30 for line in paragraph("word " * 40, within=30))


SHOWN = (
    ["sessions", "--agents"],
    ["layouts"],
    ["layouts", "claude-opus-4-8"],
    ["inspect", EXAMPLE],
    ["cost", EXAMPLE, "-m", "claude-opus-4-8,gpt-5.6-sol", "--by", "class"],
    ["replay", EXAMPLE, "-m", "claude-opus-4-8", "--policy", "text,ours"],
)


@pytest.mark.parametrize("command", SHOWN, ids=lambda command: " ".join(map(str, command[:1])))
@pytest.mark.parametrize("width", [60, 80, 200])
def test_commands_keep_within_the_terminal(command, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("NO_COLOR", "1")
    lines = run(*command).stdout.splitlines()
    assert len(lines) > 3
    # A word that has no blank in it, such as a path or an address, may stand out.
    assert [line for line in lines if cells(line) > width and len(line.split()) > 2] == []
    assert not any("\x1b" in line for line in lines)
