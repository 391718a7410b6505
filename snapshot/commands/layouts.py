"""`snapshot layouts`: what is known of models as readers of pages."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from snapshot.commands._arguments import LIKE
from snapshot.commands._console import DONE, print_json, tell
from snapshot.commands._table import Column, folded, table
from snapshot.errors import LayoutError

if TYPE_CHECKING:
    from snapshot.models.profile import Price
    from snapshot.models.trials import Trial
    from snapshot.pages.layout import Layout

__all__ = ["fill"]


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the command's parser."""
    parser.description = (
        "Lists the layouts, or shows what is known of one: page, cell, price, limits, sources."
    )
    parser.epilog = (
        "examples: snapshot layouts anthropic/claude-opus-4.8; "
        "snapshot layouts claude-opus-4-8 --gateway bedrock"
    )
    parser.add_argument("model", metavar="MODEL", nargs="?", help="a model id, or the name of a layout")
    parser.add_argument(
        "--gateway", metavar="NAME", help="who carries the model, where its id does not say so"
    )
    parser.add_argument("--like", metavar="MODEL", help=LIKE)
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from snapshot.pages.layout import layout_for, layout_names

    if arguments.model is None:
        layouts = [layout_for(name=name) for name in layout_names()]
    elif arguments.model in layout_names() and arguments.gateway is None and not arguments.like:
        # Some readers are called as a model is: then the model's own prices are of more use.
        try:
            layouts = [layout_for(arguments.model)]
        except LayoutError:
            layouts = [layout_for(name=arguments.model)]
    else:
        layouts = [layout_for(arguments.model, gateway=arguments.gateway, like=arguments.like)]
    if arguments.json:
        print_json({"schema": "snapshot-pages/layouts/1", "layouts": [_described(item) for item in layouts]})
    elif arguments.model is None:
        columns = (
            Column("layout", right=False), Column("page"), Column("cell"), Column("chars"), Column("tokens"),
            Column("per token"), Column("reader", right=False, least=12),
        )  # fmt: skip
        rows = [
            (
                item.name,
                f"{item.width}x{item.height}",
                f"{item.cell[0]}x{item.cell[1]}",
                f"{item.capacity:,}",
                f"{item.tokens:,}",
                f"{item.capacity / item.tokens:.2f}",
                item.reader.title,
            )
            for item in layouts
        ]
        tell(*table(columns, rows))
    else:
        for line in "\n\n".join(str(item) for item in layouts).split("\n"):
            tell(*folded(line))
    return DONE


def _described(layout: Layout) -> dict[str, Any]:
    from snapshot.models.trials import widest_read

    reader = layout.reader
    longest = widest_read(reader.trials)
    return {
        "name": layout.name,
        "reader": reader.title,
        "provider": reader.provider,
        "models": list(reader.models),
        "face": layout.face,
        "width": layout.width,
        "height": layout.height,
        "cell": list(layout.cell),
        "columns": layout.columns,
        "rows": layout.rows,
        "text_columns": layout.text_columns,
        "flow_columns": layout.flow_columns,
        "row_width": layout.row_width,
        "longest_rows_read": longest.columns if longest else None,
        "chars_per_page": layout.capacity,
        "tokens_per_page": layout.tokens,
        "flat_rate": layout.billing.flat,
        "text_chars_per_token": reader.chars_per_token,
        "detail": reader.detail or None,
        "gateway": reader.route,
        "window": reader.window or None,
        "max_output": reader.max_output or None,
        "price": _priced(reader.price) if reader.price else None,
        "uncertain": reader.uncertain or None,
        "conflict": reader.conflict or None,
        "limits": dict(reader.limits),
        "trials": [_told(trial) for trial in reader.trials],
        "evidence": list(reader.evidence),
        "sources": list(reader.sources),
        "as_of": reader.as_of.isoformat(),
    }


def _told(trial: Trial) -> dict[str, Any]:
    return {
        "model": trial.model,
        "cell": list(trial.cell),
        "glyphs": trial.glyphs,
        "what": trial.what,
        "score": round(trial.score, 3),
        "of": trial.of or None,
        "wrong": trial.wrong,
        "columns": trial.columns or None,
        "page": list(trial.page) if trial.page else None,
        "as_of": trial.as_of,
        "source": trial.source,
    }


def _priced(price: Price) -> dict[str, Any]:
    """USD per million tokens."""
    keys = ("input", "cache_write", "cache_read", "output")
    found: dict[str, Any] = {key: float(value) for key in keys if (value := getattr(price, key)) is not None}
    if price.steps:
        found["steps"] = [{"above": above, **_priced(step)} for above, step in price.steps]
    return found
