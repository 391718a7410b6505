"""What a shell is offered for the words of a command: formats, models, layouts, agents, sessions."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable

from snapshot.errors import SnapshotError

__all__ = ["add_completers"]

_SESSIONS = 50  # ids that are offered


def add_completers(parser: argparse.ArgumentParser) -> None:
    """Give each argument of a parser, and of the commands in it, what its words are completed by.

    What has no completer of its own is completed by the shell: as names of files.
    """
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                add_completers(inner)
        for name in (*action.option_strings, action.metavar):
            if isinstance(name, str) and name in _BY_NAME:
                action.completer = _completer(_BY_NAME[name])  # type: ignore[attr-defined]


def _completer(names: Callable[[str], Iterable[str]]) -> Callable[..., list[str]]:
    def complete(prefix: str = "", **_: object) -> list[str]:
        try:
            return [name for name in names(prefix) if name.startswith(prefix)]
        except SnapshotError:
            return []

    return complete


def _models(_: str) -> list[str]:
    from snapshot.models.catalog import profiles

    names = {model for reader in profiles() for model in (*reader.models, reader.example)}
    return sorted(name for name in names if name and "*" not in name)


def _formats(_: str) -> Iterable[str]:
    from snapshot.transcripts.registry import FORMATS

    return FORMATS


def _written(_: str) -> Iterable[str]:
    from snapshot.transcripts.registry import FORMATS, READ_ONLY

    return (name for name in FORMATS if name not in READ_ONLY)


def _layouts(_: str) -> Iterable[str]:
    from snapshot.pages.layout import layout_names

    return layout_names()


def _agents(_: str) -> Iterable[str]:
    from snapshot.discovery import known_agents

    return (agent.name for agent in known_agents())


def _sessions(prefix: str) -> list[str]:
    """Ids, the newest first; none where nothing was typed, so that the shell offers files."""
    from snapshot.discovery import places

    return [place.id for place in places() if place.id.startswith(prefix)][:_SESSIONS] if prefix else []


_BY_NAME: dict[str, Callable[[str], Iterable[str]]] = {
    "--model": _models,
    "--like": _models,
    "--from": _formats,
    "--to": _written,
    "--layout": _layouts,
    "--latest": _agents,
    "AGENT": _agents,
    "SESSION": _sessions,
}
