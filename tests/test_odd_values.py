"""JSON that Python's own parser chokes on or changes, behind the readers: every command, every file written.

Integers of thousands of digits, numbers beyond a float, NaN and deep nesting stand where a program may put
them: in arguments, in the tools and settings of a body, in blocks that nobody knows.
"""

from __future__ import annotations

import ast
import json
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

import pytest

import snapshot
from cli import main
from snapshot.compaction.verbatim import _short_arguments
from snapshot.costs.content_kinds import CLASSES, class_of, classes_of, is_code_line
from snapshot.discovery.tables import exported
from snapshot.messages import Message, Opaque, ToolCall, Transcript
from snapshot.parts.exact_json import Number, encode, read
from snapshot.parts.kinds import words_of_opaque
from snapshot.requests import request
from snapshot.requests.check import check
from snapshot.session import Store
from snapshot.transcripts import dump, from_messages, load

DIGITS = "9" * 5000
ODD = {
    "long integer": DIGITS,
    "beyond a float": "-1e400",
    "many digits": "0.1000000000000000055",
    "not a number": "NaN",
    "nested": "[" * 600 + "]" * 600,
    "lone surrogate": '"\\ud800x"',
}
EXACT = ("long integer", "beyond a float", "many digits")
FORMATS = ("anthropic", "gemini", "openai-chat", "claude-session", "codex", "pi", "chatml")
LINES = ("claude-session", "codex", "pi")
PACKAGE = Path(snapshot.__file__).parent


def body(value: str) -> str:
    """A request with `value` in arguments, in an unknown block, in a tool's schema and in the settings."""
    said = json.dumps("All of it, and the tests as well. " * 60)
    rows = ['{"role":"user","content":"Fix the parser."}']
    for number in range(8):
        call = f'{{"type":"tool_use","id":"t{number}","name":"Bash","input":{{"n":{value}}}}}'
        result = f'{{"type":"tool_result","tool_use_id":"t{number}","content":{said}}}'
        rows += [
            f'{{"role":"assistant","content":[{call}]}}',
            f'{{"role":"user","content":[{result},{{"type":"text","text":"Go on."}}]}}',
        ]
    rows.append(f'{{"role":"assistant","content":[{{"type":"server_thing","v":{value}}}]}}')
    rows.append('{"role":"user","content":"Thanks."}')
    tools = f'[{{"name":"Bash","input_schema":{{"type":"object","x":{value}}}}}]'
    beside = f'"model":"claude-opus-4-8","tools":{tools},"metadata":{{"v":{value}}}'
    return f'{{{beside},"messages":[{",".join(rows)}]}}'


def strict(data: bytes) -> Any:
    """The value of JSON by the letter of the standard."""

    def refuse(word: str) -> NoReturn:
        raise AssertionError(f"{word} is no JSON")

    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return json.loads(data.decode("utf-8"), parse_constant=refuse)
    finally:
        sys.set_int_max_str_digits(limit)


