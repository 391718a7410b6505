"""`snapshot cost`: what a conversation costs each model, as text and as pages."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snapshot.commands._console import (
    DONE,
    load,
    note_diagnostics,
    print_json,
    reading_options,
    refuse_overwriting,
    save,
    say,
    tell,
    write_data,
)
from snapshot.errors import SnapshotError

if TYPE_CHECKING:
    from snapshot.costs.costs import Cost

__all__ = ["fill"]


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the command's parser."""
    parser.description = (
        "Compares text and pages for each model and class of text: characters per token, USD per "
        "million characters (fresh and from the prompt cache), pages, bytes, and from how many characters on "
        "pages are cheaper."
    )
    parser.epilog = (
        "examples: snapshot cost session.jsonl; "
        "snapshot cost *.jsonl --models claude-opus-4-8,gpt-5.6-sol --plot cost.svg"
    )
    parser.add_argument(
        "sessions", metavar="SESSION", nargs="+", help="transcripts or text files; - is standard input"
    )
    parser.add_argument(
        "--models", metavar="ID,…", help="model ids, by any route (default: one of each reader)"
    )
    parser.add_argument(
        "--format", choices=("table", "json", "csv"), default="table", help="what is printed (table)"
    )
    reading_options(parser, formats=False)
    parser.add_argument("--plot", metavar="FILE", type=Path, help="write a picture, .svg or .png")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from snapshot.costs.content_kinds import classes_of
    from snapshot.costs.costs import costs_of, example_models

    refuse_overwriting(arguments.plot, *arguments.sessions)
    transcripts = [load(session, None, arguments) for session in arguments.sessions]
    texts = classes_of(transcripts)
    if not texts:
        raise SnapshotError(f"{', '.join(arguments.sessions)}: no text in it to compare")
    models = _split(arguments.models) if arguments.models else example_models()
    costs = list(costs_of(texts, models))
    for transcript in transcripts:
        note_diagnostics(transcript)
    if arguments.plot is not None:
        from snapshot.costs.canvas import encoded
        from snapshot.costs.plot import cost_plot

        chars = sum(map(len, texts.values()))
        what = (
            arguments.sessions[0] if len(arguments.sessions) == 1 else f"{len(arguments.sessions)} sessions"
        )
        plot = cost_plot(costs, f"{Path(what).name}: {chars:,} characters as text and as pages")
        save(arguments.plot, encoded(plot, arguments.plot))
        say(f"{arguments.plot}: written")
    match arguments.format:
        case "json":
            print_json({"schema": "snapshot-pages/cost/1", "costs": [described(cost) for cost in costs]})
        case "csv":
            rows = [described(cost) for cost in costs]
            table = io.StringIO()
            writer = csv.DictWriter(table, rows[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
            write_data(table.getvalue().encode("utf-8", "backslashreplace"))
        case _:
            tell(*_table(costs))
    return DONE


def _split(models: str) -> list[str]:
    found = [model.strip() for model in models.split(",") if model.strip()]
    if not found:
        raise SnapshotError("--models names no model; `snapshot layouts` lists what is known")
    return found


def described(cost: Cost) -> dict[str, Any]:
    """One cost as a flat object; USD as text, so that no digit is lost, None where not known."""

    def usd(*, pages: bool, cached: bool) -> str | None:
        value = cost.usd(pages=pages, cached=cached)
        return None if value is None else str(value.quantize(Decimal("0.000001")))

    return {
        "model": cost.model,
        "gateway": cost.layout.reader.route,
        "layout": cost.layout.name,
        "reading_measured": cost.layout.reader.measured,
        "class": cost.text_class,
        "chars": cost.chars,
        "chars_per_page_token": round(cost.per_page_token, 3),
        "chars_per_text_token": round(cost.per_text_token, 3),
        "text_tokens": cost.text_tokens,
        "text_tokens_by": cost.counted_by,
        "page_tokens": cost.page_tokens,
        "pages": cost.pages,
        "page_bytes": cost.page_bytes,
        "usd_per_million_text": usd(pages=False, cached=False),
        "usd_per_million_pages": usd(pages=True, cached=False),
        "usd_per_million_text_cached": usd(pages=False, cached=True),
        "usd_per_million_pages_cached": usd(pages=True, cached=True),
        "break_even_chars": cost.break_even,
        "turns_to_repay_cached_text": cost.turns_to_repay,
    }


_HEAD = (
    ("model", 18), ("pages", 6), ("MB", 6), ("char/page tok", 14), ("char/text tok", 14), ("saved", 7),
    ("$/M text", 9), ("pages", 8), ("cached: text", 13), ("pages", 8), ("cheaper from", 13),
    ("repaid after", 13),
)  # fmt: skip


def _table(costs: Sequence[Cost]) -> list[str]:
    """A block a class, the sum first; the models that gain most first."""
    lines: list[str] = []
    classes = list(dict.fromkeys(cost.text_class for cost in costs))
    width = max(len(cost.model) for cost in costs) + 3
    head = "".join(
        f"{name:<{max(width, size)}}" if at == 0 else f"{name:>{size}}"
        for at, (name, size) in enumerate(_HEAD)
    )
    for name in classes:
        of_class = [cost for cost in costs if cost.text_class == name]
        of_class.sort(key=lambda cost: cost.per_page_token / cost.per_text_token, reverse=True)
        title = "all text" if name == "all" else name
        lines += ["", f"{title}, {of_class[0].chars:,} characters", head]
        lines += [_row(cost, width) for cost in of_class]
    return [*lines[1:], "", *_notes(costs)]


def _row(cost: Cost, width: int) -> str:
    saved = 1 - cost.per_text_token / cost.per_page_token
    dollars = [
        "-" if value is None else f"{value:.2f}" if value >= 1 else f"{value:.3f}"
        for value in (
            cost.usd(pages=False, cached=False),
            cost.usd(pages=True, cached=False),
            cost.usd(pages=False, cached=True),
            cost.usd(pages=True, cached=True),
        )
    ]
    mark = "" if cost.counted_by != "ratio" else "~"
    cells = [
        f"{cost.pages:,}",
        f"{cost.page_bytes / 1e6:.1f}",
        f"{cost.per_page_token:.2f}",
        f"{mark}{cost.per_text_token:.2f}",
        f"{saved:.0%}" if saved > -10 else "never",
        *dollars,
        "never" if cost.break_even is None else f"{cost.break_even:,} char",
        "-" if cost.turns_to_repay is None else f"{cost.turns_to_repay:,} turns",
    ]
    name = cost.model if cost.layout.reader.measured else f"{cost.model} ?"
    return f"{name:<{max(width, _HEAD[0][1])}}" + "".join(
        f"{cell:>{size}}" for cell, (_, size) in zip(cells, _HEAD[1:], strict=True)
    )


def _notes(costs: Sequence[Cost]) -> list[str]:
    totals = [cost for cost in costs if cost.text_class == "all"]
    counted = sorted({cost.counted_by for cost in totals} - {"ratio"})
    estimated = [cost.model for cost in totals if cost.counted_by == "ratio"]
    lines = []
    if counted:
        lines.append(f"Text tokens are counted with the vocabularies {', '.join(counted)}.")
    if estimated:
        lines.append(
            f"~ Text tokens are estimated by measured ratios for {', '.join(estimated)}"
            " (pip install 'snapshot-pages[tokenizers]' counts more of them)."
        )
    lines += [
        "Characters per page token are those of full pages; a last page that is not full costs more each.",
        "Cheaper from: shorter texts cost less as text. Repaid after: requests until new pages have cost",
        "less than the same text, left as it is in the prompt cache.",
    ]
    unsure = [cost for cost in totals if cost.layout.reader.uncertain]
    if unsure:
        names = ", ".join(cost.model for cost in unsure)
        lines.append(f"Not every figure is certain for {names}: see `snapshot layouts MODEL`.")
    if not all(cost.layout.reader.measured for cost in totals):
        lines.append(
            "? Nobody has published how well this model reads small glyphs: try it before relying on it."
        )
    readable = [
        cost for cost in totals if cost.layout.reader.measured and cost.per_page_token > cost.per_text_token
    ]
    if readable:
        best = max(readable, key=lambda cost: cost.per_page_token / cost.per_text_token)
        lines.append(
            f"Of models whose reading was measured, {best.model} saves most: {best.text_tokens:,} tokens as "
            f"text, {best.page_tokens:,} as {best.pages} page{'s' * (best.pages != 1)}. "
            f"Render them: snapshot render SESSION -m {best.model}"
        )
    return lines
