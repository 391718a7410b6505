"""What a command line did: runs of tests, builds and linters, files that the shell wrote and read."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from snapshot.ledger.lines import one_line
from snapshot.ledger.shell import Simple, simple_commands, subcommand, unquoted
from snapshot.ledger.state import Outcome, RunKind
from snapshot.ledger.tools import Commands, Program, ToolTable
from snapshot.ledger.touched import Touched, within

__all__ = ["Line", "Run", "Verdict", "exit_code", "outcomes", "parsed", "unwrapped"]

_COMMAND = 300
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


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a program that tests, builds or checks: its place on the line, and what it is known by."""

    program: Program
    kind: RunKind
    command: str
    key: str
    index: int
    where: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A command line, read.

    Attributes:
        shown: its first line, for people.
        commands: its simple commands, without words such as `sudo` or `uv run`.
        runs: those of them that test, build or check.
        key: by what a line that failed is known when it is tried again: its last command that does more
            than look.
        sure: by what those of its commands are known that have succeeded if the line has.
        asks: whether an exit code of 1 may be an answer, as of `grep`.
        acts: whether one of its commands does more than look.
        writes, edits, reads, deletes: files that the shell itself writes, changes, prints and removes.
        perhaps: files that it may change: by a script's branch, or a formatter.
        early: files that it changes before its last command, so perhaps also if the line fails.
        moves: files that it moves, from and to.
        kills: process ids that it ends.
        shown_by: for each of its commands, whether the end of its output is seen.
        piped: whether a pipe hides the exit code of what stands before it.
    """

    shown: str
    commands: tuple[Simple, ...]
    runs: tuple[Run, ...]
    key: str
    sure: tuple[str, ...]
    asks: bool
    acts: bool
    writes: tuple[str, ...]
    edits: tuple[str, ...]
    reads: tuple[str, ...]
    deletes: tuple[str, ...]
    perhaps: tuple[str, ...]
    early: tuple[str, ...]
    moves: tuple[tuple[str, str], ...]
    kills: tuple[str, ...]
    shown_by: tuple[bool, ...]
    piped: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a run ended, and the line that tells it."""

    outcome: Outcome
    line: str = ""
    code: int | None = None


def parsed(line: str, known: Commands, where: str = "") -> Line:
    """A command line, read; `where` is the folder that it runs in, "" if that is not known."""
    commands = simple_commands(line)
    runs: list[Run] = []
    key, sure, acts = "", list[str](), False
    hidden = "pipefail" not in line
    touched = Touched()
    kills, early = list[str](), list[str]()
    asks = False
    outer, inner = where, 0
    for index, simple in enumerate(commands):
        if simple.inner != inner:
            # A subshell begins where the line is, and what it changes ends with it.
            inner, where = simple.inner, outer
        touched.where = where
        if simple.words and simple.words[0] not in _TRIVIAL:
            early = [*touched.writes, *touched.edits, *touched.perhaps]
        touched.redirected(simple)
        words = _bare(simple.words, known)
        if not words:
            continue
        head = words[0].rsplit("/", 1)[-1]
        if head in _TRIVIAL:
            if head in ("cd", "pushd") and len(words) == 2:
                where = within(where, unquoted(words[1]))
                outer = outer if simple.inner else where
            continue
        asks |= head in known.answers
        text = " ".join(words)
        known_words = 1 if head in known.verbs else 2 if head in known.subcommands else 0
        named = " ".join((head, *subcommand(words, known_words))) if known_words else ""
        own = named or text[:2000]
        if program := _program(text, known):
            own = _run_key(text, program)
            shown = one_line(simple.text, _COMMAND)
            runs.append(Run(program, cast("RunKind", program.kind), shown, own, index, where))
        if not _looks(head, named, words, known):
            key, acts = own, True
        elif not acts:
            key = own
        if _reached(commands, index, hidden):
            sure.append(own)
        touched.by(head, words, simple.body, known)
        if head == "kill":
            kills += [word for word in map(unquoted, words[1:]) if word.isdigit()]
    first, _, more = line.strip().partition("\n")
    shown = one_line(first, _COMMAND)
    if more:
        count = more.count("\n") + 1
        shown += f" (+{count} line{'s' if count > 1 else ''})"
    return Line(
        shown=shown,
        commands=commands,
        runs=tuple(runs),
        key=key,
        sure=tuple(dict.fromkeys(sure)),
        asks=asks,
        acts=acts,
        writes=tuple(touched.writes),
        edits=tuple(touched.edits),
        reads=tuple(touched.reads),
        deletes=tuple(touched.deletes),
        perhaps=tuple(touched.perhaps),
        early=tuple(early),
        moves=tuple(touched.moves),
        kills=tuple(kills),
        shown_by=tuple(_shown(commands, index, known) for index in range(len(commands))),
        piped=hidden,
    )


def _looks(head: str, named: str, words: Sequence[str], known: Commands) -> bool:
    if head in known.looks or named in known.looks or head in known.readers or head in known.answers:
        return True
    return head == "sed" and any(re.match(r"-[Er]*n", word) for word in words[1:2])


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
        head = rest[0].rsplit("/", 1)[-1]
        length = next(
            (
                len(runner)
                for runner in known.runners
                if runner[0] == head and rest[1 : len(runner)] == runner[1:]
            ),
            0,
        )
        if not length:
            break
        after = rest[length:]
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


