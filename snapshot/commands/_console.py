"""What all commands share: exit codes, lines for people, data for scripts, files that people name.

All that is printed goes through here. Lines are for people: what a terminal would obey is escaped in them,
wherever it came from. Data (a transcript, JSON, the text of pages) goes out as it is, but to a terminal.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from snapshot.errors import OutputError, SnapshotError

__all__ = [
    "CANNOT_FIT",
    "DONE",
    "FAILED",
    "NEEDS_SUMMARIZER",
    "UNUSABLE",
    "ask",
    "can_ask",
    "columns",
    "print_json",
    "printable",
    "read_input",
    "read_stdin",
    "refuse_overwriting",
    "save",
    "save_together",
    "say",
    "silence",
    "standard_streams",
    "tell",
    "to_stdout",
    "write_data",
]

DONE, FAILED, UNUSABLE, CANNOT_FIT, NEEDS_SUMMARIZER = range(5)
"""Exit codes: done; a check failed; bad usage or input that cannot be read; nothing would fit; only a summary
would."""

# Not printable, and no harm: blanks, and what words of some scripts, and emoji, are joined by.
_HARMLESS = "\t\u00a0\u00ad\u200c\u200d\u3000"
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tab and newline


# --- standard streams


class _Closed(io.TextIOBase):
    """In place of a standard stream that was closed before the process began."""

    def write(self, text: str, /) -> int:
        return len(text)


@contextmanager
def standard_streams() -> Iterator[None]:
    """Standard streams that can be written to, whatever they were started with.

    A closed one takes lines and loses them; data that is to go there is an error. What an encoding does not
    have is escaped.
    """
    former = sys.stdout, sys.stderr
    opened = [_reserved(number) for number in range(3)] if os.name == "posix" else []
    try:
        sys.stdout, sys.stderr = (_Closed() if stream is None else stream for stream in former)
        if isinstance(sys.stdout, io.TextIOWrapper):
            with suppress(OSError):
                sys.stdout.reconfigure(errors="backslashreplace")
        yield
    finally:
        sys.stdout, sys.stderr = former
        for handle in opened:
            if handle is not None:
                os.close(handle)


def _reserved(number: int) -> int | None:
    """Hold a closed descriptor, lest a file that is opened gets the number of a standard stream."""
    try:
        os.fstat(number)
    except OSError:
        handle = os.open(os.devnull, os.O_RDWR)
        if handle == number:
            return handle
        os.close(handle)
    return None


def silence(stream: TextIO) -> None:
    """Lose what is still to be written to a stream whose other end is gone or full."""
    with suppress(OSError, ValueError, AttributeError):
        number = stream.fileno()
        handle = os.open(os.devnull, os.O_WRONLY)
        os.dup2(handle, number)
        os.close(handle)


def printable(text: str) -> str:
    """`text` in one line, with escapes for what a terminal would obey, and for what hides or turns others."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in _HARMLESS else repr(char)[1:-1] for char in text)


def tell(*lines: str) -> None:
    """Lines for a person, on standard output."""
    for line in lines:
        print(printable(line))


def say(line: str) -> None:
    """One line for a person, on stderr, whatever its encoding can hold."""
    encoding = sys.stderr.encoding or "utf-8"
    try:
        print(
            printable(line).encode(encoding, "backslashreplace").decode(encoding), file=sys.stderr, flush=True
        )
    except OSError:
        silence(sys.stderr)


def can_ask() -> bool:
    """Whether a person is there to be asked: both streams are a terminal's."""
    try:
        return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
    except ValueError:  # one is closed
        return False


def ask(question: str) -> str:
    """What a person answers in a line, with its end; "" where there is none to come."""
    sys.stderr.write(printable(question))
    sys.stderr.flush()
    return sys.stdin.readline()


def write_data(data: bytes) -> None:
    """Data on standard output, as it is; a terminal gets it without what it would obey.

    Raises:
        OutputError: standard output is closed.
        OSError: it is full, or its reader is gone.
    """
    out = sys.stdout
    if isinstance(out, _Closed):
        raise OutputError("standard output is closed: there is no place for the result")
    out.flush()
    if out.isatty():
        text = data.decode("utf-8", "replace")
        out.write(_CONTROLS.sub(lambda match: repr(match[0])[1:-1], text))
    elif hasattr(out, "buffer"):
        out.buffer.write(data)
        out.buffer.flush()
    else:
        out.write(data.decode("utf-8", "replace"))


def print_json(value: dict[str, Any]) -> None:
    """One object on standard output; in ASCII, which is valid in any encoding."""
    import json

    write_data(json.dumps(value, indent=1).encode("ascii") + b"\n")


def columns() -> int | None:
    """Columns of the terminal that standard output is; None where it is none."""
    with suppress(OSError, ValueError, AttributeError):
        if sys.stdout.isatty():
            return os.get_terminal_size(sys.stdout.fileno()).columns or None
    return None


def read_stdin() -> bytes:
    """All of standard input.

    Raises:
        SnapshotError: it is closed, or a terminal.
    """
    if sys.stdin is None or sys.stdin.closed:
        raise SnapshotError("standard input is closed: name a file, or send one with `< FILE`")
    if sys.stdin.isatty():
        raise SnapshotError("standard input is a terminal: name a file, or send one with `< FILE`")
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise SnapshotError(f"standard input: {error.strerror}") from error


# --- files that people name


def to_stdout(path: Path | None) -> bool:
    """Whether data for `path` goes to standard output: no path, `-`, or a name of what it leads to."""
    if path is None or str(path) == "-":
        return True
    try:
        return os.path.samestat(path.stat(), os.fstat(sys.stdout.fileno()))
    except (OSError, ValueError, AttributeError):
        return False


def save(path: Path, data: bytes) -> None:
    """Write what a person asked for at `path`: see `snapshot._files.written_together`; `-` is stdout.

    Raises:
        OutputError: it cannot be written.
    """
    save_together((path, data))


def save_together(*outputs: tuple[Path, bytes]) -> None:
    """Write what belongs together, as `save` does each: all of it or nothing, in this order.

    Raises:
        OutputError: one of them cannot be written.
    """
    from snapshot._files import written_together

    files = [(path, data) for path, data in outputs if not to_stdout(path)]
    try:
        with written_together(files):
            for path, data in outputs:
                if to_stdout(path):
                    write_data(data)
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        name = getattr(error, "filename", None) or outputs[0][0]
        reason = getattr(error, "strerror", None) or error
        raise OutputError(f"{name}: cannot be written to ({reason})") from error


def refuse_overwriting(path: Path | None, *inputs: Path | str | None) -> None:
    """Refuse to write at a path where one of the inputs is.

    Raises:
        OutputError: it is one of them.
    """
    from pathlib import Path

    from snapshot._files import same_file

    if path is None or str(path) == "-":
        return
    for other in inputs:
        if other is not None and str(other) != "-" and _is_file(path) and same_file(path, Path(other)):
            raise OutputError(f"{path}: is what is read; name another file to write to")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def read_input(path: Path, what: str) -> bytes:
    """The content of a file that a person named; `what` says what to name.

    Raises:
        SnapshotError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SnapshotError(f"{path}: {reason}; name {what}") from error
