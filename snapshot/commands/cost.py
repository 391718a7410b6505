"""`snapshot cost`: what a session costs as text and with pages, for its own model and for others."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snapshot.commands._arguments import (
    known_as,
    like_argument,
    load,
    model_argument,
    model_of,
    note_diagnostics,
    positive,
    reading_options,
    redaction_options,
    redactor_of,
)
from snapshot.commands._console import DONE, print_json, refuse_overwriting, save, say, tell, write_data
from snapshot.commands._progress import progress
from snapshot.commands._sessions import session_argument
from snapshot.commands._table import Column, paragraph, table
from snapshot.errors import LayoutError, SnapshotError

if TYPE_CHECKING:
    from snapshot.costs.costs import Cost
    from snapshot.messages import Transcript
    from snapshot.replay.savings import Savings
    from snapshot.source.source import Source

__all__ = ["described", "fill"]

_LABEL = 14
_NAMED = 4  # models that a note lists


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the command's parser."""
    parser.description = (
        "Says what a session costs its own model as text, and with pages in place of its older part; then "
        "compares models: tokens, pages, USD (fresh and from the prompt cache), and from how many characters "
        "on pages are cheaper."
    )
    parser.epilog = (
        "examples: snapshot cost --latest; snapshot cost session.jsonl -m claude-opus-4-8,gpt-5.6-sol; "
        "snapshot cost *.jsonl --by class --plot cost.svg"
    )
    session_argument(parser, "transcripts or text", several=True)
    model_argument(parser, "models, one or several with commas; only these are compared")
    like_argument(parser)
    parser.add_argument("--window", metavar="N", type=positive, default=0, help="context window in tokens")
    parser.add_argument(
        "--by", choices=("model", "class"), default="model", help="class: by kind of text as well"
    )
    parser.add_argument(
        "--count", action="store_true", help="count text tokens by the model's vocabulary, where installed"
    )
    parser.add_argument("--plot", metavar="FILE", type=Path, help="write a picture, .svg or .png")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.add_argument("--csv", action="store_true", help="the comparison as CSV")
    reading_options(parser)
    redaction_options(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from snapshot.costs.costs import example_models
    from snapshot.source.source import source_of

    refuse_overwriting(arguments.plot, *arguments.sessions)
    if arguments.json and arguments.csv:
        raise SnapshotError("--json or --csv, not both")
    asked = _split(arguments.model) if arguments.model else []
    if arguments.like:
        if len(asked) > 1:
            raise SnapshotError("--like says what one name stands for; give one with -m")
        asked = [known_as(name, arguments.like) for name in asked]
    redactor = redactor_of(arguments)
    runs: list[tuple[str, Transcript, Source]] = []
    for session in arguments.sessions:
        transcript = load(session, arguments.format, arguments)
        note_diagnostics(transcript)
        if redactor is not None:
            transcript = redactor.transcript(transcript)
        runs.append((session, transcript, source_of(transcript)))
    runs = [run for run in runs if run[2].text.strip()]
    if not runs:
        raise SnapshotError(f"{', '.join(arguments.sessions)}: no text in it to compare")
    own = [_savings(arguments, transcript, source, asked) for _, transcript, source in runs]
    alone = len(asked) == 1 and not (
        arguments.json or arguments.csv or arguments.plot or arguments.by == "class"
    )
    costs = [] if alone else _compared(arguments, runs, asked or list(example_models()))
    if arguments.plot is not None:
        _plot(arguments, runs, asked or list(example_models()))
    if arguments.json:
        print_json(
            {
                "schema": "snapshot-pages/cost/2",
                "sessions": [
                    {"session": session, **({"reason": found} if isinstance(found, str) else found.as_json())}
                    for (session, _, _), found in zip(runs, own, strict=True)
                ],
                "costs": [described(cost) for cost in costs],
            }
        )
    elif arguments.csv:
        _write_csv([described(cost) for cost in costs])
    else:
        for (session, _, _), found in zip(runs, own, strict=True):
            tell(*_block(session, found), "")
        tell(*_comparison(costs))
    return DONE


def _split(models: str) -> list[str]:
    found = [model.strip() for model in models.split(",") if model.strip()]
    if not found:
        raise SnapshotError("-m names no model; `snapshot layouts` lists what is known")
    return list(dict.fromkeys(found))


def _savings(
    arguments: argparse.Namespace, transcript: Transcript, source: Source, asked: Sequence[str]
) -> Savings | str:
    """What pages would save the run; a sentence where nothing is known of its model."""
    from snapshot.replay.savings import savings_of

    model = asked[0] if asked else model_of(None, transcript, arguments.like)
    try:
        with progress("replaying the run"):
            return savings_of(transcript, source, model, window=arguments.window)
    except LayoutError as error:
        if asked:
            raise
        return f"{model}: {error}; name another model with -m"


def _compared(
    arguments: argparse.Namespace, runs: Sequence[tuple[str, Transcript, Source]], models: Sequence[str]
) -> list[Cost]:
    """The costs of all text for each model; by class behind that, where asked for."""
    from snapshot.costs.content_kinds import classes_of
    from snapshot.costs.costs import cost_of, cost_of_source, together
    from snapshot.pages.layout import layout_for
    from snapshot.pages.render import Typesetter

    texts = classes_of(transcript for _, transcript, _ in runs) if arguments.by == "class" else {}
    costs: list[Cost] = []
    with progress("comparing models") as show:
        for number, model in enumerate(models):
            show(number, len(models))
            setting = Typesetter(layout_for(model))
            each = [
                cost_of_source(model, setting, "all", source, count=arguments.count) for _, _, source in runs
            ]
            costs.append(together(each))
            costs += [
                cost_of(model, setting, name, text, count=arguments.count) for name, text in texts.items()
            ]
    return costs


def _plot(
    arguments: argparse.Namespace, runs: Sequence[tuple[str, Transcript, Source]], models: Sequence[str]
) -> None:
    from snapshot.costs.canvas import encoded
    from snapshot.costs.content_kinds import classes_of
    from snapshot.costs.costs import costs_of
    from snapshot.costs.plot import cost_plot

    texts = classes_of(transcript for _, transcript, _ in runs)
    chars = sum(map(len, texts.values()))
    what = Path(runs[0][0]).name if len(runs) == 1 else f"{len(runs)} sessions"
    with progress("drawing"):
        plot = cost_plot(
            list(costs_of(texts, models, count=arguments.count)),
            f"{what}: {chars:,} characters as text and as pages",
        )
    save(arguments.plot, encoded(plot, arguments.plot))
    say(f"{arguments.plot}: written")


# --- for scripts


def described(cost: Cost) -> dict[str, Any]:
    """One cost as a flat object; USD as numbers, None where not known."""

    def rate(*, pages: bool, cached: bool) -> float | None:
        value = cost.usd(pages=pages, cached=cached)
        return None if value is None else float(value.quantize(Decimal("0.000001")))

    def once(*, pages: bool, cached: bool) -> float | None:
        value = cost.usd_once(pages=pages, cached=cached)
        return None if value is None else float(value.quantize(Decimal("0.000001")))

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
        "usd_text": once(pages=False, cached=False),
        "usd_pages": once(pages=True, cached=False),
        "usd_text_cached": once(pages=False, cached=True),
        "usd_pages_cached": once(pages=True, cached=True),
        "usd_per_million_text": rate(pages=False, cached=False),
        "usd_per_million_pages": rate(pages=True, cached=False),
        "usd_per_million_text_cached": rate(pages=False, cached=True),
        "usd_per_million_pages_cached": rate(pages=True, cached=True),
        "break_even_chars": cost.break_even,
        "turns_to_repay_cached_text": cost.turns_to_repay,
    }


