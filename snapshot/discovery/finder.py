"""Finds sessions: the newest ones, one by the beginning of its id, those of a folder that was worked in."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from snapshot.discovery.agents import Agent, agent_of, known_agents
from snapshot.discovery.heads import Head, head_in, head_of
from snapshot.discovery.tables import exported, rows_of, size_of
from snapshot.errors import SnapshotError

__all__ = ["Found", "Place", "newest", "places", "resolve"]

_SHORTEST = 4  # characters of an id that are taken for its beginning
_LISTED = 5  # sessions that a line names where several are meant


@dataclass(frozen=True, slots=True)
class Place:
    """Where a session is, before anything of it is read.

    Attributes:
        agent: whose session it is.
        id: its id.
        name: what names it to every command: a path, or `FILE#ID` in a database.
        time: when it changed last, in seconds since 1970.
    """

    agent: Agent
    id: str
    name: str
    time: float


@dataclass(frozen=True, slots=True)
class Found:
    """A session, and what its beginning and size say of it.

    Attributes:
        place: where it is.
        project: the folder that the agent worked in, "" if it does not say.
        model: the id of its model, "" if none is named early.
        size: in bytes.
        tokens: a guess at the tokens of its words.
    """

    place: Place
    project: str
    model: str
    size: int
    tokens: int


def places(agent: str = "") -> list[Place]:
    """The sessions of all agents, or of one, the one that changed last first.

    Raises:
        SnapshotError: no such agent, or a file of agents is wrong.
    """
    chosen = (agent_of(agent),) if agent else known_agents()
    found: dict[str, Place] = {}
    for one in chosen:
        for root in one.folders():
            for place in _under(one, root):
                found.setdefault(os.path.realpath(place.name), place)
    return sorted(found.values(), key=lambda place: (-place.time, place.name))


def newest(agent: str = "", count: int | None = None, *, project: str = "") -> list[Found]:
    """The `count` sessions that changed last, with what their beginnings say; None: all.

    Args:
        agent: of this agent only.
        count: how many at most.
        project: only those of this folder, and of folders below it.

    Raises:
        SnapshotError: as `places`.
    """
    found: list[Found] = []
    for place in places(agent):
        if count is not None and len(found) >= count:
            break
        look = _looked(place)
        if not project or _within(look.project, project):
            found.append(look)
    return found


def resolve(name: str) -> Place | None:
    """The session that a person means who names no file: by the beginning of its id, or a folder's newest.

    Returns:
        None where `name` is to be taken as it is: a file, a folder of pages or of one session, `-`, or
            what nobody knows.

    Raises:
        SnapshotError: several sessions are meant, or the folder has none.
    """
    if name == "-":
        return None
    path = Path(name)
    try:
        is_folder, is_there = path.is_dir(), os.path.lexists(path)
    except (OSError, ValueError):
        return None
    if is_folder:
        return _in_folder(path)
    if is_there or len(name) < _SHORTEST or os.sep in name or exported(name) is not None:
        return None
    return _by_id(name)


def _by_id(start: str) -> Place | None:
    found = [place for place in places() if place.id.startswith(start)]
    exact = [place for place in found if place.id == start]
    meant = exact or found
    if len(meant) <= 1:
        return meant[0] if meant else None
    names = ", ".join(f"{place.id} ({place.agent.title})" for place in meant[:_LISTED])
    more = f", and {len(meant) - _LISTED} more" if len(meant) > _LISTED else ""
    raise SnapshotError(f"{start}: {len(meant)} sessions have such an id: {names}{more}; give more of it")


def _in_folder(folder: Path) -> Place | None:
    from snapshot.transcripts.io.folder import TooMany, session_in

    try:
        if (folder / "manifest.json").is_file() or session_in(folder) is not None:
            return None  # pages, or a session
    except (OSError, TooMany):
        return None  # what is wrong is said by who reads it
    whole = Path(os.path.realpath(folder))
    inside = [place for place in places() if whole in Path(os.path.realpath(place.name)).parents]
    if inside:
        return inside[0]
    for place in places():
        if _within(_looked(place).project, str(whole)):
            return place
    raise SnapshotError(
        f"{folder}: no session of an agent is in it or was led from it; `snapshot sessions` lists them"
    )


def _within(project: str, folder: str) -> bool:
    """Whether a project is this folder, or below it."""
    if not project:
        return False
    one, other = Path(os.path.realpath(project)), Path(os.path.realpath(Path(folder).expanduser()))
    return one == other or other in one.parents


def _under(agent: Agent, root: Path) -> Iterator[Place]:
    for pattern in agent.sessions:
        for path in _globbed(root, pattern.split("/")):
            under = path[len(str(root)) :].lstrip(os.sep).replace(os.sep, "/")
            if any(fnmatch(under, other) for other in agent.excluded):
                continue
            try:
                changed = os.stat(path).st_mtime  # noqa: PTH116 - thousands of them: no objects
            except OSError:
                continue
            yield Place(agent, agent.id_of(under), path, changed)
    if agent.tables:
        for file in _globbed(root, [agent.tables]):
            for row in rows_of(Path(file)):
                yield Place(agent, row.id, row.name, row.time)


def _globbed(root: Path, patterns: Sequence[str]) -> Iterator[str]:
    """Paths under `root` whose names fit the patterns, level by level; what cannot be read is left out."""
    folders: Iterable[str] = (str(root),)
    for at, pattern in enumerate(patterns):
        last = at == len(patterns) - 1
        folders = [path for folder in folders for path in _matching(folder, pattern, folders_only=not last)]
    return iter(folders)


def _matching(folder: str, pattern: str, *, folders_only: bool) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [
                entry.path
                for entry in entries
                if fnmatch(entry.name, pattern) and (not folders_only or entry.is_dir())
            ]
    except OSError:
        return []


def _looked(place: Place) -> Found:
    head, size = _head(place)
    return Found(place, head.project, head.model, size, head.tokens(size, place.agent.share))


def _head(place: Place) -> tuple[Head, int]:
    if "#" in place.name and not os.path.lexists(place.name):
        size, first = size_of(place.name)
        return head_in(first, b"", place.agent.project), size
    path = Path(place.name)
    head = head_of(path, place.agent.project)
    if not head.project and path.parent.name == "message":  # opencode says it in a file beside
        head = _beside(path, head, place.agent.project)
    return head, _size(path)


def _beside(path: Path, head: Head, keys: Iterable[str]) -> Head:
    infos = list((path.parent.parent / "session").glob(f"*/{path.name}.json"))
    if not infos:
        return head
    return Head(head_of(infos[0], keys).project, head.model, head.pictures)


def _size(path: Path) -> int:
    """Bytes of a file, or of all files in a folder; those of opencode's parts stand beside it."""
    try:
        if not path.is_dir():
            return path.stat().st_size
        with os.scandir(path) as entries:
            files = [entry for entry in entries if entry.is_file()]
        size = sum(entry.stat().st_size for entry in files)
        parts = path.parent.parent / "part"
        if path.parent.name == "message" and parts.is_dir():
            size += sum(_size(parts / Path(entry.name).stem) for entry in files)
    except OSError:
        return 0
    return size
