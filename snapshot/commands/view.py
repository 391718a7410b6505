"""`snapshot view`: pages beside their text in a browser, from one HTML file."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from snapshot.commands._arguments import (
    DEFAULT_MODEL,
    known_as,
    like_argument,
    load,
    note_diagnostics,
    note_redactions,
    positive,
    reading_options,
    redaction_options,
    redactor_of,
)
from snapshot.commands._console import (
    CANNOT_FIT,
    DONE,
    NEEDS_SUMMARIZER,
    print_json,
    read_input,
    refuse_overwriting,
    save,
    say,
    tell,
    to_stdout,
)
from snapshot.commands._sessions import session_argument
from snapshot.errors import CannotFit, OutputError, SnapshotError, SummarizerRequired

if TYPE_CHECKING:
    from snapshot.compaction import Archive
    from snapshot.view.content import View

__all__ = ["fill"]

_ARCHIVE = '"snapshot-pages/archive/'


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the command's parser."""
    parser.description = (
        "Shows pages beside their text, and what stays as text around them, as the model gets it: one HTML "
        "file that fetches nothing. A session is compacted for its model first."
    )
    parser.epilog = (
        "examples: snapshot view --latest; snapshot view session.jsonl; snapshot view session.request.json; "
        "snapshot view session.pages -o pages.html"
    )
    session_argument(
        parser, "a session, a folder that render wrote, or a request of compact with its archive beside it"
    )
    parser.add_argument(
        "-m", "--model", metavar="ID", help="model that looks at the pages (default: their own)"
    )
    like_argument(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="write the file there instead of opening it"
    )
    parser.add_argument("--no-open", action="store_true", help="do not open a browser")
    parser.add_argument(
        "--archive", metavar="FILE", type=Path, help="archive of a request (default: the one beside it)"
    )
    parser.add_argument("--window", metavar="N", type=positive, default=0, help="context window in tokens")
    parser.add_argument("--font", metavar="FILE", help="the font file that render was given, if it was")
    reading_options(parser)
    redaction_options(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from snapshot.view.document import html_of

    path: str = arguments.session
    output: Path | None = arguments.output
    if output is not None:
        inside = list(Path(path).iterdir()) if Path(path).is_dir() else ()
        refuse_overwriting(output, path, arguments.archive, _beside(path), *inside)
        if arguments.json and to_stdout(output):
            raise SnapshotError("--json needs -o FILE: standard output would hold the page as well")
    try:
        view = _view(path, arguments)
    except CannotFit as error:
        say(f"snapshot: {error}")
        return CANNOT_FIT
    except SummarizerRequired as error:
        say(f"snapshot: {error}; -m MODEL looks at it as a model that sees")
        return NEEDS_SUMMARIZER
    document = html_of(view).encode("utf-8")
    written = _written(document, view.title, output)
    opened = output is None and not arguments.no_open and _opened(written)
    if arguments.json:
        print_json(_described(view) | {"file": str(written), "opened": opened})
    elif output is None or not to_stdout(output):
        tell(_summary(view, written))
    return DONE


def _view(path: str, arguments: argparse.Namespace) -> View:
    """What is to be shown of a folder of pages, an archive, a request or a session."""
    from snapshot.pages.manifest import MANIFEST

    if path != "-" and (Path(path) / MANIFEST).is_file():
        from snapshot.view.folder_view import view_of_folder

        model = known_as(arguments.model or "", arguments.like) or None
        return view_of_folder(Path(path), model=model, font=arguments.font)
    return _view_of_conversation(path, arguments)


def _view_of_conversation(path: str, arguments: argparse.Namespace) -> View:
    from snapshot.compaction import Archive
    from snapshot.view.session_view import view_of_archive, view_of_conversation

    title = "standard input" if path == "-" else Path(path).name
    if path != "-" and _is_archive(Path(path)):
        archive = Archive.from_json(read_input(Path(path), "an archive"))
        model = known_as(arguments.model or "", arguments.like) or _reader_of(archive) or DEFAULT_MODEL
        return view_of_archive(archive, model=model, title=title)
    archive_path = arguments.archive or _beside(path)
    archive = None
    if archive_path is not None:
        archive = Archive.from_json(read_input(archive_path, "the archive of the request"))
    transcript = load(path, arguments.format, arguments)
    redactor = redactor_of(arguments)
    if redactor is not None:
        transcript = redactor.transcript(transcript)
        note_redactions(redactor.counts)
    note_diagnostics(transcript)
    model = arguments.model or ""
    if arguments.like:
        model = known_as(model or transcript.model, arguments.like)
    model = model or _known(transcript.model) or (_reader_of(archive) if archive else "")
    if not model:
        if transcript.model:
            say(f"note: nothing is known of {transcript.model}: shown for {DEFAULT_MODEL} (-m names another)")
        model = DEFAULT_MODEL
    return view_of_conversation(
        transcript, model=model, title=title, archive=archive, window=arguments.window
    )


def _known(model: str) -> str:
    """The model's id, where something is known of it; else ""."""
    from snapshot.errors import LayoutError
    from snapshot.models.ids import profile_for

    try:
        return model if model and profile_for(model) else ""
    except LayoutError:
        return ""


def _is_archive(path: Path) -> bool:
    """Whether a file is an archive, by its first bytes."""
    try:
        with path.open("rb") as file:
            return _ARCHIVE.encode("ascii") in file.read(200)
    except (OSError, ValueError):
        return False


def _beside(path: str) -> Path | None:
    """The archive that `compact` wrote beside a request, if there is one."""
    if path == "-" or not Path(path).name:
        return None
    beside = Path(path).with_suffix(".archive.json")
    return beside if _is_archive(beside) else None


def _reader_of(archive: Archive) -> str:
    """A model whose pages an archive has; "" for none that is known."""
    from snapshot.errors import LayoutError
    from snapshot.pages.layout import layout_for

    try:
        return layout_for(name=archive.layout).reader.example if archive.layout else ""
    except LayoutError:
        return ""


def _written(document: bytes, title: str, output: Path | None) -> Path:
    """Write the document where it is to go, else into a temporary file that only its owner can read."""
    if output is not None:
        save(output, document)
        return output
    import re
    import tempfile

    stem = re.sub(r"[^\w.-]+", "-", title)[:40].strip("-.") or "session"
    handle, name = tempfile.mkstemp(prefix=f"snapshot-{stem}-", suffix=".html")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(document)
    except OSError as error:
        os.unlink(name)  # noqa: PTH108
        raise OutputError(f"{name}: cannot be written to ({error.strerror}); name a file with -o") from error
    return Path(name)


def _somebody_is_there() -> bool:
    """Whether the command was started from a terminal."""
    return sys.stderr.isatty()


def _opened(path: Path) -> bool:
    """Open the file in a browser, if somebody sits at a terminal; whether that was done."""
    import webbrowser

    try:
        return _somebody_is_there() and webbrowser.open(path.absolute().as_uri())
    except (webbrowser.Error, OSError, ValueError):
        return False


def _summary(view: View, written: Path) -> str:
    figures, count = view.figures, len(view.pages)
    before, after = figures.tokens_before, figures.tokens_after
    reader = view.model or view.reader
    if not count and before == after:
        return f"{written}: no pages, {before:,} tokens stay text for {reader} (try a smaller --window)"
    saved = f", {100 - 100 * after // before}% less" if before > after else ""
    pages = f"{count} page{'s' * (count != 1)}"
    return f"{written}: {pages} for {reader}, {before:,} → {after:,} tokens{saved}"


def _described(view: View) -> dict[str, object]:
    figures = view.figures
    return {
        "schema": "snapshot-pages/view/1",
        "title": view.title,
        "model": view.model or None,
        "reader": view.reader,
        "pages": len(view.pages),
        "tokens_before": figures.tokens_before,
        "tokens_after": figures.tokens_after,
        "usd_before": None if figures.usd_before is None else float(figures.usd_before),
        "usd_after": None if figures.usd_after is None else float(figures.usd_after),
        "notes": list(view.notes),
    }
