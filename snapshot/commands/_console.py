"""What all commands share: exit codes, lines for people, data for scripts, files that people name.

All that is printed goes through here. Lines are for people: what a terminal would obey is escaped in them,
wherever it came from. Data (a transcript, JSON, the text of pages) goes out as it is, but to a terminal.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from snapshot.errors import OutputError, SnapshotError, TranscriptError

if TYPE_CHECKING:
    from snapshot.messages import Transcript
    from snapshot.redaction import Redactor

__all__ = [
    "CANNOT_FIT",
    "DEFAULT_MODEL",
    "DONE",
    "FAILED",
    "LIKE",
    "NEEDS_SUMMARIZER",
    "UNUSABLE",
    "Commands",
    "ask",
    "can_ask",
    "columns",
    "content",
    "known_as",
    "like_argument",
    "load",
    "model_argument",
    "model_of",
    "note_code_points",
    "note_diagnostics",
    "note_redactions",
    "positive",
    "print_json",
    "printable",
    "read_input",
    "read_stdin",
    "reading_options",
    "redaction_options",
    "redactor_of",
    "refuse_overwriting",
    "save",
    "save_together",
    "say",
    "silence",
    "size_or_share",
    "standard_streams",
    "tell",
    "to_stdout",
    "write_data",
]

DONE, FAILED, UNUSABLE, CANNOT_FIT, NEEDS_SUMMARIZER = range(5)
"""Exit codes: done; a check failed; bad usage or input that cannot be read; nothing would fit; only a summary
would."""

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]
else:
    Commands = Any

LIKE = "the model that stands behind a name that says nothing, as a deployment's"
"""Help of the option that names it."""
DEFAULT_MODEL = "claude-opus-4-8"
"""The reader of a transcript that names no model, where the settings name none either."""

_NOTES_SHOWN = 5


# Not printable, and no harm: blanks, and what words of some scripts, and emoji, are joined by.
_HARMLESS = "\t\u00a0\u00ad\u200c\u200d\u3000"
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tab and newline
_MOST = 10**12  # of a number of tokens or processors


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


# --- files that people name


def columns() -> int | None:
    """Columns of the terminal that standard output is; None where it is none."""
    with suppress(OSError, ValueError, AttributeError):
        if sys.stdout.isatty():
            return os.get_terminal_size(sys.stdout.fileno()).columns or None
    return None


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


# --- arguments


def positive(text: str) -> int:
    """Argument type: a whole number from 1."""
    with suppress(ValueError):
        if 1 <= (value := int(text)) <= _MOST:
            return value
    raise argparse.ArgumentTypeError(f"{text[:40]!r} is no whole number from 1 to {_MOST:,}")


def size_or_share(text: str) -> float:
    """Argument type: a share, up to 1, or a number of tokens."""
    with suppress(ValueError):
        if 0 < (value := float(text)) <= _MOST:
            return value
    raise argparse.ArgumentTypeError(f"{text[:40]!r} is neither a share up to 1 nor a number of tokens")


def reading_options(parser: argparse.ArgumentParser, *, salvage: bool = True) -> None:
    """Add the options that say how a transcript is read, and what of it."""
    parser.add_argument(
        "--from", dest="format", metavar="FORMAT", help="the transcript's format (default: by its content)"
    )
    parser.add_argument(
        "--conversation",
        metavar="ID",
        help="which one, where the file holds several: its id, or the id's start",
    )
    parser.add_argument(
        "--as-sent",
        action="store_true",
        help="start at the last compaction, as the model does, not at the start",
    )
    if not salvage:
        return
    parser.add_argument(
        "--salvage",
        action="store_true",
        help="read a document that ends too early up to its last whole message",
    )


def redaction_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that `redactor_of` reads."""
    parser.add_argument("--no-redaction", action="store_true", help="leave credentials as they are")
    parser.add_argument(
        "--redaction-rules",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="a TOML file of forms of credentials of your own, besides those that are known; more than once",
    )


