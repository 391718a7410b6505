"""The account of `snapshot batch --do cost`, as tables within the width there is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from snapshot.batch.summary import QUANTILES, usd
from snapshot.commands._table import Column, paragraph, table

if TYPE_CHECKING:
    from snapshot.batch.summary import CostTable, Group

__all__ = ["account_of"]

_SUMS = (
    Column("model", right=False), Column("class", right=False), Column("saved"), Column("text tok"),
    Column("page tok"), Column("$ text"), Column("$ pages"), Column("$ saved"), Column("transcripts"),
    Column("characters"), Column("per text tok", spare=True), Column("per page tok", spare=True),
)  # fmt: skip
_SPREAD = (
    Column("model", right=False), Column("", right=False), *(Column(f"{part:.0%}") for part in QUANTILES)
)  # fmt: skip
_DEAREST = (
    Column("model", right=False), Column("$ text"), Column("text tok"), Column("page tok"),
    Column("transcript", right=False),
)  # fmt: skip


def account_of(found: CostTable) -> list[str]:
    """Lines: sums by model and class, quantiles by transcript, the dearest transcripts, whose prices."""
    lines = table(_SUMS, [_sums(group) for group in found.groups])
    spread = [row for group in found.groups if group.text_class == "all" for row in _spread(group)]
    if spread:
        told = "By transcript: the share of tokens that pages save, and USD as text. So many have less:"
        lines += ["", *paragraph(told), *table(_SPREAD, spread)]
    if found.dearest:
        lines += ["", "The dearest as text:", *table(_DEAREST, [_dear(row) for row in found.dearest])]
    origins = sorted({group.price_from for group in found.groups if group.price_from})
    if origins:
        told = "; ".join("those of the layout files" if one == "layout" else one for one in origins)
        lines += ["", *paragraph(f"Prices: {told}; fresh input, short prompts.")]
    return lines


def _sums(group: Group) -> tuple[str, ...]:
    gain = None if group.usd_text is None or group.usd_pages is None else group.usd_text - group.usd_pages
    return (
        group.model,
        group.text_class,
        f"{1 - group.page_tokens / max(1, group.text_tokens):.0%}",
        f"{group.text_tokens:,}",
        f"{group.page_tokens:,}",
        usd(group.usd_text),
        usd(group.usd_pages),
        usd(gain),
        f"{group.files:,}",
        f"{group.chars:,}",
        f"{group.chars / max(1, group.text_tokens):.2f}",
        f"{group.chars / max(1, group.page_tokens):.2f}",
    )


def _spread(group: Group) -> list[tuple[str, ...]]:
    rows = [(group.model, "saved", *(f"{share:.1%}" for share in group.saved))]
    if group.usd is not None:
        rows.append(("", "USD", *(f"{value:.4f}" for value in group.usd)))
    return rows


def _dear(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        row["model"],
        usd(row["usd_text"]),
        f"{row['text_tokens']:,}",
        f"{row['page_tokens']:,}",
        row["path"],
    )
