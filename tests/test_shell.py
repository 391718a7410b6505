"""In a shell: progress on a terminal, completion, and what is written through links and to devices."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import HERE
from tests.test_cli import EXAMPLE, ROOT, run

posix = pytest.mark.skipif(os.name != "posix", reason="terminals as POSIX has them")


# --- progress


def process(*arguments: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "snapshot", *arguments], cwd=ROOT, capture_output=True, **options
    )


@posix
def test_progress_is_drawn_on_a_terminal_alone_and_taken_away_again(monkeypatch):
    import pty

    from snapshot.commands import _progress

    pytest.importorskip("rich")
    monkeypatch.setattr(_progress, "_PATIENCE", 0.0)
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("NO_COLOR", "1")
        with _progress.progress("rendering") as show:
            import time

            for done in range(20):
                show(done, 20)
                time.sleep(0.03)
        stream.flush()
        drawn = os.read(ours, 1 << 16).decode("utf-8", "replace")
    os.close(ours)
    assert "rendering" in drawn
    assert "%" in drawn
    assert "\x1b[2K" in drawn  # the line is wiped
    assert "\x1b[3" not in drawn  # no colours


def test_progress_without_a_terminal_draws_nothing_and_imports_nothing():
    done = process("render", str(EXAMPLE), "-m", "claude-opus-4-8", "-o", "-")
    assert done.returncode == 2
    code = (
        "import sys; from snapshot.commands._progress import progress\n"
        "with progress('x') as show: show(1, 2)\n"
        "assert 'rich' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True).returncode == 0


# --- completion


@posix
@pytest.mark.parametrize(
    ("typed", "expected"),
    [("snapshot ren", "render"), ("snapshot compact --thr", "--threshold"), ("snapshot completion f", "fish"),
     ("snapshot compact --api open", "openai-chat"), ("snapshot cost -m claude-op", "claude-opus-4-8"),
     ("snapshot view --latest cod", "codex"), ("snapshot sessions cod", "codex"),
     ("snapshot inspect x --from claude-s", "claude-stream"), ("snapshot session export x --to p", "pi"),
     ("snapshot verify x --like gpt-5.6", "gpt-5.6-sol"),
     ("snapshot render --layout claude-h", "claude-high")],
)  # fmt: skip
def test_a_shell_completes(typed, expected, tmp_path):
    pytest.importorskip("argcomplete")
    answer = tmp_path / "answer"
    given = {
        "_ARGCOMPLETE": "1", "_ARGCOMPLETE_SHELL": "bash", "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
        "COMP_LINE": typed, "COMP_POINT": str(len(typed)), "COMP_TYPE": "9",
        "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
    }  # fmt: skip
    process(env={**os.environ, **given})
    assert expected in answer.read_text(encoding="utf-8").replace("\x0b", "\n").split()


@posix
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_by_what_is_printed(tmp_path):
    pytest.importorskip("argcomplete")
    command = tmp_path / "snapshot"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m snapshot "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    script = """
    source <(snapshot completion bash)
    complete -p snapshot >&2 || exit 9
    COMP_LINE="snapshot cost --lat" COMP_POINT=19 COMP_WORDS=(snapshot cost --lat) COMP_CWORD=2
    _python_argcomplete snapshot --lat cost
    echo "${COMPREPLY[@]}"
    """
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout.strip()) == (0, "--latest"), done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_what_the_shell_reads(shell):
    pytest.importorskip("argcomplete")
    assert "snapshot" in run("completion", shell).stdout


# --- links and devices


@posix
@pytest.mark.parametrize("what", ["request", "conversion", "plot", "report", "session"])
def test_links_are_written_through(what, tmp_path):
    target, link = tmp_path / "target.svg", tmp_path / "link.svg"
    target.write_text("old", encoding="utf-8")
    link.symlink_to(target)
    pages, store = tmp_path / "pages", tmp_path / "s.sqlite"
    match what:
        case "request":
            run("compact", EXAMPLE, "-o", link)
        case "conversion":
            run("convert", EXAMPLE, "--to", "text", "-o", link)
        case "plot":
            run("cost", EXAMPLE, "-m", "gpt-5.5", "--plot", link)
        case "report":
            run("render", EXAMPLE, "-o", pages)
            run("verify", pages, "--html", link, check=None)
        case "session":
            run("session", "import", EXAMPLE, "--as", "x", "--store", store)
            run("session", "export", "x", "--store", store, "--to", "text", "-o", link)
    assert link.is_symlink()
    assert len(target.read_text(encoding="utf-8")) > 100


@posix
def test_a_device_is_written_to_and_stays():
    """As root, a file in place of /dev/null's link would break the machine."""
    before = Path("/dev/null").stat()
    for command in (
        ["compact", EXAMPLE, "-o", "/dev/null"],
        ["convert", EXAMPLE, "--to", "text", "-o", "/dev/null"],
        ["cost", EXAMPLE, "-m", "gpt-5.5", "--plot", "/dev/null"],
    ):
        run(*command, check=None)
    assert os.path.samestat(before, Path("/dev/null").stat())
    link = Path("/dev/stdout")
    was = link.is_symlink()
    assert process("convert", str(EXAMPLE), "--to", "text", "-o", "/dev/stdout").stdout.startswith(b"")
    assert link.is_symlink() == was
    Path(HERE.parent / "snapshot.archive.json").unlink(missing_ok=True)


def test_dash_is_standard_output_or_a_line(tmp_path):
    assert json.loads(run("compact", EXAMPLE, "-o", "-", "--archive", tmp_path / "a").stdout)["messages"]
    assert run("convert", EXAMPLE, "--to", "text", "-o", "-").stdout
    for command in (["render", EXAMPLE, "-o", "-"], ["session", "salvage", "x", "-o", "-"]):
        done = run(*command, check=2)
        assert "-o -" in done.stderr
        assert not Path("-").exists()
