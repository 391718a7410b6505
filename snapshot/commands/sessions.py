"""`snapshot sessions`: the sessions that agents keep on this machine, newest first."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from snapshot.commands._arguments import positive
from snapshot.commands._console import DONE, print_json, say, tell
from snapshot.commands._sessions import ago, home_short, short, size_of
from snapshot.commands._table import Column, paragraph, table

if TYPE_CHECKING:
    from snapshot.discovery import Found, Place

__all__ = ["fill"]

_SHOWN = 20
_SHORTEST = 8  # characters of an id that are shown at least


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the command's parser."""
    parser.description = (
        "Lists the sessions that agents keep on this machine, newest first. Only their beginnings are read: "
        "tokens are a guess by size. Every command that takes a SESSION takes such an id, or its beginning."
    )
    parser.epilog = (
        "examples: snapshot sessions; snapshot sessions claude-code -n 50; snapshot cost --latest codex; "
        "snapshot sessions --project . --json"
    )
    parser.add_argument("agent", metavar="AGENT", nargs="?", default="", help="only this agent's")
    parser.add_argument("-n", "--number", metavar="N", type=positive, help=f"how many, at most ({_SHOWN})")
    parser.add_argument("--all", action="store_true", help="all of them")
    parser.add_argument("--project", metavar="DIR", default="", help="only those led from this folder")
    parser.add_argument("--agents", action="store_true", help="list the agents, and where their sessions are")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from snapshot.discovery import newest, places

    if arguments.agents:
        return _agents(arguments)
    count = None if arguments.all else arguments.number or _SHOWN
    known = places(arguments.agent)
    found = newest(arguments.agent, count, project=arguments.project)
    if arguments.json:
        print_json(
            {
                "schema": "snapshot-pages/agent-sessions/1",
                "found": len(known),
                "sessions": [_json(one) for one in found],
            }
        )
        return DONE
    if not found:
        say(
            "no sessions were found"
            + (f" that were led from {arguments.project}" if arguments.project else "")
            + "; `snapshot sessions --agents` says where they are looked for"
        )
        return DONE
    ids = _distinct(known)
    columns = (
        Column("id", right=False), Column("agent", right=False), Column("changed"), Column("size"),
        Column("~tokens"), Column("model", right=False, least=12), Column("project", right=False, least=12),
    )  # fmt: skip
    rows = [
        (
            one.place.id[:ids],
            one.place.agent.title,
            ago(one.place.time),
            size_of(one.size),
            short(one.tokens),
            one.model or "-",
            home_short(one.project) or "-",
        )
        for one in found
    ]
    tell(*table(columns, rows))
    if len(found) < len(known) and not arguments.project:
        say(f"{len(found)} of {len(known):,}; --all lists all")
    return DONE


def _distinct(known: Iterable[Place]) -> int:
    """How much of an id is enough to tell all of them apart."""
    ids = sorted({place.id for place in known})
    need = _SHORTEST
    for one, other in pairwise(ids):
        pairs = zip(one, other, strict=False)
        need = max(need, 1 + next((n for n, (a, b) in enumerate(pairs) if a != b), len(one)))
    return need


def _json(one: Found) -> dict[str, object]:
    return {
        "agent": one.place.agent.name,
        "id": one.place.id,
        "format": one.place.agent.format,
        "path": one.place.name,
        "project": one.project or None,
        "model": one.model or None,
        "changed": datetime.fromtimestamp(one.place.time, UTC).isoformat(timespec="seconds"),
        "bytes": one.size,
        "tokens_guessed": one.tokens,
    }


def _agents(arguments: argparse.Namespace) -> int:
    from snapshot.discovery import known_agents, places

    rows = [(agent, agent.folders(), len(places(agent.name))) for agent in known_agents()]
    if arguments.json:
        listed = [
            {
                "agent": agent.name,
                "title": agent.title,
                "folders": [str(one) for one in folders],
                "sessions": count,
            }
            for agent, folders, count in rows
        ]
        print_json({"schema": "snapshot-pages/agents/1", "agents": listed})
        return DONE
    columns = (Column("agent", right=False), Column("sessions"), Column("looked for in", right=False))
    tell(
        *table(
            columns,
            [
                (agent.name, f"{count:,}", ", ".join(home_short(str(one)) for one in folders))
                for agent, folders, count in rows
            ],
        )
    )
    tell(
        "",
        *paragraph(
            "An agent that is not here: name a TOML file with its table in SNAPSHOT_AGENTS, in the form of "
            "snapshot/discovery/agents.toml."
        ),
    )
    return DONE
