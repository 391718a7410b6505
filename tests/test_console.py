"""What every command shares: lines that do no harm, streams that are closed or full, files that are named."""

from __future__ import annotations

import ast
import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import snapshot
from snapshot._files import exclusive
from snapshot.commands._console import printable
from tests.test_cli import EXAMPLE, ROOT, run

COMMANDS = Path(snapshot.__file__).parent / "commands"
ESCAPE = "\x1b[2J\x1b]0;x\x07"
posix = pytest.mark.skipif(os.name != "posix", reason="descriptors and devices as POSIX has them")


def process(*arguments: str | Path, **named) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "snapshot", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, stderr=subprocess.PIPE, timeout=120, check=False, **named)


# --- lines


@given(st.text())
def test_a_line_is_one_line_that_no_terminal_obeys(text):
    shown = printable(text)
    assert all(char.isprintable() or char in "\t\u00a0\u00ad\u200c\u200d\u3000" for char in shown)
    assert not {"\n", "\r", "\x1b", "\x9b", "\u202e", "\u2028"} & set(shown)
    if text.isprintable():
        assert shown == text


def test_only_one_place_prints():
    """Nothing in the commands but `_console` prints or writes to a standard stream."""
    for path in COMMANDS.glob("*.py"):
        if path.name == "_console.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("print", "open"), f"{path.name}:{node.lineno}"
            if isinstance(node, ast.Attribute) and node.attr in (
                "stdout",
                "stdin",
                "write_bytes",
                "write_text",
            ):
                raise AssertionError(f"{path.name}:{node.lineno}: {node.attr}")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory) -> Path:
    """A session of pi with escapes in every name, id, time, label and text."""
    rows = [
        {"type": "session", "version": 3, "id": f"s{ESCAPE}", "timestamp": ESCAPE, "cwd": ESCAPE},
        {"type": "message", "id": f"a{ESCAPE}", "parentId": None, "timestamp": ESCAPE,
         "message": {"role": "user", "content": [{"type": "text", "text": f"hi{ESCAPE}"}]}},
        {"type": "message", "id": f"b{ESCAPE}", "parentId": f"a{ESCAPE}", "timestamp": ESCAPE,
         "message": {"role": "assistant", "model": f"m{ESCAPE}",
                     "content": [{"type": "toolCall", "id": f"c{ESCAPE}", "name": ESCAPE, "arguments": {}}]}},
        {"type": f"odd{ESCAPE}", "id": f"o{ESCAPE}", "parentId": f"gone{ESCAPE}"},
        {"type": "label", "id": "l", "parentId": f"b{ESCAPE}", "targetId": f"a{ESCAPE}", "label": ESCAPE},
    ]  # fmt: skip
    path = tmp_path_factory.mktemp("hostile") / "h.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def test_nothing_of_a_transcript_reaches_the_terminal(hostile, tmp_path):
    store = ("--store", tmp_path / "s.sqlite")
    run("session", "import", hostile, "--as", "h", *store)
    commands = [
        ["inspect", hostile],
        ["render", hostile, "-o", tmp_path / "p"],
        ["render", hostile, "-m", "claude-opus-4-8", "-o", tmp_path / "p"],
        ["convert", hostile, "--to", "gemini", "-o", tmp_path / "o"],
        ["compact", hostile, "-m", "claude-opus-4-8", "-o", tmp_path / "r"],
        ["session", "list", *store],
        ["session", "show", "h", *store],
        ["session", "tree", "h", "--all", *store],
        ["session", "branch", "h", *store],
        ["session", "check", *store],
        ["session", "show", f"n{ESCAPE}", *store],
        ["session", "show", "h", f"a{ESCAPE}", *store],
        ["read", tmp_path / ESCAPE],
        ["convert", f"x{ESCAPE}", "--to", "text"],
        ["layouts", ESCAPE],
        ["layouts", "a", ESCAPE],
        ["render", EXAMPLE, "--layout", ESCAPE],
    ]
    for command in commands:
        done = run(*command, check=None)
        assert done.returncode in (0, 1, 2, 3, 4)
        assert "\x1b" not in done.stdout + done.stderr, command
        assert "\x07" not in done.stdout + done.stderr, command