def redactor_of(arguments: argparse.Namespace) -> Redactor | None:
    """What replaces credentials; None where they are to stay.

    Raises:
        RuleError: a file of rules is wrong.
    """
    from snapshot.redaction import Redactor

    return None if arguments.no_redaction else Redactor(arguments.redaction_rules)


def load(
    session: str,
    wanted: str | None,
    choice: argparse.Namespace | None = None,
    *,
    data: bytes | None = None,
) -> Transcript:
    """The transcript of a file, or of standard input for `-`; `choice` has the `reading_options`.

    `data` is what standard input held, where it was read already.
    """
    from snapshot.transcripts import load as load_transcript

    def loaded(source: str | bytes) -> Transcript:
        if choice is None:
            return load_transcript(source, format=wanted)
        return load_transcript(
            source,
            format=wanted,
            conversation=choice.conversation,
            as_sent=choice.as_sent,
            salvage=choice.salvage,
        )

    if session != "-":
        return loaded(content(session))
    try:
        return loaded(read_stdin() if data is None else data)
    except TranscriptError as error:
        raise TranscriptError(error.what, path="standard input", line=error.line, byte=error.byte) from error


def content(session: str) -> str | bytes:
    """What `load` takes for the name of a session: its path, or the content where it stands in a database."""
    if ".db#" not in session:
        return session
    from snapshot.discovery import exported

    data = exported(session)
    return session if data is None else data


def model_argument(parser: argparse.ArgumentParser, what: str) -> None:
    """Add `-m`, which `model_of` reads; `what` says what the model does."""
    parser.add_argument(
        "-m", "--model", metavar="ID", help=f"{what} (default: the transcript's, or that of the settings)"
    )


def like_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--like`, which `model_of` and `known_as` take."""
    parser.add_argument("--like", metavar="MODEL", help=LIKE)


def known_as(model: str, like: str | None) -> str:
    """The id by which a model is known: its own, or by `--like` that of the model behind it.

    Raises:
        LayoutError: there is no such model as `like` names.
    """
    if not like:
        return model
    from snapshot.models.ids import id_like

    return id_like(model, like)


def model_of(chosen: str | None, transcript: Transcript, like: str | None = None) -> str:
    """The model that is meant: that of `-m`, else the transcript's, else that of the settings file."""
    if chosen or transcript.model or like:
        return known_as(chosen or transcript.model, like)
    from snapshot.commands._settings import settings

    return settings().model or DEFAULT_MODEL


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


def note_diagnostics(transcript: Transcript) -> None:
    """Say what the reader found wrong, a line each, the first few of them."""
    for diagnostic in transcript.diagnostics[:_NOTES_SHOWN]:
        say(f"note: {diagnostic.where}: {diagnostic.note}")
    if len(transcript.diagnostics) > _NOTES_SHOWN:
        say(f"note: and {len(transcript.diagnostics) - _NOTES_SHOWN} more of this kind")


def note_redactions(counts: Mapping[str, int]) -> None:
    """Say how many credentials were replaced, of which kinds."""
    if counts:
        kinds = ", ".join(f"{count} {kind}" for kind, count in counts.items())
        say(f"note: credentials redacted: {kinds} (--no-redaction leaves them)")


def note_code_points(counts: Mapping[str, int], missing: tuple[tuple[str, str], ...]) -> None:
    """Say once which scripts an extra would draw, instead of printing their code points."""
    extras = dict(missing)
    for extra in sorted({extras[script] for script in counts if script in extras}):
        scripts = [script for script in counts if extras.get(script) == extra]
        total = sum(counts[script] for script in scripts)
        say(
            f"note: {total:,} character{'s' * (total != 1)} ({', '.join(scripts)}) printed as code points; "
            f"pip install 'snapshot-pages[{extra}]' brings a face that draws them"
        )
