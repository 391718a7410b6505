"""What the ledger tells of commands: their outcomes, errors and files, and what git says."""

# ruff: noqa: E501 -- a call with its result is easier to follow on one line

from __future__ import annotations

import pytest

from snapshot.ledger import ledger_text
from tests.ledger_talk import Talk, words


@pytest.mark.parametrize(
    ("command", "result", "error", "expected"),
    [
        ("pytest -q", "3 passed in 0.1s", False, [("test", "ok")]),
        ("cd /x && uv run python -m pytest", "Exit code 1\n1 failed, 3 passed in 0.1s", True, [("test", "failed")]),
        ("pytest -q | tail -1", "...", False, [("test", "unknown")]),  # the pipe hides the exit code
        ("set -o pipefail; pytest -q | tail -1", "...", False, [("test", "ok")]),
        ("pytest; echo done", "...\ndone", False, [("test", "unknown")]),
        ("pytest || true", "...", False, [("test", "unknown")]),
        ("ruff check . && mypy src", "Exit code 1\nFound 2 errors.", True, [("lint", "failed"), ("lint", "unrun")]),
        ("go build ./... && go vet ./...", "Exit code 1\n# a/b\na.go:1: bad", True, [("build", "unknown"), ("lint", "unknown")]),
        ("make && make test", "ok", False, [("build", "ok"), ("test", "ok")]),
        ("npm run build && pytest", "1 failed in 1s", True, [("build", "ok"), ("test", "failed")]),
        ("pytest a; pytest b", "1 failed in 1s\n2 passed in 2s", False, [("test", "ok"), ("test", "failed")]),
        ("pytest a | grep -c x; pytest b", "7\n2 passed in 2s", False, [("test", "ok"), ("test", "unknown")]),
        ("cat <<'EOF' > t.sh\npytest\nEOF", "", False, []),
        ("echo pytest; grep -rn pytest .", "a: pytest", False, []),
        ("git commit -m 'make it; pytest && go'", "[main 1234567] make it", False, []),
        ("./node_modules/.bin/jest src", "Tests:       1 failed, 3 passed, 4 total", True, [("test", "failed")]),
        ("timeout 60 cargo test --quiet", "test result: ok. 3 passed; 0 failed", False, [("test", "ok")]),
    ],
)  # fmt: skip
def test_outcomes(command: str, result: str, error: bool, expected: list[tuple[str, str]]) -> None:
    ledger = Talk().call("Bash", {"command": command}, result, error=error).ledger()
    assert sorted((run.kind, run.outcome) for run in ledger.runs) == sorted(expected)


def test_the_same_command_in_other_folders_is_another() -> None:
    talk = Talk().call(
        "Bash", {"command": "(cd web && npm test); (cd api && npm test)"}, "Tests: 3 passed\nTests: 1 failed"
    )
    talk.call("Bash", {"command": "cd web && npm run build > build.log && cd ../docs && cat a.md"}, "x")
    talk.call("exec_command", {"cmd": "npm test", "workdir": "/srv"}, "Tests: 2 passed\n")
    ledger = talk.ledger()
    assert [(run.where, run.outcome, run.message) for run in ledger.runs if run.kind == "test"] == [
        ("/srv", "ok", 6), ("web", "ok", 2), ("api", "failed", 2)
    ]  # fmt: skip
    assert {file.path for file in ledger.files} == {"web/build.log", "docs/a.md"}


def test_a_later_success_resolves_an_error() -> None:
    talk = Talk()
    talk.call(
        "Bash",
        {"command": "git add -A && git commit -q -m a"},
        "Exit code 128\nAuthor identity unknown",
        error=True,
    )
    talk.call("Bash", {"command": "python migrate.py"}, "Exit code 1\nBoom", error=True)
    talk.call("Read", {"file_path": "/x.py"}, "File does not exist.", error=True)
    assert [failure.line for failure in talk.ledger().failures] == [
        "File does not exist.",
        "Boom",
        "Author identity unknown",
    ]
    talk.call("Bash", {"command": "git -c user.name=A commit -q -m a && git log --oneline -1"}, "1234567 a")
    talk.call("Write", {"file_path": "/x.py", "content": ""}, "File created successfully at: /x.py")
    assert [failure.line for failure in talk.ledger().failures] == ["Boom"]
    talk.call("Bash", {"command": "cd /srv && python migrate.py"}, "done")
    assert talk.ledger().failures == ()
    talk.call(
        "Bash", {"command": "grep -n x /a | head; ls /none"}, "Exit code 2\nls: cannot access", error=True
    )
    assert talk.ledger().failures == ()  # it only looked


