"""`snapshot verify`: whether pages can be sent, and what will be read of them."""

from __future__ import annotations

import argparse
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snapshot.commands._arguments import known_as, like_argument
from snapshot.commands._console import (
    DONE,
    FAILED,
    print_json,
    read_input,
    refuse_overwriting,
    save,
    tell,
)
from snapshot.commands._progress import progress
from snapshot.commands._sessions import pages_folder
from snapshot.commands._table import folded

if TYPE_CHECKING:
    from snapshot.legibility.verify import Verdict
    from snapshot.models.trials import Expected

__all__ = ["fill"]

_RISKS_SHOWN = 5
_MARKS = {"passed": "ok  ", "failed": "FAIL", "unsure": "??  "}
_PAIRS_SHOWN = 6
_LONGEST = 40  # characters of a string that is shown


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the command's parser."""
    parser.description = (
        "Verifies the pages of a folder against manifest, source and reader: untampered, "
        "complete, read back exactly, not resized by the provider, legible by measures and published trials."
    )
    parser.epilog = "example: snapshot verify session.pages -m gpt-5.6-sol --html report.html"
    parser.add_argument("folder", metavar="DIR", help="a folder that render wrote")
    parser.add_argument(
        "-m", "--model", metavar="ID", help="the model that will read them (default: that of render)"
    )
    like_argument(parser)
    parser.add_argument("--ocr", action="store_true", help="ask a neural reader too: snapshot-pages[ocr]")
    parser.add_argument(
        "--floor", metavar="R", type=share, help="recall from 0 to 1 below which pages are refused (0.7)"
    )
    parser.add_argument(
        "--factsheet", metavar="FILE", type=Path, help="text that travels beside the pages, or the request"
    )
    parser.add_argument("--font", metavar="FILE", help="the font file that render was given, if it was")
    parser.add_argument(
        "--html", metavar="FILE", type=Path, help="write the view of the pages with what was verified"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.set_defaults(run=_run)


def share(text: str) -> float:
    """Argument type: a number from 0 to 1."""
    with suppress(ValueError):
        if 0 <= (value := float(text)) <= 1:
            return value
    raise argparse.ArgumentTypeError(f"{text[:40]!r} is no share from 0 to 1")


def _run(arguments: argparse.Namespace) -> int:
    # For matrices as small as these one thread is quicker; several wait for each other. NumPy's library reads
    # this when it is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from snapshot.legibility.verify import FLOOR, verify

    beside = ""
    if arguments.factsheet is not None:
        beside = read_input(arguments.factsheet, "a file of text").decode("utf-8", "replace")
    arguments.folder = pages_folder(arguments.folder)
    if arguments.html is not None:
        _refuse_inputs(arguments)
    model = known_as(arguments.model or "", arguments.like) or None
    with progress("verifying") as show:
        verdict = verify(
            arguments.folder,
            model=model,
            floor=FLOOR if arguments.floor is None else arguments.floor,
            beside=beside,
            ocr=arguments.ocr,
            font=arguments.font,
            progress=show,
        )
    if arguments.html is not None:
        from snapshot.view.document import html_of
        from snapshot.view.folder_view import view_of_folder
        from snapshot.view.verdict import report_of

        view = view_of_folder(arguments.folder, model=model, font=arguments.font)
        save(arguments.html, html_of(view, report=report_of(verdict)).encode("utf-8"))
    if arguments.json:
        print_json(_described(verdict))
    else:
        _print(verdict, arguments.factsheet is not None)
    return DONE if verdict.passed else FAILED


def _refuse_inputs(arguments: argparse.Namespace) -> None:
    """Refuse to write the report over what is verified."""
    try:
        inside = list(arguments.folder.iterdir())
    except OSError:
        inside = []  # that it cannot be read is said soon
    refuse_overwriting(arguments.html, arguments.factsheet, *inside)


def _print(verdict: Verdict, factsheet: bool) -> None:
    from snapshot.legibility.verify import STRESS

    lines: list[str] = []
    whom = f"{verdict.model} ({verdict.reader})" if verdict.model else verdict.reader
    lines.append(f"{verdict.folder}: {'verified' if verdict.passed else 'REFUSED'} for {whom}")
    for check in verdict.checks:
        lines.append(f"  {_MARKS[check.verdict]}  {check.name:<17}{check.says}")
    if verdict.confused:
        pairs = "  ".join(f"{a}>{b} {count}" for a, b, count in verdict.confused[:_PAIRS_SHOWN])
        of = f", on {verdict.stressed} pages" if verdict.stressed < verdict.pages else ""
        lines.append(f"        {'confused':<17}at {STRESS:g} of the size seen{of}: {pairs}")
    for factor, reading in list(verdict.ocr.items())[1:]:
        pairs = " ".join(f"{a or '∅'}>{b or '∅'}:{count}" for a, b, count in reading.confused[:_PAIRS_SHOWN])
        wrong = f"{reading.error_rate:.3f} of characters wrong"
        strings = f"{reading.exact} of {reading.strings} exact strings"
        lines.append(f"        {f'shrunk by {factor:g}':<17}neural reader: {wrong}, {strings}; {pairs}")
    if verdict.hashes is not None:
        found = verdict.hashes
        least = "at least " if found.at_least else ""
        lines.append(f"        {'hashes':<17}{least}{found.recall:.2f} expected: {found.basis}")
    if verdict.risks:
        held = sum(risk.held for risk in verdict.risks)
        beside = f"{held:,} of them travel as text" if factsheet else "no --factsheet was named to look in"
        first = [risk.text for risk in verdict.risks if not risk.held and len(risk.text) <= _LONGEST]
        lines.append(
            f"        {'exact strings':<17}{len(verdict.risks):,} that context does not correct; {beside}"
        )
        if first:
            lines.append(f"        {'riskiest':<17}{', '.join(first[:_RISKS_SHOWN])}")
    for line in lines:
        tell(*folded(line))


def _described(verdict: Verdict) -> dict[str, Any]:
    return {
        "schema": "snapshot-pages/verify/1",
        "passed": verdict.passed,
        "model": verdict.model or None,
        "reader": verdict.reader,
        "pages": verdict.pages,
        "cell_seen": [round(side, 3) for side in verdict.cell],
        "checks": [
            {"name": item.name, "passed": item.passed, "sure": item.sure, "says": item.says}
            for item in verdict.checks
        ],
        "kinds": [
            {
                "kind": score.kind,
                "chars": score.chars,
                "right": score.right,
                "strings": score.strings,
                "exact": score.exact,
            }
            for score in verdict.kinds
        ],
        "confused": [{"stood": a, "read": b, "count": count} for a, b, count in verdict.confused],
        "confused_on_pages": verdict.stressed,
        "expected": _expected(verdict.expected),
        "expected_hashes": _expected(verdict.hashes),
        "risks": [
            {
                "text": risk.text,
                "kind": risk.kind,
                "page": risk.page,
                "misread": risk.lost,
                "as_text": risk.held,
            }
            for risk in verdict.risks
        ],
        "ocr": [
            {
                "shrunk_by": factor,
                "error_rate": round(reading.error_rate, 4),
                "strings": reading.strings,
                "exact": reading.exact,
                "confused": [{"stood": a, "read": b, "count": n} for a, b, n in reading.confused],
            }
            for factor, reading in verdict.ocr.items()
        ],
    }


def _expected(found: Expected | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "recall": round(found.recall, 3),
        "at_least": found.at_least,
        "answers": found.answers,
        "borrowed": found.borrowed,
        "worst": None if found.worst is None else str(found.worst),
        "basis": found.basis,
        "sources": sorted({trial.source for trial in found.trials}),
    }
