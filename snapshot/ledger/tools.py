"""What tools mean for the ledger, as data: `tools.toml` beside this file, and a user's files of the same
form.

A rule of `[[tools]]`:

- `harness`, `names`: whose tool it is, and its names; `*` stands for any ending.
- `means`: what a call does (`MEANINGS`), or "none" where it says nothing about the state. With `operation`,
  the argument of that name decides through the table `operations`; `each` names an argument that is a list of
  such operations.
- `needs`: the rule fits a call that has one of these arguments.
- `path`, `to`, `command`, `what`, `items`, `text`, `state`, `step`, `handle`, `question`, `name`, `patch`,
  `where`: keys of arguments, in order of preference, in place of those in `[keys]`; `group` names the phase
  of a step.
- `kind`: what a started thing is called; `starts`: patterns that find its `id`, and where it is named the
  file of its `output`, in a result; without them the thing runs under the name that `handle` gives.
- `ended`: patterns in a result that say that a thing ended, with its `id` where the call does not name it.
- `took`: a pattern without which in its result a call counts as failed, though it is not called an error.
- `created`: a pattern in the result of a write or edit that made a new file.
- `setting`, `value`: which setting a call enters or leaves; `reads`: patterns that find the `value`, or the
  `folder` of a skill, in the result. `query`: a pattern that finds `names` of tools in the argument `query`.
- `exit = "hidden"`: results neither name an exit code nor say that a command failed.
- `promotes`: whenever no step is in progress, the first open one is.

`[[notices]]` are patterns in words that the harness sends in a user's or the system's name. `[[generic]]`
rules are for tools of unknown names: words of the name, and keys that a call must have. `[commands]`,
`[[programs]]` and `[[changes]]` are about command lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any, cast

from snapshot._toml import parse_toml
from snapshot.errors import ToolTableError

__all__ = ["MEANINGS", "Commands", "Generic", "Notice", "Program", "Tool", "ToolTable", "tool_table"]

MEANINGS = (
    "none", "read", "write", "edit", "move", "delete", "patch", "command", "agent", "poll", "stop",
    "question", "enter", "leave", "skill", "tools", "plan", "add-step", "append-steps", "change-step",
    "start-step", "finish-step", "drop-step", "block-step", "open-step", "remove-step",
)  # fmt: skip
_NOTICES = ("ended", "folder", "enter", "leave")
_GENERIC = ("plan", "patch", "delete", "move", "write", "edit", "read", "command")
_KINDS = ("test", "build", "lint")
_EXITS = ("shown", "hidden")
_KEYS = (
    "path", "to", "command", "what", "items", "text", "state", "step", "handle", "question", "name", "patch",
    "where",
)  # fmt: skip

# Kind of each key: "text", "texts", "pattern", "patterns", "flag", "meanings", or a tuple of the words it
# may be.
_Fields = Mapping[str, str | tuple[str, ...]]
_TOOL: _Fields = {
    "harness": "text", "names": "texts", "means": MEANINGS, "needs": "texts", "each": "text", "operation":
    "text", "operations": "meanings", "kind": "text", "starts": "patterns", "ended": "patterns", "created":
    "pattern", "setting": "text", "value": "text", "reads": "patterns", "query": "pattern", "exit": _EXITS,
    "took": "pattern", "promotes": "flag", "group": "texts", **dict.fromkeys(_KEYS, "texts"),
}  # fmt: skip
_NOTICE: _Fields = {
    "harness": "text", "has": "text", "pattern": "pattern", "means": _NOTICES, "setting": "text", "value":
    "text",
}  # fmt: skip
_GENERIC_RULE: _Fields = {
    "means": _GENERIC, "name": "pattern", "keys": "texts", "also": "texts", "exit": _EXITS,
}  # fmt: skip
_PROGRAM: _Fields = {
    "kind": _KINDS, "pattern": "pattern", "not": "pattern", "ignore": "pattern", "passed": "patterns",
    "failed": "patterns", "unrun": "patterns",
}  # fmt: skip
# Groups of which the patterns of a key must name one.
_GROUPS: Mapping[str, tuple[str, ...]] = {
    "starts": ("id",), "reads": ("value", "folder"), "query": ("names",), "exit": ("code",),
    "calls": ("path",),
}  # fmt: skip
_CHANGE: _Fields = {
    "pattern": "pattern", "valued": "pattern", "sure": "flag", "script": "pattern", "calls": "pattern",
}  # fmt: skip
_COMMANDS = ("prefixes", "runners", "verbs", "subcommands", "answers", "readers", "looks", "shows")
_RESULTS: _Fields = {"exit": "patterns", "output": "texts", "again": "texts"}
_LISTS: Mapping[str, tuple[_Fields, tuple[str, ...]]] = {
    "tools": (_TOOL, ("names", "means")),
    "notices": (_NOTICE, ("has", "pattern", "means")),
    "generic": (_GENERIC_RULE, ("means", "keys")),
    "programs": (_PROGRAM, ("kind", "pattern")),
    "changes": (_CHANGE, ("pattern",)),
}
_TABLES: Mapping[str, _Fields | None] = {
    "harnesses": None,
    "keys": dict.fromkeys(_KEYS, "texts"),
    "states": None,
    "results": _RESULTS,
    "commands": {**dict.fromkeys(_COMMANDS, "texts"), "unrun": "patterns"},
}
_TOP = (*_LISTS, *_TABLES, "as_of", "sources")

_Patterns = tuple[re.Pattern[str], ...]
_NONE: Mapping[str, tuple[str, ...]] = {}


@dataclass(frozen=True, slots=True)
class Tool:
    """What a call of a tool means; see the module for the fields."""

    means: str
    harness: str = ""
    names: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: _NONE)
    each: str = ""
    operation: str = ""
    operations: Mapping[str, str] = field(default_factory=dict[str, str])
    kind: str = ""
    starts: _Patterns = ()
    ended: _Patterns = ()
    created: re.Pattern[str] | None = None
    setting: str = ""
    value: str = ""
    reads: _Patterns = ()
    query: re.Pattern[str] | None = None
    took: re.Pattern[str] | None = None
    exit: str = "shown"
    promotes: bool = False


@dataclass(frozen=True, slots=True)
class Notice:
    """Words of a harness among those of the user: a literal that is in them, and the pattern that reads
    them."""

    has: str
    pattern: re.Pattern[str]
    means: str
    harness: str = ""
    setting: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class Generic:
    """A rule for tools of unknown names."""

    tool: Tool
    keys: tuple[str, ...]
    also: tuple[str, ...] = ()
    name: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True)
class Program:
    """A program that tests, builds or checks.

    Attributes:
        kind: "test", "build" or "lint".
        pattern: fits the start of a simple command.
        never: what does not belong to it all the same.
        ignore: options that make no other command of it.
        passed, failed: lines of its output that tell the outcome.
        unrun: what it says where it had nothing to run, with all lines that follow from that.
        absent: what the shell says where a program of that `name` is not there.
    """

    kind: str
    pattern: re.Pattern[str]
    never: re.Pattern[str] | None = None
    ignore: re.Pattern[str] | None = None
    passed: _Patterns = ()
    failed: _Patterns = ()
    unrun: _Patterns = ()
    absent: _Patterns = ()


@dataclass(frozen=True, slots=True)
class Changes:
    """A program that changes files.

    Attributes:
        pattern: fits the start of a simple command with its here-document.
        valued: options whose value is the next word.
        sure: whether the files that it is given are changed, not only perhaps.
        script: the option that gives a script, which names the files; None where the words do.
        calls: calls that write, in a script that is not Python.
    """

    pattern: re.Pattern[str]
    valued: re.Pattern[str] | None
    sure: bool
    script: re.Pattern[str] | None
    calls: re.Pattern[str] | None


@dataclass(frozen=True, slots=True)
class Commands:
    """What is known of command lines: words before programs, and programs of some kinds."""

    prefixes: frozenset[str]
    runners: tuple[list[str], ...]
    verbs: frozenset[str]
    subcommands: frozenset[str]
    answers: frozenset[str]
    readers: frozenset[str]
    looks: frozenset[str]
    shows: frozenset[str]
    programs: tuple[Program, ...]
    changes: tuple[Changes, ...]
    found: dict[str, Program | None] = field(
        default_factory=dict[str, "Program | None"], repr=False, compare=False
    )  # which program a simple command is, remembered


@dataclass(frozen=True, slots=True)
class ToolTable:
    """All rules: which tool means what, and how results, steps and command lines are read."""

    tools: tuple[Tool, ...]
    notices: tuple[Notice, ...]
    generic: tuple[Generic, ...]
    keys: Mapping[str, tuple[str, ...]]
    states: Mapping[str, str]
    exits: _Patterns
    outputs: tuple[str, ...]
    repeats: tuple[str, ...]
    commands: Commands
    harnesses: Mapping[str, str]
    named: Mapping[str, tuple[Tool, ...]] = field(repr=False)
    globs: tuple[tuple[str, Tool], ...] = field(repr=False)

    def candidates(self, name: str, harness: str = "") -> tuple[Tool, ...]:
        """The rules for a tool of this name, those of `harness` first.

        `harness` is a name of `[harnesses]`, a transcript format that is a harness's own, or anything else,
        which is as good as nothing. Names are taken with and without a namespace before them
        ("functions.shell").
        """
        found = self.named.get(name, ())
        if not found and not name.startswith("mcp__"):
            bare = re.split(r"[.:/]", name)[-1]
            found = self.named.get(bare) or self.named.get(bare.casefold(), ())
        found += tuple(tool for start, tool in self.globs if name.startswith(start) and tool not in found)
        wanted = self.harnesses.get(harness, harness)
        return tuple(sorted(found, key=lambda tool: tool.harness != wanted)) if wanted else found

    def guess(self, name: str, arguments: Mapping[str, Any]) -> Tool | None:
        """The generic rule that fits a call of a tool of an unknown name, or None."""
        for rule in self.generic:
            if (
                any(key in arguments for key in rule.keys)
                and (not rule.also or any(key in arguments for key in rule.also))
                and (rule.name is None or rule.name.search(name))
            ):
                return rule.tool
        return None


def tool_table(paths: Iterable[str | PathLike[str]] = ()) -> ToolTable:
    """The table of the known harnesses, with the rules of the user's files before them.

    Args:
        paths: TOML files of the form of `tools.toml`, the most important one first.

    Raises:
        ToolTableError: a file cannot be read, or has mistakes; one line for each of them.
    """
    files = tuple(Path(path) for path in paths)
    return _merged([*(_checked(path) for path in files), _own()]) if files else _default()


@cache
def _default() -> ToolTable:
    return _merged([_own()])


@cache
def _own() -> dict[str, Any]:
    return _checked(Path(__file__).with_name("tools.toml"))


def _checked(path: Path) -> dict[str, Any]:
    try:
        data = parse_toml(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise ToolTableError([f"{path}: cannot be read ({error.strerror})"]) from None
    except UnicodeDecodeError:
        raise ToolTableError([f"{path}: is not UTF-8"]) from None
    except ValueError as error:
        raise ToolTableError([f"{path}: is no TOML: {error}"]) from None
    mistakes: list[str] = []
    for name, value in data.items():
        if name not in _TOP:
            mistakes.append(f"{path}: unknown table {name}{_meant(name, _TOP)}")
        elif name in _LISTS:
            fields, required = _LISTS[name]
            if not isinstance(value, list):
                mistakes.append(f"{path}: {name} must be a list of tables, as in [[{name}]]")
                continue
            for number, table in enumerate(cast("list[Any]", value), 1):
                mistakes += _mistakes(table, fields, required, f"{path}: {name} {number}")
        elif name in _TABLES:
            fields = _TABLES[name]
            if not isinstance(value, dict):
                mistakes.append(f"{path}: {name} must be a table, as in [{name}]")
                continue
            table = cast("dict[str, Any]", value)
            fields = dict.fromkeys(table, "texts") if fields is None else fields
            mistakes += _mistakes(table, fields, (), f"{path}: {name}")
    if mistakes:
        raise ToolTableError(mistakes)
    return data


def _mistakes(table: object, fields: _Fields, required: Sequence[str], where: str) -> list[str]:
    if not isinstance(table, dict):
        return [f"{where} must be a table"]
    found: list[str] = []
    checked = cast("dict[str, Any]", table)
    for name, value in checked.items():
        if name not in fields:
            found.append(f"{where}: unknown key {name}{_meant(name, fields)}")
        elif wrong := _wrong(value, fields[name]) or _groupless(value, _GROUPS.get(name, ()), fields[name]):
            found.append(f"{where}: {name} {wrong}")
    found += [f"{where}: {name} is missing" for name in required if name not in checked]
    return found


def _wrong(value: Any, kind: str | tuple[str, ...]) -> str:  # noqa: PLR0911 -- one for each kind
    """What is wrong with a value, "" if nothing is."""
    if isinstance(kind, tuple):
        if value in kind:
            return ""
        return f"is {value!r}, it must be one of {', '.join(kind)}{_meant(value, kind)}"
    match kind:
        case "text":
            return "" if isinstance(value, str) else f"is {value!r}, it must be text"
        case "flag":
            return "" if isinstance(value, bool) else f"is {value!r}, it must be true or false"
        case "texts":
            return "" if _texts(value) else f"is {value!r}, it must be a list of texts"
        case "meanings":
            if not isinstance(value, dict):
                return f"is {value!r}, it must be a table of operations"
            wrongs = (_wrong(meaning, MEANINGS) for meaning in cast("dict[str, Any]", value).values())
            return next(filter(None, wrongs), "")
        case _:
            patterns = [value] if kind == "pattern" else value
            if not _texts(patterns):
                must = "a regular expression" if kind == "pattern" else "a list of regular expressions"
                return f"is {value!r}, it must be {must}"
            for pattern in patterns:
                try:
                    re.compile(pattern)
                except re.error as error:
                    return f"is no regular expression: {error}: {pattern!r}"
            return ""


def _groupless(value: Any, groups: Sequence[str], kind: str | tuple[str, ...]) -> str:
    """What is wrong with patterns that must find something by name, "" if nothing is."""
    if not groups or kind not in ("pattern", "patterns"):
        return ""
    for pattern in [value] if kind == "pattern" else value:
        if not set(groups) & set(re.compile(pattern).groupindex):
            named = " or ".join(f"(?P<{group}>…)" for group in groups)
            return f"must name a group: {named}: {pattern!r}"
    return ""


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in cast("list[Any]", value))


def _meant(name: object, known: Iterable[str]) -> str:
    near = get_close_matches(str(name), list(known), n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def _merged(files: Sequence[Mapping[str, Any]]) -> ToolTable:
    """The files as one table; what stands in an earlier one comes before."""

    def rows(name: str) -> list[dict[str, Any]]:
        return [row for data in files for row in data.get(name, ())]

    def joined(table: str, key: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(word for data in files for word in data.get(table, {}).get(key, ())))

    tools = tuple(_tool(row) for row in rows("tools"))
    named: dict[str, list[Tool]] = {}
    globs: list[tuple[str, Tool]] = []
    for tool in tools:
        for name in tool.names:
            if name.endswith("*"):
                globs.append((name[:-1], tool))
                continue
            for key in dict.fromkeys((name, name.casefold())):
                named.setdefault(key, []).append(tool)
    absent = _all(joined("commands", "unrun"))
    states: dict[str, str] = {}
    harnesses: dict[str, str] = {}
    for data in files:
        for told, words in data.get("states", {}).items():
            for word in words:
                states.setdefault(word.casefold(), told)
        for name, others in data.get("harnesses", {}).items():
            for other in (name, *others):
                harnesses.setdefault(other, name)
    return ToolTable(
        tools=tools,
        notices=tuple(
            Notice(
                row["has"], _compiled(row["pattern"]), row["means"], row.get("harness", ""),
                row.get("setting", ""), row.get("value", ""),
            )
            for row in rows("notices")
        ),
        generic=tuple(
            Generic(
                Tool(row["means"], exit=row.get("exit", "shown")), tuple(row["keys"]), tuple(row.get("also",
                ())), _maybe(row.get("name")),
            )
            for row in rows("generic")
        ),
        keys={key: joined("keys", key) for key in _KEYS},
        states=states,
        exits=tuple(_compiled(pattern) for pattern in joined("results", "exit")),
        outputs=joined("results", "output"),
        repeats=joined("results", "again"),
        commands=Commands(
            prefixes=frozenset(joined("commands", "prefixes")),
            runners=tuple(runner.split() for runner in joined("commands", "runners") if runner.strip()),
            verbs=frozenset(joined("commands", "verbs")),
            subcommands=frozenset(joined("commands", "subcommands")),
            answers=frozenset(joined("commands", "answers")),
            readers=frozenset(joined("commands", "readers")),
            looks=frozenset(joined("commands", "looks")),
            shows=frozenset(joined("commands", "shows")),
            programs=tuple(_program(row, absent) for row in rows("programs")),
            changes=tuple(
                Changes(
                    _compiled(row["pattern"]), _maybe(row.get("valued")), row.get("sure", False),
                    _maybe(row.get("script")), _maybe(row.get("calls")),
                )
                for row in rows("changes")
            ),
        ),
        harnesses=harnesses,
        named={name: tuple(rules) for name, rules in named.items()},
        globs=tuple(globs),
    )  # fmt: skip


def _tool(row: Mapping[str, Any]) -> Tool:
    keys = {key: tuple(row[key]) for key in (*_KEYS, "group") if key in row}
    return Tool(
        means=row["means"],
        harness=row.get("harness", ""),
        names=tuple(row["names"]),
        needs=tuple(row.get("needs", ())),
        keys=keys,
        each=row.get("each", ""),
        operation=row.get("operation", ""),
        operations=dict(row.get("operations", {})),
        kind=row.get("kind", ""),
        starts=_all(row.get("starts", ())),
        ended=_all(row.get("ended", ())),
        created=_maybe(row.get("created")),
        setting=row.get("setting", ""),
        value=row.get("value", ""),
        reads=_all(row.get("reads", ())),
        query=_maybe(row.get("query")),
        took=_maybe(row.get("took")),
        exit=row.get("exit", "shown"),
        promotes=row.get("promotes", False),
    )


def _program(row: Mapping[str, Any], absent: _Patterns) -> Program:
    return Program(
        kind=row["kind"],
        pattern=_compiled(row["pattern"]),
        never=_maybe(row.get("not")),
        ignore=_maybe(row.get("ignore")),
        passed=_all(row.get("passed", ())),
        failed=_all(row.get("failed", ())),
        unrun=_all(row.get("unrun", ())),
        absent=absent,
    )


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)


def _maybe(pattern: str | None) -> re.Pattern[str] | None:
    return None if pattern is None else _compiled(pattern)


def _all(patterns: Iterable[str]) -> _Patterns:
    return tuple(_compiled(pattern) for pattern in patterns)
