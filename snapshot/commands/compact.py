"""`snapshot compact` and `snapshot recover`: a request that fits, with the report of what it took."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snapshot.commands._arguments import (
    LIKE,
    load,
    model_argument,
    model_of,
    note_code_points,
    note_diagnostics,
    positive,
    reading_options,
    redaction_options,
    redactor_of,
    size_or_share,
)
from snapshot.commands._console import (
    CANNOT_FIT,
    DONE,
    NEEDS_SUMMARIZER,
    print_json,
    read_input,
    read_stdin,
    refuse_overwriting,
    save_together,
    say,
    tell,
    to_stdout,
)
from snapshot.commands._hints import for_command_line
from snapshot.commands._progress import Show, progress
from snapshot.commands._request import APIS
from snapshot.commands._sessions import session_argument, stem
from snapshot.commands._table import folded
from snapshot.errors import CannotFit, OutputError, SummarizerRequired

if TYPE_CHECKING:
    from collections.abc import Callable

    from snapshot.compaction import Archive, Compaction
    from snapshot.messages import Transcript
    from snapshot.transcripts.resuming import Resumption

__all__ = ["add_settings", "fill", "fill_recover", "settings_of"]


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the parser of `compact`."""
    parser.description = "Compacts a transcript into a request for an API; an archive keeps what it replaced."
    parser.epilog = (
        "examples: snapshot compact session.jsonl -m claude-opus-4-8 --window 60000 -o request.json; "
        "snapshot compact session.jsonl -m gpt-5.5 --dry-run"
    )
    _common(parser)
    _when(parser)
    parser.add_argument("--dry-run", action="store_true", help="only say what each rung would free")
    parser.set_defaults(run=_run_compact)


def fill_recover(parser: argparse.ArgumentParser) -> None:
    """Fill the parser of `recover`."""
    parser.description = "Reads the provider's error, and makes a request that fits by what the error says."
    parser.epilog = "example: snapshot recover session.jsonl -m gpt-5.5 --error error.json -o request.json"
    _common(parser)
    parser.add_argument(
        "--error", metavar="FILE", type=Path, required=True, help="the error's body, or its text"
    )
    parser.add_argument("--provider", default="", help="who answered, where the error alone does not tell")
    parser.set_defaults(run=_run_recover)


def _common(parser: argparse.ArgumentParser) -> None:
    from snapshot.transcripts.registry import RESUMABLE

    session_argument(parser)
    model_argument(parser, "model that the request is for")
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="the request (SESSION.request.json)"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--api", choices=APIS, help="form of the request (default: the model's provider's)")
    form.add_argument(
        "--to",
        metavar="FORMAT",
        choices=RESUMABLE,
        help=f"write a session for its tool, in place of a request: {', '.join(RESUMABLE)} (pi: also omp)",
    )
    parser.add_argument(
        "--archive",
        metavar="FILE",
        type=Path,
        help="archive to continue; the new one goes there (default: beside the request)",
    )
    _how(parser)
    reading_options(parser)
    parser.add_argument("--json", action="store_true", help="the report as one JSON object")


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add the settings of a compaction, which `settings_of` reads."""
    _how(parser)
    _when(parser)


def _when(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", metavar="RUNGS", help="rungs to use: elide,images,snapshot,summarize")
    parser.add_argument("--manual", action="store_true", help="compact whatever the size")


def _how(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--window", metavar="N", type=positive, default=0, help="context window in tokens")
    parser.add_argument("--like", metavar="MODEL", default="", help=LIKE)
    parser.add_argument(
        "--target", metavar="T", type=size_or_share, default=0.5, help="share of the window, or tokens"
    )
    parser.add_argument(
        "--threshold",
        metavar="T",
        type=size_or_share,
        help="from where on to compact at all: share of the window, or tokens (the target)",
    )
    parser.add_argument(
        "--least-gain",
        metavar="S",
        type=size_or_share,
        help="share of the request that it must free, unless the request is not safe as it is (0.05)",
    )
    parser.add_argument(
        "--digest", action="store_true", help="accept an offline digest where pages are no way"
    )
    parser.add_argument("--focus", default="", help="what the compaction should keep in view")
    parser.add_argument("--layout", metavar="NAME", help="a layout in place of the model's own, see layouts")
    redaction_options(parser)


def _run_compact(arguments: argparse.Namespace) -> int:
    from snapshot.compaction import compact

    options = settings_of(arguments)
    return _finish(
        arguments,
        lambda transcript, model, archive, show: compact(
            transcript,
            model=model,
            archive=archive,
            trigger="manual" if arguments.manual else "target",
            progress=show,
            **options,
        ),
        dry=arguments.dry_run,
    )


def _run_recover(arguments: argparse.Namespace) -> int:
    from snapshot.recovery import recover

    error = read_input(arguments.error, "the file with the error")
    return _finish(
        arguments,
        lambda transcript, model, archive, show: recover(
            transcript,
            error,
            model=model,
            archive=archive,
            provider=arguments.provider,
            progress=show,
            **settings_of(arguments),
        ),
        dry=False,
    )


def settings_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Settings of a compaction by name, from the arguments."""
    only = getattr(arguments, "only", None)
    return {
        **({"rungs": tuple(only.split(","))} if only else {}),
        **({"threshold": arguments.threshold} if arguments.threshold is not None else {}),
        **({"least_gain": arguments.least_gain} if arguments.least_gain is not None else {}),
        "window": arguments.window,
        "like": arguments.like,
        "target": arguments.target,
        "digest": True if arguments.digest else None,
        "focus": arguments.focus,
        "layout": arguments.layout,
        "redact": redactor_of(arguments) or False,
    }


