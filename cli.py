"""The command line: finds the command, runs it, and turns errors into one line and an exit code.

The commands are in `snapshot.commands`, a module each; all work is done below them.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from typing import Any, NoReturn

from snapshot import __version__
from snapshot.commands import COMMANDS, Command
from snapshot.commands._console import DONE, FAILED, UNUSABLE, printable, say, silence, standard_streams
from snapshot.errors import PageError, SnapshotError

_INTERRUPTED = 130
_LAYOUTS = "SNAPSHOT_LAYOUTS"
_ABOUT_LAYOUTS = "folder of your own layout files; repeatable"


def main(argv: list[str] | None = None) -> int:
    """Run the command line with `argv` (default: the process's own); the exit code."""
    with standard_streams():
        try:
            code = _run(argv)
            sys.stdout.flush()
            return code
        except SystemExit:  # of the parser, which has printed something
            _flush_or_silence()
            raise
        except BrokenPipeError:
            # The reader of our output has gone: not our failure, and no place to say so.
            silence(sys.stdout)
            return DONE
        except OSError as error:
            silence(sys.stdout)
            say(f"snapshot: {error.filename or 'standard output'}: {error.strerror or error}")
            return UNUSABLE
        except KeyboardInterrupt:
            _flush_or_silence()
            return _INTERRUPTED


def _run(argv: list[str] | None) -> int:
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.command is None:
        parser.print_help()
        return UNUSABLE
    former = os.environ.get(_LAYOUTS)
    try:
        if arguments.layouts:
            os.environ[_LAYOUTS] = os.pathsep.join(arguments.layouts)
        return arguments.run(arguments)
    except (SnapshotError, MemoryError, RecursionError) as error:
        if arguments.debug:
            raise
        told = error if isinstance(error, SnapshotError) else ""
        told = told or (
            "out of memory" if isinstance(error, MemoryError) else "the input is nested too deeply"
        )
        say(f"snapshot: {told}")
        return FAILED if isinstance(error, PageError) else UNUSABLE
    finally:
        if arguments.layouts:
            os.environ.pop(_LAYOUTS, None)
            if former is not None:
                os.environ[_LAYOUTS] = former


def _flush_or_silence() -> None:
    """Bring out what was printed, if it can be: at the end of the process it would be a traceback."""
    try:
        sys.stdout.flush()
    except OSError:
        silence(sys.stdout)


class _Parser(argparse.ArgumentParser):
    """A parser of a command, which is filled once it is used; its errors are harmless to a terminal.

    Attributes:
        command: the command that is still to be imported, None where there is none.
    """

    command: Command | None = None

    def parse_known_args(  # pyright: ignore[reportIncompatibleMethodOverride] - its overloads
        self, args: Any = None, namespace: Any = None
    ) -> Any:
        if self.command is not None:
            module = import_module(f"snapshot.commands.{self.command.module}")
            fill, self.command = getattr(module, self.command.fill), None
            fill(self)
            # Behind the command as well; absent there, it must not undo what stood before it.
            self.add_argument(
                "--layouts", metavar="DIR", action="append", default=argparse.SUPPRESS, help=_ABOUT_LAYOUTS
            )
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        super().error(printable(message))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="snapshot",
        description="Agent conversations as dense pages that vision models read for fewer tokens than text.",
        epilog="example: snapshot render session.jsonl -o pages && snapshot read pages --check",
    )
    parser.add_argument("--version", action="version", version=f"snapshot {__version__}")
    parser.add_argument("--layouts", metavar="DIR", action="append", help=_ABOUT_LAYOUTS)
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    found = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, command in COMMANDS.items():
        found.add_parser(name, help=command.about).command = command
    return parser


if __name__ == "__main__":
    sys.exit(main())
