"""The command line: finds the command, runs it, and turns errors into one line and an exit code.

The commands are in `snapshot.commands`, a module each; all work is done below them.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from importlib import import_module

from snapshot import __version__, commands
from snapshot.commands._console import DONE, FAILED, UNUSABLE, say
from snapshot.errors import PageError, SnapshotError

_INTERRUPTED = 130
_LAYOUTS = "SNAPSHOT_LAYOUTS"


def main(argv: list[str] | None = None) -> int:
    """Run the command line with `argv` (default: the process's own); the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # whatever its encoding can hold, and no traceback
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.command is None:
        parser.print_help()
        return UNUSABLE
    former = os.environ.get(_LAYOUTS)
    if arguments.layouts:
        os.environ[_LAYOUTS] = os.pathsep.join(arguments.layouts)
    try:
        code = arguments.run(arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader of our output has gone: not our failure, and no place to say so.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except KeyboardInterrupt:
        return _INTERRUPTED
    except (SnapshotError, MemoryError) as error:
        if arguments.debug:
            raise
        say(f"snapshot: {error or 'out of memory'}")
        return FAILED if isinstance(error, PageError) else UNUSABLE
    finally:
        if arguments.layouts:
            os.environ.pop(_LAYOUTS)
            if former is not None:
                os.environ[_LAYOUTS] = former


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="snapshot",
        description="Agent conversations as dense pages that vision models read for fewer tokens than text.",
        epilog="example: snapshot render session.jsonl -o pages && snapshot read pages --check",
    )
    parser.add_argument("--version", action="version", version=f"snapshot {__version__}")
    about = "folder of your own layout files; repeatable"
    parser.add_argument("--layouts", metavar="DIR", action="append", help=about)
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    found = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name in commands.NAMES:
        import_module(f"snapshot.commands.{name}").add(found)
    for command in found.choices.values():
        # Behind the command as well; absent there, it must not undo what stood before it.
        command.add_argument(
            "--layouts", metavar="DIR", action="append", default=argparse.SUPPRESS, help=about
        )
    return parser


if __name__ == "__main__":
    sys.exit(main())
