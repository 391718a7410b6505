"""`snapshot read`: the text of pages, from their pixels."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from snapshot.commands._console import DONE, FAILED, print_json, say, tell, write_data
from snapshot.commands._progress import progress
from snapshot.commands._sessions import pages_folder
from snapshot.errors import PageError

if TYPE_CHECKING:
    from snapshot.pages.manifest import Manifest
    from snapshot.pages.readback import ReadPage

__all__ = ["fill"]


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the command's parser."""
    parser.description = "Reads the pages of a folder back from their pixels and prints their text."
    parser.epilog = "example: snapshot read session.pages --check"
    parser.add_argument("folder", metavar="DIR", help="a folder that render wrote")
    parser.add_argument("--check", action="store_true", help="compare with the source instead of printing")
    parser.add_argument("--font", metavar="FILE", help="the font file that render was given, if it was")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from snapshot.pages import folder
    from snapshot.pages.manifest import load_manifest
    from snapshot.source.source import strict_text

    arguments.folder = pages_folder(arguments.folder)
    manifest = load_manifest(arguments.folder)
    if arguments.check:
        return _check(arguments, manifest)
    read = folder.open_pages(arguments.folder, manifest, font=arguments.font)
    if arguments.json:
        found = [(entry.number, read(entry)) for entry in manifest.pages]
        pages = [{"number": number, "text": strict_text(page.text)[0]} for number, page in found]
        said = {"text": strict_text(_expanded([page for _, page in found], manifest))[0]}
        print_json(
            {"schema": "snapshot-pages/read/1", "pages": pages, **(said if manifest.source.repeats else {})}
        )
        return DONE
    lone = 0
    if manifest.source.repeats:
        texts = iter([_expanded([read(entry) for entry in manifest.pages], manifest)])
    else:
        texts = (read(entry).text for entry in manifest.pages)
    for said_on_them in texts:
        text, replaced = strict_text(said_on_them)
        lone += replaced
        write_data(text.encode("utf-8"))
    if lone:
        say(f"note: {lone} lone surrogates are on the pages; UTF-8 has none, so U+FFFD stands for each")
    return DONE


def _expanded(pages: Sequence[ReadPage], manifest: Manifest) -> str:
    """What pages say together, with what their references, and marks of runs, stand for."""
    from snapshot.source.repeats import expand_repeats

    marks: list[int] = []
    length = 0
    for page in pages:
        marks += (length + mark for mark in page.marks)
        length += len(page.text)
    try:
        return expand_repeats(
            "".join(page.text for page in pages),
            marks,
            most=manifest.source.original_chars,
            runs=manifest.source.runs,
        )
    except ValueError as error:
        raise PageError(f"the pages refer to what they do not show ({error}); render them again") from error


def _check(arguments: argparse.Namespace, manifest: Manifest) -> int:
    from snapshot.pages import folder

    with progress("reading"):
        problems = folder.check(arguments.folder, manifest, font=arguments.font)
    pages, chars = len(manifest.pages), manifest.source.original_chars
    if arguments.json:
        found = [{"page": item.page, "file": item.file, "problem": item.problem} for item in problems]
        print_json({"schema": "snapshot-pages/check/1", "pages": pages, "chars": chars, "problems": found})
    elif problems:
        for item in problems:
            tell(f"{arguments.folder / item.file}: {item.problem}")
    else:
        every = f"all {pages} pages read" if pages != 1 else "the page reads"
        tell(f"{arguments.folder}: {every} back exactly, {chars:,} characters")
    return FAILED if problems else DONE
