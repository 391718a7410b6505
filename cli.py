"""The command line: finds the command, runs it, and turns errors into one line and an exit code.

The commands are in `snapshot.commands`, a module each; all work is done below them.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NoReturn

from snapshot import __version__
from snapshot.commands import COMMANDS, Command
from snapshot.commands._console import DONE, FAILED, UNUSABLE, printable, say, silence, standard_streams
from snapshot.errors import PageError, SnapshotError

_INTERRUPTED = 130
_LAYOUTS, _AGENTS = "SNAPSHOT_LAYOUTS", "SNAPSHOT_AGENTS"
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
    if "_ARGCOMPLETE" in os.environ:
        _complete(parser)
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        parser.refuse(arguments.command, unknown)
    if arguments.command is None:
        parser.print_help()
        return UNUSABLE
    former = {name: os.environ.get(name) for name in (_LAYOUTS, _AGENTS)}
    try:
        _settle(arguments)
        return arguments.run(arguments)
    except (SnapshotError, MemoryError, RecursionError) as error:
        if arguments.debug:
            raise
        told = _hinted(error) if isinstance(error, SnapshotError) else ""
        told = told or (
            "out of memory" if isinstance(error, MemoryError) else "the input is nested too deeply"
        )
        say(f"snapshot: {told}")
        return FAILED if isinstance(error, PageError) else UNUSABLE
    finally:
        for name, value in former.items():
            if value is not None:
                os.environ[name] = value
            else:
                os.environ.pop(name, None)


def _hinted(error: SnapshotError) -> str:
    """What it says, with the options of the command line in place of Python's arguments."""
    from snapshot.commands._hints import for_command_line

    return for_command_line(str(error))


def _settle(arguments: argparse.Namespace) -> None:
    """What the options, the environment and the settings file say together; and which session is meant."""
    from snapshot.commands._sessions import choose
    from snapshot.commands._settings import settings

    given = settings()
    layouts = arguments.layouts or (() if os.environ.get(_LAYOUTS) else given.layouts)
    if layouts:
        os.environ[_LAYOUTS] = os.pathsep.join(layouts)
    if given.agents and not os.environ.get(_AGENTS):
        os.environ[_AGENTS] = given.agents
    choose(arguments)


def _complete(parser: argparse.ArgumentParser) -> NoReturn:
    """Answer a shell that asks how the words typed so far may go on."""
    import argcomplete

    from snapshot.commands._completion import add_completers

    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                command.fill()
    add_completers(parser)
    argcomplete.autocomplete(parser)
    sys.exit(0)  # it asked for nothing


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
        self.fill()
        return super().parse_known_args(args, namespace)

    def fill(self) -> None:
        """Fill the parser of a command with its arguments, if that is still to be done."""
        if self.command is None:
            return
        module = import_module(f"snapshot.commands.{self.command.module}")
        fill, self.command = getattr(module, self.command.fill), None
        fill(self)
        # Behind the command as well; absent there, it must not undo what stood before it.
        self.add_argument(
            "--layouts", metavar="DIR", action="append", default=argparse.SUPPRESS, help=_ABOUT_LAYOUTS
        )

    def refuse(self, command: str | None, unknown: Sequence[str]) -> NoReturn:
        """End with one line about the first argument that a command does not take."""
        of = self._commands().get(command or "", self)
        word = unknown[0].partition("=")[0]
        if word.startswith("-"):
            near = get_close_matches(word, of._option_string_actions, n=1, cutoff=0.7)
            of.error(f"there is no option {word}{_meant(near)}")
        of.error(f"{word!r} is one argument too many")

    def _commands(self) -> Mapping[str, _Parser]:
        return next(
            (item.choices for item in self._actions if isinstance(item, argparse._SubParsersAction)), {}
        )

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        told = _meant(get_close_matches(str(value), known, n=1))
        if isinstance(action, argparse._SubParsersAction):
            self.error(f"there is no command {value!r}{told}")
        name = "/".join(action.option_strings) or action.metavar or action.dest
        self.error(f"{name} {value!r}{told}: there are {', '.join(known)}")

    def error(self, message: str) -> NoReturn:
        """End with one line: what is wrong, and where help is."""
        message = printable(message)
        if message.endswith("required: COMMAND"):
            message = f"name a command: {', '.join(self._commands())}"
        if "did you mean" not in message:
            message += f"; `{self.prog} --help` says more"
        self.exit(UNUSABLE, f"{self.prog}: {message}\n")


def _meant(near: Sequence[str]) -> str:
    return f" (did you mean {near[0]}?)" if near else ""


def _parser() -> _Parser:
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
