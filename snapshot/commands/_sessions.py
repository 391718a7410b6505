"""The argument SESSION of commands: a path, a folder, the beginning of an id, `--latest`, or a choice; and a
folder of pages."""

from __future__ import annotations

import argparse
import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

from snapshot.commands._console import ask, can_ask, say
from snapshot.errors import SnapshotError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from snapshot.discovery import Found, Place

__all__ = ["ago", "choose", "home_short", "pages_folder", "session_argument", "size_of", "stem"]

_OFFERED = 10
_UNTOLD = "name a SESSION: a path, the beginning of an id, or --latest (`snapshot sessions` lists them)"


def session_argument(
    parser: argparse.ArgumentParser, what: str = "a transcript", *, several: bool = False
) -> None:
    """Add SESSION and `--latest`; `choose` puts what is meant into `session`, or `sessions` if `several`."""
    parser.add_argument(
        "sessions" if several else "session",
        metavar="SESSION",
        nargs="*" if several else "?",
        help=f"{what}: a path, a folder, or the beginning of an id (see `snapshot sessions`); - is stdin",
    )
    parser.add_argument(
        "--latest",
        metavar="AGENT",
        nargs="?",
        const="",
        help="the session that changed last, of all agents or of this one",
    )


def choose(arguments: argparse.Namespace) -> None:
    """Put the names of files in place of what was said for SESSION, where the command has such an argument.

    Raises:
        SnapshotError: nothing was said and nobody can be asked, or it means several sessions, or none.
    """
    if not hasattr(arguments, "latest"):
        return
    several = hasattr(arguments, "sessions")
    given: list[str] = (
        list(arguments.sessions) if several else [arguments.session] if arguments.session else []
    )
    if arguments.latest is not None:
        if given:
            raise SnapshotError(
                f"both SESSION ({given[0]}) and --latest: name the one or the other; "
                "what follows --latest is an agent"
            )
        names = [_latest(arguments.latest)]
    elif given:
        names = [_meant(name) for name in given]
        if arguments.command != "view" and (pages := next(filter(_has_pages, names), None)):
            raise SnapshotError(
                f"{pages}: these are pages, and no session; `snapshot view`, `read` and `verify` take them"
            )
    else:
        names = [_asked()]
    if several:
        arguments.sessions = names
    else:
        arguments.session = names[0]


def _meant(name: str) -> str:
    if name == "-" or os.path.isfile(name):  # noqa: PTH113 - no error where it can be no path
        return name
    _refuse_url(name)
    from snapshot.discovery import resolve

    place = resolve(name)
    return name if place is None else _told(place)


def _refuse_url(name: str) -> None:
    """Refuse the address of something that is not on this machine.

    Raises:
        SnapshotError: it is one.
    """
    if re.match(r"[a-z][a-z0-9+.-]+://", name, re.IGNORECASE):
        raise SnapshotError(
            f"{name}: is an address, and nothing is fetched; download it and name the file, or pipe it into "
            "`snapshot COMMAND -`"
        )


def pages_folder(name: str) -> Path:
    """The folder of pages that a person named.

    Raises:
        SnapshotError: there is no folder of that name.
    """
    _refuse_url(name)
    path = Path(name)
    try:
        if path.is_dir():
            return path
        there = os.path.lexists(path)
    except (OSError, ValueError):
        there = False
    what = "is a file" if there else "no such folder"
    raise SnapshotError(f"{name}: {what}; name a folder that `snapshot render` wrote")


def _has_pages(name: str) -> bool:
    from snapshot.pages.manifest import MANIFEST

    return name != "-" and os.path.isfile(os.path.join(name, MANIFEST))  # noqa: PTH113, PTH118 - as above


def _latest(agent: str) -> str:
    from snapshot.discovery import places

    found = places(agent)
    if not found:
        whose = f" of {agent}" if agent else ""
        raise SnapshotError(f"--latest: no session{whose} was found where agents keep them; name a file")
    return _told(found[0])


def _told(place: Place) -> str:
    say(f"session: {place.agent.title}, {place.id}, changed {ago(place.time)}: {home_short(place.name)}")
    return place.name


def _asked() -> str:
    """What a person chooses of the newest sessions, where there is one to be asked."""
    if not can_ask():
        raise SnapshotError(_UNTOLD)
    from snapshot.discovery import newest

    found = newest(count=_OFFERED)
    if not found:
        raise SnapshotError(f"no session was found where agents keep them; {_UNTOLD}")
    for line in _offer(found):
        say(line)
    while True:
        answer = ask(f"which one, 1 to {len(found)} (1): ")
        if not answer or answer.strip().lower() in ("q", "quit"):
            raise SnapshotError("no session was chosen")
        number = answer.strip() or "1"
        if number.isdecimal() and 1 <= int(number) <= len(found):
            return found[int(number) - 1].place.name


def _offer(found: Sequence[Found]) -> list[str]:
    from snapshot.commands._table import Column, table

    columns = (
        Column("", right=True), Column("agent", right=False), Column("project", right=False, least=12),
        Column("changed"), Column("tokens"),
    )  # fmt: skip
    rows = [
        (
            f"{n}",
            one.place.agent.title,
            home_short(one.project) or "-",
            ago(one.place.time),
            f"~{short(one.tokens)}",
        )
        for n, one in enumerate(found, 1)
    ]
    return table(columns, rows)


# --- words


def stem(session: str) -> str:
    """What files made of a session are named after: its name up to the first dot, in a database its id."""
    if session == "-":
        return "snapshot"
    name = session.rpartition("#")[2] if ".db#" in session else Path(session).name
    return name.split(".")[0] or "snapshot"


def home_short(path: str) -> str:
    """A path with `~` for the home folder."""
    try:
        home = str(Path.home())
    except RuntimeError:
        return path
    return "~" + path[len(home) :] if path == home or path.startswith(home + "/") else path


def ago(moment: float) -> str:
    """How long ago a time is, in one word or two."""
    seconds = max(0, int(time.time() - moment))
    for size, name in ((86_400 * 365, "y"), (86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {name} ago"
    return "just now"


def short(number: int) -> str:
    """A number in at most four signs: 950, 12k, 3.4M."""
    for size, name in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if number >= size:
            value = number / size
            return f"{value:.1f}{name}" if value < 10 else f"{value:.0f}{name}"
    return str(number)


def size_of(number: int) -> str:
    """A size in bytes, for people."""
    return f"{short(number)}B"
