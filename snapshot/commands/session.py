"""`snapshot session`: the record of conversations as trees; compaction adds to it and never takes away."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path

from snapshot.commands import _session_files, _session_tree
from snapshot.commands._arguments import Commands

__all__ = ["fill"]

_STORE = "SNAPSHOT_STORE"
_DEFAULT = ".snapshot/sessions.sqlite"


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the command's parser, with those of its own commands."""
    parser.description = "Keeps conversations as trees in one file. Compaction never takes away from it."
    parser.epilog = (
        "example: snapshot session import run.jsonl && snapshot session tree run && "
        "snapshot session compact run -m claude-opus-4-8 --window 60000"
    )
    found = parser.add_subparsers(dest="session_command", metavar="COMMAND", required=True)
    for name, (adds, about) in {**_session_tree.COMMANDS, **_session_files.COMMANDS}.items():
        _add_one(found, name, adds, about)


def _add_one(found: Commands, name: str, adds: Callable[[argparse.ArgumentParser], None], about: str) -> None:
    one = found.add_parser(name, help=about, description=f"{about[:1].upper()}{about[1:]}.")
    adds(one)
    one.add_argument(
        "--store",
        metavar="FILE",
        type=Path,
        default=Path(os.environ.get(_STORE) or _DEFAULT),
        help=f"the sessions' file ({_DEFAULT}, or {_STORE})",
    )
    one.add_argument("--json", action="store_true", help="one JSON object on standard output")
