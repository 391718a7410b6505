"""What a command line did: runs of tests, builds and linters with their outcome, files written and read by the shell."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from snapshot.ledger.lines import one_line
from snapshot.ledger.shell import Simple, simple_commands, unquoted
from snapshot.ledger.state import Outcome, RunKind
from snapshot.ledger.tools import Commands, Program, ToolTable

__all__ = ["Line", "Run", "Verdict", "exit_code", "outcomes", "parsed", "unwrapped"]

_COMMAND = 160
_TELLING = 160
_END = 8000  # characters of an output that are searched, on either end
_REMEMBERED = 4096  # simple commands whose program is remembered
_NEAR = 300  # characters on either end of an output where an exit code is looked for
# Commands that neither tell nor change anything that matters here.
_TRIVIAL = frozenset(
    (
        "cd",
        "pushd",
        "popd",
        "echo",
        "printf",
        "export",
        "set",
        "source",
        ".",
        "true",
        "sleep",
        "exit",
        "wait",
        ":",
    )
)
_NOWHERE = re.compile(r"/dev/|&|\$|\d+$|-$")


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a program that tests, builds or checks: where it stands on its line, and what it is known by."""

    program: Program
    kind: RunKind
    command: str
    key: str
    index: int


@dataclass(frozen=True, slots=True)
class Line:
    """A command line, read.

    Attributes:
        shown: its first line, for people.
        commands: its simple commands, without words such as `sudo` or `uv run`.
        runs: those of them that test, build or check.
        keys: by what its commands are known when one of them is tried again.
        asks: whether an exit code of 1 is an answer, as of `grep`.
        writes, reads, deletes: files that the shell itself changes, prints and removes.
        moves: files that it moves, from and to.
        kills: process ids that it ends.
    """

    shown: str
    commands: tuple[Simple, ...]
    runs: tuple[Run, ...]
    keys: tuple[str, ...]
    asks: bool
    writes: tuple[str, ...]
    reads: tuple[str, ...]
    deletes: tuple[str, ...]
    moves: tuple[tuple[str, str], ...]
    kills: tuple[str, ...]
    piped: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a run ended, and the line that tells it."""

    outcome: Outcome
    line: str = ""
    code: int | None = None


def parsed(line: str, known: Commands) -> Line:
    """A command line, read."""
    commands = simple_commands(line)
    runs: list[Run] = []
    keys: list[str] = []
    writes: list[str] = []
    reads: list[str] = []
    deletes: list[str] = []
    moves: list[tuple[str, str]] = []
    kills: list[str] = []
    asks = False
    for index, simple in enumerate(commands):
        writes += [target for target in simple.writes if not _NOWHERE.match(target)]
        words = _bare(simple.words, known)
        if not words:
            continue
        head = words[0].rsplit("/", 1)[-1]
        if head in _TRIVIAL:
            continue
        asks |= head in known.answers
        text = " ".join(words)
        key = f"{head} {words[1]}" if head in known.subcommands and len(words) > 1 else text[:2000]
        if program := _program(text, known):
            key = _run_key(text, program)
            shown = one_line(simple.text, _COMMAND)
            runs.append(Run(program, cast("RunKind", program.kind), shown, key, index))
        keys.append(key)
        operands = [unquoted(word) for word in words[1:] if not word.startswith("-")]
        _files(head, words, operands, known, reads, writes, deletes, moves)
        if head == "kill":
            kills += [word for word in operands if word.isdigit()]
    first, _, more = line.strip().partition("\n")
    shown = one_line(first, _COMMAND)
    if more:
        count = more.count("\n") + 1
        shown += f" (+{count} line{'s' if count > 1 else ''})"
    return Line(
        shown, commands, tuple(runs), tuple(dict.fromkeys(keys)), asks, tuple(writes), tuple(reads),
        tuple(deletes), tuple(moves), tuple(kills), "pipefail" not in line,
    )  # fmt: skip


def _bare(words: Sequence[str], known: Commands) -> tuple[str, ...]:
    """The words from the program on that is really run."""
    rest = list(words)
    while rest:
        if rest[0] in known.prefixes or (len(rest) > 1 and "=" in rest[0] and rest[0][:1].isalpha()):
            rest = rest[1:]
            while rest and rest[0].startswith("-"):
                rest = rest[1:]
            continue
        if rest[0] in ("timeout", "gtimeout"):
            rest = rest[1:]
            while rest and (rest[0].startswith("-") or rest[0][:1].isdigit()):
                rest = rest[1:]
            continue
        head = " ".join([rest[0].rsplit("/", 1)[-1], *rest[1:3]]) + " "
        runner = next((runner for runner in known.runners if head.startswith(runner + " ")), "")
        if not runner:
            break
        after = rest[len(runner.split()) :]
        while after and after[0].startswith("-"):
            after = after[1:]
        if not after:
            break
        rest = after
    return tuple(rest)


def _program(text: str, known: Commands) -> Program | None:
    start = text[:500]
    if start not in known.found:
        if len(known.found) > _REMEMBERED:
            known.found.clear()
        known.found[start] = _first_program(start, known.programs)
    return known.found[start]


def _first_program(text: str, programs: Iterable[Program]) -> Program | None:
    head, _, rest = text.partition(" ")
    forms = dict.fromkeys((text, f"{head.rsplit('/', 1)[-1]} {rest}".rstrip()))
    for program in programs:
        for form in forms:
            if program.pattern.match(form) and not (program.never and program.never.match(form)):
                return program
    return None


def _run_key(text: str, program: Program) -> str:
    return " ".join((program.ignore.sub("", text) if program.ignore else text)[:2000].split())


def _files(
    head: str,
    words: Sequence[str],
    operands: Sequence[str],
    known: Commands,
    reads: list[str],
    writes: list[str],
    deletes: list[str],
    moves: list[tuple[str, str]],
) -> None:
    """What a simple command does to files, where its words say so plainly."""
    files = [word for word in operands if word and not re.search(r"[*?$`\n{}]", word)]
    if head in known.readers:
        reads += [word for word in files if not word.isdigit()]
    elif head == "sed":
        # The first operand is the script, unless an option gives it.
        scripted = any(word in ("-e", "-f", "--expression") or word.startswith("-e") for word in words)
        named = files if scripted else [word for word in operands[1:] if word in files]
        if any(re.match(r"-[nEr]*i|--in-place", word) for word in words):
            writes += named
        elif any(re.match(r"-[Er]*n", word) for word in words):
            reads += named
    elif head == "tee":
        writes += files
    elif head in ("rm", "unlink"):
        if not any(re.match(r"-\w*[rR]|--recursive", word) for word in words):
            deletes += files
    elif head == "mv" and len(operands) == 2 and len(files) == 2:
        moves.append((files[0], files[1]))
    elif head == "git" and len(files) == 3 and files[0] in ("mv",):
        moves.append((files[1], files[2]))


def unwrapped(text: str) -> tuple[str, int | None]:
    """The output in a result that is JSON of output and exit code, and that code; else the text and None."""
    if text[:1] not in ("{", "[") or '"exit_code"' not in text:
        return text, None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text, None
    rows: list[Any] = cast("list[Any]", value) if isinstance(value, list) else [value]
    outputs: list[str] = []
    code: int | None = None
    for row in rows:
        if not isinstance(row, dict):
            return text, None
        table = cast("dict[str, Any]", row)
        outputs += [table[key] for key in ("output", "stdout", "stderr") if isinstance(table.get(key), str)]
        for inner in (table, table.get("metadata"), table.get("outcome")):
            if isinstance(inner, dict):
                found = cast("dict[str, Any]", inner).get("exit_code")
                # Of several commands the first that fails decides.
                if type(found) is int and not code:
                    code = found
    return ("\n".join(outputs), code) if outputs or code is not None else (text, None)


def exit_code(text: str, table: ToolTable) -> int | None:
    """The exit code that a result names near its start or its end, or None."""
    for part in (text[:_NEAR], text[-_NEAR:] if len(text) > _NEAR else ""):
        for pattern in table.exits if part else ():
            if match := pattern.search(part):
                return int(match["code"])
    return None


def outcomes(line: Line, text: str, code: int | None, failed: bool, *, shown: bool) -> tuple[Verdict, ...]:
    """How each run of a line ended.

    Args:
        line: the command line.
        text: its output.
        code: its exit code, None if it is not known.
        failed: whether the line failed as a whole.
        shown: whether success follows from nothing being said.
    """
    ends = text if len(text) <= 2 * _END else f"{text[:_END]}\n{text[-_END:]}"
    found: list[Verdict] = []
    for run in line.runs:
        program = run.program
        good, bad = _last(program.passed, ends), _last(program.failed, ends)
        twins = sum(other.program is program for other in line.runs)
        alone = _alone(line, run.index)
        own = code if alone else None
        if bad and good and twins > 1:
            found.append(Verdict("unknown"))
        elif bad:
            found.append(Verdict("failed", bad, own or None))
        elif failed and alone:
            found.append(Verdict("failed", "", own))
        elif good:
            found.append(Verdict("ok", good, own))
        elif not failed and shown and _reached(line, run.index):
            found.append(Verdict("ok", "", own))
        else:
            found.append(Verdict("unknown"))
    return tuple(found)


def _last(patterns: Iterable[re.Pattern[str]], text: str) -> str:
    """The last line that one of the patterns finds."""
    best, at = "", -1
    for pattern in patterns:
        for match in pattern.finditer(text):
            if match.start() > at:
                best, at = match[0], match.start()
    return one_line(best.strip("= \t"), _TELLING)


def _alone(line: Line, index: int) -> bool:
    """Whether the exit code of the whole line is that of the command at `index`."""
    command = line.commands[index]
    if line.piped and command.after in ("|", "|&"):
        return False
    others = [other for number, other in enumerate(line.commands) if number != index]
    if all(other.words[:1] and other.words[0] in _TRIVIAL for other in others):
        return not command.after or command.after == "&&"
    return not command.after and command.before == ";"


def _reached(line: Line, index: int) -> bool:
    """Whether the command at `index` ran and succeeded if the whole line did."""
    own = line.commands[index]
    if own.before == "||" or (line.piped and own.after in ("|", "|&")):
        return False
    return not any(command.after in ("||", "&", ";") for command in line.commands[index:])
