"""The agents whose sessions can be found: `agents.toml`, and a file of the same form of one's own."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, cast

from snapshot._toml import parse_toml
from snapshot.errors import SnapshotError

__all__ = ["VARIABLE", "Agent", "agent_of", "known_agents"]

VARIABLE = "SNAPSHOT_AGENTS"
"""Environment variable that names a file of agents of one's own; a table there replaces one of its name."""

_KEYS = {
    "title": str, "format": str, "roots": list, "sessions": list, "not": list, "tables": str, "id": str,
    "project": list, "share": float,
}  # fmt: skip
_REQUIRED = ("format", "roots", "sessions")


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent, and where its sessions are.

    Attributes:
        name: what it is asked for by: "claude-code".
        title: what it calls itself.
        format: the format of `snapshot.transcripts` that its sessions have.
        roots: folders, with `${NAME:-DEFAULT}` still in them.
        sessions, excluded: patterns under a root, of sessions and of what is none.
        tables: a pattern of databases under a root that hold sessions; "" where there are none.
        id: matches the path under a root, and the id in it; None: the name without its suffix is one.
        project: keys that name the folder the agent worked in.
        share: how much of a file's bytes are words for the model, roughly, from 0 to 1.
    """

    name: str
    title: str
    format: str
    roots: tuple[str, ...]
    sessions: tuple[str, ...]
    excluded: tuple[str, ...] = ()
    tables: str = ""
    id: re.Pattern[str] | None = None
    project: tuple[str, ...] = ()
    share: float = 0.5

    def folders(self) -> tuple[Path, ...]:
        """The roots as they are now, by the environment; each once, whether it exists or not."""
        known = (root for root in map(_expanded, self.roots) if root is not None)
        return tuple(dict.fromkeys(Path(root).expanduser() for root in known))

    def id_of(self, under: str) -> str:
        """The id of the session at a path under a root, written with `/`."""
        found = self.id.search(under) if self.id is not None else None
        if found is not None:
            return found[1]
        name = under.rpartition("/")[2]
        return name.split(".")[0] or name


def known_agents() -> tuple[Agent, ...]:
    """All agents, those of `SNAPSHOT_AGENTS` first.

    Raises:
        SnapshotError: a file cannot be read, or a table in it is wrong.
    """
    own = os.environ.get(VARIABLE)
    found = {agent.name: agent for agent in _read(Path(own).expanduser())} if own else {}
    return (*found.values(), *(agent for agent in _built_in() if agent.name not in found))


def agent_of(name: str) -> Agent:
    """The agent of a name, or the only one whose name or title begins so.

    Raises:
        SnapshotError: there is none, or more than one.
    """
    wanted = name.strip().lower().replace(" ", "-")
    known = known_agents()
    exact = [agent for agent in known if agent.name == wanted]
    near = exact or [
        agent
        for agent in known
        if wanted
        and (agent.name.startswith(wanted) or agent.title.lower().replace(" ", "-").startswith(wanted))
    ]
    if len(near) == 1:
        return near[0]
    names = [agent.name for agent in known]
    close = get_close_matches(wanted, names, n=1)
    hint = f"did you mean {close[0]!r}? " if close and not near else ""
    raise SnapshotError(f"unknown agent {name!r}; {hint}known agents: {', '.join(names)}")


@cache
def _built_in() -> tuple[Agent, ...]:
    return _read(Path(__file__).with_name("agents.toml"))


def _read(path: Path) -> tuple[Agent, ...]:
    try:
        tables = parse_toml(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SnapshotError(
            f"{path}: {getattr(error, 'strerror', None) or error}; agents are TOML"
        ) from error
    return tuple(_agent(path, name, table) for name, table in tables.items())


def _agent(path: Path, name: str, value: object) -> Agent:
    where = f"{path}: {name}"
    if not isinstance(value, dict):
        raise SnapshotError(f"{where}: is no table; an agent is one, [{name}]")
    table = cast("dict[str, Any]", value)
    for key, item in table.items():
        if key not in _KEYS:
            close = get_close_matches(key, _KEYS, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise SnapshotError(f"{where}: unknown key {key!r}; {hint}known keys: {', '.join(_KEYS)}")
        if not _fits(item, _KEYS[key]):
            raise SnapshotError(f"{where}: {key} has to be {_named(_KEYS[key])}")
    for key in _REQUIRED:
        if key not in table:
            raise SnapshotError(f"{where}: {key} is missing")
    try:
        pattern = re.compile(str(table["id"])) if "id" in table else None
    except re.error as error:
        raise SnapshotError(f"{where}: id is no regular expression: {error}") from error
    if pattern is not None and pattern.groups != 1:
        raise SnapshotError(f"{where}: id has to have one group, the id itself")
    return Agent(
        name,
        table.get("title", name),
        table["format"],
        tuple(table["roots"]),
        tuple(table["sessions"]),
        tuple(table.get("not", ())),
        table.get("tables", ""),
        pattern,
        tuple(table.get("project", ())),
        min(1.0, max(0.0, float(table.get("share", 0.5)))),
    )


def _fits(value: object, kind: type) -> bool:
    if kind is float:
        return isinstance(value, (int, float))
    if kind is list:
        return isinstance(value, list) and all(isinstance(item, str) for item in cast("list[object]", value))
    return isinstance(value, kind)


def _named(kind: type) -> str:
    return {str: "a string", list: "a list of strings", float: "a number"}[kind]


def _expanded(text: str) -> str | None:
    """`text` with each `${NAME:-DEFAULT}` as a shell gives it, an empty variable being none; None where one
    has neither value nor default."""
    out: list[str] = []
    at = 0
    while (start := text.find("${", at)) >= 0:
        out.append(text[at:start])
        depth, stop = 1, start + 2
        while stop < len(text) and depth:
            depth += (text.startswith("${", stop)) - (text[stop] == "}")
            stop += 1
        name, mark, default = text[start + 2 : stop - 1].partition(":-")
        value = os.environ.get(name) or (_expanded(default) if mark else None)
        if value is None:
            return None
        out.append(value)
        at = stop
    return "".join((*out, text[at:]))
