"""What all commands share: exit codes, lines for people, JSON for scripts."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snapshot.errors import SnapshotError, TranscriptError

if TYPE_CHECKING:
    from snapshot.messages import Transcript
    from snapshot.redaction import Redactor

__all__ = [
    "CANNOT_FIT",
    "DONE",
    "FAILED",
    "NEEDS_SUMMARIZER",
    "UNUSABLE",
    "Commands",
    "load",
    "note_code_points",
    "note_diagnostics",
    "note_redactions",
    "positive",
    "print_json",
    "reading_options",
    "redaction_options",
    "redactor_of",
    "save",
    "say",
]

DONE, FAILED, UNUSABLE, CANNOT_FIT, NEEDS_SUMMARIZER = range(5)
"""Exit codes: done; a check failed; bad usage or input that cannot be read; nothing would fit; only a summary
would."""

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]
else:
    Commands = Any

_NOTES_SHOWN = 5


def say(line: str) -> None:
    """One line for a person, on stderr, whatever its encoding can hold."""
    encoding = sys.stderr.encoding or "utf-8"
    print(line.encode(encoding, "backslashreplace").decode(encoding), file=sys.stderr)


def print_json(value: dict[str, Any]) -> None:
    """One object on standard output; in ASCII, which is valid in any encoding."""
    print(json.dumps(value, indent=1))


def save(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, in place of one that is there."""
    from snapshot._files import write_atomic

    if path.is_dir():
        raise SnapshotError(f"{path}: is a folder; name a file")
    try:
        write_atomic(path.parent, path.name, data, replace=True)
    except OSError as error:
        raise SnapshotError(f"{path}: cannot be written ({error.strerror})") from error


def positive(text: str) -> int:
    """Argument type: a whole number from 1."""
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def reading_options(parser: argparse.ArgumentParser, *, formats: bool = True) -> None:
    """Add the options that say what of a transcript is read; with `formats`, also how it is."""
    if formats:
        parser.add_argument("--format", metavar="NAME", help="insist on a transcript format")
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


def load(session: str, wanted: str | None, choice: argparse.Namespace | None = None) -> Transcript:
    """The transcript of a file, or of standard input for `-`; `choice` has the `reading_options`."""
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
        return loaded(session)
    if sys.stdin is None or sys.stdin.isatty():
        raise SnapshotError("standard input is a terminal: name a file, or send one with `< FILE`")
    try:
        return loaded(sys.stdin.buffer.read())
    except TranscriptError as error:
        raise TranscriptError(error.what, path="standard input", line=error.line, byte=error.byte) from error


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
            f"note: {total:,} characters ({', '.join(scripts)}) are printed as code points; "
            f"pip install 'snapshot-pages[{extra}]' brings a face that draws them"
        )
