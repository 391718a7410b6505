"""The arguments that commands share, and what they name: numbers, transcripts, models, redaction.

Also what is said of a transcript as it is read: of damage, credentials, characters without a glyph.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snapshot.commands._console import read_stdin, say
from snapshot.errors import TranscriptError

if TYPE_CHECKING:
    from snapshot.messages import Transcript
    from snapshot.redaction import Redactor

__all__ = [
    "DEFAULT_MODEL",
    "LIKE",
    "Commands",
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
    "reading_options",
    "redaction_options",
    "redactor_of",
    "size_or_share",
]

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]
else:
    Commands = Any

LIKE = "the model that stands behind a name that says nothing, as a deployment's"
"""Help of the option that names it."""
DEFAULT_MODEL = "claude-opus-4-8"
"""The reader of a transcript that names no model, where the settings name none either."""

_MOST = 10**12  # of a number of tokens or processors
_NOTES_SHOWN = 5


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