# --- streams


@posix
@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["layouts"], 0),
        (["layouts", "--json"], 2),
        (["convert", EXAMPLE, "--to", "text"], 2),
        (["--help"], 0),
    ],
    ids=["lines", "json", "data", "help"],
)
def test_standard_output_that_is_closed(command, code):
    """Lines are lost without a word; data that has no place to go is an error."""
    done = process(*command, preexec_fn=lambda: os.close(1))
    assert done.returncode == code
    assert done.stderr.decode().startswith("snapshot: standard output is closed" if code else "")
    assert done.stderr.count(b"\n") == bool(code)


@posix
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize(
    "command",
    [["layouts"], ["layouts", "--json"], ["convert", EXAMPLE, "--to", "text"], ["inspect", EXAMPLE]],
)
def test_standard_output_that_is_full_is_one_line(command):
    with Path("/dev/full").open("wb") as full:
        done = process(*command, stdout=full)
    assert done.returncode == 2
    assert done.stderr == b"snapshot: standard output: No space left on device\n"


@posix
@pytest.mark.parametrize("stream", [0, 2])
def test_the_other_streams_may_be_closed(stream, tmp_path):
    done = process("render", EXAMPLE, "-o", tmp_path / "p", stdout=subprocess.PIPE,
                   preexec_fn=lambda: os.close(stream))  # fmt: skip
    assert done.returncode == 0
    assert b"% saved" in done.stdout
    assert process("render", "-", "-o", tmp_path / "q", preexec_fn=lambda: os.close(0)).returncode == 2


# --- files


def test_an_input_is_not_written_over(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_bytes(EXAMPLE.read_bytes())
    (tmp_path / "link").symlink_to(path)
    for output in (path, tmp_path / "link", tmp_path / "." / "in.jsonl"):
        for command in (
            ["convert", path, "--to", "openai-chat", "-o", output],
            ["compact", path, "-m", "claude-opus-4-8", "--manual", "--digest", "-o", output],
            ["cost", path, "--plot", output],
        ):
            assert "is what is read" in run(*command, check=2).stderr
    assert path.read_bytes() == EXAMPLE.read_bytes()
    both = ["-o", tmp_path / "one.json", "--archive", tmp_path / "one.json"]
    assert "both the request and the archive" in run("compact", path, *both, check=2).stderr


@posix
def test_a_link_is_followed_and_permissions_are_kept(tmp_path):
    real = tmp_path / "real.txt"
    real.write_text("former")
    real.chmod(0o640)
    (tmp_path / "link").symlink_to(real)
    (tmp_path / "dangling").symlink_to(tmp_path / "new.txt")
    for name in ("link", "dangling"):
        run("convert", EXAMPLE, "--to", "text", "-o", tmp_path / name)
        assert (tmp_path / name).is_symlink()
    assert real.read_text(encoding="utf-8") == (tmp_path / "new.txt").read_text(encoding="utf-8") != "former"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "new.txt").stat().st_mode) == 0o600
    assert not list(tmp_path.glob(".*"))


@posix
def test_pipes_and_devices_are_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    run("convert", EXAMPLE, "--to", "text", "-o", pipe)
    reader.join()
    assert found == [run("convert", EXAMPLE, "--to", "text").stdout.encode()]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    before = Path(os.devnull).lstat()
    run("convert", EXAMPLE, "--to", "text", "-o", os.devnull)
    after = Path(os.devnull).lstat()
    assert (before.st_ino, before.st_mode) == (after.st_ino, after.st_mode)


@posix
@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_standard_output_has_a_name(name, tmp_path):
    wanted = run("convert", EXAMPLE, "--to", "text").stdout.encode()
    done = process("convert", EXAMPLE, "--to", "text", "-o", name, stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout) == (0, wanted)
    with (tmp_path / "out").open("wb") as file:
        assert process("convert", EXAMPLE, "--to", "text", "-o", name, stdout=file).returncode == 0
    assert (tmp_path / "out").read_bytes() == wanted


