"""Files that scripts and programs change in a command line, and runs that had nothing to run."""

from __future__ import annotations

import pytest

from snapshot.ledger.commands import parsed
from snapshot.ledger.lines import telling_line
from snapshot.ledger.scripts import written_by_python
from snapshot.ledger.tools import tool_table
from tests.ledger_talk import Talk

_KNOWN = tool_table().commands
_PATCH = "<<'EOF'\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\nEOF"


def _python(script: str) -> str:
    return f"python - <<'EOF'\n{script}\nEOF"


# Command lines, and the files that they surely and perhaps change.
@pytest.mark.parametrize(
    ("line", "sure", "perhaps"),
    [
        (_python("open('x.py', 'w').write('')"), "x.py", ""),
        (_python("d = {'x.py': 1, 'y.py': 2}\nfor p, n in d.items():\n    open(p, 'w')"), "x.py y.py", ""),
        (_python("from pathlib import Path\nr = Path('a')\n(r / 'x.py').write_text('')"), "a/x.py", ""),
        (_python("def put(p, new):\n    with open(p, mode='a') as f: ...\nput('x.py', 1)"), "x.py", ""),
        (_python("import fileinput\nfor l in fileinput.input(['x.py'], inplace=True): ..."), "x.py", ""),
        (_python("p = 'x.py'\nif p in open(p).read():\n    open(p, 'w')"), "", "x.py"),
        (_python("for p in ('x.py', 'y.py'):\n    if p: continue\n    open(p, 'w')"), "", "x.py y.py"),
        (_python("p = 'x.py'\nopen(p, 'w')\np = 'y.py'\nopen(p).read()"), "x.py", ""),
        (_python("import sys\nopen(sys.argv[1], 'w')\nopen(p, 'w')\n'z.py'"), "", ""),
        ("python - x.py <<EOF\nimport sys\nopen(sys.argv[1], 'w')\nEOF", "x.py", ""),
        ("python3 -c \"open('x.py', 'w').write(\\\"a\\\")\"", "x.py", ""),
        ("cat <<EOF\nopen('x.py', 'w')\nEOF", "", ""),
        ("node -e \"require('fs').writeFileSync('x.js', '')\"", "x.js", ""),
        ("node -e \"const p = 'x.js'; if (a) fs.writeFileSync(p, '')\"", "", "x.js"),
        ("perl -pi -e 's/a/b/' x.c y.c", "x.c y.c", ""),
        ("perl -ne 'print' x.c", "", ""),
        ("ruby -i -pe 'sub(/a/, 1)' x.rb", "x.rb", ""),
        ("ed -s x.txt <<EOF\n1d\nw\nq\nEOF", "x.txt", ""),
        ("ed -s x.txt <<EOF\n1p\nq\nEOF", "", ""),
        ("ex -sc '%s/a/b/|wq' x.txt", "x.txt", ""),
        (f"patch -p1 {_PATCH}", "x.py", ""),
        (f"git apply {_PATCH}", "x.py", ""),
        (f"git apply --check {_PATCH}", "", ""),
        ("awk '{print}' a.txt > x.txt", "x.txt", ""),
        ("cp a.py x.py && cp a.py d/ && cp a.py e", "x.py d/a.py", ""),
        ("dd if=a of=x.img", "x.img", ""),
        ("gofmt -w x.go", "", "x.go"),
        ("black -l 100 --config a.toml x.py", "", "x.py"),
        ("black --check x.py && gofmt -l x.go && prettier a.ts", "", ""),
        ("uv run ruff format x.py", "", "x.py"),
    ],
)
def test_what_a_command_line_changes(line: str, sure: str, perhaps: str) -> None:
    read = parsed(line, _KNOWN)
    assert ({*read.writes, *read.edits}, {*read.perhaps}) == ({*sure.split()}, {*perhaps.split()})


def test_what_stands_before_a_failure_perhaps_happened() -> None:
    line = _python("open('x.py', 'w')") + "\npytest -q"
    talk = Talk().call("Bash", {"command": line}, "1 failed in 0.1s", error=True)
    assert "- [1] perhaps edited by a command: x.py (no read seen since)" in talk.lines()
    talk.call("Bash", {"command": _python("open('x.py', 'w')")}, "")
    assert "- [3] written x.py (no read seen since)" in talk.lines()


@pytest.mark.parametrize(
    "script", ["open('x', 'w'", "while 1:\n    open(x, 'w')", "f()\n" * 9_000, "def f(p): f(p)\nf('open(')"]
)
def test_no_script_does_harm(script: str) -> None:
    assert not written_by_python(script).sure


@pytest.mark.parametrize(
    ("command", "output", "ran"),
    [
        ("pytest t/x.py", "ERROR: file or directory not found: t/x.py\n\nno tests ran in 0.01s", False),
        ("python -m pytest", "/usr/bin/python: No module named pytest", False),
        ("pytest t", "ERROR t/x.py - ImportError: no such file\n1 error in 0.1s", True),
        ("go test ./x", "# ./x\nstat /x: directory not found\nFAIL\t./x [setup failed]\nFAIL", False),
        ("go test ./...", "stat /x: directory not found\nFAIL\t./x [setup failed]\n--- FAIL: TestA", True),
        ("cargo test --test x", "error: no test target named `x`.", False),
        ("npx jest x", "No tests found, exiting with code 1", False),
        ("bash -c pytest; make test", "sh: foo: command not found\nmake: *** [test] Error 127", True),
    ],
)
def test_what_was_mistyped_is_no_failing_test(command: str, output: str, ran: bool) -> None:
    talk = Talk().call("Bash", {"command": command}, output, error=True)
    assert [run.outcome for run in talk.ledger().runs] == ["failed" if ran else "unrun"]
    assert not talk.ledger().failures


def test_what_stands_behind_a_failure_did_not_run() -> None:
    chain = "ruff check . && ruff format --check . && mypy src 2>&1 | tail -3"
    talk = Talk().call("Bash", {"command": "mypy src"}, "Success: no issues found in 3 source files")
    talk.call("Bash", {"command": chain}, "Found 2 errors.", error=True)
    told = {run.command: run.outcome for run in talk.ledger().runs}
    assert told == {"ruff check .": "failed", "ruff format --check .": "unrun", "mypy src": "ok"}


def test_what_was_mistyped_is_forgotten_once_the_program_ran() -> None:
    talk = Talk().call(
        "Bash", {"command": "pytest x.py"}, "ERROR: file or directory not found: x.py", error=True
    )
    assert any("test did not run: pytest x.py" in line for line in talk.lines())
    talk.call("Bash", {"command": "pytest y.py"}, "3 passed in 0.1s")
    assert [run.command for run in talk.ledger().runs] == ["pytest y.py"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("checking\nsrc/a.go:3:5: undefined x", "src/a.go:3:5: undefined x"),
        ("checking\na.ts(3,5): has no overlap", "a.ts(3,5): has no overlap"),
        ("a.go:3:5: undefined x\nerror: 1 package", "error: 1 package"),
        ("nothing\nhere", "nothing"),
    ],
)
def test_a_line_that_names_a_place_tells_more_than_the_first(text: str, line: str) -> None:
    assert telling_line(text, 200) == line