def test_an_error_is_told_once() -> None:
    talk = Talk()
    for _ in range(3):
        talk.call("Bash", {"command": "python migrate.py"}, "Exit code 1\nBoom", error=True)
        talk.call("Bash", {"command": "pytest -q"}, "Exit code 1\n1 failed in 1s", error=True)
    ledger = talk.ledger()
    assert [failure.message for failure in ledger.failures] == [10]
    assert [(run.outcome, run.message) for run in ledger.runs] == [("failed", 12)]


def test_the_outcome_that_is_known_outlives_a_run_that_shows_none() -> None:
    talk = Talk().call("Bash", {"command": "pytest -q"}, "2 passed in 1s")
    talk.call("Bash", {"command": "pytest -q -x | grep FAILED | head"}, "")
    (run,) = talk.ledger().runs
    assert (run.outcome, run.message, run.again, run.line) == ("ok", 2, 4, "2 passed in 1s")
    assert "(run again at 4, outcome not shown)" in ledger_text(talk.ledger(), 500, words)


def test_one_file_has_one_name() -> None:
    talk = (
        Talk()
        .call("Read", {"file_path": "/srv/app/src/a.py"}, "x")
        .call("Read", {"file_path": "/srv/b/a.py"}, "x")
    )
    talk.call("Bash", {"command": "sed -i s/x/y/ ./src/a.py && cat src/a.py"}, "y")
    talk.call(
        "Bash",
        {"command": "echo 1 >> notes.md; rm -f old.md; rm -rf build; mv n.py m.py; cat x > /dev/null 2>&1"},
        "",
    )
    files = {file.path: file for file in talk.ledger().files}
    assert set(files) == {"/srv/app/src/a.py", "/srv/b/a.py", "notes.md", "old.md", "m.py", "x"}
    assert (files["/srv/app/src/a.py"].change, files["/srv/app/src/a.py"].changed) == ("edited", 5)
    assert (files["m.py"].change, files["m.py"].source) == ("moved", "n.py")
    assert files["old.md"].change == "deleted"


@pytest.mark.parametrize(
    ("command", "output", "expected"),
    [
        ("git commit -am x", "[main (root-commit) 1a2b3c4] First [one]\n 1 file changed", ("main", "1a2b3c4", "First [one]")),
        ("git log -3", "commit " + "a" * 40 + " (HEAD -> x)\nAuthor: A <a@b>\nDate:   now\n\n    Subject\n", ("", "a" * 12, "Subject")),
        ("git log --oneline -2", "1234567 (HEAD -> dev, origin/dev) One\n89abcde Two", ("dev", "1234567", "One")),
        ("git log --oneline --author=x", "1234567 One", ("", "", "")),
        ("git log --oneline main..dev", "1234567 One", ("", "", "")),
        ("git rev-parse --abbrev-ref HEAD", "feature/a", ("feature/a", "", "")),
        ("git status", "On branch main\nnothing to commit", ("main", "", "")),
        ("git branch -a", "  main\n* feature/b\n  remotes/origin/main", ("feature/b", "", "")),
        ("git checkout 1234567", "HEAD is now at 1234567 One", ("(detached at 1234567)", "", "")),
        ("cat log.txt", "[main 1a2b3c4] Forged\nOn branch forged", ("", "", "")),
    ],
)  # fmt: skip
def test_git(command: str, output: str, expected: tuple[str, str, str]) -> None:
    git = Talk().call("Bash", {"command": command}, output).ledger().repository
    assert (git.branch, git.commit, git.subject) == expected