def _finish(
    arguments: argparse.Namespace,
    make: Callable[[Transcript, str, Archive | None, Show], Compaction],
    *,
    dry: bool,
) -> int:
    from snapshot.commands._request import api_of, body, given_beside
    from snapshot.compaction import Archive
    from snapshot.compaction.compact import profile_of
    from snapshot.compaction.options import Options
    from snapshot.pages.layout import layout_for
    from snapshot.raster.face import load_face

    if not dry:
        _refuse_inputs(arguments)
    data = _content(arguments.session)
    transcript = load(arguments.session, arguments.format, arguments, data=data)
    model = model_of(arguments.model, transcript)
    reader = profile_of(model, Options(window=arguments.window, like=arguments.like))
    api: str = arguments.api or api_of(reader)
    former: Archive | None = None
    path = arguments.archive or _archive_beside(arguments.session, transcript)
    if path is not None and os.path.lexists(path):
        former = Archive.from_json(read_input(path, "an archive, or a new file for one"))
    try:
        with progress("compacting") as show:
            compaction = make(transcript, model, former, show)
    except (CannotFit, SummarizerRequired) as error:
        say(f"snapshot: {for_command_line(str(error))}")
        return CANNOT_FIT if isinstance(error, CannotFit) else NEEDS_SUMMARIZER
    note_diagnostics(transcript)
    report = compaction.report
    if report.code_points and compaction.archive is not None:
        note_code_points(
            report.code_points, load_face(layout_for(name=compaction.archive.layout).face).missing
        )
    written = _Written()
    if not dry:
        given = given_beside(data, transcript, api)
        written = _write(
            arguments, compaction, api, lambda: body(compaction.request(api), api, reader, model, given)
        )
    if arguments.json:
        print_json(report.as_json() | written.as_json())
    else:
        # Where the request itself went to standard output, people read beside it.
        note = say if written.path and to_stdout(Path(written.path)) else tell
        for line in (*str(report).split("\n"), *written.lines(f"{report.after:,} tokens for {model}")):
            for piece in folded(line):
                note(piece)
    return DONE


def _archive_beside(session: str, transcript: Transcript) -> Path | None:
    """Where the archive of a request is that was compacted before: beside it, as `compact` wrote it."""
    from snapshot.compaction.restoring import is_frame

    if session == "-" or not any(map(is_frame, transcript.messages)):
        return None
    path = _beside(Path(session))
    if os.path.lexists(path):
        say(f"snapshot: continuing the archive {path}")
    else:
        say(
            f"snapshot: {session} was compacted before, and {path} is not there: its pages stay as they are "
            "(--archive FILE names the archive)"
        )
    return path