def test_a_request_that_cannot_be_written_leaves_no_archive(tmp_path, monkeypatch):
    """Neither a new one, nor another one in the place of that which was there."""
    monkeypatch.chdir(tmp_path)
    folder, archive = tmp_path / "folder", tmp_path / "a.json"
    folder.mkdir()
    asked = ["compact", EXAMPLE, "-m", "claude-opus-4-8", "--manual", "--digest", "-o", folder]
    run(*asked, check=2)
    run(*asked, "--archive", archive, check=2)
    assert list(tmp_path.iterdir()) == [folder]
    run(*asked[:-1], tmp_path / "r.json", "--archive", archive)
    former = archive.read_bytes()
    run(*asked, "--archive", archive, "--window", "16000", check=2)
    assert archive.read_bytes() == former
    assert {path.name for path in tmp_path.iterdir()} == {"folder", "a.json", "r.json"}


def test_names_and_numbers_that_cannot_be(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where nothing is named, a result goes into the folder at hand
    long, odd = tmp_path / ("n" * 300), tmp_path / "nul\0name"
    for path in (long, odd, tmp_path / "no" / "folder", tmp_path):
        for command in (
            ["convert", EXAMPLE, "--to", "text", "-o", path],
            ["compact", EXAMPLE, "-m", "claude-opus-4-8", "--manual", "--digest", "-o", path],
        ):
            told = run(*command, check=2).stderr.splitlines()
            # Beside it, only that a font for some character of the example may not be installed.
            assert len([line for line in told if not line.startswith("note: ")]) == 1, command
    for path in (long, odd):
        for command in (
            ["render", EXAMPLE, "-o", path],
            ["inspect", path],
            ["read", path],
            ["verify", path],
            ["session", "list", "--store", path],
            ["session", "import", EXAMPLE, "--store", path],
            ["compact", EXAMPLE, "--manual", "--digest", "-o", tmp_path / "r.json", "--archive", path],
            ["recover", EXAMPLE, "--error", path],
        ):
            done = run(*command, check=None)
            assert done.returncode in (1, 2), command
            told = [line for line in done.stderr.splitlines() if not line.startswith("note: ")]
            assert len(told) == 1, command
    for option, values in {
        "--target": ["inf", "nan", "-1", "0", "1e400", "x"],
        "--window": ["nan", "0", "-5", "9" * 5000, "1e9"],
    }.items():
        for value in values:
            done = run("compact", EXAMPLE, option, value, check=2)
            assert option in done.stderr
            assert len(done.stderr) < 2000


# --- folders


def test_a_folder_is_written_by_one_run_at_a_time(tmp_path):
    run("render", "-", "-o", tmp_path / "p", stdin=b"former text")
    with exclusive(tmp_path / "p"):
        done = run("render", "-", "-o", tmp_path / "p", stdin=b"other text", check=2)
        assert "another run is writing to it" in done.stderr
        assert done.stderr.count("\n") == 1
    assert run("read", tmp_path / "p").stdout == "former text"
    # What a dead process has left holds nobody off, and is gone after the next run.
    (tmp_path / "p" / ".lock.part").write_bytes(b"")
    run("render", "-", "-o", tmp_path / "p", stdin=b"other text")
    assert run("read", tmp_path / "p").stdout == "other text"
    assert not list((tmp_path / "p").glob(".*"))


def test_two_processes_never_leave_half_a_folder(tmp_path):
    texts = [" ".join(f"{n * 7919 + k:x}" for n in range(8_000)) for k in range(2)]
    for k, text in enumerate(texts):
        (tmp_path / f"{k}.txt").write_text(text)
    for _ in range(2):
        render = [sys.executable, "-m", "snapshot", "render", "-o", str(tmp_path / "p")]
        both = [
            subprocess.Popen(
                [*render, str(tmp_path / f"{k}.txt")], cwd=ROOT,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            )
            for k in range(2)
        ]  # fmt: skip
        for one in both:
            _, err = one.communicate(timeout=120)
            assert one.returncode == 0 or (one.returncode == 2 and b"another run is writing" in err)
        assert run("read", tmp_path / "p").stdout in texts
        assert run("read", tmp_path / "p", "--check").returncode == 0
