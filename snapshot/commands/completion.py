"""`snapshot completion`: what makes a shell complete commands, options, sessions and models."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from snapshot.commands._console import DONE, write_data
from snapshot.errors import SnapshotError

__all__ = ["fill"]

_SHELLS = ("bash", "zsh", "fish")


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the command's parser."""
    parser.description = (
        "Prints what makes a shell complete the commands, options, sessions and models of `snapshot`."
    )
    parser.epilog = (
        "examples: echo 'eval \"$(snapshot completion bash)\"' >> ~/.bashrc; "
        "snapshot completion fish > ~/.config/fish/completions/snapshot.fish"
    )
    parser.add_argument(
        "shell", metavar="SHELL", nargs="?", choices=_SHELLS, help="bash, zsh or fish (yours)"
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    shell = arguments.shell or Path(os.environ.get("SHELL", "")).name
    if shell not in _SHELLS:
        raise SnapshotError(f"name a shell: {', '.join(_SHELLS)}")
    try:
        from argcomplete.shell_integration import shellcode
    except ImportError as error:
        raise SnapshotError(
            "completion needs a package that is not installed: pip install argcomplete"
        ) from error
    code = shellcode(["snapshot"], shell="bash" if shell == "zsh" else shell)
    write_data(code.encode("utf-8") + b"\n")
    return DONE