@pytest.fixture(params=ODD)
def odd(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    """Name of a value, and a request that holds it."""
    path = tmp_path / "in.json"
    path.write_text(body(ODD[request.param]))
    return request.param, path


def test_requests_and_files_are_json(odd, tmp_path):
    name, path = odd
    written = tmp_path / "out"
    for window in ("200000", "9000"):
        asked = ["compact", path, "-m", "claude-opus-4-8", "--window", window, "--digest", "-o", written]
        assert main([*map(str, asked)]) == 0
        made = strict(written.read_bytes())
        assert made["tools"][0]["name"] == "Bash"
        assert "v" in made["metadata"]
        if name in EXACT:
            assert written.read_text().count(ODD[name]) >= 2  # in the tools and the settings, at the least
    for format_name in FORMATS:
        assert main(["convert", str(path), "--to", format_name, "-o", str(written)]) == 0
        data = written.read_bytes()
        for line in data.splitlines() if format_name in LINES else [data] if format_name != "chatml" else []:
            strict(line)
        if name in EXACT:
            assert data.count(ODD[name].encode()) >= 8, format_name
    assert main(["inspect", str(path), "--json"]) == 0
    assert main(["cost", str(path), "-m", "claude-opus-4-8", "--by", "class"]) == 0


def test_a_session_holds_them(odd, tmp_path, capsys):
    name, path = odd
    store, first, again = tmp_path / "s.sqlite", tmp_path / "first.jsonl", tmp_path / "again.jsonl"

    def session(*arguments: object) -> str:
        assert main(["session", *map(str, arguments), "--store", str(store)]) == 0
        said = capsys.readouterr()
        assert "left out" not in said.err
        return said.out

    session("import", path, "--as", "one")
    session("export", "one", "--to", "pi", "-o", first)
    session("import", first, "--as", "two")  # with every entry as it stands in the file
    session("export", "two", "--to", "pi", "-o", again)
    assert again.read_bytes() == first.read_bytes()
    for line in first.read_bytes().splitlines():
        strict(line)
    if name in EXACT:
        assert first.read_text().count(ODD[name]) >= 8
    assert "Bash" in session("tree", "two", "--all")
    assert "sound" in session("check")


def test_a_pi_file_with_them_is_no_damage(tmp_path, capsys):
    """An entry that is never sent, with a number of any length in it, is an event that can be read."""
    path, store = tmp_path / "in.jsonl", tmp_path / "s.sqlite"
    entries = [
        '{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00Z","cwd":"/"}',
        f'{{"type":"custom","id":"a","parentId":null,"customType":"x","data":{{"n":{DIGITS},"f":1e400}}}}',
        '{"type":"message","id":"b","parentId":"a","message":{"role":"user","content":"Hello."}}',
    ]
    path.write_text("\n".join(entries) + "\n")
    for asked in (["import", path, "--as", "c"], ["check"], ["tree", "c", "--all"]):
        assert main(["session", *map(str, asked), "--store", str(store)]) == 0
    said = capsys.readouterr()
    assert "left out" not in said.err
    assert "unreadable" not in said.out
    with Store(store) as held:
        assert not held.history("c").damage
    assert main(["session", "export", "c", "--to", "pi", "-o", str(path), "--store", str(store)]) == 0
    assert DIGITS in path.read_text()
    assert "1e400" in path.read_text()


def test_sessions_of_a_database_keep_them(tmp_path):
    path = tmp_path / "opencode.db"
    with closing(sqlite3.connect(path)) as store:
        store.executescript(
            "CREATE TABLE session (id, title, directory, time_created, time_updated, revert);"
            "CREATE TABLE message (id, session_id, time_created, data);"
            "CREATE TABLE part (id, message_id, session_id, time_created, data);"
            "INSERT INTO session VALUES ('s', x'00ff', '/', 1, 1, NULL);"
            """INSERT INTO message VALUES ('m', 's', 1, '{"role":"user"}');"""
        )
        for number, data in enumerate((f'{{"type":"text","text":"a","n":{DIGITS},"f":1e400}}', "[" * 5000)):
            store.execute("INSERT INTO part VALUES (?, 'm', 's', ?, ?)", (f"p{number}", number, data))
        store.commit()
    data = exported(f"{path}#s")
    assert data is not None
    first, second = strict(data)["messages"][0]["parts"]
    assert DIGITS.encode() in data
    assert b'"f": 1e400' in data
    assert first["type"] == "text"
    assert second["type"] == "unreadable row"


def test_arguments_that_are_shortened_keep_their_numbers():
    long = json.dumps("x" * 5000)
    text = _short_arguments(f'{{"a":1e400,"b":0.1000000000000000055,"c":{long}}}', "(on a page)")
    assert text == '{"a": 1e400, "b": 0.1000000000000000055, "c": "(on a page)"}'
    assert json.loads(_short_arguments(f'{{"a":NaN,"c":{long}}}', "(on a page)")) == {
        "arguments": "(on a page)"
    }


def test_calls_between_tags_keep_their_numbers():
    call = Message("assistant", (ToolCall("t", "f", '{"a":1e400,"b":2.50}'),))
    said = dump(Transcript((call,), "anthropic"), "chatml").data
    assert b'{"name": "f", "arguments": {"a": 1e400, "b": 2.50}}' in said
    again = [part for message in load(said, format="chatml").messages for part in message.parts]
    assert [json.loads(part.arguments, parse_float=str) for part in again if isinstance(part, ToolCall)] == [
        {"a": "1e400", "b": "2.50"}
    ]


def test_words_of_a_block_keep_its_numbers():
    block = f'{{"type":"web_search_tool_result","cost":2.50,"limit":1e400,"count":{DIGITS}}}'
    said = words_of_opaque(Opaque("web_search_tool_result", block))
    assert all(number in said for number in ("cost: 2.50", "limit: 1e400", DIGITS))


@pytest.mark.parametrize("text", ["[" * 20_000, '{"a":' * 20_000, '{"n":' + DIGITS + "}"])
def test_kinds_of_text_are_told_of_anything(text):
    assert class_of(text) in CLASSES
    call = Message("assistant", (ToolCall("t", "f", text),))
    assert "".join(classes_of([Transcript((call,), "anthropic")]).values()).strip() == text


def test_blanks_of_any_number_are_told_at_once():
    begun = time.process_time()
    for blank in " \t":
        is_code_line(f"{blank * 200_000}a few words")
        assert class_of(f"{{\n{blank * 200_000}x\n{blank * 200_000}") in CLASSES
    assert time.process_time() - begun < 2


def test_what_is_encoded_is_json():
    value = {"a": float("nan"), "b": [float("-inf"), Number("1e999")], "c": 1.5}
    text = encode(value, json.dumps)
    assert text == '{"a": "NaN", "b": ["-Infinity", 1e999], "c": 1.5}'
    strict(text.encode())
    assert read(b'\xef\xbb\xbf{"a": 1, "a": "\t", "b": 2.50}') == {"a": "\t", "b": 2.5}


# What reads a single string or number, what this process or the one that started it has written, what has a
# digest, and what is called where both are caught.
KNOWN = {
    ("batch/engine.py", "_made"), ("proxy/settings.py", "exported"), ("trial/results.py", "_key"),
    ("compaction/summary/kept_fields.py", "_fields"), ("compaction/summary/kept_fields.py", "carried"),
    ("discovery/heads.py", "_project"), ("trial/scoring.py", "_spelled"),
    ("session/salvage.py", "_message"), ("session/salvage.py", "_checkpoint"),
}  # fmt: skip


def _calls(path: Path) -> Iterator[tuple[str, set[str]]]:
    """Of each call of the standard parser the function it stands in, and the names that are caught there."""

    def walk(node: ast.AST, function: str, caught: set[str]) -> Iterator[tuple[str, set[str]]]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            function, caught = node.name, set()
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("json.loads", "json.load"):
            yield function, caught
        inside = caught
        if isinstance(node, ast.Try):
            named = [ast.unparse(handler.type) for handler in node.handlers if handler.type is not None]
            inside = caught | set(
                " ".join(named).replace(",", " ").replace("(", " ").replace(")", " ").split()
            )
            for child in node.body:
                yield from walk(child, function, inside)
            for child in (*node.handlers, *node.orelse, *node.finalbody):
                yield from walk(child, function, caught)
            return
        if isinstance(node, ast.With):
            for item in node.items:
                call = item.context_expr
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "suppress":
                    inside = inside | {ast.unparse(name) for name in call.args}
        for child in ast.iter_child_nodes(node):
            yield from walk(child, function, inside)

    yield from walk(ast.parse(path.read_text(encoding="utf-8")), "", set())


def test_whoever_parses_expects_what_parsers_raise():
    """Text of others may be no JSON, or nested more deeply than Python goes: who reads it catches both."""
    bare = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        for function, caught in _calls(path):
            if "Exception" not in caught and not {"ValueError", "RecursionError"} <= caught:
                bare.add((name, function))
    assert bare == KNOWN


@pytest.mark.parametrize("kind", [[], {}, 3, None])
def test_a_call_of_no_kind_is_no_traceback(kind):
    """The type of a call names its body: one that cannot be a name has none."""
    call = {"id": "c", "type": kind, "function": {"name": "f", "arguments": "{}"}}
    asked = [{"role": "user", "content": "Go."}, {"role": "assistant", "tool_calls": [call]}]
    messages = [*asked, {"role": "tool", "tool_call_id": "c", "content": "ok"}]
    assert check({"messages": messages}, "openai-chat")
    assert not check(request(from_messages(messages), "openai-chat"), "openai-chat")
