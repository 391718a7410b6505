"""The table of tools: the one that comes with the package, a user's own, and mistakes in it."""

# ruff: noqa: E501 -- a call with its result is easier to follow on one line

from __future__ import annotations

from pathlib import Path

import pytest

from snapshot.errors import SnapshotError, ToolTableError
from snapshot.ledger import ledger_of, tool_table
from tests.ledger_talk import Talk

OWN = """
[[tools]]
harness = "mine"
names = ["put_board", "Read"]
means = "plan"
items = ["cards"]
text = ["label"]
state = ["column"]

[[tools]]
names = ["launch"]
means = "agent"
kind = "robot"
what = ["goal"]
starts = ['''robot (?P<id>r\\d+) is off''']

[[tools]]
names = ["land"]
means = "stop"
handle = ["robot"]

[states]
"done" = ["landed"]

[[programs]]
kind = "test"
pattern = '''frobnicate'''
failed = ['''^BAD .*''']

[keys]
path = ["where"]
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "own.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_users_file_comes_first(tmp_path: Path) -> None:
    table = tool_table([write(tmp_path, OWN)])
    talk = Talk().call(
        "put_board",
        {"cards": [{"label": "Fly", "column": "landed"}, {"label": "Rest", "column": "later"}]},
        "ok",
    )
    talk.call("launch", {"goal": "Look"}, "robot r7 is off").call(
        "launch", {"goal": "Look again"}, "robot r8 is off"
    )
    talk.call("land", {"robot": "r7"}, "ok")
    talk.call("Bash", {"command": "frobnicate --all | tail"}, "BAD luck")
    talk.call("Edit", {"where": "/a"}, "ok")
    ledger = ledger_of(talk.messages, tools=table)
    assert [(step.text, step.state) for step in ledger.plan] == [("Fly", "done"), ("Rest", "later")]
    assert [(handle.kind, handle.id, handle.what) for handle in ledger.handles] == [
        ("robot", "r8", "Look again")
    ]
    assert [(run.kind, run.outcome, run.line) for run in ledger.runs] == [("test", "failed", "BAD luck")]
    assert [file.path for file in ledger.files] == ["/a"]
    assert table.candidates("Read")[0].means == "plan"
    assert table.candidates("Read", "claude-code")[0].means == "read"
    assert tool_table().candidates("Read")[0].means == "read"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[[tool]]\nnames = ["a"]', "unknown table tool (did you mean tools?)"),
        ('[[tools]]\nnames = ["a"]\nmeens = "plan"', "tools 1: unknown key meens (did you mean means?)"),
        ('[[tools]]\nnames = ["a"]\nmeens = "plan"', "tools 1: means is missing"),
        ('[[tools]]\nnames = ["a"]\nmeans = "plam"', "(did you mean plan?)"),
        ('[[tools]]\nnames = "a"\nmeans = "plan"', "tools 1: names is 'a', it must be a list of texts"),
        (
            "[[tools]]\nnames = [\"a\"]\nmeans = 'stop'\nended = ['(']",
            "tools 1: ended is no regular expression",
        ),
        ('[[tools]]\nnames = ["a"]\nmeans = "none"\noperations = { x = "planet" }', "(did you mean plan?)"),
        ('[tools]\nnames = ["a"]', "tools must be a list of tables, as in [[tools]]"),
        ("[[keys]]", "keys must be a table, as in [keys]"),
        ('[keys]\npaths = ["a"]', "keys: unknown key paths (did you mean path?)"),
        ("[states]\ndone = 3", "states: done is 3, it must be a list of texts"),
        ('[[programs]]\nkind = "tests"\npattern = "a"', "(did you mean test?)"),
        ("[[notices]]\nhas = 'x'\npattern = 'x'\nmeans = 'end'", "(did you mean ended?)"),
        (
            "[[tools]]\nnames = ['a']\nmeans = 'command'\nstarts = ['b(.)']",
            "starts must name a group: (?P<id>…)",
        ),
        ("x = ", "is no TOML: "),
    ],
)
def test_mistakes_are_told_a_line_each(text: str, line: str, tmp_path: Path) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ToolTableError) as caught:
        tool_table([path])
    assert isinstance(caught.value, SnapshotError)
    assert any(line in mistake for mistake in caught.value.mistakes), caught.value.mistakes
    assert all(mistake.startswith(f"{path}: ") and "\n" not in mistake for mistake in caught.value.mistakes)
    assert str(caught.value) == "\n".join(caught.value.mistakes)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ToolTableError, match="cannot be read"):
        tool_table([tmp_path / "none.toml"])
    bad = tmp_path / "bad.toml"
    bad.write_bytes(b"\xff\xfe")
    with pytest.raises(ToolTableError, match="is not UTF-8"):
        tool_table([bad])


def test_every_rule_of_the_own_table_is_reachable() -> None:
    """Each rule is the first choice for one of its names in its own harness, given the arguments that it needs."""
    table = tool_table()
    for tool in table.tools:
        names = [name.replace("*", "x") for name in tool.names]
        first = [
            next(
                (
                    rule
                    for rule in table.candidates(name, tool.harness)
                    if not rule.needs or set(rule.needs) & set(tool.needs)
                ),
                None,
            )
            for name in names
        ]
        assert any(rule is tool for rule in first), (tool.harness, tool.names)


def test_harnesses_go_by_their_formats() -> None:
    table = tool_table()
    assert table.candidates("write_file", "gemini")[0].harness == "gemini-cli"
    assert table.candidates("write_file", "langchain")[0].harness == "langchain"
    assert table.candidates("functions.shell")[0].means == "command"
    assert table.candidates("mcp__files__Read") == ()
    assert table.candidates("todowrite")[0].means == "plan"
