"""`snapshot batch`: the same for any number of transcripts, on all processors or a cluster."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snapshot.commands._arguments import (
    known_as,
    like_argument,
    positive,
    reading_options,
    redaction_options,
    redactor_of,
    size_or_share,
)
from snapshot.commands._console import DONE, print_json, refuse_overwriting, save, say, silence, tell
from snapshot.commands._request import APIS
from snapshot.errors import OutputError, SnapshotError

if TYPE_CHECKING:
    from snapshot.batch.batch import Outcome
    from snapshot.batch.prices import PriceTable

__all__ = ["fill"]

_ACTIONS = ("cost", "render", "compact", "inspect", "replay", "convert")
_ERRORS_SHOWN = 10


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the command's parser."""
    parser.description = (
        "Does the same with many transcripts, and writes a row for each result. An input that cannot be read "
        "is a row with error_kind and error. The same command again goes on where it was stopped, and does "
        "only what is new. Needs the extra `batch`."
    )
    parser.epilog = (
        "examples: snapshot batch runs/ --do cost -m claude-opus-4-8,gpt-5.6-sol -o costs.parquet; "
        "snapshot batch 's3://bucket/**/*.jsonl' --do inspect -o inspected --runner ray://head:10001"
    )
    parser.add_argument(
        "inputs",
        metavar="INPUT",
        nargs="+",
        help="files, folders, globs, also in object stores (s3://, gs://, …); archives of sessions",
    )
    parser.add_argument("--do", dest="action", choices=_ACTIONS, required=True, help="what to do with each")
    parser.add_argument(
        "-m",
        "--model",
        metavar="ID",
        action="append",
        default=[],
        help="models, with commas between (each transcript's own)",
    )
    like_argument(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", required=True,
        help="a .parquet, .jsonl or .csv file, with a folder FILE.parts beside it; else a folder of Parquet; "
        "s3:// and gs:// too",
    )  # fmt: skip
    parser.add_argument(
        "--column", metavar="NAME", help="Parquet and JSON Lines are tables, with messages in this column"
    )
    parser.add_argument(
        "--runner", metavar="WHERE", default="native",
        help="native (this machine's processors), ray, or a Ray cluster's address: ray://HOST:PORT",
    )  # fmt: skip
    parser.add_argument(
        "--processes", metavar="N", type=positive, help="how many at once (all processors of the runner)"
    )
    parser.add_argument(
        "--chunk", metavar="N", type=positive, default=16, help="inputs that become one part, on average (16)"
    )
    parser.add_argument("--json", action="store_true", help="the account as one JSON object")
    reading_options(parser)
    redaction_options(parser)
    _action_options(parser)
    parser.set_defaults(run=_run)


def _action_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("cost")
    group.add_argument(
        "--prices", metavar="FILE", help="JSON of prices in LiteLLM's form; `litellm`: those of the package"
    )
    group.add_argument("--plot", metavar="FILE", type=Path, help="write a picture, .svg or .png")
    group = parser.add_argument_group("render")
    group.add_argument("--pages", metavar="DIR", help="write pages there, not into the rows")
    group.add_argument("--no-reasoning", action="store_true", help="leave out what the model thought")
    group.add_argument("--compress", choices=("default", "fast", "small"), default="default")
    group = parser.add_argument_group("render and compact")
    group.add_argument("--layout", metavar="NAME", help="a layout in place of the model's own")
    group = parser.add_argument_group("compact and replay")
    group.add_argument("--window", metavar="N", type=positive, default=0, help="context window in tokens")
    group.add_argument("--target", metavar="T", type=size_or_share, help="share of the window, or tokens")
    group.add_argument("--manual", action="store_true", help="compact whatever the size")
    group.add_argument("--digest", action="store_true", help="accept a digest where pages are no way")
    group.add_argument("--api", choices=APIS)
    group.add_argument(
        "--policy", metavar="NAME,…", action="append", default=[], help="text, drop, summary, ours"
    )
    group = parser.add_argument_group("convert")
    group.add_argument("--to", metavar="FORMAT", help="the format to write")


def _run(arguments: argparse.Namespace) -> int:
    from snapshot.batch.batch import run_batch
    from snapshot.batch.parts import Job

    _refuse_inputs(arguments)
    if arguments.output == "-":
        raise SnapshotError("-o -: rows come in parts; name a file or a folder for them")
    models = _listed(arguments.model)
    if arguments.like:
        if len(models) != 1:
            raise SnapshotError("--like says what one name stands for; give one with -m")
        models = (known_as(models[0], arguments.like),)
    _check(arguments, models)
    prices = _prices(arguments.prices)
    if prices is not None:
        _note_unpriced(prices, models)
    job = Job(arguments.action, models, _settings(arguments, prices), arguments.column)
    done = run_batch(
        job,
        arguments.inputs,
        arguments.output,
        runner=arguments.runner,
        processes=arguments.processes,
        chunk=arguments.chunk,
        progress=_progress(),
    )
    _report(arguments, done)
    return DONE


def _refuse_inputs(arguments: argparse.Namespace) -> None:
    """Refuse to write where one of the inputs is."""
    if "://" not in arguments.output:
        refuse_overwriting(Path(arguments.output), *arguments.inputs)
    elif arguments.output in arguments.inputs:
        raise OutputError(f"{arguments.output}: is what is read; name another file to write to")
    refuse_overwriting(arguments.plot, *arguments.inputs)


def _listed(given: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for some in given for name in some.split(",") if name.strip()))


