"""`snapshot render`: a transcript or text as PNG pages with a manifest."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from snapshot.commands._console import (
    DONE,
    LIKE,
    load,
    note_code_points,
    note_diagnostics,
    note_redactions,
    positive,
    print_json,
    reading_options,
    redaction_options,
    redactor_of,
    silence,
    tell,
)
from snapshot.errors import SnapshotError

if TYPE_CHECKING:
    from snapshot.pages.manifest import Manifest

__all__ = ["DEFAULT_MODEL", "fill"]

DEFAULT_MODEL = "claude-opus-4-8"
"""The reader of a transcript that names no model."""

_PACKED = (".gz", ".zst")
_SUFFIXES = (".jsonl", ".json", ".md", ".txt", ".log")


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the command's parser."""
    parser.description = (
        "Renders a transcript (or any text) as pages: PNG files and manifest.json in a folder."
    )
    parser.epilog = (
        "examples: snapshot render session.jsonl -m gpt-5.6-sol -o pages; "
        "snapshot render - -m gemini-3-pro < notes.md"
    )
    parser.add_argument("session", metavar="SESSION", help="a transcript or text file; - is standard input")
    parser.add_argument("-m", "--model", help="model that will look at the pages (default: the transcript's)")
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, help="folder of the pages (SESSION.pages)"
    )
    parser.add_argument("--layout", metavar="NAME", help="a layout in place of the model's own, see layouts")
    parser.add_argument("--like", metavar="MODEL", help=LIKE)
    parser.add_argument(
        "--font",
        metavar="FILE",
        help="a font file to use before the layout's own face, or beside it for another script",
    )
    reading_options(parser)
    redaction_options(parser)
    parser.add_argument("--no-reasoning", action="store_true", help="leave out what the model thought")
    parser.add_argument("--threads", metavar="N", type=positive, help="pages made at once (all processors)")
    parser.add_argument(
        "--compress",
        metavar="PROFILE",
        choices=("default", "fast", "small"),
        default="default",
        help="fast makes larger files sooner, small smaller ones slowly; pixels are the same",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from snapshot.pages import folder
    from snapshot.pages.layout import layout_for
    from snapshot.pages.render import Typesetter
    from snapshot.source.source import source_of

    redactor = redactor_of(arguments)
    if str(arguments.output) == "-":
        raise SnapshotError("-o -: pages are several files; name a folder for them")
    transcript = load(arguments.session, arguments.format, arguments)
    if redactor is not None:
        transcript = redactor.transcript(transcript)
    redactions = redactor.counts if redactor is not None else {}
    model = arguments.model or transcript.model or DEFAULT_MODEL
    layout = layout_for(model, name=arguments.layout, like=arguments.like)
    source = source_of(transcript, reasoning=not arguments.no_reasoning)
    if not source.text:
        raise SnapshotError(f"{arguments.session}: nothing in it to render")
    output = arguments.output or _default_output(arguments.session)
    setting = Typesetter(layout, font=arguments.font)
    manifest = folder.write(
        output,
        source,
        setting,
        model=model,
        threads=arguments.threads,
        compress=arguments.compress,
        progress=_progress(),
    )
    note_diagnostics(transcript)
    note_redactions(redactions)
    note_code_points(manifest.source.code_points, setting.face.missing)
    if arguments.json:
        print_json({**manifest.as_dict(), "folder": str(output), "redactions": redactions})
    else:
        tell(_summary(manifest, model, output))
    return DONE


def _default_output(session: str) -> Path:
    if session == "-":
        return Path("snapshot.pages.render")
    path = Path(session)
    if path.suffix in _PACKED:
        path = Path(path.stem)
    return Path(f"{path.stem if path.suffix in _SUFFIXES else path.name}.pages")


def _progress() -> Callable[[int, int], None] | None:
    """A callback that keeps one line on stderr up to date; None where nobody looks."""
    if not sys.stderr.isatty():
        return None

    def show(done: int, total: int) -> None:
        end = "\r\x1b[K" if done >= total else "\r"
        try:
            sys.stderr.write(f"\rrendering {done * 100 // total:3d} %" + end)
            sys.stderr.flush()
        except OSError:
            silence(sys.stderr)

    return show


def _summary(manifest: Manifest, model: str, output: Path) -> str:
    totals, chars = manifest.totals, manifest.source.chars
    pages, tokens, text_tokens = totals.pages, totals.tokens, totals.text_tokens
    line = (
        f"{output}: {pages} page{'s' * (pages != 1)} for {model}, {chars:,} characters in {tokens:,} tokens; "
    )
    if tokens < text_tokens:
        line += f"as text about {text_tokens:,}, so {100 - 100 * tokens // text_tokens} % saved"
    else:
        line += f"as text only about {text_tokens:,}: send the text"
    return f"{line}. Check: snapshot read {output} --check"