def _beside(request: Path) -> Path:
    """The archive's place beside a request."""
    return request.with_suffix(".archive.json")


@dataclass(frozen=True, slots=True)
class _Written:
    """What was written: a request by an API, or a session for a tool, with what that cannot hold."""

    path: str = ""
    by: str = ""
    losses: tuple[str, ...] = ()
    resumption: Resumption | None = None

    def lines(self, size: str) -> Iterator[str]:
        """What a person is told of it."""
        if self.path:
            yield f"{self.path}: {size} {self.by}"
            yield from self.losses
        if self.resumption is not None:
            yield str(self.resumption)

    def as_json(self) -> dict[str, Any]:
        """The same for a program."""
        if self.resumption is None:
            return {"request": self.path or None}
        found = self.resumption
        return {"session": self.path, "name": found.name, "folder": found.folder, "resume": found.command}


def _write(
    arguments: argparse.Namespace, compaction: Compaction, api: str, body: Callable[[], dict[str, Any]]
) -> _Written:
    """Write the request, of which `body` is the body, or the session; and the archive beside it."""
    from snapshot.commands._request import written as as_json
    from snapshot.commands.convert import account
    from snapshot.transcripts import dump
    from snapshot.transcripts.resuming import resumption

    output, archive_path = _paths(arguments)
    written = _Written(str(output), f"by the {api} API")
    if arguments.to:
        # A session of its own: what stood beside the former one, its id above all, is not this one's.
        dumped = dump(replace(compaction.transcript, extra_rows=()), arguments.to)
        data, losses = dumped.data, tuple(account(dumped, arguments.to))
        found = resumption(arguments.to, data, str(arguments.output or ""))
        if found is not None and not arguments.output:
            output = Path(found.name)
            archive_path = arguments.archive or output.with_suffix(".archive.json")
            _refuse_another(output, data)
        written = _Written(str(output), f"as {arguments.to}", losses, found)
    else:
        data = as_json(body())
    # The archive first: a request without it could not be undone.
    archive = compaction.archive
    kept = [] if archive is None else [(archive_path, (archive.to_json() + "\n").encode("utf-8"))]
    save_together(*kept, (output, data))
    return written


def _refuse_another(output: Path, data: bytes) -> None:
    """Refuse to write over a session under this name that has gone on since it was written."""
    if output.exists() and output.read_bytes() != data:
        raise OutputError(f"{output}: there, and has gone on since; name another file with -o")


def _content(session: str) -> bytes | None:
    """What standard input or a file that may be a request holds; None for all else."""
    if session == "-":
        return read_stdin()
    path = Path(session)
    try:
        return path.read_bytes() if path.suffix in (".json", "") and path.is_file() else None
    except (OSError, ValueError):
        return None  # what is wrong with it is said by who reads it


def _paths(arguments: argparse.Namespace) -> tuple[Path, Path]:
    """Where the request goes, and where the archive: beside it, if it goes into a file."""
    beside = Path(f"{stem(arguments.session)}.request.json")
    output: Path = arguments.output or beside
    if output.name and (not output.exists() or output.is_file()) and not to_stdout(output):
        beside = output
    return output, arguments.archive or _beside(beside)


def _refuse_inputs(arguments: argparse.Namespace) -> None:
    """Refuse to write over what is read, or both results into one file."""
    try:
        output, archive = _paths(arguments)
    except OSError as error:
        raise OutputError(f"{arguments.output}: {error.strerror}; name another file") from error
    if arguments.json and to_stdout(output):
        raise OutputError("--json needs -o FILE: standard output would hold the request as well")
    for path in (output, archive):
        refuse_overwriting(path, arguments.session, getattr(arguments, "error", None))
    refuse_overwriting(output, archive)
    if output.absolute() == archive.absolute():
        raise OutputError(f"{output}: cannot be both the request and the archive; name another file")
