"""`snapshot claude-code`: hooks for Claude Code, so that its compactions lose nothing."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from snapshot.commands._console import DONE, FAILED, ask, can_ask, read_stdin, say, tell
from snapshot.errors import SnapshotError

__all__ = ["fill"]


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the command's parser, with those of its own commands."""
    parser.description = (
        "Two hooks for Claude Code: before a compaction the conversation becomes pages, after it Claude is "
        "told which there are."
    )
    parser.epilog = "example: snapshot claude-code install; snapshot claude-code remove"
    found = parser.add_subparsers(dest="claude_code_command", metavar="COMMAND", required=True)
    for name, run, about in (
        ("install", _install, "write the hooks into the settings, after showing the change"),
        ("remove", _remove, "take them out again"),
        ("status", _status, "whether they are there"),
        ("hook", _hook, "what Claude Code runs: an event on standard input"),
    ):
        one = found.add_parser(name, help=about, description=f"{about[:1].upper()}{about[1:]}.")
        if name != "hook":
            place = one.add_mutually_exclusive_group()
            place.add_argument("--settings", metavar="FILE", type=Path, help="the settings file (the user's)")
            place.add_argument(
                "--project", action="store_true", help="the settings of the project in this folder"
            )
        if name in ("install", "remove"):
            one.add_argument("-y", "--yes", action="store_true", help="do not ask")
            one.add_argument("--dry-run", action="store_true", help="only show the change")
        one.set_defaults(run=run)


def _path(arguments: argparse.Namespace) -> Path:
    from snapshot.integrations.claude_code import settings_folder

    if arguments.settings is not None:
        return arguments.settings
    if arguments.project:
        return Path(".claude") / "settings.json"
    return settings_folder() / "settings.json"


def _install(arguments: argparse.Namespace) -> int:
    return _changed(arguments, install=True)


def _remove(arguments: argparse.Namespace) -> int:
    return _changed(arguments, install=False)


def _changed(arguments: argparse.Namespace, *, install: bool) -> int:
    from snapshot.integrations.claude_code import change

    path = _path(arguments)
    wanted = change(path, install=install)
    if wanted is None:
        tell(f"{path}: the hooks are there already" if install else f"{path}: the hooks are not there")
        return DONE
    tell(*wanted.diff.split("\n"))
    if arguments.dry_run:
        return DONE
    if not arguments.yes and not _agreed():
        say("snapshot: nothing was changed; --yes writes it without asking")
        return FAILED
    wanted.write()
    kept = f"; as it was: {wanted.copy}" if wanted.before is not None else ""
    tell(f"{wanted.path}: {'hooks installed' if install else 'hooks removed'}{kept}")
    return DONE


def _agreed() -> bool:
    return can_ask() and ask("write this? [y/N] ").strip().lower() in ("y", "yes")


def _status(arguments: argparse.Namespace) -> int:
    from snapshot.integrations.claude_code import status

    path = _path(arguments)
    command = status(path)
    tell(f"{path}: {f'the hooks run {command}' if command else 'the hooks are not there'}")
    return DONE if command else FAILED


def _hook(_arguments: argparse.Namespace) -> int:
    """Serve an event. No failure of ours may stop Claude Code: the exit code 2 would."""
    from snapshot.integrations.claude_code import handle

    try:
        event = json.loads(read_stdin() or b"{}")
        answer = handle(event) if isinstance(event, dict) else ""
    except (SnapshotError, OSError, ValueError, RecursionError) as error:
        say(f"snapshot: {error}")
        return FAILED
    if answer:
        tell(answer)
    return DONE