def _check(arguments: argparse.Namespace, models: tuple[str, ...]) -> None:
    """Refuse what would be an error in every row."""
    from snapshot.models.ids import profile_for

    redactor_of(arguments)
    for model in models:
        profile_for(model)
    if arguments.action in ("cost", "render"):
        from snapshot.pages.layout import layout_for

        for model in models:
            layout_for(model, name=arguments.layout)
    if arguments.action == "convert":
        from snapshot.transcripts.registry import FORMATS, READ_ONLY

        if arguments.to is None or arguments.to not in FORMATS or arguments.to in READ_ONLY:
            known = ", ".join(name for name in FORMATS if name not in READ_ONLY)
            raise SnapshotError(f"--do convert needs --to FORMAT: {known}")
    if arguments.action == "replay":
        from snapshot.replay.replay import checked_policy

        for policy in _listed(arguments.policy):
            checked_policy(policy)
    if arguments.format is not None:
        from snapshot.transcripts.registry import FORMATS, unknown_format

        if arguments.format not in FORMATS:
            raise SnapshotError(unknown_format(arguments.format))
    for name, action in (("prices", "cost"), ("plot", "cost"), ("pages", "render"), ("to", "convert")):
        if getattr(arguments, name) is not None and arguments.action != action:
            raise SnapshotError(f"--{name} is for --do {action}")
    binary = arguments.action == "convert" or (arguments.action == "render" and arguments.pages is None)
    if binary and arguments.output.endswith(".csv"):
        other = " or name a folder for the pages with --pages" if arguments.action == "render" else ""
        raise SnapshotError(
            f"{arguments.output}: CSV holds no files; name a .parquet or .jsonl,{other}".rstrip(",")
        )


def _prices(named: str | None) -> PriceTable | None:
    from snapshot.batch.prices import litellm_prices, read_prices

    if named is None:
        return None
    return litellm_prices() if named == "litellm" else read_prices(named)


def _note_unpriced(prices: PriceTable, models: tuple[str, ...]) -> None:
    from snapshot.batch.prices import price_in

    missing = [model for model in models if price_in(prices.prices, model) is None]
    if missing:
        say(f"note: {prices.name} has no price for {', '.join(missing)}")


def _settings(arguments: argparse.Namespace, prices: PriceTable | None) -> dict[str, Any]:
    """The settings of the action's function; only those that it looks at, since rows are kept by them."""
    found: dict[str, Any] = {
        name: getattr(arguments, name)
        for name in ("format", "conversation", "as_sent", "salvage")
        if getattr(arguments, name)
    }
    redaction = {
        "redact": not arguments.no_redaction,
        "redaction_rules": [str(path.absolute()) for path in arguments.redaction_rules],
    }
    options = {name: getattr(arguments, name) for name in ("target",) if getattr(arguments, name) is not None}
    match arguments.action:
        case "cost" if prices is not None:
            found |= {"prices": dict(prices.prices), "price_from": prices.name}
        case "render":
            pages = arguments.pages
            found |= redaction | {
                "reasoning": not arguments.no_reasoning,
                "compress": arguments.compress,
                "layout": arguments.layout,
                "pages": pages if pages is None or "://" in pages else str(Path(pages).absolute()),
            }
        case "compact":
            found |= redaction | {
                "api": arguments.api,
                "manual": arguments.manual,
                "options": options
                | {"window": arguments.window, "layout": arguments.layout}
                | ({"digest": True} if arguments.digest else {}),
            }
        case "replay":
            found |= {
                "policies": list(_listed(arguments.policy)),
                "window": arguments.window,
                "options": options,
            }
        case "convert":
            found["to"] = arguments.to
        case _:
            pass
    return found


def _progress() -> Callable[[Outcome], None]:
    """What keeps one line on stderr up to date, where somebody looks."""

    def show(done: Outcome) -> None:
        at = done.made + done.kept
        try:
            sys.stderr.write(f"\r\x1b[K{at:,} of {done.inputs:,} inputs, {done.errors:,} with errors")
            if at == done.inputs:
                sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
        except OSError:
            silence(sys.stderr)

    return show if sys.stderr.isatty() else lambda _: None


def _report(arguments: argparse.Namespace, done: Outcome) -> None:
    from snapshot.batch.summary import cost_table, error_kinds, picture

    kinds = error_kinds(done.parts) if done.errors else []
    table = cost_table(done.parts) if arguments.action == "cost" else None
    if table is not None and arguments.plot is not None:
        from snapshot.costs.canvas import encoded

        title = f"{done.inputs - done.errors:,} transcripts as text and as pages"
        save(arguments.plot, encoded(picture(table, title), arguments.plot))
        say(f"{arguments.plot}: written")
    if arguments.json:
        print_json(
            {
                "schema": "snapshot-pages/batch/1",
                "output": arguments.output,
                "inputs": done.inputs,
                "made": done.made,
                "kept": done.kept,
                "errors": done.errors,
                "error_kinds": [{"kind": kind, "rows": rows, "first": first} for kind, rows, first in kinds],
                "costs": None if table is None else table.as_json(),
            }
        )
        return
    if table is not None:
        from snapshot.commands._account import account_of

        tell(*account_of(table), "")
    tell(
        f"{arguments.output}: {done.inputs:,} input{'s' * (done.inputs != 1)}, {done.errors:,} with errors; "
        f"{done.made:,} done now, {done.kept:,} kept from before"
    )
    for kind, rows, first in kinds[:_ERRORS_SHOWN]:
        tell(f"  {rows:,} {kind}, the first in {first}")