def unwrapped(text: str, known: ToolTable) -> tuple[str, int | None]:
    """The output in a result that is JSON of output and exit code, and that code; else the text and None.

    What a record of a run repeats is left out.
    """
    for mark in known.repeats:
        at = text.find(mark)
        if at > 0 and text[at + len(mark) :].lstrip().startswith(text[:at].strip()):
            text = text[:at]
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
                with suppress(TypeError, ValueError):  # a user's pattern may find anything
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
    if not line.runs:
        return ()
    ends = text if len(text) <= 2 * _END else f"{text[:_END]}\n{text[-_END:]}"
    programs = list({id(run.program): run.program for run in line.runs}.values())
    told = {id(program): _told(program, ends) for program in programs}
    # What the programs of a line say alike tells of none of them.
    said = Counter(at for lines in told.values() for at in lines)
    found: list[Verdict] = []
    for run in line.runs:
        lines = [words for at, words in sorted(told[id(run.program)].items()) if said[at] == 1]
        twins = [other.index for other in line.runs if other.program is run.program]
        if len(twins) > 1:
            # One line for each run whose end is seen can be told apart, anything else cannot.
            seen = [index for index in twins if line.shown_by[index]]
            apart = run.index in seen and len(lines) == len(seen)
            lines = [lines[seen.index(run.index)]] if apart else []
        bad = [words for good, words in lines if not good]
        own = code if _alone(line, run.index) else None
        if (bad or failed) and (why := _unrun(run, told[id(run.program)], ends)):
            found.append(Verdict("unrun", why, own or None))
        elif bad:
            found.append(Verdict("failed", bad[-1], own or None))
        elif failed and _alone(line, run.index):
            found.append(Verdict("failed", "", own))
        elif lines:
            found.append(Verdict("ok", lines[-1][1], own))
        elif not failed and shown and _reached(line.commands, run.index, line.piped):
            found.append(Verdict("ok", "", own))
        else:
            found.append(Verdict("unknown"))
    return _chained(line, found)


def _chained(line: Line, found: list[Verdict]) -> tuple[Verdict, ...]:
    """What "&&" tells of runs whose outcome is not known: what stands behind it runs only after a success."""
    for one, run in enumerate(line.runs):
        outcome = found[one].outcome
        led = [
            at
            for at, other in enumerate(line.runs[one + 1 :], one + 1)
            if _led(line.commands[run.index : other.index])
        ]
        if outcome == "unknown" and any(found[at].line for at in led):
            found[one] = Verdict("ok")
        elif outcome in ("failed", "unrun"):
            for at in led:
                if found[at].outcome == "unknown":
                    found[at] = Verdict("unrun", "what stands before it failed")
    return tuple(found)


def _unrun(run: Run, told: Mapping[int, tuple[bool, str]], text: str) -> str:
    """The line that says that there was nothing to run, where no line that tells an outcome says else."""
    said = [match for pattern in run.program.unrun for match in pattern.finditer(text)]
    named = {word.rsplit("/", 1)[-1] for word in run.command.split()}
    absent = (match for pattern in run.program.absent for match in pattern.finditer(text))
    said += [match for match in absent if match["name"].rsplit("/", 1)[-1] in named]
    if not said or not all(any(one.start() <= at + 1 <= one.end() for one in said) for at in told):
        return ""
    return one_line(said[0][0].partition("\n")[0].strip("= \t"), _TELLING)


def _led(commands: Sequence[Simple]) -> bool:
    """Whether what follows these commands runs only if the first of them succeeds."""
    return commands[0].after == "&&" and all(command.after in ("&&", "|", "|&") for command in commands)


def _shown(commands: Sequence[Simple], index: int, known: Commands) -> bool:
    """Whether the end of the output of the command at `index` is seen."""
    while commands[index].after in ("|", "|&") and index + 1 < len(commands):
        index += 1
        words = commands[index].words
        if not words or words[0] not in known.shows:
            return False
    return not any(mode.startswith((">", "1>", "&>")) for mode, _ in commands[index].writes)


def _told(program: Program, text: str) -> dict[int, tuple[bool, str]]:
    """The lines that tell an outcome, by where they start, and whether it is a good one."""
    found: dict[int, tuple[bool, str]] = {}
    for good, patterns in ((True, program.passed), (False, program.failed)):
        for pattern in patterns:
            for match in pattern.finditer(text):
                start = text.rfind("\n", 0, match.start() + 1)
                found[start] = (good, one_line(match[0].strip("= \t"), _TELLING))
    return found


def _alone(line: Line, index: int) -> bool:
    """Whether the exit code of the whole line is that of the command at `index`."""
    command = line.commands[index]
    if line.piped and command.after in ("|", "|&"):
        return False
    others = [other for number, other in enumerate(line.commands) if number != index]
    if all(other.words[:1] and other.words[0] in _TRIVIAL for other in others):
        return not command.after or command.after == "&&"
    return not command.after and command.before == ";"


def _reached(commands: Sequence[Simple], index: int, piped: bool) -> bool:
    """Whether the command at `index` ran and succeeded if the whole line did."""
    own = commands[index]
    if own.before == "||" or (piped and own.after in ("|", "|&")):
        return False
    return not any(command.after in ("||", "&", ";") for command in commands[index:])
