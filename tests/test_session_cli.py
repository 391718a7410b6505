"""`snapshot session`, as one types it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cli import main
from snapshot.session import Store
from tests.conftest import REAL, case, small_window

MORE = [
    {"role": "user", "content": "Which tests did you run?"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "Bash", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "12 passed"}]},
    {"role": "assistant", "content": "All 12 pass."},
]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Runs a command in an empty folder; its exit code and lines, of stdout and of stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SNAPSHOT_STORE", raising=False)

    def do(*arguments: object) -> tuple[int, list[str], list[str]]:
        code = main(["session", *map(str, arguments)])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return code, said.out.splitlines(), said.err.splitlines()

    return do


@pytest.fixture
def shop(run):
    assert run("import", case("022") / "input.jsonl", "--as", "shop")[0] == 0
    return run


def value(lines: list[str]) -> dict:
    return json.loads("\n".join(lines))


def test_the_tree_of_case_022(shop):
    code, lines, _ = shop("tree", "shop", "--all")
    assert code == 0
    assert lines == [
        "● a0000001 event: model_change claude-sonnet-5",
        "● a0000002 user: Add a coupon field to the checkout.",
        "● a0000003 assistant: [calls read] Looking.",
        "● a0000004 tool: export function Checkout() { return <form/> }",
        "● a0000005 assistant: Added the field after the address.",
        "├─○ a0000006 user: Codes are case-insensitive, and at most one per order.",
        "│ ○ a0000007 assistant: Done: codes are upper-cased, the second is refused.",
        "│ ○ a0000008 checkpoint: summary, kept from a0000006",
        "│ ○ a0000009 user: Show the discount in the total.",
        "│ ○ a000000a assistant: The total shows the discount in green.",
        "│ ○ a000000b checkpoint: summary, kept from a0000009",
        "│ ○ a000000c user: Make it red instead.",
        "│ ○ a000000d assistant: It is red now. (branch-1)",
        "● a000000e synthesis: Tried a coupon field with one code per order.",
        "● a000000f user: Forget coupons per order, use gift cards instead.",
        "● a0000010 assistant: Gift cards replace the coupon field. [gift cards work]",
        "● a0000011 event: label gift cards work (main) ◀ here",
    ]
    short = shop("tree", "shop")[1]
    assert "┊ 2 more messages" in short
    assert "│ ┊ 1 more message" in short
    assert len(short) < len(lines)
    tree = value(shop("tree", "shop", "--json")[1])
    assert len(tree["nodes"]) == 17
    assert tree["current"] == "main"


def test_going_about_in_a_tree(shop):
    code, lines, _ = shop("branch", "shop", "branch-1")
    assert code == 0
    assert lines == ["* branch-1  a000000d, claude-sonnet-5", "  main  a0000011, claude-sonnet-5"]
    sent = shop("show", "shop", "--sent")[1]
    assert [line.split()[0] for line in sent] == ["-", "a0000009", "a000000a", "a000000c", "a000000d"]
    assert shop("fork", "shop", "a0000005", "idea")[1] == [
        "branch idea goes on from a0000005, and is the current one"
    ]
    assert len(shop("show", "shop")[1]) == 4
    assert shop("branch", "shop", "idea", "--at", "a0000002")[0] == 0
    assert shop("show", "shop")[1] == ["a0000002      user       Add a coupon field to the checkout."]
    assert shop("show", "shop", "a0000002")[1][-1] == "Add a coupon field to the checkout."
    assert shop("duplicate", "shop", "copy/scout", "--branch", "branch-1")[0] == 0
    assert [line.split()[0] for line in shop("list")[1]] == ["copy/scout", "shop"]
    listed = value(shop("list", "--json")[1])["conversations"]
    assert [(item["name"], item["agent"], item["messages"]) for item in listed] == [
        ("copy", "scout", 10),
        ("shop", "main", 12),
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("fork", "shop", "a0000008"), "is a checkpoint: fork from an answer"),
        (("fork", "shop", "a0000003"), "it calls tools"),
        (("fork", "shop", "a000000"), "is the start of several ids"),
        (("branch", "shop", "new", "--at", "nowhere"), "no message 'nowhere'"),
        (("branch", "shop", "a b"), "take letters, digits"),
        (("show", "nothing"), "no conversation 'nothing' of agent 'main'; there are shop"),
        (("duplicate", "shop", "shop"), "already; take another name"),
        (("show", "shop", "--store", "none.sqlite"), "no such store; `snapshot session import` makes one"),
        (("import", "none.json"), "none.json"),
        (("export", "shop", "--to", "opnai-chat"), "did you mean 'openai-chat'"),
        (("export", "shop", "--json"), "--json needs -o FILE"),
        (("check", "none.sqlite"), "no such store"),
        (("compact", "shop", "-m", "no-such-model"), "no-such-model"),
    ],
)
def test_what_cannot_be_is_one_line(shop, arguments, words):
    before = Path(".snapshot/sessions.sqlite").read_bytes()
    code, lines, told = shop(*arguments)
    assert (code, lines, len(told)) == (2, [], 1)
    assert words in told[0]
    assert Path(".snapshot/sessions.sqlite").read_bytes() == before


@pytest.mark.sampled(2)
@pytest.mark.parametrize("file", REAL)
def test_a_real_run_from_import_to_export(run, real, file):
    name, window = file.split(".")[0], str(small_window(file))
    code, lines, _ = run("import", real / file)
    assert code == 0
    assert "messages from" in lines[0]
    code, lines, _ = run("compact", name, "-m", "claude-sonnet-4-5", "--window", window, "--dry-run")
    assert (code, lines[-1].split()[0]) == (0, "tokens")
    code, lines, _ = run("compact", name, "-m", "claude-sonnet-4-5", "--window", window)
    assert (code, lines[-1].split()[0]) == (0, "checkpoint")
    log = "".join(f"{at:05} test_{at * 7919 % 997} passed in 0.{at % 89:02} s\n" for at in range(1500))
    shown: list[dict[str, Any]] = [
        {"role": "user", "content": "Which tests did you run?"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c0", "name": "Bash", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c0", "content": log}]},
        {"role": "assistant", "content": "All pass."},
    ]
    Path("more.json").write_text(json.dumps([*shown, *MORE]))
    assert run("append", name, "more.json")[0] == 0
    again = value(run("compact", name, "-m", "claude-sonnet-4-5", "--window", window, "--json")[1])
    assert again["checkpoint"]
    assert run("export", name, "-o", "whole.json", "--to", "anthropic")[0] == 0
    assert run("export", name, "-o", "sent.json", "--to", "anthropic", "--sent")[0] == 0
    assert Path("whole.json").stat().st_mode & 0o777 == 0o600
    with Store(".snapshot/sessions.sqlite") as store:
        messages = [message.parts for _, message in store.history(name).path()]
    assert run("import", "whole.json", "--as", "back")[0] == 0
    with Store(".snapshot/sessions.sqlite") as store:
        back = [message.parts for _, message in store.history("back").path()]
    assert len(back) == len(messages) > 20
    assert len(json.loads(Path("sent.json").read_text())["messages"]) < len(messages) / 3
    assert run("check")[1] == [".snapshot/sessions.sqlite: sound, 2 histories"]
    # What a run resumes from is taken in as well.
    assert run("import", f".snapshot/sessions.transcripts/{name}/main.json", "--as", "resumed")[0] == 0
    assert len(run("show", "resumed")[1]) < len(messages) / 3


def test_damage_is_said_and_repaired_in_a_copy(shop):
    path = Path(".snapshot/sessions.sqlite")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DELETE FROM nodes WHERE id = 'a0000004'")
    code, lines, told = shop("check")
    assert code == 1
    assert "shop/main a0000005: missing-parent: the node that it follows is missing" in lines
    assert "`snapshot session salvage` writes a repaired copy" in told[0]
    code, lines, told = shop("show", "shop")
    assert (code, len(lines)) == (0, 4)
    assert told == ["snapshot: shop is read-only: a0000005: the node that it follows is missing"]
    Path("more.json").write_text(json.dumps(MORE))
    code, _, told = shop("append", "shop", "more.json")
    assert code == 2
    assert "`snapshot session salvage` repairs a copy" in told[0]
    code, lines, _ = shop("salvage", "-o", "good.sqlite")
    assert code == 0
    assert lines[-1].startswith("good.sqlite: a copy with 1 repair; ")
    assert shop("check", "good.sqlite")[0] == 0
    assert shop("append", "shop", "more.json", "--store", "good.sqlite")[0] == 0
    assert shop("salvage", "-o", "good.sqlite")[0] == 2
    run_file = Path(".snapshot/sessions.transcripts/shop/main.json")
    assert shop("check", run_file)[0] == 0
    run_file.write_bytes(run_file.read_bytes()[:-300])
    assert shop("check", run_file)[0] == 1
    assert shop("salvage", run_file, "-o", "run.json")[0] == 0
    assert shop("check", "run.json")[0] == 0
    found = value(shop("check", "--json", run_file)[1])["damage"]
    assert {item["kind"] for item in found} == {"garbage", "truncated"}


def test_a_pi_session_comes_back_as_it_was(shop):
    assert shop("export", "shop", "-o", "shop.jsonl")[1] == ["shop.jsonl: 12 messages as pi"]
    there = case("022") / "input.jsonl"
    assert [json.loads(line) for line in Path("shop.jsonl").read_text().splitlines()] == [
        json.loads(line) for line in there.read_text().splitlines()
    ]
    assert shop("export", "shop", "--branch", "branch-1", "--to", "markdown")[0] == 0


def test_one_way_through_a_pi_session_can_be_taken_instead(run):
    there = case("022") / "input.jsonl"
    assert run("import", there, "--as", "one", "--conversation", "a000000d", "-m", "gpt-5.5")[0] == 0
    assert len(run("branch", "one")[1]) == 1
    assert run("import", there, "--as", "all", "-m", "gpt-5.5")[0] == 0
    assert run("branch", "all")[1][1].endswith("gpt-5.5")
