"""`snapshot compact` and `snapshot recover`: a request that fits, with the report of what it took."""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snapshot.commands._console import (
    CANNOT_FIT,
    DONE,
    NEEDS_SUMMARIZER,
    Commands,
    load,
    note_code_points,
    note_diagnostics,
    positive,
    print_json,
    reading_options,
    save,
    say,
)
from snapshot.errors import CannotFit, SnapshotError, SummarizerRequired
from snapshot.parts.exact_json import encode

if TYPE_CHECKING:
    from snapshot.compaction import Archive, Compaction

__all__ = ["add", "add_settings", "settings_of"]

APIS = ("anthropic", "openai", "openai-responses", "gemini")


def add(commands: Commands) -> None:
    """Add both parsers."""
    compact = commands.add_parser(
        "compact",
        help="a request that fits: head and tail word for word, the middle as pages",
        description="Compacts a transcript into a request for an API; an archive keeps what it replaced.",
        epilog="examples: snapshot compact session.jsonl -m claude-opus-4-8 --window 60000 -o request.json; "
        "snapshot compact session.jsonl -m gpt-5.5 --dry-run",
    )
    _common(compact)
    _when(compact)
    compact.add_argument("--dry-run", action="store_true", help="only say what each rung would free")
    compact.set_defaults(run=_run_compact)

    recover = commands.add_parser(
        "recover",
        help="a request that fits, after the provider rejected one as too large",
        description="Reads the provider's error, and makes a request that fits by what the error says.",
        epilog="example: snapshot recover session.jsonl -m gpt-5.5 --error error.json -o request.json",
    )
    _common(recover)
    recover.add_argument(
        "--error", metavar="FILE", type=Path, required=True, help="the error's body, or its text"
    )
    recover.add_argument("--provider", default="", help="who answered, where the error alone does not tell")
    recover.set_defaults(run=_run_recover)


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION", help="a transcript; - is standard input")
    parser.add_argument("-m", "--model", help="model that the request is for (default: the transcript's)")
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="the request (SESSION.request.json)"
    )
    parser.add_argument("--api", choices=APIS, help="form of the request (default: the model's provider's)")
    parser.add_argument(
        "--archive", metavar="FILE", type=Path, help="archive to continue; the new one goes there"
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
    parser.add_argument(
        "--target", metavar="T", type=float, default=0.5, help="share of the window, or tokens"
    )
    parser.add_argument(
        "--digest", action="store_true", help="accept an offline digest where pages are no way"
    )
    parser.add_argument("--focus", default="", help="what the compaction should keep in view")
    parser.add_argument("--layout", metavar="NAME", help="a layout in place of the model's own, see layouts")
    parser.add_argument("--no-redaction", action="store_true", help="leave credentials as they are")


def _run_compact(arguments: argparse.Namespace) -> int:
    from snapshot.compaction import compact

    options = settings_of(arguments)
    return _finish(
        arguments,
        lambda transcript, model, archive: compact(
            transcript,
            model=model,
            archive=archive,
            trigger="manual" if arguments.manual else "target",
            **options,
        ),
        dry=arguments.dry_run,
    )


def _run_recover(arguments: argparse.Namespace) -> int:
    from snapshot.recovery import recover

    try:
        error = arguments.error.read_bytes()
    except OSError as failure:
        raise SnapshotError(
            f"{arguments.error}: {failure.strerror}; name the file with the error"
        ) from failure
    return _finish(
        arguments,
        lambda transcript, model, archive: recover(
            transcript,
            error,
            model=model,
            archive=archive,
            provider=arguments.provider,
            **settings_of(arguments),
        ),
        dry=False,
    )


def settings_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Settings of a compaction by name, from the arguments."""
    only = getattr(arguments, "only", None)
    return {
        **({"rungs": tuple(only.split(","))} if only else {}),
        "window": arguments.window,
        "target": arguments.target,
        "digest": arguments.digest,
        "focus": arguments.focus,
        "layout": arguments.layout,
        "redact": not arguments.no_redaction,
    }


def _finish(arguments: argparse.Namespace, make: Any, *, dry: bool) -> int:
    from snapshot.commands.render import DEFAULT_MODEL
    from snapshot.compaction import Archive
    from snapshot.models.ids import profile_for
    from snapshot.pages.layout import layout_for
    from snapshot.raster.face import load_face

    transcript = load(arguments.session, arguments.format, arguments)
    model = arguments.model or transcript.model or DEFAULT_MODEL
    api = arguments.api or _API_OF.get(profile_for(model).provider, "openai")
    former: Archive | None = None
    if arguments.archive is not None and arguments.archive.exists():
        former = Archive.from_json(arguments.archive.read_bytes())
    try:
        compaction: Compaction = make(transcript, model, former)
    except CannotFit as error:
        say(f"snapshot: {error}")
        return CANNOT_FIT
    except SummarizerRequired as error:
        say(f"snapshot: {error}")
        return NEEDS_SUMMARIZER
    note_diagnostics(transcript)
    report = compaction.report
    if report.code_points and compaction.archive is not None:
        note_code_points(
            report.code_points, load_face(layout_for(name=compaction.archive.layout).face).missing
        )
    written = "" if dry else _write(arguments, compaction, api)
    if arguments.json:
        print_json(report.as_json() | {"request": written or None})
    else:
        print(report)
        if written:
            print(f"{written}: {report.after:,} tokens for {model} by the {api} API")
    return DONE


_API_OF = {"anthropic": "anthropic", "amazon": "anthropic", "google": "gemini"}


def _write(arguments: argparse.Namespace, compaction: Compaction, api: str) -> str:
    """Write the request, and the archive beside it; the request's path."""
    output: Path = arguments.output or Path(f"{_stem(arguments.session)}.request.json")
    archive_path = arguments.archive or output.with_suffix(".archive.json")
    body = encode(compaction.request(api), partial(json.dumps, indent=1)) + "\n"
    # The archive first: a request without it could not be undone.
    if compaction.archive is not None:
        save(archive_path, (compaction.archive.to_json() + "\n").encode("utf-8"))
    save(output, body.encode("utf-8"))
    return str(output)


def _stem(session: str) -> str:
    return "snapshot" if session == "-" else Path(session).name.split(".")[0]