def _write_csv(rows: Sequence[dict[str, Any]]) -> None:
    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_data(out.getvalue().encode("utf-8", "backslashreplace"))


# --- for people


def _block(session: str, found: Savings | str) -> list[str]:
    """The answer for one session and its own model."""
    name = "standard input" if session == "-" else session
    if isinstance(found, str):
        return [*paragraph(f"{name}: {found}")]
    lines = paragraph(f"billed as {found.model}: {name}")
    rows = [("text", f"{found.text_tokens:,} tokens, {found.chars:,} characters")]
    less = 1 - found.page_tokens / max(1, found.text_tokens)
    rows.append(
        (
            "as pages",
            f"{found.page_tokens:,} tokens on {found.pages:,} page{'s' * (found.pages != 1)}, "
            + (
                f"{less:.0%} fewer"
                if less > 0
                else f"{-less:.0%} more: send the text"
                if less > -1
                else f"{1 - less:,.0f} times as many: send the text"
            ),
        )
    )
    rows += _whole_run(found)
    if found.pays_from is None:
        rows.append(("pays from", "never: a page costs more than the text on it"))
    else:
        rows.append(("pays from", f"{found.pays_from_tokens:,} tokens on, or {found.pays_from:,} characters"))
    for label, text in rows:
        lines += paragraph(text, indent=" " * (_LABEL + 2), first=f"  {label:<{_LABEL}}")
    return lines


