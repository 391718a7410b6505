"""`snapshot render`: a transcript or text as PNG pages with a manifest."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from snapshot.commands._arguments import (
    DEFAULT_MODEL,
    LIKE,
    load,
    model_argument,
    model_of,
    note_code_points,
    note_diagnostics,
    note_redactions,
    positive,
    reading_options,
    redaction_options,
    redactor_of,
)
from snapshot.commands._console import DONE, print_json, say, tell
from snapshot.commands._progress import progress
from snapshot.commands._sessions import session_argument, stem
from snapshot.commands._table import folded
from snapshot.errors import SnapshotError

if TYPE_CHECKING:
    from snapshot.pages.manifest import Manifest

__all__ = ["DEFAULT_MODEL", "fill"]

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
    session_argument(parser, "a transcript or text")
    model_argument(parser, "model that will look at the pages")
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
    from snapshot.pages.numba_support import LARGE, would_pay
    from snapshot.pages.render import Typesetter
    from snapshot.source.source import source_of

    redactor = redactor_of(arguments)
    if str(arguments.output) == "-":
        raise SnapshotError("-o -: pages are several files; name a folder for them")
    transcript = load(arguments.session, arguments.format, arguments)
    if redactor is not None:
        transcript = redactor.transcript(transcript)
    redactions = redactor.counts if redactor is not None else {}
    model = model_of(arguments.model, transcript)
    layout = layout_for(model, name=arguments.layout, like=arguments.like)
    source = source_of(transcript, reasoning=not arguments.no_reasoning, repeats=True)
    if not source.text:
        raise SnapshotError(f"{arguments.session}: nothing in it to render")
    output = arguments.output or _default_output(arguments.session)
    setting = Typesetter(layout, font=arguments.font)
    with progress("rendering") as show:
        manifest = folder.write(
            output,
            source,
            setting,
            model=model,
            threads=arguments.threads,
            compress=arguments.compress,
            progress=show,
        )
    note_diagnostics(transcript)
    note_redactions(redactions)
    note_code_points(manifest.source.code_points, setting.face.missing)
    if would_pay(manifest.source.chars):
        say(
            "note: numba cannot be loaded; with it (pip install numba) jobs beyond "
            f"{LARGE // 1_000_000} million characters are done sooner, with the same pages"
        )
    if arguments.json:
        print_json({**manifest.as_dict(), "folder": str(output), "redactions": redactions})
    else:
        tell(*folded(_summary(manifest, model, output)))
    return DONE


def _default_output(session: str) -> Path:
    if session == "-":
        return Path("snapshot.pages")
    if ".db#" in session:
        return Path(f"{stem(session)}.pages")
    path = Path(session)
    if path.suffix in _PACKED:
        path = Path(path.stem)
    return Path(f"{path.stem if path.suffix in _SUFFIXES else path.name}.pages")


def _summary(manifest: Manifest, model: str, output: Path) -> str:
    totals, chars = manifest.totals, manifest.source.original_chars
    pages, tokens, text_tokens = totals.pages, totals.tokens, totals.text_tokens
    line = (
        f"{output}: {pages} page{'s' * (pages != 1)} for {model}, {chars:,} characters in {tokens:,} tokens; "
    )
    if tokens < text_tokens:
        line += f"as text about {text_tokens:,}, so {100 - 100 * tokens // text_tokens}% saved"
    else:
        line += f"as text only about {text_tokens:,}: send the text"
    return f"{line}. Check: snapshot read {output} --check"