def _whole_run(found: Savings) -> list[tuple[str, str]]:
    text, ours = found.text, found.ours
    if text is None or ours is None:
        return []
    window = f"of {found.window:,} in the window"
    rows = [("requests", f"{len(text.requests):,}, the largest of {text.peak:,} tokens {window}")]
    went = "" if text.stopped is None else f" up to request {len(text.requests):,}, where the window is full"
    rows.append(("run as text", f"{_usd(text.usd)}{went}"))
    times = {0: "never compacted: it is too short to gain from it", 1: "compacted once"}.get(
        ours.compactions, f"compacted {ours.compactions} times"
    )
    when = f", from {found.threshold:,} tokens on" if ours.compactions else ""
    trial = "; by itself it would not be, the window is never nine tenths full" if found.tried else ""
    stop = "" if ours.stopped is None else f"; stops at request {len(ours.requests):,}: {ours.reason}"
    rows.append(("with pages", f"{_usd(ours.usd)}, {times}{when}{trial if ours.compactions else ''}{stop}"))
    if found.saved is not None and text.usd and ours.compactions:
        share = found.saved / text.usd
        rows.append(
            (
                "saved",
                f"{_usd(found.saved)}, {share:.0%}"
                if share > 0
                else f"nothing: it costs {_usd(-found.saved)} more",
            )
        )
    return rows


def _usd(value: Decimal | None) -> str:
    if value is None:
        return "price not known"
    return f"${value:,.2f}" if abs(value) >= Decimal("0.1") or not value else f"${value:.4f}"


_COLUMNS = (
    Column("model", right=False), Column("saved"), Column("text tok"), Column("page tok"), Column("pages"),
    Column("pays from", spare=True), Column("$ text", spare=True), Column("$ pages", spare=True),
    Column("cached: $ text", spare=True), Column("cached: $ pages", spare=True),
    Column("repaid after", spare=True), Column("MB", spare=True),
)  # fmt: skip


def _comparison(costs: Sequence[Cost]) -> list[str]:
    """A table of all text, and one for each class; the models that save most first."""
    lines: list[str] = []
    for name in dict.fromkeys(cost.text_class for cost in costs):
        of_class = [cost for cost in costs if cost.text_class == name]
        of_class.sort(key=lambda cost: cost.page_tokens / max(1, cost.text_tokens))
        title = "all text" if name == "all" else name
        rows = [_row(cost) for cost in of_class]
        lines += [f"{title}, {of_class[0].chars:,} characters, in one request", *table(_COLUMNS, rows), ""]
    return [*lines, *_notes(costs)] if costs else []


def _row(cost: Cost) -> tuple[str, ...]:
    saved = 1 - cost.page_tokens / max(1, cost.text_tokens)
    dollars = [
        "-" if value is None else f"{value:.2f}" if value >= 1 else f"{value:.4f}"
        for value in (
            cost.usd_once(pages=pages, cached=cached) for cached in (False, True) for pages in (False, True)
        )
    ]
    mark = "" if cost.counted_by != "ratio" else "~"
    return (
        cost.model if cost.layout.reader.measured else f"{cost.model} ?",
        f"{saved:.0%}" if saved > 0 else "never",
        f"{mark}{cost.text_tokens:,}",
        f"{cost.page_tokens:,}",
        f"{cost.pages:,}",
        "never" if cost.break_even is None else f"{cost.break_even:,} char",
        dollars[0],
        dollars[1],
        dollars[2],
        dollars[3],
        "-"
        if cost.turns_to_repay is None
        else f"{cost.turns_to_repay:,} request{'s' * (cost.turns_to_repay != 1)}",
        f"{cost.page_bytes / 1e6:.1f}",
    )


def _notes(costs: Sequence[Cost]) -> list[str]:
    totals = [cost for cost in costs if cost.text_class == "all"]
    counted = sorted({cost.counted_by for cost in totals} - {"ratio"})
    notes = []
    if counted:
        notes.append(f"Text tokens are counted with the vocabularies {', '.join(counted)}.")
    if any(cost.counted_by == "ratio" for cost in totals):
        notes.append(
            "~ Text tokens are estimated, as `render` and `compact` do; --count counts them where a "
            "vocabulary is installed (pip install 'snapshot-pages[tokenizers]')."
        )
    notes.append(
        "Pays from: shorter texts cost less as text. Repaid after: requests until new pages have cost less "
        "than the same text, left as it is in the prompt cache."
    )
    unsure = [cost.model for cost in totals if cost.layout.reader.uncertain]
    if unsure:
        whom = ", ".join(unsure) if len(unsure) <= _NAMED else f"{len(unsure)} of these {len(totals)} models"
        notes.append(f"Not every figure is certain for {whom}: `snapshot layouts MODEL` says which.")
    if not all(cost.layout.reader.measured for cost in totals):
        notes.append(
            "? Nobody has published how well this model reads small glyphs: try it before relying on it."
        )
    readable = [
        cost for cost in totals if cost.layout.reader.measured and cost.page_tokens < cost.text_tokens
    ]
    if readable and len(totals) > 1:
        best = min(readable, key=lambda cost: cost.page_tokens / cost.text_tokens)
        notes.append(f"Of models whose reading was measured, {best.model} saves most.")
    return [line for note in notes for line in paragraph(note)]
